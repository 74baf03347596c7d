"""Ten-node tetrahedron: complete quadratic.

Corners 0-3, then the midpoints of the edges 01, 12, 20, 03, 13, 23.
"""

import itertools

import numpy as np

from preprocess.elements.element import Element, FaceTable, midpoints
from preprocess.elements.quadrature import tetrahedron_4, tetrahedron_15
from preprocess.elements.tet4 import CORNERS

EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))

TET10 = Element(
    name="tet10",
    meshio_name="tetra10",
    corners=4,
    nodes=np.concatenate([CORNERS, midpoints(CORNERS, EDGES)]),
    exponents=np.array([e for e in itertools.product(range(3), repeat=3) if sum(e) <= 2]),
    stiffness_rule=tetrahedron_4(),
    mass_rule=tetrahedron_15(),
    faces=(
        FaceTable(
            np.array(
                [[0, 2, 1, 6, 5, 4], [0, 1, 3, 4, 8, 7], [1, 2, 3, 5, 9, 8], [2, 0, 3, 6, 7, 9]]
            ),
            3,
            np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]),
        ),
    ),
)
