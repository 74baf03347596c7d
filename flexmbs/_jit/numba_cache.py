"""Numba's on-disk cache of kernels, with files named by fingerprints.

Numba names a cache file by the file and line of a function and does not see edits of the functions
that it calls. Here the name contains the fingerprint of the kernel's code.

The classes extend private ones of Numba's. `keep_on_disk` leaves a kernel without a cache where
they differ.
"""

import contextlib
import pathlib
from collections.abc import Callable
from typing import Any

from numba.core import caching, sigutils

from flexmbs._jit import may_be_kept
from flexmbs._jit.by_reference import fields_of_types


class _Place:
    """Locator of Numba's cache files: a folder, and the key as part of the names."""

    def __init__(self, folder: str, key: str, file: str) -> None:
        self._folder, self._key, self._py_file = folder, key, file

    def ensure_cache_path(self) -> None:
        """Create the cache folder, readable only by the user."""
        pathlib.Path(self._folder).mkdir(mode=0o700, exist_ok=True)

    def get_cache_path(self) -> str:
        """Folder of the cache files."""
        return self._folder

    def get_source_stamp(self) -> str:
        """Key in place of the time stamp of the source file."""
        return self._key

    def get_disambiguator(self) -> str:
        """Key that distinguishes functions of equal name."""
        return self._key


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, in files named by a key.

    valid: called before code is written; True if it is the code of the key.
    """

    def __init__(self, function: Any, folder: str, key: str, valid: Callable[[], bool]) -> None:
        """Numba cache of a kernel in ``folder``, with files named by ``key``."""
        self._valid = valid
        place = _Place(folder, key, function.__code__.co_filename)

        class Files(caching.CompileResultCacheImpl):  # type: ignore[misc]
            def __init__(self, function: Any) -> None:
                self._lineno, self._locator = function.__code__.co_firstlineno, place
                self._filename_base = self.get_filename_base(function.__qualname__, "")

        self._impl_class = Files
        super().__init__(function)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Key of Numba, extended by the fields of the record types of the arguments."""
        arguments, _ = sigutils.normalize_signature(sig)
        return *super()._index_key(sig, codegen), fields_of_types(arguments)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write compiled code to its cache file unless the function has changed."""
        if self._valid():
            super().save_overload(sig, data)


def keep_on_disk(dispatcher: Any, folder: str, key: str | None) -> None:
    """Attach the cache with this fingerprint ``key`` to a Numba dispatcher."""
    function = dispatcher.py_func
    if key is not None:
        with contextlib.suppress(AttributeError, TypeError):  # another layout of Numba's classes
            dispatcher._cache = KernelCache(
                function, folder, key, lambda: may_be_kept(function, key)
            )
