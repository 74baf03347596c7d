"""Commands and blocks of Ansys archives (CDWRITE) and of the input files of Workbench.

Blocks of nodes, elements, components and real constants have fixed columns, given by the Fortran
format in the line below their command.

Source: Ansys Mechanical APDL, Command Reference, commands by name; Programmer's Reference, "Format
of the CDWRITE file".
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_text
from preprocess.mesh_files import plain_numbers
from preprocess.mesh_files.claims import Claims
from preprocess.mesh_files.part_deck import LARGEST

_FORMAT = re.compile(r"(\d{1,3})\s*([ieg])\s*(\d{1,3})(?:\.\d+)?(?:e\d+)?", re.I)
_SET = re.compile(r"\s*([A-Z_]\w*)\s*=\s*([^=].*)", re.I)
WIDEST = 60  # columns of a field, more than any number needs
# commands that make nodes, elements or selections which only Ansys can evaluate
GENERATORS = (
    "*DO", "AMESH", "EGEN", "EMORE", "ENSYM", "ESYM", "FILL", "LMESH", "MOPT", "NGEN", "NSYM",
    "NROTAT", "VMESH", "VSWEEP", "ETABLE", "NMODIF", "EINTF", "RMODIF", "TRANSFER",
)  # fmt: skip
ENDS = ("/SOLU", "/POST1", "/POST26", "/EXIT", "/EOF")


@dataclass
class Element:
    """Element with its attributes: type, material, real constants, section, system; its nodes."""

    type: int
    mat: int
    real: int
    section: int
    system: int
    nodes: list[int]


@dataclass
class Section:
    """Section with its shape and rows of numbers, and where its nodes are."""

    shape: tuple[str, str]
    line: str
    rows: list[list[str]] = field(default_factory=list)
    offset: str = ""


@dataclass
class AnsysModel:
    """Content of an archive, by number; components by name.

    types: kind and key options; materials: values of each property; tables: other properties of a
    material; turns: rotation angles of nodes in degrees; systems: kind, origin and angles;
    equations: terms of node, label and factor; left: commands of the body that are not read, with their lines.
    """

    path: Path
    positions: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    turns: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    elements: dict[int, Element] = field(default_factory=dict)
    types: dict[int, tuple[int, dict[int, int]]] = field(default_factory=dict)
    materials: dict[int, dict[str, list[float]]] = field(default_factory=dict)
    tables: dict[int, set[str]] = field(default_factory=dict)
    reals: dict[int, dict[int, float]] = field(default_factory=dict)
    sections: dict[int, Section] = field(default_factory=dict)
    systems: dict[int, tuple[int, list[float], list[float]]] = field(default_factory=dict)
    node_sets: dict[str, list[int]] = field(default_factory=dict)
    element_sets: dict[str, list[int]] = field(default_factory=dict)
    equations: dict[int, tuple[float, list[tuple[int, str, float]]]] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    notes: Counter[tuple[str, str]] = field(default_factory=Counter)
    units: str = ""


class Commands:
    """Reader of the lines of a file; the commands that it knows are in `HANDLERS`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = read_text(path).splitlines()
        self.at = 0
        self.claims = Claims(path.stat().st_size)
        self.model = AnsysModel(path)
        # attributes of elements that follow, and the section that rows belong to
        self.now = dict.fromkeys(("TYPE", "MAT", "REAL", "SECNUM", "ESYS"), 1) | {
            "ESYS": 0,
            "CSYS": 0,
        }
        self.section = 0
        self.table = 0
        self.highest = -1, 0  # number of elements after the last E command, and its element
        self.parameters: dict[str, float] = {}

    @property
    def where(self) -> str:
        """File and line of the current command."""
        return f"{self.path}:{self.at}"

    def read(self) -> AnsysModel:
        """Content of the file up to its solution. Raises InputError with the line."""
        depth = 0
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            for text in line.partition("!")[0].split("$"):
                fields = [each.strip() for each in text.strip().split(",")]
                name = fields[0].upper()
                if name.startswith(ENDS):
                    return self.model
                depth += name == "*IF" and fields[-1].upper() == "THEN"
                depth -= name == "*ENDIF"
                if depth <= 0 and name:
                    self._command(name, fields, text)
        return self.model

    def _command(self, name: str, fields: list[str], text: str) -> None:
        """Pass a command to its handler."""
        if assigned := _SET.fullmatch(text):
            self._assign(assigned[1], assigned[2])
        elif handler := self.HANDLERS.get(name) or self.HANDLERS.get(name[:4]):
            try:
                handler(self, [name, *(each.strip() for each in fields[1:])])
            except IndexError:
                raise InputError(
                    f"{self.where}: {name} lacks a field; write the model with CDWRITE,DB"
                ) from None
        elif name in GENERATORS:
            raise InputError(
                f"{self.where}: {name} makes nodes or elements, which only Ansys can evaluate; "
                "write the model with CDWRITE,DB"
            )

    def _assign(self, name: str, text: str) -> None:
        """Set a parameter, to a number or to the value of another."""
        value = self.parameters.get(text.strip().upper(), _number(text))
        if math.isfinite(value):
            self.parameters[name.strip().upper()] = value

    def integer(self, fields: list[str], place: int, default: int | None = None) -> int:
        """Integer of a field. Raises InputError."""
        value = self.real(fields, place, None if default is None else float(default))
        if value != int(value) or abs(value) > LARGEST:
            raise InputError(
                f"{self.where}: {fields[0]}: {fields[place]!r:.40} is not a whole number"
            )
        return int(value)

    def real(self, fields: list[str], place: int, default: float | None = None) -> float:
        """Number of a field, or of the parameter that it names. Raises InputError."""
        text = fields[place] if place < len(fields) else ""
        if not text and default is not None:
            return default
        value = self.parameters.get(text.upper(), _number(text))
        if not math.isfinite(value):
            what = f"{text!r:.40} is not a number" if text else f"field {place} is missing"
            raise InputError(f"{self.where}: {fields[0]}: {what}; write the model with CDWRITE,DB")
        return value

    # blocks

    def _format(self) -> list[tuple[str, int]]:
        """Kind and width of each column of a block, from its format line. Raises InputError."""
        line = self.lines[self.at] if self.at < len(self.lines) else ""
        found = [
            (kind.lower(), int(width))
            for count, kind, width in _FORMAT.findall(line)
            for _ in range(int(count))
        ]
        if not found or not line.strip().startswith("("):
            raise InputError(
                f"{self.path}:{self.at + 1}: {line.strip()[:40]!r} is not a format, as "
                "(3i9,6e21.13)"
            )
        if any(not 0 < width <= WIDEST for _, width in found):
            raise InputError(f"{self.path}:{self.at + 1}: {line.strip()[:40]!r} has columns of 0")
        self.at += 1
        return found

    def _rows(self, widths: list[tuple[str, int]]) -> Iterator[list[float]]:
        """Numbers of the lines of a block up to its end."""
        ends = [0]
        for _, width in widths:
            ends.append(ends[-1] + width)
        while self.at < len(self.lines):
            line = self.lines[self.at].rstrip()
            if not line.lstrip()[:1].isdigit() and line.lstrip()[:1] not in ("-", "."):
                return  # a command
            self.at += 1
            if line.strip() == "-1":
                return
            texts = [line[a:b] for a, b in pairwise(ends) if a < len(line)]
            try:
                yield [plain_numbers.real(each) if each.strip() else 0.0 for each in texts]
            except ValueError:
                raise InputError(
                    f"{self.where}: {line[:50]!r} has no numbers in its columns"
                ) from None

    def _whole(self, values: list[float]) -> list[int]:
        """Whole numbers of a row. Raises InputError."""
        if any(value != value or abs(value) > LARGEST or value % 1 for value in values):
            raise InputError(
                f"{self.where}: {self.lines[self.at - 1][:50]!r}: expected whole numbers"
            )
        return [int(value) for value in values]

    def nodes(self, fields: list[str]) -> None:
        """Nodes of NBLOCK with their positions, and the angles of their systems."""
        widths = self._format()
        first = next((k for k, (kind, _) in enumerate(widths) if kind != "i"), len(widths))
        for row in self._rows(widths):
            (number,) = self._whole(row[:1])
            x, y, z, *angles = [*row[first:], 0.0, 0.0, 0.0][: max(3, len(row) - first)]
            if not all(map(math.isfinite, (x, y, z))):
                raise InputError(f"{self.where}: node {number} has a position that is not finite")
            self.model.positions[number] = (x, y, z)
            if any(angles):
                a, b, c, *_ = [*angles, 0.0, 0.0]
                self.model.turns[number] = (a, b, c)

    def node(self, fields: list[str]) -> None:
        """Node of a command N."""
        if fields[1:2] and fields[1].upper().startswith(("R5", "UNBL")):
            if len(fields) > 3 and fields[3] == "-1":
                return
            place = 3 if fields[2:3] and fields[2].upper() in ("LOC", "ANG") else 2
            self._placed(self.integer(fields, place), fields[2].upper(), fields, place + 1)
            return
        if self.now["CSYS"]:
            raise InputError(
                f"{self.where}: N in the coordinate system {self.now['CSYS']}; write the model "
                "with CDWRITE,DB"
            )
        number = self.integer(fields, 1)
        self._placed(number, "LOC", fields, 2)
        if any(self.real(fields, k, 0.0) for k in (5, 6, 7)):
            self._placed(number, "ANG", fields, 5)

    def _placed(self, number: int, what: str, fields: list[str], first: int) -> None:
        """Set the position of a node, or the angles of its system."""
        values = tuple(self.real(fields, first + k, 0.0) for k in range(3))
        if what == "ANG":
            if any(values):
                self.model.turns[number] = values  # type: ignore[assignment]
        else:
            self.model.positions[number] = values  # type: ignore[assignment]

    def element_block(self, fields: list[str]) -> None:
        """Elements of EBLOCK, with (SOLID) or without the type of each."""
        solid = len(fields) > 2 and fields[2].upper() == "SOLID"
        widths = self._format()
        rows = self._rows(widths)
        for row in rows:
            values = self._whole(row)
            if solid:
                if len(values) < 12:
                    raise InputError(f"{self.where}: element with {len(values)} of 12 columns")
                mat, kind, real, section, system, _, _, _, count, _, number = values[:11]
                nodes = values[11:]
                while len(nodes) < count and (more := next(rows, None)) is not None:
                    nodes += self._whole(more)
                nodes = nodes[:count]
            else:
                if len(values) < 6:
                    raise InputError(f"{self.where}: element with {len(values)} of 6 columns")
                number, kind, real, mat, system = values[:5]
                section, nodes = kind, values[5:]
                kind = kind if kind in self.model.types else self.now["TYPE"]
            self.model.elements[number] = Element(kind, mat, real, section, system, nodes)

    def element(self, fields: list[str]) -> None:
        """Element of a command EN or E with the attributes that are set."""
        if len(fields) > 1 and fields[1].upper().startswith("R5"):
            if len(fields) > 3 and fields[3] == "-1":
                return
            raise InputError(
                f"{self.where}: EN,{fields[1]}: elements of unblocked archives are not read; "
                "write the model with CDWRITE,DB,,,,,BLOCKED"
            )
        first = 2 if fields[0] == "EN" else 1
        nodes = [self.integer(fields, k) for k in range(first, len(fields)) if fields[k]]
        elements, now = self.model.elements, self.now
        if fields[0] == "EN":
            number = self.integer(fields, 1)
        else:
            count, last = self.highest
            # a block has elements of its own; a search for each command takes quadratic time
            number = 1 + (last if count == len(elements) else max(elements, default=0))
        elements[number] = Element(
            now["TYPE"], now["MAT"], now["REAL"], now["SECNUM"], now["ESYS"], nodes
        )
        if fields[0] == "E":
            self.highest = len(elements), number

    def component(self, fields: list[str]) -> None:
        """Nodes or elements of CMBLOCK; −n ends a range."""
        if len(fields) < 3:
            raise InputError(f"{self.where}: CMBLOCK has no name or entity")
        own = fields[2].upper()
        sets = self.model.node_sets if own.startswith("NODE") else self.model.element_sets
        members = list[int]()
        for row in self._rows(self._format()):
            for value in self._whole(row):
                if value < 0 and members:
                    members += self.claims.range(self.where, members[-1] + 1, -value)
                elif value > 0:
                    members.append(value)
        sets[fields[1]] = members

    def real_block(self, fields: list[str]) -> None:
        """Real constants of RLBLOCK: number, count and values, continued on further lines."""
        widths, more = self._format(), self._format()
        while self.at < len(self.lines):
            row = next(self._rows(widths), None)
            if row is None:
                return
            number, count = self._whole([*row, 0.0][:2])
            values = row[2:]
            while len(values) < count and (rest := next(self._rows(more), None)) is not None:
                values += rest
            self.model.reals[number] = dict(enumerate(values[:count], 1))

    def type_block(self, fields: list[str]) -> None:
        """Element types of ETBLOCK: number, kind and key options."""
        for row in self._rows(self._format()):
            number, kind, *keys = self._whole([*row, 0.0][: max(2, len(row))])
            self.model.types[number] = (kind, {k: key for k, key in enumerate(keys, 1) if key})

    # single commands

    def units_stated(self, fields: list[str]) -> None:
        """System of units of /UNITS."""
        self.model.units = fields[1].upper() if len(fields) > 1 else ""

    def parameter(self, fields: list[str]) -> None:
        """Parameter of *SET."""
        if len(fields) > 2:
            self._assign(fields[1], fields[2])

    def attribute(self, fields: list[str]) -> None:
        """Attribute of the elements that follow: TYPE, MAT, REAL, SECNUM, ESYS."""
        self.now[fields[0]] = self.integer(fields, 1, 1)

    def type_of_elements(self, fields: list[str]) -> None:
        """Element type of ET: number, name or its digits, key options."""
        number = self.integer(fields, 1, 1)
        text = fields[2] if len(fields) > 2 else ""
        digits = re.search(r"\d+$", text)
        kind = int(digits[0][:6]) if digits else int(self.parameters.get(text.upper(), 0))
        keys = {k - 2: self.integer(fields, k, 0) for k in range(3, min(len(fields), 9))}
        self.model.types[number] = (kind, {k: key for k, key in keys.items() if key})

    def key_option(self, fields: list[str]) -> None:
        """Key option of an element type."""
        number = self.integer(fields, 1)
        kind, keys = self.model.types.get(number, (0, {}))
        self.model.types[number] = (
            kind,
            {**keys, self.integer(fields, 2): self.integer(fields, 3, 0)},
        )

    def property(self, fields: list[str]) -> None:
        """Property of a material of MP: label, number, value and factors of temperature."""
        if len(fields) < 4:
            return
        values = [self.real(fields, k, 0.0) for k in range(3, min(len(fields), 8))]
        constant = not any(values[1:])
        own = self.model.materials.setdefault(self.integer(fields, 2), {})
        own[fields[1].upper()] = values[:1] if constant else [values[0], math.nan]

    def property_data(self, fields: list[str]) -> None:
        """Values of MPDATA over temperature."""
        if fields[1:2] and fields[1].upper().startswith("R5"):
            fields = [fields[0], *fields[3:]]  # R5.0, count
            label, number, start, first = fields[1], 2, 3, 4
        else:
            label, number, start, first = fields[1] if len(fields) > 1 else "", 2, 3, 4
        values = [self.real(fields, k) for k in range(first, len(fields)) if fields[k]]
        own = self.model.materials.setdefault(self.integer(fields, number), {})
        old = own.get(label.upper(), []) if self.integer(fields, start, 1) > 1 else []
        own[label.upper()] = [*old, *values]

    def table_of_material(self, fields: list[str]) -> None:
        """Table TB of a material, such as plasticity."""
        if len(fields) > 2:
            number = self.integer(fields, 2)
            self.model.tables.setdefault(number, set()).add(fields[1].upper())

    def real_constants(self, fields: list[str]) -> None:
        """Real constants of R and RMORE."""
        if fields[0] == "R":
            if fields[1:2] and fields[1].upper().startswith("R5"):
                self.leave(fields)
                return
            self.table = self.integer(fields, 1, 1)
            self.model.reals[self.table] = {}
            values = fields[2:]
        else:
            values = fields[1:]
        own = self.model.reals.setdefault(self.table, {})
        first = 6 * math.ceil(len(own) / 6) if fields[0] == "RMORE" else 0
        shifted = [fields[0], *values]
        own |= {first + k: self.real(shifted, k, 0.0) for k in range(1, len(shifted))}

    def section_type(self, fields: list[str]) -> None:
        """Section of SECTYPE."""
        self.section = self.integer(fields, 1, 1)
        shape, form = (fields[k].upper() if len(fields) > k else "" for k in (2, 3))
        self.model.sections[self.section] = Section((shape, form), self.where)

    def section_data(self, fields: list[str]) -> None:
        """Row of numbers of SECDATA."""
        if self.section in self.model.sections:
            self.model.sections[self.section].rows.append(
                [str(self.real(fields, k, 0.0)) for k in range(1, len(fields))]
            )

    def section_block(self, fields: list[str]) -> None:
        """Rows of SECBLOCK, with commas."""
        for _ in range(min(self.integer(fields, 1, 1), len(self.lines) - self.at)):
            line = ["SECBLOCK", *(each.strip() for each in self.lines[self.at].split(","))]
            self.at += 1
            if self.section in self.model.sections:
                self.model.sections[self.section].rows.append(
                    [str(self.real(line, k, 0.0)) for k in range(1, len(line))]
                )

    def section_offset(self, fields: list[str]) -> None:
        """Place of the nodes of SECOFFSET."""
        if self.section in self.model.sections:
            self.model.sections[self.section].offset = ",".join(fields[1:]).upper().rstrip(",0. ")

    def system(self, fields: list[str]) -> None:
        """Coordinate system of LOCAL: kind, origin and angles."""
        if fields[1:2] and fields[1].upper().startswith("R5"):
            if len(fields) < 4:
                return
            number, kind = self.integer(fields, 3), self.integer(fields, 4, 0)
            values = [self.real(fields, 5 + k, 0.0) for k in range(3)]
            old = self.model.systems.get(number, (kind, [0.0] * 3, [0.0] * 3))
            place = (values, old[2]) if fields[2].upper() == "LOC" else (old[1], values)
            self.model.systems[number] = (kind, *place)
            return
        number, kind = self.integer(fields, 1), self.integer(fields, 2, 0)
        origin, angles = ([self.real(fields, k + j, 0.0) for j in range(3)] for k in (3, 6))
        self.model.systems[number] = (kind, origin, angles)
        self.now["CSYS"] = number

    def active_system(self, fields: list[str]) -> None:
        """Set the coordinate system of the nodes that follow."""
        self.now["CSYS"] = self.integer(fields, 1, 0)

    def equation(self, fields: list[str]) -> None:
        """Equation of CE: constant and number of terms, then two terms in each command."""
        if fields[1:2] and fields[1].upper().startswith("R5"):
            what = fields[2].upper() if len(fields) > 2 else ""
            if what == "DEFI":
                self.table = self.integer(fields, 3)
                self.model.equations[self.table] = (self.real(fields, 5, 0.0), [])
            elif self.table in self.model.equations:
                self._terms(self.table, fields, 3)
            return
        number = self.integer(fields, 1)
        self.model.equations.setdefault(number, (self.real(fields, 2, 0.0), []))
        self._terms(number, fields, 3)

    def _terms(self, number: int, fields: list[str], first: int) -> None:
        """Add terms: node, label and factor."""
        for k in range(first, len(fields) - 2, 3):
            if fields[k] and self.integer(fields, k):
                term = (self.integer(fields, k), fields[k + 1].upper(), self.real(fields, k + 2))
                self.model.equations[number][1].append(term)

    def change(self, fields: list[str]) -> None:
        """Change of an attribute of elements by EMOD."""
        names = {
            "TYPE": "type",
            "MAT": "mat",
            "REAL": "real",
            "SECNUM": "section",
            "ESYS": "system",
        }
        label = fields[2].upper() if len(fields) > 2 else ""
        chosen = self.model.element_sets.get(fields[1]) or next(
            (v for k, v in self.model.element_sets.items() if k.upper() == fields[1].upper()), None
        )
        if label not in names:
            self.leave(fields)
            return
        for number in [self.integer(fields, 1)] if chosen is None else chosen:
            if number in self.model.elements:
                setattr(self.model.elements[number], names[label], self.integer(fields, 3))

    def leave(self, fields: list[str]) -> None:
        """Keep the line of a command of the body that is not read."""
        self.model.left.setdefault(fields[0], self.where)

    def pass_over(self, fields: list[str]) -> None:
        """Note a command whose effect is omitted."""
        remedy = "write components with CDWRITE,DB" if fields[0] == "CM" else "paste its content"
        self.model.notes[fields[0], remedy] += 1

    HANDLERS: ClassVar[dict[str, Callable[[Commands, list[str]], None]]] = {}


