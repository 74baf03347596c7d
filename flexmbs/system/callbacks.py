"""User functions behind the C signature ``void f(double *x, double *out)``.

The compiled loop calls them by address. A function compiled by the user with Numba costs about 15
ns a call, any other Python function about 1 µs plus its body. The C function of a Numba function is
compiled once per process and stored as an attribute of the function.

An exception in a user function is stored and its results become NaN, which stops the loop; the
exception is then raised again. If results are not finite, the function and its arguments are stored
for the message.
"""

import contextlib
import ctypes
import itertools
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from flexmbs._jit import COMPILED, compiled_callback, is_jitted
from flexmbs.console.interrupts import ENDING, at_border
from flexmbs.errors import InputError, SolverError, shown

if COMPILED:
    from flexmbs._jit.trampolines import reported

SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


SLOW_CALL = 1e-3  # s
TIMED_CALLS = 4
RECORDED_CALLS = frozenset({2, 5, 20, 100, 1000, 10_000})
FRAME_ARGUMENTS = 19  # t, r, A, v, ω of a frame
POSE_ARGUMENTS = 13  # t, x, A of a relative pose
KEPT = "_flexmbs_callbacks"  # attribute of a Numba function


class Call(NamedTuple):
    """One call of a user function: the item it belongs to, its time, the call as text."""

    item: str
    t: float
    text: str


class Recorded(NamedTuple):
    """Recorded call of a function.

    again: repeats the call. text: the call as text. values: its result.
    """

    again: Callable[[], Any]
    text: str
    values: np.ndarray


