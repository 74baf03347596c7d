"""User functions of joint coordinates (t, x) as callbacks.

Values g, rows (a | a₀), and derivatives of g. A Python function is differentiated by complex steps,
exact to round-off (Squire and Trapp, SIAM Rev. 40 (1998) 110), if it accepts complex numbers;
otherwise, and if it is compiled, by differences of fourth order.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flexmbs._jit import is_jitted, jitted
from flexmbs.algebra.differences import STENCIL
from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.model.check_references import motion_of
from flexmbs.model.couplings import Coupling, coordinate_of
from flexmbs.model.functions import MissingFunction
from flexmbs.model.general_couplings import (
    CoordinateEquation,
    GeneralCoupling,
    HolonomicCoupling,
    VelocityCoupling,
    probe_of,
)
from flexmbs.model.joints import Joint
from flexmbs.system.callbacks import Callbacks
from flexmbs.system.compile_laws import LawTable
from flexmbs.system.user_derivatives import NEAR, STEP, TINY, first_defined, takes_complex


def _value(function: Callable[..., Any], x: np.ndarray) -> tuple[float]:
    """Value (g,) of a user function g(t, x)."""
    return (_scalar(function(float(x[0]), x[1:].copy())),)


def _scalar(value: Any) -> Any:
    """The number of a scalar or of an array with one entry."""
    return value if np.ndim(value) == 0 else np.ravel(value)[0]


def row(function: Callable[..., Any], x: np.ndarray) -> list[float]:
    """Row (a | a₀) of a user function, with a₀ = 0 if it gives none."""
    given = np.ravel(function(float(x[0]), x[1:].copy())).tolist()
    return [*given, 0.0] if len(given) == len(x) - 1 else given


def _by_complex_steps(function: Callable[..., Any], x: np.ndarray, rheonomic: bool) -> list[float]:
    """Derivatives (∂g/∂x | ∂g/∂t) by complex steps."""
    found = [
        _scalar(function(float(x[0]), moved)).imag / TINY
        for moved in x[1:] + 1j * TINY * np.eye(len(x) - 1)
    ]
    return [
        *found,
        _scalar(function(complex(x[0], TINY), x[1:].astype(complex))).imag / TINY
        if rheonomic
        else 0.0,
    ]


def by_differences(
    function: Callable[..., Any], x: np.ndarray, rheonomic: bool, sizes: np.ndarray
) -> list[float]:
    """Derivatives (∂g/∂x | ∂g/∂t) by differences of fourth order.

    sizes (n,): comparable changes of the coordinates, to which the steps are relative.
    """
    steps = STEP * np.concatenate([[1.0], sizes])

    def slope(k: int) -> float:
        """Derivative with respect to argument k by central differences."""
        total = 0.0
        for factor, weight in STENCIL:
            y = x.copy()
            y[k] += factor * steps[k]
            total += weight / steps[k] * float(_scalar(function(float(y[0]), y[1:])))
        return total

    return [*(slope(k) for k in range(1, len(x))), slope(0) if rheonomic else 0.0]


def _rule(
    function: Callable[..., Any], x: np.ndarray, rheonomic: bool, sizes: np.ndarray
) -> Callable[..., list[float]]:
    """Differentiation rule of a function: complex steps if they agree with differences."""
    differences = functools.partial(by_differences, sizes=sizes)
    reach = np.append(sizes, 1.0)
    exact = takes_complex(
        lambda: _by_complex_steps(function, x, rheonomic) * reach,
        lambda: differences(function, x, rheonomic) * reach,
    )
    return _by_complex_steps if exact else differences


def _spread_value(function: Callable[..., Any], n: int) -> Callable[..., Any]:
    """Compilable ``body(x, out)`` of g."""

    def body(x: Any, out: Any) -> None:
        """out ← value of the function (t, q)."""
        out[0] = function(x[0], x[1 : n + 1])

    return body


def _spread_row(function: Callable[..., Any], n: int) -> Callable[..., Any]:
    """Compilable ``body(x, out)`` of the row (a | a₀)."""

    def body(x: Any, out: Any) -> None:
        """out ← row of derivatives of the function (t, q), rate 0 if it is missing."""
        given = function(x[0], x[1 : n + 1])
        out[n] = 0.0
        for c in range(len(given)):
            out[c] = given[c]

    return body


def _spread_differences(
    function: Callable[..., Any], n: int, rheonomic: bool, sizes: np.ndarray
) -> Callable[..., Any]:
    """Compilable ``body(x, out)`` of the derivatives of g by differences."""
    inner = jitted(_spread_value(function, n))
    first = 0 if rheonomic else 1
    steps = STEP * np.concatenate([[1.0], sizes])

    def body(x: Any, out: Any) -> None:
        """out ← row of derivatives by central differences."""
        y, g = x[: n + 1].copy(), np.empty(1)
        for a in range(n + 1):
            out[a] = 0.0
        for k in range(first, n + 1):
            to = n if k == 0 else k - 1
            for factor, weight in STENCIL:
                y[k] = x[k] + factor * steps[k]
                inner(y, g)
                out[to] += weight / steps[k] * g[0]
            y[k] = x[k]

    return body


def addresses(
    laws: LawTable, coupling: CoordinateEquation, joints: Mapping[str, Joint]
) -> tuple[int, int]:
    """Addresses of the callbacks of g (0 if none) and of its row (a | a₀).

    Raises `InputError` for functions with results of another shape.
    """
    name, n, callbacks = f"{coupling.section}.{coupling.name}", len(coupling.of), laws.callbacks
    sizes = comparable_changes(coupling, joints, laws.length)
    function, rheonomic = coupling.function, coupling.rheonomic
    gradient = getattr(coupling, "gradient", None)
    given = {f"{name}.function": function, f"{name}.gradient": gradient}
    at = _examined(given, n, _start(coupling, joints))
    if isinstance(coupling, VelocityCoupling):
        _check_shape(f"{name}.function", function, at, (n, n + 1))
        return 0, _row_address(callbacks, name, function, n)
    _check_shape(f"{name}.function", function, at, (1,))
    spread = _spread_value(function, n) if is_jitted(function) else None
    position = callbacks.address(name, function, _value, n + 1, 1, spread)
    if gradient is not None:
        _check_shape(f"{name}.gradient", gradient, at, (n + 1,) if rheonomic else (n,))
        return position, _row_address(callbacks, name, gradient, n)
    spread = _spread_differences(function, n, rheonomic, sizes) if is_jitted(function) else None
    plain = getattr(function, "py_func", function)
    by = _rule(plain, at, rheonomic, sizes)

    def body(function: Callable[..., Any], x: np.ndarray) -> list[float]:
        """Row of derivatives of a Python function."""
        return by(function, x, rheonomic)

    return position, callbacks.address(name, function, body, n + 1, n + 1, spread)


def comparable_changes(
    coupling: CoordinateEquation, joints: Mapping[str, Joint], length: float
) -> np.ndarray:
    """Comparable changes (n,): ``length`` of the model for translations, 1 rad for rotations."""
    uses = [coordinate_of(text, joints) for text in coupling.of]
    turns = [motion_of(joints[use.joint], use.coordinate).turns for use in uses]
    return np.where(turns, 1.0, length)


def _start(coupling: CoordinateEquation, joints: Mapping[str, Joint]) -> np.ndarray:
    """(t, x) of the declared positions at t = 0."""
    found = [0.0]
    for use in (coordinate_of(text, joints) for text in coupling.of):
        joint, at, v = joints[use.joint], 0, 0
        for motion in joint.motions:
            if v + motion.nv > use.coordinate:
                break
            at, v = at + motion.nq, v + motion.nv
        found.append(float(joint.initial_position[at + use.coordinate - v]))
    return np.array(found)


def _examined(functions: Mapping[str, Any], n: int, start: np.ndarray) -> np.ndarray:
    """A point (t, x) near the start at which all user functions are defined.

    A general position, otherwise one near the declared start, or the start itself. Raises
    `InputError` if a function raises there.
    """
    general = np.concatenate([[probe_of(n)[0]], probe_of(n)[1]])
    places = (general, start + NEAR * np.arange(1, n + 2), start)
    remedy = f"correct it, it gets (t, x) with x of {n} numbers"
    return first_defined(
        places, functions, lambda function, at: function(float(at[0]), at[1:].copy()), remedy
    )


def row_of(coupling: GeneralCoupling, t: float, x: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """(a | a₀) at time t and coordinates x, evaluated in Python.

    sizes: comparable changes of the coordinates.
    """
    given = np.concatenate([[t], x])
    function: Any = coupling.function  # type: ignore[attr-defined]
    if not isinstance(coupling, HolonomicCoupling):
        return np.array(row(function, given))
    if coupling.gradient is not None:
        return np.array(row(coupling.gradient, given))
    plain: Callable[..., Any] = getattr(function, "py_func", function)
    by = _rule(plain, given, coupling.rheonomic, sizes)
    return np.array(by(plain, given, coupling.rheonomic), float)


def factors_at(
    coupling: Coupling, t: np.ndarray, x: np.ndarray, joints: Mapping[str, Joint], length: float
) -> np.ndarray:
    """Factors a (nt, n) at times (nt,) and coordinates x (nt, n).

    length: that of the model.
    """
    if not isinstance(coupling, GeneralCoupling):
        return np.tile([term.factor for term in coupling.terms], (len(t), 1))
    sizes = comparable_changes(coupling, joints, length)
    rows = [row_of(coupling, float(now), each, sizes)[:-1] for now, each in zip(t, x)]
    return np.array(rows).reshape(x.shape)


def _row_address(callbacks: Callbacks, name: str, function: Callable[..., Any], n: int) -> int:
    """Address of the callback that evaluates a row of n coordinates and time."""
    spread = _spread_row(function, n) if is_jitted(function) else None
    return callbacks.address(name, function, row, n + 1, n + 1, spread)


def _check_shape(
    name: str, function: Callable[..., Any], at: np.ndarray, sizes: tuple[int, ...]
) -> None:
    """Raise `InputError` unless the function gives as many real numbers as expected at (t, x)."""
    if isinstance(function, MissingFunction):
        return
    found = np.asarray(getattr(function, "py_func", function)(float(at[0]), at[1:].copy()))
    if found.dtype.kind not in "iuf":
        raise InputError(
            f"{name}: gives {shown(found.tolist())} at general coordinates; return real numbers"
        )
    if found.size not in sizes:
        wanted = " or ".join(map(str, sizes))
        raise InputError(
            f"{name}: gives {found.size} numbers, not {wanted}; correct the function or "
            "the coordinates"
        )
