"""Elements of shells and beams, whose nodes rotate: name and number of nodes."""

STRUCTURAL: dict[str, int] = {"line2": 2, "tri3": 3, "quad4": 4}
