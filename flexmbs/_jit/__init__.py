"""The `kernel` and `part` decorators: the only package that imports numba.

Numba's own on-disk cache is keyed by the file of a function, not by the files of the functions it calls, so an edit in
another file would silently run old machine code. Here the cache folder is named by a digest of every source file of both
packages: an edit anywhere gives a fresh folder. Where no folder is this user's alone, kernels compile anew in each process.
``NUMBA_DISABLE_JIT=1`` runs every kernel as plain Python, with the same numbers.
"""

import ctypes
import hashlib
import os
import pathlib
import shutil
import types as python_types
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config, event
from numba.extending import intrinsic

from flexmbs._jit.cache import private_folder
from flexmbs._jit.parts import WithoutCollection, compilers, without_literals

F = TypeVar("F", bound=Callable[..., Any])

COMPILED = not config.DISABLE_JIT  # type: ignore[attr-defined]
_PACKAGES = ("flexmbs", "preprocess")
_KEPT_FOLDERS = 4


def _source_digest() -> str:
    """Digest of all kernel sources and of the compiler's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    root = pathlib.Path(__file__).resolve().parents[2]
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            text = path.read_bytes()
            if b"flexmbs._jit import" in text or path.parent.name == "_jit":
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
if COMPILED:
    event.register("numba:compile", WithoutCollection())


def kernel(function: F) -> F:
    """A function of numbers, tuples and records of arrays, compiled once and cached on disk."""
    return _cached(function)


def seldom(function: F) -> F:
    """A kernel that runs a few times per simulation: optimised lightly, in half the compile time."""
    return _cached(function) if _SELDOM is None else _cached(function, pipeline_class=_SELDOM)


def part(function: F) -> F:
    """A function for use inside kernels only: compiled into each kernel that calls it (see `parts`).

    It may not make arrays: compiled without reference counts, which halves the time of short evaluations.
    """
    return _part(function)


def inlined(function: F) -> F:
    """A part whose code is put into its caller: a call would copy the hundreds of values of the records that it receives."""
    return _part(function, forceinline=True)


def _part(function: F, **options: Any) -> F:
    if not COMPILED:
        return function
    if _PARTS is None:
        return kernel(function)
    options |= {"_nrt": False, "pipeline_class": _PARTS}
    return without_literals(numba.njit(error_model="numpy", nogil=True, **options)(function))  # type: ignore[no-any-return]


def bound(function: Callable[..., Any], name: str, *, lightly: bool = False, **parts: Callable[..., Any]) -> Any:
    """A kernel from a plain function whose global names are bound to ``parts``: one time loop serves every formalism.

    ``name`` tells the kernels of one function apart on disk; kernels of parts from outside the package, which the cache's
    digest does not see, are not cached. ``lightly``: optimised as a `seldom` kernel.
    """
    own = all(part.__module__.split(".")[0] in _PACKAGES for part in (function, *parts.values()))
    options: dict[str, Any] = {"_nrt": False}
    if lightly and _SELDOM is not None:
        options["pipeline_class"] = _SELDOM
    return _cached(_rebound(function, f"{function.__name__}_{name}", parts), keep=own, **options)


def bound_part(function: Callable[..., Any], **parts: Callable[..., Any]) -> Any:
    """A part from a plain function whose global names are bound to ``parts``."""
    outside = [part for part in parts.values() if part.__module__.split(".")[0] not in _PACKAGES]
    twin = _rebound(function, function.__name__, parts)
    twin.__module__ = outside[0].__module__ if outside else function.__module__
    return part(twin)


def _rebound(function: Callable[..., Any], name: str, parts: dict[str, Callable[..., Any]]) -> Any:
    twin = python_types.FunctionType(function.__code__, {**function.__globals__, **parts}, name, function.__defaults__)
    twin.__qualname__, twin.__module__, twin.__doc__ = name, function.__module__, function.__doc__
    return twin


def _cached(function: F, *, keep: bool = True, **options: Any) -> F:
    """Numba's njit with the cache in this version's folder."""
    if not COMPILED:
        return function
    kept = config.CACHE_DIR  # type: ignore[attr-defined]
    try:
        config.CACHE_DIR = CACHE or ""  # type: ignore[attr-defined]
        compiled = numba.njit(cache=keep and CACHE is not None, error_model="numpy", nogil=True, **options)(function)
    finally:
        config.CACHE_DIR = kept  # type: ignore[attr-defined]
    return without_literals(compiled)  # type: ignore[no-any-return]


_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

if COMPILED:

    @intrinsic
    def call_address(typing_context, address, x, out):  # type: ignore[no-untyped-def]
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


def compiled_callback(body: Callable[..., Any], n_in: int, n_out: int, report: int) -> Any | None:
    """C function of a Numba-compiled ``body(x, out)``, or None where Numba cannot compile it.

    Where the body raises or a result is not finite, ``void report(double *x, double *out)`` at that address is called.
    """
    if not COMPILED:
        return None
    inner = numba.njit(body)

    @numba.cfunc(types.void(types.CPointer(types.float64), types.CPointer(types.float64)))
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
        if total != 0.0:
            call_address(report, arguments, results)

    return wrapper


def jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the user's, or one around it, compiled by Numba for this run only."""
    compiled: Callable[..., Any] = numba.njit(function)
    return compiled


def is_jitted(function: object) -> bool:
    """True for a function already decorated with Numba's njit."""
    return isinstance(function, numba.core.dispatcher.Dispatcher)
