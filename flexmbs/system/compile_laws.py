"""Laws → flat records."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from flexmbs._jit import is_jitted
from flexmbs.errors import InputError, shown
from flexmbs.model.laws import (
    Constant,
    Function,
    Ramp,
    Sine,
    SmoothStep,
    Table,
    TimeLaw,
    function_state,
)
from flexmbs.system.callbacks import (
    FRAME_ARGUMENTS,
    Callbacks,
    joints_spread,
    loaded_spread,
    sampled_spread,
    wrench_spread,
)
from flexmbs.system.records import (
    LAW_CONSTANT,
    LAW_FUNCTION,
    LAW_RAMP,
    LAW_SINE,
    LAW_SMOOTH,
    LAW_TABLE,
    Laws,
)

Constants = tuple[float, ...]

# value of all arguments except t when a function is examined: special for no function
GENERAL = 0.37
MORE = 64  # additional parameters, to detect a function that reads beyond the declared ones


def _table(law: Table) -> list[float]:
    """Parameters of a table: number of times, times, polynomial coefficients."""
    return [float(len(law.times)), *law.times, *law.coefficients().T.ravel()]


PARAMETERS: dict[type[TimeLaw], tuple[int, Callable[[Any], list[float]]]] = {
    Constant: (LAW_CONSTANT, lambda law: [law.value]),
    Ramp: (LAW_RAMP, lambda law: [law.value0, law.rate, law.start, law.end]),
    SmoothStep: (LAW_SMOOTH, lambda law: [law.value, law.start, law.duration, law.initial]),
    Sine: (LAW_SINE, lambda law: [law.amplitude, law.frequency, law.phase, law.offset]),
    Table: (LAW_TABLE, _table),
}


def _time_body(function: Callable[..., Any], x: np.ndarray) -> tuple[float, ...]:
    """Value, rate and acceleration of a user function of time."""
    return function_state(function, float(x[0]))


def _force_body(function: Callable[..., Any], x: np.ndarray) -> Any:
    """Force of a user function (t, x, ẋ)."""
    return (function(*x.tolist()),)


def _loaded_body(function: Callable[..., Any], x: np.ndarray) -> Any:
    """Friction force of a user function (t, q, q̇, loads)."""
    return (function(*x[:3].tolist(), x[3:].copy()),)


def _joints_body(function: Callable[..., Any], x: np.ndarray) -> Any:
    """Joint forces of a user function (t, q, q̇)."""
    given = x.copy()  # what the function may keep or change
    n = len(x) // 2
    return function(float(given[0]), given[1 : 1 + n], given[1 + n :])


def _sampled_body(function: Callable[..., Any], x: np.ndarray) -> Any:
    """Output and memory of a discrete controller. Raises `InputError`."""
    result = function(x[3:].copy(), *x[:3].tolist())
    try:
        output, memory = result
        return output, *memory
    except (TypeError, ValueError):
        raise InputError(f"gives {shown(result)}; return (output, memory)") from None


def _wrench_body(function: Callable[..., Any], x: np.ndarray) -> Any:
    """Force and torque of a user function of frame motion and reactions."""
    given = x.copy()  # what the function may keep or change
    reactions = [given[FRAME_ARGUMENTS:].reshape(-1, 6)] if len(given) > FRAME_ARGUMENTS else []
    return function(
        float(given[0]), given[1:4], given[4:13], given[13:16], given[16:19], *reactions
    )


def _with_constants(body: Callable[..., Any], n: int) -> Callable[..., Any]:
    """Body that passes the numbers after the first n as last argument of the function."""

    def extended(function: Callable[..., Any], x: np.ndarray) -> Any:
        """The body with the constant parameters as last argument of the function."""
        return body(lambda *arguments: function(*arguments, x[n:].copy()), x[:n])

    return extended


def _check_bounds(
    name: str, function: Callable[..., Any], body: Callable[..., Any], x: np.ndarray
) -> None:
    """Raise `InputError` if a Numba function reads beyond its parameter array.

    Numba does not check bounds. Such a function raises an IndexError in Python, but not if there
    are more parameters.
    """
    if not is_jitted(function):
        return
    plain = function.py_func  # type: ignore[attr-defined]
    if _reads_beyond(plain, body, x) and not _reads_beyond(
        plain, body, np.concatenate([x, np.zeros(MORE)])
    ):
        raise InputError(
            f"{name}: its function reads beyond its parameters; give more of them, or "
            "correct the function"
        )


def _reads_beyond(function: Callable[..., Any], body: Callable[..., Any], x: np.ndarray) -> bool:
    """True if a call raises an IndexError.

    Other exceptions only mean that the function is not defined there.
    """
    try:
        body(function, x)
    except IndexError:
        return True
    except (Exception, SystemExit):
        return False
    return False


class LawTable:
    """Table that numbers laws as they are encountered and collects their parameters."""

    def __init__(self, callbacks: Callbacks, length: float = 1.0) -> None:
        """Empty table of laws."""
        self.callbacks, self.length = callbacks, length
        self.kind: list[int] = []
        self.values: list[float] = []
        self.at = [0]
        self.addresses: list[int] = []
        self.places = itertools.count()
        self.corners: set[float] = set()  # times of corners, at which steps must end

    def place(self) -> int:
        """Next free index among the kernels of relations, forces and contacts."""
        return next(self.places)

    def number(self, name: str, law: TimeLaw) -> int:
        """Add a law of time; its number."""
        self.corners.update(law.corners())
        if isinstance(law, Function):
            return self._add(
                LAW_FUNCTION,
                [],
                self.callbacks.address(name, law.function, _time_body, 3, 3, given=1),
            )
        for kind, (code, parameters) in PARAMETERS.items():
            if isinstance(law, kind):
                return self._add(code, parameters(law), 0)
        raise InputError(f"{name}: a law of kind '{law.kind}' is not known to the equations")

    def force(self, name: str, function: Callable[..., Any]) -> int:
        """Add a user-defined force law f(t, x, v); its number."""
        return self._add(
            LAW_FUNCTION, [], self.callbacks.address(name, function, _force_body, 3, 1)
        )

    def loaded(self, name: str, function: Callable[..., Any], constants: Constants = ()) -> int:
        """Add a user-defined friction law f(t, x, v, loads); its number."""
        return self._function(
            name, function, _loaded_body, (7, 1), loaded_spread(function, len(constants)), constants
        )

    def joints(
        self, name: str, function: Callable[..., Any], n: int, constants: Constants = ()
    ) -> int:
        """Add a user function f(t, x, v) → n forces on joint coordinates; its number."""
        spread = joints_spread(function, n, len(constants))
        return self._function(name, function, _joints_body, (1 + 2 * n, n), spread, constants)

    def sampled(
        self, name: str, function: Callable[..., Any], memory: int, constants: Constants = ()
    ) -> int:
        """Add a discrete controller f(memory, t, x, v) → (output, memory); its number."""
        spread = sampled_spread(function, memory, len(constants))
        return self._function(
            name, function, _sampled_body, (3 + memory, 1 + memory), spread, constants
        )

    def wrench(
        self, name: str, function: Callable[..., Any], readings: int = 0, constants: Constants = ()
    ) -> int:
        """Add a user-defined force and torque f(t, r, A, v, ω); its number.

        With n ``readings`` it is f(t, r, A, v, ω, reactions (n, 6)).
        """
        spread = wrench_spread(function, readings, len(constants))
        return self._function(
            name, function, _wrench_body, (FRAME_ARGUMENTS + 6 * readings, 6), spread, constants
        )

    def _function(
        self,
        name: str,
        function: Callable[..., Any],
        body: Callable[..., Any],
        sizes: tuple[int, int],
        spread: Any,
        constants: Constants,
    ) -> int:
        """Add a user function with ``sizes`` (arguments, results); its number.

        constants: passed after the other arguments.
        """
        n_in, n_out = sizes
        if constants:
            body = _with_constants(body, n_in)
            _check_bounds(
                name, function, body, np.array([0.0, *[GENERAL] * (n_in - 1), *constants])
            )
        address = self.callbacks.address(name, function, body, n_in + len(constants), n_out, spread)
        return self._add(LAW_FUNCTION, list(constants), address)

    def pose(self, address: int) -> int:
        """Add a user function of a relative pose by its address; its number."""
        return self._add(LAW_FUNCTION, [], address)

    def _add(self, code: int, parameters: list[float], address: int) -> int:
        """Append a law with code, parameters and address; its number."""
        self.kind.append(code)
        self.values += parameters
        self.at.append(len(self.values))
        self.addresses.append(address)
        return len(self.kind) - 1

    def record(self) -> Laws:
        """Flat record of all laws."""
        kind, at, address = (
            np.array(each, np.int64) for each in (self.kind, self.at, self.addresses)
        )
        return Laws(kind, at, address, np.array([*self.values, 0.0]), np.array([self.length]))
