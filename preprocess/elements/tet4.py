"""Four-node tetrahedron: corners 0-3, linear."""

import numpy as np

from preprocess.elements.element import Element, FaceTable
from preprocess.elements.quadrature import tetrahedron_1, tetrahedron_4

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])

TET4 = Element(
    name="tet4",
    meshio_name="tetra",
    corners=4,
    nodes=CORNERS,
    exponents=np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    stiffness_rule=tetrahedron_1(),
    mass_rule=tetrahedron_4(),
    faces=(
        FaceTable(np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]), 3, np.array([[0, 1, 2]])),
    ),
)
