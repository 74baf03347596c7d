"""Sections of Abaqus and CalculiX files, by element set.

For elements in several sets, the last section applies.

The first axis of beams is the local y axis here; their offsets are positions of the nodes in the
section, as fractions of its sides along both axes, so that the centroid is on the other side of the
nodes; OFFSET of shells is defined likewise, in thicknesses along the normal. A single dimension of
a circle is its radius in Abaqus and its diameter in CalculiX. A deck with parts is one of Abaqus,
since CalculiX has no parts; in other decks it is rejected.

Source: CalculiX CrunchiX User's Manual and Abaqus Keywords Reference Guide, *SOLID, *SHELL, *BEAM
and *BEAM GENERAL SECTION, *NODAL THICKNESS, *NORMAL; Abaqus Elements Guide, Beam cross-section
library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from preprocess.elements.structural import STRUCTURAL
from preprocess.mesh.declarations import Items
from preprocess.mesh_files.abaqus_assembly import AbaqusContent, Rows, split
from preprocess.mesh_files.abaqus_blocks import error_at
from preprocess.mesh_files.abaqus_fields import TemperatureTables, integer, real, reals
from preprocess.mesh_files.abaqus_materials import AbaqusMaterials
from preprocess.mesh_files.abaqus_options import REFUSED
from preprocess.mesh_files.abaqus_surfaces import same_name
from preprocess.mesh_files.nastran_shapes import angle, box, i_section
from preprocess.mesh_files.raw_mesh import AXISYMMETRIC, PLANES, STRESS

Array = NDArray[np.float64]

DEFAULT_AXIS = [0.0, 0.0, -1.0]  # of beams
# sine of the angle between normals that count as one; directions in files have about six digits
SAME = 1e-6
SOLID = ("SOLID SECTION", "SOLIDSECTION")
PLACES = ("CENTROID", "SHEAR CENTER")
# of cell types, by meshio's name
STATES = {kind: state for kind, (state, _) in PLANES.items()}
FAMILIES = {each.meshio_name: each.family for each in STRUCTURAL.values()} | STATES
SHELLS = {kind for kind, family in FAMILIES.items() if family == "shell"}


@dataclass(frozen=True)
class SectionCard:
    """Section keyword: its element set, options, location and data.

    The part of its orientations, the instance of its elements, and the rotation of that instance
    (3, 3), None for none; locations of *CENTROID and *SHEAR CENTER in it.
    """

    keyword: str
    options: Mapping[str, str]
    line: str
    rows: Rows
    part: str = ""
    instance: str = ""
    turn: Array | None = None
    places: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def turned(self, axis: list[float]) -> list[float]:
        """Direction of the part, rotated to the assembly."""
        return axis if self.turn is None else [float(x) for x in self.turn @ np.array(axis)]


@dataclass
class AbaqusSections:
    """Section keywords in order, those of parts by part, and lines of *NODAL THICKNESS.

    It also records whether only Abaqus can read the file, and notices.
    """

    found: list[SectionCard] = field(default_factory=list)
    of_parts: dict[str, list[SectionCard]] = field(default_factory=dict)
    thicknesses: Rows = field(default_factory=list)
    of_abaqus: bool = False
    notices: list[str] = field(default_factory=list)

    KEYWORDS: ClassVar = (
        "SOLID SECTION",
        "SOLIDSECTION",
        "SHELL SECTION",
        "BEAM SECTION",
        "BEAM GENERAL SECTION",
        "NODAL THICKNESS",
        "MEMBRANE",
        *PLACES,
    )

    def add(
        self, keyword: str, options: Mapping[str, str], line: str, rows: Rows, part: str = ""
    ) -> None:
        """Add a keyword block of a part or of the model. Raises InputError with the line."""
        if keyword == "NODAL THICKNESS":
            self.thicknesses += rows
            return
        own = self.of_parts.setdefault(part, []) if part else self.found
        if keyword in PLACES:
            if not own or not _is_general(own[-1]) or not rows:
                raise error_at(
                    line,
                    f"*{keyword} without *BEAM GENERAL SECTION, SECTION=GENERAL before "
                    "it, or without data",
                )
            y, z = [*reals(*rows[0]), 0.0, 0.0][:2]
            own[-1] = replace(own[-1], places={**own[-1].places, keyword: (y, z)})
            return
        if not options.get("ELSET"):
            raise error_at(line, f"*{keyword} has no ELSET=")
        unknown = [
            name
            for name in REFUSED
            if name in options and not (name == "DENSITY" and _has_constants(keyword, options))
        ]
        if unknown:
            raise error_at(
                line,
                f"*{keyword}, {unknown[0]} is not supported; give elements of one section "
                "each, and masses",
            )
        own.append(SectionCard(keyword, options, line, rows, part))

    def place(self, part: str, instance: str, R: Array) -> None:
        """Add the sections of a part for one of its instances, which is rotated by R."""
        turn = None if np.array_equal(R, np.eye(3)) else R
        self.found += [
            replace(each, instance=instance, turn=turn) for each in self.of_parts.get(part, [])
        ]

    def declared(self, reading: AbaqusContent, materials: AbaqusMaterials) -> tuple[Items, Items]:
        """Sections and materials by element set.

        Sets of elements with later sections are restricted.
        """
        owner: dict[int, int] = {}
        members = [self._members(reading, given) for given in self.found]
        for k, numbers in enumerate(members):
            owner |= dict.fromkeys(numbers, k)
        sections: Items = {}
        declared: Items = {}
        if self.thicknesses and reading.shifts:
            raise error_at(
                self.thicknesses[0][0],
                "*NODAL THICKNESS together with *INSTANCE is not supported; give one part",
            )
        for k, (given, numbers) in enumerate(zip(self.found, members)):
            kinds = {reading.elements[n][0] for n in numbers if owner[n] == k}
            if not kinds:
                continue
            name = self._own_set(
                reading, given, [n for n in numbers if owner[n] == k], len(numbers)
            )
            material, orientation = (
                given.options.get("MATERIAL", ""),
                given.options.get("ORIENTATION", ""),
            )
            if materials.plane(material) and not (
                kinds <= SHELLS or {STATES.get(kind) for kind in kinds} == {STRESS}
            ):
                raise error_at(
                    given.line,
                    f"*{given.keyword}: *ELASTIC, TYPE=LAMINA is of shells; give "
                    "ENGINEERING CONSTANTS",
                )
            if "COMPOSITE" in given.options:
                if not kinds <= SHELLS:
                    raise error_at(
                        given.line, f"*{given.keyword}, COMPOSITE is supported for shells only"
                    )
                sections[name], material = self._laminate(given, materials)
                orientation = ""
            elif structural := kinds & FAMILIES.keys():
                if kinds - FAMILIES.keys() or len({FAMILIES[kind] for kind in structural}) > 1:
                    raise error_at(
                        given.line,
                        f"*{given.keyword}: set '{name}' has "
                        f"{' and '.join(sorted(kinds))} elements; split it",
                    )
                own = [n for n in numbers if owner[n] == k]
                sections[name] = self._section(reading, given, structural.pop(), own, materials)
                if not kinds <= STATES.keys():
                    orientation = ""  # that of the section
            if kinds <= SHELLS and (
                normals := _normals_of(reading, [n for n in numbers if owner[n] == k])
            ):
                sections[name]["normals"] = [
                    [n, node, *direction] for (n, node), direction in normals.items()
                ]
            if "NODAL THICKNESS" in given.options and sections.get(name, {}).get("kind") != "shell":
                raise error_at(
                    given.line,
                    f"*{given.keyword}, NODAL THICKNESS is supported for shells of one "
                    "isotropic material",
                )
            if (
                given.turn is not None
                and not orientation
                and materials.kind(material) not in ("", "isotropic")
                and not (kinds & (FAMILIES.keys() - STATES.keys()))
            ):
                raise error_at(
                    given.line,
                    f"*{given.keyword}: give an ORIENTATION, because instance "
                    f"'{given.instance}' is rotated",
                )
            declared[name] = (
                _constants(given, materials.tables)
                if kinds & FAMILIES.keys() and _has_constants(given.keyword, given.options)
                else materials.declared(material, orientation, given.part, given.turned)
            )
        return sections, declared

    def _members(self, reading: AbaqusContent, given: SectionCard) -> list[int]:
        """Elements in the set of a section. Raises `InputError`."""
        chosen = _set_of(reading, given)
        if chosen is None:
            raise error_at(
                given.line,
                f"*{given.keyword}: element set '{given.options['ELSET']}' does not exist",
            )
        return [n for n in reading.element_sets[chosen] if n in reading.elements]

    def _own_set(
        self, reading: AbaqusContent, given: SectionCard, numbers: list[int], count: int
    ) -> str:
        """Name of a set of these element numbers: that of the section, or a new one."""
        chosen = str(_set_of(reading, given))
        if len(numbers) == count:
            return chosen
        name = f"{chosen} less later sections"
        reading.element_sets[name] = numbers
        return name

    def _section(
        self,
        reading: AbaqusContent,
        given: SectionCard,
        kind: str,
        numbers: list[int],
        materials: AbaqusMaterials,
    ) -> dict[str, Any]:
        """Declaration of a section for elements of a kind. Raises `InputError`."""
        family = FAMILIES[kind]
        expected = {
            "truss": SOLID,
            "beam": ("BEAM SECTION", "BEAM GENERAL SECTION"),
            "shell": ("SHELL SECTION",),
        }.get(family, SOLID)
        plane = family in (*STATES.values(),)
        if given.keyword not in expected or not (given.rows or plane):
            raise error_at(
                given.line,
                f"*{given.keyword} is not the section of {family} elements, or has no data",
            )
        if plane:
            return self._plane(given, family)
        if family == "truss":
            return {"kind": "truss", "area": reals(*given.rows[0])[0]}
        if family == "shell":
            return self._shell(reading, given, materials)
        if given.options.get("SECTION", "").upper() == "L":
            self.notices.append(
                "SECTION=L: the nodes are assumed where the middle lines of the legs meet"
            )
        section = _beam(given, self.of_abaqus)
        rows = self._directions(reading, given, numbers)
        return {**section, "orientation": rows} if rows else section

    def _plane(self, given: SectionCard, state: str) -> dict[str, Any]:
        """Declaration of a section of plane elements; its thickness is 1 if none is given."""
        if state == AXISYMMETRIC:
            return {"kind": state}
        values = reals(*given.rows[0]) if given.rows else []
        if not values or not values[0]:
            self.notices.append(
                f"*{given.keyword}, ELSET={given.options['ELSET']} has no thickness; 1 is used, as "
                "Abaqus and CalculiX do"
            )
        elif values[0] < 0:
            raise error_at(
                given.line, f"*{given.keyword}: thickness {values[0]:g}; give a positive one"
            )
        return {"kind": state, "thickness": values[0] if values and values[0] else 1.0}

    def _directions(
        self, reading: AbaqusContent, given: SectionCard, numbers: list[int]
    ) -> list[list[float]]:
        """Rows of element number and first axis, from nodes beside beams or *NORMAL; else empty."""
        normals = _normals_of(reading, numbers)
        if not normals and not any(n in reading.beside for n in numbers):
            return []
        x = {k: np.array(place, dtype=float) for k, place in reading.nodes.items()}
        rows = []
        for n in numbers:
            nodes = reading.elements[n][1]
            own = [normals[n, node] for node in nodes if (n, node) in normals]
            along = x[nodes[-1]] - x[nodes[0]]
            axis = np.array(given.turned(_first_of(given)))
            if n in reading.beside and reading.beside[n] not in x:
                raise error_at(
                    given.line,
                    f"element {n}: the node {reading.beside[n]} beside it does not exist; "
                    "complete the nodes",
                )
            if n in reading.beside:
                axis = x[reading.beside[n]] - x[nodes[0]]
            elif own:
                sides = [np.cross(each, along) for each in map(np.array, own)]
                if (
                    len(own) < len(nodes)
                    or np.linalg.matrix_rank(np.array(sides), tol=SAME * np.abs(sides).max()) > 1
                ):
                    raise error_at(
                        given.line,
                        f"*NORMAL: element {n} has different normals at its nodes (a twisted "
                        "beam); give it one",
                    )
                axis = sides[0]
            rows.append([n, *(float(value) for value in axis)])
        return rows

    def _shell(
        self, reading: AbaqusContent, given: SectionCard, materials: AbaqusMaterials
    ) -> dict[str, Any]:
        """Declaration of a shell section. Raises `InputError`."""
        thickness = reals(*given.rows[0])[0]
        more = {"offset": -_offset_of(given) * thickness} if _offset_of(given) else {}
        orientation = given.options.get("ORIENTATION", "")
        if orientation and materials.kind(given.options.get("MATERIAL", "")) not in (
            "",
            "isotropic",
        ):
            axis = _first_axis(given, materials, orientation)
            return {"kind": "laminate", "plies": [[thickness, 0.0]], "orientation": axis, **more}
        if ("NODAL THICKNESS" in given.options or self.thicknesses) and more:
            raise error_at(
                given.line,
                f"*{given.keyword}, OFFSET of shells of variable thickness is not "
                "supported; give an offset of 0",
            )
        found = {"kind": "shell", "thickness": thickness, **more}
        return (
            {**found, "at_nodes": self._thicknesses(reading)}
            if "NODAL THICKNESS" in given.options or self.thicknesses
            else found
        )

    def _thicknesses(self, reading: AbaqusContent) -> list[list[float]]:
        """Rows of node number and thickness."""
        found: list[list[float]] = []
        for where, text in self.thicknesses:
            name, value, *_ = [*split(text), ""]
            chosen = same_name(reading.node_sets, name)
            numbers = reading.node_sets[chosen] if chosen else [integer(where, name)]
            found += [[float(number), real(where, value)] for number in numbers]
        return found

    def _laminate(
        self, given: SectionCard, materials: AbaqusMaterials
    ) -> tuple[dict[str, Any], str]:
        """Laminate, and the material of its first ply.

        Each ply has thickness, integration points, material and orientation.
        """
        plies, own = [], []
        rows = [(where, [*split(text), "", "", ""]) for where, text in given.rows]
        base = given.options.get("ORIENTATION", "") or next(
            (row[3] for _, row in rows if row[3]), ""
        )
        if not base and given.turn is not None:
            raise error_at(
                given.line,
                f"*{given.keyword}: give an ORIENTATION, because instance "
                f"'{given.instance}' is rotated",
            )
        axis = _first_axis(given, materials, base) if base else [1.0, 0.0, 0.0]
        for where, row in rows:
            if row[3] and row[3].upper() != base.upper():
                raise error_at(
                    where,
                    "plies have different orientations, which are not supported; use "
                    "LaminateSection",
                )
            plies.append([real(where, row[0]), 0.0])
            own.append(row[2])
            if (
                base
                and not row[3]
                and "ORIENTATION" not in given.options
                and materials.kind(row[2]) not in ("", "isotropic")
            ):
                raise error_at(
                    where, f"ply of {row[2]} has no orientation, but others have; give it one"
                )
        if not plies:
            raise error_at(given.line, f"*{given.keyword}, COMPOSITE has no plies")
        if "SYMMETRIC" in given.options:
            plies, own = plies + plies[::-1], own + own[::-1]
        more = (
            {"offset": -_offset_of(given) * sum(t for t, _ in plies)} if _offset_of(given) else {}
        )
        parts = [materials.declared(name) for name in own]
        return {
            "kind": "laminate",
            "plies": plies,
            "orientation": axis,
            "materials": parts,
            **more,
        }, own[0]


def _set_of(reading: AbaqusContent, given: SectionCard) -> str | None:
    """Element set of a section, with the prefix of its instance unless it is the only one."""
    own = (
        same_name(reading.element_sets, f"{given.instance}.{given.options['ELSET']}")
        if given.instance
        else None
    )
    return own or same_name(reading.element_sets, given.options["ELSET"])


def _offset_of(given: SectionCard) -> float:
    """Position of the nodes from the middle of a shell, in thicknesses along the normal."""
    text = given.options.get("OFFSET", "0").upper()
    return {"SPOS": 0.5, "SNEG": -0.5}.get(text) or real(
        given.line, "0" if text in ("SPOS", "SNEG") else text
    )


def _normals_of(
    reading: AbaqusContent, numbers: list[int]
) -> dict[tuple[int, int], tuple[float, ...]]:
    """Directions given with the coordinates of nodes, or by *NORMAL, by element and node.

    Raises InputError.
    """
    if not reading.normals:
        return {}
    of_nodes = {
        int(node): direction for element, node, direction, _ in reading.normals if not element
    }
    found = {(n, k): of_nodes[k] for n in numbers for k in reading.elements[n][1] if k in of_nodes}
    own = set(numbers)
    for element, node, direction, line in reading.normals:
        if element:
            nodes = set(_numbers_of(reading.node_sets, node, line))
            for n in own.intersection(_numbers_of(reading.element_sets, element, line)):
                found |= {(n, k): direction for k in nodes.intersection(reading.elements[n][1])}
    return found


def _numbers_of(sets: Mapping[str, list[int]], text: str, line: str) -> list[int]:
    """Members of a named set, or a single number."""
    chosen = same_name(sets, text)
    return sets[chosen] if chosen else [integer(line, text)]


def _has_constants(keyword: str, options: Mapping[str, str]) -> bool:
    """True if a section has its own E and G instead of a material."""
    return keyword == "BEAM GENERAL SECTION" and not options.get("MATERIAL")


def _is_general(given: SectionCard) -> bool:
    """True for *BEAM GENERAL SECTION with given properties instead of a shape."""
    return (
        given.keyword == "BEAM GENERAL SECTION"
        and given.options.get("SECTION", "GENERAL").upper() == "GENERAL"
    )


def _constants(given: SectionCard, tables: TemperatureTables) -> dict[str, Any]:
    """Material of the constants of *BEAM GENERAL SECTION, and DENSITY.

    E and G are in the third line and, at other temperatures, in the following lines.
    """
    rows = [[*reals(*row), 0.0, 0.0, 0.0, 0.0] for row in given.rows[2:]] or [[0.0] * 4]
    what = f"*{given.keyword}, ELSET={given.options['ELSET']}"
    table = [[E, G, T] for E, G, _, T, *_ in rows]
    E, G = tables.at(what, table, "DEPENDENCIES" not in given.options)
    if not (E > 0 and G > E / 3):
        raise error_at(
            given.line,
            "*BEAM GENERAL SECTION needs a MATERIAL, or E and G above E/3 in its third line",
        )
    rho = real(given.line, given.options.get("DENSITY", "0"))
    found = {"kind": "isotropic", "E": E, "nu": 0.5 * E / G - 1, "rho": rho}
    return (
        found
        if rho > 0
        else {**found, "lacks": f"section of '{given.options['ELSET']}' has no DENSITY"}
    )


def _first_axis(given: SectionCard, materials: AbaqusMaterials, name: str) -> list[float]:
    """First axis of an orientation. Raises `InputError`."""
    axes, turn = materials.orientation(name, given.part)
    if axes is None:
        raise error_at(
            given.line, f"*{given.keyword}: orientation '{name}' is not defined, or not rectangular"
        )
    if turn != (3, 0.0):
        raise error_at(
            given.line,
            f"*{given.keyword}: the second line of orientation '{name}' is not 3, 0; "
            "give rotated points instead",
        )
    return given.turned([float(x) for x in axes[:, 0]])


def _beam(given: SectionCard, of_abaqus: bool) -> dict[str, Any]:
    """Declaration of a beam section from its shape and dimensions. Raises `InputError`."""
    shape = given.options.get(
        "SECTION", "GENERAL" if given.keyword == "BEAM GENERAL SECTION" else "RECT"
    ).upper()
    key = (
        shape
        if shape in SHAPES
        else next(
            (name for name in ("RECT", "CIRC", "PIPE", "BOX") if shape.startswith(name)), None
        )
    )
    if key is None:
        raise error_at(
            given.line,
            f"*{given.keyword}, SECTION={shape} is not supported; use {', '.join(SHAPES)}",
        )
    count, make = SHAPES[key]
    lines = _segments(given) if key == "ARBITRARY" else 1
    d = [
        value
        for row in given.rows[:lines]
        for value in (reals(*row) if key != "ARBITRARY" else _six(*row))
    ]
    if len(d) < count:
        raise error_at(
            given.line,
            f"*{given.keyword}, SECTION={shape} has {len(d)} dimensions; it needs {count}",
        )
    if any(value < 0 for value in d[:count]) and key not in ("ARBITRARY", "I", "GENERAL"):
        raise error_at(
            given.line,
            f"*{given.keyword}, SECTION={shape}: dimension {min(d[:count]):g}; give "
            "dimensions that are not negative",
        )
    if key == "CIRC" and len(d) == 1 and of_abaqus:
        d = [2 * d[0], 2 * d[0]]
    section = make(d)
    if section is not None and given.places:
        centroid, shear = (np.array(given.places.get(key, (0.0, 0.0))) for key in PLACES)
        section |= {"offset": centroid.tolist(), "shear_centre": (shear - centroid).tolist()}
    if section is None:
        why = {
            "CIRC": "one number may be a radius or a diameter; give two diameters",
            "GENERAL": "I12 is not supported; rotate the axes",
        }
        raise error_at(
            given.line,
            f"*{given.keyword}, SECTION={shape}: "
            f"{why.get(key, 'walls without thickness, or that do not fit')}",
        )
    if len(given.rows) <= lines and given.turn is not None:
        raise error_at(
            given.line,
            f"*{given.keyword}: give its first axis, because instance '{given.instance}' is "
            "rotated",
        )
    offsets = [real(given.line, given.options.get(f"OFFSET{k + 1}", "0")) for k in range(2)]
    if any(offsets) and key not in ("RECT", "CIRC", "PIPE", "BOX"):
        raise error_at(
            given.line,
            f"*{given.keyword}, OFFSET of SECTION={shape} is not supported; give its position by "
            "its dimensions",
        )
    if any(offsets):
        sides = (2 * d[0], 2 * d[0]) if key == "PIPE" else (d[0], [*d, d[0]][1])
        section = {"line": "origin", **section} if section["kind"] == "walled" else section
        place = section.pop("offset", [0.0, 0.0])
        section["offset"] = [
            own - offset * side for own, offset, side in zip(place, offsets, sides)
        ]
    return {**section, "orientation": given.turned(_first_of(given))}


def _first_of(given: SectionCard) -> list[float]:
    """First axis, given after the lines of the dimensions."""
    lines = _segments(given) if given.options.get("SECTION", "").upper() == "ARBITRARY" else 1
    axis = reals(*given.rows[lines]) if len(given.rows) > lines else []
    return [*axis, 0.0, 0.0][:3] if axis else DEFAULT_AXIS


def _segments(given: SectionCard) -> int:
    """Lines of an arbitrary section, one for each segment."""
    count = split(given.rows[0][1])[0]
    if not count.isdecimal() or not 2 <= int(count) <= min(len(given.rows), 1000):
        raise error_at(
            given.line,
            f"*{given.keyword}, SECTION=ARBITRARY: '{count[:20]}' segments; give two or "
            "more, and a line of each",
        )
    return int(count)


def _six(where: str, text: str) -> list[float]:
    """Numbers of a line, including empty ones at its end."""
    return [real(where, each) for each in split(text)]


def _rectangle(d: list[float]) -> dict[str, Any]:
    """Declaration of a rectangular section from its dimensions."""
    return {"kind": "rectangular", "height": d[0], "width": [*d, d[0]][1]}


def _ellipse(d: list[float]) -> dict[str, Any] | None:
    """Declaration of an elliptical section with the axes d; None without two axes."""
    if len(d) < 2:
        return None
    a, b = 0.5 * d[0], 0.5 * d[1]
    area = math.pi * a * b
    shear, J = (0.9, 0.9), area * a**2 * b**2 / (a**2 + b**2)
    own = {
        "area": area,
        "Iy": area * b**2 / 4,
        "Iz": area * a**2 / 4,
        "J": J,
        "height": d[0],
        "width": d[1],
        "shear": shear,
    }
    return {"kind": "circular", "diameter": d[0]} if a == b else {"kind": "general", **own}


def _pipe(d: list[float]) -> dict[str, Any]:
    """Declaration of a tubular section from radius and thickness."""
    return {"kind": "tubular", "diameter": 2 * d[0], "thickness": d[1]}


def _box(d: list[float]) -> dict[str, Any] | None:
    """Declaration of a box section from its sides and wall thicknesses.

    Walls towards the first and the second axis, then against the first and the second.
    """
    a, b, first, second, third, fourth = d[:6]
    if not min(first, second, third, fourth) > 0:
        return None
    found = box(width=b, height=a, top=first, bottom=third, right=second, left=fourth)
    return (
        found
        if found["kind"] == "box"
        else {**found, "line": "origin", "offset": [-0.5 * a, -0.5 * b]}
    )


def _i(d: list[float]) -> dict[str, Any] | None:
    """Declaration of an I section, or T if one flange has no width or thickness.

    Height of the node above the bottom, height, widths of bottom and top, thicknesses of bottom,
    top and web: along the second axis.
    """
    place, height, low, high, bottom, top, web = d[:7]
    bottom, top, low, high = (each if min(pair) > 0 else 0.0 for each, pair in zip(
        (bottom, top, low, high), ((bottom, low), (top, high), (bottom, low), (top, high))))  # fmt: skip
    if not (web > 0 and (low or high)):
        return None
    if low and high:
        found = i_section(height, low, high, web, bottom, top)
        if found["kind"] == "i":
            return {**found, "turn": 90.0, "offset": [0.0, 0.5 * height - place]}
        walls, rows = found["walls"], found["rectangles"]
    else:
        width, t, m = low or high, bottom or top, 0.5 * bottom if low else height - 0.5 * top
        walls = [[m, side * 0.5 * width, m, 0.0, t] for side in (-1, 1)] + [
            [m, 0.0, height if low else 0.0, 0.0, web]
        ]
        rows = [[m - 0.5 * t, -0.5 * width, m + 0.5 * t, 0.5 * width]]
        rows.append([t if low else 0.0, -0.5 * web, height if low else height - t, 0.5 * web])
    walls = [[z1, y1, z2, y2, t] for y1, z1, y2, z2, t in walls]
    return {"kind": "walled", "walls": walls, "rectangles": [[b, a, d, c] for a, b, c, d in rows],
            "line": "origin", "offset": [0.0, -place]}  # fmt: skip


def _l(d: list[float]) -> dict[str, Any]:
    """Declaration of an angle section from its legs and their thicknesses."""
    a, b, first, second = d[:4]
    return {
        **angle(height=a, width=b, upright=first, flat=second),
        "line": "origin",
        "offset": [-0.5 * second, -0.5 * first],
    }


def _hexagon(d: list[float]) -> dict[str, Any] | None:
    """Declaration of a hexagonal tube from the radius of its corners and its thickness."""
    if not 0 < 2 * d[1] / math.sqrt(3) < d[0]:
        return None
    radius, t = d[0] - d[1] / math.sqrt(3), d[1]
    corners = [
        (radius * math.cos(k * math.pi / 3), radius * math.sin(k * math.pi / 3)) for k in range(7)
    ]
    return {"kind": "walled", "walls": [[*p, *q, t] for p, q in pairwise(corners)]}


def _arbitrary(d: list[float]) -> dict[str, Any] | None:
    """Declaration of a walled section from its segments.

    Number of walls, first point, second point and thickness; then the next point and thickness of
    each further wall.
    """
    points, t = [(d[1], d[2]), (d[3], d[4])], [d[5]]
    for k in range(6, 6 + 3 * (int(d[0]) - 1), 3):
        x, y, thickness = [*d[k : k + 3], 0.0, 0.0, 0.0][:3]
        points.append((x, y))
        t.append(thickness)
    if not min(t) > 0:
        return None
    walls = [[*p, *q, thickness] for (p, q), thickness in zip(pairwise(points), t)]
    return {"kind": "walled", "walls": walls, "line": "origin"}


def _general(d: list[float]) -> dict[str, Any] | None:
    """Declaration of a section from its area, I11, I12, I22 and J.

    I11 belongs to bending about the first axis.
    """
    area, I11, I12, I22, J = d[:5]
    return (
        None
        if I12
        else {"kind": "general", "area": area, "Iy": I11, "Iz": I22, "J": J, "shear": (1.0, 1.0)}
    )


SHAPES: dict[str, tuple[int, Any]] = {
    "RECT": (1, _rectangle),
    "CIRC": (1, _ellipse),
    "PIPE": (2, _pipe),
    "BOX": (6, _box),
    "I": (7, _i),
    "L": (4, _l),
    "HEX": (2, _hexagon),
    "ARBITRARY": (9, _arbitrary),
    "GENERAL": (5, _general),
}
