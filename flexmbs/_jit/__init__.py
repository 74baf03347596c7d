"""The `kernel` and `part` decorators: the only package that imports numba, and only where something
is compiled.

Kernels that are called by address are loaded from the disk without it
(`flexmbs._jit.machine_code`), others are compiled by `flexmbs._jit.compiler` when they are called.

Numba's own on-disk cache is keyed by the file of a function, not by the files of the functions it
calls, so an edit in another file would silently run old machine code. Here the cache folder is
named by a digest of all sources of kernels in both packages, which are the files that name this
package: an edit of one gives a fresh folder. A file that defines only constants or records of
kernels says so in its docstring (`tests/test_kernel_sources.py`). Where no folder is this user's
alone, kernels are compiled in each process. ``NUMBA_DISABLE_JIT=1`` runs every kernel as plain
Python, with the same numbers.
"""

import ctypes
import functools
import hashlib
import importlib.metadata
import os
import pathlib
import shutil
import sys
import types as python_types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from flexmbs._jit.cache import private_folder
from flexmbs.law_kernel import LawPart

F = TypeVar("F", bound=Callable[..., Any])


def _compiled() -> bool:
    """Whether kernels are compiled: not with NUMBA_DISABLE_JIT, a number that is not 0."""
    try:
        return int(os.environ.get("NUMBA_DISABLE_JIT", "0")) == 0
    except ValueError:  # as for Numba, which warns
        return True


COMPILED = _compiled()
PACKAGES = ("flexmbs", "preprocess")
_MARKS = b"flexmbs._jit", b"flexmbs.law_kernel"  # what a file with kernels imports
_KEPT_FOLDERS = 4


_ROOT = pathlib.Path(__file__).resolve().parents[2]


def _in_digest(path: pathlib.Path, text: bytes) -> bool:
    """Whether a file is a source of kernels."""
    return path.parent.name == "_jit" or any(mark in text for mark in _MARKS)


def _folders(root: pathlib.Path) -> list[str]:
    """The folders of the packages."""
    found = [str(root / package) for package in PACKAGES]
    for folder in found:  # a third of the time of `os.walk`
        with os.scandir(folder) as entries:
            found += [each.path for each in entries if each.is_dir() and each.name != "__pycache__"]
    return found


class _Source(NamedTuple):
    """A source of kernels as it was read, and its time of change and size."""

    text: bytes
    state: tuple[int, int]


def _kernel_sources(folders: Iterable[str]) -> dict[str, _Source]:
    """The sources of kernels in some folders, by path."""
    found = {}
    for folder in folders:
        for name in os.listdir(folder):
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, "rb", buffering=0) as file:
                    source = _Source(file.read(), _state(os.fstat(file.fileno())))
                if _in_digest(pathlib.Path(path), source.text):
                    found[path] = source
    return found


def _state(status: os.stat_result) -> tuple[int, int]:
    return status.st_mtime_ns, status.st_size


