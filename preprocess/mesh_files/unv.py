"""Reader of I-deas universal files (.unv), as Salome, Gmsh, NX and HyperMesh write them.

Datasets between lines −1: 15, 781 and 2411 nodes, 780 and 2412 elements, 164 units, and groups
2417 to 2477. Elements of second order list their nodes around each face, corners and midpoints in
turn.

Source: SDRC I-DEAS Master Series, Universal Dataset descriptions 15, 164, 2411, 2412, 2467.
"""

from __future__ import annotations

import collections
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_text
from preprocess.inputs.units import Units
from preprocess.mesh_files import plain_numbers
from preprocess.mesh_files.part_deck import LARGEST, PartDeck, refuse_kinds
from preprocess.mesh_files.raw_mesh import RawMesh

NODES = {15: 1, 781: 2, 2411: 2}  # lines of each
ELEMENTS = (780, 2412)
UNITS = 164
FACTOR = 1e15  # largest factor of a unit: µm, nm or pN are within it
# numbers of each member of a group
GROUPS = {2417: 2, 2429: 2, 2430: 2, 2432: 2, 2435: 4, 2452: 4, 2467: 4, 2477: 4}
NODE, ELEMENT = 7, 8  # types of members of groups
ROD = 11
# descriptor: type as meshio names it, places of its nodes in the file
_LINE, _TRIANGLE, _QUAD = ("line", (0, 1)), ("triangle", (0, 1, 2)), ("quad", (0, 1, 2, 3))
_TRIANGLE6, _QUAD8 = ("triangle6", (0, 2, 4, 1, 3, 5)), ("quad8", (0, 2, 4, 6, 1, 3, 5, 7))
KINDS = {
    ROD: ("truss", (0, 1)),
    **dict.fromkeys((21, 22), _LINE),
    24: ("line3", (0, 2, 1)),
    **dict.fromkeys((41, 51, 61, 74, 91), _TRIANGLE),
    **dict.fromkeys((42, 52, 62, 72, 92), _TRIANGLE6),
    **dict.fromkeys((44, 54, 64, 71, 94), _QUAD),
    **dict.fromkeys((45, 55, 65, 75, 95), _QUAD8),
    111: ("tetra", (0, 1, 2, 3)),
    118: ("tetra10", (0, 2, 4, 9, 1, 3, 5, 6, 7, 8)),
    112: ("wedge", (0, 1, 2, 3, 4, 5)),
    113: ("wedge15", (0, 2, 4, 9, 11, 13, 1, 3, 5, 10, 12, 14, 6, 7, 8)),
    115: ("hexahedron", (0, 1, 2, 3, 4, 5, 6, 7)),
    116: (
        "hexahedron20",
        (0, 2, 4, 6, 12, 14, 16, 18, 1, 3, 5, 7, 13, 15, 17, 19, 8, 9, 10, 11),
    ),
}
BEAMS = (11, 21, 22, 23, 24)  # with a line about their sections before that of their nodes
NAMES = {121: "rigid bar", 122: "rigid element", 136: "spring", 137: "spring", 161: "lumped mass"}


def read_unv(path: Path, structural: bool = False) -> RawMesh:
    """Raw mesh of a universal file; groups become sets. Raises InputError with the line."""
    reader = _Reader(path, structural)
    reader.read()
    refuse_kinds(
        path,
        "elements",
        reader.unread,
        "tetrahedra, wedges, bricks, thin shells and beams of first or second order",
    )
    if not reader.deck.elements:
        raise InputError(f"{path}: has no elements (dataset 2412); export the mesh with them")
    raw = reader.deck.raw(structural)
    return replace(raw, units=reader.units) if reader.units else raw


