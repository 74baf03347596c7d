"""Append-only log of frames on disk: a header (mark, CRC-32 and length of the content), then the content.

Reading stops at the first frame that is incomplete or has another checksum: what a killed process, a full disk or a power cut
left. Opening for writing cuts it off. What `flush` returned from is on the disk.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from flexmbs.files.inputs import opened
from flexmbs.files.output import sync_folder, unwritable

HEADER = struct.Struct("<4sIQ")
MARK = b"FXL1"
MOST = 1 << 32  # bytes of a frame


class Frame(NamedTuple):
    """The content of a frame, and the place in the file behind it."""

    content: bytes
    end: int


def framed(content: bytes) -> bytes:
    """A frame."""
    return HEADER.pack(MARK, zlib.crc32(content), len(content)) + content


def frames(path: Path) -> Iterator[Frame]:
    """The whole frames of a log. Raises InputError, OSError."""
    end = 0
    with opened(path) as file:
        while True:
            header = file.read(HEADER.size)
            if len(header) < HEADER.size:
                return
            mark, checksum, length = HEADER.unpack(header)
            left = os.fstat(file.fileno()).st_size - file.tell()
            if mark != MARK or length > min(MOST, left):
                return
            content = file.read(length)
            if len(content) < length or zlib.crc32(content) != checksum:
                return
            end += HEADER.size + length
            yield Frame(content, end)


class Log:
    """A log, open for writing behind its last whole frame, or behind ``end``; one that is not ``kept`` need not survive a loss of
    power. Raises MachineError."""

    def __init__(self, path: Path, end: int, *, kept: bool = True) -> None:
        self.path, self.end, self.kept = path, end, kept
        try:
            self.file = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            os.ftruncate(self.file, end)
            os.lseek(self.file, end, os.SEEK_SET)
            if kept:
                sync_folder(path.parent)  # else a power cut may take the file with all that was flushed
        except OSError as error:
            os.close(self.file)
            raise unwritable(path, error) from error

    def append(self, content: bytes) -> None:
        """Write a frame. Raises MachineError, with the log cut to its last frame."""
        data = framed(content)
        try:
            write_all(self.file, data)
        except OSError as error:
            self._cut()
            raise unwritable(self.path, error) from error
        self.end += len(data)

    def flush(self) -> None:
        """Return when all frames are on the disk. Raises MachineError: what is there then is unknown until the log is read."""
        try:
            if self.kept:
                os.fsync(self.file)
        except OSError as error:
            raise unwritable(self.path, error) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self.file)

    def _cut(self) -> None:
        """Remove what was written of a frame; where that fails, its checksum tells."""
        try:
            os.ftruncate(self.file, self.end)
            os.lseek(self.file, self.end, os.SEEK_SET)
        except OSError:
            return


def write_all(file: int, data: bytes) -> None:
    """All bytes into a file descriptor. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def write_bytes(draft: Path, data: bytes) -> None:
    """A new file with these bytes. Raises OSError."""
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o644)
    try:
        write_all(file, data)
    finally:
        os.close(file)
