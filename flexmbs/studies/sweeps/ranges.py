"""Ranges and distributions of parameters: each has a value at every u, 0 < u < 1, its quantile."""

import abc
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import Declaration, NestedError, shown
from flexmbs.errors import InputError
from flexmbs.model.fields import Number, Positive, Switch, index, optional

MOST_CASES = 1_000_000
MOST_INTEGER = 2**53
LEAST = 1e-15  # of u and 1 − u: normal values are within eight standard deviations
Values = tuple[Any, ...]


def count_of(value: object) -> int:
    """Validate the number of cases. Raises ValueError."""
    result = index(value)
    if not 1 <= result <= MOST_CASES:
        raise ValueError(f"must be within 1 … {MOST_CASES}, not {result}")
    return result


class Spread(Declaration, abc.ABC, section="range"):
    """Values that a parameter can have, with their quantiles."""

    @property
    @abc.abstractmethod
    def checked(self) -> Values:
        """Values that a model must accept."""

    @abc.abstractmethod
    def at(self, u: float) -> float:
        """Quantile u, 0 … 1, of the distribution."""


class Range(Spread):
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
    count: Annotated[int | None, BeforeValidator(optional(count_of))] = None
    log: Switch = False

    @model_validator(mode="after")
    def _ordered(self) -> "Range":
        """Raise `NestedError` unless low < high, with low > 0 in a logarithmic range."""
        if not self.low < self.high:
            raise NestedError.at(("high",), f"must be above low = {self.low:g}, not {self.high:g}")
        if self.log and self.low <= 0.0:
            raise NestedError.at(("low",), f"must be > 0 in a logarithmic range, not {self.low:g}")
        return self

    @property
    def checked(self) -> Values:
        return self.low, self.high

    def at(self, u: float) -> float:
        """Value at the fraction u of the range, linear or logarithmic."""
        if self.log:
            if math.isfinite(ratio := self.high / self.low):
                return min(max(self.low * ratio**u, self.low), self.high)
            logarithm = (1.0 - u) * math.log(self.low) + u * math.log(self.high)
            return (
                self.low
                if u == 0.0
                else self.high
                if u == 1.0
                else min(max(math.exp(logarithm), self.low), self.high)
            )
        return min(max((1.0 - u) * self.low + u * self.high, self.low), self.high)


class Normal(Spread):
    """Normally distributed values of a parameter, for designs of random or well-spread points.

    Parameters
    ----------
    mean : float
        The mean.
    deviation : float
        The standard deviation.

    Examples
    --------
    >>> import flexmbs as fm
    >>> cases = fm.Sobol(count=1024).points({"mass": fm.Normal(2.0, 0.1)})
    >>> round(sum(mass > 2.1 for (mass,) in cases) / 1024, 2)  # 1 − Φ(1)
    0.16
    """

    mean: Number = dataclasses.field(kw_only=False)
    deviation: Positive = dataclasses.field(kw_only=False)

    @model_validator(mode="after")
    def _finite(self) -> "Normal":
        """Raise `NestedError` for values beyond floating-point range."""
        return _within_floats(self)

    @property
    def checked(self) -> Values:
        return (self.mean,)

    def at(self, u: float) -> float:
        """Quantile u of the normal distribution."""
        return float(self.mean + self.deviation * _normal(u))


class LogNormal(Spread):
    """Positive values of a parameter whose logarithm is normally distributed.

    Parameters
    ----------
    median : float
        The median.
    deviation : float
        The standard deviation of the natural logarithm, for small ones nearly the relative one of
        the values.

    Examples
    --------
    >>> import flexmbs as fm
    >>> cases = fm.Sobol(count=1024).points({"stiffness": fm.LogNormal(100.0, 0.2)})
    >>> sum(stiffness > 100.0 for (stiffness,) in cases)  # half of them
    512
    """

    median: Positive = dataclasses.field(kw_only=False)
    deviation: Positive = dataclasses.field(kw_only=False)

    @model_validator(mode="after")
    def _finite(self) -> "LogNormal":
        """Raise `NestedError` for values beyond floating-point range."""
        return _within_floats(self)

    @property
    def checked(self) -> Values:
        return (self.median,)

    def at(self, u: float) -> float:
        """Quantile u of the log-normal distribution."""
        return float(self.median * np.exp(self.deviation * _normal(u)))


Axis = Spread | Values


def _within_floats(spread: Any) -> Any:
    """The distribution itself. Raises `NestedError` for values beyond float range.

    Raises `NestedError` if its values leave the floats, or positive ones are rounded to zero.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        ends = [spread.at(0.0), spread.at(1.0)]
    if not np.isfinite(ends).all() or (isinstance(spread, LogNormal) and min(ends) == 0.0):
        raise NestedError.at(
            ("deviation",), f"is {spread.deviation:g}, for which no float has the values; give less"
        )
    return spread


def _normal(u: float) -> float:
    """The quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(min(max(u, LEAST), 1.0 - LEAST)))


def read_spread(table: Mapping[str, Any]) -> Spread:
    """Range or distribution of a table in a file, recognized by its keys. Raises `NestedError`."""
    kind: type[Spread] = Normal if "mean" in table else LogNormal if "median" in table else Range
    found: Spread = kind.read(table)
    return found


def axis_of(name: str, given: Any) -> Axis:
    """The values of a parameter: a range, or a list of numbers, texts or switches.

    Raises `InputError`.
    """
    where = f"parameters.{name}"
    if isinstance(given, Spread):
        return given
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Sequence | np.ndarray):
        ranges = "fm.Range(1.0, 2.0), in files {low = 1.0, high = 2.0}"
        raise InputError(
            f"{where}: {shown(given)} is not a list of values; give [1.0, 2.0], or {ranges}"
        )
    values = tuple(given.tolist() if isinstance(given, np.ndarray) else given)
    if not values:
        raise InputError(f"{where}: has no values; give at least one")
    for k, value in enumerate(values):
        value = value.item() if isinstance(value, np.generic) else value
        if not isinstance(value, bool | int | float | str):
            raise InputError(
                f"{where}: its value {k + 1} is {shown(value)}; give numbers, texts, true or false"
            )
        if isinstance(value, int) and abs(value) > MOST_INTEGER:
            raise InputError(
                f"{where}: its value {k + 1} is a whole number beyond 2⁵³, which no float "
                "has; give a smaller one"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{where}: its value {k + 1} is {value}; give finite numbers")
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)
