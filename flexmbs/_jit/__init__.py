"""The `kernel` and `part` decorators: the only package that imports numba.

Numba's own on-disk cache is keyed by the file of a function, not by the files of the functions it calls, so an edit in
another file would silently run old machine code. Here the cache folder is named by a digest of every source file of both
packages: an edit anywhere gives a fresh folder. Where no folder is this user's alone, kernels are compiled in each process.
``NUMBA_DISABLE_JIT=1`` runs every kernel as plain Python, with the same numbers.
"""

import contextlib
import ctypes
import functools
import hashlib
import os
import pathlib
import shutil
import threading
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config, event
from numba.extending import intrinsic, register_jitable, typeof_impl

from flexmbs._jit.cache import private_folder
from flexmbs._jit.indices import count_from_the_front
from flexmbs._jit.kept_parts import kept_on_disk
from flexmbs._jit.loading import without_compiler
from flexmbs._jit.parts import WithoutCollection, compilers, without_literals
from flexmbs.law_kernel import LawPart

F = TypeVar("F", bound=Callable[..., Any])

COMPILED = not config.DISABLE_JIT  # type: ignore[attr-defined]
PACKAGES = ("flexmbs", "preprocess")
_MARKS = b"flexmbs._jit", b"flexmbs.law_kernel"  # what a file with kernels imports
_KEPT_FOLDERS = 4


def _source_digest() -> str:
    """Digest of all kernel sources and of the compiler's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    root = pathlib.Path(__file__).resolve().parents[2]
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            text = path.read_bytes()
            if any(mark in text for mark in _MARKS) or path.parent.name == "_jit":
                digest.update(str(path.relative_to(root)).encode())
                digest.update(text)
    return digest.hexdigest()[:16]


def _cache_folder() -> str | None:
    """``<base>/flexmbs-kernels/<digest>``, this user's alone, in the first fit of NUMBA_CACHE_DIR, XDG_CACHE_HOME, ~/.cache."""
    bases = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME"), os.path.expanduser("~/.cache")
    for base in bases:
        if not base or base.startswith("~"):  # no home
            continue
        folder = private_folder(pathlib.Path(base), "flexmbs-kernels", _source_digest())
        if folder is not None:
            _drop_old(folder)
            return str(folder)
    return None


