"""Included files of a mesh file, without recursion.

They are in its own folder unless others are allowed.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_text
from flexmbs.files.path_policy import PathPolicy

DEEPEST = 10  # depth of nested files; limits the work on damaged or malicious input
LARGEST = 2**31  # bytes of all included files, 2 GB
# of Abaqus, CalculiX and Nastran; of LS-DYNA, a file in each line; of FEBio
_NAME = re.compile(r"(?:\bINPUT\s*=|^\s*INCLUDE\s)\s*([^,\r\n]{1,400})", re.I | re.M)
_LINES = re.compile(r"^\*INCLUDE[ \t]*\r?\n((?:[^*\n][^\n]*\n?|\n)+)", re.I | re.M)
_FROM = re.compile(r"<\w+\b[^<>]*\bfrom\s*=\s*[\"']([^\"'\r\n]{1,400})[\"']")


class Includes:
    """Stack of nested files being read; names are relative to the folder of the first."""

    def __init__(self, path: Path, allow_outside: bool) -> None:
        self._reach = reach_of(path, allow_outside)
        self._open, self._size = [path.resolve()], 0

    def lines(self, where: str, name: str) -> list[str]:
        """Lines of the file ``name``, relative to the folder.

        Raises InputError with the location ``where``.
        """
        wanted = name.strip().strip("'\"")
        path = existing_file(self._reach, where, wanted)
        if path in self._open:
            raise InputError(f"{where}: {wanted[:60]!r} includes itself")
        self._size += path.stat().st_size
        if len(self._open) > DEEPEST or self._size > LARGEST:
            raise InputError(
                f"{where}: files are nested too deeply or too large; write one flat file"
            )
        self._open.append(path)
        return read_text(path).splitlines()

    def close(self) -> None:
        """Close the innermost file."""
        self._open.pop()


def included_files(path: Path, allow_outside: bool = False) -> tuple[Path, ...]:
    """Existing files that a text mesh file reads, directly or through others.

    Missing files are omitted.
    """
    found: list[Path] = []
    pending = [path.resolve()]
    while pending and path.is_file():
        for name in _names(read_text(pending.pop())):
            with contextlib.suppress(ValueError):
                other = reach_of(path, allow_outside).path(name.strip().strip("'\""))
                if other not in (*found, path.resolve()) and other.is_file():
                    found.append(other)
                    pending.append(other)
    return tuple(found)


def _names(text: str) -> Iterator[str]:
    """Names of the files that a text includes."""
    yield from _NAME.findall(text)
    yield from _FROM.findall(text)
    for lines in _LINES.findall(text):
        rows = ((each, "") for each in lines.splitlines() if each[:1] != "$")
        yield from (name for name, _ in listed_names(rows))


def listed_names(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Names of files in lines, with their locations; a line continues after " +"."""
    begun = ""
    for text, where in rows:
        name = begun + text.strip()
        begun = name.removesuffix("+").rstrip() if name.endswith(" +") else ""
        if name and not begun:
            yield name, where
    if begun:
        yield begun, where


def reach_of(path: Path, allow_outside: bool) -> PathPolicy:
    """Policy for included files: those in the folder of the mesh file."""
    return PathPolicy(path.resolve().parent, allow_outside, what="mesh file")


def existing_file(reach: PathPolicy, where: str, name: str) -> Path:
    """File that a mesh file names at ``where``. Raises InputError."""
    try:
        path = reach.path(name)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    if not path.is_file():
        raise InputError(f"{where}: file {name[:60]!r} does not exist; copy it to {reach.folder}")
    return path
