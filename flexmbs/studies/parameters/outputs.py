"""Outputs: numbers of a solution, by a statistic of a channel over time or by a function.

``"max joint elbow.0 effort"``: a word, then a name that `Solution.signal` knows. The words are
first, last, min, max, peak (max |x|), range, mean, integral, rms, and ``at 0.5``, the value at that
time (s). Extrema lie on the parabola through three neighbouring outputs, integrals are Simpson's,
values at times those of a cubic spline, all of them between the impacts and jumps of drives, to
which values are extrapolated: smooth functions of the outputs and of the times of impacts.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from flexmbs.api.solution import Solution
from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError
from flexmbs.exports.data_frames import signal
from flexmbs.results.drive_jumps import restarts
from flexmbs.signals.signal import Signal
from flexmbs.signals.signal_arguments import FloatArray

Wanted = str | Callable[[Solution], float]
Piece: TypeAlias = tuple[FloatArray, FloatArray]  # times and values of a smooth part of a channel
# relative change of an output with every second output time, from which on these are too far apart
COARSE = 0.01
FEW = 5  # outputs, fewer of which show nothing
POINTS = 4  # of a polynomial that extrapolates a part to its ends
# of the run: an output so near an impact may hold the value before it or the one behind
AT_BREAK = 1e-12


class Output(NamedTuple):
    """One output: its name and statistic.

    For a channel its name with the function of its smooth parts.
    """

    name: str
    wanted: Wanted
    channel: str = ""
    of: Callable[[list[Piece]], float] | None = None


def breaks(solution: Solution) -> FloatArray:
    """Times (n,) at which velocities or forces jump.

    Impacts of rigid contacts, and jumps of drives.
    """
    times = {impact.t for impact in solution.run.impacts} | set(
        restarts(solution.compiled, float(solution.t[-1]))
    )
    return np.array(sorted(times))


def pieces(t: FloatArray, x: FloatArray, at: FloatArray) -> list[Piece]:
    """Smooth pieces of a channel between jumps, each extrapolated to its ends.

    Without outputs between two breaks a line.
    """
    near = AT_BREAK * (1.0 + t[-1] - t[0])
    at = at[(at > t[0] + near) & (at < t[-1] - near)]
    if not len(at):
        return [(t, x)]
    found: list[Piece] = []
    for begin, end in pairwise([t[0], *at, t[-1]]):
        first, last = begin == t[0], end == t[-1]
        within = (t > begin + near * (not first) - near * first) & (
            t < end - near * (not last) + near * last
        )
        if not within.any():
            found.append((np.array([begin, end]), np.array([np.nan, np.nan])))
            continue
        ends = ([] if first else [begin]), ([] if last else [end])
        times, values = t[within], x[within]
        all_times = np.concatenate([ends[0], times, ends[1]])
        head, tail = (
            [_extrapolated(times[part], values[part], where[0])] if where else []
            for where, part in (
                (ends[0], slice(0, POINTS)),
                (ends[1], slice(-POINTS, None)),
            )
        )
        found.append((all_times, np.concatenate([head, values, tail])))
    return _bridged(found)


def _extrapolated(t: FloatArray, x: FloatArray, at: float) -> float:
    """Value at time ``at`` of the polynomial through all points."""
    weights = [np.prod((at - np.delete(t, k)) / (t[k] - np.delete(t, k))) for k in range(len(t))]
    return float(np.dot(weights, x))


def _bridged(parts: list[Piece]) -> list[Piece]:
    """Pieces of a channel, with straight lines across pieces without values."""
    known = [part for part in parts if np.isfinite(part[1]).all()]
    t, x = (np.concatenate([part[k][[0, -1]] for part in known]) for k in (0, 1))
    return [
        part if np.isfinite(part[1]).all() else (part[0], np.interp(part[0], t, x))
        for part in parts
    ]


def maximum(parts: list[Piece]) -> float:
    """Largest value of a channel, refined by a parabola.

    Accurate to Δt³ where x is smooth.
    """
    return max(_maximum(t, x) for t, x in parts)


def _maximum(t: FloatArray, x: FloatArray) -> float:
    """Largest value, refined by a parabola through three samples."""
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


def minimum(parts: list[Piece]) -> float:
    """Smallest value of a channel, refined by a parabola."""
    return -maximum([(t, -x) for t, x in parts])


def integral(parts: list[Piece]) -> float:
    """Time integral ∫x dt of a channel by Simpson's rule."""
    from scipy.integrate import simpson

    return sum(float(simpson(x, x=t)) for t, x in parts)


