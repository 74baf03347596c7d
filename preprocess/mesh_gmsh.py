"""A first look through a Gmsh file: are its sections whole, are its counts possible, what are its node and element numbers."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Outline:
    """Numbers of the nodes in file order, and of the elements by meshio's type; None and empty for a binary file."""

    node_ids: Indices | None
    element_ids: dict[str, Indices]


class _Lines:
    """Lines of one section with their place in the file."""

    def __init__(self, path: Path, name: str, first: int, lines: list[str]) -> None:
        self.path, self.name, self.number, self.lines = path, name, first, iter(lines)

    def numbers(self, least: int, what: str) -> list[str]:
        """Fields of the next line. Raises InputError when the section ends or the line is too short."""
        line = next(self.lines, None)
        self.number += 1
        if line is None:
            raise InputError(f"{self.path}:{self.number}: ${self.name} ends early: expected {what}; the file is truncated")
        fields = line.split()
        if len(fields) < least:
            raise InputError(f"{self.path}:{self.number}: expected {what}, found '{line.strip()[:60]}'")
        return fields

    def position(self, least: int, what: str) -> list[str]:
        """Fields of the next line, the last three of which are numbers."""
        fields = self.numbers(least, what)
        try:
            [float(f) for f in fields[least - 3 : least]]
        except ValueError:
            raise InputError(f"{self.path}:{self.number}: expected {what}, found '{' '.join(fields)[:60]}'") from None
        return fields

    def integers(self, least: int, what: str) -> list[int]:
        """The next line as integers."""
        fields = self.numbers(least, what)
        try:
            return [int(f) for f in fields]
        except ValueError:
            raise InputError(f"{self.path}:{self.number}: expected {what}, found '{' '.join(fields)[:60]}'") from None


def outline(path: Path) -> Outline:
    """Numbers of nodes and elements. Raises InputError for a wrong format, broken section, impossible count, missing node."""
    data = path.read_bytes()
    version, binary = _header(path, data)
    if binary:
        _refuse_binary_counts(path, data, version)
        return Outline(None, {})
    sections = _sections(path, data.decode("utf-8", errors="replace").splitlines())
    for name in ("Nodes", "Elements"):
        if name not in sections:
            raise InputError(f"{path}: has no section ${name}; the file is truncated or not a mesh")
    read_nodes, read_elements = _BY_VERSION[version]
    node_ids = read_nodes(sections["Nodes"], len(data))
    elements = list(read_elements(sections["Elements"], len(data)))
    _refuse_missing(path, node_ids, elements)
    ids: dict[str, list[int]] = defaultdict(list)
    for number, kind, _ in elements:
        ids[kind].append(number)
    return Outline(node_ids, {kind: np.array(numbers, dtype=np.int64) for kind, numbers in ids.items()})


def _header(path: Path, data: bytes) -> tuple[str, bool]:
    """Version ("2.2" or "4.1") and whether the file is binary."""
    lines = data[:4096].split(b"\n")
    start = next((n for n, line in enumerate(lines) if line.strip() == b"$MeshFormat"), None)
    fields = lines[start + 1].split() if start is not None and start + 1 < len(lines) else []
    if len(fields) != 3:
        raise InputError(f"{path}:1: is not a Gmsh file: expected $MeshFormat with version, type and data size")
    version = {b"2": "2.2", b"2.0": "2.2", b"2.1": "2.2", b"2.2": "2.2", b"4": "4.1", b"4.1": "4.1"}.get(fields[0])
    if version is None:
        raise InputError(f"{path}: Gmsh format {fields[0].decode(errors='replace')} is not read; save as version 4.1 or 2.2")
    return version, fields[1] == b"1"


def _sections(path: Path, lines: list[str]) -> dict[str, _Lines]:
    """Lines of each section $Name … $EndName."""
    sections, name, first = {}, "", 0
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not name and text.startswith("$"):
            name, first = text[1:], number
        elif name and text == f"$End{name}":
            sections[name] = _Lines(path, name, first, lines[first : number - 1])
            name = ""
    if name:
        raise InputError(f"{path}:{first}: section ${name} has no $End{name} until the last line, {len(lines)}; it is truncated")
    return sections


def _possible(lines: _Lines, count: int, what: str, n_bytes: int) -> int:
    """The count, unless the file is too short for it."""
    if not 0 <= count <= n_bytes:
        raise InputError(f"{lines.path}:{lines.number}: claims {count} {what} in a file of {n_bytes} bytes; the file is damaged")
    return count


