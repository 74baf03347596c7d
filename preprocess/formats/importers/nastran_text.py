"""Text formats of Nastran's matrices: OUTPUT4 in ASCII and DMIG cards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flexmbs.errors import InputError
from preprocess.formats.importers.labelled import Array, Entries, Indices
from preprocess.inputs.number_parsing import content
from preprocess.mesh_files import plain_numbers
from preprocess.mesh_files.nastran_cards import fields_of, real


class LabelledEntries(NamedTuple):
    """Entries between degrees of freedom.

    Rows and columns as grid point and direction (m, 2), values (m,).
    """

    rows: Indices
    columns: Indices
    values: Array


_HEADER = re.compile(
    r"^([ \d-]{8})([ \d-]{8})([ \d-]{8})([ "
    r"\d-]{8})\s*([A-Za-z]\S{0,7})\s*(?:1P,)?\d*[EDF](\d+)\.\d+\s*$"
)


def read_op4(path: Path, data: bytes) -> dict[str, Entries]:
    """Matrices of an ASCII OUTPUT4 file by name, real, dense or sparse.

    Raises InputError with the line.
    """
    lines = data.decode("ascii", errors="replace").splitlines()
    matrices: dict[str, Entries] = {}
    number = 0
    while number < len(lines):
        if not lines[number].strip():
            number += 1
            continue
        match = _HEADER.match(lines[number])
        if not match:
            raise InputError(
                f"{path}:{number + 1}: {lines[number][:40]!r} is not the header of an "
                "OUTPUT4 matrix"
            )
        reading = _Op4(path, lines, number, match)
        matrices[match.group(5).upper()] = reading.entries()
        number = reading.next
    return matrices


class _Op4:
    """Parser of one matrix.

    Lines with a decimal point contain values, lines without contain indices.
    """

    def __init__(self, path: Path, lines: list[str], number: int, heading: re.Match[str]) -> None:
        """Matrix of a text OUTPUT4 file, from its heading. Raises `InputError`."""
        self.path, self.lines, self.next = path, lines, number + 1
        self.columns = self._int(heading.group(1), number)
        kind = self._int(heading.group(4), number)
        if kind not in (1, 2):
            raise InputError(
                f"{path}:{number + 1}: matrix {heading.group(5)} is complex (type "
                f"{kind}); only real matrices are supported"
            )
        self.words, self.width = kind, int(heading.group(6))
        if not 1 <= self.width <= 100:
            raise InputError(
                f"{path}:{number + 1}: numbers {self.width} characters wide are not supported"
            )

    def _int(self, text: str, number: int) -> int:
        """Integer of a field. Raises `InputError` with the line."""
        try:
            return int(text)
        except ValueError:
            raise InputError(
                f"{self.path}:{number + 1}: {text.strip()[:20]!r} is not an integer"
            ) from None

    def entries(self) -> Entries:
        """Nonzero entries of the matrix."""
        rows, columns, values = [], [], []
        for column, row, found in self._strings():
            rows.append(np.arange(row, row + len(found)))
            columns.append(np.full(len(found), column))
            values.append(found)
        if not values:
            return Entries(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), None)
        i, j, v = np.concatenate(rows), np.concatenate(columns), np.concatenate(values)
        kept = v != 0
        return Entries(i[kept], j[kept], v[kept], None)

    def _strings(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Column, first row and values of each run of values, 0-based.

        Ends with the column after the last.
        """
        while self.next < len(self.lines):
            line, number = self.lines[self.next], self.next
            column, row = self._int(line[:8], number), self._int(line[8:16], number)
            self.next += 1
            if column > self.columns:
                self._values()
                return
            if column < 1:
                raise InputError(f"{self.path}:{number + 1}: column {column} does not exist")
            if row > 0:
                yield column - 1, row - 1, self._values()
            else:
                yield from ((column - 1, first, found) for first, found in self._sparse_column())
        raise InputError(f"{self.path}: ends within a matrix; it is truncated")

    def _sparse_column(self) -> Iterator[tuple[int, np.ndarray]]:
        """Strings of a sparse column, each preceded by one packed number, or by length and row."""
        while self.next < len(self.lines):
            words = self.lines[self.next].split()
            if len(words) == 1 and "." not in words[0]:
                row = self._int(words[0], self.next) % 65536
            elif len(words) == 2 and "." not in self.lines[self.next]:
                row = self._int(words[1], self.next)
            else:
                return
            self.next += 1
            yield row - 1, self._values()

    def _values(self) -> np.ndarray:
        """Numbers of the lines up to the next line without a decimal point."""
        start = self.next
        while (
            self.next < len(self.lines)
            and "." in self.lines[self.next]
            and not _HEADER.match(self.lines[self.next])
        ):
            self.next += 1
        w = self.width
        words = [
            line[k : k + w]
            for line in self.lines[start : self.next]
            for k in range(0, len(line.rstrip()), w)
        ]
        try:
            values = np.array([plain_numbers.real(word) for word in words])
        except ValueError:
            values = np.array([np.nan])
        if not np.isfinite(values).all():
            raise InputError(
                f"{self.path}:{start + 1}: values of a column are not finite numbers of "
                f"{w} characters"
            )
        return values


