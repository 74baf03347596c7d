"""Argument checks of signal analyses: lists of numbers, names from a list."""

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError

FloatArray = NDArray[np.float64]
LARGEST = 1e100  # squares and ranges of larger values would overflow


def number_list(value: Any, key: str, *, least: float = -np.inf) -> FloatArray:
    """A list (n,) of finite numbers, n ≥ 1, none below ``least``. Raises InputError."""
    try:
        given = np.atleast_1d(np.asarray(value))
    except ValueError:  # rows of different lengths
        given = np.array(["?"])
    if given.dtype.kind not in "iuf":
        raise InputError(f"{key}: must be a list of numbers, not {shown(value)}")
    found = given.astype(float)
    if found.ndim != 1 or not len(found):
        raise InputError(
            f"{key}: must be a list of one or more numbers, not an array of shape {found.shape}"
        )
    wrong = found[~((np.abs(found) <= LARGEST) & (found >= least))]
    if len(wrong):
        limit = "" if least == -np.inf else f" from {least:g}"
        raise InputError(
            f"{key}: {wrong[0]:g} is not allowed; give finite numbers{limit}, at most {LARGEST:g}"
        )
    return found


def numbers_of_any_shape(value: Any, key: str, *, least: float = -np.inf) -> FloatArray:
    """Array or number of any shape with finite numbers, none below ``least``. Raises InputError."""
    return number_list(np.ravel(value), key, least=least).reshape(np.shape(value))


def one_number(value: Any, key: str, *, least: float = -np.inf) -> float:
    """A finite number, not below ``least``. Raises InputError."""
    if np.ndim(value):
        raise InputError(f"{key}: must be one number, not {shown(value)}")
    return float(numbers_of_any_shape(value, key, least=least))


def whole_number(value: Any, key: str, *, least: int, most: float = np.inf) -> int:
    """A whole number within ``least`` … ``most``. Raises InputError."""
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers.Integral)
        or not least <= int(value) <= most
    ):
        limit = f"from {least}" if most == np.inf else f"within {least} … {most:g}"
        raise InputError(f"{key}: must be a whole number {limit}, not {shown(value)}")
    return int(value)


def whole_numbers(value: Any, key: str) -> NDArray[np.int64]:
    """List (n,) of whole numbers, n ≥ 1, such as node numbers. Raises InputError."""
    listed = value if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    found = number_list(np.ravel(np.asarray(listed, None if np.size(listed) else float)), key)
    wrong = found[(found != np.floor(found)) | (np.abs(found) > 2**53)]
    if len(wrong):
        raise InputError(f"{key}: must be whole numbers, not {wrong[0]:.17g}")
    return found.astype(np.int64)


def chosen_names(wanted: Iterable[Any] | None, known: Sequence[str], key: str) -> list[str]:
    """Names from ``known``, each a text or a tuple of its words; by default all.

    Raises InputError.
    """
    if wanted is None:
        return list(known)
    given = (
        [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
    )
    for name in given:
        if not isinstance(name, str | tuple):
            raise InputError(f"{key}: {shown(name)} is not a name; give one of: {', '.join(known)}")
    found = [name if isinstance(name, str) else " ".join(map(str, name)) for name in given]
    unknown = [name for name in found if name not in known]
    if unknown:
        raise InputError(
            *(f"{key}: '{name}' is not there; {close_names(name, known)}" for name in unknown)
        )
    return found
