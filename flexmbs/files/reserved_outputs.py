"""Output files reserved for one run.

Checked before the run starts and locked against other runs until it ends.

The lock is a system lock on a file next to the output, ``.NAME.lock``, which ends with the
process however that ends. Systems without such locks cannot separate runs; files are still
written atomically (`atomic_file`).
"""

import contextlib
import datetime
import os
from collections.abc import Iterator
from pathlib import Path

from flexmbs.errors import InputError
from flexmbs.files.file_types import check_kind
from flexmbs.files.output import check_target, unwritable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def reserved(*outputs: tuple[Path | None, str]) -> Iterator[None]:
    """Context in which outputs (path, kind of `file_types`) are locked against other runs.

    Raises InputError for invalid paths, files of another type and files that another run is
    writing, MachineError.

    Raises InputError for invalid paths, files of another type and files that another run is
    writing, MachineError if the folder is not writable.
    """
    kinds = [(path, kind) for path, kind in outputs if path is not None]
    given = [path for path, _ in kinds]
    missing = [path for path in given if not path.absolute().parent.is_dir()]
    if missing:
        raise InputError(
            *(
                f"{path}: the folder '{path.parent}' does not exist; create it first"
                for path in missing
            )
        )
    if len({path.absolute() for path in given}) < len(given):
        raise InputError(f"{given[0]}: is used for several outputs; give each its own name")
    with contextlib.ExitStack() as stack:
        for path, kind in kinds:
            stack.enter_context(_locked(path, kind))
        yield


@contextlib.contextmanager
def _locked(path: Path, kind: str) -> Iterator[None]:
    """Context in which one output is locked."""
    check_target(path)
    check_kind(path, kind)
    with locked_by(path.with_name(f".{path.name}.lock"), path):
        yield


@contextlib.contextmanager
def locked_by(lock: Path, path: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock ``path`` by the file ``lock`` against other runs while the block runs.

    Raises InputError if another run holds the lock, unless ``wait``; MachineError.
    """
    try:
        file = _open_lock_file(lock, path, wait)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(file)


def _open_lock_file(lock: Path, path: Path, wait: bool) -> int:
    """Opened and locked lock file. Raises InputError if another run holds it, unless ``wait``."""
    while True:
        file = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        try:
            if not acquired(file, wait):
                holder = os.read(file, 100).decode("ascii", errors="replace").strip()
                raise InputError(
                    f"{path}: another run is writing it ({holder}); wait for it, or "
                    "choose another file with -o"
                )
            if _is_still(file, lock):
                _name_holder(file, lock)
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # the previous run has just removed it


def _name_holder(file: int, lock: Path) -> None:
    """Write this process into the locked file; remove the file if the disk is full."""
    try:
        os.truncate(file, 0)
        since = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        os.write(file, f"process {os.getpid()} since {since}\n".encode())
    except OSError:
        lock.unlink()
        raise


def acquired(file: int, wait: bool) -> bool:
    """True if the lock of an open file was acquired, or the system has no locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_still(file: int, lock: Path) -> bool:
    """True if the open file is still the file at its path."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(lock))
    except FileNotFoundError:
        return False
