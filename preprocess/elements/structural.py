"""Table of the elements of trusses, beams and shells: name and number of nodes."""

STRUCTURAL: dict[str, int] = {
    "truss2": 2,
    "line2": 2,
    "line3": 3,
    "tri3": 3,
    "quad4": 4,
    "tri6": 6,
    "quad8": 8,
}