def _duration(parts: list[Piece]) -> float:
    """Time from the first to the last sample of consecutive pieces."""
    return float(parts[-1][0][-1] - parts[0][0][0])


WORDS: dict[str, Callable[[list[Piece]], float]] = {
    "first": lambda parts: float(parts[0][1][0]),
    "last": lambda parts: float(parts[-1][1][-1]),
    "min": minimum,
    "max": maximum,
    "peak": lambda parts: max(maximum(parts), -minimum(parts)),
    "range": lambda parts: maximum(parts) - minimum(parts),
    "mean": lambda parts: integral(parts) / _duration(parts),
    "integral": integral,
    "rms": lambda parts: float(
        np.sqrt(integral([(t, x * x) for t, x in parts]) / _duration(parts))
    ),
}


def values_at(parts: list[Piece], times: FloatArray) -> FloatArray:
    """Values at times (s) within the run, by cubic splines through the outputs of smooth parts.

    At a jump the value after it. Raises `InputError` for other times.
    """
    from scipy.interpolate import CubicSpline

    begin, end = float(parts[0][0][0]), float(parts[-1][0][-1])
    outside = times[(times < begin - 1e-9 * end) | (times > end * (1.0 + 1e-9))]
    if len(outside):
        raise InputError(
            f"t = {outside[0]:g} s is outside of the run, {begin:g} … {end:g} s; choose a "
            "later t_end"
        )
    place = np.searchsorted([t[0] for t, _ in parts[1:]], times, "right")
    found = np.empty(len(times))
    for k in np.unique(place):
        t, x = parts[k]
        here = place == k
        found[here] = CubicSpline(t, x)(times[here]) if len(t) > 1 else x[0]
    return found


def read_outputs(given: Any, key: str = "outputs") -> list[Output]:
    """Outputs from one text or function, a list of them, or a dict with names.

    Raises `InputError`.
    """
    if isinstance(given, str) or callable(given):
        given = [given]
    if isinstance(given, Mapping):
        found = [read_output(f"{key}.{name}", str(name), wanted) for name, wanted in given.items()]
    elif isinstance(given, Sequence):
        found = [
            read_output(f"{key}[{k}]", _name(wanted), wanted) for k, wanted in enumerate(given)
        ]
    else:
        raise InputError(
            f"{key}: {shown(given)} is not a list of outputs, such as ['max joint elbow.0 effort']"
        )
    if not found:
        raise InputError(
            f"{key}: is empty; give one output or more, such as 'max joint elbow.0 effort'"
        )
    names = [output.name for output in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"{key}: '{name}' is there twice; give them names, {{'name': output, …}}"
            )
    return found


def _name(wanted: Any) -> str:
    """Name of an output that is given as text or function."""
    return wanted if isinstance(wanted, str) else getattr(wanted, "__name__", type(wanted).__name__)


def read_output(key: str, name: str, wanted: Any) -> Output:
    """One output. Raises `InputError`."""
    if callable(wanted):
        return Output(name, wanted)
    if not isinstance(wanted, str):
        raise InputError(
            f"{key}: {shown(wanted)} is neither a text such as 'max joint elbow.0 effort' "
            "nor a function"
        )
    word, _, channel = wanted.partition(" ")
    if word == "at":
        text, _, channel = channel.partition(" ")
        try:
            time = np.array([float(text)])
            if not np.isfinite(time).all():
                raise ValueError
        except ValueError:
            raise InputError(
                f"{key}: 'at' takes a time in seconds, 'at 0.5 "
                f"{channel or 'joint elbow.0 position'}'"
            ) from None
        word, of = f"at {text}", lambda parts: float(values_at(parts, time)[0])
    elif word in WORDS:
        of = WORDS[word]
    else:
        raise InputError(
            f"{key}: '{word}' begins no output; {close_names(word, [*WORDS, 'at'])}, then "
            "the name of a channel"
        )
    if not channel.strip():
        raise InputError(f"{key}: names no channel; give one, as '{word} joint elbow.0 effort'")
    return Output(name, wanted, channel.strip(), of)


