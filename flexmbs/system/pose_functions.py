"""User functions of a relative pose (t, x, A) as callbacks.

Values g, rows (A | a₀), and derivatives of g. The pose is varied as x + h e and exp(h ẽ) A. A
Python function is differentiated by complex steps, exact to round-off (Squire and Trapp, SIAM Rev.
40 (1998) 110), if it accepts complex numbers; otherwise by differences of fourth order. The rows of
g are its derivatives in the six directions of (v, ω), and with respect to time if it is rheonomic.
ġ along a motion is a single directional derivative.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from flexmbs._jit import is_jitted, jitted
from flexmbs.algebra.differences import PLACES, STENCIL, WEIGHTS
from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.model.functions import MissingFunction
from flexmbs.system.callbacks import FRAME_ARGUMENTS, POSE_ARGUMENTS, Callbacks
from flexmbs.system.compile_laws import LawTable
from flexmbs.system.user_derivatives import NEAR, STEP, TINY, first_defined, takes_complex

COLUMNS = 7  # of a row: factors of (v, ω), then a₀ or ∂g/∂t
# (t, x, A) special for no function
PROBE = (0.3, 0.11, -0.07, 0.13, 0.8, 0.36, 0.48, 0.0, 0.8, -0.6, -0.6, 0.48, 0.64)


def called(function: Callable[..., Any], x: np.ndarray) -> Any:
    """Call a user function(t, x, A) with copies of the arguments."""
    given = x.copy()
    return function(given[0] if np.iscomplexobj(x) else float(given[0]), given[1:4], given[4:13])


def values(function: Callable[..., Any], x: np.ndarray) -> Any:
    """Values g(t, x, A) of a user function as an array."""
    g = called(function, x)
    return g if np.ndim(g) == 1 else np.ravel(g)


def rows(function: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    """Rows of seven numbers, flattened, from a function that gives six or seven per row."""
    given = np.atleast_2d(np.asarray(called(function, x), float))
    missing = COLUMNS - given.shape[1]
    return (
        np.hstack([given, np.zeros((len(given), missing))]).ravel()
        if missing > 0
        else given.ravel()
    )


def by_differences(
    function: Callable[..., Any], x: np.ndarray, n: int, length: float
) -> np.ndarray:
    """Rows (n, 7) by differences of fourth order.

    length: that of the model (m), to which the steps are relative.
    """
    return _rows_by_differences(function, x, n, True, length)


def _spun(A: np.ndarray) -> np.ndarray:
    """Derivatives ẽ A (3, 9) of a rotation matrix about the three axes e."""
    return (_SPIN @ A).reshape(3, 9)


def _directions(x: np.ndarray) -> np.ndarray:
    """Derivatives (6, 12) of a pose (x, A) in the six directions of (v, ω)."""
    found = _PLACES.copy()
    found[3:, 3:] = _spun(x[4:13])
    return found


def _takes_complex(
    function: Callable[..., Any], n: int, rheonomic: bool, at: np.ndarray, length: float
) -> bool:
    """True if complex steps give the same derivatives as differences at a pose."""
    exact = functools.partial(_rows_by_complex_steps, function, at, n, rheonomic)
    rough = functools.partial(_rows_by_differences, function, at, n, rheonomic, length)
    sizes = np.repeat([length, 1.0], [3, COLUMNS - 3])
    return takes_complex(lambda: exact() * sizes, lambda: rough() * sizes)


def _rows_by_differences(
    function: Callable[..., Any], x: np.ndarray, n: int, rheonomic: bool, length: float
) -> np.ndarray:
    """Velocity rows (n, 7) from differences of g at neighbouring poses."""
    t, poses = float(x[0]), (_TURNED @ x[1:]).reshape(-1, 12) + length * _SHIFTED
    with np.errstate(invalid="ignore"):  # non-finite function values are reported below
        g = [function(t, pose[:3], pose[3:]) for pose in poses]
        if rheonomic:
            g += [
                function(t + factor * STEP, x[1:4].copy(), x[4:13].copy())
                for factor in PLACES.tolist()
            ]
        found = np.zeros((n, COLUMNS))
        found[:, : len(g) // 4] = np.einsum(
            "kcr,c->rk", np.array(g, float).reshape(-1, 4, n), WEIGHTS / STEP
        )
        found[:, :3] /= length
    return found


def _rows_by_complex_steps(
    function: Callable[..., Any], x: np.ndarray, n: int, rheonomic: bool
) -> np.ndarray:
    """Velocity rows (n, 7) of g by complex steps."""
    t, poses = float(x[0]), x[1:13] + 1j * TINY * _directions(x)
    g = [function(t, pose[:3], pose[3:]) for pose in poses]
    if rheonomic:
        g.append(function(t + 1j * TINY, x[1:4].astype(complex), x[4:13].astype(complex)))
    found = np.zeros((n, COLUMNS))
    found[:, : len(g)] = np.array(g).imag.reshape(-1, n).T / TINY
    return found


def _along_by_complex_steps(
    function: Callable[..., Any], x: np.ndarray, n: int, rheonomic: bool
) -> np.ndarray:
    """ġ (n,) along the twist x[13:19], as imaginary part."""
    pose = x[1:13] + 1j * TINY * (x[13:19] @ _directions(x))
    g = function(complex(x[0], TINY) if rheonomic else float(x[0]), pose[:3], pose[3:])
    return np.asarray(np.imag(g).reshape(n) / TINY)


def moved(x: np.ndarray, k: int, h: Any) -> np.ndarray:
    """The pose after a displacement h in direction k of (v, ω, t), in the parent's axes."""
    moved = x.copy()
    if k < 3:
        moved[1 + k] += h
    elif k < 6:
        a, b = (k - 2) % 3, (k - 1) % 3
        A = moved[4:].reshape(3, 3)
        A[[a, b]] = np.cos(h) * A[a] - np.sin(h) * A[b], np.sin(h) * A[a] + np.cos(h) * A[b]
    else:
        moved[0] += h
    return moved


