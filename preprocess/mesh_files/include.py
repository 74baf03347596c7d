"""Included files of a mesh file: only from its own folder, without recursion."""

import re
from pathlib import Path

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_text

DEEPEST = 10
LARGEST = 2**31  # bytes of all included files
TEXT_SUFFIXES = (".inp", ".bdf", ".nas", ".dat")
_NAME = re.compile(r"(?:\bINPUT\s*=|^\s*INCLUDE\s)\s*([^,\r\n]{1,400})", re.I | re.M)


class Includes:
    """Stack of nested files being read, all from the folder of the first."""

    def __init__(self, path: Path) -> None:
        self._root, self._open, self._size = path.resolve().parent, [path.resolve()], 0

    def lines(self, where: str, name: str) -> list[str]:
        """Lines of the file ``name``, relative to the folder. Raises InputError with the location ``where``."""
        wanted = name.strip().strip("'\"")
        try:
            path = (self._root / wanted).resolve()
            inside, found = path.is_relative_to(self._root), path.is_file()
        except (OSError, ValueError) as error:
            raise InputError(f"{where}: {wanted[:60]!r} is not a file name ({error})") from None
        if not wanted or not inside:
            raise InputError(f"{where}: {wanted[:60]!r} is outside the folder {self._root}; copy it there")
        if not found:
            raise InputError(f"{where}: file {wanted[:60]!r} does not exist; copy it to {self._root}")
        if path in self._open:
            raise InputError(f"{where}: {wanted[:60]!r} includes itself")
        self._size += path.stat().st_size
        if len(self._open) > DEEPEST or self._size > LARGEST:
            raise InputError(f"{where}: files are nested too deeply or too large; write one flat file")
        self._open.append(path)
        return read_text(path).splitlines()

    def close(self) -> None:
        """Close the innermost file."""
        self._open.pop()


def included_files(path: Path) -> tuple[Path, ...]:
    """Files in its folder that a text mesh file reads, directly or through others; missing ones are omitted."""
    found: list[Path] = []
    pending = [path.resolve()]
    while pending and path.suffix.lower() in TEXT_SUFFIXES and path.is_file():
        for name in _NAME.findall(read_text(pending.pop())):
            other = (path.resolve().parent / name.strip().strip("'\"")).resolve() if "\0" not in name else path
            if other.is_relative_to(path.resolve().parent) and other not in (*found, path.resolve()) and other.is_file():
                found.append(other)
                pending.append(other)
    return tuple(found)
