"""Beams, shells and spiders of Nastran bulk data, with their sections as declarations of a part file.

Plane 1 of a bar, which has the moment of inertia I1, is that of its axis and its orientation vector: the local y axis here.

Source: MSC Nastran, Quick Reference Guide, the entries named.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flexmbs.errors import InputError
from preprocess.mesh.declared import Declared
from preprocess.mesh_files.nastran_cards import Card, integer_field, listed_numbers, real_field, text_field

SHELLS = {"CTRIA3": ("triangle", 3), "CQUAD4": ("quad", 4), "CTRIA6": ("triangle6", 6), "CQUAD8": ("quad8", 8)}
PROPERTIES = ("PSHELL", "PBAR", "PBARL")
ROUNDED, SHEAR = 1e-6, 5 / 6  # of 12I/T³, and TS/T of a plate
Section = dict[str, Any]


@dataclass
class Structures:
    """Beams (number, property, nodes, orientation), shells (kind, number, property, nodes), sections by property, spiders."""

    beams: list[tuple[int, int, list[int], tuple[float, float, float]]] = field(default_factory=list)
    shells: list[tuple[str, int, int, list[int]]] = field(default_factory=list)
    sections: dict[int, Section] = field(default_factory=dict)
    connections: dict[str, Section] = field(default_factory=dict)
    source: str = ""
    centres: dict[str, list[int]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def element_sets(self) -> dict[str, tuple[list[int], Section]]:
        """Numbers of the elements and their section, by the name of a set: a property, or a property and orientation of bars."""
        found: dict[str, tuple[list[int], Section]] = {}
        for _, number, owner, _ in self.shells:
            found.setdefault(f"property {owner}", ([], self._section(owner, ", ".join(SHELLS), ("shell",))))[0].append(number)
        turns: dict[int, list[tuple[float, float, float]]] = {}
        for number, owner, _, orientation in self.beams:
            known = turns.setdefault(owner, [])
            if orientation not in known:
                known.append(orientation)
            name = f"property {owner}" + (f" ({known.index(orientation) + 1})" if known.index(orientation) else "")
            section = {**self._section(owner, "CBAR", BEAMS), "orientation": orientation}
            found.setdefault(name, ([], section))[0].append(number)
        return found

    def _section(self, owner: int, cards: str, kinds: tuple[str, ...]) -> Section:
        section = self.sections.get(owner)
        if section is None or section["kind"] not in kinds:
            raise InputError(
                f"{self.source}: property {owner} of {cards} elements is not one of {', '.join(PROPERTIES)} that fits; give one"
            )
        return section

    def declared(self) -> Declared:
        """Sections by element set, and connections."""
        return Declared({name: section for name, (_, section) in self.element_sets().items()}, self.connections)


def add_shell(found: Structures, card: Card) -> None:
    """A shell of one thickness."""
    kind, count = SHELLS[card.name]
    number = integer_field(card, 0)
    own = (10, 11, 12, 13, 15) if count == 8 else range(3 + count, 3 + 2 * count + 5)
    _refuse(card, [k for k in own if _given(card, k)], "its own offset or thickness")
    found.shells.append((kind, number, integer_field(card, 1, number), [integer_field(card, k) for k in range(2, 2 + count)]))


def add_bar(found: Structures, card: Card) -> None:
    """CBAR with an orientation vector in the basic system."""
    _refuse(card, [k for k in range(8, 16) if _given(card, k)], "pin flags or offsets")
    if "." not in text_field(card, 4) and not text_field(card, 5) and not text_field(card, 6):
        raise InputError(
            f"{card.line}: CBAR {integer_field(card, 0)}: give its orientation as a vector X1, X2, X3, not by a node"
        )
    number = integer_field(card, 0)
    orientation = real_field(card, 4), real_field(card, 5), real_field(card, 6)
    found.beams.append((number, integer_field(card, 1, number), [integer_field(card, 2), integer_field(card, 3)], orientation))


def add_property(found: Structures, card: Card) -> None:
    """Section of PSHELL, PBAR or PBARL."""
    make: Callable[[Card], Section] = {"PSHELL": _shell, "PBAR": _bar, "PBARL": _shaped}[card.name]
    number = integer_field(card, 0)
    if number in found.sections:
        raise InputError(f"{card.line}: property number {number} occurs twice; number the properties uniquely")
    found.sections[number] = make(card)
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
    if text_field(card, 3) not in ("123456", "123"):
        raise InputError(f"{card.line}: {name}: components {text_field(card, 3)!r} of its centre are not supported; give 123456")
    weights, components = _weights(card, name)
    if len(components) != 1:
        raise InputError(f"{card.line}: {name}: has groups of different components, which are not supported; give one kind")
    chosen = {number: weight for weight, numbers in weights for number in numbers}
    found.connections[name] = {"kind": "averaging-spider", **spider, "components": components.pop(), "weights": chosen}


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


def _shell(card: Card) -> Section:
    bending, shear = real_field(card, 4) or 1.0, real_field(card, 6) or SHEAR
    material = text_field(card, 1)
    plain = text_field(card, 3) == material and text_field(card, 5) in ("", "0", material) and not text_field(card, 10)
    if not plain or abs(bending - 1) > ROUNDED or abs(shear - SHEAR) > 1e-3:
        raise InputError(
            f"{card.line}: PSHELL {integer_field(card, 0)}: only plates of one material are supported; give MID2 = MID3 = MID1, "
            "no MID4, and 12I/T³, TS/T as of a plate"
        )
    if real_field(card, 7):
        raise InputError(
            f"{card.line}: PSHELL {integer_field(card, 0)}: non-structural mass is not supported; attach it as PointMass"
        )
    return {"kind": "shell", "thickness": real_field(card, 2)}


def _bar(card: Card) -> Section:
    """PBAR; its stress is that at the corners of the rectangle about the points C to F."""
    if real_field(card, 6) or real_field(card, 18):
        raise InputError(f"{card.line}: PBAR {integer_field(card, 0)}: NSM and I12 are not supported; give them as zero")
    area, I1, I2, J = (real_field(card, k) for k in range(2, 6))
    shear = (real_field(card, 16), real_field(card, 17))
    y, z = (max(abs(real_field(card, k)) for k in range(first, 16, 2)) for first in (8, 9))
    size = {key: 2 * reach for key, reach in (("height", y), ("width", z)) if reach}
    return {"kind": "general", "area": area, "Iy": I2, "Iz": I1, "J": J, "shear": shear, **size}


def _shaped(card: Card) -> Section:
    """PBARL with its dimensions."""
    shape = text_field(card, 3).upper()
    if shape not in SHAPES:
        raise InputError(
            f"{card.line}: PBARL {integer_field(card, 0)}: section {shape} is not supported; use {', '.join(SHAPES)}"
        )
    count, make = SHAPES[shape]
    d = [real_field(card, 8 + k) for k in range(count)]
    section = make(d)
    if section is None or real_field(card, 8 + count):
        raise InputError(f"{card.line}: PBARL {integer_field(card, 0)}: only doubly symmetric sections without NSM; use PBAR")
    return section


def _box(d: list[float]) -> Section | None:
    width, height, flange, web = d
    return {"kind": "box", "height": height, "width": width, "thickness": web} if flange == web else None


def _i(d: list[float]) -> Section | None:
    height, lower, upper, web, low, high = d
    same = lower == upper and low == high
    return {"kind": "i", "height": height, "width": lower, "web": web, "flange": low} if same else None


SHAPES: dict[str, tuple[int, Callable[[list[float]], Section | None]]] = {
    "ROD": (1, lambda d: {"kind": "circular", "diameter": 2 * d[0]}),
    "TUBE": (2, lambda d: {"kind": "tubular", "diameter": 2 * d[0], "thickness": d[0] - d[1]}),
    "BAR": (2, lambda d: {"kind": "rectangular", "width": d[0], "height": d[1]}),
    "BOX": (4, _box),
    "I": (6, _i),
}
BEAMS = ("general", "circular", "tubular", "rectangular", "box", "i")


def _given(card: Card, index: int) -> bool:
    """Whether a field is neither blank nor zero."""
    text = text_field(card, index)
    return bool(text) and bool(text.strip("0.+-") or not re.fullmatch(r"[+-]?0*\.?0*", text))


def _number(card: Card, text: str) -> float:
    return real_field(Card(card.name, [text], card.line), 0)


def _refuse(card: Card, fields: list[int], what: str) -> None:
    if fields:
        raise InputError(f"{card.line}: {card.name} {integer_field(card, 0)} has {what}, which is not supported; remove it")