def _drop_old(current: pathlib.Path) -> None:
    """Remove all but the most recent folders of earlier source versions."""
    os.utime(current)
    folders = sorted((p for p in current.parent.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime, reverse=True)
    for folder in folders[_KEPT_FOLDERS:]:
        shutil.rmtree(folder, ignore_errors=True)


CACHE = _cache_folder() if COMPILED else None


_PARTS, _SELDOM = compilers(CACHE) if COMPILED else (None, None)
LIGHT = _SELDOM  # the compiler of kernels that run seldom
if COMPILED:
    count_from_the_front()
    event.register("numba:compile", WithoutCollection())


def kernel(function: F) -> F:
    """A function of numbers, tuples and records of arrays, compiled once and cached on disk."""
    return _cached(function)


def seldom(function: F) -> F:
    """A kernel of arrays that runs a few times: optimised lightly, in half the compile time."""
    return _cached(function) if LIGHT is None else _cached(function, pipeline_class=LIGHT)


# a b + c is rounded once where the processor can: a sixth of the time of a rigid recursion; nothing is reordered
FUSED = {"contract"}


def part(function: F, *, own: bool = True) -> F:
    """A function for use inside kernels only: put into each kernel that calls it (see `parts`).

    It may not make arrays: compiled without reference counts, which halves the time of short evaluations.
    ``own``: of functions of these packages alone, whose sources the cache's digest sees; else it is not kept on disk.
    """
    return _part(function, own, forceinline=True)


def called(function: F) -> F:
    """A part that stays a function of its own in the kernel: a long one that an evaluation calls once.

    The time to compile a function grows faster than its length.
    """
    return _part(function, True, forceinline=False)


class Part:
    """A part whose dispatcher is made when a kernel that calls it is compiled: with all kernels from the cache, never."""

    def __init__(self, function: Callable[..., Any], own: bool, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.own, self.options = function, own, options

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's."""
        made = without_literals(numba.njit(error_model="numpy", nogil=True, **self.options)(self.py_func))
        return kept_on_disk(made, f"{CACHE}/parts", _PARTS) if self.own and CACHE else made

    def __call__(self, *given: Any) -> Any:
        return self.dispatcher(*given)


@typeof_impl.register(Part)
def _type_of_part(each: Part, context: Any) -> Any:
    return typeof_impl(each.dispatcher, context)


def _part(function: F, own: bool, **options: Any) -> F:
    if not COMPILED:
        return function
    if _PARTS is None:
        return kernel(function)
    own = own and function.__module__.split(".")[0] in PACKAGES and "<locals>" not in function.__qualname__
    return Part(function, own, {"_nrt": False, "pipeline_class": _PARTS, "fastmath": FUSED, **options})  # type: ignore[return-value]


def rebound(function: Callable[..., Any], name: str, parts: dict[str, Callable[..., Any]]) -> Any:
    """The function under another name, with global names bound to ``parts``."""
    twin = python_types.FunctionType(function.__code__, {**function.__globals__, **parts}, name, function.__defaults__)
    twin.__qualname__, twin.__module__, twin.__doc__ = name, function.__module__, function.__doc__
    return twin


@functools.cache
def as_part(function: Callable[..., Any]) -> Any:
    """A plain function, with the `LawPart` that it calls, as part of kernels."""
    plain = function.function if isinstance(function, LawPart) else function
    named = {name: plain.__globals__.get(name) for name in plain.__code__.co_names}
    parts = {name: as_part(value) for name, value in named.items() if isinstance(value, LawPart)}
    return part(rebound(plain, plain.__name__, parts))


class _OwnFolder:
    """Numba's cache folder is this version's as long as a thread compiles here: the first one to begin sets it, the last one to
    end sets it back."""

    def __init__(self) -> None:
        self.lock, self.count, self.other = threading.Lock(), 0, ""

    def change(self, by: int) -> None:
        """One thread more or less."""
        with self.lock:
            if self.count == 0:
                self.other = config.CACHE_DIR  # type: ignore[attr-defined]
            self.count += by
            config.CACHE_DIR = CACHE or "" if self.count else self.other  # type: ignore[attr-defined]


_own_folder = _OwnFolder()


@contextlib.contextmanager
def keeping(keep: bool) -> Iterator[bool]:
    """Numba's cache folder is this version's; gives whether what is compiled here is kept there."""
    _own_folder.change(1)
    try:
        yield keep and CACHE is not None
    finally:
        _own_folder.change(-1)


def _cached(function: F, **options: Any) -> F:
    """Numba's njit with the cache in this version's folder."""
    if not COMPILED:
        return function
    with keeping(True) as cache:
        compiled = numba.njit(cache=cache, error_model="numpy", nogil=True, **options)(function)
    return without_literals(without_compiler(compiled))  # type: ignore[no-any-return]


_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

if COMPILED:

    @intrinsic
    def call_address(_context, address, x, out):  # type: ignore[no-untyped-def]
        """Call ``void f(double *x, double *out)`` at an integer address; the caller stays cacheable."""
        signature = types.void(types.int64, x, out)

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            pointer = ir.DoubleType().as_pointer()
            function = ir.FunctionType(ir.VoidType(), [pointer, pointer])
            target = builder.inttoptr(arguments[0], function.as_pointer())
            data = [
                builder.bitcast(context.make_array(signature.args[k])(context, builder, arguments[k]).data, pointer)
                for k in (1, 2)
            ]
            builder.call(target, data)
            return context.get_dummy_value()

        return signature, generate

else:

    def call_address(address: int, x: np.ndarray, out: np.ndarray) -> None:  # type: ignore[misc]
        """Interpreted twin of the compiled call."""
        _CALL(int(address))(x.ctypes.data, out.ctypes.data)


def compiled_callback(body: Callable[..., Any], n_in: int, n_out: int) -> tuple[int, Any] | None:
    """Address of the C function ``long f(double *x, double *out)`` of a ``body(x, out)``, and what keeps its machine code alive,
    which is not the body; None where nothing is compiled. It gives 0 where the body raises nothing and the results are finite.
    """
    if not COMPILED:
        return None
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
    environments = [result.environment for dispatcher in dispatchers for result in dispatcher.overloads.values()]
    made: Any = wrapper
    return int(made.address), (made._library, environments)


def jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user-defined function, or one around it, compiled by Numba for this run only."""
    compiled: Callable[..., Any] = numba.njit(function)
    return compiled


def within_jitted(function: F) -> F:
    """A function of Python that user functions call in compiled form too."""
    made: F = register_jitable(function)
    return made


def is_jitted(function: object) -> bool:
    """True for a function already decorated with Numba's njit."""
    return isinstance(function, numba.core.dispatcher.Dispatcher)
