"""Paths of files that a user gives."""

import os
import pathlib
from typing import Any

from flexmbs.errors import InputError


def file_path(value: Any, what: str = "path") -> pathlib.Path:
    """The path of a file or folder: a text that is not empty, or an object with one. Raises
    InputError.
    """
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(given, str) or not given or "\0" in given:
        raise InputError(f"{what}: must be a file path, not {value!r:.60}")
    return pathlib.Path(given)
