"""Twenty-node serendipity hexahedron: corners 0-7, then the midpoints of the twelve edges."""

import itertools
from dataclasses import replace

import numpy as np

from preprocess.elements.element import Element, FaceTable, Indices, midpoints
from preprocess.elements.hex8 import CORNERS, FACES
from preprocess.elements.quadrature import gauss_hexahedron

EDGES = (
    (0, 1),
    (1, 2),
    (2, 3),
    (3, 0),
    (4, 5),
    (5, 6),
    (6, 7),
    (7, 4),
    (0, 4),
    (1, 5),
    (2, 6),
    (3, 7),
)


def faces_with_edges() -> Indices:
    """Corners of each face followed by the midpoints of its edges, in the same orientation."""
    index = {frozenset(edge): 8 + n for n, edge in enumerate(EDGES)}
    sides = [
        [index[frozenset((a, b))] for a, b in zip(face, np.roll(face, -1))]
        for face in FACES.tolist()
    ]
    return np.concatenate([FACES, np.array(sides)], axis=1)


def _superlinear_degree(exponents: tuple[int, ...]) -> int:
    """Degree without the variables that enter linearly (Arnold and Awanou 2011, eq. 2.1)."""
    return sum(e for e in exponents if e > 1)


HEX20 = Element(
    name="hex20",
    meshio_name="hexahedron20",
    corners=8,
    nodes=np.concatenate([CORNERS, midpoints(CORNERS, EDGES)]),
    exponents=np.array(
        [e for e in itertools.product(range(3), repeat=3) if _superlinear_degree(e) <= 2]
    ),
    stiffness_rule=gauss_hexahedron(3),
    mass_rule=gauss_hexahedron(3),
    faces=(
        FaceTable(
            faces_with_edges(),
            4,
            np.array([[0, 4, 7], [4, 1, 5], [5, 2, 6], [6, 3, 7], [4, 5, 6], [4, 6, 7]]),
        ),
    ),
)
HEX20_REDUCED = replace(HEX20, stiffness_rule=gauss_hexahedron(2))
