"""Included files of a mesh file, without recursion.

They are in its own folder unless others are allowed.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_text
from flexmbs.files.path_policy import PathPolicy
from preprocess.mesh_files.claims import Claims

DEEPEST = 10  # depth of nested files; limits the work on damaged or malicious input
LARGEST = 2**31  # bytes of all included files, 2 GB


class Includes:
    """Stack of nested files being read; names are relative to the folder of the first.

    files: those read so far; claims: of all of them.
    """

    def __init__(self, path: Path, allow_outside: bool) -> None:
        self._reach = PathPolicy(path.resolve().parent, allow_outside, what="mesh file")
        self._open, self._size = [path.resolve()], 0
        self.files: list[Path] = []
        self.claims = Claims(path.stat().st_size)

    def lines(self, where: str, name: str) -> list[str]:
        """Lines of the file ``name``, relative to the folder.

        Raises InputError with the location ``where``.
        """
        path = self.file(where, name.strip().strip("'\""))
        if path in self._open:
            raise InputError(f"{where}: {name.strip()[:60]!r} includes itself")
        self._size += path.stat().st_size
        self.claims.size += path.stat().st_size
        if len(self._open) > DEEPEST or self._size > LARGEST:
            raise InputError(
                f"{where}: files are nested too deeply or too large; write one flat file"
            )
        self._open.append(path)
        return read_text(path).splitlines()

    def file(self, where: str, name: str) -> Path:
        """File that a mesh file names at ``where``. Raises InputError."""
        try:
            path = self._reach.path(name)
        except ValueError as error:
            raise InputError(f"{where}: {error}") from None
        if not path.is_file():
            raise InputError(
                f"{where}: file {name[:60]!r} does not exist; copy it to {self._reach.folder}"
            )
        self.files.append(path)
        return path

    def close(self) -> None:
        """Close the innermost file."""
        self._open.pop()


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
