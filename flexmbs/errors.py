"""Errors a user can meet, each with the exit code of the command line; and how they show what the user gave."""

import reprlib

GIVEN = reprlib.Repr()
GIVEN.maxstring = GIVEN.maxother = 60
GIVEN.maxlist = GIVEN.maxtuple = 9
GIVEN.maxlevel = 3


class FlexmbsError(Exception):
    """Base of all errors that are the user's to mend; one line: item, value, mend."""

    exit_code = 1


class InputError(FlexmbsError):
    """Bad input (file, model, option). ``problems`` lists every problem found, one line each."""

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class SolverError(FlexmbsError):
    """The solver stopped; partial results are in ``solution`` when there are any."""

    exit_code = 3

    def __init__(self, message: str, solution: object = None) -> None:
        self.solution = solution
        super().__init__(message)


class MachineError(FlexmbsError):
    """The machine fails: disk, memory, a missing extra."""

    exit_code = 4


class AssemblyWarning(UserWarning):
    """Declared initial values that could not be kept."""


class ModelWarning(UserWarning):
    """What a model says and may not mean."""


class AuditWarning(UserWarning):
    """What the audit of a run warns of, one for each of its checks that is WARN or FAIL."""


class AuditError(FlexmbsError):
    """A run whose audit is not PASS, where that was asked for; the run is in ``solution``."""

    exit_code = 3

    def __init__(self, message: str, solution: object = None) -> None:
        self.solution = solution
        super().__init__(message)


def shown(value: object) -> str:
    """A short, depth-limited repr of what the user gave."""
    try:
        return " ".join(GIVEN.repr(value).split())
    except ValueError:
        return "a number of thousands of digits"
