"""User functions with algebraic unknowns.

Force laws F(…, y) with unknowns y determined by h(…, y) = 0.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flexmbs._jit import is_jitted, jitted, within_jitted
from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError, shown
from flexmbs.model.functions import parameter_count

TURNS, HALVINGS = 100, 12  # largest numbers of Newton iterations, and of halvings of a step
# step of the differences of h, relative to 1 + |y|; reduced if these are not accurate slopes
STEP = 1e-6
SHORTER, SAME = (
    0.1,
    0.1,
)  # ratio of the difference steps that are compared, and the tolerated relative difference
# relative to the difference step: last change of y, after which the error is of the order of its
# square
CLOSED = 1e-4
# f(…, y(…)) by number of arguments, because declarations count these
SOLVED: dict[int, Callable[[Any, Any], Any]] = {
    1: lambda f, y: lambda a: f(a, y(a)),
    2: lambda f, y: lambda a, b: f(a, b, y(a, b)),
    3: lambda f, y: lambda a, b, c: f(a, b, c, y(a, b, c)),
    4: lambda f, y: lambda a, b, c, d: f(a, b, c, d, y(a, b, c, d)),
    5: lambda f, y: lambda a, b, c, d, e: f(a, b, c, d, e, y(a, b, c, d, e)),
    6: lambda f, y: lambda a, b, c, d, e, g: f(a, b, c, d, e, g, y(a, b, c, d, e, g)),
}


@checked_arguments
def algebraic(
    residual: Callable[..., Any], guess: Sequence[float] | float = 0.0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a user function with algebraic unknowns y, h(…, y) = 0.

    The decorated function is called without y, wherever a model takes a user function: a force law
    ``f(t, x, v, y)`` becomes ``f(t, x, v)``. Every call finds y by Newton's method from
    ``guess``, with ∂h/∂y by differences, which must be nonsingular: unknowns are eliminated where
    they occur, and results depend only on the arguments. ``function.unknowns(…)`` gives y. Compiled
    if both functions are (``numba.njit``). Hairer and Wanner, Solving Ordinary Differential
    Equations II (1996), ch. VI.1, for equations of index one.

    Parameters
    ----------
    residual : function
        ``residual(…, y)`` returns n numbers h, with the arguments of the decorated function and y
        (n).
    guess : n floats or float
        Start of Newton's method; selects one of several solutions.

    Raises
    ------
    InputError
        If ``guess`` is not finite numbers, or if the functions have other arguments. A run ends
        with the message of a function that finds no solution.

    Examples
    --------
    A spring behind a dry contact, F = −k (x − y) with y + y³ = x:

    >>> import flexmbs as fm
    >>> @fm.algebraic(residual=lambda t, x, v, y: [y[0] + y[0] ** 3 - x])
    ... def spring(t, x, v, y):
    ...     return -100.0 * (x - y[0])
    >>> round(float(spring(0.0, 2.0, 0.0)), 9)
    -100.0
    """
    start = _numbers(guess)
    if not callable(residual):
        raise InputError(f"residual: must be a function, not {shown(residual)}")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        """User function with unknowns y appended, solved from its residual."""
        n = (parameter_count(function) or 0) - 1
        if n not in SOLVED:
            raise InputError(
                f"algebraic: {shown(function)} takes {n + 1} arguments; it must take "
                "those of a user function, then y"
            )
        if (taken := parameter_count(residual)) not in (n + 1, None):
            raise InputError(
                f"residual: takes {taken} arguments; it must take those of the function, {n + 1}"
            )
        plain = _solved(function, _unknowns(_checked(residual, len(start)), start))
        if not (is_jitted(function) and is_jitted(residual)):
            return plain
        unknowns = jitted(_unknowns(residual, start))
        made: Any = jitted(_solved(function, unknowns))
        made.unknowns = unknowns
        # for functions that Numba does not compile, such as a residual that is not a list: the
        # message of the interpreted function is clear
        made.py_func = plain
        return made  # type: ignore[no-any-return]

    return decorate


def _solved(function: Callable[..., Any], unknowns: Callable[..., Any]) -> Callable[..., Any]:
    """Function f(…, y(…)) with these ``unknowns`` y."""
    solved: Any = SOLVED[(parameter_count(function) or 0) - 1](function, unknowns)
    functools.update_wrapper(solved, function, updated=())
    del solved.__wrapped__  # the wrapper has other arguments
    solved.unknowns = unknowns
    return solved  # type: ignore[no-any-return]


