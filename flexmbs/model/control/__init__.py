"""Controllers of whole robots as declarations: paths of joint coordinates, terms of rigid trees,
feedback laws."""
