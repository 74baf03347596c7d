"""Designs of a sweep: values or ranges of parameters → points, the values of each case.

Points of the unit cube are those of `scipy.stats.qmc` and of SALib. A coordinate u of a point, 0 ≤
u < 1, is of a list of n values the one at place ⌊n u⌋, of a range low + u (high − low), or low
(high/low)ᵘ where it is logarithmic, of a distribution its quantile.
"""

import abc
import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from flexmbs.declaration import Declaration
from flexmbs.errors import InputError, raise_problems
from flexmbs.exports.data_frames import optional
from flexmbs.model.fields import index
from flexmbs.studies.sweeps.ranges import MOST_CASES, Axis, Range, Spread, Values, count_of


def _power_of_two(value: object) -> int:
    """Validate a power of two. Raises ValueError."""
    result = count_of(value)
    if result & (result - 1):
        below = 1 << (result.bit_length() - 1)
        raise ValueError(
            f"must be a power of two, in which Sobol points are balanced, not {result}: "
            f"{below} or {2 * below}"
        )
    return result


def _seed(value: object) -> int:
    """Validate a seed of at least 1. Raises ValueError."""
    result = index(value)
    if result < 1:  # SALib takes 0 for none
        raise ValueError(f"must be at least 1, not {result}")
    return result


class Design(Declaration, abc.ABC, section="design"):
    """Rule that assigns values of the parameters to cases."""

    @abc.abstractmethod
    def points(self, axes: Mapping[str, Axis]) -> list[Values]:
        """The values of each case in the order of the parameters. Raises `InputError`."""


class Grid(Design, kind="grid"):
    """Every value of each parameter with every value of the others.

    Examples
    --------
    >>> import flexmbs as fm
    >>> fm.Grid().points(
    ...     {"joints.elbow.q0": [0.1, 0.2], "bodies.tool.mass": [1.0, 2.0]}
    ... )  # 2 · 2 cases
    [(0.1, 1.0), (0.1, 2.0), (0.2, 1.0), (0.2, 2.0)]
    """

    def points(self, axes: Mapping[str, Axis]) -> list[Values]:
        """All combinations of the levels of the parameters. Raises `InputError`."""
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
        """Cases with the k-th values of all parameters. Raises `InputError`."""
        levels = {name: _levels(name, axis, self.kind) for name, axis in axes.items()}
        first, n = next((name, len(values)) for name, values in levels.items())
        problems = [
            f"parameters.{name}: has {len(values)} values, '{first}' has {n}; a list "
            "needs one of each parameter per case"
            for name, values in levels.items()
            if len(values) != n
        ]
        raise_problems(problems)
        return list(zip(*levels.values()))


class Cube(Design, abc.ABC):
    """Points of the unit cube of all parameters."""

    @abc.abstractmethod
    def cube(self, dimension: int) -> np.ndarray:
        """Points (n, dimension), 0 ≤ u < 1."""

    def points(self, axes: Mapping[str, Axis]) -> list[Values]:
        """Cases at points of the unit cube, mapped to the ranges of the parameters."""
        cube = self.cube(len(axes))
        return list(
            zip(
                *(
                    [_value_at(axis, u) for u in column.tolist()]
                    for axis, column in zip(axes.values(), cube.T)
                )
            )
        )


class LatinHypercube(Cube, kind="latin-hypercube"):
    """Latin hypercube: each of n equal parts of every range has exactly one point.

    Another ``count`` gives other points.

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
    >>> sorted(int(mass) for (mass,) in cases)  # one in each quarter
    [0, 1, 2, 3]
    """

    count: Annotated[int, BeforeValidator(count_of)]
    seed: Annotated[int, BeforeValidator(index)] = 0

    def cube(self, dimension: int) -> np.ndarray:
        """Latin-hypercube sample (count, dimension) in the unit cube."""
        from scipy.stats import qmc

        return np.asarray(qmc.LatinHypercube(dimension, seed=self.seed).random(self.count))