def evaluated(outputs: Sequence[Output], solution: Solution) -> FloatArray:
    """Values (n,) of the outputs of a solution.

    Raises `InputError` for channels that are not there, and for what is not a finite number.
    """
    return np.array([value_of(output, solution) for output in outputs])


def observed(outputs: Sequence[Output], solution: Solution) -> list[FloatArray]:
    """Quantities of a solution from which the outputs follow.

    The values of their channels at the output times, (1,) for the values of functions. Raises as
    `evaluated`.
    """
    return [
        np.array([value_of(output, solution)])
        if output.of is None
        else channel_of(output, solution).values
        for output in outputs
    ]


def concluded(outputs: Sequence[Output], t: FloatArray, values: Sequence[FloatArray]) -> FloatArray:
    """Values (n,) of the outputs from observed quantities at times t (s)."""
    return np.array(
        [
            float(x[0]) if output.of is None else output.of(pieces(t, x, np.zeros(0)))
            for output, x in zip(outputs, values)
        ]
    )


def channel_of(output: Output, solution: Solution) -> Signal:
    """The channel of an output. Raises `InputError` naming the output."""
    try:
        return signal(solution, output.channel)
    except InputError as error:
        raise InputError(
            *(f"outputs: '{output.name}': {problem}" for problem in error.problems)
        ) from None


def coarse(outputs: Sequence[Output], solution: Solution) -> list[str]:
    """Notes on outputs that change if only every second output time is used.

    The output times are too far apart for them.
    """
    found, at = [], breaks(solution)
    for output in outputs:
        if output.of is None or len(solution.t) < FEW:
            continue
        channel = signal(solution, output.channel)
        kept = np.unique([*range(0, len(channel.t), 2), len(channel.t) - 1])
        fine, half = (
            output.of(pieces(t, x, at))
            for t, x in ((channel.t, channel.values), (channel.t[kept], channel.values[kept]))
        )
        apart = abs(fine - half)
        if apart > COARSE * max(abs(fine), abs(half)) and apart > COARSE * COARSE * float(
            np.abs(channel.values).max()
        ):
            found.append(
                f"{output.name}: {fine:.6g}, with every second output {half:.6g}: the "
                "outputs are too far apart; "
                "give run=fm.Run(…, output_step=…) with shorter ones"
            )
    return found


def units(outputs: Sequence[Output], solution: Solution) -> tuple[str, ...]:
    """Unit of each output; none for functions."""
    return tuple(
        "" if output.of is None else unit_of(output, signal(solution, output.channel))
        for output in outputs
    )


def unit_of(output: Output, channel: Signal) -> str:
    """Unit of an output of a channel."""
    unit = channel.unit
    return f"{unit} s" if output.of is integral else "" if unit == "1" else unit


def value_of(output: Output, solution: Solution, channel: Signal | None = None) -> float:
    """Value of an output.

    channel: its channel, if that is known already. Raises as `evaluated`, and exceptions of
    functions.
    """
    try:
        if output.of is not None:
            found = signal(solution, output.channel) if channel is None else channel
            number = output.of(pieces(found.t, found.values, breaks(solution)))
        else:
            number = _number(output.wanted(solution))  # type: ignore[operator]
    except InputError as error:
        raise InputError(
            *(f"outputs: '{output.name}': {problem}" for problem in error.problems)
        ) from None
    if not np.isfinite(number):
        raise InputError(f"outputs: '{output.name}' is {number}; it must be a finite number")
    return number


def _number(value: Any) -> float:
    """Result of a function as a number. Raises `InputError` for anything else."""
    value = (
        value.item() if isinstance(value, np.ndarray | np.generic) and value.ndim == 0 else value
    )
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"the function gave {shown(value)}; return one number")
    return float(value)
