"""User functions with algebraic unknowns: force laws F(…, y) whose unknowns y solve h(…, y) = 0."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flexmbs._jit import is_jitted, jitted, within_jitted
from flexmbs.errors import InputError, shown
from flexmbs.model.functions import parameter_count

TURNS, HALVINGS = 60, 12  # of Newton's method, of one of its steps
STEP = 1e-6  # of the differences of h, of 1 + |y|
CLOSED = 1e-10  # of 1 + |y|: the last step, after which the error is of the order of its square
# f(…, y(…)) by number of arguments, which declarations count
SOLVED: dict[int, Callable[[Any, Any], Any]] = {
    1: lambda f, y: lambda a: f(a, y(a)),
    2: lambda f, y: lambda a, b: f(a, b, y(a, b)),
    3: lambda f, y: lambda a, b, c: f(a, b, c, y(a, b, c)),
    4: lambda f, y: lambda a, b, c, d: f(a, b, c, d, y(a, b, c, d)),
    5: lambda f, y: lambda a, b, c, d, e: f(a, b, c, d, e, y(a, b, c, d, e)),
    6: lambda f, y: lambda a, b, c, d, e, g: f(a, b, c, d, e, g, y(a, b, c, d, e, g)),
}


def algebraic(
    residual: Callable[..., Any], guess: Sequence[float] | float = 0.0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a user function with algebraic unknowns y, h(…, y) = 0.

    The decorated function is called without y, wherever a model takes a user function: a force law ``f(t, x, v, y)`` becomes
    ``f(t, x, v)``. y is found in every call by Newton's method from ``guess``, with ∂h/∂y by differences, which must be regular:
    unknowns are eliminated where they occur, and results follow from the arguments alone. ``function.unknowns(…)`` gives y.
    Compiled if both functions are (``numba.njit``). Hairer and Wanner, Solving Ordinary Differential Equations II (1996), ch.
    VI.1, for equations of index one.

    Parameters
    ----------
    residual : function
        ``residual(…, y)`` returns n numbers h, with the arguments of the decorated function and y (n).
    guess : n floats or float
        Where Newton's method begins; of several solutions it chooses one.

    Raises
    ------
    InputError
        If ``guess`` is no finite numbers. A run ends with the message of a function that finds no solution.

    Examples
    --------
    A spring behind a dry contact, F = −k (x − y) with y + y³ = x:

    >>> @algebraic(residual=lambda t, x, v, y: [y[0] + y[0] ** 3 - x])
    ... def spring(t, x, v, y):
    ...     return -100.0 * (x - y[0])
    >>> round(spring(0.0, 2.0, 0.0), 9)
    -100.0
    """
    start = _numbers(guess)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled = is_jitted(function) and is_jitted(residual)
        unknowns: Any = _unknowns(residual, start)
        if compiled:
            unknowns = jitted(unknowns)

        n = (parameter_count(function) or 0) - 1
        if n not in SOLVED:
            raise InputError(
                f"algebraic: {shown(function)} takes {n + 1} arguments; it must take those of a user function, then y"
            )
        solved: Any = SOLVED[n](function, unknowns)
        solved.__module__, solved.__name__ = function.__module__, function.__name__
        solved.__qualname__, solved.__doc__ = function.__qualname__, function.__doc__
        made: Any = jitted(solved) if compiled else solved
        made.unknowns = unknowns
        return made  # type: ignore[no-any-return]

    return decorate


def _numbers(guess: object) -> np.ndarray:
    try:
        start = np.atleast_1d(np.array(guess, float))
    except (TypeError, ValueError):
        raise InputError(f"guess: must be numbers, not {shown(guess)}") from None
    if start.ndim != 1 or not len(start) or not np.isfinite(start).all():
        raise InputError(f"guess: must be finite numbers, one for each unknown, not {shown(guess)}")
    start.flags.writeable = False
    return start


def _unknowns(residual: Any, start: np.ndarray) -> Callable[..., np.ndarray]:
    """The function of the unknowns."""

    def unknowns(*given):  # type: ignore[no-untyped-def]
        return _newton(residual, given, start.copy())

    return unknowns


@within_jitted
def _newton(residual, given, y):  # type: ignore[no-untyped-def]
    """y with h(…, y) = 0, by Newton's method with halved steps."""
    n = len(y)
    h, ahead, behind, slopes = np.empty(n), np.empty(n), np.empty(n), np.empty((n, n))
    for _ in range(TURNS):
        _evaluate(residual, given, y, h)
        for k in range(n):
            at, step = y[k], STEP * (1.0 + abs(y[k]))
            y[k] = at + step
            _evaluate(residual, given, y, ahead)
            y[k] = at - step
            _evaluate(residual, given, y, behind)
            y[k] = at
            slopes[:, k] = (ahead - behind) / (2.0 * step)
        try:
            change = np.linalg.solve(slopes, -h)
        except Exception:  # a singular matrix
            change = np.full(n, np.nan)
        if not np.isfinite(change).all():
            break
        if (np.abs(change) <= CLOSED * (1.0 + np.abs(y))).all():
            return y + change
        size, part = np.abs(h).max(), 1.0
        for _ in range(HALVINGS):
            _evaluate(residual, given, y + part * change, ahead)
            if np.abs(ahead).max() < size:
                break
            part *= 0.5
        y = y + part * change
    raise ValueError("no y with h(..., y) = 0 is found from the guess; give a nearer one, or another equation")


@within_jitted
def _evaluate(residual, given, y, h):  # type: ignore[no-untyped-def]
    """h(…, y)"""
    result = residual(*given + (y,))
    if len(result) != len(h):
        raise ValueError("the residual gives another number of equations than the guess has unknowns")
    for k in range(len(h)):
        h[k] = result[k]
