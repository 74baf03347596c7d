"""Outputs of a sweep by their names.

`flexmbs.studies.parameters.outputs` reads and evaluates each.
"""

from collections.abc import Mapping

from flexmbs.api.solution import Solution
from flexmbs.declaration import shown
from flexmbs.errors import InputError, raise_problems
from flexmbs.exports.data_frames import signal
from flexmbs.model.function_code import code_digest
from flexmbs.studies.parameters.outputs import Output, Wanted, read_output, unit_of, value_of


class UnknownChannel(InputError):
    """Name of an output that no solution of the model has.

    It is a mistake of the study, not of a case.
    """


def checked_outputs(given: object) -> dict[str, Wanted]:
    """Outputs by name, from texts and functions. Raises `InputError`."""
    if not isinstance(given, Mapping) or not given:
        raise InputError(
            'outputs: give at least one by its name, as {"sag": "min frame arm/tip position z"}'
        )
    problems: list[str] = []
    for name, wanted in given.items():
        if not isinstance(name, str) or not name.strip():
            problems.append(f"outputs: {shown(name)} is not a name; give a text")
            continue
        try:
            read_output(f"outputs.{name}", name, wanted)
        except InputError as error:
            problems += error.problems
    raise_problems(problems)
    return dict(given)


def evaluated(outputs: Mapping[str, Wanted], solution: Solution) -> dict[str, tuple[float, str]]:
    """Values and units of the outputs of a solution; values of functions have no unit.

    Raises `UnknownChannel`, `InputError` for what is not a finite number, exceptions of functions.
    """
    return {
        name: _value(read_output(f"outputs.{name}", name, wanted), solution)
        for name, wanted in outputs.items()
    }


def _value(output: Output, solution: Solution) -> tuple[float, str]:
    """Value of an output of a run, and its unit. Raises `UnknownChannel`."""
    if not output.channel:
        return value_of(output, solution), ""
    try:
        channel = signal(solution, output.channel)
    except InputError as error:
        raise UnknownChannel(
            *(f"outputs.{output.name}: {problem}" for problem in error.problems)
        ) from None
    return value_of(output, solution, channel), unit_of(output, channel)


def described(wanted: Wanted) -> str:
    """Text that identifies an output; functions by their code."""
    return wanted if isinstance(wanted, str) else code_digest(wanted)
