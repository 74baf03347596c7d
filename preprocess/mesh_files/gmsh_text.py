"""Text sections of Gmsh files.

Every count is checked against the file size before memory is allocated.

Source: Gmsh reference manual, section "MSH file format".
"""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh_files import plain_numbers
from preprocess.mesh_files.gmsh_types import DIMENSION, TYPES, Element, Entities

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Lines:
    """Lines of one section with their location in the file."""

    def __init__(self, path: Path, name: str, first: int, lines: list[str]) -> None:
        self.path, self.name, self.number, self.lines = path, name, first, iter(lines)

    def numbers(self, least: int, what: str) -> list[str]:
        """Fields of the next line, at least so many.

        Raises InputError if the section ends or the line is too short.
        """
        line = next(self.lines, None)
        self.number += 1
        if line is None:
            raise InputError(
                f"{self.path}:{self.number}: ${self.name} ends early: expected {what}; "
                "the file is truncated"
            )
        fields = line.split()
        if len(fields) < least:
            raise InputError(
                f"{self.path}:{self.number}: expected {what}, found '{line.strip()[:60]}'"
            )
        return fields

    def table(self, count: int, dtype: type, width: int = 0) -> np.ndarray | None:
        """Next lines as numbers (count, width), parsed at once.

        None, with nothing consumed, if they must be parsed one by one. width: least number of
        columns if positive, exact number if negative, any if zero.
        """
        chunk = list(itertools.islice(self.lines, count))
        try:
            table = (
                np.loadtxt(chunk, dtype, comments=None, ndmin=2)
                if any(map(str.strip, chunk))
                else np.zeros((0, 0))
            )
        except (ValueError, OverflowError):
            table = np.zeros((0, 0))
        if (
            len(table) == count > 0
            and table.shape[1] >= width
            and (width >= 0 or table.shape[1] == -width)
        ):
            self.number += count
            return table
        self.lines = itertools.chain(chunk, self.lines)
        return None

    def position(self, least: int, what: str) -> tuple[list[str], list[float]]:
        """Fields of the next line, and the last three of them as numbers."""
        fields = self.numbers(least, what)
        try:
            return fields, [plain_numbers.real(f) for f in fields[least - 3 : least]]
        except ValueError:
            raise InputError(
                f"{self.path}:{self.number}: expected {what}, found '{' '.join(fields)[:60]}'"
            ) from None

    def integers(self, least: int, what: str) -> list[int]:
        """The next line as integers."""
        fields = self.numbers(least, what)
        if not all(re.fullmatch(r"[+-]?\d{1,18}", f) for f in fields):
            raise InputError(
                f"{self.path}:{self.number}: expected {what}, found '{' '.join(fields)[:60]}'"
            )
        return [int(f) for f in fields]


def text_sections(path: Path, lines: list[str]) -> dict[str, Lines]:
    """Lines of each section $Name … $EndName."""
    sections, name, first = {}, "", 0
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not name and text.startswith("$"):
            name, first = text[1:], number
        elif name and text == f"$End{name}":
            sections[name] = Lines(path, name, first, lines[first : number - 1])
            name = ""
    if name:
        raise InputError(
            f"{path}:{first}: section ${name} has no $End{name} up to the last line, "
            f"{len(lines)}; the file is truncated"
        )
    return sections


def _possible(lines: Lines, count: int, what: str, n_bytes: int) -> int:
    """Count, checked against the file size."""
    if not 0 <= count <= n_bytes:
        raise InputError(
            f"{lines.path}:{lines.number}: claims {count} {what} in a file of {n_bytes} "
            "bytes; the file is damaged"
        )
    return count


def group_names(lines: Lines) -> dict[tuple[int, int], str]:
    """Names of physical groups: lines of dimension, tag and name in quotes."""
    next(lines.lines, None)
    found = (re.fullmatch(r'\s*(\d)\s+(\d{1,18})\s+"(.*)"\s*', line) for line in lines.lines)
    return {(int(match.group(1)), int(match.group(2))): match.group(3) for match in found if match}


def text_entities(lines: Lines, n_bytes: int) -> Entities:
    """Physical groups of each entity (dimension, tag)."""
    groups: Entities = {}
    counts = lines.integers(4, "counts of points, curves, surfaces, volumes")[:4]
    for dimension, count in enumerate(counts):
        at = 4 if dimension == 0 else 7
        for _ in range(_possible(lines, count, "entities", n_bytes)):
            fields = lines.numbers(at + 1, "an entity: tag, box, number of groups, groups")
            tag, n = _integer(lines, fields[0]), _integer(lines, fields[at])
            tags = [_integer(lines, f) for f in fields[at + 1 : at + 1 + n]]
            groups[dimension, tag] = tuple((dimension, abs(each)) for each in tags)
    return groups


