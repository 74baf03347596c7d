"""Two-sided bounds of the eigenvalues of ``K φ = λ M φ`` below a shift, with their exact number.

Upper bounds are Ritz values. Lower bounds: on the span of trial vectors, the Rayleigh–Ritz values
μ_1 ≤ μ_2 ≤ … of (M⁻¹K − ρ)⁻¹ bound its eigenvalues 1/(λ − ρ) from above, hence, with n the number
of eigenvalues λ below ρ,

    λ_{n+1−j} ≥ ρ + 1/μ_j    for every μ_j < 0,

whether eigenvalues are equal or not. The trial vectors u = A M w, A the static response, have K u =
M w, so that their products need no inverse of M, which may be singular:

    (a₁ − ρ a₀) x = μ (a₂ − 2ρ a₁ + ρ² a₀) x,   a₀ = u·Mu, a₁ = u·Ku = w·Mu, a₂ = Ku·M⁻¹Ku = w·Mw.

The number n at one shift above the band follows from the inertia of a factorization
(`sturm_check`). Below, the lower bound of an eigenvalue that is clear of the next lower one is a
shift itself, nearer to the lower eigenvalues.

Source: Lehmann, Z. angew. Math. Mech. 29 (1949) 341 and 30 (1950) 1; Goerisch and Haunhorst, ibid.
65 (1985) 129; Parlett, The Symmetric Eigenvalue Problem (1998), sections 10.5 (Lehmann's intervals
are optimal) and 11.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.flexible_body.components import FloatArray
from preprocess.reduction.trial_space import TrialPairs

# relative distance of a lower bound from the next lower eigenvalue that makes it a shift
_CLEAR = 1e-3
_MARGIN = 10.0  # factor on the estimated round-off in the bounds


class Enclosure(NamedTuple):
    """Enclosed eigenvalues below a shift, ``lower ≤ λ ≤ upper`` [rad²/s²].

    Both arrays are (n,), ascending, with multiplicity.
    """

    lower: FloatArray
    upper: FloatArray


def enclosure(trial: TrialPairs, shift: float, count: int) -> Enclosure:
    """Bounds of the ``count`` eigenvalues below ``shift``.

    A lower bound is zero if the trial vectors give none.
    """
    upper = trial.lam[:count] * (1.0 + _MARGIN * trial.noise)
    lower = lower_bounds(trial, shift, count)
    for i in range(count - 1, 0, -1):
        if lower[i] > upper[i - 1] * (1.0 + _CLEAR):
            lower[:i] = np.maximum(lower[:i], lower_bounds(trial, lower[i], i))
    return Enclosure(np.maximum.accumulate(lower), upper)


def lower_bounds(trial: TrialPairs, shift: float, count: int) -> FloatArray:
    """Lower bounds (count,) of the ``count`` eigenvalues below ``shift``.

    They are reduced by their round-off. Zero if there is none. Vectors whose product with (M⁻¹K −
    ρ)² is not clear of round-off are omitted.
    """
    lam, found = trial.lam, np.zeros(count)
    scale = np.outer(lam, lam)
    a0, a1, a2 = scale * trial.uu, scale * trial.wu, np.diag(lam**2)
    left, right = a1 - shift * a0, a2 - 2.0 * shift * a1 + shift**2 * a0
    clear = np.flatnonzero(right.diagonal() > _MARGIN * trial.noise * (lam + shift) ** 2)
    if not clear.size:
        return found
    unit = 1.0 / np.sqrt(right.diagonal()[clear])
    chosen = np.ix_(clear, clear)
    try:
        mu = scipy.linalg.eigh(
            unit[:, None] * left[chosen] * unit,
            unit[:, None] * right[chosen] * unit,
            eigvals_only=True,
        )
    except np.linalg.LinAlgError:
        return found
    distance = -1.0 / mu[mu < 0][:count]  # of the bounds from the shift, the nearest first
    bounds = shift - distance * (1.0 + _MARGIN * trial.noise * (shift / distance) ** 2)
    found[count - len(bounds) :] = bounds[::-1]
    return np.maximum(found, 0.0)