def _states(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Times of change and sizes of files and of folders, which change with the names in them; zero
    for one that is gone.
    """
    found = {}
    for path in paths:
        try:
            found[path] = _state(os.stat(path))
        except OSError:
            found[path] = 0, 0
    return found


def _source_digest(root: pathlib.Path = _ROOT, sources: dict[str, _Source] | None = None) -> str:
    """Digest of all kernel sources and of the compiler's version; ``sources``: where they are
    known.
    """
    digest = hashlib.sha256(importlib.metadata.version("numba").encode())
    for path, source in sorted(
        (_kernel_sources(_folders(root)) if sources is None else sources).items()
    ):
        digest.update(os.path.relpath(path, root).encode())
        digest.update(source.text)
    return digest.hexdigest()[:16]


def _cache_folder(digest: str) -> str | None:
    """``<base>/flexmbs-kernels/<digest>``, this user's alone, in the first fit of NUMBA_CACHE_DIR,
    XDG_CACHE_HOME, ~/.cache.
    """
    bases = (
        os.environ.get("NUMBA_CACHE_DIR"),
        os.environ.get("XDG_CACHE_HOME"),
        os.path.expanduser("~/.cache"),
    )
    for base in bases:
        if not base or base.startswith("~"):  # no home
            continue
        folder = private_folder(pathlib.Path(base), "flexmbs-kernels", digest)
        if folder is not None:
            _drop_old(folder)
            return str(folder)
    return None


def _drop_old(current: pathlib.Path) -> None:
    """Remove all but the most recent folders of earlier source versions."""
    os.utime(current)
    folders = sorted(
        (p for p in current.parent.iterdir() if p.is_dir()),
        key=lambda p: p.stat().st_mtime,
        reverse=True,
    )
    for folder in folders[_KEPT_FOLDERS:]:
        shutil.rmtree(folder, ignore_errors=True)


def _read() -> tuple[str | None, dict[str, tuple[int, int]]]:
    """The folder of compiled kernels, and the states of their sources and of all folders when these
    were read.
    """
    folders = _folders(_ROOT)
    before = _states(folders)
    sources = _kernel_sources(folders)
    return _cache_folder(_source_digest(sources=sources)), before | {
        path: each.state for path, each in sources.items()
    }


CACHE, _READ = _read() if COMPILED else (None, {})


def sources_unchanged() -> bool:
    """Whether the sources are still those that name the folder: what a process that began before
    compiles of newer files would else be found there when the older ones are back."""
    return CACHE is not None and (
        _states(_READ) == _READ or pathlib.Path(CACHE).name == _source_digest()
    )


class Lazy:
    """A kernel whose dispatcher, Numba's, is made at its first call, or where a kernel that calls
    it is compiled.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.options = function, options

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's."""
        return _compiler().cached(self.py_func, **self.options)

    def __call__(self, *given: Any) -> Any:
        return self.dispatcher(*given)


class Part(Lazy):
    """A part; with all kernels from the cache, no dispatcher of one is ever made."""

    @functools.cached_property
    def dispatcher(self) -> Any:
        return _compiler().part(self.py_func, **self.options)


class Intrinsic:
    """What compiled code has under this name in `flexmbs._jit.intrinsics`."""

    def __init__(self, twin: Callable[..., Any]) -> None:
        self.name, self.__doc__ = twin.__name__, twin.__doc__


def _compiler() -> Any:
    """The module that imports numba."""
    from flexmbs._jit import compiler

    return compiler


def kernel(function: F) -> F:
    """A function of numbers, tuples and records of arrays, compiled once and cached on disk."""
    return Lazy(function) if COMPILED else function  # type: ignore[return-value]


def seldom(function: F) -> F:
    """A kernel of arrays that runs a few times: optimised lightly, in half the compile time."""
    return Lazy(function, lightly=True) if COMPILED else function  # type: ignore[return-value]


def part(function: F, *, own: bool = True) -> F:
    """A function for use inside kernels only: put into each kernel that calls it (see `parts`).

    It may not make arrays: compiled without reference counts, which halves the time of short
    evaluations. ``own``: of functions of these packages alone, whose sources the cache's digest
    sees; else it is not kept on disk.
    """
    return Part(function, own=own, inline=True) if COMPILED else function  # type: ignore[return-value]


def called(function: F) -> F:
    """A part that stays a function of its own in the kernel: a long one that an evaluation calls
    once.

    The time to compile a function grows faster than its length.
    """
    return Part(function, own=True, inline=False) if COMPILED else function  # type: ignore[return-value]


def intrinsic(twin: F) -> F:
    """A function of `flexmbs._jit.intrinsics` in compiled code; ``twin``: the interpreted one of
    the same name.
    """
    return Intrinsic(twin) if COMPILED else twin  # type: ignore[return-value]


def rebound(function: Callable[..., Any], name: str, parts: dict[str, Callable[..., Any]]) -> Any:
    """The function under another name, with global names bound to ``parts``."""
    twin = python_types.FunctionType(
        function.__code__, {**function.__globals__, **parts}, name, function.__defaults__
    )
    twin.__qualname__, twin.__module__, twin.__doc__ = name, function.__module__, function.__doc__
    return twin


@functools.cache
def as_part(function: Callable[..., Any]) -> Any:
    """A plain function, with the `LawPart` that it calls, as part of kernels."""
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
    """Address of the C function ``long f(double *x, double *out)`` of a ``body(x, out)``, and what
    keeps its machine code alive, which is not the body; None where nothing is compiled. It gives 0
    where the body raises nothing and the results are finite.
    """
    return _compiler().compiled_callback(body, n_in, n_out) if COMPILED else None  # type: ignore[no-any-return]


def jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user-defined function, or one around it, compiled by Numba for this run only."""
    return _compiler().jitted(function)  # type: ignore[no-any-return]


# functions of Python that user functions call in compiled form too
WITHIN: list[Callable[..., Any]] = []


def within_jitted(function: F) -> F:
    """A function of Python that user functions call in compiled form too."""
    WITHIN.append(function)
    return function


def is_jitted(function: object) -> bool:
    """True for a function already decorated with Numba's njit."""
    dispatcher = sys.modules.get("numba.core.dispatcher")
    return dispatcher is not None and isinstance(function, dispatcher.Dispatcher)
