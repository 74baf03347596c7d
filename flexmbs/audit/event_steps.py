"""Events against the steps.

State functions are evaluated at ends of steps, so that two crossings within one step are missed.
"""

import numpy as np

from flexmbs.results.solution import SolutionData
from flexmbs.system.check import WARN, Check
from flexmbs.time_stepping.run import Run

TURN = 1.0  # rad in a step


def event_steps(solution: SolutionData, run: Run) -> list[Check]:
    """Check of the rotation of the fastest body within a step, if events are declared."""
    if not run.declared:
        return []
    step = solution.trajectory.step
    turns = {
        name: np.linalg.norm(solution.body(name).angular_velocity, axis=1) * step
        for name in solution.bodies
    }
    name, turned = max(turns.items(), key=lambda each: float(each[1].max()))
    k = int(turned.argmax())
    if turned[k] <= TURN:
        return []
    text = (
        f"body {name} turns by {turned[k]:.2g} rad in a step at t = {solution.t[k]:.4g} s; "
        "two crossings within a step are missed"
    )
    return [Check("Events and steps", WARN, text, "use smaller steps by 'max_step' or 'step'")]
