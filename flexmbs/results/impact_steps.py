"""Outputs whose forces are impulses divided by the length of a step.

Such forces depend on the step and do not describe the force of the impact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData


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
