"""Coordinate systems of Nastran bulk data, positions of grids, and axes of their displacements.

Rectangular, cylindrical and spherical systems by three points (CORD2R, CORD2C, CORD2S) or three
grids (CORD1R, CORD1C, CORD1S).

Source: MSC Nastran, Quick Reference Guide, GRID, GRDSET, CORD1R, CORD2C, CORD2S.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh_files.nastran_cards import Card, integer_field, real_field, text_field

Array = NDArray[np.float64]
BY_POINTS, BY_GRIDS = ("CORD2R", "CORD2C", "CORD2S"), ("CORD1R", "CORD1C", "CORD1S")
# distance from the axis relative to that from the origin, below which radial directions are round-
# off
ON_AXIS = 1e-9


@dataclass
class CoordinateSystems:
    """Cards of systems and grids by number.

    CP and CD of GRDSET; origin and axes (columns) of the systems evaluated so far.
    """

    cards: dict[int, Card] = field(default_factory=dict)
    grids: dict[int, Card] = field(default_factory=dict)
    default: tuple[int, int] = (0, 0)
    _located: dict[int, tuple[Array, Array]] = field(
        default_factory=lambda: {0: (np.zeros(3), np.eye(3))}
    )
    _pending: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, cards: Iterable[Card]) -> CoordinateSystems:
        """Systems and grids of all cards. Raises InputError for a number that occurs twice."""
        found = cls()
        for card in cards:
            if card.name == "GRDSET":
                found.default = integer_field(card, 1, 0), integer_field(card, 5, 0)
            elif card.name == "GRID":
                number = integer_field(card, 0)
                if found.grids.setdefault(number, card) is not card:
                    raise InputError(f"{card.line}: node number {number} occurs twice")
            elif card.name in BY_POINTS:
                found._add(card)
            elif card.name in BY_GRIDS:
                for k in (0, 4):
                    if text_field(card, k):
                        found._add(Card(card.name, card.fields[k : k + 4], card.line))
        return found

    def _add(self, card: Card) -> None:
        """Add a coordinate system. Raises `InputError` for a repeated number."""
        if self.cards.setdefault(integer_field(card, 0), card) is not card:
            raise InputError(
                f"{card.line}: coordinate system {integer_field(card, 0)} occurs twice; "
                "number them uniquely"
            )

    def place(self, number: int) -> Array | tuple[float, float, float]:
        """Position of a grid in the basic system. Raises InputError."""
        card = self.grids[number]
        given = real_field(card, 2), real_field(card, 3), real_field(card, 4)
        system = integer_field(card, 1, self.default[0])
        with np.errstate(invalid="ignore", over="ignore"):  # of positions that the checks reject
            return self._position(system, np.array(given), card) if system else given

    def point(self, number: int, card: Card) -> Array:
        """Position of a grid that a card names. Raises InputError."""
        if number not in self.grids:
            raise InputError(
                f"{card.line}: {card.name} {text_field(card, 0)}: node {number} has no "
                "GRID card; give one"
            )
        return np.array(self.place(number))

    def axes(self, system: int, card: Card) -> Array:
        """Columns of a rectangular system that a card names. Raises InputError."""
        if system and (system not in self.cards or not self.cards[system].name.endswith("R")):
            raise InputError(
                f"{card.line}: {card.name}: coordinate system {system} is not a CORD1R or "
                "CORD2R; give one"
            )
        return self._frame(system, card)[1]

    def require(self) -> None:
        """Raise InputError for a displacement system that does not exist."""
        for number, card in self.grids.items():
            system = integer_field(card, 5, self.default[1])
            if system and system not in self.cards:
                raise InputError(
                    f"{card.line}: GRID {number}: displacement system {system} does not "
                    "exist; give its CORD card"
                )

    def displacements(self, number: int, card: Card) -> Array | None:
        """Axes (columns) of the displacements of a grid, None for the basic ones.

        Raises InputError.
        """
        grid = self.grids.get(number)
        system = integer_field(grid, 5, self.default[1]) if grid is not None else 0
        return self.axes_at(system, self.point(number, card), card) if system else None

    def axes_at(self, system: int, x: Array, card: Card) -> Array:
        """Axes (columns) of any system at a point.

        On the axis of a curved system those of its defining points, θ = 0.
        """
        origin, axes = self._frame(system, card)
        if not system or self.cards[system].name.endswith("R"):
            return axes
        y = axes.T @ (x - origin)
        radius = float(np.hypot(y[0], y[1]))
        if not radius > ON_AXIS * float(np.linalg.norm(y)):
            return axes
        c, s = y[0] / radius, y[1] / radius
        radial, around = np.array([c, s, 0.0]), np.array([-s, c, 0.0])
        if self.cards[system].name.endswith("C"):
            return np.asarray(axes @ np.column_stack([radial, around, [0.0, 0.0, 1.0]]))
        sine, cosine = np.array([radius, y[2]]) / np.linalg.norm(y)
        outward, down = sine * radial + cosine * np.eye(3)[2], cosine * radial - sine * np.eye(3)[2]
        return np.asarray(axes @ np.column_stack([outward, down, around]))

    def _position(self, system: int, given: Array, card: Card) -> Array:
        """Position in the basic system from coordinates in a system (angles in degrees)."""
        origin, axes = self._frame(system, card)
        return np.asarray(
            origin + axes @ _rectangular(self.cards[system].name[-1] if system else "R", given)
        )

    def _frame(self, system: int, card: Card) -> tuple[Array, Array]:
        """Origin and columns of the axes of a system. Raises InputError."""
        if system in self._located:
            return self._located[system]
        if system not in self.cards or system in self._pending:
            why = (
                "refers to itself"
                if system in self.cards
                else f"does not exist as {', '.join((*BY_POINTS, *BY_GRIDS))}"
            )
            raise InputError(
                f"{card.line}: {card.name}: local coordinate system {system} {why}; "
                "export in the basic system"
            )
        own = self.cards[system]
        self._pending.append(system)
        if own.name in BY_GRIDS:
            A, B, C = (self.point(integer_field(own, k), own) for k in (1, 2, 3))
        else:
            points = [
                np.array([real_field(own, 2 + 3 * k + axis) for axis in range(3)]) for k in range(3)
            ]
            A, B, C = (self._position(integer_field(own, 1, 0), point, own) for point in points)
        self._pending.remove(system)
        self._located[system] = A, _axes(own, B - A, C - A)
        return self._located[system]


def _axes(card: Card, z: Array, plane: Array) -> Array:
    """Axes (columns) from z and a vector in the xz half plane."""
    y = np.cross(z, plane)
    if not (
        np.linalg.norm(z) > 0
        and np.linalg.norm(y) > 1e-12 * np.linalg.norm(z) * np.linalg.norm(plane)
    ):
        raise InputError(
            f"{card.line}: {card.name} {integer_field(card, 0)}: its three points are collinear"
        )
    z, y = z / np.linalg.norm(z), y / np.linalg.norm(y)
    return np.column_stack([np.cross(y, z), y, z])


def _rectangular(kind: str, given: Array) -> Array:
    """Rectangular coordinates of a point in a coordinate system of a kind."""
    r, first, second = given
    theta = np.radians(first)
    if kind == "C":
        return np.array([r * np.cos(theta), r * np.sin(theta), second])
    if kind == "S":
        phi = np.radians(second)
        return r * np.array(
            [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)]
        )
    return given