class _Reader:
    """Datasets of a file, line by line."""

    def __init__(self, path: Path, structural: bool) -> None:
        self.path, self.structural = path, structural
        self.lines = read_text(path).splitlines()
        self.at = 0
        self.deck = PartDeck(path)
        self.units: Units | None = None
        self.unread: Counter[str] = Counter()

    def read(self) -> None:
        """Read all datasets. Raises InputError with the line."""
        while self.at < len(self.lines):
            if self.lines[self.at].strip() != "-1" or self.at + 1 >= len(self.lines):
                self.at += 1
                continue
            kind = self.lines[self.at + 1].strip().split()[:1]
            self.at += 2
            number = int(kind[0]) if kind and kind[0].isdecimal() and len(kind[0]) < 8 else 0
            if number in NODES:
                self._nodes(NODES[number])
            elif number in ELEMENTS:
                self._elements(number)
            elif number == UNITS:
                self._read_units()
            elif number in GROUPS:
                self._groups(GROUPS[number])
            else:
                collections.deque(self._rest(), maxlen=0)

    def _rest(self) -> Iterator[str]:
        """Lines up to the end of the dataset."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            if line.strip() == "-1":
                return
            yield line

    def _next(self, what: str) -> str:
        """Next line of a dataset. Raises InputError at its end."""
        line = next(self._rest(), None)
        if line is None:
            raise InputError(f"{self.path}:{self.at}: {what} is incomplete; export the file again")
        return line

    def _whole(self, line: str, fewest: int) -> list[int]:
        """Integers of a line, in columns of ten or separated by blanks. Raises InputError."""
        parts = line.split()
        if len(parts) < fewest:
            parts = [line[k : k + 10].strip() for k in range(0, len(line.rstrip()), 10)]
        try:
            found = [plain_numbers.whole(part) for part in parts]
        except ValueError:
            found = []
        if len(found) < fewest or any(abs(each) > LARGEST for each in found):
            raise InputError(
                f"{self.path}:{self.at}: expected {fewest} whole numbers, found {line[:50]!r}"
            )
        return found

    def _real(self, line: str, count: int) -> list[float]:
        """Finite numbers of a line, also with Fortran's D. Raises InputError."""
        try:
            found = [plain_numbers.real(part) for part in line.split()[:count]]
        except ValueError:
            found = []
        if len(found) < count or not all(map(math.isfinite, found)):
            raise InputError(
                f"{self.path}:{self.at}: expected {count} numbers, found {line[:50]!r}"
            )
        return found

    def _nodes(self, lines: int) -> None:
        """Nodes with their positions, in one line or two."""
        for line in self._rest():
            (number, *_) = self._whole(line[:10] if lines == 1 else line, 1)
            place = line[40:] if lines == 1 else self._next(f"node {number}")
            self.deck.positions[number] = self._real(place, 3)

    def _elements(self, dataset: int) -> None:
        """Elements with their property and material."""
        for line in self._rest():
            values = self._whole(line, 6)
            number, kind, owner, material, *_ = values
            if dataset == 780:
                material = values[4] if len(values) > 6 else material
            count, nodes = values[-1] if dataset == 780 else values[5], list[int]()
            if kind in BEAMS:
                self._next(f"element {number}")
            while len(nodes) < count:
                nodes += self._whole(self._next(f"element {number}"), 1)
            if kind not in KINDS:
                self.unread[NAMES.get(kind, f"type {kind}")] += 1
                continue
            name, order = KINDS[kind]
            if kind == ROD and not self.structural:
                name = "line"  # edges of solids, which Salome writes as rods
            if len(nodes) != len(order):
                raise InputError(
                    f"{self.path}:{self.at}: element {number} of type {kind} has "
                    f"{len(nodes)} nodes "
                    f"instead of {len(order)}"
                )
            self.deck.add(name, f"property {owner}", number, [nodes[k] for k in order])
            self.deck.element_sets.setdefault(f"material {material}", []).append(number)

    def _read_units(self) -> None:
        """Units of the file by the factors that multiply SI values."""
        self._next("dataset 164")
        length, force, _ = self._real(self._next("dataset 164"), 3)
        if not all(1 / FACTOR <= factor <= FACTOR for factor in (length, force)):
            raise InputError(
                f"{self.path}:{self.at}: dataset 164 has factors {length:g} and {force:g}; give "
                f"those of the units of length and force, between {1 / FACTOR:g} and {FACTOR:g}"
            )
        self.units = Units("units of the file", 1 / length, length / force, 1.0)
        collections.deque(self._rest(), maxlen=0)

    def _groups(self, size: int) -> None:
        """Groups of nodes and elements by name."""
        for line in self._rest():
            count = self._whole(line, 8)[7]
            name = self._next("group").strip() or f"group {line.split()[0]}"
            values = list[int]()
            while len(values) < size * count:
                values += self._whole(self._next(f"group {name}"), 1)
            for kind, member in itertools.islice(
                zip(values[::size], values[1::size]), max(count, 0)
            ):
                if kind in (NODE, ELEMENT):
                    sets = self.deck.node_sets if kind == NODE else self.deck.element_sets
                    sets.setdefault(name, []).append(member)
