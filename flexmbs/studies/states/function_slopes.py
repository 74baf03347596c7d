"""Slopes of user functions, whose inside is not known.

Differences with steps that shrink as far as the values permit.

Central differences of fourth order with steps h, h/8, …: that step is taken whose difference
changes least to the next one, round-off included, unless smaller steps agree on another slope: then
the function bends within the larger steps. One-sided differences of second order that stay apart
show a corner.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flexmbs.algebra.differences import PLACES, WEIGHTS

LEVELS, SHRINK = 8, 8.0
# weights of differences to both sides
SIDED = np.array([[24.0, 0.0, -6.0, 0.0], [0.0, -24.0, 0.0, 6.0]]) / 12.0
ROUND_OFF = 1e-15  # of a value
AGREE = 1e-3  # of the distance to the slope of a larger step
# difference of one-sided slopes, of the slope and of the largest one
CORNER, NEGLIGIBLE = 1e-5, 1e-7
# change of a slope with the step, of it and of the largest one up to there
UNSETTLED, VANISHING = 1e-3, 1e-4


class Slope(NamedTuple):
    """Slopes of some functions along a direction, and which of these have a corner or a jump."""

    value: np.ndarray  # (m,)
    corner: np.ndarray  # (m,) bool


def slopes_along(values: Callable[[np.ndarray], np.ndarray], first: float) -> Slope:
    """Derivatives at 0 of functions of a step, one-sided where they differ.

    ``values(steps)`` gives (k, m) for k steps; first: the largest step.
    """
    sizes = first * SHRINK ** -np.arange(LEVELS)
    found = values(np.concatenate([[0.0], (sizes[:, None] * PLACES).ravel()]))
    here, around = found[0], found[1:].reshape(LEVELS, len(PLACES), -1)
    change = (around - here) / sizes[:, None, None]
    central, ahead, behind = np.einsum("ak,lkm->aml", [WEIGHTS, *SIDED], change)
    noise = (ROUND_OFF * np.abs(around).max(axis=1) / sizes[:, None]).T
    settled = [_converged_slope(*each) for each in zip(central, noise)]
    apart = [_has_kink(*each) for each in zip(ahead, behind, noise)]
    corner = [not well or sides for (_, well), sides in zip(settled, apart)]
    return Slope(np.array([slope for slope, _ in settled]), np.array(corner, bool))


def _converged_slope(slope: np.ndarray, noise: np.ndarray) -> tuple[float, bool]:
    """(derivative that changes least with the step, True if it converges)."""
    change = np.abs(np.diff(slope))
    error = np.where(np.isfinite(change), change, np.inf) + noise[:-1]
    best = int(np.argmin(error))
    for k in range(LEVELS - 3, best, -1):
        apart = abs(slope[k + 1] - slope[best])
        if apart > 10.0 * error[best] and change[k : k + 2].max() + noise[k + 1] < AGREE * apart:
            best = k + int(np.argmin(error[k:]))
            break
    settled = (
        error[best]
        <= UNSETTLED * abs(slope[best])
        + VANISHING * np.abs(slope[: best + 2]).max()
        + 20.0 * noise[best]
    )
    return float(slope[best + 1] if noise[best + 1] < change[best] else slope[best]), bool(settled)


def _has_kink(ahead: np.ndarray, behind: np.ndarray, noise: np.ndarray) -> bool:
    """True if one-sided derivatives differ for all steps."""
    size = np.maximum(np.abs(ahead), np.abs(behind))
    least = CORNER * size + NEGLIGIBLE * size.max() + 20.0 * noise
    return bool((np.abs(ahead - behind) > least).all())