def read_dmig(path: Path) -> dict[str, LabelledEntries]:
    """Real matrices of DMIG cards by name. Raises InputError with the line."""
    found: dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]], list[float]]] = {}
    for number, fields in _cards(path):
        name = fields[0].upper()
        if fields[1] == "0":
            if fields[3] not in ("1", "2", ""):
                raise InputError(
                    f"{path}:{number}: DMIG {name} is complex (type {fields[3]}); only "
                    "real matrices are supported"
                )
            found.setdefault(name, ([], [], []))
            continue
        column = _grid(path, number, fields[1], fields[2])
        rows, columns, values = found.setdefault(name, ([], [], []))
        for k in range(4, len(fields), 4):
            if fields[k]:
                quad = [*fields[k : k + 3], "", ""]
                rows.append(_grid(path, number, quad[0], quad[1]))
                columns.append(column)
                values.append(_real(path, number, quad[2]))
    if not found:
        raise InputError(
            f"{path}: has no DMIG cards; write K and M as DMIG (K2GG, EXTSEOUT) or as OUTPUT4"
        )
    return {
        name: LabelledEntries(
            np.array(i, np.int64).reshape(-1, 2), np.array(j, np.int64).reshape(-1, 2), np.array(v)
        )
        for name, (i, j, v) in found.items()
    }


def _cards(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each DMIG card.

    In groups of four: name, grid, component, -; grid, component, a, b; …
    """
    card: list[str] = []
    start = 0
    for number, line in enumerate(
        content(path, "DMIG cards").decode("ascii", errors="replace").splitlines(), 1
    ):
        text = line.partition("$")[0].rstrip()
        if not text:
            continue
        head, fields = fields_of(text)
        if head in ("", "+", "*") or head[0] in "+*":
            card += fields if card else []
            continue
        if card:
            yield start, card
        card, start = (fields if head.rstrip("*") == "DMIG" else []), number
    if card:
        yield start, card


def _grid(path: Path, number: int, grid: str, component: str) -> tuple[int, int]:
    """(grid point, component) of two fields. Raises `InputError`."""
    if not re.fullmatch(r"\d{1,9}", grid) or not re.fullmatch(r"[0-6]?", component):
        raise InputError(
            f"{path}:{number}: '{grid[:12]} {component[:12]}' is not a grid point and component"
        )
    return int(grid), int(component or 0)


def _real(path: Path, number: int, text: str) -> float:
    """Finite number of a field. Raises `InputError`."""
    try:
        value = real(text or "blank")
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InputError(f"{path}:{number}: {text[:20]!r} is not a number")
    return value
