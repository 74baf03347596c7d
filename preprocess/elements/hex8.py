"""Eight-node hexahedron: corners of [-1, 1]³, trilinear, fully integrated."""

import itertools

import numpy as np

from preprocess.elements.element import Element
from preprocess.elements.quadrature import gauss_hexahedron

CORNERS = np.array([[-1.0, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1], [-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]])
FACES = np.array([[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]])

HEX8 = Element(
    name="hex8",
    meshio_name="hexahedron",
    corners=8,
    nodes=CORNERS,
    exponents=np.array(list(itertools.product(range(2), repeat=3))),
    stiffness_rule=gauss_hexahedron(2),
    mass_rule=gauss_hexahedron(2),
    faces=FACES,
    face_corners=4,
    triangles=np.array([[0, 1, 2], [0, 2, 3]]),
)