class Sobol(Cube, kind="sobol"):
    """Scrambled Sobol points, which fill the ranges evenly.

    A larger ``count`` begins with the same points.

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
    >>> many[:4] == few, sorted(int(8 * mass) for (mass,) in many)  # one in each eighth
    (True, [0, 1, 2, 3, 4, 5, 6, 7])
    """

    count: Annotated[int, BeforeValidator(_power_of_two)]
    seed: Annotated[int, BeforeValidator(index)] = 0

    def cube(self, dimension: int) -> np.ndarray:
        """Scrambled Sobol points (count, dimension) in the unit cube."""
        from scipy.stats import qmc

        return np.asarray(qmc.Sobol(dimension, seed=self.seed).random(self.count))


class MonteCarlo(Cube, kind="monte-carlo"):
    """Independent random points, for probabilities; a larger ``count`` begins with the same points.

    Parameters
    ----------
    count : int
        Number of cases.
    seed : int
        Of the random numbers.

    Examples
    --------
    >>> import flexmbs as fm
    >>> few, many = (
    ...     fm.MonteCarlo(count=count).points({"mass": fm.Range(0.0, 1.0)}) for count in (4, 1000)
    ... )
    >>> many[:4] == few, round(sum(mass for (mass,) in many) / 1000, 1)
    (True, 0.5)
    """

    count: Annotated[int, BeforeValidator(count_of)]
    seed: Annotated[int, BeforeValidator(index)] = 0

    def cube(self, dimension: int) -> np.ndarray:
        """Random points (count, dimension) in the unit cube."""
        return np.random.default_rng(self.seed).random((self.count, dimension))


class Saltelli(Cube, kind="saltelli"):
    """Points for `sobol_indices`: two sets A and B of ``count`` Sobol points, and mixed sets.

    A mixed set is A with one column of B, for each parameter.

    Of m parameters there are (m + 2) ``count`` cases. Source: Saltelli et al., Computer Physics
    Communications 181 (2010) 259. Needs SALib, the extra ``flexmbs[sensitivity]``.

    Parameters
    ----------
    count : int
        Number of points of one set, a power of two.
    seed : int
        Of the random numbers, at least 1.

    Examples
    --------
    >>> import flexmbs as fm
    >>> design = fm.Saltelli(count=4)
    >>> len(
    ...     design.points({"mass": fm.Range(1.0, 2.0), "stiffness": fm.LogNormal(100.0, 0.2)})
    ... )  # 4 · (2 + 2)
    16
    """

    count: Annotated[int, BeforeValidator(_power_of_two)]
    seed: Annotated[int, BeforeValidator(_seed)] = 1

    def cube(self, dimension: int) -> np.ndarray:
        """Saltelli sample of Sobol indices, (count (dimension + 2), dimension), unit cube."""
        names = list(map(str, range(dimension)))
        problem = {"num_vars": dimension, "names": names, "bounds": [[0.0, 1.0]] * dimension}
        sampled = optional("SALib.sample.sobol", "Saltelli").sample(
            problem, self.count, calc_second_order=False, seed=self.seed
        )
        return np.asarray(sampled)


def _levels(name: str, axis: Axis, kind: str) -> Values:
    """The values of a list, or the equally spaced ones of a range."""
    if not isinstance(axis, Spread):
        return axis
    if not isinstance(axis, Range):
        raise InputError(
            f"parameters.{name}: a {kind} takes no distribution; give a list, a Range, or "
            "another design"
        )
    if axis.count is None:
        raise InputError(
            f"parameters.{name}: a {kind} needs the number of values of the range; give it a count"
        )
    return tuple(axis.at(k / max(axis.count - 1, 1)) for k in range(axis.count))


def _value_at(axis: Axis, u: float) -> Any:
    """Value of an axis at u, 0 ≤ u < 1: of its distribution or list."""
    return axis.at(u) if isinstance(axis, Spread) else axis[int(u * len(axis))]


def _check_number(n: int) -> None:
    """Raise `InputError` for more than MOST_CASES cases."""
    if n > MOST_CASES:
        raise InputError(
            f"design: {n} cases; at most {MOST_CASES} are run: take fewer values, or a "
            "latin hypercube"
        )
