"""Outputs whose forces are impulses divided by the length of a step.

Such forces depend on the step and do not describe the force of the impact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData


def outputs_between_impacts(
    t: NDArray[np.float64], step: NDArray[np.float64] | float, impacts: Sequence[float]
) -> NDArray[np.bool_]:
    """Mask (nt,) of the outputs without an impact since the one before, or up to the next.

    Nor within the last ``step`` (s) of the output.
    """
    times = np.sort(impacts)
    before = np.minimum(np.concatenate([t[:1], t[:-1]]), t - step)
    after = np.concatenate([t[1:], t[-1:]])
    return np.asarray(
        np.searchsorted(times, after, "right") == np.searchsorted(times, before, "left")
    )


def outputs_without_impacts(solution: SolutionData) -> NDArray[np.bool_]:
    """Mask (nt,) of the outputs without an impact in the last step before them.

    All outputs if there are no others.
    """
    t, step = solution.t, solution.trajectory.step
    times = np.sort([impact.t for impact in solution.run.impacts])
    reach = 1e-9 * max(float(np.ptp(t)), 1e-300) if len(t) else 0.0
    counts = np.searchsorted(times, t + reach, side="right") - np.searchsorted(
        times, t - step - reach, side="left"
    )
    calm = counts == 0
    return calm if calm.any() else np.ones(len(t), bool)
