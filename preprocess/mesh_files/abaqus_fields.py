"""Fields of data lines in Abaqus and CalculiX files, and tables of values over temperature.

Source: Abaqus Analysis Guide, material data: values are interpolated between temperatures and
constant beyond the first and the last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from flexmbs.errors import InputError
from preprocess.mesh_files import plain_numbers
from preprocess.mesh_files.abaqus_assembly import Rows, split


def integer(where: str, text: str) -> int:
    """An integer without a sign. Raises InputError."""
    if not text.isdecimal() or len(text) > 15:
        raise InputError(f"{where}: expected an integer, found '{text[:30]}'")
    return int(text)


def real(where: str, text: str) -> float:
    """A finite number; empty fields are zero. Raises InputError."""
    try:
        value = plain_numbers.real(text or "0")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: expected a number, found '{text[:30]}'")
    return value


def reals(where: str, text: str) -> list[float]:
    """Numbers of a line, without empty fields at its end."""
    return [real(where, field) for field in split(text.rstrip(", "))]


@dataclass
class TemperatureTables:
    """Values of tables at the temperature of a file.

    temperature: uniform initial temperature of all nodes, None if the file gives none, or several;
    notices: on tables of which the first row is used for lack of a temperature.
    """

    temperature: float | None = None
    notices: list[str] = field(default_factory=list)

    def at(self, what: str, rows: Sequence[Sequence[float]], known: bool = True) -> list[float]:
        """Values of rows that end with their temperature.

        known: True if nothing else varies.
        """
        *first, its = rows[0]
        if all(list(row[:-1]) == first for row in rows):
            return first
        if known and self.temperature is not None:
            table = np.array(sorted(rows, key=lambda row: row[-1]), dtype=float)
            return [float(np.interp(self.temperature, table[:, -1], each)) for each in table.T[:-1]]
        remedy = "give all nodes one temperature by *INITIAL CONDITIONS"
        self.notices.append(
            f"{what} has {len(rows)} rows: the first one is used, at a temperature of {its:g}; "
            + (remedy if known else "give one row")
        )
        return first


def table_rows(what: str, rows: Rows, count: int, options: Mapping[str, str]) -> list[list[float]]:
    """Rows of a table, each of a number of values and the temperature. Raises InputError."""
    varied = integer(f"{rows[0][0]}: {what}, DEPENDENCIES", options.get("DEPENDENCIES", "0"))
    lines = -(-(count + 1 + varied) // 8)  # of a row, of eight fields each
    found = []
    for k in range(0, len(rows), lines):
        values = [value for row in rows[k : k + lines] for value in reals(*row)]
        if len(values) < count:
            raise InputError(f"{rows[k][0]}: {what} has {len(values)} constants; it has {count}")
        found.append([*values, 0.0][: count + 1])
    return found


def fields(rows: Rows) -> list[tuple[str, str]]:
    """Location and text of the fields of all lines that are not empty."""
    return [(where, text) for where, line in rows for text in split(line) if text]
