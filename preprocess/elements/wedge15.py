"""Fifteen-node wedge: serendipity.

Corners, then the midpoints of the edges 01 12 20 below, 34 45 53 above, 03 14 25 along.
"""

import itertools

import numpy as np

from preprocess.elements.element import Element, FaceTable, midpoints
from preprocess.elements.quadrature import gauss_wedge, triangle_3, triangle_6
from preprocess.elements.wedge6 import CORNERS, SIDES

EDGES = ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5))

WEDGE15 = Element(
    name="wedge15",
    meshio_name="wedge15",
    corners=6,
    nodes=np.concatenate([CORNERS, midpoints(CORNERS, EDGES)]),
    exponents=np.array(
        [(i, j, k) for i, j, k in itertools.product(range(3), repeat=3) if i + j <= (2, 2, 1)[k]]
    ),
    stiffness_rule=gauss_wedge(triangle_3(), 3),
    mass_rule=gauss_wedge(triangle_6(), 3),
    faces=(
        FaceTable(
            np.array([[0, 2, 1, 8, 7, 6], [3, 4, 5, 9, 10, 11]]),
            3,
            np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]),
        ),
        FaceTable(
            np.column_stack([SIDES, [[6, 13, 9, 12], [7, 14, 10, 13], [8, 12, 11, 14]]]),
            4,
            np.array([[0, 4, 7], [4, 1, 5], [5, 2, 6], [6, 3, 7], [4, 5, 6], [4, 6, 7]]),
        ),
    ),
)
