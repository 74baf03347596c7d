"""File object for HDF5 whose writes never fail.

The library cannot recover from a failed write: identifiers stay open, further errors follow when
they are closed, and the process may end with a segmentation fault. The first error is therefore
stored and the remaining content is dropped.
"""

import os
from pathlib import Path


class HDF5Draft:
    """Binary file for h5py's driver "fileobj".

    ``error``: the first failed write, to be raised after HDF5 has closed the file.
    """

    def __init__(self, path: Path) -> None:
        self.error: OSError | None = None
        self._size = self._at = 0
        self._file = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o666
        )

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position, relative to the end including dropped content for SEEK_END."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        """Current position."""
        return self._at

    def read(self, size: int) -> bytes:
        """Bytes from the position; zeros replace dropped content."""
        found = b""
        try:
            os.lseek(self._file, self._at, os.SEEK_SET)
            while len(found) < size and (more := os.read(self._file, size - len(found))):
                found += more
        except OSError as error:
            self.error = self.error or error
        self._at += size
        return found.ljust(size, b"\0")

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer from the position."""
        view = memoryview(buffer).cast("B")
        view[:] = self.read(len(view))
        return len(view)

    def write(self, data: memoryview) -> int:
        """Write all bytes, or drop them after an error."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            if self.error is None:
                os.lseek(self._file, self._at, os.SEEK_SET)
            while self.error is None and len(rest):
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            self.error = error
        self._at += size
        self._size = max(self._size, self._at)
        return size

    def truncate(self, size: int) -> int:
        """Set the size of the content."""
        try:
            if self.error is None:
                os.truncate(self._file, size)
        except OSError as error:
            self.error = error
        self._size = size
        return size

    def flush(self) -> None:
        """No action: no content is buffered."""
