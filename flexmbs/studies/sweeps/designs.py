"""Designs of a sweep: values or ranges of parameters → points, the values of each case.

Points of the unit cube are those of `scipy.stats.qmc`. A coordinate u of a point, 0 ≤ u < 1, is of a list of n values the one at
place ⌊n u⌋, of a range low + u (high − low), or low (high/low)ᵘ where it is logarithmic.
"""

import abc
import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import Declaration, NestedError, Problem, shown
from flexmbs.errors import InputError
from flexmbs.model.fields import Number, Switch, index

MOST_CASES = 1_000_000
Values = tuple[Any, ...]


def _count(value: object) -> int:
    result = index(value)
    if not 1 <= result <= MOST_CASES:
        raise ValueError(f"must be within 1 … {MOST_CASES}, not {result}")
    return result


def _optional_count(value: object) -> int | None:
    return None if value is None else _count(value)


def _power_of_two(value: object) -> int:
    result = _count(value)
    if result & (result - 1):
        below = 1 << (result.bit_length() - 1)
        raise ValueError(f"must be a power of two, in which Sobol points are balanced, not {result}: {below} or {2 * below}")
    return result


class Range(Declaration, section="range"):
    """All values of a parameter between two.

    Parameters
    ----------
    low : float
        The smallest value.
    high : float
        The largest value.
    count : int or None
        Number of values in a grid or a list, both ends among them.
    log : bool
        Equal ratios of neighbouring values instead of equal differences.

    Examples
    --------
    >>> import flexmbs as fm
    >>> fm.Grid().points({"mass": fm.Range(1.0, 100.0, count=3, log=True)})  # 1, √(1·100), 100
    [(1.0,), (10.0,), (100.0,)]
    """

    low: Number = dataclasses.field(kw_only=False)
    high: Number = dataclasses.field(kw_only=False)
    count: Annotated[int | None, BeforeValidator(_optional_count)] = None
    log: Switch = False

    @model_validator(mode="after")
    def _ordered(self) -> "Range":
        if not self.low < self.high:
            raise NestedError([Problem(("high",), f"must be above low = {self.low:g}, not {self.high:g}")])
        if self.log and self.low <= 0.0:
            raise NestedError([Problem(("low",), f"must be > 0 in a logarithmic range, not {self.low:g}")])
        return self

    def at(self, u: float) -> float:
        """The value at u, 0 … 1."""
        if self.log:
            return min(max(self.low * (self.high / self.low) ** u, self.low), self.high)
        return min(self.low + u * (self.high - self.low), self.high)


Axis = Range | Values


class Design(Declaration, abc.ABC, section="design"):
    """Which values of the parameters belong to one case."""

    @abc.abstractmethod
    def points(self, axes: Mapping[str, Axis]) -> list[Values]:
        """The values of each case in the order of the parameters. Raises `InputError`."""


class Grid(Design, kind="grid"):
    """Every value of each parameter with every value of the others.

    Examples
    --------
    >>> import flexmbs as fm
    >>> fm.Grid().points({"joints.elbow.q0": [0.1, 0.2], "bodies.tool.mass": [1.0, 2.0]})  # 2 · 2 cases
    [(0.1, 1.0), (0.1, 2.0), (0.2, 1.0), (0.2, 2.0)]
    """

    def points(self, axes: Mapping[str, Axis]) -> list[Values]:
        levels = [_levels(name, axis, self.kind) for name, axis in axes.items()]
        _check_number(math.prod(map(len, levels)))
        return list(itertools.product(*levels))


class Listed(Design, kind="list"):
    """The first values of all parameters are the first case, the second ones the second, and so on.

    Examples
    --------
    >>> import flexmbs as fm
    >>> fm.Listed().points({"joints.elbow.q0": [0.1, 0.2], "bodies.tool.mass": [1.0, 2.0]})
    [(0.1, 1.0), (0.2, 2.0)]
    """

    def points(self, axes: Mapping[str, Axis]) -> list[Values]:
        levels = {name: _levels(name, axis, self.kind) for name, axis in axes.items()}
        first, n = next((name, len(values)) for name, values in levels.items())
        problems = [
            f"parameters.{name}: has {len(values)} values, '{first}' has {n}; a list needs one of each parameter per case"
            for name, values in levels.items()
            if len(values) != n
        ]
        if problems:
            raise InputError(*problems)
        return list(zip(*levels.values()))


