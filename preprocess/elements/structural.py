"""Elements of trusses, beams and shells: one row each in the table below.

A new shell is a row here and, for a formulation of its own, a file with its class.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class StructuralType:
    """Topology and formulation of a structural element.

    name: short name; meshio_name: name of the cell type in meshio; family: "truss", "beam" or
    "shell", which decides about the sections; nodes: their number; corners: number of corner nodes,
    which come first; ring: the nodes of a shell in order around it; formulation: its class in
    `preprocess.fe`, "module:class", which the mesh layer need not import; varying: the class for
    sections that vary along the element, if another.
    """

    name: str
    meshio_name: str
    family: str
    nodes: int
    corners: int
    formulation: str
    ring: tuple[int, ...] = ()
    varying: str = ""


SHELL = "shells:Shells"
STRUCTURAL: dict[str, StructuralType] = {
    each.name: each
    for each in (
        StructuralType("truss2", "truss", "truss", 2, 2, "trusses:Trusses"),
        StructuralType(
            "line2",
            "line",
            "beam",
            2,
            2,
            "straight_beams:StraightBeams",
            varying="tapered_beams:TaperedBeams",
        ),
        StructuralType("line3", "line3", "beam", 3, 2, "curved_beams:CurvedBeams"),
        StructuralType("tri3", "triangle", "shell", 3, 3, SHELL, (0, 1, 2)),
        StructuralType("quad4", "quad", "shell", 4, 4, SHELL, (0, 1, 2, 3)),
        StructuralType("tri6", "triangle6", "shell", 6, 3, SHELL, (0, 3, 1, 4, 2, 5)),
        StructuralType("quad8", "quad8", "shell", 8, 4, SHELL, (0, 4, 1, 5, 2, 6, 3, 7)),
    )
}


def names_of(family: str) -> tuple[str, ...]:
    """Names of the elements of a family."""
    return tuple(name for name, each in STRUCTURAL.items() if each.family == family)