def text_partitioned_entities(lines: Lines, n_bytes: int) -> Entities:
    """Physical groups of each entity (dimension, tag) of a partitioned mesh.

    Such a mesh renumbers its entities.
    """
    groups: Entities = {}
    lines.integers(1, "the number of partitions")
    for _ in range(
        _possible(
            lines, lines.integers(1, "the number of ghost entities")[0], "ghost entities", n_bytes
        )
    ):
        lines.integers(2, "a ghost entity: tag partition")
    counts = lines.integers(4, "counts of points, curves, surfaces, volumes")[:4]
    for dimension, count in enumerate(counts):
        for _ in range(_possible(lines, count, "entities", n_bytes)):
            fields = lines.numbers(
                4, "an entity: tag, parent, partitions, box, number of groups, groups"
            )
            at = 4 + _integer(lines, fields[3]) + (3 if dimension == 0 else 6)
            if not 4 < at < len(fields):
                raise InputError(
                    f"{lines.path}:{lines.number}: the entity {fields[0][:20]} ends "
                    "early; the file is damaged"
                )
            n = _integer(lines, fields[at])
            tags = [_integer(lines, f) for f in fields[at + 1 : at + 1 + n]]
            groups[dimension, _integer(lines, fields[0])] = tuple(
                (dimension, abs(each)) for each in tags
            )
    return groups


def text_nodes_2(lines: Lines, n_bytes: int) -> tuple[Indices, Array]:
    """Numbers and positions of the nodes of version 2.2. Raises `InputError`."""
    count = _possible(lines, lines.integers(1, "the number of nodes")[0], "nodes", n_bytes)
    table = lines.table(count, float, 4)
    if table is not None and (np.abs(table[:, 0]) < 2**53).all() and (table[:, 0] % 1 == 0).all():
        return table[:, 0].astype(np.int64), table[:, 1:4]
    ids, points = [], []
    for _ in range(count):
        fields, position = lines.position(4, "a node: number x y z")
        ids.append(_integer(lines, fields[0]))
        points.append(position)
    return np.array(ids, dtype=np.int64), np.array(points).reshape(-1, 3)


def text_nodes_4(lines: Lines, n_bytes: int) -> tuple[Indices, Array]:
    """Numbers and positions of the nodes of version 4.1. Raises `InputError`."""
    n_blocks, total = lines.integers(4, "counts of node blocks and nodes")[:2]
    _possible(lines, total, "nodes", n_bytes)
    ids: list[int] = []
    points: list[list[float]] = []
    for _ in range(_possible(lines, n_blocks, "node blocks", n_bytes)):
        count = _possible(
            lines,
            lines.integers(4, "a node block: dimension tag parametric count")[3],
            "nodes",
            n_bytes,
        )
        numbers = lines.table(count, np.int64, 1)
        found = (
            [lines.integers(1, "a node number")[:1] for _ in range(count)]
            if numbers is None
            else numbers[:, :1].tolist()
        )
        ids += [row[0] for row in found]
        positions = lines.table(count, float, 3)
        points += (
            [lines.position(3, "a position: x y z")[1] for _ in range(count)]
            if positions is None
            else positions[:, :3].tolist()
        )
    if len(ids) != total:
        raise InputError(f"{lines.path}: $Nodes declares {total} nodes, its blocks have {len(ids)}")
    return np.array(ids, dtype=np.int64), np.array(points).reshape(-1, 3)


def text_elements_2(lines: Lines, n_bytes: int) -> Iterator[Element]:
    """Elements of version 2.2 with their groups. Raises `InputError`."""
    count = _possible(lines, lines.integers(1, "the number of elements")[0], "elements", n_bytes)
    for _ in range(count):
        number, kind, n_tags, *rest = lines.integers(4, "an element: number type tags nodes")
        tag = rest[0] if 0 < n_tags <= len(rest) else 0
        groups = ((DIMENSION.get(kind, 3), abs(tag)),) if tag else ()
        yield number, kind, groups, _element_nodes(lines, kind, rest[max(n_tags, 0) :])


def text_elements_4(lines: Lines, n_bytes: int, entities: Entities) -> Iterator[Element]:
    """Elements of version 4.1 with the groups of their entities. Raises `InputError`."""
    n_blocks = lines.integers(4, "counts of element blocks and elements")[0]
    for _ in range(_possible(lines, n_blocks, "element blocks", n_bytes)):
        dimension, tag, kind, count = lines.integers(
            4, "an element block: dimension tag type count"
        )[:4]
        groups = entities.get((dimension, tag), ())
        _possible(lines, count, "elements", n_bytes)
        table = lines.table(count, np.int64, -1 - TYPES[kind][1]) if kind in TYPES else None
        if table is not None:
            yield from ((row[0], kind, groups, row[1:]) for row in table.tolist())
            continue
        for _ in range(count):
            number, *nodes = lines.integers(2, "an element: number nodes")
            yield number, kind, groups, _element_nodes(lines, kind, nodes)


def _integer(lines: Lines, text: str) -> int:
    """Integer of a field. Raises `InputError`."""
    if not re.fullmatch(r"[+-]?\d{1,18}", text):
        raise InputError(f"{lines.path}:{lines.number}: expected an integer, found '{text[:60]}'")
    return int(text)


def _element_nodes(lines: Lines, kind: int, nodes: list[int]) -> list[int]:
    """Nodes of an element, checked against its type. Raises `InputError`."""
    if kind not in TYPES:
        raise InputError(f"{lines.path}:{lines.number}: element type {kind} is unknown")
    name, expected = TYPES[kind]
    if len(nodes) != expected:
        raise InputError(
            f"{lines.path}:{lines.number}: a {name} has {expected} nodes, found {len(nodes)}"
        )
    return nodes
