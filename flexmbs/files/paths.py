"""File paths given by the user."""

import os
import pathlib
from typing import Any

from flexmbs.errors import InputError


def file_path(value: Any, what: str = "path") -> pathlib.Path:
    """Path of a file or folder from a non-empty string or a path-like object. Raises InputError."""
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(given, str) or not given or "\0" in given:
        raise InputError(f"{what}: must be a file path, not {value!r:.60}")
    return pathlib.Path(given)


def open_without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
