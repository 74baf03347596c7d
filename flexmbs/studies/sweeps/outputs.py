"""Outputs of a sweep: numbers of a solution, by the name of a channel and what of its course is wanted, or by a function.

``"max joint elbow.0 effort"``: a word of `REDUCTIONS`, then a name that `Solution.signal` knows.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flexmbs.api.solution import Solution
from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.exports.data_frames import signal
from flexmbs.model.function_code import code_digest

Output = str | Callable[[Solution], float]

REDUCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "first": lambda t, x: float(x[0]),
    "last": lambda t, x: float(x[-1]),
    "min": lambda t, x: float(x.min()),
    "max": lambda t, x: float(x.max()),
    "peak": lambda t, x: float(np.abs(x).max()),
    "range": lambda t, x: float(np.ptp(x)),
    "mean": lambda t, x: float(np.trapezoid(x, t) / (t[-1] - t[0])),
    "rms": lambda t, x: float(np.sqrt(np.trapezoid(x * x, t) / (t[-1] - t[0]))),
}


class UnknownChannel(InputError):
    """The name of an output that no solution of the model has: a mistake of the study, not of a case."""


def checked_outputs(given: object) -> dict[str, Output]:
    """Outputs by name. Raises `InputError`."""
    if not isinstance(given, Mapping) or not given:
        raise InputError('outputs: give at least one by its name, as {"sag": "min frame arm/tip position z"}')
    problems = [problem for name, output in given.items() if (problem := _problem(name, output))]
    if problems:
        raise InputError(*problems)
    return dict(given)


def _problem(name: object, output: object) -> str:
    if not isinstance(name, str) or not name.strip():
        return f"outputs: {shown(name)} is no name; give a text"
    if callable(output):
        return ""
    if not isinstance(output, str):
        return f"outputs.{name}: {shown(output)} is neither a text such as 'max joint elbow.0 effort' nor a function"
    word, _, channel = output.partition(" ")
    if word not in REDUCTIONS:
        return f"outputs.{name}: begins with {shown(word)}; it begins with one of {', '.join(REDUCTIONS)}"
    return "" if channel.strip() else f"outputs.{name}: names no channel; give one, as '{word} joint elbow.0 effort'"


def evaluated(outputs: Mapping[str, Output], solution: Solution) -> dict[str, tuple[float, str]]:
    """Values and units of the outputs of a solution, without a unit those of functions. Raises `UnknownChannel`, `InputError` for
    what is no finite number, exceptions of functions."""
    return {name: _value(name, output, solution) for name, output in outputs.items()}


def _value(name: str, output: Output, solution: Solution) -> tuple[float, str]:
    unit = ""
    if isinstance(output, str):
        word, _, channel = output.partition(" ")
        try:
            found = signal(solution, channel.strip())
        except InputError as error:
            raise UnknownChannel(*(f"outputs.{name}: {problem}" for problem in error.problems)) from None
        unit = "" if found.unit == "1" else found.unit
        value: Any = REDUCTIONS[word](found.t, found.values)
    else:
        value = output(solution)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"outputs.{name}: the function returned {shown(value)}; return one number") from None
    if not math.isfinite(number):
        raise InputError(f"outputs.{name}: is {number}; return a finite number")
    return number, unit


def described(output: Output) -> str:
    """An output as a text that changes when it does: functions by their code."""
    return output if isinstance(output, str) else code_digest(output)
