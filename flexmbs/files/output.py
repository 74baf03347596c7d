"""Files that are complete or not there at all; names for them; cells for tables."""

import contextlib
import os
import pathlib
import re
import secrets
import stat
from collections.abc import Iterator

from flexmbs.errors import InputError, MachineError
from flexmbs.files.kinds import check_same_kind

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
    """A temporary name beside ``path``; what is written there is moved into place at the end. Raises MachineError, and InputError
    where a file of another kind is there; the old file stays."""
    target = pathlib.Path(path)
    check_target(target)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")  # two runs never share one
    try:
        yield draft
        with open(draft, "rb") as written:
            os.fsync(written.fileno())
        check_same_kind(target, draft)
        os.replace(draft, target)
    except (OSError, RuntimeError) as error:  # the latter from HDF5
        raise unwritable(target, error) from error
    finally:
        with contextlib.suppress(OSError):  # also where it never came to be, on a read-only file system
            draft.unlink()


def unwritable(path: pathlib.Path, error: Exception) -> MachineError:
    """The one line about a file that cannot be written."""
    reason = (error.strerror or error) if isinstance(error, OSError) else error
    return MachineError(f"{path}: cannot be written ({reason}); mend the folder, its rights or the free space")


def check_target(path: pathlib.Path) -> None:
    """Raise InputError where something else than a regular file stands in the place of an output: it would be replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: is {file_kind(mode)}, which an output would replace; give the name of a file")


def file_kind(mode: int) -> str:
    """What a mode says of a thing in a folder."""
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFREG: "a file"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """The text at ``path`` in UTF-8, whole or not at all. Raises MachineError."""
    with whole_file(path) as draft, open(draft, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)


def slug(name: str) -> str:
    """A name as part of a file name: letters, digits, ``-`` and ``_``; never empty, never a path."""
    return re.sub(r"[^\w-]+", "-", name).strip("-")[:80] or "unnamed"


def cell(text: str) -> str:
    """A text for a table that spreadsheets open: one that they would take for a formula gets a leading quote."""
    return f"'{text}" if text.startswith(_FORMULA) else text
