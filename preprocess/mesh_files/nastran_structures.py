"""Trusses, beams, shells and spiders of Nastran bulk data, as elements and declarations of a part.

Plane 1 of a bar, which has the moment of inertia I1, is that of its axis and its orientation
vector: the local y axis here. The axes of laminates are those of the coordinate system that the
elements name (MCID), or rotated by THETA from the first side. Torsion of rods is a spring between
the rotations of their grids about their axis.

Source: MSC Nastran, Quick Reference Guide, entries by name.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh.declarations import FileDeclarations, Item
from preprocess.mesh_files.nastran_cards import (
    Card,
    integer_field,
    listed_numbers,
    real_field,
    text_field,
)
from preprocess.mesh_files.nastran_coordinates import CoordinateSystems
from preprocess.mesh_files.nastran_points import NastranPoints
from preprocess.mesh_files.nastran_properties import MATERIALS, PROPERTIES, SHEAR, Property, own_rod
from preprocess.mesh_files.nastran_shapes import OPEN, Section

# CTRIAR and CQUADR, with rotations about the normal, differ by their formulation only.
SHELLS = {
    "CTRIA3": ("triangle", 3),
    "CQUAD4": ("quad", 4),
    "CTRIAR": ("triangle", 3),
    "CQUADR": ("quad", 4),
    "CTRIA6": ("triangle6", 6),
    "CQUAD8": ("quad8", 8),
}
BEAMS = ("general", "circular", "tubular", "rectangular", "box", "i", *OPEN)
DEFAULTS = {"CBAR": "BAROR", "CBEAM": "BEAMOR"}
TURNS = set("456")
Array = NDArray[np.float64]


class Rod(NamedTuple):
    """Number, property and grids of CROD, CTUBE and CONROD, and their card."""

    number: int
    owner: int
    nodes: list[int]
    card: Card


@dataclass
class StructuralCards:
    """Cards of beams, rods, shells and spiders.

    Beams, rods, shells (kind, number, property, nodes), their cards and offsets by number,
    properties, materials by number, spiders, springs, masses, and the factor of masses; coordinate
    systems; BAROR and BEAMOR; nodes of edges without a middle, by their ends, those of shells, and
    the first number that no grid has.
    """

    beams: list[Card] = field(default_factory=list)
    rods: list[Rod] = field(default_factory=list)
    shells: list[tuple[str, int, int, list[int]]] = field(default_factory=list)
    systems: dict[int, Card] = field(default_factory=dict)
    offsets: dict[int, float] = field(default_factory=dict)
    properties: dict[int, Property] = field(default_factory=dict)
    materials: dict[int, Section] = field(default_factory=dict)
    spiders: list[Item] = field(default_factory=list)
    points: NastranPoints = field(default_factory=NastranPoints)
    source: str = ""
    centres: dict[str, list[int]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    mass_factor: float = 1.0
    frames: CoordinateSystems = field(default_factory=CoordinateSystems)
    defaults: dict[str, Card] = field(default_factory=dict)
    straight: dict[tuple[int, int], int] = field(default_factory=dict)
    turning: set[int] = field(default_factory=set)
    unused: int = 1

    def middle(self, a: int, b: int, *, turns: bool) -> int:
        """Number of a node in the middle of an edge without one, which follows both ends."""
        key = min(a, b), max(a, b)
        found = self.straight.setdefault(key, self.unused + len(self.straight))
        if turns:
            self.turning.add(found)
        return found

    def _straight_edges(self) -> Iterator[tuple[str, Item]]:
        """Equations of the nodes of edges without a middle: u = (u_a + u_b)/2, θ of shells too."""
        for (a, b), node in self.straight.items():
            for k in range(1, 7 if node in self.turning else 4):
                terms = [(node, k, 1.0), (a, k, -0.5), (b, k, -0.5)]
                yield f"straight edge {a} {b} ({k})", {"kind": "equation", "terms": terms}

    def element_sets(self) -> dict[str, tuple[list[int], int, Section]]:
        """Numbers of the elements, their property and section, by name of a set.

        A set is a property, or one of its variants.
        """
        found: dict[str, tuple[list[int], int, Section]] = {}
        variants: dict[int, list[Any]] = {}

        def add(number: int, owner: int, section: Section, variant: Any) -> Section:
            """Add an element to the set of its property and variant; the section of the set."""
            known = variants.setdefault(owner, [])
            if variant not in known:
                known.append(variant)
            name = (f"property {owner}" if owner >= 0 else f"CONROD {-owner}") + (
                f" ({known.index(variant) + 1})" if known.index(variant) else ""
            )
            numbers, _, kept = found.setdefault(name, ([], owner, dict(section)))
            numbers.append(number)
            return kept

        # thickness by node of sets with T1 to T4, in which each node has one
        at_nodes: dict[Any, list[dict[int, float]]] = {}
        for kind, number, owner, nodes in self.shells:
            section = self._section(owner, ", ".join(SHELLS), ("shell", "plate", "laminate"))
            if section["kind"] == "laminate":
                section = self._oriented(section, number, kind)
            # of the reference plane, from which Z0 of PCOMP counts
            offset = self.offsets.get(number, 0.0)
            placed = (
                {**section, "offset": section.get("offset", 0.0) + offset} if offset else section
            )
            variant = (section.get("orientation"), section.get("turn"), offset)
            own = self._thickness(number, nodes, section)
            known = at_nodes.setdefault((owner, str(variant)), []) if own else []
            k = next((k for k, each in enumerate(known) if _agree(each, own)), len(known))
            if own and k == len(known):
                known.append({})
            kept = add(number, owner, placed, (*variant, k if own else None))
            if own:
                known[k] |= own
                kept["at_nodes"] = [list(row) for row in known[k].items()]
        for rod in self.rods:
            add(rod.number, rod.owner, self._section(rod.owner, "CROD, CTUBE", ("truss",)), None)
        alone = self._turned_by_one()
        for card in self.beams:
            number, owner = integer_field(card, 0), self._owner(card)
            released = _released(card, alone)
            ends = self._arms(card)
            section = self._section(owner, "CBAR, CBEAM", BEAMS)
            kept = add(
                number,
                owner,
                section
                | ({"released": released} if any(released) else {})
                | ({"lumped_torsion": False} if card.name == "CBAR" else {}),
                (released, ends is None),
            )
            kept.setdefault("orientation", []).append([number, *self._orientation(card)])
            if ends is not None:
                kept.setdefault("ends", []).append([number, *ends.ravel().tolist()])
        for _, _, section in found.values():
            for key, shape in (("orientation", (3,)), ("ends", (2, 3))):
                rows = section.get(key)
                if (
                    rows
                    and isinstance(rows[0], list)
                    and section["kind"] in BEAMS
                    and all(row[1:] == rows[0][1:] for row in rows)
                ):
                    section[key] = np.reshape(rows[0][1:], shape).tolist()
        return found

    def _thickness(self, number: int, nodes: list[int], section: Section) -> dict[int, float]:
        """Own thickness of a shell by node, empty without one. Raises InputError."""
        card = self.systems[number]
        own = _own_thickness(card, nodes, float(section.get("thickness", 0.0)))
        if own and section["kind"] != "shell":
            raise InputError(
                f"{card.line}: {card.name} {number} has its own thickness T1 to T4, which only an "
                "isotropic PSHELL without its own bending may have; remove it"
            )
        return own

    def _default(self, card: Card, *fields: int) -> list[str]:
        """Texts of fields, those of BAROR or BEAMOR if all of them are blank."""
        own = [text_field(card, k) for k in fields]
        if any(own) or DEFAULTS[card.name] not in self.defaults:
            return own
        return [text_field(self.defaults[DEFAULTS[card.name]], k) for k in fields]

    def _owner(self, card: Card) -> int:
        """Number of the property of an element; its own number by default."""
        return integer_field(
            Card(card.name, self._default(card, 1), card.line), 0, integer_field(card, 0)
        )

    def _orientation(self, card: Card) -> list[float]:
        """Orientation vector of a beam in basic axes.

        To a grid G0, or X1, X2, X3 in the displacement axes of GA, or in basic axes by OFFT.
        """
        name, start = f"{card.line}: {card.name} {integer_field(card, 0)}", integer_field(card, 2)
        texts = self._default(card, 4, 5, 6)
        given = Card(card.name, texts, card.line)
        if texts[0].isdecimal() and not texts[1] and not texts[2]:
            vector = self.frames.point(int(texts[0]), card) - self.frames.point(start, card)
        else:
            vector = np.array([real_field(given, k) for k in range(3)])
            axes = None if self._offt(card)[0] == "B" else self.frames.displacements(start, card)
            vector = vector if axes is None else axes @ vector
        if not np.linalg.norm(vector) > 0:
            raise InputError(
                f"{name}: has no orientation; give the vector X1, X2, X3, or a node G0 "
                "beside its axis"
            )
        turn = self._property(self._owner(card)).turn
        if turn:
            ends = self.frames.point(integer_field(card, 3), card) - self.frames.point(start, card)
            arms = self._arms(card)
            ends = ends if arms is None else ends + arms[1] - arms[0]
            along = ends / np.linalg.norm(ends)
            y = vector - (along @ vector) * along
            vector = math.cos(turn) * y + math.sin(turn) * np.cross(along, y)
        return [float(x) for x in vector]

    def _offt(self, card: Card) -> str:
        """The three letters of the field OFFT of a beam.

        Orientation vector in displacement (G) or basic (B) axes; offsets are in displacement axes.
        """
        (text,) = self._default(card, 7)
        found = text.upper() or "GGG"
        if not re.fullmatch("[BG]G{0,2}", found):
            raise InputError(
                f"{card.line}: {card.name} {integer_field(card, 0)}: OFFT = {text[:20]} "
                "is not supported; give offsets in"
                " displacement axes, GGG, or BGG with the vector in basic axes"
            )
        return (found + "GGG")[:3]

    def _arms(self, card: Card) -> Array | None:
        """Vectors (2, 3) from the grids to the ends of a beam in basic axes; None without."""
        if not any(_is_nonzero(card, k) for k in range(10, 16)):
            return None
        self._offt(card)
        found = np.array([[real_field(card, first + k) for k in range(3)] for first in (10, 13)])
        for row, node in zip(found, (integer_field(card, 2), integer_field(card, 3))):
            axes = self.frames.displacements(node, card)
            row[:] = row if axes is None else axes @ row
        return found

    def _turned_by_one(self) -> set[int]:
        """Grids whose rotation only a single bar acts on."""
        count = Counter(
            node
            for card in self.beams
            for k, node in zip((8, 9), _grids(card))
            if not set(_pins(card, k)) >= TURNS
        )
        return {node for node, bars in count.items() if bars == 1} - self._turned_by_others()

    def _turned_by_others(self) -> set[int]:
        """Grids whose rotation shells, spiders, bushings, springs or masses act on."""
        found = {
            node for _, _, _, nodes in self.shells for node in nodes
        } | self.points.rotated_grids()
        for each in self.spiders:
            turns = each["kind"] == "rigid-spider" and bool(TURNS & set(each["components"]))
            found |= {*(each["nodes"] if turns else ()), each["centre"]}
        return found

    def _oriented(self, section: Section, number: int, kind: str) -> Section:
        """Laminate along the first axis of MCID, or rotated by THETA from the first side."""
        card = self.systems.get(number)
        text = text_field(card, _theta(card)) if card is not None else ""
        if card is not None and re.fullmatch(r"\d+", text):
            axes = self.frames.axes(int(text), card)
            return {**section, "orientation": [float(x) for x in axes[:, 0]]}
        if kind in ("triangle6", "quad8"):
            raise InputError(
                f"{self.source}: shell {number} of PCOMP has no MCID; name the coordinate "
                "system of its plies"
            )
        theta = real_field(card, _theta(card)) if card is not None else 0.0
        return {**section, "turn": theta} if theta else section

    def _section(self, owner: int, cards: str, kinds: tuple[str, ...]) -> Section:
        """Section of a property with its material. Raises `InputError`."""
        found = self.properties.get(owner)
        if found is None or found.section is None or found.section["kind"] not in kinds:
            known = ", ".join(name for name in PROPERTIES if name != "PSOLID")
            raise InputError(
                f"{self.source}: property {owner} of {cards} elements is not one of "
                f"{known} that fits; give one"
            )
        material = self.materials.get(found.material, {})
        section, plies = dict(found.section), found.plies
        directed = any(
            self.materials.get(number, {}).get("kind") in ("orthotropic", "anisotropic")
            for number in (found.material, *plies)
        )
        if section["kind"] == "plate" and directed:
            raise InputError(
                f"{self.source}: PSHELL {owner} of MAT2 or MAT8 with its own bending or shear is "
                "not supported; give a PCOMP"
            )
        if section["kind"] == "shell" and directed:
            section |= {"kind": "laminate", "plies": [[section.pop("thickness"), 0.0]]}
            plies = [found.material]
        ratio = material.get("shear_ratio", 1.0)
        if ratio != 1.0 and section["kind"] in set(BEAMS) - {"general"}:
            raise InputError(
                f"{self.source}: property {owner}: MAT1 {found.material}: E, G and NU are not those "
                "of an isotropic material; give a PBAR or PBEAM with its J"
            )
        section = _with_shear_modulus(section, ratio)
        if "added_mass" in section:
            section["added_mass"] *= self.mass_factor
        if not plies or (len(set(plies)) == 1 and not self.materials):
            return section
        return {**section, "materials": [(n and self._material(n)) or None for n in plies]}

    def _material(self, number: int) -> Section:
        """Declaration of a material with its density scaled to kg."""
        found = self.materials.get(
            number, {"problem": f"material {number} is none of {', '.join(MATERIALS)} of the file"}
        )
        found = {key: value for key, value in found.items() if key != "shear_ratio"}
        return {**found, "rho": found["rho"] * self.mass_factor} if "rho" in found else found

    def _of_solid(self, owner: int, number: int) -> Section:
        """Material of a solid, along the axes of CORDM if it has directions."""
        found, system = self._material(number), self._property(owner).system
        if found.get("kind", "isotropic") == "isotropic" or not system:
            return found
        own = self.frames.cards.get(system)
        if system < 0 or own is None or not own.name.endswith("R"):
            return {
                **found,
                "problem": f"PSOLID {owner}: CORDM = {system} of a material with directions is not "
                "a rectangular system",
            }
        return {**found, "axes": self.frames.axes(system, own).tolist()}

    def _weighted(self, mass: Section) -> Section:
        """Point mass with mass and inertia scaled to kg."""
        k = self.mass_factor
        inertia = (
            {"inertia": [[k * each for each in row] for row in mass["inertia"]]}
            if "inertia" in mass
            else {}
        )
        return {**mass, "mass": k * mass["mass"], **inertia}

    def select_equations(self, number: int) -> None:
        """Keep the equations of MPC = number, 0 for none, and note those that are not applied.

        Raises InputError.
        """
        left = self.points.select(number, self.source)
        if left and not number:
            self.notices.append(
                f"{left} MPC omitted: the case control selects none; write MPC = n before "
                "BEGIN BULK"
            )

    def declared(self, solids: Mapping[str, int], revolved: Mapping[str, int]) -> FileDeclarations:
        """Sections and materials by element set, connections and masses.

        solids: property by element set of solids; revolved: material by that of CTRIAX6.
        """
        sets = self.element_sets()
        owners = {**solids, **{name: owner for name, (_, owner, _) in sets.items()}}
        used = {
            name: self.properties[owner].material if owner in self.properties else 0
            for name, owner in owners.items()
        }
        connections = {name: each for spider in self.spiders for name, each in self._spider(spider)}
        masses = [self._weighted(each) for each in self.points.placed(self.frames)]
        self.notices += [
            f"{each['where']}: no body has these moments of inertia; they are taken as they are"
            for each in masses
            if "incomplete" in each
        ]
        return FileDeclarations(
            sections={name: section for name, (_, _, section) in sets.items()},
            connections=connections
            | self._twists()
            | self.points.connections(self.frames)
            | dict(self._straight_edges()),
            materials={
                name: self._of_solid(owners[name], number)
                if name in solids
                else self._material(number)
                for name, number in {**used, **revolved}.items()
            }
            if self.materials
            else {},
            masses=masses,
        )

    def _spider(self, given: Item) -> Iterator[tuple[str, Item]]:
        """Declaration of a spider; single components of nodes are along their displacement axes."""
        name, card, own = given["where"], given["card"], given["components"]
        frames = {
            node: self.frames.displacements(node, card)
            for node in (*given["nodes"], given["centre"])
        }
        plain = {
            key: value for key, value in given.items() if key not in ("nodes", "centre", "card")
        }
        others = {node for node, axes in frames.items() if axes is not None}
        follows = given.get("follows", "")
        if (
            given["kind"] != "rigid-spider"
            and given["centre"] in others
            and not _axis_independent(follows)
        ):
            raise InputError(
                f"{card.line}: {name}: components {follows} of a centre with a "
                "displacement system (CD) are not supported;"
                " give 123 or 123456"
            )
        if _axis_independent(own) or not others & {*given["nodes"]}:
            yield name, plain
        else:
            rows = [
                [node, *axes.T.ravel().tolist()]
                for node, axes in frames.items()
                if axes is not None and node != given["centre"]
            ]
            yield name, {**plain, "axes": rows}

    def _twists(self) -> dict[str, Item]:
        """Torsion springs of rods between grids whose rotation another element acts on.

        The torsion of other rods, whose ends rotate freely, has no effect.
        """
        rods = [rod for rod in self.rods if self._property(rod.owner).torsion]
        held = self._turned_by_others() | {node for card in self.beams for node in _grids(card)}
        groups: list[tuple[set[int], list[Rod]]] = []
        for rod in rods:
            touching = [each for each in groups if each[0] & {*rod.nodes}]
            groups = [each for each in groups if not each[0] & {*rod.nodes}]
            groups.append(
                (
                    {*rod.nodes}.union(*(nodes for nodes, _ in touching)),
                    [rod, *(r for _, own in touching for r in own)],
                )
            )
        found: dict[str, Item] = {}
        for nodes, own in groups:
            if len(nodes & held) < 2:
                continue
            if nodes - held:
                raise InputError(
                    f"{own[0].card.line}: {own[0].card.name} {own[0].number}: torsion of "
                    f"rods through node {min(nodes - held)},"
                    " whose rotation nothing else acts on, is not supported; give J = 0, or beams"
                )
            found |= {f"{rod.card.name} {rod.number} torsion": self._twist(rod) for rod in own}
        return found

    def _twist(self, rod: Rod) -> Item:
        """Torsional spring of a rod with torsional stiffness. Raises `InputError`."""
        prop, name = self._property(rod.owner), f"{rod.card.line}: {rod.card.name} {rod.number}"
        steel = self.materials.get(prop.material, {})
        if "E" not in steel or steel["kind"] != "isotropic":
            raise InputError(
                f"{rod.card.line}: {rod.card.name} {rod.number}: its torsion needs MAT1 "
                f"{prop.material}; give one, or J = 0"
            )
        apart = self.frames.point(rod.nodes[1], rod.card) - self.frames.point(
            rod.nodes[0], rod.card
        )
        length = float(np.linalg.norm(apart))
        if not length > 0:
            raise InputError(f"{name}: has no length; give grids at two positions")
        x = apart / length
        y = np.cross(x, np.eye(3)[np.abs(x).argmin()])
        axes = np.column_stack([x, y / np.linalg.norm(y), np.cross(x, y / np.linalg.norm(y))])
        G = steel["E"] / (2 * (1 + steel["nu"])) * steel.get("shear_ratio", 1.0)
        k = G * prop.torsion / length
        return {
            "kind": "bushing",
            "first": rod.nodes[0],
            "second": rod.nodes[1],
            "rotation": [k, 0.0, 0.0],
            "axes": axes.tolist(),
        }

    def _property(self, owner: int) -> Property:
        """Property of a number; an empty one if it is missing."""
        return self.properties.get(owner, Property(None, 0))


def _with_shear_modulus(section: Section, ratio: float) -> Section:
    """Section whose torsion and transverse shear have ``ratio`` times the modulus E/2(1 + ν)."""
    if ratio == 1.0:
        return section
    if section["kind"] in ("shell", "plate"):
        return {**section, "kind": "plate", "shear": section.get("shear", SHEAR) * ratio}
    if section["kind"] == "general":
        first, second = section["shear"]
        scaled = {**section, "J": section["J"] * ratio, "shear": [first * ratio, second * ratio]}
        if "end" in section:
            scaled["end"] = {**section["end"], "J": section["end"]["J"] * ratio}
        return scaled
    return section


def _axis_independent(components: str) -> bool:
    """True if components are all translations, all rotations, or both: the axes do not matter."""
    return all(len(set(components) & chosen) in (0, 3) for chosen in (set("123"), TURNS))


def _released(card: Card, alone: set[int]) -> tuple[str, str]:
    """Components released by the pin flags at both ends of a bar.

    A bar hinged at a grid that it alone rotates transmits no torque: its torsion is released at
    that end too. If the torsion is released at both ends, the first end is kept fixed: the bar
    would otherwise rotate freely about its axis.
    """
    flags = [_pins(card, k) for k in (8, 9)]
    for end, node in enumerate(_grids(card)):
        if node in alone and {"5", "6"} <= set(flags[end]) and "4" not in "".join(flags):
            flags[end] = "4" + flags[end]
    if all("4" in each for each in flags):
        flags[0] = flags[0].replace("4", "")
    return flags[0], flags[1]


def _grids(card: Card) -> tuple[int, int]:
    """Numbers of both grids of a bar."""
    return integer_field(card, 2), integer_field(card, 3)


def _pins(card: Card, index: int) -> str:
    """Components released by the pin flags at one end. Raises InputError."""
    text = text_field(card, index)
    if not text or not text.strip("0"):
        return ""
    if not re.fullmatch("[1-6]{1,6}", text):
        raise InputError(
            f"{card.line}: {card.name} {integer_field(card, 0)}: pin flags '{text[:20]}'; "
            "give digits from 1 to 6"
        )
    return "".join(sorted(set(text)))


def _agree(one: Mapping[int, float], two: Mapping[int, float]) -> bool:
    """True if common nodes have the same thickness."""
    return all(one.get(node, value) == value for node, value in two.items())


def _theta(card: Card) -> int:
    """Text of the field THETA or MCID of a shell."""
    count = SHELLS[card.name][1]
    return 14 if count == 8 else 2 + count


def add_shell(found: StructuralCards, card: Card) -> None:
    """Add a shell with its offset ZOFFS from the grids along its normal."""
    kind, count = SHELLS[card.name]
    number = integer_field(card, 0)
    offset = 15 if count == 8 else 3 + count
    if _is_nonzero(card, offset):
        found.offsets[number] = real_field(card, offset)
    found.systems[number] = card
    nodes = grids_of(found, card, count, 3 if count in (3, 6) else 4)
    found.shells.append((kind, number, integer_field(card, 1, number), nodes))


def grids_of(found: StructuralCards, card: Card, count: int, corners: int) -> list[int]:
    """Grids of a shell; those of the middles of its sides may be blank."""
    nodes = [integer_field(card, 2 + k) for k in range(corners)]
    for k in range(count - corners):
        own = integer_field(card, 2 + corners + k, 0)
        ends = nodes[k], nodes[(k + 1) % corners]
        nodes.append(own or found.middle(*ends, turns=True))
    return nodes


def _own_thickness(card: Card, nodes: list[int], default: float) -> dict[int, float]:
    """Thickness by grid of a shell with T1 to T4, relative to that of its property if TFLAG = 1.

    Blank ones are the property's; at the middle of a side it is the mean of its ends. Empty if all
    are blank. Raises InputError.
    """
    count = SHELLS[card.name][1]
    corners = {3: 3, 6: 3}.get(count, 4)
    given = [text_field(card, 10 + k) for k in range(corners)]
    if not any(given):
        return {}
    flag = text_field(card, {6: 13, 8: 16}.get(count, 9)) or "0"
    if flag not in ("0", "1"):
        raise InputError(f"{card.line}: {card.name}: TFLAG = {flag[:20]}; give 0 or 1")
    unit = default if flag == "1" else 1.0
    found = [real_field(card, 10 + k) * unit if text else default for k, text in enumerate(given)]
    if not min(found) > 0:
        raise InputError(
            f"{card.line}: {card.name} {integer_field(card, 0)}: T{found.index(min(found)) + 1} = "
            f"{min(found):g}; give a positive thickness"
        )
    if count > 4:
        found += [0.5 * (a + b) for a, b in zip(found, [*found[1:], found[0]])]
    return dict(zip(nodes, found))


def add_bar(found: StructuralCards, card: Card) -> None:
    """Add the beam element of a CBAR or CBEAM card."""
    if card.name == "CBEAM":
        _refuse(card, [k for k in (16, 17) if _is_nonzero(card, k)], "warping at SA or SB")
    found.beams.append(card)


def add_rod(found: StructuralCards, card: Card) -> None:
    """Add the rod element of a CROD or CTUBE card."""
    number = integer_field(card, 0)
    found.rods.append(
        Rod(
            number,
            integer_field(card, 1, number),
            [integer_field(card, 2), integer_field(card, 3)],
            card,
        )
    )


def add_own_rod(found: StructuralCards, card: Card) -> None:
    """Add a CONROD, which has no property: rods of one section form a set."""
    number, own = integer_field(card, 0), own_rod(card)
    owner = next(
        (key for key, each in found.properties.items() if key < 0 and each == own), -number
    )
    found.properties[owner] = own
    found.rods.append(Rod(number, owner, [integer_field(card, 1), integer_field(card, 2)], card))


def add_defaults(found: StructuralCards, card: Card) -> None:
    """Store the default fields of a BAROR or BEAMOR card."""
    if card.name in found.defaults:
        raise InputError(f"{card.line}: {card.name} occurs twice; keep one")
    found.defaults[card.name] = card


def add_property(found: StructuralCards, card: Card) -> None:
    """Add the section of a property card."""
    number = integer_field(card, 0)
    if number in found.properties:
        raise InputError(
            f"{card.line}: property number {number} occurs twice; number the properties uniquely"
        )
    found.properties[number] = PROPERTIES[card.name](card)
    if card.name == "PSHELL" and not _is_nonzero(card, 5):
        found.notices.append(
            f"PSHELL {number} has no MID3, a plate that is rigid in transverse shear: it "
            "is read as a flexible one"
        )


def add_spider(found: StructuralCards, card: Card) -> None:
    """Add RBE2, RBE3 or RBAR, with their nodes in the set of the card's name."""
    name = f"{card.name} {integer_field(card, 0)}"
    spider: Item = {"where": name, "reference": f"{name} centre", "card": card}
    if card.name == "RBAR":
        spider |= {"kind": "rigid-spider", **_bar_ends(card, name)}
    elif card.name == "RBE2":
        entries = [text for text in card.fields[3:] if "." not in text]
        own = {
            "centre": integer_field(card, 1),
            "nodes": listed_numbers(entries, card.line, card.claims),
        }
        spider |= {"kind": "rigid-spider", "components": text_field(card, 2) or "123456", **own}
    else:
        if not re.fullmatch("[1-6]+", text_field(card, 3)):
            raise InputError(
                f"{card.line}: {name}: components {text_field(card, 3)!r} of its centre; "
                "give digits from 1 to 6"
            )
        weights, components = _weights(card, name)
        if len(components) != 1:
            raise InputError(
                f"{card.line}: {name}: has groups of different components, which are not "
                "supported; give one kind"
            )
        chosen = {number: weight for weight, numbers in weights for number in numbers}
        means = {"components": components.pop(), "follows": text_field(card, 3), "weights": chosen}
        own = {
            "centre": integer_field(card, 2),
            "nodes": [number for _, numbers in weights for number in numbers],
        }
        spider |= {"kind": "averaging-spider", **means, **own}
    if not re.fullmatch("[1-6]+", spider["components"]):
        raise InputError(
            f"{card.line}: {name}: components {spider['components'][:20]!r}; give digits "
            "from 1 to 6"
        )
    found.centres[f"{name} centre"] = [spider["centre"]]
    found.spiders.append(spider)


