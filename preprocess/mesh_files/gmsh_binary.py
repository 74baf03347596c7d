"""Binary sections of Gmsh files.

Every count is checked against the remaining bytes before memory is allocated.

Source: Gmsh reference manual, sections "MSH file format version 4.1" and "version 2".
"""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh_files.gmsh_types import DIMENSION, TYPES, Element, Entities

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

INT, SIZE, REAL = np.dtype("<i4"), np.dtype("<u8"), np.dtype("<f8")
# item numbers; larger unsigned ones come from damaged files and would overflow in sums of signed
# integers
MOST = 2**62


class Stream:
    """Sequential reader of the numbers of one section."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data, self._name, self._at = data, name, 0

    def array(self, dtype: np.dtype, count: int) -> np.ndarray:
        """Next numbers. Raises InputError if the section is too short."""
        size = dtype.itemsize * count
        if not 0 <= size <= len(self._data) - self._at:
            raise InputError(
                f"${self._name} claims {count} numbers in a section of {len(self._data)} "
                "bytes; the file is damaged"
            )
        values = np.frombuffer(self._data, dtype, count, self._at)
        self._at += size
        return values

    def ints(self, count: int) -> list[int]:
        """Next ``count`` integers."""
        return [int(value) for value in self.array(INT, count)]

    def count(self, what: str) -> int:
        """Number of items, each of at least one byte."""
        value = int(self.array(SIZE, 1)[0])
        return self.possible(value, what)

    def possible(self, value: int, what: str) -> int:
        """Count, checked against the size of the section."""
        if not 0 <= value <= len(self._data):
            raise InputError(
                f"claims {value} {what} in a section of {len(self._data)} bytes; the file "
                "is damaged"
            )
        return value

    def line(self) -> int:
        """Text count at the start of a section of version 2."""
        match = re.compile(rb"\s*(\d{1,30})[ \t\r]*\n").match(self._data, self._at)
        if not match:
            raise InputError(f"${self._name} does not start with a count; the file is damaged")
        self._at = match.end()
        return self.possible(int(match.group(1)), self._name.lower())

    @property
    def left(self) -> int:
        """Number of unread bytes."""
        return len(self._data) - self._at


def binary_sections(data: bytes) -> dict[str, bytes]:
    """Bytes of each section between the line $Name and $EndName."""
    sections, at = {}, 0
    while (start := re.compile(rb"^\$([A-Za-z]{1,40})[ \r]*\n", re.M).search(data, at)) is not None:
        end = data.find(b"$End" + start.group(1), start.end())
        if end < 0:
            break
        sections[start.group(1).decode()] = data[start.end() : end]
        at = end + 4 + len(start.group(1))
    return sections


def stream_entities(stream: Stream) -> Entities:
    """Physical groups of each entity (dimension, tag)."""
    groups: Entities = {}
    counts = [stream.count("entities") for _ in range(4)]
    for dimension, count in enumerate(counts):
        for _ in range(count):
            (tag,) = stream.ints(1)
            stream.array(REAL, 3 if dimension == 0 else 6)
            groups[dimension, tag] = tuple(
                (dimension, abs(each)) for each in stream.ints(stream.count("groups"))
            )
            if dimension:
                stream.ints(stream.count("boundaries"))
    return groups


def stream_partitioned_entities(stream: Stream) -> Entities:
    """Physical groups of each entity (dimension, tag) of a partitioned mesh."""
    groups: Entities = {}
    stream.count("partitions")
    stream.ints(2 * stream.count("ghost entities"))
    counts = [stream.count("entities") for _ in range(4)]
    for dimension, count in enumerate(counts):
        for _ in range(count):
            tag, _, _ = stream.ints(3)
            stream.ints(stream.count("partitions"))
            stream.array(REAL, 3 if dimension == 0 else 6)
            groups[dimension, tag] = tuple(
                (dimension, abs(each)) for each in stream.ints(stream.count("groups"))
            )
            if dimension:
                stream.ints(stream.count("boundaries"))
    return groups


def stream_nodes(stream: Stream, wide: bool) -> tuple[Indices, Array]:
    """Numbers and positions of nodes; wide: version 4.1."""
    if not wide:
        table = stream.array(np.dtype([("id", INT), ("x", REAL, 3)]), stream.line())
        return table["id"].astype(np.int64), table["x"].astype(float)
    n_blocks, total = stream.count("node blocks"), stream.count("nodes")
    stream.array(SIZE, 2)
    ids, points = [], []
    for _ in range(n_blocks):
        dimension, _, parametric = stream.ints(3)
        count = stream.count("nodes")
        ids.append(_signed(stream.array(SIZE, count)))
        width = 3 + (dimension if parametric and 0 <= dimension <= 3 else 0)
        points.append(stream.array(REAL, width * count).reshape(count, width)[:, :3])
    numbers = np.concatenate([np.zeros(0, np.int64), *ids])
    if len(numbers) != total:
        raise InputError(f"$Nodes declares {total} nodes, its blocks have {len(numbers)}")
    return numbers, np.concatenate([np.zeros((0, 3)), *points])


def stream_elements(stream: Stream, wide: bool, entities: Entities) -> Iterator[Element]:
    """Number, type, groups and nodes of each element; wide: version 4.1."""
    if not wide:
        yield from _elements_2(stream)
        return
    n_blocks, _ = stream.count("element blocks"), stream.count("elements")
    stream.array(SIZE, 2)
    for _ in range(n_blocks):
        dimension, tag, kind = stream.ints(3)
        width = 1 + _nodes(kind)
        count = stream.count("elements")
        table = _signed(stream.array(SIZE, width * count)).reshape(count, width)
        groups = entities.get((dimension, tag), ())
        yield from ((row[0], kind, groups, row[1:]) for row in table.tolist())


def _elements_2(stream: Stream) -> Iterator[Element]:
    """Elements of version 2.2 from a binary stream. Raises `InputError`."""
    total, found = stream.line(), 0
    while found < total:
        kind, count, n_tags = stream.ints(3)
        width = 1 + stream.possible(n_tags, "tags") + _nodes(kind)
        if stream.possible(count, "elements") == 0:
            raise InputError("$Elements has an empty block; the file is damaged")
        table = stream.array(INT, width * count).reshape(count, width)
        found += count
        dimension = DIMENSION.get(kind, 3)
        for row in table.tolist():
            groups = ((dimension, abs(row[1])),) if n_tags and row[1] else ()
            yield row[0], kind, groups, row[1 + n_tags :]


def _nodes(kind: int) -> int:
    """Number of nodes of an element type."""
    if kind not in TYPES:
        raise InputError(f"element type {kind} is unknown")
    return TYPES[kind][1]


def _signed(values: np.ndarray) -> Indices:
    """Item numbers, checked to fit into signed integers."""
    if len(values) and int(values.max()) > MOST:
        raise InputError(f"number {int(values.max())} is too large; the file is damaged")
    return values.astype(np.int64)
