"""What users give to the preprocessor: numbers, vectors, files; each is checked, and the message names it and what it is."""

from __future__ import annotations

import math
import numbers
import os
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.errors import InputError, shown
from flexmbs.flexible_body import FloatArray, IntArray


def is_number(value: object) -> bool:
    """Whether the value is one real number."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def number(value: Any, what: str) -> float:
    """One real number. Raises InputError."""
    if not is_number(value):
        raise InputError(f"{what}: must be a number, not {shown(value)}")
    return float(value)


def whole(value: Any, what: str) -> int:
    """One whole number. Raises InputError."""
    if not is_number(value) or not math.isfinite(value) or value != int(value):
        raise InputError(f"{what}: must be a whole number, not {shown(value)}")
    return int(value)


def floats(value: Any, what: str) -> FloatArray:
    """Array of finite real numbers. Raises InputError."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f"{what}: {shown(value)} is no array of numbers") from None
    if not np.isfinite(array).all():
        raise InputError(f"{what}: has {int(np.sum(~np.isfinite(array)))} values that are not finite")
    return np.asarray(array, dtype=float)


def vector(value: Any, what: str) -> FloatArray:
    """Three finite numbers (3,). Raises InputError."""
    array = floats(value, what)
    if array.shape != (3,):
        raise InputError(f"{what}: {shown(value)} is no vector; give three numbers")
    return array


def places(value: Any, what: str, count: int) -> IntArray:
    """Whole numbers 0 … count − 1, (n,). Raises InputError."""
    array = floats(value, what).ravel()
    bad = np.flatnonzero((array != np.floor(array)) | (array < 0) | (array >= count))
    if bad.size:
        raise InputError(f"{what}: {array[bad[0]]:g} is no place of a node; they go from 0 to {count - 1}")
    return array.astype(np.int64)


def instance(value: Any, kind: type[Any] | tuple[type[Any], ...], what: str, example: str) -> Any:
    """The value if it is of the kind. Raises InputError."""
    if not isinstance(value, kind):
        raise InputError(f"{what}: must be {example}, not {shown(value)}")
    return value


def file_path(value: Any, what: str) -> Path:
    """The path of a file. Raises InputError."""
    if not isinstance(value, (str, os.PathLike)) or "\0" in str(value):
        raise InputError(f"{what}: must be the path of a file, not {shown(value)}")
    return Path(value)
