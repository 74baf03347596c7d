"""Instants of discrete controllers: at every output the time to the next sample ends at a multiple of the sample time."""

import numpy as np

from flexmbs.dynamics.sampled import LEFT
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import FAIL, Check

ALLOWED = 1e-6  # of a sample time


def instants_of_samples(solution: SolutionData) -> list[Check]:
    """A FAIL for a controller that missed a sample, or took one at another time."""
    system, trajectory = solution.compiled.system, solution.trajectory
    names = [name for name, force in solution.model.forces.items() if force.place == "joint"]
    for f, state, period in zip(system.samplers.force, system.samplers.law.state, system.samplers.period):
        left = trajectory.z[:, state + LEFT]
        passed = (trajectory.t + left - left[0]) / period
        wrong = np.abs(passed - np.round(passed)) > ALLOWED
        wrong |= (left < -ALLOWED * period) | (left > (1.0 + ALLOWED) * period)
        if wrong.any():
            text = f"forces.{names[f]} is {left[wrong][0]:.6g} s from its next sample at t = {trajectory.t[wrong][0]:.6g} s"
            return [Check("Samples of controllers", FAIL, text, "report it")]
    return []
