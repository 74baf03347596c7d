"""Trusses, beams, shells and spiders of Nastran bulk data, as elements and declarations of a part file.

Plane 1 of a bar, which has the moment of inertia I1, is that of its axis and its orientation vector: the local y axis here. The
axes of laminates are those of the coordinate system that the elements name (MCID).

Source: MSC Nastran, Quick Reference Guide, the entries named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh.declared import Declared
from preprocess.mesh_files.nastran_cards import Card, integer_field, listed_numbers, real_field, text_field
from preprocess.mesh_files.nastran_points import Points
from preprocess.mesh_files.nastran_properties import PROPERTIES, Property
from preprocess.mesh_files.nastran_shapes import OPEN, Section

# CTRIAR and CQUADR, with rotations about the normal, differ by their formulation only.
SHELLS = {
    "CTRIA3": ("triangle", 3), "CQUAD4": ("quad", 4), "CTRIAR": ("triangle", 3), "CQUADR": ("quad", 4),
    "CTRIA6": ("triangle6", 6), "CQUAD8": ("quad8", 8),
}  # fmt: skip
BEAMS = ("general", "circular", "tubular", "rectangular", "box", "i", *OPEN)
Array = NDArray[np.float64]
Vector = tuple[float, float, float]
Axes = Callable[[int, Card], Array]
"""Columns of a coordinate system, by its number and the card that names it."""


@dataclass
class Structures:
    """Beams (number, property, nodes, orientation), rods (number, property, nodes), shells (kind, number, property, nodes), the
    coordinate systems and offsets of shells by number, properties and materials by number, spiders, springs, masses, and the
    factor of masses."""

    beams: list[tuple[int, int, list[int], tuple[float, float, float]]] = field(default_factory=list)
    rods: list[tuple[int, int, list[int]]] = field(default_factory=list)
    shells: list[tuple[str, int, int, list[int]]] = field(default_factory=list)
    systems: dict[int, Card] = field(default_factory=dict)
    offsets: dict[int, float] = field(default_factory=dict)
    properties: dict[int, Property] = field(default_factory=dict)
    materials: dict[int, Section] = field(default_factory=dict)
    connections: dict[str, Section] = field(default_factory=dict)
    points: Points = field(default_factory=Points)
    source: str = ""
    centres: dict[str, list[int]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    mass_factor: float = 1.0

    def element_sets(self, axes: Axes, positions: Mapping[int, Any]) -> dict[str, tuple[list[int], int, Section]]:
        """Numbers of the elements, their property and section, by the name of a set: a property, or one of its orientations."""
        found: dict[str, tuple[list[int], int, Section]] = {}
        turns: dict[int, list[Any]] = {}

        def add(number: int, owner: int, section: Section, turn: Any) -> None:
            known = turns.setdefault(owner, [])
            if turn not in known:
                known.append(turn)
            name = f"property {owner}" + (f" ({known.index(turn) + 1})" if known.index(turn) else "")
            found.setdefault(name, ([], owner, section))[0].append(number)

        for _, number, owner, _ in self.shells:
            section = self._section(owner, ", ".join(SHELLS), ("shell", "laminate"))
            if section["kind"] == "laminate":
                section = {**section, "orientation": self._first_axis(number, axes)}
            offset = self.offsets.get(number, 0.0)  # of the reference plane, from which Z0 of PCOMP counts
            placed = {**section, "offset": section.get("offset", 0.0) + offset} if offset else section
            add(number, owner, placed, (section.get("orientation"), offset))
        for number, owner, _ in self.rods:
            add(number, owner, self._section(owner, "CROD", ("truss",)), None)
        for number, owner, nodes, vector in self.beams:
            section = self._section(owner, "CBAR, CBEAM", BEAMS)
            orientation = _turned(vector, self.properties[owner].turns, [positions.get(node) for node in nodes])
            add(number, owner, {**section, "orientation": orientation}, orientation)
        return found

    def _first_axis(self, number: int, axes: Axes) -> list[float]:
        """x axis of the coordinate system of a shell of a laminate."""
        card = self.systems.get(number)
        if card is None:
            raise InputError(f"{self.source}: shell {number} of PCOMP has no MCID; name the coordinate system of its plies")
        return [float(x) for x in axes(integer_field(card, _theta(card)), card)[:, 0]]

    def _section(self, owner: int, cards: str, kinds: tuple[str, ...]) -> Section:
        found = self.properties.get(owner)
        if found is None or found.section is None or found.section["kind"] not in kinds:
            known = ", ".join(name for name in PROPERTIES if name != "PSOLID")
            raise InputError(f"{self.source}: property {owner} of {cards} elements is not one of {known} that fits; give one")
        material = self.materials.get(found.material, {})
        if found.section["kind"] == "shell" and material.get("kind") == "orthotropic":
            raise InputError(f"{self.source}: PSHELL {owner} of MAT8 is not supported; give a PCOMP of one ply")
        if not found.plies or (len(set(found.plies)) == 1 and not self.materials):
            return found.section
        return {**found.section, "materials": [self._material(number) for number in found.plies]}

    def _material(self, number: int) -> Section:
        found = self.materials.get(number, {"problem": f"material {number} is not a MAT1 or MAT8 of the file"})
        return {**found, "rho": found["rho"] * self.mass_factor} if "rho" in found else found

    def _weighted(self, mass: Section) -> Section:
        k = self.mass_factor
        inertia = {"inertia": [[k * each for each in row] for row in mass["inertia"]]} if "inertia" in mass else {}
        return {**mass, "mass": k * mass["mass"], **inertia}

    def select_equations(self, number: int) -> None:
        """Keep the equations of MPC = number, 0 for none, and note those that are not applied. Raises InputError."""
        left = self.points.select(number, self.source)
        if left and not number:
            self.notices.append(f"{left} MPC omitted: the case control selects none; write MPC = n before BEGIN BULK")

    def declared(self, axes: Axes, solids: Mapping[str, int], positions: Mapping[int, Any]) -> Declared:
        """Sections and materials by element set, connections and masses; solids: property by element set of solids."""
        sets = self.element_sets(axes, positions)
        owners = {**solids, **{name: owner for name, (_, owner, _) in sets.items()}}
        used = {name: self.properties[owner].material if owner in self.properties else 0 for name, owner in owners.items()}
        return Declared(
            sections={name: section for name, (_, _, section) in sets.items()},
            connections=self.connections | self.points.connections(axes, dict(positions)),
            materials={name: self._material(number) for name, number in used.items()} if self.materials else {},
            masses=[self._weighted(each) for each in self.points.masses],
        )


def _turned(vector: Vector, turns: int, ends: list[Any]) -> Vector:
    """Orientation vector turned by quarters about a bar between two ends."""
    if turns % 2 and ends[0] is not None and ends[1] is not None:
        x = np.subtract(ends[1], ends[0])
        across = np.cross(x, vector) / (np.linalg.norm(x) or 1.0)
        vector = float(across[0]), float(across[1]), float(across[2])
    return (-vector[0], -vector[1], -vector[2]) if turns >= 2 else vector


def _theta(card: Card) -> int:
    """Field of THETA or MCID of a shell."""
    count = SHELLS[card.name][1]
    return 14 if count == 8 else 2 + count


def add_shell(found: Structures, card: Card) -> None:
    """A shell of one thickness with its offset ZOFFS from the grids along its normal."""
    kind, count = SHELLS[card.name]
    number = integer_field(card, 0)
    own, offset = ((10, 11, 12, 13), 15) if count == 8 else (range(4 + count, 3 + 2 * count + 5), 3 + count)
    _refuse(card, [k for k in own if _given(card, k)], "its own thickness")
    if _given(card, offset):
        found.offsets[number] = real_field(card, offset)
    if re.fullmatch(r"\d+", text_field(card, _theta(card))):
        found.systems[number] = card
    found.shells.append((kind, number, integer_field(card, 1, number), [integer_field(card, k) for k in range(2, 2 + count)]))


def add_bar(found: Structures, card: Card) -> None:
    """CBAR or CBEAM with an orientation vector in the basic system."""
    _refuse(card, [k for k in range(8, 16) if _given(card, k)], "pin flags or offsets")
    if "." not in text_field(card, 4) and not text_field(card, 5) and not text_field(card, 6):
        raise InputError(
            f"{card.line}: {card.name} {integer_field(card, 0)}: give its orientation as a vector X1, X2, X3, not by a node"
        )
    number = integer_field(card, 0)
    orientation = real_field(card, 4), real_field(card, 5), real_field(card, 6)
    found.beams.append((number, integer_field(card, 1, number), [integer_field(card, 2), integer_field(card, 3)], orientation))


def add_rod(found: Structures, card: Card) -> None:
    """CROD."""
    number = integer_field(card, 0)
    found.rods.append((number, integer_field(card, 1, number), [integer_field(card, 2), integer_field(card, 3)]))


def add_property(found: Structures, card: Card) -> None:
    """Section of a property card."""
    number = integer_field(card, 0)
    if number in found.properties:
        raise InputError(f"{card.line}: property number {number} occurs twice; number the properties uniquely")
    found.properties[number] = PROPERTIES[card.name](card)
    if card.name == "PSHELL" and not _given(card, 5):
        found.notices.append(
            f"PSHELL {number} has no MID3, a plate that is rigid in transverse shear: it is read as a flexible one"
        )


def add_spider(found: Structures, card: Card) -> None:
    """RBE2 or RBE3 with their nodes in the set of the card's name."""
    name = f"{card.name} {integer_field(card, 0)}"
    rigid = card.name == "RBE2"
    found.centres[f"{name} centre"] = [integer_field(card, 1 if rigid else 2)]
    spider = {"where": name, "reference": f"{name} centre"}
    if rigid:
        found.connections[name] = {"kind": "rigid-spider", **spider, "components": text_field(card, 2) or "123456"}
        return
    if not re.fullmatch("[1-6]+", text_field(card, 3)):
        raise InputError(f"{card.line}: {name}: components {text_field(card, 3)!r} of its centre; give digits from 1 to 6")
    weights, components = _weights(card, name)
    if len(components) != 1:
        raise InputError(f"{card.line}: {name}: has groups of different components, which are not supported; give one kind")
    chosen = {number: weight for weight, numbers in weights for number in numbers}
    means = {"components": components.pop(), "follows": text_field(card, 3), "weights": chosen}
    found.connections[name] = {"kind": "averaging-spider", **spider, **means}


