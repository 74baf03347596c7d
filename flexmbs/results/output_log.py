"""Log of the outputs of a run in frames.

The first frame names their fields, each of the others contains some rows. A row consists of all
numbers of an output, field after field. Reading stops at the first frame that is damaged or out of
order.
"""

import json
import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.files.append_log import MOST, AppendLog, frames

FORMAT = "flexmbs-outputs/1"
FIRST = struct.Struct("<q")  # number of the first row of a frame
PIECE = 1 << 22  # bytes of rows in a frame
Fields = list[tuple[str, tuple[int, ...]]]


class LoggedRows(NamedTuple):
    """Content of a log.

    Fields with their shapes, rows (n, width), and the end positions of its frames with the number
    of rows up to them.
    """

    fields: Fields
    values: np.ndarray
    ends: list[tuple[int, int]]

    def columns(self) -> dict[str, np.ndarray]:
        """Logged outputs by field."""
        found, at = {}, 0
        for name, shape in self.fields:
            n = math.prod(shape)
            found[name] = np.ascontiguousarray(self.values[:, at : at + n]).reshape(
                len(self.values), *shape
            )
            at += n
        return found


def fields_of(out: tuple[np.ndarray, ...]) -> Fields:
    """Names and shapes of the outputs, given as a NamedTuple of arrays over time."""
    return [(name, array.shape[1:]) for name, array in out._asdict().items()]  # type: ignore[attr-defined]


def read_rows(path: Path) -> LoggedRows | None:
    """Rows of a log; None without a log or without intact frames. Raises InputError, OSError."""
    try:
        found = iter(list(frames(path)))
    except FileNotFoundError:
        return None
    head = next(found, None)
    if head is None:
        return None
    fields = _fields(path, head.content)
    width = sum(math.prod(shape) for _, shape in fields)
    pieces, n, ends = [], 0, [(head.end, 0)]
    for content, end in found:
        (first,) = FIRST.unpack_from(content) if len(content) >= FIRST.size else (-1,)
        rest = len(content) - FIRST.size
        if first != n or width == 0 or rest % (8 * width):
            break
        pieces.append(np.frombuffer(content, "<f8", offset=FIRST.size).reshape(-1, width))
        n += len(pieces[-1])
        ends.append((end, n))
    return LoggedRows(fields, np.concatenate([np.zeros((0, width)), *pieces]), ends)


def _fields(path: Path, content: bytes) -> Fields:
    """Names and shapes of the fields from the header of a log. Raises `InputError`."""
    try:
        head = json.loads(content)
        if head["format"] != FORMAT:
            raise InputError(
                f"{path}: has format {head['format']!r}; this version reads {FORMAT!r}"
            )
        fields = [(str(name), tuple(int(n) for n in shape)) for name, shape in head["fields"]]
        if not all(0 <= n <= MOST for _, shape in fields for n in shape) or (
            8 * sum(math.prod(shape) for _, shape in fields) > MOST
        ):
            raise ValueError("a row longer than a frame")
        return fields
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise InputError(
            f"{path}: does not start as a log of outputs; start the run again"
        ) from None


class OutputLog:
    """Log of a run, open for writing after the ``kept`` existing rows.

    Raises InputError, MachineError.
    """

    def __init__(
        self, path: Path, out: tuple[np.ndarray, ...], there: LoggedRows | None, kept: int
    ) -> None:
        """Log that appends outputs after those already ``there``."""
        self.out, self.n = out, 0
        end, self.n = (
            max((place for place in there.ends if place[1] <= kept), default=(0, 0))
            if there
            else (0, 0)
        )
        self.log = AppendLog(path, end)
        try:
            if end == 0:
                self.log.append(json.dumps({"format": FORMAT, "fields": fields_of(out)}).encode())
            self.write(kept)
        except BaseException:
            self.log.close()
            raise

    def write(self, reached: int) -> None:
        """Write the new rows up to ``reached``. Raises MachineError."""
        count = max(PIECE // max(row_bytes(self.out), 1), 1)
        while self.n < reached:
            last = min(self.n + count, reached)
            self.log.append(
                FIRST.pack(self.n) + rows(self.out, self.n, last).astype("<f8").tobytes()
            )
            self.n = last

    def flush(self) -> None:
        """Return once the rows are on the disk. Raises MachineError."""
        self.log.flush()

    def close(self) -> None:
        """Close the file."""
        self.log.close()


def rows(out: Sequence[np.ndarray], first: int, last: int) -> np.ndarray:
    """Values (last − first, width) of the outputs from ``first`` up to ``last``."""
    return np.concatenate([array[first:last].reshape(last - first, -1) for array in out], axis=1)


def row_bytes(out: Sequence[np.ndarray]) -> int:
    """Number of bytes of one output."""
    return 8 * sum(math.prod(array.shape[1:]) for array in out)
