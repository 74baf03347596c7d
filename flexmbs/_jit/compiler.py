"""What compiles: dispatchers of Numba for kernels and parts, C functions of user functions.
Importing it imports numba.

See `flexmbs._jit`, whose kernels are made here when they are called and not on the disk.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import config, event
from numba.core.registry import cpu_target
from numba.extending import register_jitable, typeof_impl

from flexmbs._jit import (
    CACHE,
    COMPILED,
    PACKAGES,
    WITHIN,
    Intrinsic,
    Lazy,
    intrinsics,
    is_jitted,
    sources_unchanged,
)
from flexmbs._jit.indices import count_from_the_front
from flexmbs._jit.kept_parts import kept_on_disk
from flexmbs._jit.loading import without_compiler
from flexmbs._jit.parts import WithoutCollection, compilers, without_literals

# compilers of parts, and of kernels that run seldom
PARTS, LIGHT = compilers(CACHE) if COMPILED else (None, None)
# a b + c is rounded once where the processor can: a sixth of the time of a rigid recursion; nothing
# is reordered
FUSED = {"contract"}

if COMPILED:
    count_from_the_front()
    event.register("numba:compile", WithoutCollection())


class _OwnFolder:
    """Numba's cache folder is this version's as long as a thread compiles here: the first one to
    begin sets it, the last one to end sets it back. usable: whether the sources were those of the
    folder then."""

    def __init__(self) -> None:
        self.lock, self.count, self.other, self.usable = threading.Lock(), 0, "", False

    def change(self, by: int) -> None:
        """One thread more or less."""
        with self.lock:
            if self.count == 0:
                self.other, self.usable = config.CACHE_DIR, sources_unchanged()  # type: ignore[attr-defined]
            self.count += by
            config.CACHE_DIR = CACHE or "" if self.count else self.other  # type: ignore[attr-defined]


_own_folder = _OwnFolder()


@contextlib.contextmanager
def keeping(keep: bool) -> Iterator[bool]:
    """Numba's cache folder is this version's; gives whether what is compiled here is kept there."""
    _own_folder.change(1)
    try:
        yield keep and _own_folder.usable
    finally:
        _own_folder.change(-1)


def cached(function: Callable[..., Any], *, lightly: bool = False) -> Any:
    """Numba's njit with the cache in this version's folder; ``lightly``: with the compiler of
    kernels that run seldom.
    """
    options = {"pipeline_class": LIGHT} if lightly and LIGHT is not None else {}
    with keeping(True) as cache:
        compiled = numba.njit(cache=cache, error_model="numpy", nogil=True, **options)(function)
    return without_literals(without_compiler(compiled))


def part(function: Callable[..., Any], *, own: bool, inline: bool) -> Any:
    """The dispatcher of a part; of functions of others it is not kept on disk."""
    if PARTS is None:
        return cached(function)
    options = {"_nrt": False, "pipeline_class": PARTS, "fastmath": FUSED, "forceinline": inline}
    made = without_literals(numba.njit(error_model="numpy", nogil=True, **options)(function))
    own = (
        own
        and function.__module__.split(".")[0] in PACKAGES
        and "<locals>" not in function.__qualname__
    )
    return kept_on_disk(made, f"{CACHE}/parts", PARTS) if own and _own_folder.usable else made


@typeof_impl.register(Lazy)
def _type_of_lazy(each: Lazy, context: Any) -> Any:
    return typeof_impl(each.dispatcher, context)


@typeof_impl.register(Intrinsic)
def _type_of_intrinsic(each: Intrinsic, context: Any) -> Any:
    return cpu_target.typing_context.resolve_value_type(getattr(intrinsics, each.name))


def compiled_callback(body: Callable[..., Any], n_in: int, n_out: int) -> tuple[int, Any]:
    """See `flexmbs._jit.compiled_callback`."""
    inner = numba.njit(body)

    @numba.cfunc(types.int64(types.CPointer(types.float64), types.CPointer(types.float64)))
    def wrapper(x, out):  # type: ignore[no-untyped-def]
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
    """A user-defined function, or one around it, compiled for this run only."""
    while WITHIN:
        register_jitable(WITHIN.pop())
    compiled: Callable[..., Any] = numba.njit(function)
    return compiled
