"""Work of repeated runs, counted in evaluations and not timed: a verdict is the same on every
machine, however busy it is.

The level "full" has no limit of work.
"""

from flexmbs.model.run import FULL
from flexmbs.results.solution import SolutionData
from flexmbs.system.compile import Compiled

NUMBERS = 500_000  # evaluations times coordinates in a unit of work, up to 0.1 s
# calls of user functions in Python in a unit: up to 1 s, as one takes some microseconds to a
# millisecond, which is not counted
CALLS = 50_000
# units, or of the run's evaluations: limits of a repeated run
LEAST, MOST_OF_RUN = 2.0, 2.0
UNLIMITED = 0  # evaluations


def work_of(compiled: Compiled, evaluations: float) -> float:
    """Units of work of so many evaluations of a model."""
    numbers = (4 + int(compiled.system.layout[2])) / NUMBERS
    return evaluations * max(numbers, compiled.callbacks.in_python / CALLS)


def evaluations_in(solution: SolutionData, units: float) -> int:
    """Number of evaluations in so much work, at least one; `UNLIMITED` for a full audit."""
    return UNLIMITED if full(solution) else max(round(units / work_of(solution.compiled, 1.0)), 1)


def most_evaluations(solution: SolutionData, cost: float = 1.0) -> int:
    """Limit of a repeated run that costs ``cost`` times the first one."""
    own = int(MOST_OF_RUN * cost * solution.statistics["evaluations"])
    return UNLIMITED if full(solution) else max(evaluations_in(solution, LEAST), own)


def full(solution: SolutionData) -> bool:
    """True if the run is audited without limits of work."""
    return bool(solution.run.options.get("audit") == FULL)
