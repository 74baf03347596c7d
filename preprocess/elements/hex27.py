"""Twenty-seven-node hexahedron, triquadratic.

The nodes of hex20, then the centres of the faces -ξ +ξ -η +η -ζ +ζ, then the centre.
"""

import itertools

import numpy as np

from preprocess.elements.element import Element, FaceTable, midpoints
from preprocess.elements.hex8 import CORNERS
from preprocess.elements.hex20 import HEX20
from preprocess.elements.quadrature import gauss_hexahedron

FACE_MIDDLES = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 1, 2, 3), (4, 5, 6, 7))
# in the order of hex8's faces: -ζ +ζ -η +ξ +η -ξ
MIDDLE_OF_FACE = np.array([24, 25, 22, 21, 23, 20])

HEX27 = Element(
    name="hex27",
    meshio_name="hexahedron27",
    corners=8,
    nodes=np.concatenate([HEX20.nodes, midpoints(CORNERS, FACE_MIDDLES), np.zeros((1, 3))]),
    exponents=np.array(list(itertools.product(range(3), repeat=3))),
    stiffness_rule=gauss_hexahedron(3),
    mass_rule=gauss_hexahedron(3),
    faces=(
        FaceTable(
            np.column_stack([HEX20.faces[0].nodes, MIDDLE_OF_FACE]),
            4,
            np.array(
                [
                    [0, 4, 8],
                    [4, 1, 8],
                    [1, 5, 8],
                    [5, 2, 8],
                    [2, 6, 8],
                    [6, 3, 8],
                    [3, 7, 8],
                    [7, 0, 8],
                ]
            ),
        ),
    ),
)
