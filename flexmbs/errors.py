"""Public errors with their exit codes, and the display of invalid values in messages."""

import reprlib

GIVEN = reprlib.Repr()
GIVEN.maxstring = GIVEN.maxother = 60
GIVEN.maxlist = GIVEN.maxtuple = 9
GIVEN.maxlevel = 3


class FlexmbsError(Exception):
    """Base of all errors that the user can correct; one line: item, value, remedy."""

    exit_code = 1


class InputError(FlexmbsError):
    """Bad input (file, model, option). ``problems`` lists every problem found, one line each."""

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class SolverError(FlexmbsError):
    """The solver stopped; partial results are in ``solution`` if there are any."""

    exit_code = 3

    def __init__(self, message: str, solution: object = None) -> None:
        self.solution = solution
        super().__init__(message)


class MachineError(FlexmbsError):
    """Failure of the machine: disk, memory, a missing extra."""

    exit_code = 4


class AssemblyWarning(UserWarning):
    """Declared initial values that were not kept."""


class ModelWarning(UserWarning):
    """Suspicious values of a model."""


class AuditWarning(UserWarning):
    """A finding of the audit of a run, one for each check that is WARN or FAIL."""


class AuditError(FlexmbsError):
    """The audit of a run with ``strict`` is not PASS; the run is in ``solution``."""

    exit_code = 3

    def __init__(self, message: str, solution: object = None) -> None:
        self.solution = solution
        super().__init__(message)


def shown(value: object) -> str:
    """A short, depth-limited repr of a value."""
    try:
        return " ".join(GIVEN.repr(value).split())
    except ValueError:
        return "a number of thousands of digits"
