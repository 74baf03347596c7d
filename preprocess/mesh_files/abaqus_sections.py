"""Sections of Abaqus and CalculiX files, by element set; of elements in several, the last one holds.

The first axis of beams is the local y axis here; their offsets are places of the nodes in the section, in its sides along both
axes, so that the centroid is on the other side of the nodes. What Abaqus and CalculiX
understand differently is refused: offsets of shells have opposite signs, one dimension of a circle is its radius or its diameter.

Source: CalculiX CrunchiX User's Manual and Abaqus Keywords Reference Guide, *SOLID, *SHELL, *BEAM and *BEAM GENERAL
SECTION, *NODAL THICKNESS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from preprocess.mesh.declared import Items
from preprocess.mesh_files.abaqus_assembly import Reading, Rows, split
from preprocess.mesh_files.abaqus_blocks import error_at
from preprocess.mesh_files.abaqus_fields import integer, real, reals
from preprocess.mesh_files.abaqus_materials import Materials
from preprocess.mesh_files.abaqus_surfaces import same_name

Array = NDArray[np.float64]

DEFAULT_AXIS = [0.0, 0.0, -1.0]  # of beams
SOLID = ("SOLID SECTION", "SOLIDSECTION")
REFUSED = ("TAPER", "DENSITY", "STIFFNESS FACTOR", "SHELL THICKNESS", "STACK DIRECTION")


@dataclass(frozen=True)
class Given:
    """A section keyword: its element set, options, place and data; the part of its orientations, the instance of its elements,
    and the rotation of that instance (3, 3), None for none."""

    keyword: str
    options: Mapping[str, str]
    line: str
    rows: Rows
    part: str = ""
    instance: str = ""
    turn: Array | None = None

    def turned(self, axis: list[float]) -> list[float]:
        """A direction of the part in the assembly."""
        return axis if self.turn is None else [float(x) for x in self.turn @ np.array(axis)]


@dataclass
class Sections:
    """Section keywords in order, those of parts by part, and lines of *NODAL THICKNESS."""

    found: list[Given] = field(default_factory=list)
    of_parts: dict[str, list[Given]] = field(default_factory=dict)
    thicknesses: Rows = field(default_factory=list)

    KEYWORDS: ClassVar = (
        "SOLID SECTION", "SOLIDSECTION", "SHELL SECTION", "BEAM SECTION", "BEAM GENERAL SECTION", "NODAL THICKNESS", "MEMBRANE",
    )  # fmt: skip

    def add(self, keyword: str, options: Mapping[str, str], line: str, rows: Rows, part: str = "") -> None:
        """A keyword block, of a part or of the model. Raises InputError with the line."""
        if keyword == "NODAL THICKNESS":
            self.thicknesses += rows
            return
        if not options.get("ELSET"):
            raise error_at(line, f"*{keyword} has no ELSET=")
        unknown = [name for name in REFUSED if name in options]
        if unknown:
            raise error_at(line, f"*{keyword}, {unknown[0]} is not supported; give elements of one section each, and masses")
        given = Given(keyword, options, line, rows, part)
        (self.of_parts.setdefault(part, []) if part else self.found).append(given)

    def place(self, part: str, instance: str, R: Array) -> None:
        """The sections of a part for one of its instances, which is turned by R."""
        turn = None if np.array_equal(R, np.eye(3)) else R
        self.found += [replace(each, instance=instance, turn=turn) for each in self.of_parts.get(part, [])]

    def declared(self, reading: Reading, materials: Materials) -> tuple[Items, Items]:
        """Sections and materials by element set; sets of elements that later sections have are restricted."""
        owner: dict[int, int] = {}
        members = [self._members(reading, given) for given in self.found]
        for k, numbers in enumerate(members):
            owner |= dict.fromkeys(numbers, k)
        sections: Items = {}
        declared: Items = {}
        if self.thicknesses and reading.shifts:
            raise error_at(self.thicknesses[0][0], "*NODAL THICKNESS together with *INSTANCE is not read; give one part")
        for k, (given, numbers) in enumerate(zip(self.found, members)):
            kinds = {reading.elements[n][0] for n in numbers if owner[n] == k}
            if not kinds:
                continue
            name = self._own_set(reading, given, [n for n in numbers if owner[n] == k], len(numbers))
            material, orientation = given.options.get("MATERIAL", ""), given.options.get("ORIENTATION", "")
            if "COMPOSITE" in given.options:
                if not kinds <= SHELLS:
                    raise error_at(given.line, f"*{given.keyword}, COMPOSITE is supported for shells only")
                sections[name], material = self._laminate(given, materials)
                orientation = ""
            elif structural := kinds & STRUCTURES:
                if kinds - STRUCTURES or len({_family(kind) for kind in structural}) > 1:
                    raise error_at(
                        given.line, f"*{given.keyword}: set '{name}' has {' and '.join(sorted(kinds))} elements; split it"
                    )
                sections[name] = self._section(reading, given, structural.pop(), materials)
                orientation = ""  # that of the section
            if "NODAL THICKNESS" in given.options and sections.get(name, {}).get("kind") != "shell":
                raise error_at(given.line, f"*{given.keyword}, NODAL THICKNESS is supported for shells of one isotropic material")
            if (
                given.turn is not None
                and not orientation
                and materials.kind(material) not in ("", "isotropic")
                and not (kinds & STRUCTURES)
            ):
                raise error_at(
                    given.line, f"*{given.keyword}: give an ORIENTATION, because instance '{given.instance}' is turned"
                )
            declared[name] = materials.declared(material, orientation, given.part, given.turned)
        return sections, declared

    def _members(self, reading: Reading, given: Given) -> list[int]:
        chosen = _set_of(reading, given)
        if chosen is None:
            raise error_at(given.line, f"*{given.keyword}: element set '{given.options['ELSET']}' does not exist")
        return [n for n in reading.element_sets[chosen] if n in reading.elements]

    def _own_set(self, reading: Reading, given: Given, numbers: list[int], count: int) -> str:
        """Name of a set of these numbers: that of the section, or a new one."""
        chosen = str(_set_of(reading, given))
        if len(numbers) == count:
            return chosen
        name = f"{chosen} less later sections"
        reading.element_sets[name] = numbers
        return name

    def _section(self, reading: Reading, given: Given, kind: str, materials: Materials) -> dict[str, Any]:
        family = _family(kind)
        expected = {"truss": SOLID, "beam": ("BEAM SECTION", "BEAM GENERAL SECTION"), "shell": ("SHELL SECTION",)}[family]
        if given.keyword not in expected or not given.rows:
            raise error_at(given.line, f"*{given.keyword} is not the section of {family} elements, or has no data")
        if family == "truss":
            return {"kind": "truss", "area": reals(*given.rows[0])[0]}
        return self._shell(reading, given, materials) if family == "shell" else _beam(given)

    def _shell(self, reading: Reading, given: Given, materials: Materials) -> dict[str, Any]:
        thickness = reals(*given.rows[0])[0]
        _refuse_offset(given)
        orientation = given.options.get("ORIENTATION", "")
        if orientation and materials.kind(given.options.get("MATERIAL", "")) not in ("", "isotropic"):
            axis = _first_axis(given, materials, orientation)
            return {"kind": "laminate", "plies": [[thickness, 0.0]], "orientation": axis}
        found = {"kind": "shell", "thickness": thickness}
        return (
            {**found, "at_nodes": self._thicknesses(reading)} if "NODAL THICKNESS" in given.options or self.thicknesses else found
        )

    def _thicknesses(self, reading: Reading) -> list[list[float]]:
        """Rows of node number and thickness."""
        found: list[list[float]] = []
        for where, text in self.thicknesses:
            name, value, *_ = [*split(text), ""]
            chosen = same_name(reading.node_sets, name)
            numbers = reading.node_sets[chosen] if chosen else [integer(where, name)]
            found += [[float(number), real(where, value)] for number in numbers]
        return found

    def _laminate(self, given: Given, materials: Materials) -> tuple[dict[str, Any], str]:
        """Plies: thickness, integration points, material, orientation; the material of the first."""
        plies, own = [], []
        rows = [(where, [*split(text), "", "", ""]) for where, text in given.rows]
        base = given.options.get("ORIENTATION", "") or next((row[3] for _, row in rows if row[3]), "")
        if not base and given.turn is not None:
            raise error_at(given.line, f"*{given.keyword}: give an ORIENTATION, because instance '{given.instance}' is turned")
        axis = _first_axis(given, materials, base) if base else [1.0, 0.0, 0.0]
        for where, row in rows:
            if row[3] and row[3].upper() != base.upper():
                raise error_at(where, "plies have different orientations, which are not supported; use LaminateSection")
            plies.append([real(where, row[0]), 0.0])
            own.append(row[2])
            if base and not row[3] and "ORIENTATION" not in given.options and materials.kind(row[2]) not in ("", "isotropic"):
                raise error_at(where, f"ply of {row[2]} has no orientation, but others have; give it one")
        if not plies:
            raise error_at(given.line, f"*{given.keyword}, COMPOSITE has no plies")
        if "SYMMETRIC" in given.options:
            plies, own = plies + plies[::-1], own + own[::-1]
        _refuse_offset(given)
        parts = [materials.declared(name) for name in own]
        return {"kind": "laminate", "plies": plies, "orientation": axis, "materials": parts}, own[0]


SHELLS = {"triangle", "quad", "triangle6", "quad8"}
STRUCTURES = {"truss", "line", "line3", *SHELLS}


def _set_of(reading: Reading, given: Given) -> str | None:
    """Element set of a section: of its instance, whose name a single one has not in front."""
    own = same_name(reading.element_sets, f"{given.instance}.{given.options['ELSET']}") if given.instance else None
    return own or same_name(reading.element_sets, given.options["ELSET"])


def _family(kind: str) -> str:
    return "truss" if kind == "truss" else "beam" if kind.startswith("line") else "shell"


def _refuse_offset(given: Given) -> None:
    offset = given.options.get("OFFSET", "0")
    if offset.upper() in ("SPOS", "SNEG") or real(given.line, offset):
        raise error_at(
            given.line, f"*{given.keyword}, OFFSET differs in sign between Abaqus and CalculiX; give the section in Python"
        )


def _first_axis(given: Given, materials: Materials, name: str) -> list[float]:
    axes, turn = materials.orientation(name, given.part)
    if axes is None:
        raise error_at(given.line, f"*{given.keyword}: orientation '{name}' is not defined, or not rectangular")
    if turn != (3, 0.0):
        raise error_at(
            given.line, f"*{given.keyword}: orientation '{name}' has another second line than 3, 0; give shells its points turned"
        )
    return given.turned([float(x) for x in axes[:, 0]])


def _beam(given: Given) -> dict[str, Any]:
    shape = given.options.get("SECTION", "RECT").upper()
    key = next((name for name in SHAPES if shape.startswith(name)), None)
    if key is None:
        raise error_at(given.line, f"*{given.keyword}, SECTION={shape} is not supported; use {', '.join(SHAPES)}")
    count, make = SHAPES[key]
    d = reals(*given.rows[0])
    if len(d) < count:
        raise error_at(given.line, f"*{given.keyword}, SECTION={shape} has {len(d)} dimensions; it needs {count}")
    section = make(d)
    if section is None:
        what = "only walls of one thickness are supported" if key == "BOX" else "one number is a radius or a diameter; give two"
        raise error_at(given.line, f"*{given.keyword}, SECTION={shape}: {what}, or the section in Python")
    axis = reals(*given.rows[1]) if len(given.rows) > 1 else DEFAULT_AXIS
    if len(given.rows) < 2 and given.turn is not None:
        raise error_at(given.line, f"*{given.keyword}: give its first axis, because instance '{given.instance}' is turned")
    sides = (2 * d[0], 2 * d[0]) if key == "PIPE" else (d[0], d[1])
    offset = [-real(given.line, given.options.get(f"OFFSET{k + 1}", "0")) * side for k, side in enumerate(sides)]
    return {**section, "orientation": given.turned([*axis, 0.0, 0.0][:3]), "offset": offset}


def _rectangle(d: list[float]) -> dict[str, Any]:
    return {"kind": "rectangular", "height": d[0], "width": d[1]}


def _ellipse(d: list[float]) -> dict[str, Any] | None:
    """Ellipse with the axes d."""
    if len(d) < 2:
        return None
    a, b = 0.5 * d[0], 0.5 * d[1]
    area = math.pi * a * b
    shear, J = (0.9, 0.9), area * a**2 * b**2 / (a**2 + b**2)
    own = {"area": area, "Iy": area * b**2 / 4, "Iz": area * a**2 / 4, "J": J, "height": d[0], "width": d[1], "shear": shear}
    return {"kind": "circular", "diameter": d[0]} if a == b else {"kind": "general", **own}


def _pipe(d: list[float]) -> dict[str, Any]:
    return {"kind": "tubular", "diameter": 2 * d[0], "thickness": d[1]}


def _box(d: list[float]) -> dict[str, Any] | None:
    return {"kind": "box", "height": d[0], "width": d[1], "thickness": d[2]} if len(set(d[2:6])) == 1 else None


SHAPES: dict[str, tuple[int, Any]] = {"RECT": (2, _rectangle), "CIRC": (1, _ellipse), "PIPE": (2, _pipe), "BOX": (6, _box)}
