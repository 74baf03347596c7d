"""Thirteen-node pyramid.

Corners, then the midpoints of the edges 01 12 23 30 of the base and 04 14 24 34. Quadratic, with
ξη/(1-ζ), ξ²η/(1-ζ) and ξη²/(1-ζ); on its faces it conforms with hex20 and tet10.

Source: Bedrosian, Int. J. Numer. Meth. Engng 35 (1992) 95.
"""

import itertools

import numpy as np

from preprocess.elements.element import Element, FaceTable, midpoints
from preprocess.elements.pyramid5 import BASE, CORNERS, SIDES
from preprocess.elements.quadrature import gauss_pyramid

EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4))
QUADRATIC = [e for e in itertools.product(range(3), repeat=3) if sum(e) <= 2]

PYRAMID13 = Element(
    name="pyramid13",
    meshio_name="pyramid13",
    corners=5,
    nodes=np.concatenate([CORNERS, midpoints(CORNERS, EDGES)]),
    exponents=np.array([*QUADRATIC, (1, 1, 0), (2, 1, 0), (1, 2, 0)]),
    divisors=np.array([0] * len(QUADRATIC) + [1, 1, 1]),
    stiffness_rule=gauss_pyramid(3, 3),
    mass_rule=gauss_pyramid(3, 4),
    faces=(
        FaceTable(
            np.column_stack([SIDES, [[5, 10, 9], [6, 11, 10], [7, 12, 11], [8, 9, 12]]]),
            3,
            np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]),
        ),
        FaceTable(
            np.column_stack([BASE, [[8, 7, 6, 5]]]),
            4,
            np.array([[0, 4, 7], [4, 1, 5], [5, 2, 6], [6, 3, 7], [4, 5, 6], [4, 6, 7]]),
        ),
    ),
)
