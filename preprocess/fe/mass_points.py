"""Mass as a quadratic form of the velocities of points, which are linear in the degrees of freedom.

    ½ ∫ u̇·u̇ dm = ½ Σ_pq m_pq u̇_p·u̇_q,    u_p = Σ_d C_pd u_d,    M = Cᵀ (m ⊗ 1₃) C

For solids the points are the nodes and C is the identity; rotary inertia is mass at points that
move with a rotating node. Every shape integral is a slice of the one matrix ``Wᵀ m W`` with W = [1
| x_p | φ_p].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MovedPoints:
    """Mass points at ``positions`` (P, 3) that move with the degrees of freedom.

    motion (3P, size): their displacements per degree of freedom.
    """

    positions: Array
    motion: sp.csr_matrix

    def displacements(self, u: Array) -> Array:
        """Displacements (P, 3, k) of the points for degrees of freedom u (size, k)."""
        return np.asarray(self.motion @ u).reshape(len(self.positions), 3, u.shape[1])


def concatenated_points(parts: Sequence[MovedPoints]) -> MovedPoints:
    """Mass points of several parts in one record."""
    return MovedPoints(
        np.vstack([each.positions for each in parts]),
        sp.vstack([each.motion for each in parts], format="csr"),
    )


def nodes_as_points(nodes: Array, size: int) -> MovedPoints:
    """Nodes (N, 3) as points, whose displacements are the first degrees of freedom."""
    return MovedPoints(nodes, sp.eye(3 * len(nodes), size, format="csr"))


def spread(factors: Array, columns: NDArray[np.int64], size: int) -> sp.csr_matrix:
    """Coefficients (m, size) of all degrees of freedom, given (m, n) for the ``columns`` (n,)."""
    m, n = factors.shape
    return sp.csr_matrix(
        (factors.ravel(), (np.repeat(np.arange(m), n), np.tile(columns, m))), shape=(m, size)
    )
