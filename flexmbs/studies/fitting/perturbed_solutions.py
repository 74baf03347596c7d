"""Variations of a trajectory with respect to parameters, and perturbed solutions."""

from typing import NamedTuple

from flexmbs.api.solution import Solution
from flexmbs.signals.signal_arguments import FloatArray
from flexmbs.system.compile import Compiled


class Varied(NamedTuple):
    """Variations (n, ·, m) of a trajectory at its outputs by m parameters."""

    q: FloatArray
    s: FloatArray
    sd: FloatArray
    lam: FloatArray
    z: FloatArray
    work: FloatArray


def perturbed_solution(
    solution: Solution, compiled: Compiled, changes: dict[str, FloatArray]
) -> Solution:
    """Solution with a perturbed trajectory, of another compiled model.

    changes (n, ·): differences of its fields.
    """
    now = solution.trajectory
    moved = {name: getattr(now, name) + change for name, change in changes.items()}
    return Solution(
        compiled=compiled,
        trajectory=now._replace(**moved),
        statistics=solution.statistics,
        run=solution.run,
    )
