"""Reader of Abaqus input files: nodes, elements, node and element sets, surfaces. Other keywords are skipped."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Solid types with their meshio name and number of nodes; those of second order number their edges as VTK does.
SOLID_TYPES = {
    "C3D4": ("tetra", 4),
    "C3D10": ("tetra10", 10),
    "C3D8": ("hexahedron", 8),
    "C3D20": ("hexahedron20", 20),
    "C3D6": ("wedge", 6),
    "C3D15": ("wedge15", 15),
}
SUFFIXES = "RHIMST"  # variants of the same element: reduced integration, hybrid, incompatible modes, modified, …
# Types that mesh generators write for named edges and faces; anything else is a structure of its own.
SKIN_TYPES = {
    "T3D2": ("line", 2),
    "T3D3": ("line3", 3),
    "CPS3": ("triangle", 3),
    "CPS6": ("triangle6", 6),
    "CPS4": ("quad", 4),
    "CPS8": ("quad8", 8),
    "SFM3D3": ("triangle", 3),
    "SFM3D6": ("triangle6", 6),
    "SFM3D4": ("quad", 4),
    "SFM3D8": ("quad8", 8),
}
# Corner nodes of the faces S1 … by number of corners, as Abaqus numbers them.
FACES = {
    4: ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)),
    6: ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0)),
    8: ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0)),
}


@dataclass
class Deck:
    """Content of the file; sets hold places of points (node sets) and element numbers (element sets)."""

    points: Array
    node_ids: Indices
    elements: list[tuple[str, Indices, Indices]]
    node_sets: dict[str, Indices]
    element_sets: dict[str, Indices]


@dataclass
class _Reading:
    """What has been read so far."""

    path: Path
    nodes: dict[int, tuple[float, ...]] = field(default_factory=dict)
    elements: dict[int, tuple[str, list[int]]] = field(default_factory=dict)
    node_sets: dict[str, list[int]] = field(default_factory=dict)
    element_sets: dict[str, list[int]] = field(default_factory=dict)
    surfaces: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    node_surfaces: list[str] = field(default_factory=list)

    def fail(self, line: int, message: str) -> InputError:
        return InputError(f"{self.path}:{line}: {message}")


def read_abaqus(path: Path) -> Deck:
    """Deck of an input file. Raises InputError with the line for anything malformed or unsupported."""
    reading = _Reading(path)
    for keyword, options, line, rows in _blocks(path):
        if keyword in _KEYWORDS:
            _KEYWORDS[keyword](reading, options, line, rows)
        elif keyword in ("INCLUDE", "INSTANCE"):
            raise reading.fail(line, f"*{keyword} is not read; write one flat input file (no parts, no includes)")
    if not reading.nodes:
        raise InputError(f"{path}: has no *NODE block; expected an Abaqus input file")
    return _deck(reading)


def _blocks(path: Path) -> Iterator[tuple[str, dict[str, str], int, list[tuple[int, list[str]]]]]:
    """Keyword, options, line number and data rows of each keyword block."""
    current: tuple[str, dict[str, str], int] | None = None
    rows: list[tuple[int, list[str]]] = []
    carried = ""
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("**"):
            continue
        if text.startswith("*") and not carried:
            if current:
                yield *current, rows
            name, *options = (part.strip() for part in text[1:].split(","))
            pairs = (option.partition("=") for option in options)
            current, rows = (name.upper(), {key.strip().upper(): value.strip() for key, _, value in pairs}, number), []
        elif text.startswith("*"):  # a keyword line that continues the one before
            carried = ""
        elif current:
            rows.append((number, [part.strip() for part in text.split(",")]))
    if current:
        yield *current, rows


def _numbers(reading: _Reading, line: int, fields: list[str]) -> list[int]:
    try:
        return [int(f) for f in fields if f]
    except ValueError:
        raise reading.fail(line, f"expected whole numbers, found '{', '.join(fields)[:60]}'") from None


def _node(reading: _Reading, options: dict[str, str], line: int, rows: list[tuple[int, list[str]]]) -> None:
    for number, fields in rows:
        try:
            node, position = int(fields[0]), tuple(float(f.upper().replace("D", "E") or 0) for f in fields[1:4])
        except ValueError:
            raise reading.fail(number, f"expected a node: number, x, y, z; found '{', '.join(fields)[:60]}'") from None
        if len(position) != 3:
            raise reading.fail(number, f"node {node} has {len(position)} coordinates; a solid mesh has 3")
        reading.nodes[node] = position
        if "NSET" in options:
            reading.node_sets.setdefault(options["NSET"], []).append(node)


def _element(reading: _Reading, options: dict[str, str], line: int, rows: list[tuple[int, list[str]]]) -> None:
    kind = options.get("TYPE", "").upper()
    if not kind:
        raise reading.fail(line, "*ELEMENT has no TYPE=")
    name, size = _type(kind)
    fields: list[int] = []
    for number, row in rows:
        fields += _numbers(reading, number, row)
        if size and len(fields) >= size + 1:
            if len(fields) > size + 1:
                raise reading.fail(number, f"element {fields[0]} ({kind}) has {len(fields) - 1} nodes; it needs {size}")
            reading.elements[fields[0]] = (name, fields[1:])
            if "ELSET" in options:
                reading.element_sets.setdefault(options["ELSET"], []).append(fields[0])
            fields = []
    if size and fields:
        raise reading.fail(rows[-1][0], f"element {fields[0]} ({kind}) has {len(fields) - 1} nodes; it needs {size}")
    if not size and rows:
        raise reading.fail(
            line, f"{len(rows)} line(s) of element type {kind} cannot be used; export {', '.join(SOLID_TYPES)} only"
        )


def _type(kind: str) -> tuple[str, int]:
    """meshio's name and the number of nodes; ("", 0) for an unsupported type."""
    if kind in SKIN_TYPES:
        return SKIN_TYPES[kind]
    base = re.match(r"C3D\d+", kind)
    if base and set(kind[base.end() :]) <= set(SUFFIXES):
        return SOLID_TYPES.get(base.group(), ("", 0))
    return "", 0


