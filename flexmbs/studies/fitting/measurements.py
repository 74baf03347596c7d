"""Measured signals: channels of a solution at the measured times.

With units, from arrays or CSV files.
"""

import csv
import io
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexmbs.api.solution import Solution
from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.exports.data_frames import signal
from flexmbs.files.inputs import read_text
from flexmbs.signals.signal import Signal
from flexmbs.signals.signal_arguments import FloatArray, number_list
from flexmbs.studies.parameters.outputs import breaks, pieces, values_at

HEADING = re.compile(r"(?P<name>.*?)\s*(?:\[(?P<unit>[^\]]*)\])?\s*")
FACTORS = {  # of units, to those of a solution
    "mm": ("m", 1e-3),
    "cm": ("m", 1e-2),
    "µm": ("m", 1e-6),
    "um": ("m", 1e-6),
    "km": ("m", 1e3),
    "deg": ("rad", math.pi / 180.0),
    "°": ("rad", math.pi / 180.0),
    "ms": ("s", 1e-3),
    "min": ("s", 60.0),
    "kN": ("N", 1e3),
    "mN": ("N", 1e-3),
    "kW": ("W", 1e3),
    "kJ": ("J", 1e3),
    "mJ": ("J", 1e-3),
}
SAME = {"Nm": "N m", "Nmm": "N mm", "kNm": "kN m"}


class Measured(NamedTuple):
    """One measured channel: name, times (n,) [s], values (n,) in the unit of the solution."""

    channel: str
    t: FloatArray
    values: FloatArray

    def of(self, solution: Solution) -> FloatArray:
        """Values (n,) of a solution at the measured times. Raises `InputError`."""
        found = signal(solution, self.channel)
        try:
            return values_at(pieces(found.t, found.values, breaks(solution)), self.t)
        except InputError as error:
            raise InputError(f"measured: '{self.channel}': {error}") from None


def factor(unit: str, wanted: str) -> float:
    """Factor that converts a unit into the wanted one. Raises ValueError for another quantity."""
    product = 1.0
    words: list[str] = []
    for word in re.split(r"([ /·*])", SAME.get(unit, unit)):
        base, power = (
            (word[:-1], 2)
            if word.endswith("²")
            else (word.removesuffix("^2"), 2 if word.endswith("^2") else 1)
        )
        base, each = FACTORS.get(base, (base, 1.0))
        product *= each ** (-power if words and words[-1] == "/" else power)
        words.append({"·": " ", "*": " "}.get(word, base + "²" * (power == 2)))
    if "".join(words) != wanted:
        raise ValueError(f"is in {unit}, the solution in {wanted}")
    return product


def read_measured(given: Any) -> list[Signal]:
    """Signals from a CSV file, a Signal or a list of them, or arrays (t, values) by channel.

    Raises `InputError`.
    """
    if isinstance(given, str | os.PathLike):
        return _from_csv(given)
    if isinstance(given, Signal):
        return [given]
    if isinstance(given, Mapping) and given:
        return [_from_arrays(str(name), values) for name, values in given.items()]
    if isinstance(given, Sequence) and given and all(isinstance(each, Signal) for each in given):
        return list(given)
    takes = "a CSV file, fm.Signal objects, or {'joint elbow.0 effort [N m]': (t, values)}"
    raise InputError(f"measured: {shown(given)} is not a measurement; give {takes}")


def _from_arrays(heading: str, values: Any) -> Signal:
    """Signal from times and values, or a signal itself. Raises `InputError`."""
    if isinstance(values, Signal):
        return values
    if not isinstance(values, Sequence) or len(values) != 2:
        raise InputError(
            f"measured: '{heading}' must be two arrays, times and values, not {shown(values)}"
        )
    t, x = (
        number_list(part, f"measured: '{heading}': {what}")
        for part, what in zip(values, ("times", "values"))
    )
    return _signal(heading, t, x)


def _signal(heading: str, t: FloatArray, values: FloatArray) -> Signal:
    """Signal with name and unit from a heading such as "x [m]"."""
    match = HEADING.fullmatch(heading)
    assert match
    if len(t) != len(values):
        raise InputError(
            f"measured: '{heading}' has {len(t)} times and {len(values)} values; give as many"
        )
    return Signal(t, values, match["name"], match["unit"] or "1")


def _from_csv(path: str | os.PathLike[str]) -> list[Signal]:
    """Signals from the columns of a CSV file; the first column is the time."""
    try:
        rows = list(csv.reader(io.StringIO(read_text(path))))
    except FileNotFoundError:
        raise InputError(f"measured: there is no file '{path}'") from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if len(rows) < 3 or len(rows[0]) < 2:
        raise InputError(
            f"{path}: has no measurements; give a heading such as 't [s],joint elbow.0 "
            "effort [N m]' and two rows or more"
        )
    match = HEADING.fullmatch(rows[0][0])
    assert match
    try:
        seconds = factor(match["unit"] or "s", "s")
    except ValueError as error:
        raise InputError(f"{path}: the first column is the time; '{rows[0][0]}' {error}") from None
    return [_column(path, rows, k, seconds) for k in range(1, len(rows[0]))]


def _column(path: str | os.PathLike[str], rows: list[list[str]], k: int, seconds: float) -> Signal:
    """Signal of column k of a table, without its empty cells. Raises `InputError`."""
    heading, pairs = rows[0][k], []
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{path}: row {number} has {len(row)} cells, the heading {len(rows[0])}"
            )
        if not row[k].strip():
            continue
        try:
            pair = float(row[0]) * seconds, float(row[k])
        except ValueError:
            raise InputError(
                f"{path}: row {number}, '{heading}': {shown(row[k])} at {shown(row[0])} "
                "is not a number"
            ) from None
        if not all(map(math.isfinite, pair)):
            raise InputError(f"{path}: row {number}, '{heading}': must be finite")
        pairs.append(pair)
    if len(pairs) < 2:
        raise InputError(f"{path}: '{heading}' has fewer than two values")
    t, values = np.array(pairs).T
    return _signal(heading, t, values)


def in_units_of(measured: Sequence[Signal], solution: Solution) -> list[Measured]:
    """The signals in the units of a solution that has all their channels. Raises `InputError`."""
    found: list[Measured] = []
    for each in measured:
        own = signal(solution, each.name)
        if own.name in [other.channel for other in found]:
            raise InputError(
                f"measured: '{own.name}' is there twice; join its values, or give their means"
            )
        try:
            by = 1.0 if each.unit == "1" and own.unit == "1" else factor(each.unit, own.unit)
        except ValueError as error:
            raise InputError(
                f"measured: '{each.name}' {error}; give it as '{each.name} [{own.unit}]'"
            ) from None
        found.append(Measured(own.name, each.t, by * each.values))
    return found
