"""Six-node wedge: the triangle 0 ≤ ξ, η; ξ + η ≤ 1 extruded along -1 ≤ ζ ≤ 1.

Corners 0-2 are below, 3-5 above; the functions are linear times linear. The element locks in
bending. Two points on the axis, as in some programs, halve that error but leave a zero-energy mode,
in which the extension along ζ is the same at both.
"""

import itertools

import numpy as np

from preprocess.elements.element import Element, FaceTable
from preprocess.elements.quadrature import gauss_wedge, triangle_3

CORNERS = np.array([[0.0, 0, -1], [1, 0, -1], [0, 1, -1], [0, 0, 1], [1, 0, 1], [0, 1, 1]])
TRIANGLES = np.array([[0, 2, 1], [3, 4, 5]])
SIDES = np.array([[0, 1, 4, 3], [1, 2, 5, 4], [2, 0, 3, 5]])

WEDGE6 = Element(
    name="wedge6",
    meshio_name="wedge",
    corners=6,
    nodes=CORNERS,
    exponents=np.array(
        [(i, j, k) for i, j, k in itertools.product(range(2), repeat=3) if i + j <= 1]
    ),
    stiffness_rule=gauss_wedge(triangle_3(), 2),
    mass_rule=gauss_wedge(triangle_3(), 2),
    faces=(
        FaceTable(TRIANGLES, 3, np.array([[0, 1, 2]])),
        FaceTable(SIDES, 4, np.array([[0, 1, 2], [0, 2, 3]])),
    ),
)
