"""Reader of LS-DYNA keyword files: nodes, elements, parts, sections, materials, sets.

Lines have columns of fixed width, or values between commas; LONG=Y and a + behind a keyword make
the columns 20 wide. Elements of one part are a region.

Source: LS-DYNA Keyword User's Manual, volumes I and II, keywords by name.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_text
from preprocess.mesh.declarations import Item
from preprocess.mesh_files import plain_numbers
from preprocess.mesh_files.claims import Claims
from preprocess.mesh_files.collapsed_solids import solid
from preprocess.mesh_files.include import Includes, listed_names
from preprocess.mesh_files.part_deck import LARGEST, PartDeck, refuse_kinds
from preprocess.mesh_files.raw_mesh import RawMesh

LONG = 20  # columns of a field of the long format
WIDTH = 10  # of the standard format, except of nodes and elements
NODE = (8, 16, 16, 16, 8, 8)
# elastic part of these: density, E, nu in the fields 2 to 4
ELASTIC = (
    "ELASTIC", "001", "PLASTIC_KINEMATIC", "003", "PIECEWISE_LINEAR_PLASTICITY", "024",
    "MODIFIED_PIECEWISE_LINEAR_PLASTICITY", "123", "POWER_LAW_PLASTICITY", "018",
    "SIMPLIFIED_JOHNSON_COOK", "098", "PLASTICITY_WITH_DAMAGE", "081", "ELASTIC_PLASTIC_THERMAL",
)  # fmt: skip
# keywords of the body, that would change it if they were read
OF_THE_BODY = (
    "CONSTRAINED",
    "ELEMENT",
    "NODE_TRANSFORM",
    "NODE_MERGE",
    "INCLUDE_",
)
# contacts that connect parts of the body
TYING = re.compile(r"CONTACT_\w*(TIED|TIEBREAK|SPOTWELD)")
REMEDY = "remove it, or give connections in the part file"
READ = "ELEMENT_SOLID and ELEMENT_SHELL"


class Row(NamedTuple):
    """Text of a line and its location."""

    text: str
    line: str


@dataclass
class Block:
    """Keyword without title and options, its options, format and lines."""

    name: str
    line: str
    long: bool
    titled: bool
    rows: list[Row] = field(default_factory=list)


def read_ls_dyna(path: Path, structural: bool = False, *, allow_outside: bool = False) -> RawMesh:
    """Raw mesh of a keyword file and its includes; parts and sets by their numbers or titles.

    Raises InputError with the line.
    """
    includes = Includes(path, allow_outside)
    reader = _Reader(path, structural, includes.claims)
    for block in _blocks(str(path), read_text(path).splitlines(), includes):
        reader.add(block)
    return reader.raw()


def follow_ls_dyna(path: Path, includes: Includes) -> None:
    """Open the files that a keyword file includes."""
    deque(_blocks(str(path), read_text(path).splitlines(), includes), maxlen=0)


def _blocks(
    name: str, lines: Iterable[str], includes: Includes, within: Block | None = None
) -> Iterator[Block]:
    """Blocks of a file, included by the block ``within``, and of the files that it includes."""
    for block in _own_blocks(name, lines, within):
        if block.name != "INCLUDE":
            yield block
            continue
        for row in map(Row._make, listed_names(block.rows)):
            yield from _blocks(row.text, includes.lines(row.line, row.text), includes, block)
            includes.close()


def _own_blocks(name: str, lines: Iterable[str], within: Block | None) -> Iterator[Block]:
    """Blocks of the lines of one file, in the format of the block that includes it.

    Raises InputError for included data without a keyword.
    """
    block: Block | None = None
    long = within is not None and within.long
    for at, text in enumerate(lines, 1):
        where = f"{name}:{at}"
        if text.startswith("*"):
            if block is not None:
                yield block
            word = re.split(r"[\s,$]", text[1:].lstrip())[0].upper()
            long = bool(long or re.search(r"LONG\s*=\s*Y", text, re.I))
            own = re.search(r"\s*([-+%])\s*$", text)
            plain = word.rstrip("+-%")
            if plain == "END":
                return
            titled = plain.endswith("_TITLE")
            block = Block(
                plain.removesuffix("_TITLE"), where, (own[1] == "+") if own else long, titled
            )
        elif block is not None and not text.startswith("$"):
            block.rows.append(Row(text, where))
        elif within is not None and text.strip() and not text.startswith("$"):
            raise InputError(f"{where}: {text[:30]!r} has no keyword; give it in this file")
    if block is not None:
        yield block


class _Reader:
    """Content of a file; parts: section, material and title by number."""

    def __init__(self, path: Path, structural: bool, claims: Claims) -> None:
        self.path, self.structural, self.claims = path, structural, claims
        self.deck = PartDeck(path)
        self.parts: dict[int, tuple[int, int, str]] = {}
        self.sections: dict[int, tuple[str, list[float], float, str]] = {}
        self.materials: dict[int, Item] = {}
        self.bodies: list[tuple[int, int, int, str]] = []
        self.unread: Counter[str] = Counter()
        self.parameters: dict[str, float] = {}

    def add(self, block: Block) -> None:
        """Pass a block to its handler. Raises InputError for one that would change the body."""
        name = block.name
        handler = HANDLERS.get(name)
        if handler is not None:
            try:
                handler(self, block)
            except IndexError:
                raise InputError(f"{block.line}: *{name} lacks a field; complete it") from None
        elif name.startswith("MAT_"):
            self.material(block)
        elif name.startswith("SECTION_"):
            for row in self.rows(block, titles=block.titled):
                self.sections[self.whole(row, 0)] = (name, [], 0.0, block.line)
                break
        elif name.startswith("ELEMENT"):
            self.unread[f"*{name}"] += 1
        elif name.startswith(OF_THE_BODY) or TYING.match(name):
            if self.structural or name.startswith(("NODE_", "INCLUDE_")):
                raise InputError(f"{block.line}: *{name} is not supported; {REMEDY}")
            self.deck.notes[f"*{name}", "read the deck with structural=True"] += 1

    # fields

    def rows(
        self, block: Block, widths: tuple[int, ...] = (WIDTH,) * 10, titles: bool = False
    ) -> Iterator[tuple[list[str], Row]]:
        """Fields of the lines, without the line of the title."""
        for row in block.rows[1 if titles else 0 :]:
            yield self.fields(row, block, widths), row

    def fields(self, row: Row, block: Block, widths: tuple[int, ...] = (WIDTH,) * 10) -> list[str]:
        """Fields of a line: between commas, or in columns."""
        if "," in row.text:
            return [part.strip() for part in row.text.split(",")]
        found, at = list[str](), 0
        for width in widths:
            own = LONG if block.long else width
            if at >= len(row.text):
                break
            found.append(row.text[at : at + own].strip())
            at += own
        return found

    def real(self, entry: tuple[list[str], Row], place: int, default: float = 0.0) -> float:
        """Number of a field, or of the parameter &name. Raises InputError."""
        fields, row = entry
        text = fields[place] if place < len(fields) else ""
        if not text:
            return default
        sign = -1.0 if text.startswith("-&") else 1.0
        key = text.lstrip("-").removeprefix("&").upper()
        if "&" in text and key in self.parameters:
            return sign * self.parameters[key]
        try:
            value = plain_numbers.real(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(f"{row.line}: {text[:30]!r} in field {place + 1} is not a number")
        return value

    def whole(self, entry: tuple[list[str], Row], place: int, default: int = 0) -> int:
        """Whole number of a field. Raises InputError."""
        value = self.real(entry, place, default)
        if value % 1 or abs(value) > LARGEST:
            raise InputError(
                f"{entry[1].line}: {entry[0][place][:30]!r} in field {place + 1} is not a whole "
                "number"
            )
        return int(value)

    # mesh

    def nodes(self, block: Block) -> None:
        """Nodes with their positions."""
        for entry in self.rows(block, NODE):
            if entry[0] and entry[0][0]:
                x, y, z = (self.real(entry, k) for k in (1, 2, 3))
                self.deck.positions[self.whole(entry, 0)] = (x, y, z)

    def solids(self, block: Block) -> None:
        """Solids in one line of ten columns, or in two; coincident nodes make other shapes."""
        rows = iter(self.rows(block, (8,) * 10))
        for entry in rows:
            if not any(entry[0]):
                continue
            number, part = self.whole(entry, 0), self.whole(entry, 1)
            count = sum(map(bool, entry[0]))
            if count <= 2:
                entry = next(rows, ([], entry[1]))
                nodes = [self.whole(entry, k) for k in range(10)]
            else:
                nodes = [self.whole(entry, k) for k in range(2, 10)]
            if all(nodes[8:]) and len(nodes) == 10 and len(set(nodes)) == 10:
                self.deck.add("tetra10", f"part {part}", number, nodes)
                continue
            corners = nodes[:8]
            if not any(corners[4:]):
                corners = [*corners[:4], *[corners[3]] * 4]
            found = solid(corners) if all(corners) else None
            if found is None:
                raise InputError(
                    f"{entry[1].line}: element {number}: its nodes are those of no brick, wedge, "
                    "pyramid or tetrahedron"
                )
            self.deck.add(found[0], f"part {part}", number, found[1])

    def shells(self, block: Block) -> None:
        """Shells with three or four corners, or eight nodes."""
        for entry in self.rows(block, (8,) * 10):
            if not any(entry[0]):
                continue
            number, part = self.whole(entry, 0), self.whole(entry, 1)
            nodes = [self.whole(entry, k) for k in range(2, 10)]
            kind, order = "quad", [0, 1, 2, 3]
            if nodes[3] in (nodes[2], 0):
                kind, order = "triangle", [0, 1, 2]
            elif all(nodes[4:]):
                kind, order = "quad8", list(range(8))
            elif any(nodes[4:]):
                self.unread["*ELEMENT_SHELL of five to seven nodes"] += 1
                continue
            self.deck.add(kind, f"part {part}", number, [nodes[k] for k in order])

    def point_masses(self, block: Block) -> None:
        """Masses at nodes."""
        for entry in self.rows(block, (8, 8, 16, 8)):
            if any(entry[0]):
                number, node = self.whole(entry, 0), self.whole(entry, 1)
                name = f"mass {number}"
                mass = self.real(entry, 2)
                self.deck.masses.append({"where": name, "node": node, "mass": mass})
                self.deck.node_sets[name] = [node]

    # parts, sections, materials

    def part(self, block: Block) -> None:
        """Parts: a line with the title, and one with section and material."""
        rows = block.rows
        for title, row in zip(rows[::2], rows[1::2]):
            entry = (self.fields(row, block), row)
            number = self.whole(entry, 0)
            self.parts[number] = (self.whole(entry, 1), self.whole(entry, 2), title.text.strip())

    def section(self, block: Block) -> None:
        """Sections of solids, and of shells with their thicknesses and place."""
        rows = list(self.rows(block))
        while rows:
            rows = rows[1:] if block.titled else rows
            if not rows:
                return
            number = self.whole(rows[0], 0)
            if block.name == "SECTION_SOLID":
                self.sections[number] = (block.name, [], 0.0, block.line)
                rows = rows[1:]
                continue
            if len(rows) < 2:
                raise InputError(f"{block.line}: *{block.name} {number} has no line of thicknesses")
            heights = [self.real(rows[1], k) for k in range(4)]
            place = self.real(rows[1], 4)
            self.sections[number] = (block.name, heights, place, block.line)
            if self.whole(rows[0], 6):  # ICOMP: angles of the layers follow
                self.sections[number] = ("SECTION_SHELL of layers (ICOMP)", [], 0.0, block.line)
                return
            rows = rows[2:]

    def material(self, block: Block) -> None:
        """Elastic part of a material; others are kept as a problem."""
        kind = block.name.removeprefix("MAT_")
        rows = list(self.rows(block, titles=block.titled))
        if not rows:
            raise InputError(f"{block.line}: *{block.name} has no data")
        number = self.whole(rows[0], 0)
        if kind.lstrip("0") in {each.lstrip("0") for each in ELASTIC}:
            rho, E, nu = (self.real(rows[0], k) for k in (1, 2, 3))
            found: Item = {"kind": "isotropic", "E": E, "nu": nu, "rho": rho or None}
            if not rho:
                found["lacks"] = f"material {number} has no density RO"
        else:
            what = "is rigid" if kind in ("RIGID", "020", "20") else f"is *{block.name}"
            found = {"problem": f"material {number} {what}, which has no elastic constants here"}
        self.materials[number] = found

    # sets and bodies

    def node_set(self, block: Block) -> None:
        """Set of nodes, listed or in ranges."""
        self._set(block, self.deck.node_sets, "node set")

    def element_set(self, block: Block) -> None:
        """Set of elements, listed or in ranges."""
        self._set(block, self.deck.element_sets, "element set")

    def _set(self, block: Block, sets: dict[str, list[int]], what: str) -> None:
        """Members of a set, by its title or number."""
        rows = list(self.rows(block, titles=block.titled))
        if not rows:
            raise InputError(f"{block.line}: *{block.name} has no number")
        number, members = self.whole(rows[0], 0), list[int]()
        for entry in rows[1:]:
            values = [self.whole(entry, k) for k in range(len(entry[0]))]
            if "GENERATE" not in block.name:
                members += [value for value in values if value]
                continue
            for first, last in zip(values[::2], values[1::2]):
                members += self.claims.range(entry[1].line, first, last) if first else ()
        title = block.rows[0].text.strip() if block.titled else ""
        sets.setdefault(f"{what} {number}", []).extend(members)
        if title:
            sets.setdefault(title, []).extend(members)

    def rigid_body(self, block: Block) -> None:
        """Nodal rigid body: nodes that move as one."""
        for entry in self.rows(block, titles=block.titled):
            number, nodes, pilot = (self.whole(entry, k) for k in (0, 2, 3))
            self.bodies.append((number, nodes or number, pilot, entry[1].line))
            return

    def parameter(self, block: Block) -> None:
        """Numbers by name, for fields &name."""
        for row in block.rows:
            fields = self.fields(row, block)
            for name, value in zip(fields[::2], fields[1::2]):
                words = name.split()
                key = words[-1][1:] if len(words) == 1 else words[-1]
                try:
                    self.parameters[key.upper()] = plain_numbers.real(value)
                except ValueError:
                    continue

    # result

    def raw(self) -> RawMesh:
        """Raw mesh. Raises InputError naming what is not read."""
        refuse_kinds(self.path, "elements", self.unread, READ)
        if not self.deck.elements:
            raise InputError(f"{self.path}: has no *ELEMENT_SOLID and no *ELEMENT_SHELL")
        if self.structural:
            self._assign()
            for number, nodes, pilot, line in self.bodies:
                if not self.deck.node_sets.get(f"node set {nodes}"):
                    raise InputError(
                        f"{line}: rigid body {number} is of node set {nodes}, which does not exist"
                    )
                found: Item = {"kind": "rigid-spider", "where": f"node set {nodes}"}
                if pilot:
                    self.deck.node_sets[f"rigid body {number} pilot"] = [pilot]
                    found["reference"] = f"rigid body {number} pilot"
                self.deck.connections[f"rigid body {number}"] = found
        elif self.bodies:
            what = "*CONSTRAINED_NODAL_RIGID_BODY"
            self.deck.notes[what, "read the deck with structural=True"] = len(self.bodies)
        for number, (_, _, title) in self.parts.items():
            numbers = [
                n
                for (_, own), (ids, _) in self.deck.elements.items()
                if own == f"part {number}"
                for n in ids
            ]
            if title and numbers:
                self.deck.element_sets.setdefault(title, []).extend(numbers)
        return self.deck.raw(self.structural)

    def _assign(self) -> None:
        """Materials and sections of the parts. Raises InputError for missing ones."""
        for region, kinds in self.deck.regions.items():
            number = int(region.removeprefix("part "))
            if number not in self.parts:
                raise InputError(f"{self.path}: elements are of part {number}, which has no *PART")
            section, material, _ = self.parts[number]
            problem = {"problem": f"part {number} has material {material}, which does not exist"}
            self.deck.materials[region] = self.materials.get(material, problem)
            if kinds & {"triangle", "quad", "quad8"}:
                self.deck.sections[region] = self._shell_section(number, section)

    def _shell_section(self, part: int, number: int) -> Item:
        """Section of the shells of a part. Raises InputError unless it has one thickness."""
        name, heights, place, line = self.sections.get(number, ("", [], 0.0, str(self.path)))
        if name != "SECTION_SHELL":
            raise InputError(
                f"{line}: part {part} has section {number} {name and f'(*{name}) '}"
                "instead of a *SECTION_SHELL; give one"
            )
        thick = set(heights) - {0.0}
        if len(thick) != 1:
            raise InputError(
                f"{line}: *SECTION_SHELL {number} has {len(thick)} thicknesses; give one"
            )
        height = thick.pop()
        # NLOC: the nodes are at the top (1), in the middle (0), at the bottom (−1)
        offset = {"offset": -0.5 * place * height} if place else {}
        return {"kind": "shell", "thickness": height, **offset}


Handler = Callable[[_Reader, Block], None]
HANDLERS: dict[str, Handler] = {
    "NODE": _Reader.nodes,
    **dict.fromkeys(("ELEMENT_SOLID",), _Reader.solids),
    "ELEMENT_SHELL": _Reader.shells,
    "ELEMENT_MASS": _Reader.point_masses,
    "PART": _Reader.part,
    **dict.fromkeys(("SECTION_SOLID", "SECTION_SHELL"), _Reader.section),
    **dict.fromkeys(
        ("SET_NODE", "SET_NODE_LIST", "SET_NODE_LIST_GENERATE", "SET_NODE_GENERATE"),
        _Reader.node_set,
    ),
    **dict.fromkeys(
        (
            "SET_SOLID",
            "SET_SHELL",
            "SET_SHELL_LIST",
            "SET_SOLID_GENERATE",
            "SET_SHELL_LIST_GENERATE",
        ),
        _Reader.element_set,
    ),
    "CONSTRAINED_NODAL_RIGID_BODY": _Reader.rigid_body,
    "PARAMETER": _Reader.parameter,
}
