"""Controllers of whole robots as declarations.

Paths of joint coordinates, terms of rigid trees, feedback laws.
"""
