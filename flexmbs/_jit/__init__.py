"""The `kernel` and `part` decorators.

Numba is imported in this package only, and only when something is compiled.

Kernels that are called by address are loaded from the disk without Numba
(`flexmbs._jit.object_cache`); others are compiled by `flexmbs._jit.compiler` when they are called.

Compiled code on the disk is identified by the fingerprint of its source code and of everything that
it uses (`flexmbs._jit.fingerprints`). Its folder is named by a digest of the files of this package
and the versions of Python, NumPy and the compiler. If no folder belongs to this user alone, kernels
are compiled in each process. ``NUMBA_DISABLE_JIT=1`` runs every kernel as plain Python, with the
same numbers. Measurements and reasons: docs/dev/compilation.md.
"""

import ctypes
import functools
import hashlib
import importlib.metadata
import os
import pathlib
import platform
import sys
import types as python_types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from flexmbs._jit.cache import drop_old, private_folder
from flexmbs._jit.fingerprints import fingerprint
from flexmbs.law_kernel import LawPart

F = TypeVar("F", bound=Callable[..., Any])


def _compiled() -> bool:
    """True if kernels are compiled: unless NUMBA_DISABLE_JIT is an integer other than 0."""
    try:
        return int(os.environ.get("NUMBA_DISABLE_JIT", "0")) == 0
    except ValueError:  # as for Numba, which warns
        return True


COMPILED = _compiled()
_HERE = pathlib.Path(__file__).resolve().parent


def compiler_digest(folder: pathlib.Path = _HERE) -> str:
    """Digest of the files of this package and the versions of the packages that it uses.

    Empty if there are no source files, as in a program without them.
    """
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite")]
    digest = hashlib.sha256(f"{platform.python_version()} {versions} {np.__version__}".encode())
    paths = sorted(folder.glob("*.py"))
    for path in paths:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16] if paths else ""


def _cache_folder(digest: str) -> str | None:
    """Folder ``<base>/flexmbs-kernels/<digest>`` of compiled kernels, private to the user.

    The first base of NUMBA_CACHE_DIR, XDG_CACHE_HOME and ~/.cache that allows it.
    """
    bases = (
        os.environ.get("NUMBA_CACHE_DIR"),
        os.environ.get("XDG_CACHE_HOME"),
        os.path.expanduser("~/.cache"),
    )
    for base in bases if digest else ():
        if not base or base.startswith("~"):  # no home
            continue
        folder = private_folder(pathlib.Path(base), "flexmbs-kernels", digest)
        if folder is not None:
            drop_old(folder)
            return str(folder)
    return None


CACHE = _cache_folder(compiler_digest()) if COMPILED else None


def compiler_unchanged() -> bool:
    """True if the source files of this package have not changed since import.

    Modules are imported when they are needed, hence a process that began before an edit may compile
    with edited ones.
    """
    return CACHE is not None and pathlib.Path(CACHE).name == compiler_digest()


def may_be_kept(function: Callable[..., Any], key: str | None) -> bool:
    """True if a function still has the fingerprint ``key`` that names its cache file.

    The fingerprint is computed again: a global may have been replaced since the first time.
    """
    return key is not None and fingerprint(function, {}) == key and compiler_unchanged()


class Lazy:
    """Kernel whose dispatcher is made at its first call, or when a caller is compiled."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.options = function, options

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's dispatcher."""
        return _compiler().cached(self.py_func, **self.options)

    def __call__(self, *given: Any) -> Any:
        return self.dispatcher(*given)


class Part(Lazy):
    """Part of kernels; if all kernels come from the disk, its dispatcher is never made."""

    @functools.cached_property
    def dispatcher(self) -> Any:
        return _compiler().part(self.py_func, **self.options)


class Intrinsic:
    """Function with another form in compiled code: `flexmbs._jit.intrinsics`, same name."""

    def __init__(self, twin: Callable[..., Any]) -> None:
        self.name, self.function, self.__doc__ = twin.__name__, twin, twin.__doc__


def _compiler() -> Any:
    """Module `compiler`, imported on demand since it imports Numba."""
    from flexmbs._jit import compiler

    return compiler


def kernel(function: F) -> F:
    """Decorate a function of numbers, tuples and records of arrays: compiled once, kept on disk."""
    return Lazy(function) if COMPILED else function  # type: ignore[return-value]


def seldom(function: F) -> F:
    """Decorate a kernel that runs a few times: lightly optimised, in half the compile time."""
    return Lazy(function, lightly=True) if COMPILED else function  # type: ignore[return-value]


def part(function: F) -> F:
    """Decorate a function for use inside kernels only: inlined into each kernel that calls it.

    It may not make arrays: it is compiled without reference counts, which halves the time of short
    evaluations.
    """
    return Part(function, inline=True) if COMPILED else function  # type: ignore[return-value]


def called(function: F) -> F:
    """Decorate a long function called from kernels: compiled as a function, not inlined.

    The time to compile a function grows faster than its length.
    """
    return Part(function, inline=False) if COMPILED else function  # type: ignore[return-value]


def intrinsic(twin: F) -> F:
    """Decorate an interpreted function that has a twin of the same name in `intrinsics`."""
    return Intrinsic(twin) if COMPILED else twin  # type: ignore[return-value]


def rebound(function: Callable[..., Any], name: str, parts: dict[str, Callable[..., Any]]) -> Any:
    """Copy of a function under another name, with global names bound to ``parts``."""
    twin = python_types.FunctionType(
        function.__code__, {**function.__globals__, **parts}, name, function.__defaults__
    )
    twin.__qualname__, twin.__module__, twin.__doc__ = name, function.__module__, function.__doc__
    return twin


@functools.cache
def as_part(function: Callable[..., Any]) -> Any:
    """User law as part of kernels, together with the `LawPart` that it calls."""
    plain = function.function if isinstance(function, LawPart) else function
    named = {name: plain.__globals__.get(name) for name in plain.__code__.co_names}
    parts = {name: as_part(value) for name, value in named.items() if isinstance(value, LawPart)}
    return part(rebound(plain, plain.__name__, parts))


_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


@intrinsic
def call_address(address: int, x: np.ndarray, out: np.ndarray) -> None:
    """Call ``void f(double *x, double *out)`` at an integer address; the caller stays cacheable."""
    _CALL(int(address))(x.ctypes.data, out.ctypes.data)


def compiled_callback(body: Callable[..., Any], n_in: int, n_out: int) -> tuple[int, Any] | None:
    """Compile a ``body(x, out)`` to a C function ``long f(double *x, double *out)``.

    Returns its address and an object that keeps its machine code alive, which is not the body; None
    if nothing is compiled. The function returns 0 if the body raises nothing and all results are
    finite.
    """
    found = _compiler().compiled_callback(body, n_in, n_out) if COMPILED else None
    return found  # type: ignore[no-any-return]


def jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a user-defined function by Numba for this run only."""
    return _compiler().jitted(function)  # type: ignore[no-any-return]


# functions of Python that compiled user functions may call
WITHIN: list[Callable[..., Any]] = []


def within_jitted(function: F) -> F:
    """Decorate a Python function that compiled user functions may call."""
    WITHIN.append(function)
    return function


def is_jitted(function: object) -> bool:
    """True for a function that is decorated with Numba's njit."""
    dispatcher = sys.modules.get("numba.core.dispatcher")
    return dispatcher is not None and isinstance(function, dispatcher.Dispatcher)
