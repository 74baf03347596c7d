"""What one process at a time does: locks of the system on files, which end with the process that
holds them.
"""

import contextlib
import pathlib
from collections.abc import Iterator

try:
    import fcntl
except ImportError:
    # Windows: two processes may do the same at the same time, and each writes whole files
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def locked(folder: str | None, name: str, *, wait: bool = True) -> Iterator[bool]:
    """The lock of a name in a folder; gives False where another process has it, for whose end
    ``wait`` waits.
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
        except OSError:  # a system of files without locks, or that cannot be written to
            pass
        yield free