def _numbers(guess: object) -> np.ndarray:
    """Initial guess of the unknowns as a read-only array. Raises `InputError`."""
    try:
        start = np.atleast_1d(np.array(guess, float))
    except (TypeError, ValueError):
        raise InputError(f"guess: must be numbers, not {shown(guess)}") from None
    if start.ndim != 1 or not len(start) or not np.isfinite(start).all():
        raise InputError(f"guess: must be finite numbers, one for each unknown, not {shown(guess)}")
    start.flags.writeable = False
    return start


def _checked(residual: Any, n: int) -> Callable[..., np.ndarray]:
    """Residual wrapped so that its results are checked."""

    def checked(*given: Any) -> np.ndarray:
        """Residual as an array of numbers. Raises `InputError`."""
        result = residual(*given)
        try:
            numbers = np.asarray(result)
        except ValueError:  # lists of different lengths
            numbers = np.asarray(None)
        if numbers.ndim != 1 or numbers.dtype.kind not in "biuf":
            raise InputError(
                f"has a residual that gives {shown(result)}; return {n} numbers in a list or tuple"
            )
        return numbers

    return checked


def _unknowns(residual: Any, start: np.ndarray) -> Callable[..., np.ndarray]:
    """Function that computes the unknowns."""

    def unknowns(*given):  # type: ignore[no-untyped-def]
        """Unknowns y that solve the residual for these arguments, by Newton's method."""
        return _newton(residual, given, start.copy())

    return unknowns


@within_jitted
def _newton(residual, given, y):  # type: ignore[no-untyped-def]
    """Solve h(…, y) = 0 for y by Newton's method with halved steps."""
    n, step = len(y), STEP
    h, trial, slopes, closer = np.empty(n), np.empty(n), np.empty((n, n)), np.empty((n, n))
    for _ in range(TURNS):
        _evaluate(residual, given, y, h)
        _differences(residual, given, y, step, slopes)
        if not np.isfinite(slopes).all():  # beyond the limits of h
            step *= SHORTER
            continue
        try:
            change = np.linalg.solve(slopes, -h)
        except Exception:  # a singular matrix
            break
        if not np.isfinite(change).all():
            break
        if (np.abs(change) <= CLOSED * step * (1.0 + np.abs(y))).all():
            _differences(residual, given, y, SHORTER * step, closer)
            if _same(slopes, closer, y):
                return y + change
            step *= SHORTER
            continue
        size, part = np.abs(h).max(), 1.0
        for _ in range(HALVINGS):
            _evaluate(residual, given, y + part * change, trial)
            if np.abs(trial).max() < size:
                break
            part *= 0.5
        if np.abs(trial).max() > 0.5 * size and (np.abs(change) <= step * (1.0 + np.abs(y))).all():
            step *= SHORTER
        y = y + part * change
    raise ValueError(
        "no y with h(..., y) = 0 was found from the guess; give a closer one, or change the "
        "equation"
    )


@within_jitted
def _differences(residual, given, y, step, slopes):  # type: ignore[no-untyped-def]
    """slopes (n, n) ← ∂h/∂y by central differences over ``step`` · (1 + |y|)"""
    ahead, behind = np.empty(len(y)), np.empty(len(y))
    for k in range(len(y)):
        at, over = y[k], step * (1.0 + abs(y[k]))
        y[k] = at + over
        _evaluate(residual, given, y, ahead)
        y[k] = at - over
        _evaluate(residual, given, y, behind)
        y[k] = at
        slopes[:, k] = (ahead - behind) / (2.0 * over)


@within_jitted
def _same(slopes, closer, y):  # type: ignore[no-untyped-def]
    """True if two difference approximations of ∂h/∂y agree.

    Entries agree relative to the effect of changes of y by 1 + |y| on their row.
    """
    for i in range(len(y)):
        seen = (np.abs(slopes[i]) * (1.0 + np.abs(y))).max()
        for k in range(len(y)):
            if not abs(closer[i, k] - slopes[i, k]) * (1.0 + abs(y[k])) <= SAME * seen:
                return False
    return True


@within_jitted
def _evaluate(residual, given, y, h):  # type: ignore[no-untyped-def]
    """h ← residual h(…, y)."""
    result = residual(*given + (y,))
    if len(result) != len(h):
        raise ValueError("the residual must have as many equations as the guess has unknowns")
    for k in range(len(h)):
        h[k] = result[k]