Commands.HANDLERS.update(
    {
        "NBLOCK": Commands.nodes,
        "N": Commands.node,
        "EBLOCK": Commands.element_block,
        "EN": Commands.element,
        "E": Commands.element,
        "CMBLOCK": Commands.component,
        "RLBLOCK": Commands.real_block,
        "ETBLOCK": Commands.type_block,
        "ET": Commands.type_of_elements,
        **dict.fromkeys(("KEYOP", "KEYOPT", "KEYO"), Commands.key_option),
        **dict.fromkeys(("TYPE", "MAT", "REAL", "SECNUM", "ESYS"), Commands.attribute),
        "*SET": Commands.parameter,
        "/UNITS": Commands.units_stated,
        "MP": Commands.property,
        "MPDATA": Commands.property_data,
        "TB": Commands.table_of_material,
        **dict.fromkeys(("R", "RMORE"), Commands.real_constants),
        **dict.fromkeys(("SECTYPE", "SECT"), Commands.section_type),
        **dict.fromkeys(("SECDATA", "SECD"), Commands.section_data),
        **dict.fromkeys(("SECBLOCK", "SECB"), Commands.section_block),
        **dict.fromkeys(("SECOFFSET", "SECO", "SECOFF"), Commands.section_offset),
        "LOCAL": Commands.system,
        "CSYS": Commands.active_system,
        "CE": Commands.equation,
        "EMOD": Commands.change,
        **dict.fromkeys(("CP", "CERIG", "RBE3", "CEINTF", "MPCHG", "UPGEOM"), Commands.leave),
        **dict.fromkeys(("CM", "/INPUT", "*USE"), Commands.pass_over),
    }
)


def _number(text: str) -> float:
    """Number of a text; NaN for anything else."""
    try:
        return plain_numbers.real(text)
    except ValueError:
        return math.nan
