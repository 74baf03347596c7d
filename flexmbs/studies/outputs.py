"""Outputs: numbers of a solution, by what is wanted of the course of a channel, or by a function.

``"max joint elbow.0 effort"``: a word, then a name that `Solution.signal` knows. The words are first, last, min, max, peak
(max |x|), range, mean, integral, rms, and ``at 0.5``, the value at that time (s). Extrema lie on the parabola through three
neighbouring outputs, integrals are Simpson's, values at times those of a cubic spline: smooth functions of the outputs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexmbs.api.solution import Solution
from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError
from flexmbs.exports.data_frames import signal
from flexmbs.signals.arguments import FloatArray
from flexmbs.signals.signal import Signal

Wanted = str | Callable[[Solution], float]


class Output(NamedTuple):
    """One output: its name, what is wanted, and for a channel its name with the function of times and values."""

    name: str
    wanted: Wanted
    channel: str = ""
    of: Callable[[FloatArray, FloatArray], float] | None = None


def maximum(t: FloatArray, x: FloatArray) -> float:
    """The largest value, of the parabola through the largest output and its neighbours: to Δt³ where x is smooth."""
    k = int(np.argmax(x))
    if k in (0, len(x) - 1):
        return float(x[k])
    before, after = t[k] - t[k - 1], t[k + 1] - t[k]
    if min(before, after) <= 0.0:  # a jump, with both values at its time
        return float(x[k])
    left, right = (x[k] - x[k - 1]) / before, (x[k + 1] - x[k]) / after
    bend = (right - left) / (before + after)  # half the second derivative
    slope = (left * after + right * before) / (before + after)
    return float(x[k] - slope * slope / (4.0 * bend)) if bend < 0.0 else float(x[k])


def integral(t: FloatArray, x: FloatArray) -> float:
    """∫x dt by Simpson's rule."""
    from scipy.integrate import simpson

    return float(simpson(x, x=t))


def _range(t: FloatArray, x: FloatArray) -> float:
    return maximum(t, x) + maximum(t, -x)


WORDS: dict[str, Callable[[FloatArray, FloatArray], float]] = {
    "first": lambda t, x: float(x[0]),
    "last": lambda t, x: float(x[-1]),
    "min": lambda t, x: -maximum(t, -x),
    "max": maximum,
    "peak": lambda t, x: max(maximum(t, x), maximum(t, -x)),
    "range": _range,
    "mean": lambda t, x: integral(t, x) / float(t[-1] - t[0]),
    "integral": integral,
    "rms": lambda t, x: float(np.sqrt(integral(t, x * x) / (t[-1] - t[0]))),
}


def values_at(t: FloatArray, x: FloatArray, times: FloatArray) -> FloatArray:
    """Values at times (s) within the run, by a cubic spline through the outputs. Raises `InputError` for other times."""
    from scipy.interpolate import CubicSpline

    outside = times[(times < t[0] - 1e-9 * t[-1]) | (times > t[-1] * (1.0 + 1e-9))]
    if len(outside):
        raise InputError(f"t = {outside[0]:g} s is outside of the run, {t[0]:g} … {t[-1]:g} s; choose a later t_end")
    return np.asarray(CubicSpline(t, x)(times))


def read_outputs(given: Any, key: str = "outputs") -> list[Output]:
    """Outputs from one text or function, a list of them, or a dict with names. Raises `InputError`."""
    if isinstance(given, str) or callable(given):
        given = [given]
    if isinstance(given, Mapping):
        found = [read_output(f"{key}.{name}", str(name), wanted) for name, wanted in given.items()]
    elif isinstance(given, Sequence):
        found = [read_output(f"{key}[{k}]", _name(wanted), wanted) for k, wanted in enumerate(given)]
    else:
        raise InputError(f"{key}: {shown(given)} is no list of outputs, such as ['max joint elbow.0 effort']")
    if not found:
        raise InputError(f"{key}: is empty; give one output or more, such as 'max joint elbow.0 effort'")
    names = [output.name for output in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{key}: '{name}' is there twice; give them names, {{'name': output, …}}")
    return found


def _name(wanted: Any) -> str:
    return wanted if isinstance(wanted, str) else getattr(wanted, "__name__", type(wanted).__name__)


def read_output(key: str, name: str, wanted: Any) -> Output:
    """One output. Raises `InputError`."""
    if callable(wanted):
        return Output(name, wanted)
    if not isinstance(wanted, str):
        raise InputError(f"{key}: {shown(wanted)} is neither a text such as 'max joint elbow.0 effort' nor a function")
    word, _, channel = wanted.partition(" ")
    if word == "at":
        text, _, channel = channel.partition(" ")
        try:
            time = np.array([float(text)])
        except ValueError:
            raise InputError(f"{key}: 'at' takes a time in seconds, 'at 0.5 {channel or 'joint elbow.0 position'}'") from None
        word, of = f"at {text}", lambda t, x: float(values_at(t, x, time)[0])
    elif word in WORDS:
        of = WORDS[word]
    else:
        raise InputError(f"{key}: '{word}' begins no output; {close_names(word, [*WORDS, 'at'])}, then the name of a channel")
    if not channel.strip():
        raise InputError(f"{key}: names no channel; give one, as '{word} joint elbow.0 effort'")
    return Output(name, wanted, channel.strip(), of)


def evaluated(outputs: Sequence[Output], solution: Solution) -> FloatArray:
    """Values (n,) of the outputs. Raises `InputError` for channels that are not there, and for what is no finite number."""
    return np.array([value_of(output, solution) for output in outputs])


def observed(outputs: Sequence[Output], solution: Solution) -> list[FloatArray]:
    """What outputs are made of: the values of their channels at the output times, (1,) for the values of functions. Raises as
    `evaluated`."""
    return [
        np.array([value_of(output, solution)]) if output.of is None else channel_of(output, solution).values for output in outputs
    ]


def concluded(outputs: Sequence[Output], t: FloatArray, values: Sequence[FloatArray]) -> FloatArray:
    """Values (n,) of the outputs from what they are made of, at the output times t (s)."""
    return np.array([float(x[0]) if output.of is None else output.of(t, x) for output, x in zip(outputs, values)])


def channel_of(output: Output, solution: Solution) -> Signal:
    """The channel of an output. Raises `InputError` naming the output."""
    try:
        return signal(solution, output.channel)
    except InputError as error:
        raise InputError(*(f"outputs: '{output.name}': {problem}" for problem in error.problems)) from None


def units(outputs: Sequence[Output], solution: Solution) -> tuple[str, ...]:
    """Units of the outputs, none of functions."""
    return tuple("" if output.of is None else unit_of(output, signal(solution, output.channel)) for output in outputs)


def unit_of(output: Output, channel: Signal) -> str:
    """Unit of an output of a channel."""
    unit = channel.unit
    return f"{unit} s" if output.of is integral else "" if unit == "1" else unit


def value_of(output: Output, solution: Solution, channel: Signal | None = None) -> float:
    """Value of an output. channel: its channel, if that is known already. Raises as `evaluated`."""
    try:
        if output.of is not None:
            found = signal(solution, output.channel) if channel is None else channel
            value: Any = output.of(found.t, found.values)
        else:
            value = output.wanted(solution)  # type: ignore[operator]
    except InputError as error:
        raise InputError(*(f"outputs: '{output.name}': {problem}" for problem in error.problems)) from None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"outputs: '{output.name}': the function gave {shown(value)}; return one number") from None
    if not np.isfinite(number):
        raise InputError(f"outputs: '{output.name}' is {number}; it must be a finite number")
    return number
