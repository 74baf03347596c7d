"""User functions that do not depend on their arguments alone.

Such functions have memory between calls, or use random numbers. An integrator calls them at trial
states, in rejected steps and repeatedly at the same state: their results must follow from their
arguments.
"""

from flexmbs.results.solution import SolutionData
from flexmbs.system.check import Check, graded

LIMITS = (1e-9, 1e-3)  # of the largest value that a function returned
REMEDY = (
    "let it depend on its arguments only; for a controller with memory use PID, or a force "
    "with states"
)


def functions_that_change(solution: SolutionData) -> list[Check]:
    """FAIL for each user function that returns other values when called again."""
    found = []
    for name, (change, call) in solution.compiled.callbacks.changed().items():
        text = (
            f"the values of {name} differ by {change:.1e} of the largest at the same "
            f"arguments, {call}"
        )
        found.append(Check("Functions", graded(change, LIMITS), text, REMEDY))
    return found
