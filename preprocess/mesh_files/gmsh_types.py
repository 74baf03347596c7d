"""Element types and physical groups of Gmsh files."""

from collections.abc import Sequence

Groups = tuple[tuple[int, int], ...]  # (dimension, tag) of the physical groups of elements
Entities = dict[tuple[int, int], Groups]
# meshio's name and number of nodes of each element type
TYPES = {
    1: ("line", 2),
    2: ("triangle", 3),
    3: ("quad", 4),
    4: ("tetra", 4),
    5: ("hexahedron", 8),
    6: ("wedge", 6),
    7: ("pyramid", 5),
    8: ("line3", 3),
    9: ("triangle6", 6),
    10: ("quad9", 9),
    11: ("tetra10", 10),
    12: ("hexahedron27", 27),
    13: ("wedge18", 18),
    14: ("pyramid14", 14),
    15: ("vertex", 1),
    16: ("quad8", 8),
    17: ("hexahedron20", 20),
    18: ("wedge15", 15),
    19: ("pyramid13", 13),
}
DIMENSION = {1: 1, 2: 2, 3: 2, 8: 1, 9: 2, 10: 2, 15: 0, 16: 2}  # three where not named
Element = tuple[int, int, Groups, Sequence[int]]  # number, type, groups, nodes
