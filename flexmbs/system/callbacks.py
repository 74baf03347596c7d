"""User functions behind one C signature ``void f(double *x, double *out)``, called by address from the compiled loop.

A function that the user compiled with Numba costs about 15 ns a call, any other Python function about 1 µs plus its body.
An exception in a Python function is kept, its results become NaN, the loop stops, and the exception is raised again.
"""

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from flexmbs._jit import compiled_callback, is_jitted

SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class Callbacks:
    """The user functions of one compiled model; keeps them alive and holds the first exception."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.error: BaseException | None = None
        self.where: tuple[str, float] | None = None

    def address(self, name: str, function: Callable[..., Any], body: Callable[..., Any], n_in: int, n_out: int) -> int:
        """Address of ``function``; ``body(function, x)`` returns its n_out results from the n_in arguments x."""
        if is_jitted(function):
            wrapper = compiled_callback(_spread(function, n_in, n_out), n_in, n_out)
            if wrapper is not None:
                self.kept.append(wrapper)
                return int(wrapper.address)
        return self._python(name, function, body, n_in, n_out)

    def raise_error(self) -> None:
        """Raise the first exception of a user function again, with its own traceback and the time."""
        if self.error is not None:
            error, where = self.error, self.where
            self.error = None
            if where is not None:
                error.add_note(f"in the function of {where[0]} at t = {where[1]:.6g} s")
            raise error

    def _python(self, name: str, function: Callable[..., Any], body: Callable[..., Any], n_in: int, n_out: int) -> int:
        views: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

        def view(x: int, out: int) -> tuple[np.ndarray, np.ndarray]:
            a = np.ctypeslib.as_array(ctypes.cast(x, ctypes.POINTER(ctypes.c_double)), (n_in,))
            b = np.ctypeslib.as_array(ctypes.cast(out, ctypes.POINTER(ctypes.c_double)), (n_out,))
            views[x, out] = (a, b)
            return a, b

        def call(x: int, out: int) -> None:
            a, b = views.get((x, out)) or view(x, out)
            if self.error is not None:
                b[:] = math.nan
                return
            try:
                b[:] = body(function, a)
            except BaseException as error:  # raised again after the loop; a C caller cannot carry it
                self.error = error
                self.where = (name, float(a[0]))
                b[:] = math.nan
                return
            if not np.isfinite(b).all():
                self.where = self.where or (name, float(a[0]))

        wrapper = SIGNATURE(call)
        self.kept.append(wrapper)
        address = ctypes.cast(wrapper, ctypes.c_void_p).value
        assert address is not None
        return address


def _spread(function: Callable[..., Any], n_in: int, n_out: int) -> Callable[..., Any]:
    """``body(x, out)`` in a form that Numba compiles, for the three shapes of user functions."""
    if n_out == 6:

        def wrench(x: Any, out: Any) -> None:
            result = function(x[0], x[1:4], x[4:13], x[13:16], x[16:19])
            for a in range(6):
                out[a] = result[a]

        return wrench
    if n_out == 3:
        if isinstance(function.py_func(0.0), tuple):  # type: ignore[attr-defined]

            def motion(x: Any, out: Any) -> None:
                out[0], out[1], out[2] = function(x[0])

            return motion

        def value(x: Any, out: Any) -> None:
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
        out[0] = function(x[0], x[1], x[2])

    return force
