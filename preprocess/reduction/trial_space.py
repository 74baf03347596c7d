"""Trial space of error bounds: shapes, their responses ``A M Φ``, and inertia responses."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from flexmbs.flexible_body.components import FloatArray
from preprocess.reduction.free_reduction import FreeReduction
from preprocess.reduction.independent_shapes import elastic_shapes
from preprocess.reduction.interface_statics import InterfaceStatics

FREE = "free"
_UNIT = np.finfo(float).eps


class TrialPairs(NamedTuple):
    """Ritz pairs under a support, and the responses u_j = A M w_j to their inertia forces.

    lam (p,) [rad²/s²]; wu = (w_i · M u_j), uu = (u_i · M u_j), both (p, p); motion = (Lᵀw_j) and
    moved = (Lᵀu_j) of the interfaces, (6k, p); noise: relative error of lam and of the products by
    round-off, estimated.
    """

    support: str
    lam: FloatArray
    wu: FloatArray
    uu: FloatArray
    motion: FloatArray
    moved: FloatArray
    noise: float


@final
class TrialSpace:
    """Span of elastic shapes Φ (3N, n) and of their responses A M Φ.

    It takes at most 2n + 6 + 2n static solutions.
    """

    def __init__(self, statics: InterfaceStatics, shapes: FloatArray) -> None:
        """Trial space of shapes and of the responses to their inertia forces."""
        mass = statics.fe.mass_product
        given = elastic_shapes(statics, {"shapes": shapes}).shapes
        both = {"shapes": given, "responses": statics.free_response(mass(given))}
        W = elastic_shapes(statics, both).shapes
        V = FreeReduction.of(statics, W).ritz(None).motion[:-6]
        self.statics, self._W = statics, W @ V
        self.reduction = FreeReduction.of(statics, self._W)
        self._M = mass(np.hstack([self._W, statics.rigid_modes]))
        self._held = statics.response(self._M)

    @property
    def size(self) -> int:
        """Number of shapes."""
        return int(self._W.shape[1])

    def coordinates(self, shapes: FloatArray) -> FloatArray:
        """Coordinates (p, m) of the elastic part of shapes (3N, m) in the span."""
        return np.asarray(self._M[:, : self.size].T @ shapes)

    def trial(self, held: int | None, below: float) -> TrialPairs:
        """Trial vectors of the body, free or with interface ``held`` held.

        The noise is that of eigenvalues up to ``below``.
        """
        lam, C = self.reduction.ritz(held)
        statics, F, R = self.statics, self._M @ C, self.statics.rigid_modes
        u = statics.released(self._held @ C, F, 0 if held is None else held)
        if held is None:
            u -= R @ (self._M[:, self.size :].T @ u)
        wu, low = F.T @ u, lam <= max(below, lam[0])
        unsymmetric = float(
            (np.abs(wu - wu.T) / np.sqrt(np.outer(wu.diagonal(), wu.diagonal())))[
                np.ix_(low, low)
            ].max()
        )
        noise = unsymmetric + _stiffness_noise(
            statics, np.abs(np.hstack([self._W, R])) @ np.abs(C[:, low]), lam[low]
        )
        noise += (
            _response_noise(statics, held, u[:, low], F[:, low], lam[low])
            if statics.refines
            else 0.0
        )
        support = FREE if held is None else f"held at {statics.interfaces[held].name}"
        uu, motion = (
            u.T @ statics.fe.mass_product(u),
            np.hstack([self.reduction.elastic, self.reduction.rigid]) @ C,
        )
        moved = statics.interface_loads.T @ u
        return TrialPairs(support, lam, 0.5 * (wu + wu.T), 0.5 * (uu + uu.T), motion, moved, noise)


def _stiffness_noise(statics: InterfaceStatics, size: FloatArray, lam: FloatArray) -> float:
    """Largest relative round-off of wᵀKw = λ, ``ε |w|ᵀ|K||w| / λ``, w = Φ c.

    size: |Φ||c|, of the terms in the sum.
    """
    sums = np.einsum("ik,ik->k", size, abs(statics.fe.K) @ size)
    return float(_UNIT * (sums / lam).max(initial=0.0))


def _response_noise(
    statics: InterfaceStatics, held: int | None, u: FloatArray, loads: FloatArray, lam: FloatArray
) -> float:
    """Largest relative error of u·Mu due to errors e of refined responses u.

    ``2 √(λ/λ₁) |e| / |u|`` in the energy norm. ``|e|² = g · A g`` with the residual ``g = f − K
    u``; an approximate A is sufficient for its size.
    """
    g = loads - statics.fe.stiffness_product(u)
    e = (
        statics.free_response(g, refined=False)
        if held is None
        else statics.held_response(g, held, refined=False)
    )
    relative = np.sqrt(np.abs(np.einsum("ik,ik->k", g, e)) / np.einsum("ik,ik->k", loads, u))
    return float(2.0 * (relative * np.sqrt(lam / lam[0])).max(initial=0.0))
