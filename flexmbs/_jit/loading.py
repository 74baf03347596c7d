"""Compiled kernels from the disk without the compiler.

Before Numba loads a function from its cache it registers all that its compiler knows, and it parses
the bitcode that stands beside the machine code: 0.2 s in each process and 50 ms a kernel, which
only compiling needs. A kernel found on the disk is loaded without; where another one is to be
compiled, Numba does the first itself, and the bitcode of a kernel that it links is parsed then.

This reaches into Numba; where its internals differ, kernels are loaded in its own way.
"""

from typing import Any

import llvmlite.binding
from numba.core.codegen import JITCodeLibrary
from numba.core.runtime import rtsys


class LoadedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Machine code from the disk, with bitcode for those that link it."""

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
        """Address of a function, 0 where there is none."""
        self._ensure_finalized()
        return int(self._codegen._engine.get_function_address(name))


def without_compiler(dispatcher: Any) -> Any:
    """The same dispatcher, which loads from the disk without setting up the compiler, where this
    version of Numba allows it.
    """
    cache = dispatcher._cache
    find, whole = getattr(cache, "_load_overload", None), cache.load_overload

    def load_overload(signature: Any, context: Any) -> Any:
        try:
            codegen = context.codegen()
            kept = codegen._library_class
            rtsys.initialize(context)  # the symbols of reference counts
            codegen._library_class = LoadedLibrary
            try:
                return find(signature, context)  # type: ignore[misc]
            finally:
                codegen._library_class = kept
        except Exception:  # Numba's own way reports what went wrong
            return whole(signature, context)

    if find is not None:
        cache.load_overload = load_overload
    return dispatcher
