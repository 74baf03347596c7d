"""Five-node pyramid: square -1 ≤ ξ, η ≤ 1 at ζ = 0, apex at ζ = 1.

Nodes 0-3 are the corners of the base, 4 is the apex. The functions are 1, ξ, η, ζ and the rational
function ξη/(1-ζ), bilinear or linear on the faces, as in adjacent elements.

Source: Bedrosian, Int. J. Numer. Meth. Engng 35 (1992) 95.
"""

import numpy as np

from preprocess.elements.element import Element, FaceTable
from preprocess.elements.quadrature import gauss_pyramid

CORNERS = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [0, 0, 1]])
BASE = np.array([[0, 3, 2, 1]])
SIDES = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])

PYRAMID5 = Element(
    name="pyramid5",
    meshio_name="pyramid",
    corners=5,
    nodes=CORNERS,
    exponents=np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]),
    divisors=np.array([0, 0, 0, 0, 1]),
    stiffness_rule=gauss_pyramid(2, 2),
    mass_rule=gauss_pyramid(2, 3),
    faces=(
        FaceTable(SIDES, 3, np.array([[0, 1, 2]])),
        FaceTable(BASE, 4, np.array([[0, 1, 2], [0, 2, 3]])),
    ),
)