def _neighbouring_poses() -> tuple[np.ndarray, np.ndarray]:
    """Linear maps M, c to the neighbouring poses M (x, A) + c of the difference stencil.

    By direction and column of the stencil.
    """
    matrix, shift = np.tile(np.eye(12), (24, 1, 1)), np.zeros((24, 12))
    for k in range(6):
        for c, factor in enumerate(PLACES):
            columns = [
                moved(np.concatenate([[0.0], unit]), k, factor * STEP)[1:] for unit in np.eye(12)
            ]
            if k < 3:
                shift[4 * k + c, k] = factor * STEP
            else:
                matrix[4 * k + c] = np.array(columns).T
    return matrix.reshape(24 * 12, 12), shift


_TURNED, _SHIFTED = _neighbouring_poses()
_PLACES = np.eye(6, 12) * (np.arange(6) < 3)[:, None]
_SPIN = np.array([[np.kron(np.cross(e, np.eye(3)).T, np.eye(3))] for e in np.eye(3)]).reshape(27, 9)


def spread_values(function: Callable[..., Any], n: int, at: np.ndarray) -> Callable[..., Any]:
    """Compilable ``body(x, out)`` of the constraint values.

    Its form is that of the results at the pose ``at``.
    """
    single = np.ndim(called(function.py_func, at)) == 0  # type: ignore[attr-defined]
    if single:

        def one(x: Any, out: Any) -> None:
            """out ← constraint value of the function of time and relative pose."""
            out[0] = function(x[0], x[1:4], x[4:13])

        return one

    def several(x: Any, out: Any) -> None:
        """out ← n constraint values of the function of time and relative pose."""
        result = function(x[0], x[1:4], x[4:13])
        for a in range(n):
            out[a] = result[a]

    return several


def spread_rows(function: Callable[..., Any], n: int, at: np.ndarray) -> Callable[..., Any]:
    """Compilable ``body(x, out)`` of the velocity rows.

    Its form is that of the results at the pose ``at``.
    """
    result = called(function.py_func, at)  # type: ignore[attr-defined]
    columns = np.shape(result)[-1]
    if np.ndim(result) == 1:

        def one(x: Any, out: Any) -> None:
            """out ← velocity row of the function of time and relative pose."""
            row = function(x[0], x[1:4], x[4:13])
            out[6] = 0.0
            for c in range(columns):
                out[c] = row[c]

        return one

    def several(x: Any, out: Any) -> None:
        """out ← n velocity rows of the function of time and relative pose."""
        given = function(x[0], x[1:4], x[4:13])
        for r in range(n):
            out[7 * r + 6] = 0.0
            for c in range(columns):
                out[7 * r + c] = given[r][c]

    return several


def spread_differences(
    function: Callable[..., Any], n: int, rheonomic: bool, at: np.ndarray, length: float
) -> Callable[..., Any]:  # fmt: skip
    """Compilable ``body(x, out)`` of the velocity rows by differences."""
    inner = jitted(spread_values(function, n, at))
    columns = COLUMNS if rheonomic else COLUMNS - 1

    def body(x: Any, out: Any) -> None:
        """out ← velocity rows by central differences of the constraint values."""
        y = np.empty(13)
        g = np.empty(n)
        for a in range(7 * n):
            out[a] = 0.0
        for k in range(columns):
            for factor, weight in STENCIL:
                step = STEP * length if k < 3 else STEP
                h = factor * step
                for a in range(13):
                    y[a] = x[a]
                if k < 3:
                    y[1 + k] += h
                elif k == 6:
                    y[0] += h
                else:
                    a = 4 + 3 * ((k - 2) % 3)
                    b = 4 + 3 * ((k - 1) % 3)
                    for e in range(3):
                        y[a + e] = math.cos(h) * x[a + e] - math.sin(h) * x[b + e]
                        y[b + e] = math.sin(h) * x[a + e] + math.cos(h) * x[b + e]
                inner(y, g)
                for r in range(n):
                    out[7 * r + k] += weight / step * g[r]

    return body


