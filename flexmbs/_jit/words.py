"""Records as words: nested tuples of arrays and numbers as Numba lays them out in memory.

A word has 8 bytes; an array is its address, sizes and strides, as Numba's ``ArrayModel`` orders
them. Layouts and words of the records that are given again and again, a model's and its scratch,
are remembered, and `Mould` makes copies of a record in one block of memory, of which only the
addresses in it change.
"""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

R = TypeVar("R", bound=tuple[Any, ...])

RECORDS = 32  # that are remembered
ALIGNED = 64  # bytes at whose multiples the arrays of a mould begin


class Layout:
    """What Numba's type of a record depends on: its class and the layouts of its items. One object
    for each, compared as such.
    """

    __slots__ = ("items", "kind")

    def __init__(self, kind: type, items: tuple[Any, ...]) -> None:
        self.kind, self.items = kind, items


_layouts: dict[tuple[Any, ...], Layout] = {}
_lock = threading.Lock()  # of threads that make records at once
_remembered: "OrderedDict[int, tuple[Any, Layout, bytes]]" = OrderedDict()


def remember(record: R) -> R:
    """The record; from now on its layout and its words, which never change: arrays stay in their
    places.
    """
    keep(*(_recalled(record) or (record, layout(record), words(record).tobytes())))
    return record


def keep(record: Any, found: Layout, content: bytes) -> None:
    """These are the layout and the words of a record."""
    with _lock:
        _remembered[id(record)] = record, found, content
        _remembered.move_to_end(id(record))
        while len(_remembered) > RECORDS:
            _remembered.popitem(last=False)


def _recalled(record: Any) -> tuple[Any, Layout, bytes] | None:
    found = _remembered.get(id(record))
    return found if found is not None and found[0] is record else None


def layout(value: Any) -> Any:
    """(letter, dimensions) of an array, the `Layout` of a record, float or int."""
    if isinstance(value, np.ndarray):
        return value.dtype.char, value.ndim
    if isinstance(value, tuple):
        found = _recalled(value)
        if found is not None:
            return found[1]
        key = type(value), *map(layout, value)
        made = _layouts.get(key)
        return _layouts.setdefault(key, Layout(key[0], key[1:])) if made is None else made
    return float if isinstance(value, float) else int


def words_of(value: Any, out: "array[int]") -> None:
    """Append the words of a record."""
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
    elif isinstance(value, float):
        out.frombytes(np.float64(value).tobytes())
    else:
        out.append(int(value))


def words(value: Any) -> np.ndarray:
    """(n,) int64, the words of a record."""
    out = array("q")
    words_of(value, out)
    return np.frombuffer(out, np.int64)


def word_count(value: Any) -> int:
    """Number of words of a record."""
    if isinstance(value, np.ndarray):
        return 5 + 2 * value.ndim
    return sum(map(word_count, value)) if isinstance(value, tuple) else 1


def with_own_words(record: R, whole: Callable[[R], Any]) -> R:
    """The record with the words of ``whole(record)``, which holds it, in its array ``memory``, for
    `memory_of`.
    """
    record = record._replace(memory=np.zeros(word_count(whole(record)), np.int64))  # type: ignore[attr-defined]
    record.memory[:] = words(whole(record))  # type: ignore[attr-defined]
    return record


class _Own(NamedTuple):
    """An array of each copy."""

    shape: tuple[int, ...]
    dtype: Any
    place: int


class _Items(NamedTuple):
    """A record of each copy."""

    kind: type
    items: list[Any]


class Mould(Generic[R]):
    """Copies of a record in one block of memory each; arrays that must not be written to are those
    of the record itself.

    ``fill(record)`` completes a first copy: the words of its own arrays in its own arrays, which
    all copies then have of theirs.
    """

    def __init__(self, record: R, fill: Callable[[R], None]) -> None:
        self._size = 0
        self._parts = self._planned(record)
        block = np.zeros(self._size + ALIGNED, np.uint8)
        first = _built(self._parts, block)
        _copy_values(record, first)
        fill(first)
        base, content = _address(block), block.view(np.int64)
        # no other word looks like an address in the block: sizes are smaller, numbers of any
        # magnitude larger
        self._base, self._addresses = (
            base,
            np.flatnonzero((content >= base) & (content < base + block.size)),
        )
        self._content = content

    def _planned(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.flags.writeable:
            place, self._size = (
                self._size,
                self._size + -(-max(value.nbytes, 1) // ALIGNED) * ALIGNED,
            )
            return _Own(value.shape, value.dtype, place)
        if isinstance(value, tuple):
            items = list(map(self._planned, value))
            return (
                _Items(type(value), items)
                if any(isinstance(each, (_Own, _Items)) for each in items)
                else value
            )
        return value

    def copy(self) -> R:
        """A copy of the record as it was filled."""
        content = self._content.copy()
        content[self._addresses] += _address(content) - self._base
        made: R = _built(self._parts, content)
        return made


def _address(block: np.ndarray) -> int:
    return int(block.__array_interface__["data"][0])


def _built(part: Any, block: np.ndarray) -> Any:
    if type(part) is _Own:
        return np.ndarray(part.shape, part.dtype, block, part.place)
    if type(part) is _Items:
        return tuple.__new__(part.kind, [_built(each, block) for each in part.items])
    return part


def _copy_values(source: Any, target: Any) -> None:
    """The values of the arrays of a record into those of its copy."""
    if isinstance(source, np.ndarray):
        if source is not target:
            target[...] = source
    elif isinstance(source, tuple):
        for one, other in zip(source, target):
            _copy_values(one, other)
