"""Shares of the nodes in the area of faces.

    w_a = ∫ N_a dA,    Σ_a w_a = A

Quadratic faces have negative shares at the corners of quadrilaterals, none at those of flat triangles.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ORDER = 4  # of Gauss' rule along each side


class Shape(NamedTuple):
    """Shape functions (q, k) and derivatives (q, 2, k) of a face with k nodes at the points of a rule with weights (q,)."""

    values: Array
    derivatives: Array
    weights: Array


def node_areas(points: Array) -> Array:
    """∫ N_a dA (n, k) of faces with 3, 4, 6 or 8 nodes at ``points`` (n, k, 3), corners first, then the middles of the edges."""
    shape = SHAPES[points.shape[1]]
    tangents = np.einsum("qda,nac->nqdc", shape.derivatives, points)
    areas = np.linalg.norm(np.cross(tangents[:, :, 0], tangents[:, :, 1]), axis=-1)
    return np.asarray(np.einsum("q,nq,qa->na", shape.weights, areas, shape.values))


def _shape(corners: list[tuple[float, float]], exponents: list[tuple[int, int]]) -> Shape:
    ends = np.array(corners, dtype=float)
    middles = 0.5 * (ends + np.roll(ends, -1, axis=0))
    nodes, powers = np.vstack([ends, middles])[: len(exponents)], np.array(exponents)
    t, w = np.polynomial.legendre.leggauss(ORDER)
    u, v, weights = np.repeat(t, ORDER), np.tile(t, ORDER), np.outer(w, w).ravel()
    if len(corners) == 3:  # the square collapsed to a triangle
        u, v, weights = 0.5 * (1 + u), 0.25 * (1 + v) * (1 - u), weights * 0.125 * (1 - u)
    inverse = np.linalg.inv((nodes[:, None, :] ** powers).prod(axis=-1))
    x = np.column_stack([u, v])
    derivatives = []
    for d in range(2):
        lower = np.maximum(powers - np.eye(2, dtype=int)[d], 0)
        derivatives.append(powers[:, d] * (x[:, None, :] ** lower).prod(axis=-1) @ inverse)
    return Shape((x[:, None, :] ** powers).prod(axis=-1) @ inverse, np.stack(derivatives, axis=1), weights)


TRIANGLE, SQUARE = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
LINEAR, BILINEAR = [(0, 0), (1, 0), (0, 1)], [(0, 0), (1, 0), (0, 1), (1, 1)]
SHAPES = {
    3: _shape(TRIANGLE, LINEAR),
    4: _shape(SQUARE, BILINEAR),
    6: _shape(TRIANGLE, [*BILINEAR, (2, 0), (0, 2)]),
    8: _shape(SQUARE, [*BILINEAR, (2, 0), (0, 2), (2, 1), (1, 2)]),
}
