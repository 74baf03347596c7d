"""Thin-walled beam sections of arbitrary straight walls, with any number of cells.

Shear flow and torsion as in `open_sections`, along the middle lines; area, centroid and second
moments are those of the walls, as rectangles about their middle lines, or of the rectangles that
are given, which have no overlap where walls meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preprocess.fe.open_sections import SAME, OpenSection, Wall, WalledShape, nodes_at
from preprocess.inputs.argument_checks import checked_arguments, floats

Array = NDArray[np.float64]
# thicknesses by which the sides of two walls reach beyond their joint; beyond, the corner is cut
# off
SHARP = 2.0


class Side(NamedTuple):
    """Directed wall: nodes at its ends, row of the wall."""

    tail: int
    head: int
    wall: int


@checked_arguments
@dataclass(frozen=True, eq=False)
class WalledSection(OpenSection):
    """Section of thin walls that meet at their ends: open, closed with cells, or both.

    walls (n, 5): of each the ends y₁, z₁, y₂, z₂ of its middle line, and its thickness [m].
    rectangles (r, 4): exact area, as lowest y and z and highest y and z of each; by default that of
    each wall [m]. y and z are measured from any origin; the offset is that of the centroid. The
    stress points are on the sides of the walls.

    Examples
    --------
    >>> import preprocess as pp
    >>> walls = [
    ...     (0, 0, 0, 0.03, 0.002),
    ...     (0, 0, 0.05, 0, 0.002),
    ...     (0.05, 0, 0.05, -0.03, 0.002),
    ... ]  # a Z
    >>> y, _ = pp.WalledSection(walls, orientation=(0, 0, 1)).data(0.3).shear_centre
    >>> abs(y) < 1e-12  # that of a point-symmetric section is its centroid
    True
    """

    walls: Sequence[tuple[float, float, float, float, float]]
    _: KW_ONLY
    rectangles: Sequence[tuple[float, float, float, float]] | None = None

    kind = "walled"

    def _problem(self) -> str:
        """Problem of the walls; empty if there is none."""
        rows = floats(self.walls, "section: walls")
        good = (
            rows.ndim == 2
            and rows.shape[1:] == (5,)
            and len(rows) > 1
            and np.isfinite(rows).all()
            and (rows[:, 4] > 0).all()
        )
        if not good:
            return "walls: give two or more rows of y₁, z₁, y₂, z₂ and a positive thickness in m"
        if self.rectangles is not None:
            areas = floats(self.rectangles, "section: rectangles")
            if (
                areas.ndim != 2
                or areas.shape[1:] != (4,)
                or not (areas[:, 2:] > areas[:, :2]).all()
            ):
                return (
                    "rectangles: give rows of lowest y and z, highest y and z, in m; the walls "
                    "do not fit into the section"
                )
            low, high = areas[:, None, :2], areas[:, None, 2:]
            shared = np.prod(
                np.maximum(np.minimum(high, high[:, 0]) - np.maximum(low, low[:, 0]), 0.0), axis=2
            )
            if (shared - np.diag(np.diag(shared)) > SAME * shared.max()).any():
                return "rectangles: two overlap; the walls do not fit into the section"
        along = rows[:, 2:4] - rows[:, :2]
        if not np.linalg.norm(along, axis=1).min() > SAME * np.ptp(rows[:, :4]):
            return "walls: one has no length; remove it"
        if self.rectangles is not None and not _same_place(
            rows, floats(self.rectangles, "section: rectangles")
        ):
            return (
                "rectangles: differ from the walls in position or area; give the same origin "
                "and unit for both"
            )
        if (
            np.abs(
                np.linalg.matrix_rank(
                    np.vstack([along, rows[:, :2] - rows[0, :2]]), tol=SAME * np.ptp(rows[:, :4])
                )
            )
            < 2
        ):
            return "walls: they are collinear; use RectangularSection"
        ends, nodes = self._joints()
        for k, (a, b) in enumerate(ends):
            for c, d in ends[:k]:
                common = {a, b} & {c, d}
                if not common and _meet(nodes[[a, b]], nodes[[c, d]]):
                    return "walls: two cross or touch; let walls meet at their ends"
                at = min(common, default=0)
                if (
                    common
                    and _clockwise(nodes[a + b - at] - nodes[at], nodes[c + d - at] - nodes[at])
                    > 2 * np.pi - SAME
                ):
                    return "walls: two coincide; remove one"
        reached = {0}
        for _ in nodes:
            reached |= {node for pair in ends if reached & set(pair) for node in pair}
        return (
            ""
            if len(reached) == len(nodes)
            else "walls: they are not connected; join them at their ends"
        )

    def _joints(self) -> tuple[list[tuple[int, int]], Array]:
        """Nodes at both ends of each wall, and their positions (k, 2)."""
        nodes, places = nodes_at(np.asarray(self.walls, dtype=float)[:, :4].reshape(-1, 2))
        return [(int(a), int(b)) for a, b in nodes.reshape(-1, 2)], places

    def _shape(self) -> WalledShape:
        """Walls and outline of the section."""
        (ends, nodes), t = self._joints(), np.asarray(self.walls, dtype=float)[:, 4]
        sides = _walls_in_order(ends, nodes)
        outline = np.array(
            [
                point
                for pair in zip(sides, [*sides[1:], sides[0]])
                for point in _edge(*pair, nodes, t)
            ]
        )
        walls = [Wall(nodes[a], nodes[b], float(thickness)) for (a, b), thickness in zip(ends, t)]
        areas = (
            None
            if self.rectangles is None
            else np.asarray(self.rectangles, dtype=float).reshape(-1, 2, 2)
        )
        return WalledShape(areas, walls, outline[::-1])


def _same_place(walls: Array, rectangles: Array) -> bool:
    """True if walls (n, 5) and rectangles (r, 4) have nearly equal areas and centroids.

    Holds for walls of any thickness.
    """
    own, given = (
        np.linalg.norm(walls[:, 2:4] - walls[:, :2], axis=1) * walls[:, 4],
        np.prod(rectangles[:, 2:] - rectangles[:, :2], axis=1),
    )
    apart = own @ (walls[:, :2] + walls[:, 2:4]) / (2 * own.sum()) - given @ (
        rectangles[:, :2] + rectangles[:, 2:]
    ) / (2 * given.sum())
    near = np.linalg.norm(apart) < walls[:, 4].max() + 0.1 * np.ptp(walls[:, :4])
    return bool(near and 0.3 < given.sum() / own.sum() < 3.0)


def _meet(first: Array, second: Array) -> bool:
    """True if two segments (2, 2) have a common point."""
    (a, b), (c, d) = first, second

    def side(p: Array, q: Array, r: Array) -> float:
        """Twice the signed area of the triangle p, q, r."""
        u, v = q - p, r - p
        return float(u[0] * v[1] - u[1] * v[0])

    size = SAME * float(np.ptp(np.vstack([first, second])) ** 2)
    apart = (side(a, b, c), side(a, b, d)), (side(c, d, a), side(c, d, b))
    if any(min(pair) > size or max(pair) < -size for pair in apart):
        return False
    low, high = np.minimum(a, b), np.maximum(a, b)
    return bool((np.maximum(c, d) >= low).all() and (np.minimum(c, d) <= high).all())


def _walls_in_order(ends: list[tuple[int, int]], nodes: Array) -> list[Side]:
    """Walls in order around the section, its outside on the left.

    Walls that bound no cell occur in both directions.
    """
    every = [Side(a, b, k) for k, (a, b) in enumerate(ends)] + [
        Side(b, a, k) for k, (a, b) in enumerate(ends)
    ]
    walks: list[list[Side]] = []
    for start in every:
        if any(start in walk for walk in walks):
            continue
        walk, side = [start], _next_side(start, every, nodes)
        while side != start:
            walk.append(side)
            side = _next_side(side, every, nodes)
        walks.append(walk)
    # clockwise, the others are cells
    return min(walks, key=lambda walk: _area([nodes[side.tail] for side in walk]))


def _area(places: list[Array]) -> float:
    """Twice the area within a polygon, negative where it goes clockwise."""
    return sum(float(a[0] * b[1] - a[1] * b[0]) for a, b in zip(places, [*places[1:], places[0]]))


def _next_side(side: Side, every: list[Side], nodes: Array) -> Side:
    """First side clockwise from the one arrived on; back along it at a free end."""
    back = nodes[side.tail] - nodes[side.head]
    others = [each for each in every if each.tail == side.head]
    return min(others, key=lambda each: _clockwise(back, nodes[each.head] - nodes[each.tail]))


def _clockwise(back: Array, along: Array) -> float:
    """Angle in (0, 2π] by which ``along`` is turned clockwise from ``back``."""
    angle = float(np.arctan2(back[1], back[0]) - np.arctan2(along[1], along[0])) % (2 * np.pi)
    return angle if angle > SAME else 2 * np.pi


def _edge(first: Side, second: Side, nodes: Array, t: Array) -> list[Array]:
    """Points on the left of a wall: in its middle, and where it meets the next one."""
    a, b = nodes[first.tail], nodes[first.head]
    along, after = (b - a) / np.linalg.norm(b - a), nodes[second.head] - b
    after = after / np.linalg.norm(after)
    left, right = (
        0.5 * t[side.wall] * np.array([-d[1], d[0]])
        for side, d in ((first, along), (second, after))
    )
    apart, sine = right - left, float(along[0] * after[1] - along[1] * after[0])
    middle, shift = 0.5 * (a + b) + left, float(apart[0] * after[1] - apart[1] * after[0])
    if abs(shift) > SHARP * abs(sine) * max(t[first.wall], t[second.wall]) or not sine:
        return [middle, b + left, b + right]
    return [middle, b + left + shift / sine * along]
