"""Flexible bodies read from files, kept for the next reading of the same contents.

A model names its files and holds no matrices: each check, each compilation of it reads them. A body is kept by the SHA-256 of
its file; the file is hashed before and after it is read. The hash is spared where device, inode, size and both times of the
file are those at the last hash and had then stood still for so long that no writer can have kept the times as they are. Kept
bodies share their arrays, which cannot be written to. Least recently used ones are dropped beyond a number and a size.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flexmbs.flexible_body.record import FlexibleBodyData

BODIES, BYTES = 32, 256 * 2**20
STILL = 60.0  # s: longer than file systems delay the times of a write
Stamp = tuple[int, int, int, int, int]


class _Seen(NamedTuple):
    """A file as last hashed: its stamp, its digest, and whether its times had stood still."""

    stamp: Stamp
    digest: str
    settled: bool


class KeptBodies:
    """Bodies by the digest of their file, within ``bodies`` and ``size`` bytes; ``load(path, read)`` gives one."""

    def __init__(self, bodies: int = BODIES, size: int = BYTES) -> None:
        self.bodies, self.size = bodies, size
        self._data: OrderedDict[str, tuple[FlexibleBodyData, int]] = OrderedDict()
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._data)

    def load(self, path: str | Path, read: Callable[[str | Path], FlexibleBodyData]) -> FlexibleBodyData:
        """The body in the file at ``path``: a kept one where the contents are the same, else ``read(path)``."""
        before = self._digest(path)
        with self._lock:
            kept = self._data.get(before)
            if kept is not None:
                self._data.move_to_end(before)
                return kept[0]
        data = read(path)
        size = sum(_size(array) for array in _arrays(data))
        if before and size <= self.size and self._digest(path) == before:
            for array in _arrays(data):
                array.flags.writeable = False
            with self._lock:
                self._data[before] = data, size
                while len(self._data) > self.bodies or sum(size for _, size in self._data.values()) > self.size:
                    self._data.popitem(last=False)
        return data

    def clear(self) -> None:
        """Drop all."""
        with self._lock:
            self._data.clear()
            self._seen.clear()

    def _digest(self, path: str | Path) -> str:
        """SHA-256 of the file, or "" where it cannot be read."""
        try:
            name = os.path.realpath(path)
            with open(name, "rb") as file:
                return self._of_open(name, file)
        except (OSError, ValueError):
            return ""

    def _of_open(self, name: str, file: BufferedReader) -> str:
        """The digest of an open file; with it open, its times are those of the server on a network."""
        found = os.fstat(file.fileno())
        stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        with self._lock:
            seen = self._seen.get(name)
        if seen is not None and seen.settled and seen.stamp == stamp:
            return seen.digest
        still = os.name == "posix" and time.time() - 1e-9 * max(found.st_mtime_ns, found.st_ctime_ns) > STILL
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        with self._lock:
            self._seen[name] = _Seen(stamp, digest, still)
            self._seen.move_to_end(name)
            while len(self._seen) > 4 * self.bodies:
                self._seen.popitem(last=False)
        return digest


def _arrays(record: object) -> Iterator[np.ndarray]:
    """All arrays of a record and of those in it."""
    if isinstance(record, np.ndarray):
        yield record
    elif isinstance(record, Mapping):
        for value in record.values():
            yield from _arrays(value)
    elif dataclasses.is_dataclass(record):
        for field in dataclasses.fields(record):
            yield from _arrays(getattr(record, field.name))


def _size(array: np.ndarray) -> int:
    """Bytes in memory."""
    return 0 if isinstance(array, np.memmap) else array.nbytes


KEPT = KeptBodies()
