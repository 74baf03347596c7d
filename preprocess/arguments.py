"""What users give to the preprocessor: numbers, vectors, files; each is checked, and the message names it and what it is."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from flexmbs.declaration import close_names
from flexmbs.errors import InputError, shown
from flexmbs.flexible_body import FloatArray, IntArray

Named = TypeVar("Named", bound=Callable[..., Any])


def spelt(made: Named) -> Named:
    """A function or class that refuses arguments which it does not have, or lacks, by InputError with close names."""
    if isinstance(made, type):
        made.__init__ = _spelt(made.__init__, None)  # type: ignore[misc]
        return made
    return _spelt(made, made.__qualname__)  # type: ignore[return-value]


def _spelt(function: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    """The function; ``name`` in messages, None for that of the class of its first argument."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except TypeError:
            problem = _unbound(signature, arguments, named)
            if problem is None:
                raise
            raise InputError(f"{name or type(arguments[0]).__name__}: {problem}") from None

    return call


def _unbound(signature: inspect.Signature, arguments: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Why the arguments do not fit the signature; None when they do."""
    own = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    first = len(signature.parameters) - len(own)
    placed = [each.name for each in own if each.kind is each.POSITIONAL_OR_KEYWORD]
    unknown = [name for name in named if name not in [each.name for each in own]]
    taken = placed[: len(arguments) - first]
    missing = [each.name for each in own if each.default is each.empty and each.name not in (*taken, *named)]
    if unknown:
        return f"has no argument '{unknown[0]}'; {close_names(unknown[0], [each.name for each in own])}"
    if len(arguments) - first > len(placed):
        return f"takes {len(placed)} argument(s) without a name, {len(arguments) - first} given; name the others"
    return f"{missing[0]} is missing" if missing else None


def flag(value: Any, what: str) -> bool:
    """True or false. Raises InputError."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{what}: must be True or False, not {shown(value)}")
    return bool(value)


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


def floats(value: Any, what: str, *, finite: bool = True) -> FloatArray:
    """Array of real numbers, finite ones unless others are looked at later. Raises InputError."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f"{what}: {shown(value)} is no array of numbers") from None
    if finite and not np.isfinite(array).all():
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


def numbers_of(value: Any, what: str) -> IntArray:
    """Array of whole numbers. Raises InputError."""
    array = floats(value, what)
    bad = array[array != np.floor(array)]
    if bad.size:
        raise InputError(f"{what}: {bad[0]:g} is no whole number")
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
