"""Eight-node hexahedron: trilinear, with incompatible modes against shear locking.

The nodes are the corners of [-1, 1]³.

Trilinear displacements respond to bending with parasitic shear. The modes ξ², η², ζ² in each
component, condensed element by element, eliminate it; their gradients are corrected to satisfy the
patch test on distorted elements.

Source: Wilson, Taylor, Doherty, Ghaboussi 1973; Taylor, Beresford, Wilson, Int. J. Numer. Meth.
Eng. 10 (1976) 1211.
"""

import itertools
from dataclasses import replace

import numpy as np

from preprocess.elements.element import Element, FaceTable
from preprocess.elements.quadrature import gauss_hexahedron

CORNERS = np.array(
    [
        [-1.0, -1, -1],
        [1, -1, -1],
        [1, 1, -1],
        [-1, 1, -1],
        [-1, -1, 1],
        [1, -1, 1],
        [1, 1, 1],
        [-1, 1, 1],
    ]
)
FACES = np.array(
    [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
)

HEX8 = Element(
    name="hex8",
    meshio_name="hexahedron",
    corners=8,
    nodes=CORNERS,
    exponents=np.array(list(itertools.product(range(2), repeat=3))),
    stiffness_rule=gauss_hexahedron(2),
    mass_rule=gauss_hexahedron(2),
    faces=(FaceTable(FACES, 4, np.array([[0, 1, 2], [0, 2, 3]])),),
    internal=2 * np.eye(3, dtype=np.int64),
)

HEX8_FULL = replace(HEX8, internal=np.zeros((0, 3), dtype=np.int64))
