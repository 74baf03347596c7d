"""Compiled kernels from the disk without the compiler.

Before Numba loads a function from its cache it registers all that its compiler knows, 0.2 s in each process, though only
compiling needs that. A kernel found on the disk is loaded without; for one that is not, the compiler registers it all itself.
"""

from typing import Any

from numba.core.runtime import rtsys


def without_compiler(dispatcher: Any) -> Any:
    """The same dispatcher, which loads from the disk without setting up the compiler, where this version of Numba allows it."""
    cache = dispatcher._cache
    find, whole = getattr(cache, "_load_overload", None), cache.load_overload

    def load_overload(signature: Any, context: Any) -> Any:
        try:
            rtsys.initialize(context)  # the symbols of reference counts
            return find(signature, context)  # type: ignore[misc]
        except Exception:  # what went wrong, Numba's own way tells
            return whole(signature, context)

    if find is not None:
        cache.load_overload = load_overload
    return dispatcher
