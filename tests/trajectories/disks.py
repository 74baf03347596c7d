"""Disks that fail, and disks that lose their power: calls of the system on files of one folder,
counted, failed, recorded.
"""

import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from flexmbs.results.output_log import read_rows
from flexmbs.studies.run.run_folder import LOG

CALLS = ("open", "write", "fsync", "ftruncate", "replace")


class Disk:
    """The calls of ``os`` that concern a folder, in their order; ``before(number, name,
    arguments)`` may raise OSError.
    """

    def __init__(self, folder: pathlib.Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.count = str(folder), 0
        self.before: Callable[[int, str, tuple[Any, ...]], None] = lambda number, name, arguments: (
            None
        )
        self.after: Callable[[str, tuple[Any, ...], Any], None] = lambda name, arguments, result: (
            None
        )
        for name in CALLS:
            patch.setattr(os, name, self._watched(name, getattr(os, name)))

    def path(self, target: Any) -> str:
        """The path of a file name or descriptor."""
        return os.readlink(f"/proc/self/fd/{target}") if isinstance(target, int) else str(target)

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **keys: Any) -> Any:
            reads = name == "open" and not arguments[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if reads or not self.path(arguments[0]).startswith(self.folder):
                return call(*arguments, **keys)
            self.count += 1
            self.before(self.count, name, arguments)
            result = call(*arguments, **keys)
            self.after(name, arguments, result)
            return result

        return watched


class Failing(Disk):
    """A disk that fails with an error from its k-th call on; ``flushed``: rows of the log that are
    on it.
    """

    def __init__(
        self, folder: pathlib.Path, patch: pytest.MonkeyPatch, k: int, number: int
    ) -> None:
        super().__init__(folder, patch)
        self.k, self.number, self.flushed = k, number, 0
        self.before, self.after = self._fail, self._flushed

    def _fail(self, count: int, name: str, arguments: tuple[Any, ...]) -> None:
        if count >= self.k:
            raise OSError(self.number, os.strerror(self.number))

    def _flushed(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        path = self.path(arguments[0])
        if name == "fsync" and path.endswith(LOG):
            there = read_rows(pathlib.Path(path))
            self.flushed = 0 if there is None else len(there.values)


class Power(Disk):
    """A disk whose content after a power cut is known: what was synchronized, names by their
    folder, contents by their file.
    """

    def __init__(self, folder: pathlib.Path, patch: pytest.MonkeyPatch) -> None:
        super().__init__(folder, patch)
        self.safe: dict[int, bytes] = {}  # content of each file by its number
        self.names: dict[str, int] = {}
        self.after = self._follow
        self.cuts: list[dict[str, bytes]] = []

    def _follow(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        if name == "fsync":
            path = self.path(arguments[0])
            if path == self.folder:
                self.names = {entry.name: entry.stat().st_ino for entry in os.scandir(path)}
            else:
                self.safe[os.fstat(arguments[0]).st_ino] = pathlib.Path(path).read_bytes()
        self.cuts.append({name: self.safe.get(number, b"") for name, number in self.names.items()})
