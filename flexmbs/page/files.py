"""Text files, complete or not there at all; names for them; cells for tables."""

import os
import pathlib
import re

from flexmbs.errors import MachineError

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """The text at ``path`` in UTF-8, written under a temporary name and moved into place. Raises MachineError."""
    target = pathlib.Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(draft, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError as error:
        reason = error.strerror or error
        raise MachineError(f"{target}: cannot be written ({reason}); mend the folder, its rights or the free space") from error
    finally:
        draft.unlink(missing_ok=True)


def slug(name: str) -> str:
    """A name as part of a file name: letters, digits, ``-`` and ``_``; never empty, never a path."""
    return re.sub(r"[^\w-]+", "-", name).strip("-")[:80] or "unnamed"


def cell(text: str) -> str:
    """A text for a table that spreadsheets open: one that they would take for a formula gets a leading quote."""
    return f"'{text}" if text.startswith(_FORMULA) else text