class Callbacks:
    """User functions of one compiled model.

    It keeps the functions alive and holds the first exception.
    """

    def __init__(self) -> None:
        """Empty registry of the user functions of a model."""
        self.kept: list[Any] = []
        self.error: BaseException | None = None
        self.where: Call | None = None  # the last call that raised or returned a non-finite number
        self.in_python = 0  # number of functions that are not compiled
        self.slow: dict[str, float] = {}  # seconds per call, of slow functions only
        self.recorded: dict[str, list[Recorded]] = {}  # some calls of each Python function

    def __deepcopy__(self, _: object) -> "Callbacks":
        return self  # copies of records hold the addresses of the same functions

    def __getstate__(self) -> dict[str, Any]:
        if self.kept:
            raise InputError(
                "results of a model with user functions are not pickled; save them, "
                "solution.save('run.h5')"
            )
        return self.__dict__

    def address(
        self,
        name: str,
        function: Callable[..., Any],
        body: Callable[..., Any],
        n_in: int,
        n_out: int,
        spread: Any = None,
        *,
        given: int | None = None,
    ) -> int:
        """Address of a C function that evaluates ``function``.

        body: ``body(function, x)`` returns the n_out results from the n_in arguments x. spread: the
        form of ``function`` that Numba compiles. given: number of leading arguments that the
        function takes, by default all.
        """
        given = n_in if given is None else given
        if is_jitted(function):
            checked = _checked(
                function, spread or _compilable_body(function, n_in, n_out), n_in, n_out
            )
            if checked is not None:
                report = self._keep(self._python(name, function.py_func, body, n_in, n_out, given))  # type: ignore[attr-defined]
                address, alive = reported(checked[0], report)
                self.kept += [checked, alive]
                return address
            function = function.py_func  # type: ignore[attr-defined]
        self.in_python += 1
        return self._keep(self._timed(name, self._python(name, function, body, n_in, n_out, given)))

    @contextlib.contextmanager
    def interrupts_kept(self) -> Iterator[None]:
        """Context in which an interrupt is stored as the error and does not stop the loop.

        Python drops an interrupt that is raised at the boundary of a C callback.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        given = {number: signal.getsignal(number) for number in ENDING}
        given = {number: handler for number, handler in given.items() if callable(handler)}

        def keep(number: int, frame: Any) -> None:
            """Signal handler that records an interrupt until the compiled code returns."""
            self.error = self.error or KeyboardInterrupt()
            with (
                contextlib.suppress(KeyboardInterrupt)
                if at_border(frame)
                else contextlib.nullcontext()
            ):
                given[signal.Signals(number)](number, frame)  # type: ignore[operator,misc]

        for number in given:
            signal.signal(number, keep)
        try:
            yield
        finally:
            for number, handler in given.items():
                signal.signal(number, handler)

    def raise_error(self, solution: object = None) -> None:
        """Raise the first exception of a user function again, with its traceback and the time.

        ``solution`` is attached to it. Exceptions that would end Python silently, such as
        `SystemExit`, become a `SolverError`.
        """
        if self.error is None:
            return
        error, where = self.error, self.where
        self.error = None
        place = "" if where is None else f"in the function of {where.item} at t = {where.t:.6g} s"
        if not isinstance(error, (Exception, KeyboardInterrupt)):
            text = (
                f"{type(error).__name__} ({shown(str(error))}) {place}; let it raise an "
                "exception to stop the run"
            )
            raise SolverError(text, solution) from error
        if place:
            error.add_note(place)
        if solution is not None:
            # some exceptions do not accept attributes
            with contextlib.suppress(AttributeError, TypeError):
                error.solution = solution  # type: ignore[union-attr]
        raise error

    def changed(self) -> dict[str, tuple[float, str]]:
        """(largest relative change, call) of functions whose values differ when called again.

        By name, the largest change relative to the largest value, and the call.
        """
        found: dict[str, tuple[float, str]] = {}
        for name, calls in self.recorded.items():
            largest = max((float(np.abs(call.values).max()) for call in calls), default=0.0)
            for call in calls:
                with contextlib.suppress(Exception):  # other checks report exceptions
                    change = float(np.abs(np.array(call.again(), float) - call.values).max()) / max(
                        largest, 1e-300
                    )
                    if change > found.get(name, (0.0, ""))[0]:
                        found[name] = (change, call.text)
        return found

    def slow_notes(self) -> list[str]:
        """A line for each function that slows the run down."""
        remedy = "compile it with numba.njit, or give a table"
        return [
            f"the function of {name} takes {1e3 * seconds:.3g} ms a call; {remedy}"
            for name, seconds in self.slow.items()
        ]

    def _keep(self, call: Callable[[int, int], None]) -> int:
        """Address of a ctypes callback for ``call``, which is kept alive."""
        wrapper = SIGNATURE(call)
        self.kept.append(wrapper)
        address = ctypes.cast(wrapper, ctypes.c_void_p).value
        assert address is not None
        return address

    def _python(
        self,
        name: str,
        function: Callable[..., Any],
        body: Callable[..., Any],
        n_in: int,
        n_out: int,
        n_given: int,
    ) -> Callable[[int, int], None]:
        """C callback (x, out) of a Python function, which records errors and measures time."""
        count = itertools.count(1)
        recorded = self.recorded.setdefault(name, [])
        views: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        places, ones = range(n_out), np.ones(n_given)

        def view(x: int, out: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """Arrays that view the memory at two addresses, cached."""
            a = np.ctypeslib.as_array(ctypes.cast(x, ctypes.POINTER(ctypes.c_double)), (n_in,))
            b = np.ctypeslib.as_array(ctypes.cast(out, ctypes.POINTER(ctypes.c_double)), (n_out,))
            views[x, out] = (a, b, a[:n_given])
            return views[x, out]

        def lost(a: np.ndarray, b: np.ndarray, error: BaseException | None) -> None:
            """Record the failed call of the user function with its arguments and error."""
            if error is not None:
                b[:] = math.nan
                self.error = error
            self.where = Call(name, float(a[0]), _text(function, a[:n_given], n_out))

        def call(x: int, out: int) -> None:
            """Evaluate the function; NaN after an error or for arguments that are not finite."""
            a, b, arguments = views.get((x, out)) or view(x, out)
            # a diverged trial step is not the fault of the function: it only gets finite
            # arguments
            if self.error is not None or not math.isfinite(arguments.dot(ones)):
                b[:] = math.nan
                return
            try:
                values = body(function, a)
                total = 0.0
                try:
                    if len(values) != n_out:
                        raise IndexError
                    for k in places:
                        b[k] = value = float(values[k])
                        total += value
                except (TypeError, ValueError, IndexError):
                    raise InputError(_no_numbers(values, n_out)) from None
            except InputError as error:
                lost(a, b, InputError(f"{name}: its function {error}"))
                return
            except OverflowError:
                # v**3 of a diverged trial step: inf in NumPy and Numba, an exception in Python
                b[:] = total = math.inf
            except BaseException as error:
                # raised again after the loop: exceptions do not pass through C callers
                lost(a, b, error)
                return
            if total - total != 0.0:  # infinite or not a number
                lost(a, b, None)
            elif next(count) in RECORDED_CALLS:
                given = a.copy()
                recorded.append(
                    Recorded(
                        lambda: body(function, given),
                        _text(function, given[:n_given], n_out),
                        b.copy(),
                    )
                )

        return call

    def _timed(self, name: str, call: Callable[[int, int], None]) -> Callable[[int, int], None]:
        """Wrap a call so that its first calls are timed.

        The least time is stored if it exceeds `SLOW_CALL`.
        """
        seconds: list[float] = []

        def timed(x: int, out: int) -> None:
            """Call the function and record it as slow by its first calls."""
            if len(seconds) == TIMED_CALLS:
                call(x, out)
                return
            started = time.perf_counter()
            call(x, out)
            seconds.append(time.perf_counter() - started)
            if len(seconds) == TIMED_CALLS and min(seconds) > SLOW_CALL:
                self.slow[name] = min(seconds)

        return timed


def _checked(
    function: Any, spread: Callable[..., Any], n_in: int, n_out: int
) -> tuple[int, Any] | None:
    """(address, code) of the C function of a Numba function; None if it does not compile.

    spread: the form of the function that is compiled. It is compiled again if Numba has recompiled
    the function.
    """
    from numba.core.errors import NumbaError

    numbers = (cell.cell_contents for cell in spread.__closure__ or ())
    form = (
        spread.__code__,
        n_in,
        n_out,
        *(number for number in numbers if isinstance(number, int)),
    )
    kept = function.__dict__.setdefault(KEPT, {})  # machine code; does not keep the function alive
    if form in kept:
        made, of = kept[form]
        if all(
            any(library is result.library for result in function.overloads.values())
            for library in of
        ):
            return cast(tuple[int, Any] | None, made)
    try:
        made = compiled_callback(spread, n_in, n_out)
    except NumbaError:
        # its results are not numbers of one type: Python converts them or reports it
        made = None
    kept[form] = made, [result.library for result in function.overloads.values()]
    return made


def _no_numbers(values: Any, n: int) -> str:
    """Description of a result that is not n numbers."""
    if isinstance(values, tuple) and len(values) == n == 1:  # the result of a scalar function
        return f"gives {shown(values[0])}; return a number"
    there = (
        f"{len(values)} numbers"
        if isinstance(values, (tuple, list, np.ndarray)) and len(values) != n
        else shown(values)
    )
    return f"gives {there}; return {n} numbers"


def _text(function: Callable[..., Any], x: np.ndarray, n_out: int) -> str:
    """Text of a call with its first arguments for messages."""
    place = n_out == 6 or len(x) in (FRAME_ARGUMENTS, POSE_ARGUMENTS)
    names = ("t", "x", "y", "z") if place else ("t", "x", "v")
    shown = ", ".join(f"{key} = {value:.6g}" for key, value in zip(names, x))
    return f"{getattr(function, '__name__', 'function')}({shown})"


# Forms ``body(x, out)`` of user functions for Numba. Parameters are passed as an array after the
# other arguments, so that the function is compiled once for all their values. Numba does not check
# bounds: results of another length raise, and the Python form reports them.


def loaded_spread(function: Callable[..., Any], constants: int = 0) -> Callable[..., Any]:
    """Compilable ``body(x, out)`` of a user friction law with the four joint loads."""
    parametric = constants > 0

    def loaded(x: Any, out: Any) -> None:
        """out ← friction force of the function (t, q, q̇, loads)."""
        if parametric:
            out[0] = function(x[0], x[1], x[2], x[3:7].copy(), x[7:].copy())
        else:
            out[0] = function(x[0], x[1], x[2], x[3:7].copy())

    return loaded


def joints_spread(function: Callable[..., Any], n: int, constants: int = 0) -> Callable[..., Any]:
    """Compilable ``body(x, out)`` of user forces on n joint coordinates."""
    parametric = constants > 0

    def joints(x: Any, out: Any) -> None:
        """out ← joint forces of the function (t, q, q̇)."""
        position, velocity = x[1 : 1 + n].copy(), x[1 + n : 1 + 2 * n].copy()
        if parametric:
            result = function(x[0], position, velocity, x[1 + 2 * n :].copy())
        else:
            result = function(x[0], position, velocity)
        if len(result) != n:
            raise ValueError
        for a in range(n):
            out[a] = result[a]

    return joints


def wrench_spread(
    function: Callable[..., Any], readings: int = 0, constants: int = 0
) -> Callable[..., Any]:
    """Compilable ``body(x, out)`` of a user force and torque, with the reactions read."""
    end, reading, parametric = FRAME_ARGUMENTS + 6 * readings, readings > 0, constants > 0

    def wrench(x: Any, out: Any) -> None:
        """out ← force and torque of the function of frame motion and reactions."""
        if reading:
            reactions = x[FRAME_ARGUMENTS:end].copy().reshape(-1, 6)
            if parametric:
                result = function(
                    x[0], x[1:4], x[4:13], x[13:16], x[16:19], reactions, x[end:].copy()
                )
            else:
                result = function(x[0], x[1:4], x[4:13], x[13:16], x[16:19], reactions)
        elif parametric:
            result = function(x[0], x[1:4], x[4:13], x[13:16], x[16:19], x[end:].copy())
        else:
            result = function(x[0], x[1:4], x[4:13], x[13:16], x[16:19])
        if len(result) != 6:
            raise ValueError
        for a in range(6):
            out[a] = result[a]

    return wrench


def sampled_spread(function: Callable[..., Any], n: int, constants: int = 0) -> Callable[..., Any]:
    """Compilable ``body(x, out)`` of a user discrete controller with n stored numbers."""
    parametric = constants > 0

    def sampled(x: Any, out: Any) -> None:
        """out ← output and new memory of a discrete controller."""
        if parametric:
            output, memory = function(x[3 : 3 + n].copy(), x[0], x[1], x[2], x[3 + n :].copy())
        else:
            output, memory = function(x[3:].copy(), x[0], x[1], x[2])
        if len(memory) != n:
            raise ValueError
        out[0] = output
        for a in range(n):
            out[1 + a] = memory[a]

    return sampled


def _compilable_body(function: Callable[..., Any], n_in: int, n_out: int) -> Callable[..., Any]:
    """Compilable ``body(x, out)`` that calls a user function with unpacked arguments."""
    if n_in == FRAME_ARGUMENTS and n_out == 1:

        def scalar(x: Any, out: Any) -> None:
            """out ← number of the function of time and frame motion."""
            out[0] = function(x[0], x[1:4], x[4:13], x[13:16], x[16:19])

        return scalar
    if n_out == 6:
        return wrench_spread(function)
    if n_out == 3:
        if isinstance(function.py_func(0.0), tuple):  # type: ignore[attr-defined]

            def motion(x: Any, out: Any) -> None:
                """out ← value, rate and acceleration of the function of time."""
                out[0], out[1], out[2] = function(x[0])

            return motion

        def value(x: Any, out: Any) -> None:
            """out ← value of the function of time, with rates by central differences."""
            t = x[0]
            h = 1e-4 * max(1.0, abs(t))
            before = function(t - h)
            now = function(t)
            after = function(t + h)
            out[0] = now
            out[1] = (after - before) / (2.0 * h)
            out[2] = (after - 2.0 * now + before) / (h * h)

        return value

    def force(x: Any, out: Any) -> None:
        """out ← force of the function (t, x, ẋ)."""
        out[0] = function(x[0], x[1], x[2])

    return force
