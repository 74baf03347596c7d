"""Stress recovery: sampling points of an element and extrapolation to its nodes.

Derivatives of the displacements are superconvergent at the Gauss points of the rule one order below
the element's (Barlow points). The polynomial through their values is evaluated at the nodes: exact
where the stress is of its degree.

Source: Barlow, Int. J. Numer. Meth. Engng 10 (1976) 243; Hinton and Campbell, ibid. 8 (1974) 461
(local smoothing); Zienkiewicz and Taylor, The Finite Element Method, volume 1, section 15.2
(wedges: product of triangle and line); Felippa, Eng. Comput. 21 (2004) 867 (pyramids: the five
points of the rule of degree 2).
"""

import itertools

import numpy as np

from preprocess.elements.element import Array, Element, Quadrature, monomials
from preprocess.elements.quadrature import (
    gauss_hexahedron,
    gauss_wedge,
    tetrahedron_1,
    tetrahedron_4,
    triangle_3,
)

_CONSTANT = np.zeros((1, 3), dtype=np.int64)
_LINEAR = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
_TRILINEAR = np.array(list(itertools.product(range(2), repeat=3)))
_ALONG = np.array([[0, 0, 0], [0, 0, 1]])
_LINEAR_WEDGE = np.array(
    [[i, j, k] for (i, j), k in itertools.product(((0, 0), (1, 0), (0, 1)), range(2))]
)


# points of the pyramid's rule of degree 2 (Felippa): coordinate in the base's plane, height of the
# point near the apex
_AT, _ABOVE = 5 / 6 * 8 / 5 * np.sqrt(2 / 15), 0.7
_FIVE = np.array(
    [
        [-_AT, -_AT, 1 / 6],
        [_AT, -_AT, 1 / 6],
        [_AT, _AT, 1 / 6],
        [-_AT, _AT, 1 / 6],
        [0.0, 0.0, _ABOVE],
    ]
)
_LINEAR_PYRAMID = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
_CENTRE = Quadrature(np.array([[1 / 3, 1 / 3]]), np.array([0.5]))  # of the triangle

_SAMPLES = {
    "tet4": (tetrahedron_1().points, _CONSTANT),
    "tet10": (tetrahedron_4().points, _LINEAR),
    "wedge6": (gauss_wedge(_CENTRE, 2).points, _ALONG),
    "wedge15": (gauss_wedge(triangle_3(), 2).points, _LINEAR_WEDGE),
    "pyramid5": (np.array([[0.0, 0.0, 0.25]]), _CONSTANT),
    "pyramid13": (_FIVE, _LINEAR_PYRAMID),
    "hex8": (gauss_hexahedron(2).points, _TRILINEAR),
    "hex20": (gauss_hexahedron(2).points, _TRILINEAR),
    "hex27": (gauss_hexahedron(2).points, _TRILINEAR),
}


def stress_points(element: Element) -> tuple[Array, Array]:
    """Stress sampling points (np, 3) of an element type, and extrapolation E (nn, np) to nodes."""
    points, exponents = _SAMPLES[element.name]
    return points, monomials(element.nodes, exponents) @ np.linalg.inv(monomials(points, exponents))
