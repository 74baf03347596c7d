"""Elements of shells and beams, whose nodes rotate: name and number of nodes."""

STRUCTURAL: dict[str, int] = {"line2": 2}
