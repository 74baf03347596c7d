"""Files that are complete or not there at all; names for them; cells for tables."""

import contextlib
import os
import pathlib
import re
from collections.abc import Iterator

from flexmbs.errors import MachineError

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
    """A temporary name beside ``path``; what is written there is moved into place at the end. Raises MachineError; the old file
    stays."""
    target = pathlib.Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield draft
        with open(draft, "rb") as written:
            os.fsync(written.fileno())
        os.replace(draft, target)
    except (OSError, RuntimeError) as error:  # the latter from HDF5
        reason = (error.strerror or error) if isinstance(error, OSError) else error
        raise MachineError(f"{target}: cannot be written ({reason}); mend the folder, its rights or the free space") from error
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """The text at ``path`` in UTF-8, whole or not at all. Raises MachineError."""
    with whole_file(path) as draft, open(draft, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def slug(name: str) -> str:
    """A name as part of a file name: letters, digits, ``-`` and ``_``; never empty, never a path."""
    return re.sub(r"[^\w-]+", "-", name).strip("-")[:80] or "unnamed"


def cell(text: str) -> str:
    """A text for a table that spreadsheets open: one that they would take for a formula gets a leading quote."""
    return f"'{text}" if text.startswith(_FORMULA) else text
