"""Atomic writing of files, file names and table cells."""

import contextlib
import errno
import os
import pathlib
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator

from flexmbs.errors import InputError, MachineError
from flexmbs.files.file_types import check_same_kind
from flexmbs.files.paths import file_path

_DRAFT = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")  # names of `atomic_file`
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)  # also without a file name
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
    """Temporary name next to ``path``; the file is moved into place at the end.

    Raises MachineError, and InputError if a file of another type exists; the old file is then kept.
    """
    target = file_path(path)
    check_target(target)
    # unique: two runs never share a draft
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        yield draft
        with open(draft, "rb") as written:
            os.fsync(written.fileno())
        check_same_kind(target, draft)
        os.replace(draft, target)
        sync_folder(target.parent)
    except (OSError, RuntimeError) as error:  # the latter from HDF5
        raise unwritable(target, error) from error
    finally:
        # also without a draft, on a read-only file system
        with contextlib.suppress(OSError):
            draft.unlink()


def remove_drafts(folder: pathlib.Path) -> None:
    """Remove temporary files left by killed processes in a folder locked by this process."""
    for entry in folder.iterdir():
        if _DRAFT.fullmatch(entry.name) and entry.is_file():
            with contextlib.suppress(OSError):
                entry.unlink()


def sync_folder(folder: pathlib.Path) -> None:
    """Return once the names in a folder are on the disk.

    After a power failure there is then either the old or the new file.
    """
    try:
        file = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:  # Windows, or a folder that may be written to but not read
        return
    try:
        os.fsync(file)
    except OSError as error:
        # file systems without such a call
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(file)


def unwritable(path: pathlib.Path, error: Exception) -> MachineError:
    """Error for a file that cannot be written."""
    reason = (error.strerror or error) if isinstance(error, OSError) else error
    return MachineError(
        f"{path}: cannot be written ({reason}); check the folder, its permissions or the free space"
    )


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Iterator[pathlib.Path]:
    """Temporary folder, removed at the end. Raises MachineError where it cannot be written."""
    folder = None
    try:
        with tempfile.TemporaryDirectory(prefix=f"flexmbs-{purpose}-") as name:
            folder = pathlib.Path(name)
            yield folder
    except OSError as error:
        inside = folder is None or pathlib.Path(error.filename or "").is_relative_to(folder)
        if not inside and error.errno not in FULL:
            raise
        raise unwritable_temporary(error) from error


def unwritable_temporary(error: OSError) -> MachineError:
    """Error for the folder of temporary files."""
    return unwritable(pathlib.Path(tempfile.tempdir or "the temporary folder"), error)


def check_target(path: pathlib.Path) -> None:
    """Raise InputError if an output would replace something other than a regular file."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        raise InputError(
            f"{path}: is {file_kind(mode)}, which an output would replace; give the name of a file"
        )


def file_kind(mode: int) -> str:
    """Description of a file by its mode."""
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFREG: "a file",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


def ensure_folder(
    path: str | os.PathLike[str], remedy: str = "check the folder's permissions or choose another"
) -> pathlib.Path:
    """Folder, created if it is missing. Raises InputError, MachineError."""
    folder = file_path(path, "folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(f"{folder}: cannot be created ({error.strerror}); {remedy}") from None
    return folder


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text to ``path`` in UTF-8, atomically. Raises MachineError."""
    with (
        atomic_file(path) as draft,
        open(draft, "w", encoding="utf-8", errors="replace", newline="") as file,
    ):
        file.write(text)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes to ``path`` atomically. Raises MachineError."""
    with atomic_file(path) as draft:
        draft.write_bytes(data)


def slug(name: str) -> str:
    """Name usable in a file name: letters, digits, ``-`` and ``_``; never empty, never a path."""
    return re.sub(r"[^\w-]+", "-", name).strip("-")[:80] or "unnamed"


def spreadsheet_cell(text: str) -> str:
    """Text for a spreadsheet cell: a leading quote prevents its interpretation as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
