"""Events against the steps: state functions are looked at where steps end, so that two crossings within one are none."""

import numpy as np

from flexmbs.results.solution import SolutionData
from flexmbs.system.check import WARN, Check
from flexmbs.time_stepping.run import Run

TURN = 1.0  # rad in a step


def event_steps(solution: SolutionData, run: Run) -> list[Check]:
    """Where events are declared, the body that turns most within a step, if it is much."""
    if not run.declared:
        return []
    step = solution.trajectory.step
    turns = {name: np.linalg.norm(solution.body(name).angular_velocity, axis=1) * step for name in solution.bodies}
    name, turned = max(turns.items(), key=lambda each: float(each[1].max()))
    k = int(turned.argmax())
    if turned[k] <= TURN:
        return []
    text = f"body {name} turns by {turned[k]:.2g} rad in a step at t = {solution.t[k]:.4g} s; two crossings in one are not seen"
    return [Check("Events and steps", WARN, text, "take smaller steps, with 'max_step' or 'step'")]
