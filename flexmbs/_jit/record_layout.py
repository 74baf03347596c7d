"""Memory layout of records: nested tuples of arrays and numbers as Numba stores them.

A word has 8 bytes; an array is its address, sizes and strides, in the order of Numba's
``ArrayModel``; `Scalars` are their address. Layouts and words of records that are passed
repeatedly, those of a model and its scratch, are stored, and `Mould` makes copies of a record in
one block of memory, in which only the addresses change.
"""

import functools
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from flexmbs._jit.fingerprints import fields_text
from flexmbs._jit.scalars import Scalars

R = TypeVar("R", bound=tuple[Any, ...])

RECORDS = 32  # stored layouts: a model, its scratch and workspaces are about ten
ALIGNED = 64  # bytes, a cache line: arrays of a mould begin at multiples of it


class Layout:
    """Class of a record and the layouts of its items, which determine Numba's type of it.

    There is one object for each layout; objects are compared by identity.
    """

    __slots__ = ("items", "kind")

    def __init__(self, kind: type, items: tuple[Any, ...]) -> None:
        self.kind, self.items = kind, items


_layouts: dict[tuple[Any, ...], Layout] = {}
_lock = threading.Lock()  # of `_remembered`: threads make records at the same time
_remembered: "OrderedDict[int, tuple[Any, Layout, bytes]]" = OrderedDict()


def remember(record: R) -> R:
    """Cache layout and words of a record that will not change; returns the record.

    The contents of its arrays may change, their places may not.
    """
    keep(*(_recalled(record) or (record, layout(record), words(record).tobytes())))
    return record


def keep(record: Any, found: Layout, content: bytes) -> None:
    """Cache layout and words of a record, dropping the oldest one."""
    with _lock:
        _remembered[id(record)] = record, found, content
        _remembered.move_to_end(id(record))
        while len(_remembered) > RECORDS:
            _remembered.popitem(last=False)


def _recalled(record: Any) -> tuple[Any, Layout, bytes] | None:
    """Cached (record, layout, words) of this very record; None if it is unknown."""
    found = _remembered.get(id(record))
    return found if found is not None and found[0] is record else None


def layout(value: Any) -> Any:
    """Layout of a value: array type and dimension, nested record, float or int.

    (type character, dimensions) of an array, the `Layout` of a record, the structure of `Scalars`.
    """
    if isinstance(value, np.ndarray):
        return value.dtype.char, value.ndim
    if isinstance(value, Scalars):
        return value.fields
    if isinstance(value, tuple):
        found = _recalled(value)
        if found is not None:
            return found[1]
        key = type(value), *map(layout, value)
        made = _layouts.get(key)
        return _layouts.setdefault(key, Layout(key[0], key[1:])) if made is None else made
    return float if isinstance(value, float) else int


@functools.cache
def layout_text(found: Any) -> str:
    """Layout as text, including field names."""
    if isinstance(found, Layout):
        return f"{fields_text(found.kind)}({','.join(map(layout_text, found.items))})"
    if isinstance(found, np.dtype):
        return str(found.descr)
    return found.__name__ if isinstance(found, type) else "".join(map(str, found))


