"""Reference motions of the joint coordinates.

Values, rates and accelerations (n,) over time, and laws for drives and forces.
"""

import abc
import dataclasses
import functools
import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Self, final

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import Declaration, NestedError, Problem, shown
from flexmbs.errors import InputError
from flexmbs.model.argument_checks import checked, real_array
from flexmbs.model.fields import AnyVector, Number, items, number, positive, vector
from flexmbs.model.laws import Function, SmoothStep, Table, TimeLaw

QUINTIC = 5
MOST_STEPS = 1_000_000
NO_WAY = 1e-150  # m, rad: coordinates that move less are at rest
ROUND_OFF = 1e-9  # of the sum of amplitudes: published shapers have at most nine digits


class Motion(NamedTuple):
    """Coordinates, rates and accelerations (n,) at one time."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


class Path(abc.ABC):
    """Motion of n coordinates, at rest before ``start`` and after ``end`` (s)."""

    @property
    @abc.abstractmethod
    def n(self) -> int:
        """Number of coordinates."""

    @property
    @abc.abstractmethod
    def span(self) -> tuple[float, float]:
        """Start and end (s)."""

    @property
    def start(self) -> float:
        """Start (s)."""
        return self.span[0]

    @property
    def end(self) -> float:
        """End (s)."""
        return self.span[1]

    @abc.abstractmethod
    def at(self, t: float) -> Motion:
        """Coordinates, rates and accelerations at time t (s)."""

    def declared(self) -> "Path":
        """The path as a declaration for model files; None if there is none."""
        return self

    def table(self, times: ArrayLike) -> Motion:
        """Coordinates, rates and accelerations (nt, n) at many times."""
        rows = [self.at(float(t)) for t in real_array("times", times).ravel()]
        return Motion(*(np.array([row[k] for row in rows]).reshape(-1, self.n) for k in range(3)))

    def laws(self) -> tuple[TimeLaw, ...]:
        """Law of time per coordinate, for drives and references of controllers.

        The laws are functions of this path.
        """
        return tuple(Function(functools.partial(_component, self, i)) for i in range(self.n))

    def tables(self, step: float) -> tuple[Table, ...]:
        """Cubic splines through the path every ``step`` (s), one per coordinate.

        They are laws that can be saved in model files.

        Raises `InputError`, also for more than a million steps.
        """
        step = checked("step", positive, step)
        start, end = self.span
        if end - start > MOST_STEPS * step:
            raise InputError(
                f"step: {step:g} s divides the path of {end - start:g} s into more than "
                f"{MOST_STEPS} pieces"
            )
        count = max(2, 1 + round((end - start) / step))
        times = np.linspace(start, max(end, start + step), count)
        return tuple(
            Table(times, values, interpolation="spline") for values in self.table(times).q.T
        )


def _component(path: Path, i: int, t: float) -> tuple[float, float, float]:
    """Value, rate and acceleration of coordinate i of a path at time t."""
    q, qd, qdd = path.at(t)
    return float(q[i]), float(qd[i]), float(qdd[i])


def _limit(value: object) -> float:
    """Validate a positive number; infinity means no limit."""
    return math.inf if isinstance(value, numbers.Real) and value == math.inf else positive(value)


def one_or_each(check: Callable[[object], float]) -> Callable[[object], Any]:
    """Validator of one number, or of several numbers as a tuple."""

    def checked_each(value: object) -> Any:
        """Validate a number, or each number of a list."""
        if np.ndim(value) > 1 or isinstance(value, str | Mapping):  # type: ignore[arg-type]
            raise ValueError(f"must be a number or a list of numbers, not {shown(value)}")
        return tuple(check(item) for item in items(value)) if np.ndim(value) else check(value)  # type: ignore[arg-type]

    return checked_each


def _matrix(value: object) -> Any:
    """Validate rows of equal length."""
    rows = tuple(vector(row) for row in items(value))
    if len({len(row) for row in rows}) > 1:
        raise ValueError("must be rows of equal length")
    return rows


def require_each(declaration: Declaration, keys: Iterable[str], n: int) -> None:
    """Raise `NestedError` unless these fields are one number each or n."""
    shapes = {key: np.shape(getattr(declaration, key)) for key in keys}
    wrong = [(key, shape) for key, shape in shapes.items() if shape not in ((), (n,))]
    if wrong:
        raise NestedError(
            [
                Problem((key,), f"must be one number or {n}, not {shape[0]} numbers")
                for key, shape in wrong
            ]
        )


def _coordinates(value: object) -> tuple[float, ...]:
    """Validate a tuple of numbers; a single number is one coordinate."""
    return (number(value),) if isinstance(value, numbers.Real) else vector(value)


Coordinates = Annotated[Any, BeforeValidator(_coordinates)]
Duration = Annotated[float, BeforeValidator(positive)]
OneOrEach = Annotated[Any, BeforeValidator(one_or_each(number))]
Limit = Annotated[Any, BeforeValidator(one_or_each(_limit))]
Rows = Annotated[Any, BeforeValidator(_matrix)]


class PathPieces(NamedTuple):
    """Polynomials of degree 5 between m + 1 knots, for n coordinates."""

    knots: np.ndarray  # (m + 1) s, the same two times if nothing moves
    powers: np.ndarray  # (m, n, 6) coefficients of (t − knot)⁵ … 1

    def at(self, t: float) -> Motion:
        """Motion at time t: at rest before the first and after the last knot."""
        inside = min(max(t, self.knots[0]), self.knots[-1])
        i = min(max(int(np.searchsorted(self.knots, inside, "right")) - 1, 0), len(self.powers) - 1)
        h, moving = inside - self.knots[i], float(inside == t)
        rows = _derivatives(h) * ((1.0,), (moving,), (moving,))
        return Motion(*(rows @ self.powers[i].T))

    def divided_at(self, knots: np.ndarray) -> np.ndarray:
        """Coefficients (k, n, 6) between ``knots`` (k + 1) that include its own."""
        # by the middle of an interval: its ends differ from the knots by round-off
        pieces = np.searchsorted(self.knots, 0.5 * (knots[:-1] + knots[1:]), "right") - 1
        found = np.zeros((len(pieces), *self.powers.shape[1:]))
        for row, piece, t in zip(found, pieces, knots[:-1]):
            if 0 <= piece < len(self.powers):
                row[:] = _shifted(self.powers[piece], t - self.knots[piece])
            else:
                row[:, -1] = self.at(t).q
        return found


def _shifted(powers: np.ndarray, h: float) -> np.ndarray:
    """Coefficients (..., 6) of a polynomial of u + h in powers of u."""
    binomials = [
        [math.comb(k, j) * h ** max(k - j, 0) for j in range(5, -1, -1)] for k in range(5, -1, -1)
    ]
    return np.asarray(powers @ np.array(binomials))


def _derivatives(h: float) -> np.ndarray:
    """Powers h⁵ … 1 (3, 6) with their first two derivatives."""
    k = np.arange(5.0, -1.0, -1.0)
    first, second = np.maximum(k - 1.0, 0.0), np.maximum(k - 2.0, 0.0)
    return np.stack([h**k, k * h**first, k * (k - 1.0) * h**second])


class DeclaredPath(Declaration, Path, section="paths"):
    """Path that a model file can hold, of polynomial pieces."""

    pieces: ClassVar[Any]  # `PathPieces` from start to end

    def at(self, t: float) -> Motion:
        """Coordinates, rates and accelerations at time t; at rest outside of the span."""
        return self.pieces.at(checked("t", number, t))


class ComputedPath(Path):
    """Path computed from another one, ``made``, which model files hold instead."""

    made: DeclaredPath

    @property
    def n(self) -> int:
        return self.made.n

    @property
    def span(self) -> tuple[float, float]:
        return self.made.span

    def declared(self) -> DeclaredPath:
        """Declared path with the same motion."""
        return self.made

    def at(self, t: float) -> Motion:
        """Coordinates, rates and accelerations at time t."""
        return self.made.at(t)


class FromTo(DeclaredPath):
    """Path from q0 to q1 (n).

    Parameters
    ----------
    q0 : float, floats [m or rad]
        Coordinates at the start.
    q1 : float, floats [m or rad]
        Coordinates at the end.
    """

    q0: Coordinates = dataclasses.field(kw_only=False)
    q1: Coordinates = dataclasses.field(kw_only=False)

    @property
    def n(self) -> int:
        return len(self.q0)

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        """Raise `NestedError` unless q0 and q1 have the same number of values."""
        if len(self.q0) != len(self.q1) or not self.q0:
            text = (
                "q0 and q1: must have the same number of values, at least one, not "
                f"{len(self.q0)} and "
                f"{len(self.q1)}"
            )
            raise NestedError.at((), text)
        return self

    def _each(self, key: str) -> np.ndarray:
        """Value of a field for each coordinate; one number applies to all."""
        return np.broadcast_to(np.asarray(getattr(self, key), float), self.n)


@final
class Quintic(FromTo, kind="quintic"):
    """Polynomial of fifth degree with given values, rates and accelerations at both ends.

    At rest there by default.

    Craig, Introduction to Robotics (1989), §7.3.

    Parameters
    ----------
    duration : float [s]
        Time from q0 to q1.
    start : float [s]
        Time at q0.
    v0 : float, floats [m/s or rad/s]
        Rates at the start.
    v1 : float, floats [m/s or rad/s]
        Rates at the end.
    a0 : float, floats [m/s² or rad/s²]
        Accelerations at the start.
    a1 : float, floats [m/s² or rad/s²]
        Accelerations at the end.

    Examples
    --------
    >>> from flexmbs.robots import Quintic
    >>> Quintic([0.0, 1.0], [2.0, 1.0], 1.0).at(0.5).q.tolist()
    [1.0, 1.0]
    """

    duration: Duration = dataclasses.field(kw_only=False)
    start: Number = 0.0
    v0: OneOrEach = 0.0
    v1: OneOrEach = 0.0
    a0: OneOrEach = 0.0
    a1: OneOrEach = 0.0

    @model_validator(mode="after")
    def _rates(self) -> Self:
        """Raise `NestedError` unless boundary rates fit the number of coordinates."""
        require_each(self, ("v0", "v1", "a0", "a1"), self.n)
        return self

    @property
    def span(self) -> tuple[float, float]:
        return self.start, self.start + self.duration

    @functools.cached_property
    def pieces(self) -> PathPieces:
        """One polynomial with the given ends."""
        T = self.duration
        ends = [self._each(key) for key in ("q0", "v0", "a0", "q1", "v1", "a1")]
        both = np.concatenate([_derivatives(0.0), _derivatives(1.0)])
        powers = np.linalg.solve(both, [x * T ** (i % 3) for i, x in enumerate(ends)])
        return PathPieces(np.array(self.span), (powers.T / T ** np.arange(5.0, -1.0, -1.0))[None])

    def laws(self) -> tuple[TimeLaw, ...]:
        """`SmoothStep` laws, which are compiled, for motions from rest to rest."""
        if any(np.any(getattr(self, key)) for key in ("v0", "v1", "a0", "a1")):
            return super().laws()
        return tuple(
            SmoothStep(value, start=self.start, duration=self.duration, initial=initial)
            for initial, value in zip(self.q0, self.q1)
        )


@final
class Trapezoid(FromTo, kind="trapezoid"):
    """Path with constant acceleration, constant rate, constant deceleration.

    All coordinates start and end together.

    The slowest coordinate determines the duration; if it does not reach its rate, the profile is a
    triangle. Siciliano et al., Robotics (2009), §4.2.

    Parameters
    ----------
    rate : float, floats [m/s or rad/s]
        Largest rates; infinite means no limit.
    acceleration : float, floats [m/s² or rad/s²]
        Largest accelerations.
    start : float [s]
        Time at q0.

    Examples
    --------
    >>> from flexmbs.robots import Trapezoid
    >>> Trapezoid([0.0], [2.0], rate=1.0, acceleration=2.0).end
    2.5
    """

    rate: Limit
    acceleration: Limit
    start: Number = 0.0

    @model_validator(mode="after")
    def _limits(self) -> Self:
        """Raise `NestedError` unless limits fit the coordinates and accelerations are finite."""
        require_each(self, ("rate", "acceleration"), self.n)
        if not np.isfinite(self.acceleration).all():
            raise NestedError.at(("acceleration",), "must be finite")
        return self

    @functools.cached_property
    def _timing(self) -> tuple[float, float, float, float]:
        """(acceleration, rate, rise time, duration) of the common profile s = 0 … 1."""
        way, v, a = (
            np.abs(np.subtract(self.q1, self.q0)),
            self._each("rate"),
            self._each("acceleration"),
        )
        moving = way > NO_WAY
        # the smallest limit of all coordinates applies to the common path
        rise = float((a[moving] / way[moving]).min(initial=np.inf))
        speed = min(float((v[moving] / way[moving]).min(initial=np.inf)), float(np.sqrt(rise)))
        if not moving.any():
            return rise, speed, 0.0, 0.0
        return rise, speed, speed / rise, 1.0 / speed + speed / rise

    @property
    def span(self) -> tuple[float, float]:
        return self.start, self.start + self._timing[3]

    @functools.cached_property
    def pieces(self) -> PathPieces:
        """Constant acceleration, rate and deceleration of the common profile."""
        most, speed, rise, T = self._timing
        q0, way = np.array(self.q0), np.subtract(self.q1, self.q0)
        if T == 0.0:  # nothing moves
            return PathPieces(
                np.array(self.span), np.pad(q0[None, :, None], ((0, 0), (0, 0), (5, 0)))
            )
        risen = 0.5 * most * rise**2
        profile = np.array([
            (0.5 * most, 0.0, 0.0), (0.0, speed, risen), (-0.5 * most, speed, 1.0 - risen)
        ])  # fmt: skip
        times = np.array([0.0, rise, T - rise, T])
        kept = np.diff(times) > 0.0
        powers = np.zeros((3, self.n, 6))
        powers[:, :, 3:] = profile[:, None, :] * way[:, None]
        powers[:, :, 5] += q0
        return PathPieces(self.start + np.append(times[:-1][kept], T), powers[kept])


@final
class SplinePath(DeclaredPath, kind="spline"):
    """B-spline of fifth degree, at rest before its first and after its last knot.

    Parameters
    ----------
    knots : floats [s]
        Times of the knots, increasing.
    coefficients : rows of floats [m or rad]
        Coefficients of the coordinates.

    Examples
    --------
    >>> from flexmbs.robots import SplinePath
    >>> path = SplinePath([0.0] * 6 + [1.0] * 6, [[0.0], [0.0], [0.0], [2.0], [2.0], [2.0]])
    >>> path.at(0.5).q.tolist()
    [1.0]
    """

    knots: AnyVector = dataclasses.field(kw_only=False)
    coefficients: Rows = dataclasses.field(kw_only=False)

    @model_validator(mode="after")
    def _of_fifth_degree(self) -> Self:
        """Raise `NestedError` unless knots and coefficients form a spline of degree 5."""
        m = len(self.coefficients)
        if m <= QUINTIC or not self.coefficients[0]:
            raise NestedError.at(
                ("coefficients",), f"must be {QUINTIC + 1} rows or more of one number or more"
            )
        if len(self.knots) != m + QUINTIC + 1:
            raise NestedError.at(
                ("knots",),
                f"must be {m + QUINTIC + 1} times for {m} coefficients, not {len(self.knots)}",
            )
        if min(np.diff(self.knots)) < 0.0 or self.knots[QUINTIC] >= self.knots[m]:
            raise NestedError.at(
                ("knots",), "must not decrease, and the last must be after the first"
            )
        return self

    @property
    def n(self) -> int:
        return len(self.coefficients[0])

    @property
    def span(self) -> tuple[float, float]:
        return self.knots[QUINTIC], self.knots[len(self.coefficients)]

    @functools.cached_property
    def pieces(self) -> PathPieces:
        """Polynomials between the knots."""
        from scipy.interpolate import BSpline  # a slow import, for a kind used by few models

        spline = BSpline(np.array(self.knots), np.array(self.coefficients), QUINTIC)
        knots = np.unique(self.knots[QUINTIC : len(self.coefficients) + 1])
        middles = 0.5 * (knots[:-1] + knots[1:])  # at knots derivatives may jump
        powers = np.stack([spline(middles, k) / math.factorial(k) for k in range(5, -1, -1)], -1)
        shifted = [_shifted(row, a - b) for row, a, b in zip(powers, knots, middles)]
        return PathPieces(knots, np.array(shifted))


def not_impulses(A: np.ndarray, t: np.ndarray) -> str:
    """Reason why these are not amplitudes and times of a shaper, or ""."""
    if A.ndim == 1 and A.shape == t.shape and abs(A.sum() - 1.0) <= ROUND_OFF and t.min() >= 0.0:
        return ""
    given = f"{shown(t.tolist())} and {shown(A.tolist())}"
    return f"shaper: must have as many times >= 0 as amplitudes, whose sum is 1, not {given}"


def declared_path(value: object) -> Any:
    """Validate a path, or read it from a table."""
    if isinstance(value, Mapping):
        return DeclaredPath.read_kind(value)
    if not isinstance(value, Path):
        raise ValueError(f"must be of the class Path, not {shown(value)}")
    return value.declared()


AnyPath = Annotated[Any, BeforeValidator(declared_path)]


@final
class DelayedPath(DeclaredPath, kind="shaped"):
    """Path Σ A_k path(t − t_k), the result of input shapers applied to a path.

    Parameters
    ----------
    path : path of coordinates
        The path.
    amplitudes : floats
        A_k, with sum 1.
    times : floats [s]
        t_k ≥ 0.

    Examples
    --------
    >>> from flexmbs.robots import DelayedPath, Quintic
    >>> DelayedPath(Quintic([0.0], [1.0], 1.0), [0.5, 0.5], [0.0, 0.25]).end
    1.25
    """

    path: AnyPath = dataclasses.field(kw_only=False)
    amplitudes: AnyVector = dataclasses.field(kw_only=False)
    times: AnyVector = dataclasses.field(kw_only=False)

    @model_validator(mode="after")
    def _impulses(self) -> Self:
        """Raise `NestedError` unless amplitudes and times form an input shaper."""
        if text := not_impulses(np.array(self.amplitudes), np.array(self.times)):
            raise NestedError.at((), text)
        return self

    @property
    def n(self) -> int:
        return int(self.path.n)

    @property
    def span(self) -> tuple[float, float]:
        """Start and end of the motion with the longest delay, s."""
        start, end = self.path.span
        return start, end + max(self.times)

    def at(self, t: float) -> Motion:
        """Coordinates, rates and accelerations at time t: Σ A_k path(t − t_k)."""
        if isinstance(self.path, DeclaredPath):
            return super().at(t)
        parts = [(A, self.path.at(t - delay)) for A, delay in zip(self.amplitudes, self.times)]
        return Motion(*(np.asarray(sum(A * motion[i] for A, motion in parts)) for i in range(3)))

    @functools.cached_property
    def pieces(self) -> PathPieces:
        """Weighted sums of delayed pieces, of a declared path."""
        made = self.path.pieces
        knots = np.unique(np.add.outer(self.times, made.knots))
        if len(knots) == 1:
            knots = np.repeat(knots, 2)
        parts = [A * made.divided_at(knots - t) for A, t in zip(self.amplitudes, self.times)]
        return PathPieces(knots, np.sum(parts, axis=0))
