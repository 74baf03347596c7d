"""Large tables of numbers in text files, read at once instead of line by line.

Only plain numbers with the same count on every line are extracted. The remaining lines are read by
the line reader, which reports errors with their line.
"""

import re
import secrets
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_HEADER = re.compile(r"^\*(?:NODE|ELEMENT)[ \t]*(?:,[^\n]*[^\n,\s][ \t]*)?\r?\n", re.M | re.I)
_PLAIN = re.compile(r"[-+0-9.eE, \t\r\n]*")
LARGEST_NUMBER = 1e15  # largest floating-point value that is certainly an exact integer (below 2⁵³)


class ExtractedTables(NamedTuple):
    """Text with each table replaced by a marker line, and the tables by marker.

    Empty lines follow the marker, so that line numbers remain.
    """

    text: str
    tables: dict[str, Array]


def extract_tables(text: str, columns: Callable[[str], int]) -> ExtractedTables:
    """Tables below keyword lines *NODE and *ELEMENT.

    columns: of the table below a keyword line, 0 for none.
    """
    pieces, tables, at, mark = list[str](), dict[str, Array](), 0, secrets.token_hex(16)
    for header in _HEADER.finditer(text):
        end = text.find("\n*", header.end() - 1) + 1 or len(text)
        table = _numbers(text[header.end() : end], columns(header.group().strip()))
        if table is not None:
            line = f"{mark} {len(tables)}"
            pieces += [text[at : header.end()], line, "\n" * len(table)]
            tables[line] = table
            at = end
    return ExtractedTables("".join(pieces) + text[at:], tables)


def _numbers(body: str, columns: int) -> Array | None:
    """Table (rows, columns) of the lines; None unless they are a plain table of numbers.

    The first column must hold unique integers.
    """
    if not columns or not body.endswith("\n") or not _PLAIN.fullmatch(body):
        return None
    letters = np.frombuffer(body.encode("ascii"), np.uint8)
    commas, lines = np.flatnonzero(letters == ord(",")), np.flatnonzero(letters == ord("\n"))
    expected = (columns - 1) * np.arange(1, len(lines) + 1)
    if len(commas) != expected[-1] or not np.array_equal(np.searchsorted(commas, lines), expected):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            values = np.fromstring(body.replace("\n", ","), sep=",")
        except (ValueError, DeprecationWarning):
            return None
    if values.size != columns * len(lines):
        return None
    table = values.reshape(-1, columns)
    first = table[:, 0]
    whole = (first == np.rint(first)).all() and np.abs(first).max() < LARGEST_NUMBER
    return table if whole and len(np.unique(first)) == len(first) else None
