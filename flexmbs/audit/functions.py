"""Functions of the user that are no functions of their arguments: they keep something between calls, or draw random numbers.

A method of integration calls them at trial states, in rejected steps and at states that it returns to: what they give must
follow from what they are given.
"""

from flexmbs.results.solution import SolutionData
from flexmbs.system.check import Check, graded

LIMITS = (1e-9, 1e-3)  # of the largest value that a function gave
MEND = "let it depend on its arguments alone; a controller with memory is a PID, or a force with states"


def functions_that_change(solution: SolutionData) -> list[Check]:
    """A check for each function that gives other values than in the run for the same arguments."""
    found = []
    for name, (change, call) in solution.compiled.callbacks.changed().items():
        text = f"that of {name} gives values that differ by {change:.1e} of the largest at the same arguments, {call}"
        found.append(Check("Functions", graded(change, LIMITS), text, MEND))
    return found