def _bar_ends(card: Card, name: str) -> Item:
    """Centre, node and components of an RBAR with all independent components at one end."""
    nodes = integer_field(card, 1), integer_field(card, 2)
    free, led = [text_field(card, k) for k in (3, 4)], [text_field(card, k) for k in (5, 6)]
    for a, b in ((0, 1), (1, 0)):
        if set(free[a]) == set("123456") and not free[b] and not led[a]:
            return {"centre": nodes[a], "nodes": [nodes[b]], "components": led[b] or "123456"}
    raise InputError(
        f"{card.line}: {name}: only CNA or CNB = 123456 and components of the other end "
        "are supported; give RBE2"
    )


def _weights(card: Card, name: str) -> tuple[list[tuple[float, list[int]]], set[str]]:
    """Weights with their nodes, and the components of all groups."""
    fields = [text for text in card.fields[4:] if text]
    if "UM" in {text.upper() for text in fields}:
        raise InputError(f"{card.line}: {name}: UM is not supported; remove it")
    # of thermal expansion
    end = next((k for k, text in enumerate(fields) if text.upper() == "ALPHA"), len(fields))
    fields = fields[:end]
    starts = [k for k, text in enumerate(fields) if not re.fullmatch(r"\d+|THRU", text.upper())]
    groups = [fields[low:high] for low, high in zip(starts, [*starts[1:], len(fields)])]
    if not groups or starts[0] or any(len(group) < 3 for group in groups):
        raise InputError(
            f"{card.line}: {name}: expected a weight, components and nodes; found "
            f"'{', '.join(fields)[:60]}'"
        )
    weights = [
        (_number(card, group[0]), listed_numbers(group[2:], card.line, card.claims))
        for group in groups
    ]
    return weights, {group[1] for group in groups}


def _is_nonzero(card: Card, index: int) -> bool:
    """True if a field is neither blank nor zero."""
    text = text_field(card, index)
    return bool(text) and bool(text.strip("0.+-") or not re.fullmatch(r"[+-]?0*\.?0*", text))


def _number(card: Card, text: str) -> float:
    """Number from the text of a field. Raises `InputError`."""
    return real_field(Card(card.name, [text], card.line), 0)


def _refuse(card: Card, fields: list[int], what: str) -> None:
    """Raise `InputError` if a card has fields that are not supported."""
    if fields:
        raise InputError(
            f"{card.line}: {card.name} {integer_field(card, 0)} has {what}, which is not "
            "supported; remove it"
        )