def words_of(value: Any, out: "array[int]") -> None:
    """Append the 64-bit words of a record to ``out``."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError("records hold contiguous arrays only")
        out.extend(
            (
                0,
                0,
                value.size,
                value.itemsize,
                value.__array_interface__["data"][0],
                *value.shape,
                *value.strides,
            )
        )
    elif isinstance(value, tuple):
        found = _recalled(value)
        if found is not None:
            out.frombytes(found[2])
            return
        for each in value:
            words_of(each, out)
    elif isinstance(value, Scalars):
        out.append(_address(value.values))
    elif isinstance(value, float):
        out.frombytes(np.float64(value).tobytes())
    else:
        out.append(int(value))


def words(value: Any) -> np.ndarray:
    """64-bit words (n,) of a record, as compiled code reads it."""
    out = array("q")
    words_of(value, out)
    return np.frombuffer(out, np.int64)


def word_count(value: Any) -> int:
    """Number of words of a record."""
    if isinstance(value, np.ndarray):
        return 5 + 2 * value.ndim
    return sum(map(word_count, value)) if isinstance(value, tuple) else 1


def with_own_words(record: R, whole: Callable[[R], Any]) -> R:
    """Record whose array ``memory`` contains the words of ``whole(record)``.

    ``whole(record)`` is a record that contains it; `memory_of` passes these words.
    """
    own = np.zeros(word_count(whole(record)), np.int64)
    record = record._replace(memory=own)  # type: ignore[attr-defined]
    record.memory[:] = words(whole(record))  # type: ignore[attr-defined]
    return record


class _Own(NamedTuple):
    """Plan of an array that each copy has for itself."""

    shape: tuple[int, ...]
    dtype: Any
    place: int


class _Numbers(NamedTuple):
    """Plan of `Scalars` that each copy has for itself."""

    kind: type
    values: _Own


class _Items(NamedTuple):
    """Plan of a record that each copy has for itself."""

    kind: type
    items: list[Any]


class Mould(Generic[R]):
    """Factory of copies of a record, each in one block of memory; read-only arrays are shared.

    ``fill(record)`` completes the first copy by writing words of its own arrays into its arrays; in
    the other copies these words point to their own arrays.
    """

    def __init__(self, record: R, fill: Callable[[R], None]) -> None:
        """Prepare copies of a record whose writable arrays lie in one block, filled by ``fill``."""
        self._size = 0
        self._parts = self._planned(record)
        block = np.zeros(self._size + ALIGNED, np.uint8)
        first = _built(self._parts, block)
        _copy_values(record, first)
        fill(first)
        base, content = _address(block), block.view(np.int64)
        # no other word looks like an address in the block: integers are smaller, the bit patterns
        # of floating-point numbers larger
        self._base, self._addresses = (
            base,
            np.flatnonzero((content >= base) & (content < base + block.size)),
        )
        self._content = content

    def _planned(self, value: Any) -> Any:
        """Plan of a value: an offset in the block for each writable array, else the value."""
        if isinstance(value, np.ndarray) and value.flags.writeable:
            place, self._size = (
                self._size,
                self._size + -(-max(value.nbytes, 1) // ALIGNED) * ALIGNED,
            )
            return _Own(value.shape, value.dtype, place)
        if isinstance(value, Scalars) and value.values.flags.writeable:
            return _Numbers(type(value), self._planned(value.values))
        if isinstance(value, tuple):
            items = list(map(self._planned, value))
            return (
                _Items(type(value), items)
                if any(isinstance(each, (_Own, _Numbers, _Items)) for each in items)
                else value
            )
        return value

    def copy(self) -> R:
        """Copy of the record, with all arrays in one new memory block."""
        content = self._content.copy()
        content[self._addresses] += _address(content) - self._base
        made: R = _built(self._parts, content)
        return made


def _address(block: np.ndarray) -> int:
    """Address of the data of a block."""
    return int(block.__array_interface__["data"][0])


def _built(part: Any, block: np.ndarray) -> Any:
    """Value of a plan, with its arrays as views of a block."""
    if type(part) is _Own:
        return np.ndarray(part.shape, part.dtype, block, part.place)
    if type(part) is _Numbers:
        return part.kind(_built(part.values, block))
    if type(part) is _Items:
        return tuple.__new__(part.kind, [_built(each, block) for each in part.items])
    return part


def _copy_values(source: Any, target: Any) -> None:
    """Copy the values of the arrays of a record into those of its copy."""
    if isinstance(source, np.ndarray):
        if source is not target:
            target[...] = source
    elif isinstance(source, Scalars):
        _copy_values(source.values, target.values)
    elif isinstance(source, tuple):
        for one, other in zip(source, target):
            _copy_values(one, other)
