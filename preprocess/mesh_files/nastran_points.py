"""Springs, dampers, bushings, equations and point masses of Nastran bulk data.

Declarations are in the units of the file.

Source: MSC Nastran, Quick Reference Guide, CELAS1, CELAS2, PELAS, CDAMP1, CDAMP2, PDAMP, CVISC,
PVISC, CBUSH, PBUSH, MPC, MPCADD, CMASS1, CMASS2, PMASS, CONM2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh_files.nastran_cards import (
    Card,
    integer_field,
    listed_numbers,
    real_field,
    text_field,
)
from preprocess.mesh_files.nastran_coordinates import CoordinateSystems
from preprocess.mesh_files.rotated_equations import Terms, rotated_terms

Array = NDArray[np.float64]
Item = dict[str, Any]
ELEMENTS = ("CELAS1", "CELAS2", "CDAMP1", "CDAMP2", "CMASS1", "CMASS2", "CVISC", "CBUSH", "CONM2")
TABLES = (
    "MPC",
    "PELAS",
    "PDAMP",
    "PMASS",
    "PVISC",
)  # of which one number may occur in several cards
MIDDLE = 0.5  # default position S of a CBUSH on the line between its grids (Quick Reference Guide)
# difference of unit directions that count as one; directions in files have about six digits
SAME = 1e-6


@dataclass
class NastranPoints:
    """Cards of springs, dampers and bushings, equations and masses.

    Values of properties by card and number, equations by set, unions of such sets, masses, their
    node sets, and numbers.
    """

    springs: list[Card] = field(default_factory=list)
    viscous: list[Card] = field(default_factory=list)
    bushings: list[Card] = field(default_factory=list)
    properties: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    equations: dict[int, list[tuple[Terms, Card]]] = field(default_factory=dict)
    unions: dict[int, list[int]] = field(default_factory=dict)
    masses: list[Card] = field(default_factory=list)
    sets: dict[str, list[int]] = field(default_factory=dict)
    grounded: list[Card] = field(default_factory=list)
    scalar_masses: list[Card] = field(default_factory=list)
    known: set[tuple[str, int]] = field(default_factory=set)

    def add(self, card: Card) -> None:
        """Add a card of `CARDS`. Raises InputError for a number that occurs twice."""
        # numbers of CONM2 may be those of other elements
        of_links = card.name in ELEMENTS and card.name != "CONM2"
        key = ("element" if of_links else card.name, integer_field(card, 0))
        if key in self.known and card.name not in TABLES:
            raise InputError(
                f"{card.line}: {card.name} {key[1]}: its number occurs twice; number them uniquely"
            )
        self.known.add(key)
        CARDS[card.name](self, card)

    def select(self, number: int, source: str) -> int:
        """Keep the equations of a set, or of the sets that MPCADD unites.

        Returns the number of omitted ones. Raises InputError.
        """
        chosen = self.unions.get(number, [number] if number else [])
        missing = [each for each in chosen if each not in self.equations]
        if missing:
            known = ", ".join(map(str, self.equations)) or "none"
            raise InputError(
                f"{source}: case control selects MPC = {number}, but there is no MPC "
                f"{missing[0]}; it has: {known}"
            )
        count = sum(map(len, self.equations.values()))
        self.equations = {each: self.equations[each] for each in chosen}
        return count - sum(map(len, self.equations.values()))

    def connections(self, frames: CoordinateSystems) -> dict[str, Item]:
        """Connections by name. Raises InputError."""
        found = {
            f"{card.name} {integer_field(card, 0)}": self._spring(card, frames)
            for card in self.springs
        }
        found |= {f"CVISC {integer_field(card, 0)}": self._viscous(card) for card in self.viscous}
        found |= {
            f"CBUSH {integer_field(card, 0)}": self._bushing(card, frames) for card in self.bushings
        }
        for number, rows in self.equations.items():
            for k, (terms, card) in enumerate(rows, 1):
                columns = {node: frames.displacements(node, card) for node, _, _ in terms}
                axes = {node: each.T for node, each in columns.items() if each is not None}
                found[f"MPC {number} ({k})"] = {
                    "kind": "equation",
                    "terms": rotated_terms(terms, axes) if axes else terms,
                }
        return found

    def rotated_grids(self) -> set[int]:
        """Grids with a rotation on which a spring, bushing, equation or body acts."""
        found = {integer_field(card, k, 0) for card in self.bushings for k in (2, 3)}
        found -= {0}
        found |= {
            integer_field(card, k, 0)
            for card in self.springs
            for k in (2, 4)
            if text_field(card, k + 1) in tuple("456")
        }
        found |= {
            node
            for rows in self.equations.values()
            for terms, _ in rows
            for node, c, _ in terms
            if c > 3
        }
        found |= {integer_field(c, 2, 0) for c in self.scalar_masses if text_field(c, 3) in "456"}
        return found | {
            integer_field(card, 1)
            for card in self.masses
            if any(real_field(card, k) for k in (*range(4, 7), *range(8, 14)))
        }

    def placed(self, frames: CoordinateSystems) -> Iterator[Item]:
        """Masses with an offset and the inertia about their centre, in basic axes.

        Raises InputError.
        """
        for card in self.masses:
            number, grid, system = (
                integer_field(card, 0),
                integer_field(card, 1),
                integer_field(card, 2, 0),
            )
            I11, I21, I22, I31, I32, I33 = (real_field(card, k) for k in range(8, 14))
            inertia = np.array([[I11, -I21, -I31], [-I21, I22, -I32], [-I31, -I32, I33]])
            arm = np.array([real_field(card, k) for k in (4, 5, 6)])
            if system == -1:  # the centre itself in the basic system
                arm = arm - frames.point(grid, card)
            elif system:
                axes = frames.axes_at(system, frames.point(grid, card), card)
                arm, inertia = axes @ arm, axes @ inertia @ axes.T
            found = {
                "where": f"CONM2 {number}",
                "node": grid,
                "mass": real_field(card, 3),
                "arm": arm.tolist(),
            }
            yield {**found, **_inertia(inertia)}
        for grid, values in self._scalar_masses().items():
            of_grid = frames.displacements(grid, self.scalar_masses[0])
            turn = np.eye(3) if of_grid is None else of_grid
            inertia = turn @ np.diag(values[3:]) @ turn.T
            found = {"where": f"CMASS {grid}", "node": grid, "mass": values[0]}
            yield {**found, **_inertia(inertia)}

    def _scalar_masses(self) -> dict[int, list[float]]:
        """Masses (6,) of CMASS1 and CMASS2 along the components of each grid.

        Raises InputError for masses between grids, and for a grid whose mass depends on the
        direction, which no rigid motion has.
        """
        found: dict[int, list[float]] = {}
        for card in self.scalar_masses:
            name = f"{card.line}: {card.name} {integer_field(card, 0)}"
            grid, component = integer_field(card, 2, 0), text_field(card, 3)
            if integer_field(card, 4, 0) or not grid or component not in tuple("123456"):
                raise InputError(f"{name}: only masses at one grid are supported; give a CONM2")
            m = (
                real_field(card, 1)
                if card.name == "CMASS2"
                else self._owned(card, "PMASS", name)[0]
            )
            found.setdefault(grid, [0.0] * 6)[int(component) - 1] += m
        for grid, (x, y, z, *_) in found.items():
            if max(x, y, z) - min(x, y, z) > SAME * max(x, y, z):
                raise InputError(
                    f"CMASS of grid {grid}: masses {x:g}, {y:g} and {z:g} along components 1 to 3 "
                    "differ; give a CONM2"
                )
        return found

    def _spring(self, card: Card, frames: CoordinateSystems) -> Item:
        """Declaration of CELAS1, CELAS2, CDAMP1 or CDAMP2 between equal components of two grids."""
        name = f"{card.line}: {card.name} {integer_field(card, 0)}"
        first, second = integer_field(card, 2, 0), integer_field(card, 4, 0)
        component, other = text_field(card, 3), text_field(card, 5)
        if not (first and second) or component != other or component not in tuple("123456"):
            raise InputError(
                f"{name}: only springs between equal components of two grids are "
                "supported; others hold the part"
            )
        k = (
            real_field(card, 1)
            if card.name.endswith("2")
            else self._owned(card, f"P{card.name[1:-1]}", name)[0]
        )
        damps = card.name.startswith("CDAMP")
        ends = [frames.displacements(node, card) for node in (first, second)]
        directions = [
            (np.eye(3) if axes is None else axes)[:, (int(component) - 1) % 3] for axes in ends
        ]
        if not np.allclose(directions[0], directions[1], atol=SAME):
            raise InputError(
                f"{name}: its component has different directions at its grids (CD); give a CBUSH"
            )
        along = [float(x) for x in directions[0]]
        if component in "123":
            both = {"stiffness": 0.0, "damping": k} if damps else {"stiffness": k}
            return {"kind": "spring", "first": first, "second": second, "direction": along, **both}
        turn = "rotation_damping" if damps else "rotation"
        axes = {} if ends[0] is None else {"axes": ends[0].tolist()}
        return {
            "kind": "bushing",
            "first": first,
            "second": second,
            turn: [k * (c == component) for c in "456"],
            **axes,
        }

    def _owned(self, card: Card, kind: str, name: str) -> list[float]:
        """Values of the property of an element. Raises InputError."""
        owner = integer_field(card, 1, integer_field(card, 0))
        if (kind, owner) not in self.properties:
            raise InputError(f"{name}: {kind} {owner} does not exist")
        return self.properties[kind, owner]

    def _viscous(self, card: Card) -> Item:
        """Declaration of CVISC along the line between its grids."""
        name = f"{card.line}: CVISC {integer_field(card, 0)}"
        stretch, twist = self._owned(card, "PVISC", name)
        if twist:
            raise InputError(f"{name}: PVISC with CR1 is not supported; give a CBUSH with B4")
        ends = {"first": integer_field(card, 2), "second": integer_field(card, 3)}
        return {"kind": "spring", **ends, "stiffness": 0.0, "damping": stretch}

    def _bushing(self, card: Card, frames: CoordinateSystems) -> Item:
        """Declaration of a CBUSH with its PBUSH. Raises `InputError`."""
        name, owner = (
            f"{card.line}: CBUSH {integer_field(card, 0)}",
            integer_field(card, 1, integer_field(card, 0)),
        )
        first, second = integer_field(card, 2), integer_field(card, 3, 0)
        if not second or ("PBUSH", owner) not in self.properties:
            raise InputError(
                f"{name}: needs two grids, and PBUSH {owner}; bushings to the ground hold the part"
            )
        if text_field(card, 9) not in ("", "-1") or any(text_field(card, k) for k in (10, 11, 12)):
            raise InputError(
                f"{name}: OCID and S1 to S3 are not supported; give the position on the line "
                "between its grids by S"
            )
        place = real_field(card, 8) if text_field(card, 8) else MIDDLE
        K, B = self.properties["PBUSH", owner][:6], self.properties["PBUSH", owner][6:]
        given = {
            "kind": "bushing",
            "first": first,
            "second": second,
            "translation": K[:3],
            "rotation": K[3:],
            "at": place,
        }
        given |= {"translation_damping": B[:3], "rotation_damping": B[3:]} if any(B) else {}
        if text_field(card, 7):
            return {**given, "axes": frames.axes(integer_field(card, 7), card).tolist()}
        apart = frames.point(second, card) - frames.point(first, card)
        if not np.linalg.norm(apart) > 0:
            raise InputError(f"{name}: its grids coincide; give the axes by CID")
        if text_field(card, 4).isdecimal() and not text_field(card, 5) and not text_field(card, 6):
            vector = frames.point(integer_field(card, 4), card) - frames.point(first, card)
        else:
            axes, vector = (
                frames.displacements(first, card),
                np.array([real_field(card, k) for k in (4, 5, 6)]),
            )
            vector = vector if axes is None else axes @ vector
        if not vector.any():
            if any(K[1:3]) or any(K[4:]) or any(B[1:3]) or any(B[4:]):
                raise InputError(
                    f"{name}: has no orientation for K2, K3, K5 and K6; give a vector or CID"
                )
            vector = np.eye(3)[np.abs(apart).argmin()]
        across = np.cross(apart, vector)
        if not np.linalg.norm(across) > 0:
            raise InputError(f"{name}: its orientation is along its line; give another")
        rows = np.stack([apart, np.cross(across, apart), across])
        return {**given, "axes": (rows / np.linalg.norm(rows, axis=1)[:, None]).T.tolist()}


def _inertia(inertia: Array) -> Item:
    """Declared inertia; incomplete where no body has its moments, such as one alone."""
    if not inertia.any():
        return {}
    moments = np.linalg.eigvalsh(inertia)
    incomplete = bool(moments[2] > (moments[0] + moments[1]) * (1 + SAME))
    return {"inertia": inertia.tolist()} | ({"incomplete": True} if incomplete else {})


def _springs(points: NastranPoints, card: Card) -> None:
    """Add a spring card; springs to the ground are left to the mechanism."""
    ends = [integer_field(card, k, 0) for k in (2, 4)]
    (points.springs if all(ends) else points.grounded).append(card)


def _viscous(points: NastranPoints, card: Card) -> None:
    """Add a viscous damper card."""
    points.viscous.append(card)


def _scalar_property(points: NastranPoints, card: Card) -> None:
    """Properties of PELAS, PDAMP, PMASS and PVISC, several per card, of four or two fields."""
    for k in range(0, 8, 2 if card.name in ("PDAMP", "PMASS") else 4):
        if text_field(card, k):
            values = [real_field(card, k + 1)] + (
                [real_field(card, k + 2)] if card.name == "PVISC" else []
            )
            points.properties[card.name, integer_field(card, k)] = values


def _bushings(points: NastranPoints, card: Card) -> None:
    """Add a bushing card; bushings to the ground are left to the mechanism."""
    (points.bushings if integer_field(card, 3, 0) else points.grounded).append(card)


def _bushing_property(points: NastranPoints, card: Card) -> None:
    """Stiffness and viscous damping of PBUSH.

    Structural damping and stress factors belong to an analysis.
    """
    start, viscous, mass = (
        next((k for k, text in enumerate(card.fields) if text.upper() == flag), None)
        for flag in ("K", "B", "M")
    )
    if (start is None and viscous is None) or any(text.upper() == "RIGID" for text in card.fields):
        raise InputError(
            f"{card.line}: PBUSH {integer_field(card, 0)} has no stiffnesses K1 to K6; "
            "RIGID is not supported"
        )
    if mass is not None and any(real_field(card, mass + 1 + k) for k in range(7)):
        raise InputError(
            f"{card.line}: PBUSH {integer_field(card, 0)} has a mass, which is not "
            "supported; give a CONM2"
        )
    values = [
        0.0 if first is None else real_field(card, first + 1 + k)
        for first in (start, viscous)
        for k in range(6)
    ]
    points.properties["PBUSH", integer_field(card, 0)] = values


def _equation(points: NastranPoints, card: Card) -> None:
    """Terms of MPC: triples of grid, component and factor, two in each line."""
    terms = []
    for line in range(0, len(card.fields), 8):
        for k in (1, 4):
            if text_field(card, line + k):
                component = text_field(card, line + k + 1)
                if component not in tuple("123456"):
                    raise InputError(
                        f"{card.line}: MPC {integer_field(card, 0)}: component "
                        f"'{component[:20]}'; give one from 1 to 6"
                    )
                terms.append(
                    (integer_field(card, line + k), int(component), real_field(card, line + k + 2))
                )
    if len(terms) < 2:
        raise InputError(
            f"{card.line}: MPC {integer_field(card, 0)} has {len(terms)} terms; it needs "
            "two or more"
        )
    points.equations.setdefault(integer_field(card, 0), []).append((terms, card))


def _union(points: NastranPoints, card: Card) -> None:
    """Add the members of a SET card that unites sets."""
    points.unions[integer_field(card, 0)] = listed_numbers(card.fields[1:], card.line, card.claims)


def _scalar_mass(points: NastranPoints, card: Card) -> None:
    """Add a mass along one component, and the set of its node."""
    points.scalar_masses.append(card)
    grid = integer_field(card, 2, 0)
    points.sets[f"CMASS {grid}"] = [grid]


def _mass(points: NastranPoints, card: Card) -> None:
    """Add a CONM2 card and the set of its node."""
    points.masses.append(card)
    points.sets[f"CONM2 {integer_field(card, 0)}"] = [integer_field(card, 1)]


CARDS: dict[str, Callable[[NastranPoints, Card], None]] = {
    **dict.fromkeys(("CELAS1", "CELAS2", "CDAMP1", "CDAMP2"), _springs),
    "CVISC": _viscous,
    "CBUSH": _bushings,
    **dict.fromkeys(("CMASS1", "CMASS2"), _scalar_mass),
    **dict.fromkeys(("PELAS", "PDAMP", "PMASS", "PVISC"), _scalar_property),
    "PBUSH": _bushing_property,
    "MPC": _equation,
    "MPCADD": _union,
    "CONM2": _mass,
}
