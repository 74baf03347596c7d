"""Outputs whose forces are those of an impact: impulses over the length of a step, which say
nothing but that length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData


def between_impacts(solution: SolutionData) -> NDArray[np.bool_]:
    """True where no impact lies in the last step before an output (nt,); all of them where there is no
    other.
    """
    t, step = solution.t, solution.trajectory.step
    times = np.sort([impact.t for impact in solution.run.impacts])
    reach = 1e-9 * max(float(np.ptp(t)), 1e-300) if len(t) else 0.0
    counts = np.searchsorted(times, t + reach, side="right") - np.searchsorted(
        times, t - step - reach, side="left"
    )
    calm = counts == 0
    return calm if calm.any() else np.ones(len(t), bool)
