"""Fields of data lines in Abaqus and CalculiX files."""

from __future__ import annotations

import math

from flexmbs.errors import InputError
from preprocess.mesh_files.abaqus_assembly import Rows, split


def integer(where: str, text: str) -> int:
    """An integer without a sign. Raises InputError."""
    if not text.isdecimal() or len(text) > 15:
        raise InputError(f"{where}: expected an integer, found '{text[:30]}'")
    return int(text)


def real(where: str, text: str) -> float:
    """A finite number; empty fields are zero. Raises InputError."""
    try:
        value = float(text.upper().replace("D", "E") or 0.0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: expected a number, found '{text[:30]}'")
    return value


def reals(where: str, text: str) -> list[float]:
    """The numbers of a line, without empty fields at its end."""
    return [real(where, field) for field in split(text.rstrip(", "))]


def fields(rows: Rows) -> list[tuple[str, str]]:
    """Location and text of the fields of all lines that are not empty."""
    return [(where, text) for where, line in rows for text in split(line) if text]