def value_address(
    callbacks: Callbacks, name: str, function: Callable[..., Any], n: int, at: np.ndarray
) -> int:
    """Address of the callback of the constraint values g."""
    spread = spread_values(function, n, at) if is_jitted(function) else None
    return callbacks.address(name, function, values, POSE_ARGUMENTS, n, spread)


def row_address(
    callbacks: Callbacks, name: str, function: Callable[..., Any], n: int, at: np.ndarray
) -> int:
    """Address of the callback of the velocity rows that the user gives."""
    spread = spread_rows(function, n, at) if is_jitted(function) else None
    return callbacks.address(name, function, rows, POSE_ARGUMENTS, COLUMNS * n, spread)


def slope_address(
    laws: LawTable,
    name: str,
    function: Callable[..., Any],
    n: int,
    rheonomic: bool,
    at: np.ndarray,
) -> int:
    """Address of the callback that differentiates g to velocity rows."""
    spread = (
        spread_differences(function, n, rheonomic, at, laws.length) if is_jitted(function) else None
    )
    plain = getattr(function, "py_func", function)
    exact = _takes_complex(plain, n, rheonomic, at, laws.length)

    def body(function: Callable[..., Any], x: np.ndarray) -> Any:
        """Velocity rows of a Python function by complex steps or differences."""
        if exact:
            return _rows_by_complex_steps(function, x, n, rheonomic).ravel().tolist()
        return _rows_by_differences(function, x, n, rheonomic, laws.length).ravel().tolist()

    return laws.callbacks.address(name, function, body, POSE_ARGUMENTS, COLUMNS * n, spread)


def along_address(
    laws: LawTable,
    name: str,
    function: Callable[..., Any],
    n: int,
    rheonomic: bool,
    at: np.ndarray,
) -> int:
    """Address of the callback of ġ along a twist, by complex steps.

    0 if the function does not accept complex numbers.
    """
    if is_jitted(function) or not _takes_complex(function, n, rheonomic, at, laws.length):
        return 0

    def body(function: Callable[..., Any], x: np.ndarray) -> Any:
        """Second derivatives along the motion by complex steps."""
        return _along_by_complex_steps(function, x, n, rheonomic).tolist()

    return laws.callbacks.address(name, function, body, FRAME_ARGUMENTS, n)


def examined_pose(start: Callable[[], np.ndarray], functions: Mapping[str, Any]) -> np.ndarray:
    """A pose (t, x, A) near the start at which all user functions are defined.

    functions: by name. A general pose, otherwise one near the declared start, or the start itself,
    given by ``start()``. Raises `InputError` if a function raises at the start.
    """

    def places() -> Iterator[np.ndarray]:
        """Poses at which a user function is examined: arbitrary, near the start, start."""
        yield np.array(PROBE)
        here = start()
        near = here
        for direction in range(COLUMNS):
            near = moved(near, direction, NEAR)
        yield near
        yield here

    return first_defined(
        places(), functions, called, "correct it, or start where it is defined (q0)"
    )


def check_shape(
    name: str, function: Callable[..., Any], at: np.ndarray, *shapes: tuple[int, ...]
) -> None:
    """Raise `InputError` unless the function gives real numbers of one of the expected shapes.

    A single row may be flat.
    """
    if isinstance(function, MissingFunction):
        return
    found = np.asarray(called(getattr(function, "py_func", function), at))
    if found.dtype.kind not in "iuf":
        kind = "complex numbers" if found.dtype.kind == "c" else shown(found.tolist())
        raise InputError(f"{name}: gives {kind} at a general pose; return real numbers")
    allowed = {*shapes, *(shape[1:] for shape in shapes if shape[0] == 1)}
    if found.shape not in allowed:
        wanted = " or ".join(" × ".join(map(str, shape)) for shape in shapes)
        got = " × ".join(map(str, found.shape)) or "a single number"
        numbers = "" if found.ndim == 0 else " numbers"
        raise InputError(
            f"{name}: gives {got}{numbers}, not {wanted}; correct the function or the "
            "number of equations"
        )