def _set(
    sets: dict[str, list[int]], reading: _Reading, name: str, generate: bool, line: int, rows: list[tuple[int, list[str]]]
) -> None:
    if not name:
        raise reading.fail(line, "a set has no name")
    members = sets.setdefault(name, [])
    for number, fields in rows:
        entries = [f for f in fields if f]
        if generate:
            first, last, *step = _numbers(reading, number, entries) if len(entries) in (2, 3) else [0, -1]
            if last < first or (step and step[0] < 1):
                raise reading.fail(number, f"expected first, last, step; found '{', '.join(entries)[:60]}'")
            if last - first > 10**8:
                raise reading.fail(number, f"set '{name}' claims {last - first} members")
            members += range(first, last + 1, *step)
            continue
        for entry in entries:
            if entry.isdigit():
                members.append(int(entry))
            elif _found(sets, entry) is not None:
                members += sets[str(_found(sets, entry))]
            else:
                raise reading.fail(number, f"set '{name}' refers to '{entry}', which is not defined before it")


def _found(sets: dict[str, list[int]], name: str) -> str | None:
    """The set of that name, in any case of letters."""
    return next((key for key in sets if key.upper() == name.upper()), None)


def _nset(reading: _Reading, options: dict[str, str], line: int, rows: list[tuple[int, list[str]]]) -> None:
    if "ELSET" in options:
        chosen = _found(reading.element_sets, options["ELSET"])
        nodes = [node for e in reading.element_sets[chosen] for node in reading.elements[e][1]] if chosen else []
        reading.node_sets.setdefault(options.get("NSET", ""), []).extend(nodes)
    else:
        _set(reading.node_sets, reading, options.get("NSET", ""), "GENERATE" in options, line, rows)