def _weights(card: Card, name: str) -> tuple[list[tuple[float, list[int]]], set[str]]:
    """Weights with their nodes, and the components of all groups."""
    fields = [text for text in card.fields[4:] if text]
    if {"UM", "ALPHA"} & {text.upper() for text in fields}:
        raise InputError(f"{card.line}: {name}: UM and ALPHA are not supported; remove them")
    starts = [k for k, text in enumerate(fields) if not re.fullmatch(r"\d+|THRU", text.upper())]
    groups = [fields[low:high] for low, high in zip(starts, [*starts[1:], len(fields)])]
    if not groups or starts[0] or any(len(group) < 3 for group in groups):
        raise InputError(f"{card.line}: {name}: expected a weight, components and nodes; found '{', '.join(fields)[:60]}'")
    weights = [(_number(card, group[0]), listed_numbers(group[2:], card.line)) for group in groups]
    return weights, {group[1] for group in groups}


def _given(card: Card, index: int) -> bool:
    """Whether a field is neither blank nor zero."""
    text = text_field(card, index)
    return bool(text) and bool(text.strip("0.+-") or not re.fullmatch(r"[+-]?0*\.?0*", text))


def _number(card: Card, text: str) -> float:
    return real_field(Card(card.name, [text], card.line), 0)


def _refuse(card: Card, fields: list[int], what: str) -> None:
    if fields:
        raise InputError(f"{card.line}: {card.name} {integer_field(card, 0)} has {what}, which is not supported; remove it")