class Cube(Design, abc.ABC):
    """Points of the unit cube of all parameters."""

    @abc.abstractmethod
    def cube(self, dimension: int) -> np.ndarray:
        """Points (n, dimension), 0 ≤ u < 1."""

    def points(self, axes: Mapping[str, Axis]) -> list[Values]:
        cube = self.cube(len(axes))
        return list(zip(*([_at(axis, u) for u in column.tolist()] for axis, column in zip(axes.values(), cube.T))))


class LatinHypercube(Cube, kind="latin-hypercube"):
    """Points of which each of n equal parts of every range has exactly one; further ones, as for another ``count``, are others.

    Parameters
    ----------
    count : int
        Number of cases n.
    seed : int
        Of the random numbers.

    Examples
    --------
    >>> import flexmbs as fm
    >>> cases = fm.LatinHypercube(count=4).points({"mass": fm.Range(0.0, 4.0)})
    >>> sorted(int(mass) for mass, in cases)  # one in each quarter
    [0, 1, 2, 3]
    """

    count: Annotated[int, BeforeValidator(_count)]
    seed: Annotated[int, BeforeValidator(index)] = 0

    def cube(self, dimension: int) -> np.ndarray:
        from scipy.stats import qmc

        return np.asarray(qmc.LatinHypercube(dimension, seed=self.seed).random(self.count))


class Sobol(Cube, kind="sobol"):
    """Scrambled Sobol points, which fill the ranges evenly; a larger ``count`` begins with the same points.

    Parameters
    ----------
    count : int
        Number of cases, a power of two.
    seed : int
        Of the random numbers.

    Examples
    --------
    >>> import flexmbs as fm
    >>> few, many = (fm.Sobol(count=count).points({"mass": fm.Range(0.0, 1.0)}) for count in (4, 8))
    >>> many[:4] == few, sorted(int(8 * mass) for mass, in many)  # one in each eighth
    (True, [0, 1, 2, 3, 4, 5, 6, 7])
    """

    count: Annotated[int, BeforeValidator(_power_of_two)]
    seed: Annotated[int, BeforeValidator(index)] = 0

    def cube(self, dimension: int) -> np.ndarray:
        from scipy.stats import qmc

        return np.asarray(qmc.Sobol(dimension, seed=self.seed).random(self.count))


def axis_of(name: str, given: Any) -> Axis:
    """The values of a parameter: a range, or a list of numbers, texts or switches. Raises `InputError`."""
    where = f"parameters.{name}"
    if isinstance(given, Range):
        return given
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Sequence | np.ndarray):
        raise InputError(f"{where}: {shown(given)} is no list of values; give [1.0, 2.0], or fm.Range(1.0, 2.0)")
    values = tuple(given.tolist() if isinstance(given, np.ndarray) else given)
    if not values:
        raise InputError(f"{where}: has no values; give at least one")
    for k, value in enumerate(values):
        value = value.item() if isinstance(value, np.generic) else value
        if not isinstance(value, bool | int | float | str):
            raise InputError(f"{where}: its value {k + 1} is {shown(value)}; give numbers, texts, true or false")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{where}: its value {k + 1} is {value}; give finite numbers")
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)


def _levels(name: str, axis: Axis, kind: str) -> Values:
    """The values of a list, or the equally spaced ones of a range."""
    if not isinstance(axis, Range):
        return axis
    if axis.count is None:
        raise InputError(f"parameters.{name}: a {kind} needs the number of values of the range; give it a count")
    return tuple(axis.at(k / max(axis.count - 1, 1)) for k in range(axis.count))


def _at(axis: Axis, u: float) -> Any:
    return axis.at(u) if isinstance(axis, Range) else axis[int(u * len(axis))]


def _check_number(n: int) -> None:
    if n > MOST_CASES:
        raise InputError(f"design: {n} cases; at most {MOST_CASES} are run: take fewer values, or a latin hypercube")
