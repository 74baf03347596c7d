"""Output files reserved for one run: looked at before the work begins, and locked against other runs until it ends.

The lock is the system's on a file beside the output, ``.NAME.lock``: it ends with the process that holds it, however that ends.
Where the system has no such locks, runs are not kept apart; files are whole all the same (`whole_file`).
"""

import contextlib
import datetime
import os
from collections.abc import Iterator
from pathlib import Path

from flexmbs.errors import InputError
from flexmbs.files.kinds import check_kind
from flexmbs.files.output import check_target, unwritable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def reserved(*outputs: tuple[Path | None, str]) -> Iterator[None]:
    """Outputs (path, kind of `kinds`) that nobody else writes while the block runs. Raises InputError for places that are no
    places for a file, for files of another kind and for those that another run writes, MachineError where nothing can be
    written."""
    kinds = [(path, kind) for path, kind in outputs if path is not None]
    given = [path for path, _ in kinds]
    missing = [path for path in given if not path.absolute().parent.is_dir()]
    if missing:
        raise InputError(*(f"{path}: the folder '{path.parent}' does not exist; make it first" for path in missing))
    if len({path.absolute() for path in given}) < len(given):
        raise InputError(f"{given[0]}: is named for several outputs; give each its own name")
    with contextlib.ExitStack() as stack:
        for path, kind in kinds:
            stack.enter_context(_locked(path, kind))
        yield


@contextlib.contextmanager
def _locked(path: Path, kind: str) -> Iterator[None]:
    """The lock of one output."""
    check_target(path)
    check_kind(path, kind)
    lock = path.with_name(f".{path.name}.lock")
    try:
        file = _taken(lock, path)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(file)


def _taken(lock: Path, path: Path) -> int:
    """The lock's file, open and held. Raises InputError where another run holds it."""
    while True:
        file = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        try:
            if not _held(file):
                holder = os.read(file, 100).decode("ascii", errors="replace").strip()
                raise InputError(f"{path}: another run writes it ({holder}); wait for it, or choose another file with -o")
            if _is_still(file, lock):
                os.truncate(file, 0)
                since = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
                os.write(file, f"process {os.getpid()} since {since}\n".encode())
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # the run before has just removed it


def _held(file: int) -> bool:
    """Whether the lock could be taken; True where the system or the file system has no locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_still(file: int, lock: Path) -> bool:
    """Whether the open file is the one that stands there under its name."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(lock))
    except FileNotFoundError:
        return False
