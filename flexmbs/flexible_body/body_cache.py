"""Cache of flexible bodies read from files.

A model refers to files and contains no matrices: each check and each compilation reads them. The
key of a body is the SHA-256 of its file, hashed before and after reading. Hashing is skipped if
device, inode, size and both times of the file are unchanged since the last hash and had been stable
for a while before it, so that no write can go unnoticed; and within `reading_once`, which a run
uses because its model is defined by the files as first read. Threads share the cache: a body
requested by several is read once. Cached bodies share their arrays, which are read-only. The least
recently used bodies are dropped beyond a number and a size.

"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.flexible_body.record import FlexibleBodyData

Body: TypeAlias = FlexibleBodyData | DividedBodyData
BODIES, BYTES = 32, 256 * 2**20
SETTLED = 60.0  # s: longer than the resolution of file times
Stamp = tuple[int, int, int, int, int]
# digests of files within `reading_once`
FIRST: ContextVar[dict[str, str] | None] = ContextVar("FIRST", default=None)


class _HashedFile(NamedTuple):
    """File as last hashed: its stamp, its digest, and True if its times had settled."""

    stamp: Stamp
    digest: str
    settled: bool


@contextlib.contextmanager
def reading_once() -> Iterator[None]:
    """Context in which files are assumed not to change."""
    token = FIRST.set({}) if FIRST.get() is None else None
    try:
        yield
    finally:
        if token is not None:
            FIRST.reset(token)


class BodyCache:
    """Bodies by the digest of their file, limited to ``bodies`` and ``size`` bytes.

    ``load(path, read)`` returns one.
    """

    def __init__(self, bodies: int = BODIES, size: int = BYTES) -> None:
        """Empty cache for at most so many bodies and bytes."""
        self.bodies, self.size = bodies, size
        self._data: OrderedDict[str, tuple[Body, int]] = OrderedDict()
        self._seen: OrderedDict[str, _HashedFile] = OrderedDict()
        self._lock = threading.Lock()
        self._reading: dict[
            str, threading.Lock
        ] = {}  # files currently being read by threads, by digest

    def __len__(self) -> int:
        return len(self._data)

    def load(self, path: str | Path, read: Callable[[str | Path], Body]) -> Body:
        """Body in the file ``path``, from the cache if the content is unchanged.

        Otherwise it is ``read(path)``.
        """
        before = self._digest(path)
        with self._lock:
            alone = (
                self._reading.setdefault(before, threading.Lock()) if before else threading.Lock()
            )
        with alone:  # threads requesting the same body wait for the one that reads it
            try:
                return self._kept(before) or self._read(path, before, read)
            finally:
                with self._lock:
                    self._reading.pop(before, None)

    def _kept(self, digest: str) -> Body | None:
        """Cached body with a digest; None if there is none."""
        with self._lock:
            kept = self._data.get(digest)
            if kept is not None:
                self._data.move_to_end(digest)
        return None if kept is None else kept[0]

    def _read(self, path: str | Path, before: str, read: Callable[[str | Path], Body]) -> Body:
        """Body read again, cached if the file had the same digest before and after."""
        data = read(path)
        size = sum(_size(array) for array in _arrays(data))
        if before and size <= self.size and self._digest(path, again=True) == before:
            for array in _arrays(data):
                array.flags.writeable = False
            with self._lock:
                self._data[before] = data, size
                while (
                    len(self._data) > self.bodies
                    or sum(size for _, size in self._data.values()) > self.size
                ):
                    self._data.popitem(last=False)
        return data

    def clear(self) -> None:
        """Drop all bodies."""
        with self._lock:
            self._data.clear()
            self._seen.clear()

    def _digest(self, path: str | Path, *, again: bool = False) -> str:
        """SHA-256 of the file, or "" if it cannot be read."""
        first = FIRST.get()
        try:
            name = os.path.realpath(path)
            if first is not None and name in first and not again:
                return first[name]
            with open(name, "rb") as file:
                digest = self._of_open(name, file)
        except (OSError, ValueError):
            return ""
        if first is not None:
            first[name] = digest
        return digest

    def _of_open(self, name: str, file: BufferedReader) -> str:
        """Digest of an open file; opening it updates its times on network file systems."""
        found = os.fstat(file.fileno())
        stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        with self._lock:
            seen = self._seen.get(name)
        if seen is not None and seen.settled and seen.stamp == stamp:
            return seen.digest
        still = (
            os.name == "posix"
            and time.time() - 1e-9 * max(found.st_mtime_ns, found.st_ctime_ns) > SETTLED
        )
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        with self._lock:
            self._seen[name] = _HashedFile(stamp, digest, still)
            self._seen.move_to_end(name)
            while len(self._seen) > 4 * self.bodies:
                self._seen.popitem(last=False)
        return digest


def _arrays(record: object) -> Iterator[np.ndarray]:
    """All arrays of a record and of nested records."""
    if isinstance(record, np.ndarray):
        yield record
    elif isinstance(record, Mapping):
        for value in record.values():
            yield from _arrays(value)
    elif isinstance(record, tuple):
        for value in record:
            yield from _arrays(value)
    elif dataclasses.is_dataclass(record):
        for field in dataclasses.fields(record):
            yield from _arrays(getattr(record, field.name))


def _size(array: np.ndarray) -> int:
    """Bytes of an array in memory."""
    return 0 if isinstance(array, np.memmap) else array.nbytes


KEPT = BodyCache()
