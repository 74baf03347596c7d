"""Fast, checked parsing of numbers in text files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_bytes

Array = NDArray[np.float64]
_EXPONENTS = bytes.maketrans(b"dD", b"eE")
_SEPARATORS = bytes.maketrans(b",;", b"  ")


def content(path: Path, expected: str) -> bytes:
    """Bytes of a file.

    Raises InputError if it is missing, unreadable or empty.
    """
    try:
        data = read_bytes(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if not data.strip():
        raise InputError(f"{path}: is empty; expected {expected}")
    return data


def numbers(text: bytes, where: str) -> Array:
    """All numbers of a text separated by blanks, commas or line ends.

    Fortran's D exponents are read too. Raises InputError with ``where`` for anything but finite
    numbers.
    """
    plain = text.translate(_SEPARATORS).translate(_EXPONENTS)
    try:
        values = np.fromstring(plain.decode("ascii"), sep=" ") if plain.strip() else np.zeros(0)
    except (ValueError, UnicodeDecodeError):
        raise InputError(
            f"{where}: {_first_bad(plain)!r} is not a number; export the file again"
        ) from None
    if not np.isfinite(values).all():
        raise InputError(
            f"{where}: {int(np.sum(~np.isfinite(values)))} values are not finite; export "
            "the file again"
        )
    return values


def table(text: bytes, columns: int, where: str) -> Array:
    """Rows of ``columns`` numbers. Raises InputError for an incomplete last row."""
    values = numbers(text, where)
    if values.size % columns:
        raise InputError(
            f"{where}: has {values.size} numbers, not a multiple of {columns}; the file "
            "is truncated"
        )
    return values.reshape(-1, columns)


def integers(values: Array, where: str, what: str) -> NDArray[np.int64]:
    """Values as integers. Raises InputError."""
    integers = np.rint(np.clip(values, -(2.0**62), 2.0**62)).astype(np.int64)
    if not np.array_equal(integers, values):
        bad = values[integers != values].flat[0]
        raise InputError(f"{where}: {bad:g} is not a {what}; export the file again")
    return integers


def _first_bad(text: bytes) -> str:
    """First word of a text that is not a number, for messages."""
    for word in text.split():
        try:
            float(word)
        except ValueError:
            return word.decode("utf-8", errors="replace")[:30]
    return text[:30].decode("utf-8", errors="replace")
