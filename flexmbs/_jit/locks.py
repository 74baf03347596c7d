"""Locks on files for work that one process at a time does.

They end with the process that holds them.
"""

import contextlib
import pathlib
from collections.abc import Iterator

try:
    import fcntl
except ImportError:
    # Windows: two processes may compile the same kernel; each replaces whole files
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def locked(folder: str | None, name: str, *, wait: bool = True) -> Iterator[bool]:
    """Context that holds the lock of a name in a folder; False if another process has it.

    wait: until the other process has released it.
    """
    if folder is None or fcntl is None:
        yield True
        return
    with contextlib.ExitStack() as stack:
        free = True
        try:
            place = pathlib.Path(folder, "locks")
            place.mkdir(mode=0o700, exist_ok=True)
            file = stack.enter_context(open(place / name, "ab"))
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            free = False
        except OSError:  # a file system without locks, or read-only
            pass
        yield free
