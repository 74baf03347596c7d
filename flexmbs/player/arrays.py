"""Arrays as one compressed text.

Integers with a given step, bytes sorted by significance, deflate, base64.

An array is stored component by component along its last axis, little-endian, with the lowest bytes
of all numbers first: neighbouring numbers and the high bytes of small or slowly varying numbers are
similar and compress well. ``arrays.js`` reads them.

"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZES = {"i2": 32767, "i4": 2**31 - 1}


class Buffer:
    """Collection of arrays; each `add` returns the description by which the script finds the array.

    Equal bytes are stored once.
    """

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._length = 0

    def add(
        self, values: NDArray[Any], kind: str, *, delta: bool = False, **more: Any
    ) -> dict[str, Any]:
        """Add an array as ``kind`` "i2", "i4", "u1" or "f4".

        ``delta``: stored as differences along the first axis.
        """
        plain = np.ascontiguousarray(values, dtype=f"<{kind}")
        stored = np.diff(plain, axis=0, prepend=np.zeros_like(plain[:1])) if delta else plain
        apart = np.ascontiguousarray(np.moveaxis(stored, -1, 0))
        planes = apart.reshape(-1).view(np.uint8).reshape(-1, plain.dtype.itemsize).T.tobytes()
        at = self._places.setdefault(planes, self._length)
        if at == self._length:
            self._length += len(planes)
        return {"kind": kind, "shape": list(plain.shape), "at": at, "delta": delta, **more}

    def steps(
        self,
        values: NDArray[Any],
        step: float,
        *,
        kind: str = "i2",
        offset: Sequence[float] | None = None,
        delta: bool = False,
    ) -> dict[str, Any]:
        """Add values ≈ offset + step · integers, with one offset per entry of the last axis.

        The step is enlarged if the integers would overflow.
        """
        about = np.zeros(values.shape[-1]) if offset is None else np.asarray(offset, float)
        moved = np.asarray(values, float) - about
        step = max(float(step), float(np.abs(moved).max(initial=0.0)) / SIZES[kind], 1e-300)
        return self.add(np.rint(moved / step), kind, delta=delta, step=step, offset=about.tolist())

    def text(self) -> str:
        """All stored arrays as one base64 text."""
        return base64.b64encode(zlib.compress(b"".join(self._places), 6)).decode()


def read(text: str, given: dict[str, Any]) -> NDArray[np.float64]:
    """Decode a stored array, as the script of the page does."""
    kind, shape, raw = given["kind"], tuple(given["shape"]), zlib.decompress(base64.b64decode(text))
    width, n = np.dtype(kind).itemsize, int(np.prod(shape))
    planes = np.frombuffer(raw, np.uint8, width * n, given["at"]).reshape(width, n)
    numbers = np.moveaxis(
        np.ascontiguousarray(planes.T).reshape(-1).view(f"<{kind}").reshape(shape[-1], *shape[:-1]),
        0,
        -1,
    )
    if given.get("delta"):
        numbers = np.cumsum(numbers, axis=0, dtype=numbers.dtype)
    return np.asarray(
        numbers * given.get("step", 1.0) + np.asarray(given.get("offset", 0.0)), float
    )