def _nodes_2(lines: _Lines, n_bytes: int) -> Indices:
    count = _possible(lines, lines.integers(1, "the number of nodes")[0], "nodes", n_bytes)
    return np.array([_integer(lines, lines.position(4, "a node: number x y z")[0]) for _ in range(count)], dtype=np.int64)


def _nodes_4(lines: _Lines, n_bytes: int) -> Indices:
    n_blocks, total = lines.integers(4, "counts of node blocks and nodes")[:2]
    _possible(lines, total, "nodes", n_bytes)
    ids: list[int] = []
    for _ in range(_possible(lines, n_blocks, "node blocks", n_bytes)):
        count = _possible(lines, lines.integers(4, "a node block: dimension tag parametric count")[3], "nodes", n_bytes)
        ids += [lines.integers(1, "a node number")[0] for _ in range(count)]
        for _ in range(count):
            lines.position(3, "a position: x y z")
    if len(ids) != total:
        raise InputError(f"{lines.path}: $Nodes declares {total} nodes, its blocks have {len(ids)}")
    return np.array(ids, dtype=np.int64)


def _elements_2(lines: _Lines, n_bytes: int) -> Iterator[tuple[int, str, list[int]]]:
    count = _possible(lines, lines.integers(1, "the number of elements")[0], "elements", n_bytes)
    for _ in range(count):
        number, kind, n_tags, *rest = lines.integers(4, "an element: number type tags nodes")
        yield number, _type(lines, kind), _element_nodes(lines, kind, rest[n_tags:])


def _elements_4(lines: _Lines, n_bytes: int) -> Iterator[tuple[int, str, list[int]]]:
    n_blocks = lines.integers(4, "counts of element blocks and elements")[0]
    for _ in range(_possible(lines, n_blocks, "element blocks", n_bytes)):
        _, _, kind, count = lines.integers(4, "an element block: dimension tag type count")
        for _ in range(_possible(lines, count, "elements", n_bytes)):
            number, *nodes = lines.integers(2, "an element: number nodes")
            yield number, _type(lines, kind), _element_nodes(lines, kind, nodes)


_BY_VERSION = {"2.2": (_nodes_2, _elements_2), "4.1": (_nodes_4, _elements_4)}


def _integer(lines: _Lines, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{lines.path}:{lines.number}: expected a whole number, found '{text[:60]}'") from None


def _type(lines: _Lines, kind: int) -> str:
    from meshio.gmsh.common import _gmsh_to_meshio_type

    if kind not in _gmsh_to_meshio_type:
        raise InputError(f"{lines.path}:{lines.number}: element type {kind} is not known")
    return _gmsh_to_meshio_type[kind]


def _element_nodes(lines: _Lines, kind: int, nodes: list[int]) -> list[int]:
    from meshio._common import num_nodes_per_cell

    expected = num_nodes_per_cell[_type(lines, kind)]
    if len(nodes) != expected:
        raise InputError(f"{lines.path}:{lines.number}: a {_type(lines, kind)} has {expected} nodes, found {len(nodes)}")
    return nodes


def _refuse_missing(path: Path, node_ids: Indices, elements: list[tuple[int, str, list[int]]]) -> None:
    """InputError for elements that refer to nodes the file does not have."""
    if len(np.unique(node_ids)) != len(node_ids):
        doubles = node_ids[np.flatnonzero(np.bincount(np.unique(node_ids, return_inverse=True)[1]) > 1)[:1]]
        raise InputError(f"{path}: node number {doubles[0]} occurs twice")
    known = set(node_ids.tolist())
    problems = []
    for number, kind, nodes in elements:
        missing = [node for node in nodes if node not in known]
        if missing:
            problems.append(f"{path}: element {number} ({kind}) refers to node {missing[0]}, which is not there; add it")
        if len(problems) == 5:
            break
    if problems:
        raise InputError(*problems)


def _refuse_binary_counts(path: Path, data: bytes, version: str) -> None:
    """InputError when the counts in the headers of a binary file are impossible."""
    for name in (b"Nodes", b"Elements"):
        start = data.find(b"$" + name + b"\n")
        if start < 0 or b"$End" + name not in data:
            raise InputError(f"{path}: has no complete section ${name.decode()}; the file is truncated or not a mesh")
        body = data[start + len(name) + 2 :]
        if version == "4.1":
            counts = np.frombuffer(body[:16], dtype="<u8").tolist()
        else:
            digits = re.match(rb"\s*(\d{1,30})\s*\n", body)
            counts = [int(digits.group(1)) if digits else len(data) + 1]
        if max(counts) > len(data):
            what = f"{max(counts)} {name.decode().lower()}"
            raise InputError(f"{path}: claims {what} in a file of {len(data)} bytes; the file is damaged")
