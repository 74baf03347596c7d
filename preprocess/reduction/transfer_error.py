"""Bound of the error of a reduction's interface transfer functions over a whole band.

With the loss factor η the elastic transfer functions of the free body, its rigid-body part being
exact in every reduction, are ``H(s) = Lᵀ (K (1 + iη) − s M)⁻¹ L``, s = ω². Let W be a larger space
of Ritz vectors w_j, λ_j, its transfer functions H_W and its residual ``r(s) = L − (K (1 + iη) − s
M) W X(s)``. As Wᵀ r = 0, in the metric A = K⁻¹ of static responses

    H − H_W = rᵀ (K (1 + iη) − s M)⁻¹ r,    |H − H_W| ≤ rᴴ A r / β(s),    β(s) = min_j |1 + iη − s/λ_j| over the full model,

and ``H_W − H_reduced`` is a sum of poles. The residual is ``r = L − M W B − (1 + iη) g X``, X_j =
b_j/(λ_j (1 + iη) − s), with the residuals g_j = K w_j − λ_j M w_j of the Ritz vectors, so that its
Gram matrix in A follows from products with A M W and A L. Between the points of a grid, whose steps
are fractions of the distance of the nearest pole, sums of poles are bounded by their Taylor series
and its remainder.

Loads are scaled to unit elastic compliance, D = diag(LᵀAL)^(−½). A relative error ε of a frequency
changes H by 2ε/η near its resonance and by 2ε far from any. Errors are therefore stated as the
equivalent frequency error, ``½ β |D (H − H_r) D| / N`` with N = Σ_j |D b_j|²/|λ_j (1 + iη) − s|,
the sum of the moduli of the reduction's modal contributions.

Source: Parlett, The Symmetric Eigenvalue Problem (1998), chapter 11; Feng, Antoulas and Benner,
ESAIM: M2AN 51 (2017) 2127 (error of transfer functions by dual residuals).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.flexible_body.components import FloatArray
from preprocess.reduction.enclosures import Enclosure
from preprocess.reduction.free_reduction import FreeReduction
from preprocess.reduction.trial_space import TrialPairs

ComplexArray = NDArray[np.complex128]

# loss factor η of the transfer functions that the bound refers to: 2 %, 1 % of critical damping, as
# usual in metal structures with joints
LOSS = 0.02
# half width of an interval relative to the distance of the nearest pole from its start; the Taylor
# series then converges as 0.25ᵏ
_STEP = 0.2
# at least half as many intervals over the band, so that the largest error is located to 1 %
_INTERVALS = 200
# relative end of the band that is omitted: round-off would make an empty last interval
_END = 1e-12
# number of terms of the Taylor series; the remainder is 0.25¹⁰ = 1e-6 of the poles' contributions
_TERMS = 10


class TransferError(NamedTuple):
    """Bound over the band.

    The error as a frequency error, the frequency where it is largest [Hz], and the largest error
    relative to N.
    """

    as_frequency: float
    at: float
    relative: float


class Poles(NamedTuple):
    """Sum of poles ``Σ_j b_j b_jᵀ / (λ_j (1 + iη) − s)``: lam (n,) and the scaled b (6k, n)."""

    lam: FloatArray
    b: FloatArray

    def distances(self, s: float) -> FloatArray:
        """Distances |λ_j (1 + iη) − s|, (n,)."""
        return np.abs(self.lam * (1 + 1j * LOSS) - s)

    def series(self, s: float) -> ComplexArray:
        """Taylor coefficients (terms, 6k, 6k) about s."""
        inverse = 1.0 / (self.lam * (1 + 1j * LOSS) - s)
        powers = inverse ** (1 + np.arange(_TERMS)[:, None])
        return np.asarray((self.b * powers[:, None, :]) @ self.b.T)

    def remainder(self, s: float, h: float) -> float:
        """Bound of the remainder of the Taylor series within h of s."""
        d = self.distances(s)
        return float((np.einsum("ij,ij->j", self.b, self.b) * (h / d) ** _TERMS / (d - h)).sum())


class FullSpectrum(NamedTuple):
    """Eigenvalues of the full model below a shift, as enclosures; all others are above it."""

    enclosed: Enclosure
    shift: float

    def clearance(self, s: float, h: float) -> float:
        """Lower bound of the distance β to the spectrum within h of s."""
        low, high = (
            np.append(self.enclosed.lower, self.shift),
            np.append(self.enclosed.upper, np.inf),
        )
        below, above = 1.0 - (s + h) / np.maximum(low, np.finfo(float).tiny), (s - h) / high - 1.0
        return float(np.hypot(LOSS, np.maximum(np.maximum(below, above), 0.0)).min())


class TransferReference:
    """Transfer functions in a trial space with the bound of their own error."""

    def __init__(self, trial: TrialPairs, compliance: FloatArray, spectrum: FullSpectrum) -> None:
        """Reference from trial vectors, compliance LᵀAL (6k, 6k) and spectrum of the free body."""
        diagonal = compliance.diagonal()
        self._scale = np.where(
            diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0
        )
        self._poles, self._spectrum = (
            Poles(trial.lam, self._scale[:, None] * trial.motion),
            spectrum,
        )
        self._gram = _residual_gram(
            trial, self._poles.b, self._scale[:, None] * trial.moved, self._scaled(compliance)
        )
        residuals = np.maximum(self._gram.diagonal()[len(diagonal) :], 0.0)
        self._sizes = np.sqrt(residuals) * np.linalg.norm(self._poles.b, axis=0)

    def error(self, reduced: FreeReduction, omega: float, enough: float = np.inf) -> TransferError:
        """Bound of the transfer error of a reduction up to ``omega`` [rad/s].

        Evaluation ends where it exceeds ``enough``.
        """
        lam, motion = reduced.ritz(None)
        poles = Poles(lam, self._scale[:, None] * (reduced.elastic @ motion[:-6]))
        worst, at, relative, s = 0.0, 0.0, 0.0, 0.0
        while s < omega**2 * (1.0 - _END) and worst <= enough:
            nearest = float(min(self._poles.distances(s).min(), poles.distances(s).min()))
            h = min(_STEP * nearest, omega**2 / _INTERVALS, 0.5 * (omega**2 - s))
            s += h
            share = self._within(poles, s, h) / self._size(poles, s, h)
            equivalent = 0.5 * share * float(((poles.distances(s) + h) / lam).min())
            relative = max(relative, share)
            if equivalent > worst:
                worst, at = equivalent, float(np.sqrt(s)) / (2 * np.pi)
            s += h
        return TransferError(worst, at, relative)

    def _scaled(self, A: FloatArray) -> FloatArray:
        """Compliance with rows and columns scaled."""
        return self._scale[:, None] * A * self._scale

    def _within(self, poles: Poles, s: float, h: float) -> float:
        """Bound of the scaled transfer error |D (H − H_r) D| within h of s."""
        difference = np.linalg.norm(
            self._poles.series(s) - poles.series(s), axis=(1, 2)
        ) @ h ** np.arange(_TERMS)
        difference += self._poles.remainder(s, h) + poles.remainder(s, h)
        return float(difference) + self._residual(s, h) ** 2 / self._spectrum.clearance(s, h)

    def _residual(self, s: float, h: float) -> float:
        """Bound of the residual norm √(rᴴ A r) within h of s."""
        q, d = len(self._poles.b), self._poles.distances(s)
        X = self._poles.b.T / (self._poles.lam * (1 + 1j * LOSS) - s)[:, None]
        Y = np.vstack([np.eye(q), -(1 + 1j * LOSS) * X])
        square = float(np.sum(Y.conj() * (self._gram @ Y)).real)
        return float(
            np.sqrt(max(square, 0.0))
            + np.hypot(1.0, LOSS) * (self._sizes * h / (d * (d - h))).sum()
        )

    def _size(self, poles: Poles, s: float, h: float) -> float:
        """Lower bound of the size N of the transfer function within h of s."""
        return float((np.einsum("ij,ij->j", poles.b, poles.b) / (poles.distances(s) + h)).sum())


def _residual_gram(trial: TrialPairs, B: FloatArray, Q: FloatArray, C: FloatArray) -> FloatArray:
    """Products in A of the scaled L − M W Bᵀ and of the residuals g_j, (6k + p, 6k + p).

    B = LᵀW, Q = LᵀAMW, C = LᵀAL.
    """
    lam, a = trial.lam, trial.wu
    loads = C - Q @ B.T - B @ Q.T + B @ a @ B.T
    mixed = (B @ a - Q) * lam
    residuals = np.outer(lam, lam) * a - np.diag(lam)
    return np.block([[loads, mixed], [mixed.T, residuals]])
