"""Free body in the span of its rigid-body modes and of elastic shapes, as small matrices.

The shapes are M-orthonormal; any interface can be held.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.flexible_body.components import FloatArray
from preprocess.reduction.interface_statics import InterfaceStatics


class RitzPairs(NamedTuple):
    """Ritz pairs of (K, M).

    Eigenvalues lam (n,) [rad²/s²], ascending; motion (n + 6, n) of their M-orthonormal vectors in
    the elastic shapes and, below, the rigid-body modes.
    """

    lam: FloatArray
    motion: FloatArray


class FreeReduction(NamedTuple):
    """Stiffness K (n, n) of elastic shapes Φ with Φᵀ M Φ = 1, Rᵀ M Φ = 0.

    And the motion of the interfaces in them, elastic LᵀΦ (6k, n) and rigid LᵀR (6k, 6).
    """

    K: FloatArray
    elastic: FloatArray
    rigid: FloatArray

    @classmethod
    def of(cls, statics: InterfaceStatics, shapes: FloatArray) -> FreeReduction:
        """Reduction of a body to given elastic, M-orthonormal shapes (3N, n)."""
        K = statics.fe.engine.inner(shapes, statics.fe.stiffness_product(shapes))
        return cls(
            0.5 * (K + K.T),
            statics.interface_motion(shapes),
            statics.interface_motion(statics.rigid_modes),
        )

    def within(self, Q: FloatArray) -> FreeReduction:
        """Reduction to orthonormal combinations Q (n, m) of the shapes."""
        return FreeReduction(Q.T @ self.K @ Q, self.elastic @ Q, self.rigid)

    def ritz(self, held: int | None) -> RitzPairs:
        """Ritz pairs of the body, free or with interface ``held`` held.

        The rigid-body motion follows, ``LᵀR r = −LᵀΦ y``.
        """
        follow = np.zeros((6, len(self.K)))
        if held is not None:
            rows = slice(6 * held, 6 * held + 6)
            follow[:] = np.linalg.solve(self.rigid[rows], self.elastic[rows])
        lam, V = supported_pairs(self.K, follow)
        return RitzPairs(np.maximum(lam, np.finfo(float).tiny), np.vstack([V, -follow @ V]))


def supported_pairs(K: FloatArray, follow: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues (n,), ascending, and vectors (n, n) of (K, 1 + FᵀF).

    F (6, n) is the rigid-body motion.

    Computed from the triangular factor of [1; F]: for an interface with hardly any mass F is large,
    and 1 + FᵀF would lose the one to round-off. The eigenvalues are the Rayleigh quotients of the
    vectors: those computed along with them have the round-off of the largest one.
    """
    n = len(K)
    back = scipy.linalg.solve_triangular(
        np.linalg.qr(np.vstack([np.eye(n), follow]), mode="r"), np.eye(n)
    )
    A = back.T @ K @ back
    V = back @ scipy.linalg.eigh(0.5 * (A + A.T))[1]
    lam = np.einsum("ik,ik->k", V, K @ V) / (
        np.einsum("ik,ik->k", V, V) + np.einsum("ik,ik->k", follow @ V, follow @ V)
    )
    order = np.argsort(lam, kind="stable")
    return lam[order], V[:, order]
