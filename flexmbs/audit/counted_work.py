"""Work of repeated runs, counted in evaluations.

It is not timed, so that a verdict is the same on every machine, however busy it is. The level
"full" has no limit of work.
"""

from flexmbs.model.run import FULL
from flexmbs.results.solution import SolutionData
from flexmbs.system.compile import Compiled

NUMBERS = 500_000  # evaluations times coordinates in a unit of work, up to 0.1 s
# calls of Python user functions in a unit of work: up to 1 s, since a call takes between some
# microseconds and a millisecond; time is not measured
CALLS = 50_000
# limits of a repeated run: units of work, and multiples of the run's evaluations
LEAST, MOST_OF_RUN = 2.0, 2.0
UNLIMITED = 0  # number of evaluations that stands for no limit


def work_of(compiled: Compiled, evaluations: float) -> float:
    """Cost of a number of evaluations of a model, in units of work."""
    numbers = (4 + int(compiled.system.layout[2])) / NUMBERS
    return evaluations * max(numbers, compiled.callbacks.in_python / CALLS)


def evaluations_in(solution: SolutionData, units: float) -> int:
    """Number of evaluations in units of work, at least one; `UNLIMITED` for a full audit."""
    return UNLIMITED if full(solution) else max(round(units / work_of(solution.compiled, 1.0)), 1)


def most_evaluations(solution: SolutionData, cost: float = 1.0) -> int:
    """Largest number of evaluations of a repeated run that costs ``cost`` times the first."""
    own = int(MOST_OF_RUN * cost * solution.statistics["evaluations"])
    return UNLIMITED if full(solution) else max(evaluations_in(solution, LEAST), own)


def full(solution: SolutionData) -> bool:
    """True if the audit of the run has no limit of work."""
    return bool(solution.run.options.get("audit") == FULL)
