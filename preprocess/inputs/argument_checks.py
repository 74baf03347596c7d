"""Checks of arguments: numbers, vectors, arrays, files.

Each message names the argument and its value.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from flexmbs.checked_arguments import EXACT
from flexmbs.checked_arguments import checked_arguments as checked_arguments
from flexmbs.errors import InputError, shown
from flexmbs.flexible_body.components import FloatArray, IntArray

# magnitude in any unit: products of five such numbers stay within double precision (1e308)
LARGEST = 1e60
# magnitude in any unit: quotients of five such numbers stay within double precision
SMALLEST = 1e-60


def flag(value: Any, what: str) -> bool:
    """Validate a Boolean argument. Raises InputError."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{what}: must be True or False, not {shown(value)}")
    return bool(value)


def is_number(value: object) -> bool:
    """True for one real number; integers with hundreds of digits are excluded."""
    if isinstance(value, numbers.Integral) and abs(int(value)) > LARGEST:
        return False
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def number(value: Any, what: str) -> float:
    """Validate a real number within the limits of `SMALLEST` and `LARGEST`, or 0.

    Raises InputError.
    """
    if not is_number(value):
        raise InputError(f"{what}: must be a number, not {shown(value)}")
    if value and math.isfinite(value) and not SMALLEST <= abs(value) <= LARGEST:
        raise InputError(
            f"{what}: must be 0 or from {SMALLEST:g} to {LARGEST:g} in size, not {shown(value)}"
        )
    return float(value)


def positive(value: Any, what: str, remedy: str) -> float:
    """Validate a positive finite number. Raises InputError with the remedy."""
    found = number(value, what)
    if not 0 < found < math.inf:
        raise InputError(f"{what} = {shown(value)}; {remedy}")
    return found


def not_negative(value: Any, what: str, remedy: str) -> float:
    """Validate a finite number of at least zero. Raises InputError with the remedy."""
    found = number(value, what)
    if not 0 <= found < math.inf:
        raise InputError(f"{what} = {shown(value)}; {remedy}")
    return found


def nonzero_vector(value: Any, what: str, remedy: str) -> FloatArray:
    """Vector (3,) with a length. Raises InputError with the remedy."""
    found = vector(value, what)
    if not np.linalg.norm(found) > 0:
        raise InputError(f"{what}: has zero length; {remedy}")
    return found


def integer(value: Any, what: str) -> int:
    """Validate an integer argument. Raises InputError."""
    if not is_number(value) or not math.isfinite(value) or value != int(value):
        raise InputError(f"{what}: must be an integer, not {shown(value)}")
    if abs(value) > EXACT:
        raise InputError(
            f"{what}: {shown(value)} is beyond {EXACT}, the largest integer that is exact"
        )
    return int(value)


def floats(value: Any, what: str, *, finite: bool = True) -> FloatArray:
    """Array of real numbers, finite by default. Raises InputError."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f"{what}: {shown(value)} is not an array of numbers") from None
    if finite and not np.isfinite(array).all():
        raise InputError(f"{what}: has {int(np.sum(~np.isfinite(array)))} non-finite values")
    if (
        array.size
        and (largest := float(np.abs(array[np.isfinite(array)]).max(initial=0.0))) > LARGEST
    ):
        raise InputError(f"{what}: has values up to {largest:g}; they must be within ±{LARGEST:g}")
    return np.asarray(array, dtype=float)


def vector(value: Any, what: str) -> FloatArray:
    """Three finite numbers (3,). Raises InputError."""
    array = floats(value, what)
    if array.shape != (3,):
        raise InputError(f"{what}: {shown(value)} is not a vector; give three numbers")
    return array


def node_indices(value: Any, what: str, count: int, kind: str = "node") -> IntArray:
    """Indices 0 … count − 1, (n,), of nodes or another ``kind``. Raises InputError."""
    array = floats(value, what).ravel()
    bad = np.flatnonzero((array != np.floor(array)) | (array < 0) | (array >= count))
    if bad.size:
        raise InputError(
            f"{what}: {array[bad[0]]:g} is not the index of a {kind}; indices range from "
            f"0 to {count - 1}"
        )
    return array.astype(np.int64)


def integers(value: Any, what: str) -> IntArray:
    """Array of integers. Raises InputError."""
    array = floats(value, what)
    bad = array[(array != np.floor(array)) | ~(np.abs(array) < EXACT)]
    if bad.size:
        raise InputError(f"{what}: {bad[0]:g} is not an integer")
    return array.astype(np.int64)


def instance(value: Any, kind: type[Any] | tuple[type[Any], ...], what: str, example: str) -> Any:
    """Value of the required type. Raises InputError."""
    if not isinstance(value, kind):
        raise InputError(f"{what}: must be {example}, not {shown(value)}")
    return value
