"""Jumps of prescribed velocities, which act as impacts.

At such a jump a run stops, projects the velocities onto the constraints by the change with least
kinetic energy (the momentum changes only by impulses of the constraints) and restarts, as it also
does at a jump of acceleration. With rigid contacts it does not restart: the impact is spread over
the next steps.
"""

from typing import TYPE_CHECKING

import numpy as np

from flexmbs.model.declared_values import prescribed_motions
from flexmbs.model.laws import Function
from flexmbs.system.check import WARN, Check
from flexmbs.system.compile import Compiled

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

OFFSET = 1e-7  # relative to the run: distance from a corner at which the rates are evaluated
JUMP = 1e-3  # relative to the largest rate of the law: smaller jumps are ignored
SAMPLES = 65  # times at which the largest rate is sought
AT_CORNER = 1e-9  # relative to the run: closer times are at a corner
ROUND_OFF = 1e-15  # relative to the time
MOST_RESTARTS = 200  # restarts for accelerations; each costs an initial step
DECAY_STEPS = 50  # steps after which the effect of a jump has decayed


def drive_jumps(
    compiled: Compiled, begun: float, ended: float, order: int = 1
) -> list[tuple[float, str]]:
    """Jumps of prescribed velocities (order 1) or accelerations (order 2) within a run.

    Pairs (time, drive or coupling).
    """
    found = []
    corners = [t for t in compiled.corners if begun < t < ended]
    for (section, name, _), law in prescribed_motions(compiled.model):
        if isinstance(law, Function):
            continue
        aside = OFFSET * (ended - begun)
        rates = np.array(
            [[law.state(t - aside)[order], law.state(t + aside)[order]] for t in corners]
        ).reshape(-1, 2)
        # over the whole run: at its corners a smooth motion may be at rest
        within = (
            [law.state(t)[order] for t in np.linspace(begun, ended, SAMPLES)] if corners else []
        )
        size = float(np.abs([*rates.ravel(), *within]).max(initial=0.0))
        found += [
            (t, f"{section}.{name}")
            for t, (before, after) in zip(corners, rates)
            if abs(after - before) > JUMP * size
        ]
    return sorted(found)


def restarts(compiled: Compiled, ended: float) -> list[float]:
    """Times of the jumps of drives at which a run restarts.

    Jumps of prescribed velocities, and of accelerations unless there are many.
    """
    last = ended * (1.0 + ROUND_OFF)  # includes a jump at the end
    velocities, accelerations = (
        {t for t, _ in drive_jumps(compiled, 0.0, last, order)} for order in (1, 2)
    )
    return sorted(velocities | (accelerations if len(accelerations) <= MOST_RESTARTS else set()))


def near_jumps(solution: "SolutionData", times: np.ndarray) -> np.ndarray:
    """Mask of the times near drive jumps, whose accelerations cannot be judged.

    At corners of laws and, with rigid contacts, in the steps after a jump, because the run does not
    restart there.
    """
    corners = np.array([-np.inf, *solution.compiled.corners, np.inf])
    place = np.searchsorted(corners, times)
    nearest = np.minimum(times - corners[place - 1], corners[place] - times)
    found = nearest < AT_CORNER * float(np.abs(solution.t).max())
    jumps = np.array([-np.inf, *(t for t, _ in _jumps(solution))])
    if not len(solution.contacts) or not len(times):
        return np.asarray(found)
    steps = np.interp(times, solution.t, solution.trajectory.step)
    after = times - jumps[np.searchsorted(jumps, times, "right") - 1]
    return np.asarray(found | (after < DECAY_STEPS * steps))


def _jumps(solution: "SolutionData") -> list[tuple[float, str]]:
    """Jumps of the drives within the time of the solution."""
    return drive_jumps(solution.compiled, float(solution.t[0]), float(solution.t[-1]))


def jump_check(solution: "SolutionData") -> list[Check]:
    """WARN if a prescribed velocity jumps; empty without jumps."""
    jumps = _jumps(solution)
    if not jumps:
        return []
    t, name = jumps[0]
    text = f"that of {name} jumps at t = {t:.4g} s: an impact with unbounded forces"
    return [
        Check(
            "Velocities of drives",
            WARN,
            text,
            "prescribe a smooth motion (a monotone table, SmoothStep)",
        )
    ]