def _elset(reading: _Reading, options: dict[str, str], line: int, rows: list[tuple[int, list[str]]]) -> None:
    _set(reading.element_sets, reading, options.get("ELSET", ""), "GENERATE" in options, line, rows)


def _surface(reading: _Reading, options: dict[str, str], line: int, rows: list[tuple[int, list[str]]]) -> None:
    name = options.get("NAME", "")
    if not name:
        raise reading.fail(line, "*SURFACE has no NAME=")
    reading.surfaces[name] = [(fields[0], fields[1].upper() if len(fields) > 1 else "") for _, fields in rows]
    if options.get("TYPE", "ELEMENT").upper() == "NODE":
        reading.node_surfaces.append(name)


_KEYWORDS = {"NODE": _node, "ELEMENT": _element, "NSET": _nset, "ELSET": _elset, "SURFACE": _surface}


def _deck(reading: _Reading) -> Deck:
    """Arrays of what was read, with places instead of node numbers."""
    node_ids = np.array(list(reading.nodes), dtype=np.int64)
    place = {node: n for n, node in enumerate(reading.nodes)}
    problems = [
        f"{reading.path}: element {number} refers to node {node}, which is not there; complete the nodes"
        for number, (_, nodes) in reading.elements.items()
        for node in nodes
        if node not in place
    ]
    if problems:
        raise InputError(*problems[:5])
    by_type: dict[str, tuple[list[list[int]], list[int]]] = {}
    for number, (kind, nodes) in reading.elements.items():
        rows, ids = by_type.setdefault(kind, ([], []))
        rows.append([place[node] for node in nodes])
        ids.append(number)
    sets = {name: [place[n] for n in nodes if n in place] for name, nodes in reading.node_sets.items()}
    sets |= {name: [place[n] for n in _surface_nodes(reading, name)] for name in reading.surfaces}
    return Deck(
        points=np.array(list(reading.nodes.values())),
        node_ids=node_ids,
        elements=[(kind, np.array(rows, dtype=np.int64), np.array(ids, dtype=np.int64)) for kind, (rows, ids) in by_type.items()],
        node_sets={name: np.unique(np.array(places, dtype=np.int64)) for name, places in sets.items()},
        element_sets={name: np.unique(np.array(ids, dtype=np.int64)) for name, ids in reading.element_sets.items()},
    )


def _surface_nodes(reading: _Reading, name: str) -> Iterator[int]:
    """Node numbers of a surface."""
    for item, face in reading.surfaces[name]:
        if name in reading.node_surfaces:
            chosen = _found(reading.node_sets, item)
            yield from reading.node_sets[chosen] if chosen else [int(item)] if item.isdigit() else []
            continue
        chosen = _found(reading.element_sets, item)
        numbers = reading.element_sets[chosen] if chosen else [int(item)] if item.isdigit() else []
        if not numbers:
            raise InputError(f"{reading.path}: surface '{name}' refers to element set '{item}', which is not defined")
        for number in numbers:
            yield from _face_nodes(reading, name, number, face)


def _face_nodes(reading: _Reading, name: str, number: int, face: str) -> list[int]:
    """All nodes of one face: its corners and the edge middles between them."""
    from preprocess.elements import ELEMENTS

    if number not in reading.elements:
        raise InputError(f"{reading.path}: surface '{name}' refers to element {number}, which is not there")
    kind, nodes = reading.elements[number]
    element = next((e for e in ELEMENTS.values() if e.meshio_name == kind), None)
    if element is None or not re.fullmatch(r"S[1-6]", face) or int(face[1]) > len(FACES[element.corners]):
        raise InputError(f"{reading.path}: surface '{name}': element {number} ({kind}) has no face '{face}'")
    corners = set(FACES[element.corners][int(face[1]) - 1])
    rows = (row for table in element.faces for row in table.nodes.tolist() if set(row[: table.corners]) == corners)
    return [nodes[n] for n in next(rows)]
