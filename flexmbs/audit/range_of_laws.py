"""Outputs at which a law of a force is outside of its range, such as pressures below vacuum."""

from collections.abc import Callable, Mapping

import numpy as np

from flexmbs.model.forces.force import AlongLine
from flexmbs.results.force_signals import states_of, stretch
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import WARN, Check


def range_of_laws(
    solution: SolutionData, more: Callable[[], SolutionData] | None = None
) -> list[Check]:
    """Report forces along lines whose law has ended at an output (`Force.end_of_validity`).

    more: states between the outputs, asked for if there are such forces.
    """
    forces = {
        name: force
        for name, force in solution.model.forces.items()
        if isinstance(force, AlongLine) and force.row().states
    }
    found = _ended(solution, forces)
    return _ended(more(), forces) if forces and more and not found else found


def _ended(solution: SolutionData, forces: Mapping[str, AlongLine]) -> list[Check]:
    """First state outside of the range of each law."""
    found = []
    for name, force in forces.items():
        states = states_of(solution, force)
        for t, x, z in zip(solution.t, stretch(solution, force), states):
            text = force.end_of_validity(float(x), z.tolist()) if np.isfinite(x) else ""
            if text:
                cause, _, remedy = text.partition("; ")
                found.append(Check(f"Law of '{name}'", WARN, f"{cause} at t = {t:.4g} s", remedy))
                break
    return found
