"""The six inertia shape integrals of a reduced body, slices of one Gram matrix.

With W = [1 | X | Φ], the fields "one", "position" and "shapes" at the mass points in columns, and
their scalar mass matrix m (M = Cᵀ (m ⊗ 1₃) C; the points of solids are the nodes),

    Z = Wᵀ m W

holds ``∫w_i w_j dm`` for every pair of columns. Constants and positions lie in the space of
isoparametric elements, so Z is exact with the quadrature of m itself, and for a lumped m it is the
sum over the nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from flexmbs.flexible_body.components import FloatArray
from preprocess.solve.engine import SERIAL, Engine


class ShapeIntegrals(NamedTuple):
    """Shape integrals, named and shaped as in `flexmbs.flexible_body.FlexibleBodyData`."""

    mass: float
    first_moment: FloatArray
    second_moment: FloatArray
    S_bar: FloatArray
    xS: FloatArray
    SS: FloatArray


def second_moment(inertia: FloatArray) -> FloatArray:
    """Second moment ∫x xᵀ dm = ½ tr(I) 1 − I (3, 3) of an inertia tensor I about the origin."""
    return np.asarray(0.5 * np.trace(inertia) * np.eye(3) - inertia)


def shape_integrals(
    m: sp.csr_matrix, x: FloatArray, phi: FloatArray, engine: Engine = SERIAL
) -> ShapeIntegrals:
    """Shape integrals for mass points x (P, 3) and shapes phi (P, 3, n), both in the body frame.

    m (P, P): their mass matrix. engine: of the processes that share the points. Source: Shabana,
    Dynamics of Multibody Systems, section 5.3.
    """
    n = phi.shape[2]
    W = np.hstack([np.ones((len(x), 1)), x, phi.reshape(len(x), 3 * n)])
    Z = engine.total(W.T @ (m @ W))
    Z = 0.5 * (Z + Z.T)
    return ShapeIntegrals(
        mass=float(Z[0, 0]),
        first_moment=Z[0, 1:4],
        second_moment=Z[1:4, 1:4],
        S_bar=Z[0, 4:].reshape(3, n),
        xS=Z[1:4, 4:].reshape(3, 3, n),
        SS=Z[4:, 4:].reshape(3, n, 3, n).transpose(0, 2, 1, 3),
    )
