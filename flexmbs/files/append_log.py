"""Append-only log of frames on disk.

A header (mark, CRC-32 and length of the content), then the content.

A last frame that is incomplete or fails its checksum was left by a killed process, a full disk or
a power failure: reading stops there and opening for writing removes it. If intact frames follow,
the file was damaged later and is rejected. Frames are on the disk once `flush` has returned.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from flexmbs.errors import InputError
from flexmbs.files.inputs import open_regular
from flexmbs.files.output import sync_folder, unwritable

HEADER = struct.Struct("<4sIQ")
MARK = b"FXL1"
MOST = 1 << 32  # bytes of a frame: the length is stored in four bytes
BLOCK = 1 << 20  # bytes read at a time when marks are searched


class LogFrame(NamedTuple):
    """Content of a frame, and the file position after it."""

    content: bytes
    end: int


def frame_bytes(content: bytes) -> bytes:
    """Bytes of a frame of the log: mark, checksum, length, content."""
    return HEADER.pack(MARK, zlib.crc32(content), len(content)) + content


def frames(path: Path, *, complete: bool = False) -> Iterator[LogFrame]:
    """Intact frames of a log up to a truncated last one.

    complete: True for a file that was written as a whole, whose last frame is not truncated but
    damaged. Raises InputError if intact frames follow a damaged one, OSError.
    """
    end = count = 0
    with open_regular(path) as file:
        while (content := _next_frame(file)) is not None:
            end, count = end + HEADER.size + len(content), count + 1
            yield LogFrame(content, end)
        behind = _whole_frames(file, end + 1)
        size = os.fstat(file.fileno()).st_size
    if behind or (complete and size > end):
        raise InputError(
            f"{path}: is damaged at byte {end}; {count} frames before and {behind} "
            "after it are intact; "
            "restore the file from a copy, or remove it to compute its content again"
        )


def _next_frame(file: BinaryIO) -> bytes | None:
    """Content of the frame at the current position; None if it is not intact."""
    header = file.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    mark, checksum, length = HEADER.unpack(header)
    left = os.fstat(file.fileno()).st_size - file.tell()
    if mark != MARK or length > min(MOST, left):
        return None
    content = file.read(length)
    return content if len(content) == length and zlib.crc32(content) == checksum else None


def _whole_frames(file: BinaryIO, start: int) -> int:
    """Number of intact frames after a position, found by their marks."""
    count = 0
    file.seek(start)
    while block := file.read(BLOCK):
        at = block.find(MARK)
        # a mark may straddle the end of the block, so its last bytes are read again
        start += at if at >= 0 else max(1, len(block) - len(MARK) + 1)
        file.seek(start)
        if at >= 0:
            content = _next_frame(file)
            count += content is not None
            start += HEADER.size + len(content) if content is not None else 1
            file.seek(start)
    return count


class AppendLog:
    """Log opened for appending after its last intact frame, or after ``end``.

    With ``kept=False`` it need not survive a power failure. Raises MachineError.
    """

    def __init__(self, path: Path, end: int, *, kept: bool = True) -> None:
        self.path, self.end, self.kept = path, end, kept
        try:
            self.file = os.open(
                path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644
            )
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            os.ftruncate(self.file, end)
            os.lseek(self.file, end, os.SEEK_SET)
            if kept:
                # otherwise a power failure may remove the file although its content was flushed
                sync_folder(path.parent)
        except OSError as error:
            os.close(self.file)
            raise unwritable(path, error) from error

    def append(self, content: bytes) -> None:
        """Append a frame. Raises MachineError after truncating the log to its last frame."""
        data = frame_bytes(content)
        try:
            write_all(self.file, data)
        except OSError as error:
            self._cut()
            raise unwritable(self.path, error) from error
        self.end += len(data)

    def flush(self) -> None:
        """Return once all frames are on the disk.

        Raises MachineError; the state on disk is then unknown until the log is read.
        """
        try:
            if self.kept:
                os.fsync(self.file)
        except OSError as error:
            raise unwritable(self.path, error) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self.file)

    def _cut(self) -> None:
        """Remove a partially written frame; if that fails, its checksum reveals it."""
        try:
            os.ftruncate(self.file, self.end)
            os.lseek(self.file, self.end, os.SEEK_SET)
        except OSError:
            return


def write_all(file: int, data: bytes) -> None:
    """Write all bytes to a file descriptor. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def write_bytes(draft: Path, data: bytes) -> None:
    """Create a file with these bytes. Raises OSError."""
    file = os.open(
        draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o644
    )
    try:
        write_all(file, data)
    finally:
        os.close(file)
