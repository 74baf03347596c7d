"""Machine code of kernels from the disk, without Numba: half a second less in each process that
compiles nothing.

A file holds the symbol of the C function, the names that its code takes from elsewhere, and the
object file that Numba made. What these names mean is looked up when it is saved and again before it
is loaded, since LLVM ends a process that lacks one. A kernel does not raise exceptions: Numba's
helpers for them, in each C function, are replaced by `_raised`.
"""

import contextlib
import ctypes
import functools
import hashlib
import os
import pathlib
import platform
import sys
import tempfile
from typing import Any, NamedTuple

FOLDER = "code"
HELPERS = (  # of Numba, for exceptions
    "numba_gil_ensure",
    "numba_gil_release",
    "numba_do_raise",
    "numba_unpickle",
    "numba_runtime_build_excinfo_struct",
)
DIGEST = 32  # bytes


class Code(NamedTuple):
    """Machine code in memory: its address, and what keeps it there."""

    address: int
    engine: Any


def place(folder: str, name: str, layouts: tuple[Any, ...]) -> pathlib.Path:
    """The file of a kernel for records of these layouts, on this kind of processor."""
    text = f"{name} {[text_of(each) for each in layouts]} {_machine()}"
    return pathlib.Path(folder, FOLDER, hashlib.sha256(text.encode()).hexdigest()[:32])


def text_of(found: Any) -> str:
    """A layout as text."""
    items = getattr(found, "items", None)
    if items is None:
        return getattr(found, "__name__", None) or "".join(map(str, found))
    return f"{found.kind.__qualname__}({','.join(map(text_of, items))})"


@functools.cache
def _machine() -> str:
    """What machine code depends on beside its sources."""
    import llvmlite
    from llvmlite import binding

    chosen = (
        os.environ.get("NUMBA_CPU_NAME"),
        os.environ.get("NUMBA_CPU_FEATURES"),
        os.environ.get("NUMBA_OPT"),
    )
    versions = platform.python_version(), llvmlite.__version__
    return (
        f"{versions} {chosen} {binding.get_host_cpu_name()} "
        f"{binding.get_host_cpu_features().flatten()}"
    )


def load(file: pathlib.Path | None) -> Code | None:
    """The machine code in a file; None where there is none, or it is damaged or needs what is not
    there.
    """
    try:
        content = file.read_bytes() if file else b""
    except OSError:
        return None
    digest, rest = content[:DIGEST], content[DIGEST:]
    if len(digest) < DIGEST or hashlib.sha256(rest).digest() != digest:
        return None
    head, _, code = rest.partition(b"\n")
    symbol, *names = head.decode().split()
    return _loaded(symbol, code) if _known(names) else None


def _loaded(symbol: str, code: bytes) -> Code:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    for name in HELPERS:
        if binding.address_of_symbol(name) is None:
            binding.add_symbol(name, ctypes.cast(_raised, ctypes.c_void_p).value)
    module = binding.parse_assembly(f'target triple = "{binding.get_process_triple()}"')
    machine = binding.Target.from_triple(module.triple).create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(module, machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Code(int(engine.get_function_address(symbol)), engine)


def save(file: pathlib.Path | None, made: Any) -> None:
    """The machine code of a C function that Numba compiled here, where `load` would find all that
    it needs. Of one from Numba's own files, which has neither object file nor names any more,
    nothing is kept: Numba loads it again."""
    with contextlib.suppress(OSError, AttributeError):  # a full disk; another Numba
        if made.cache_hits:
            return
        library = made._library
        module = library._final_module
        used = [
            each.name
            for each in (*module.functions, *module.global_variables)
            if each.is_declaration
        ]
        names = [name for name in used if not name.startswith("llvm.")]
        if file is None or library.has_dynamic_globals or not _known(names):
            return
        content = (
            " ".join([made._wrapper_name, *names]).encode() + b"\n" + library._get_compiled_object()
        )
        file.parent.mkdir(mode=0o700, exist_ok=True)
        number, name = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(number, "wb") as out:
            out.write(hashlib.sha256(content).digest() + content)
        os.replace(name, file)


def _known(names: list[str]) -> bool:
    """Whether this process has all these names, or `load` gives them."""
    if sys.platform == "win32":
        return False
    process = ctypes.CDLL(None)
    return all(name in HELPERS or hasattr(process, name) for name in names)


@ctypes.CFUNCTYPE(None)
def _raised() -> None:
    """A kernel raised an exception, which none does: better no result than a wrong one."""
    print(
        "flexmbs: a compiled kernel raised an exception; run again with "
        "NUMBA_DISABLE_JIT=1 and report it",
        file=sys.stderr,
    )
    os.abort()
