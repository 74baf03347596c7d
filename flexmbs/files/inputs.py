"""Input files: regular files only, within the available memory.

A device never ends, a pipe may never begin, and a sparse file can have any size; therefore all
input files are opened here.
"""

import contextlib
import math
import os
import stat
from typing import BinaryIO

from flexmbs.console.memory import free_memory
from flexmbs.errors import InputError
from flexmbs.files.output import file_kind
from flexmbs.files.paths import open_without_waiting

SHARE = 0.25  # of the free memory: content exists as text, lines and numbers at the same time


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Regular file, opened for reading.

    Raises InputError for anything else, OSError if it cannot be opened.
    """
    try:
        file = open(path, "rb", opener=open_without_waiting)  # noqa: SIM115  the caller closes it
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISREG(mode):
            return file
        file.close()
    except IsADirectoryError:
        mode = stat.S_IFDIR
    raise InputError(f"{path}: is {file_kind(mode)}; only regular files are read")


def read_bytes(path: str | os.PathLike[str], most: float = math.inf) -> bytes:
    """Content of a regular file.

    Raises InputError if it exceeds ``most`` bytes or a share of the free memory, OSError.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        limit = min(most, SHARE * free_memory())
        if size > limit:
            raise InputError(
                f"{path}: has {size / 1e6:.0f} MB; at most {limit / 1e6:.0f} MB are read "
                "on this machine"
            )
        return file.read(size)


def read_text(path: str | os.PathLike[str]) -> str:
    """Text of a regular UTF-8 file, with other bytes replaced. Raises as `read_bytes`."""
    return (
        read_bytes(path).decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    )


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise InputError for a path that exists but is not a regular file."""
    with contextlib.suppress(OSError):
        open_regular(path).close()
