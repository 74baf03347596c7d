"""Compilation of kernels, parts and user functions by Numba. Importing this module imports Numba.

The decorators of `flexmbs._jit` use it for kernels that are called and not on the disk.
"""

import gc
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import event
from numba.core.registry import cpu_target
from numba.extending import register_jitable, typeof_impl

from flexmbs._jit import CACHE, COMPILED, WITHIN, Intrinsic, Lazy, intrinsics, is_jitted
from flexmbs._jit.fingerprints import fingerprint
from flexmbs._jit.indices import count_from_the_front
from flexmbs._jit.pipeline_check import working_pipelines

keep_on_disk: Any
try:
    from flexmbs._jit.numba_cache import keep_on_disk
except (ImportError, AttributeError, TypeError):  # Numba's classes differ: compiled in each process
    keep_on_disk = None

# pipelines of parts, and of kernels that run seldom; None if Numba's classes differ
PARTS, LIGHT = working_pipelines(CACHE) if COMPILED else (None, None)
# a b + c is rounded once on processors that can: a sixth of the time of a rigid recursion; nothing
# is reordered
FUSED = {"contract"}


class WithoutCollection(event.Listener):
    """Listener that stops Python's garbage collector while Numba compiles.

    Numba makes millions of objects and little garbage; the collector takes a fifth of the time.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.was_enabled = False

    def on_start(self, event: Any) -> None:
        """Switch the garbage collection off when the outermost compilation starts."""
        if self.depth == 0:
            self.was_enabled = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """Restore the garbage collection when the outermost compilation ends."""
        self.depth -= 1
        if self.depth == 0 and self.was_enabled:
            gc.enable()


if COMPILED:
    count_from_the_front()
    event.register("numba:compile", WithoutCollection())


def without_literals(dispatcher: Any) -> Any:
    """Dispatcher that types literals as ``int64``, so that they share compiled code.

    Numba would compile a copy for each literal.
    """
    template = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        """Call template for the argument types without literal values."""
        plain = {key: types.unliteral(value) for key, value in kws.items()}
        return template(tuple(types.unliteral(arg) for arg in args), plain)

    dispatcher.get_call_template = get_call_template
    return dispatcher


def cached(function: Callable[..., Any], *, lightly: bool = False) -> Any:
    """Compile by Numba's njit, with a cache whose files are named by fingerprints.

    lightly: with the pipeline of kernels that run seldom.
    """
    options = {"pipeline_class": LIGHT} if lightly and LIGHT is not None else {}
    made = numba.njit(error_model="numpy", nogil=True, **options)(function)
    if CACHE is not None and keep_on_disk is not None:
        folder = f"{CACHE}/{'seldom' if options else 'kernels'}"
        keep_on_disk(made, folder, fingerprint(function))
    return without_literals(made)


def part(function: Callable[..., Any], *, inline: bool) -> Any:
    """Numba dispatcher of a part of kernels."""
    if PARTS is None:
        return cached(function)
    options = {"_nrt": False, "pipeline_class": PARTS, "fastmath": FUSED, "forceinline": inline}
    made = without_literals(numba.njit(error_model="numpy", nogil=True, **options)(function))
    if CACHE is None:
        return made
    from flexmbs._jit.bitcode_cache import parts_on_disk  # which the pipeline of parts needs too

    return parts_on_disk(made, f"{CACHE}/parts", PARTS)


@typeof_impl.register(Lazy)
def _type_of_lazy(each: Lazy, context: Any) -> Any:
    """Numba type of a lazily compiled function: that of its dispatcher."""
    return typeof_impl(each.dispatcher, context)


@typeof_impl.register(Intrinsic)
def _type_of_intrinsic(each: Intrinsic, context: Any) -> Any:
    """Numba type of an intrinsic, resolved by its name in `intrinsics`."""
    return cpu_target.typing_context.resolve_value_type(getattr(intrinsics, each.name))


def compiled_callback(body: Callable[..., Any], n_in: int, n_out: int) -> tuple[int, Any]:
    """Compile a ``body(x, out)`` to a C function (see `flexmbs._jit.compiled_callback`)."""
    inner = numba.njit(body)

    @numba.cfunc(types.int64(types.CPointer(types.float64), types.CPointer(types.float64)))
    def wrapper(x, out):  # type: ignore[no-untyped-def]
        """C callback out ← f(x); 1 if f raises or a result is not finite."""
        arguments = numba.carray(x, (n_in,))
        results = numba.carray(out, (n_out,))
        try:
            inner(arguments, results)
        except Exception:
            results[0] = np.nan
        total = 0.0
        for a in range(n_out):
            total += 0.0 * results[a]
        return int(total != 0.0)

    used = [cell.cell_contents for cell in body.__closure__ or ()]
    dispatchers = [inner, *(value for value in used if is_jitted(value))]
    environments = [
        result.environment for dispatcher in dispatchers for result in dispatcher.overloads.values()
    ]
    made: Any = wrapper
    return int(made.address), (made._library, environments)


def jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a user-defined function by Numba (see `flexmbs._jit.jitted`)."""
    while WITHIN:
        register_jitable(WITHIN.pop())
    compiled: Callable[..., Any] = numba.njit(function)
    return compiled
