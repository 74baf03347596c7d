"""Checks of arguments of functions and classes other than declarations."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.model.fields import index

T = TypeVar("T")


def real_array(key: str, value: Any, *, finite: bool = True) -> np.ndarray:
    """New array of numbers. Raises `InputError`."""
    try:
        found = np.array(value)
    except (TypeError, ValueError):
        raise InputError(f"{key}: must be numbers, not {shown(value)}") from None
    if found.dtype.kind not in "fiu":
        raise InputError(f"{key}: must be numbers, not {shown(value)}")
    if finite and not np.isfinite(found).all():
        raise InputError(f"{key}: must be finite")
    return found.astype(float)


def checked(key: str, check: Callable[[Any], T], value: Any) -> T:
    """Value validated by a field check. Raises `InputError`."""
    try:
        return check(value)
    except ValueError as error:
        raise InputError(f"{key}: {error}") from None


def require_switch(key: str, value: object) -> None:
    """Raise `InputError` unless a value is True or False."""
    if not isinstance(value, bool):
        raise InputError(f"{key}: must be True or False, not {shown(value)}")


def checked_kind(key: str, kind: type[Any], value: Any) -> Any:
    """Value, checked to be an instance of a class. Raises `InputError`."""
    if not isinstance(value, kind):
        raise InputError(f"{key}: must be of the class {kind.__name__}, not {shown(value)}")
    return value


def checked_count(key: str, value: Any, least: int = 1) -> int:
    """Integer of at least ``least``. Raises `InputError`."""
    found = checked(key, index, value)
    if found < least:
        raise InputError(f"{key}: must be a whole number >= {least}, not {found}")
    return found
