"""Numba's on-disk cache of kernels, with files named by fingerprints.

Numba names a cache file by the file and line of a function and does not see edits of the functions
that it calls. Here the name contains the fingerprint of the kernel's code.

Before Numba loads a function from its cache, it sets up its compiler and parses the bitcode stored
beside the machine code: 0.2 s in each process and 50 ms a kernel, which only compilation needs. A
kernel found here is loaded without. If another one is compiled later, Numba sets up the compiler
itself, and the bitcode of a kernel that it links is parsed then.

The classes extend private ones of Numba's. `keep_on_disk` leaves a kernel without a cache where
they differ, and `KernelCache.load_overload` calls Numba's own method where loading fails.
"""

import contextlib
import pathlib
from typing import Any

import llvmlite.binding
from numba.core import caching, sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.runtime import rtsys

from flexmbs._jit import may_be_kept
from flexmbs._jit.by_reference import fields_of_types


class LoadedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Machine code from the disk, with bitcode for kernels that link it."""

    _bitcode = b""

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != "object":
            return super()._unserialize(codegen, state)
        library = codegen.create_library(name)
        code, library._bitcode = data
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._finalize_final_module()
        return library

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None and self._bitcode:
            self._shared_module = llvmlite.binding.parse_bitcode(self._bitcode)
            self._codegen._engine._load_defined_symbols(self._shared_module)
        return super()._get_module_for_linking()

    def get_pointer_to_function(self, name: str) -> int:
        """Address of a function, 0 if there is none."""
        self._ensure_finalized()
        return int(self._codegen._engine.get_function_address(name))


class _Place:
    """Locator of Numba's cache files: a folder, and the fingerprint as part of the names."""

    def __init__(self, folder: str, key: str, file: str) -> None:
        self._folder, self._key, self._py_file = folder, key, file

    def ensure_cache_path(self) -> None:
        pathlib.Path(self._folder).mkdir(mode=0o700, exist_ok=True)

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return self._key

    def get_disambiguator(self) -> str:
        return self._key


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, in files named by the fingerprint of its code."""

    def __init__(self, function: Any, folder: str, key: str) -> None:
        place = _Place(folder, key, function.__code__.co_filename)

        class Files(caching.CompileResultCacheImpl):  # type: ignore[misc]
            def __init__(self, function: Any) -> None:
                self._lineno, self._locator = function.__code__.co_firstlineno, place
                self._filename_base = self.get_filename_base(function.__qualname__, "")

        self._impl_class = Files
        super().__init__(function)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        arguments, _ = sigutils.normalize_signature(sig)
        return *super()._index_key(sig, codegen), fields_of_types(arguments)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled function to its file if it is that of the fingerprint."""
        if may_be_kept(self._py_func, self._impl.locator.get_source_stamp()):
            super().save_overload(sig, data)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for a signature, without setting up the compiler; None if there is
        none.
        """
        try:
            codegen = target_context.codegen()
            usual = codegen._library_class
            rtsys.initialize(target_context)  # the symbols of reference counts
            codegen._library_class = LoadedLibrary
            try:
                return self._load_overload(sig, target_context)
            finally:
                codegen._library_class = usual
        except Exception:  # Numba's own method reports what went wrong
            return super().load_overload(sig, target_context)


def keep_on_disk(dispatcher: Any, folder: str, key: str | None) -> None:
    """Give a dispatcher of Numba's the cache of its fingerprint ``key``, if it has one."""
    if key is not None:
        with contextlib.suppress(AttributeError, TypeError):  # another layout of Numba's classes
            dispatcher._cache = KernelCache(dispatcher.py_func, folder, key)
