"""Object files of compiled kernels on the disk, loaded without importing Numba.

Loading a kernel this way saves the import of Numba, half a second in each process that compiles
nothing. A file holds a digest of its content, the symbol of the C function, the external symbols
that its code needs, and the object file that Numba made. The symbols are looked up before the code
is saved and before it is loaded, since LLVM ends a process that lacks one.

Where this is not possible, as on Windows or for code that needs a symbol of another library, the
kernel is kept in Numba's own files (`flexmbs._jit.numba_cache`).
"""

import contextlib
import ctypes
import functools
import hashlib
import os
import pathlib
import sys
import tempfile
import threading
import time
from typing import Any, NamedTuple

from flexmbs._jit.record_layout import layout_text

FOLDER = "code"
DIGEST = 32  # bytes of a SHA-256
FAILED = "flexmbs_kernel_failed"  # symbol of the function that reports an exception in a kernel
SUPPORTED = sys.platform != "win32"  # symbols are looked up by dlsym
MOST = 5000  # files in a folder, about 100 MB; `flexmbs warmup` makes about 2000 parts of kernels
RECENT = 86_400.0  # s: a file used later than this is never removed to make room


class Code(NamedTuple):
    """Machine code in memory: its address, and the object that keeps it there."""

    address: int
    engine: Any


def place(folder: str, name: str, layouts: tuple[Any, ...]) -> pathlib.Path:
    """Path of the object file of a kernel for records of these layouts, on this kind of processor.

    name: with the fingerprint of its code.
    """
    text = f"{name} {[layout_text(each) for each in layouts]} {_processor()}"
    return pathlib.Path(folder, FOLDER, hashlib.sha256(text.encode()).hexdigest()[:32])


@functools.cache
def _processor() -> str:
    """Text of the processor and its features, for which machine code is made."""
    from llvmlite import binding

    names = "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT", "NUMBA_BOUNDSCHECK"
    chosen = [os.environ.get(name) for name in names]
    return f"{chosen} {binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"


def load(file: pathlib.Path | None) -> Code | None:
    """Machine code from a cache file; None if it is missing, damaged or lacks a symbol."""
    try:
        content = file.read_bytes() if file else b""
    except OSError:
        return None
    digest, rest = content[:DIGEST], content[DIGEST:]
    if len(digest) < DIGEST or hashlib.sha256(rest).digest() != digest:
        return None
    head, _, code = rest.partition(b"\n")
    symbol, *names = head.decode().split()
    return _loaded(symbol, code) if _symbols_defined(names) else None


def _loaded(symbol: str, code: bytes) -> Code:
    """Link cached object code into the process; address of ``symbol``, with its engine."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    define_failed()
    module = binding.parse_assembly(f'target triple = "{binding.get_process_triple()}"')
    machine = binding.Target.from_triple(module.triple).create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(module, machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Code(int(engine.get_function_address(symbol)), engine)


def save(file: pathlib.Path | None, symbol: str, library: Any) -> bool:
    """Write the machine code of a library that Numba compiled in this process.

    Returns False if `load` would not find all that it needs, or it cannot be written.
    """
    with contextlib.suppress(OSError, AttributeError):  # a full disk; another layout of Numba's
        module = library._final_module
        used = [
            each.name
            for each in (*module.functions, *module.global_variables)
            if each.is_declaration
        ]
        names = [name for name in used if not name.startswith("llvm.")]
        if file is None or library.has_dynamic_globals or not _symbols_defined(names):
            return False
        content = " ".join([symbol, *names]).encode() + b"\n" + library._get_compiled_object()
        write(file, hashlib.sha256(content).digest() + content)
        return True
    return False


def write(file: pathlib.Path, content: bytes) -> None:
    """Write a file atomically.

    file: named by a digest.  The least recently used files are removed if there are too many.
    """
    file.parent.mkdir(mode=0o700, exist_ok=True)
    number, name = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(number, "wb") as out:
        out.write(content)
    os.replace(name, file)
    if file.name.startswith("0"):  # one digest in sixteen: listing the folder takes a millisecond
        _remove_unused(file.parent)


def _remove_unused(folder: pathlib.Path) -> None:
    """Remove the least recently used half of the cache files if there are too many.

    Files used recently stay.
    """
    with os.scandir(folder) as entries:
        files = [each for each in entries if each.is_file()]
    if len(files) <= MOST:
        return
    used = {each.path: max(each.stat().st_atime, each.stat().st_mtime) for each in files}
    for path in sorted(used, key=used.__getitem__)[: len(used) // 2]:
        if used[path] < time.time() - RECENT:
            os.unlink(path)


def _symbols_defined(names: list[str]) -> bool:
    """True if all these symbols are defined in this process."""
    if not SUPPORTED:
        return False
    process = ctypes.CDLL(None)
    return all(name == FAILED or hasattr(process, name) for name in names)


failures: set[int] = set()  # threads in which a kernel raised an exception


@ctypes.CFUNCTYPE(None)
def _failed() -> None:
    """Record that a kernel in the calling thread failed."""
    failures.add(threading.get_ident())


@functools.cache
def define_failed() -> None:
    """Define the symbol that compiled code calls when a kernel raised an exception."""
    from llvmlite import binding

    binding.add_symbol(FAILED, ctypes.cast(_failed, ctypes.c_void_p).value)


def checked(result: Any, function: Any, arguments: Any) -> Any:
    """Result of a kernel call. Raises `RuntimeError` if a kernel failed in it.

    For `errcheck` of functions of ctypes.
    """
    if failures and threading.get_ident() in failures:
        failures.remove(threading.get_ident())
        raise RuntimeError(
            "a compiled kernel raised an exception; set NUMBA_DISABLE_JIT=1 to see which one"
        )
    return result
