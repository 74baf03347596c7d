"""Thin-walled sections of beams: T, channel, angle, and any walls.

Area, centroid and second moments are those of the rectangles that make up the section; its axes y
and z are the principal ones. A shear force V_y or V_z is carried along the middle lines of the
walls by the shear flow

    q = −V_y Q_z/I_z − V_z Q_y/I_y,    Q_z = ∫ y t ds,  Q_y = ∫ z t ds from a free end

whose moment about the centroid gives the shear centre e, e_y = ∫ (y q_z − z q_y) ds for V_z = 1,
and whose energy the shear coefficient, 1/(k A) = ∫ q²/t ds for V = 1. J = Σ b t³/3 over the walls,
b along middle lines; warping is free. Walls that enclose cells k of area A_k within their middle
lines carry additional flows that prevent twist of the cells, ∮ q ds/t = 0 around each, and have J =
J_B + Σ b t³/3 with J_B = 2 Σ A_k q_k of the flows with ∮ q ds/t = 2 A_k; under a torque T the
stress on the outside of a wall is T (q/t + t)/J, for one cell T (J_B/(2 A t) + t)/J with J_B = 4
A²/∮ ds/t.

Source: Megson, Aircraft Structures for Engineering Students, sections 17.2, 17.3 (shear of open and
closed sections), 18.1, 18.2 (torsion); Renton, Int. J. Solids Struct. 28 (1991) 1479 (shear
stiffness by energy).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from preprocess.fe.beam_section_base import BeamSection, SectionData, filled_between_flanges
from preprocess.inputs.argument_checks import checked_arguments

Array = NDArray[np.float64]
# relative to the size of a section or a wall: distances and second moments that are zero but for
# round-off
ROUND_OFF = 1e-9
# distance of wall ends that meet, relative to the size of the section; positions in files have
# about six digits
SAME = 1e-6
POINTS, WEIGHTS = (
    0.5 * (1 + np.polynomial.legendre.leggauss(3)[0]),
    0.5 * np.polynomial.legendre.leggauss(3)[1],
)


class Wall(NamedTuple):
    """Wall with a middle line from ``start`` to ``end`` (y, z) and a thickness."""

    start: Array
    end: Array
    thickness: float

    @property
    def along(self) -> Array:
        """Vector from start to end (2,)."""
        return np.asarray(np.subtract(self.end, self.start))

    @property
    def length(self) -> float:
        """Length of the middle line."""
        return float(np.linalg.norm(self.along))


class WalledShape(NamedTuple):
    """Geometry of a section of walls.

    Rectangles (r, 2, 2), rows of the lowest and the highest y, z, None for those about the walls;
    walls; outline (m, 2) in order.
    """

    rectangles: Array | None
    walls: list[Wall]
    outline: Array

    def area_points(self) -> tuple[Array, Array]:
        """Gauss points (p, 2) and weights (p,) over the area, exact to the fifth degree."""
        s, r = (each.ravel() for each in np.meshgrid(POINTS, POINTS, indexing="ij"))
        unit = np.outer(WEIGHTS, WEIGHTS).ravel()
        if self.rectangles is not None:
            low, size = self.rectangles[:, 0], self.rectangles[:, 1] - self.rectangles[:, 0]
            places = low[:, None] + size[:, None] * np.column_stack([s, r])
            return places.reshape(-1, 2), (size.prod(axis=1)[:, None] * unit).ravel()
        across = [
            wall.thickness / wall.length * np.array([-wall.along[1], wall.along[0]])
            for wall in self.walls
        ]
        places = np.concatenate(
            [
                wall.start + np.outer(s, wall.along) + np.outer(r - 0.5, n)
                for wall, n in zip(self.walls, across)
            ]
        )
        return places, np.concatenate([wall.length * wall.thickness * unit for wall in self.walls])


@dataclass(frozen=True, eq=False)
class OpenSection(BeamSection):
    """Section of thin walls.

    offset (2,): of the centroid, along ``orientation`` and across.
    """

    tapers = False

    @abstractmethod
    def _shape(self) -> WalledShape:
        """Geometry of the walls, in axes along the walls."""

    def data(self, nu: float) -> SectionData:
        """Section properties of an open thin-walled section for Poisson's ratio ν."""
        shape = self._shape()
        places, areas = shape.area_points()
        A = float(areas.sum())
        centre = areas @ places / A
        turn = _principal_axes(places - centre, areas)
        y, z = turn @ (places - centre).T
        Iz, Iy, square = float(areas @ y**2), float(areas @ z**2), y**2 + z**2
        third = float(areas @ (y * square)), float(areas @ (z * square))
        walls = [
            wall._replace(start=turn @ (wall.start - centre), end=turn @ (wall.end - centre))
            for wall in shape.walls
        ]
        flows, around = _torsion_of_cells(walls)
        J = sum(wall.length * wall.thickness**3 for wall in walls) / 3 + around
        shear_centre, (along_y, along_z) = _shear(walls)
        outline = (shape.outline - centre) @ turn.T
        stress = _torsion_stress(walls, flows, outline, J)
        origin = float(turn[0] @ -centre), float(turn[1] @ -centre)
        return SectionData(
            A,
            Iy,
            Iz,
            J,
            along_y / A,
            along_z / A,
            outline,
            stress,
            shear_centre,
            third,
            turn,
            origin,
        )


def _principal_axes(places: Array, areas: Array) -> Array:
    """Principal axes as rows (2, 2), rotated by no more than 45°."""
    (yy, yz), (_, zz) = (areas[:, None] * places).T @ places
    if abs(yz) < ROUND_OFF * (yy + zz):
        return np.eye(2)
    angle = 0.5 * np.arctan2(2 * yz * np.sign(yy - zz or 1.0), abs(yy - zz))
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]])


def nodes_at(places: Array) -> tuple[NDArray[np.intp], Array]:
    """Node (p,) at each of the points (p, 2), and the positions of the nodes (k, 2).

    Points closer than `SAME` are one node.
    """
    near = np.abs(places[:, None] - places).max(axis=2) < SAME * np.ptp(places)
    first, nodes = np.unique(near.argmax(axis=1), return_inverse=True)
    return nodes, places[first]


def _ends(walls: list[Wall]) -> Array:
    """Incidence matrix (n, w) of nodes and walls: 1 at the end, −1 at the start."""
    nodes, places = nodes_at(
        np.array([place for wall in walls for place in (wall.start, wall.end)])
    )
    ends, each = np.zeros((len(places), len(walls))), np.arange(len(walls))
    ends[nodes[::2], each], ends[nodes[1::2], each] = -1.0, 1.0
    return ends


def _slimness(walls: list[Wall]) -> Array:
    """Length over thickness of each wall."""
    return np.array([wall.length / wall.thickness for wall in walls])


def _torsion_of_cells(walls: list[Wall]) -> tuple[Array, float]:
    """Shear flow q (w,) and torsion constant of closed cells at unit rate of twist.

    The flow is positive from the start of a wall to its end.
    """
    areas = np.array(
        [0.5 * (wall.start[0] * wall.end[1] - wall.start[1] * wall.end[0]) for wall in walls]
    )
    cycles = null_space(_ends(walls))
    flows = cycles @ np.linalg.solve((cycles.T * _slimness(walls)) @ cycles, 2 * cycles.T @ areas)
    return flows, float(2 * areas @ flows)


def _shear(walls: list[Wall]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Shear centre (y, z), and shear areas for forces along y and z."""
    weights = np.array([wall.length * wall.thickness * WEIGHTS for wall in walls])  # (w, 3)
    places = np.array([wall.start + np.outer(POINTS, wall.along) for wall in walls])
    places = places - np.einsum("wp,wpi->i", weights, places) / weights.sum()
    inertia = np.einsum("wp,wpi,wpj->ij", weights, places, places)
    thickness, lengths = (
        np.array([getattr(wall, name) for wall in walls]) for name in ("thickness", "length")
    )
    along = np.array([wall.along for wall in walls])
    first = places[:, 1] - 0.5 * along

    def added(part: Array) -> Array:
        """Shear flow gained along a wall up to points (p,) under V_y = 1 and V_z = 1.

        −∫ (y, z) t ds I⁻¹ over the parts (w, p, 2).
        """
        moments = part[:, None] * (first[:, None] + 0.5 * part[:, None] * along[:, None])
        return np.asarray(-(thickness * lengths)[:, None, None] * moments @ np.linalg.inv(inertia))

    # the flows that meet at each node are in equilibrium, and no cell twists
    ends, slimness = _ends(walls), _slimness(walls)
    starts = -np.linalg.pinv(ends) @ np.maximum(ends, 0.0) @ added(np.ones(1))[:, 0]
    cycles, gained = null_space(ends), added(POINTS)
    opening = (cycles.T * slimness) @ (starts + WEIGHTS @ gained)
    starts -= cycles @ np.linalg.solve((cycles.T * slimness) @ cycles, opening)
    flows = starts[:, None] + gained  # (w, 3, 2)
    arms = [wall.start[0] * wall.along[1] - wall.start[1] * wall.along[0] for wall in walls]
    moment = np.array(arms) @ (WEIGHTS @ flows)
    energy = np.einsum("w,p,wpa,wpa->a", slimness, WEIGHTS, flows, flows)
    return (float(moment[1]), -float(moment[0])), (1 / float(energy[0]), 1 / float(energy[1]))


def shear_areas(
    *walls: tuple[tuple[float, float], tuple[float, float], float],
) -> tuple[float, float]:
    """Shear areas along y and z of walls with given middle lines (by their ends) and thickness."""
    return _shear(_walls(*walls))[1]


def _torsion_stress(walls: list[Wall], flows: Array, outline: Array, J: float) -> Array:
    """Shear stress τ_xy, τ_xz (m, 2) at points on the sides of walls under unit torque.

    (q/t + t)/J along the wall, zero at free ends and at corners beyond the ends of middle lines;
    the mean of walls that end beside a point.
    """
    ends = _ends(walls)
    free = np.abs(ends).sum(axis=1) == 1
    found, of_ends, meeting = np.zeros_like(outline), np.zeros_like(outline), np.zeros(len(outline))
    for wall, flow, from_free, to_free in zip(walls, flows, free @ (ends < 0), free @ (ends > 0)):
        along = wall.along / wall.length
        away = outline - wall.start
        height, place = away @ np.array([-along[1], along[0]]), away @ along / wall.length
        stress = (flow / wall.thickness - 2 * height[:, None]) / J * along
        side = np.abs(np.abs(height) - 0.5 * wall.thickness) < ROUND_OFF * wall.length
        at_end = side & (
            ((np.abs(place) <= ROUND_OFF) & ~from_free)
            | ((np.abs(place - 1) <= ROUND_OFF) & ~to_free)
        )
        between = side & (place > ROUND_OFF) & (place < 1 - ROUND_OFF)
        found[between] += stress[between]
        of_ends[at_end] += stress[at_end]
        meeting += at_end
    return found + of_ends / np.maximum(meeting, 1.0)[:, None]


def _walls(*rows: tuple[tuple[float, float], tuple[float, float], float]) -> list[Wall]:
    """Walls from rows (start, end, thickness)."""
    return [Wall(np.array(start), np.array(end), thickness) for start, end, thickness in rows]


@checked_arguments
@dataclass(frozen=True, eq=False)
class TSection(OpenSection):
    """T section.

    ``height`` along y, flange of ``width`` along z at its top, thicknesses of ``web`` and
    ``flange`` [m].

    height, width, web, flange: of the section. The shear centre is at the intersection of the
    middle lines of web and flange.

    Examples
    --------
    >>> import preprocess as pp
    >>> beam = pp.TSection(0.06, 0.05, 0.004, 0.005, orientation=(0, 0, 1)).data(0.3)
    >>> y, z = beam.shear_centre
    >>> round(1e3 * y, 2), abs(1e3 * z) < 1e-9  # mm from the centroid
    (14.04, True)
    """

    height: float
    width: float
    web: float
    flange: float

    kind = "t"

    def _problem(self) -> str:
        """Problem of the dimensions; empty if there is none."""
        wrong = self._not_positive("height", "width", "web", "flange")
        if not wrong and (self.flange >= self.height or self.web >= self.width):
            wrong = "the flange or the web fills the section; use RectangularSection"
        return wrong

    def _shape(self) -> WalledShape:
        """Rectangles, walls and outline of the T."""
        h, b, s, t = (
            float(self.height),
            0.5 * float(self.width),
            0.5 * float(self.web),
            float(self.flange),
        )
        rectangles = np.array([[[0, -s], [h - t, s]], [[h - t, -b], [h, b]]])
        m, i, f = h - 0.5 * t, h - t, 0.5 * (b + s)
        walls = _walls(((m, -b), (m, 0), t), ((m, b), (m, 0), t), ((0, 0), (m, 0), 2 * s))
        outline = np.array(
            [
                [0, -s],
                [0.5 * i, -s],
                [i, -s],
                [i, -f],
                [i, -b],
                [h, -b],
                [h, 0],
                [h, b],
                [i, b],
                [i, f],
                [i, s],
                [0.5 * i, s],
                [0, s],
            ]
        )
        return WalledShape(rectangles, walls, outline)


@checked_arguments
@dataclass(frozen=True, eq=False)
class ChannelSection(OpenSection):
    """Channel section.

    ``height`` along y, flanges of ``width`` from the back of the web along z [m].

    height, width, web, flange: of the section, the latter two wall thicknesses. The shear centre is
    behind the web.

    Examples
    --------
    >>> import preprocess as pp
    >>> beam = pp.ChannelSection(0.1, 0.05, 0.004, 0.004, orientation=(0, 0, 1)).data(0.3)
    >>> y, z = beam.shear_centre
    >>> abs(1e3 * y) < 1e-9, round(1e3 * z, 2)  # mm from the centroid
    (True, -29.98)
    """

    height: float
    width: float
    web: float
    flange: float

    kind = "channel"

    def _problem(self) -> str:
        """Problem of the dimensions; empty if there is none."""
        wrong = self._not_positive("height", "width", "web", "flange")
        return wrong or filled_between_flanges(self.height, self.width, self.web, self.flange)

    def _shape(self) -> WalledShape:
        """Rectangles, walls and outline of the channel."""
        h, b, s, t = float(self.height), float(self.width), float(self.web), float(self.flange)
        rectangles = np.array([[[0, 0], [h, s]], [[0, s], [t, b]], [[h - t, s], [h, b]]])
        m, w, f = 0.5 * t, 0.5 * s, 0.5 * (b + s)
        walls = _walls(((m, b), (m, w), t), ((m, w), (h - m, w), s), ((h - m, b), (h - m, w), t))
        outline = np.array(
            [[0, 0], [0.5 * h, 0], [h, 0], [h, f], [h, b], [h - t, b], [h - t, f], [h - t, s],
             [0.5 * h, s], [t, s], [t, f], [t, b], [0, b], [0, f]]
        )  # fmt: skip
        return WalledShape(rectangles, walls, outline)


@checked_arguments
@dataclass(frozen=True, eq=False)
class AngleSection(OpenSection):
    """Angle section: legs of ``height`` along y and ``width`` along z from their common corner [m].

    height, width, thickness: of the section. flat: thickness of the leg along z if it differs [m].
    The beam bends about its principal axes; the shear centre is at the intersection of the middle
    lines of the legs.

    Examples
    --------
    >>> import preprocess as pp
    >>> beam = pp.AngleSection(0.05, 0.05, 0.005, orientation=(0, 0, 1)).data(0.3)
    >>> (
    ...     round(1e8 * max(beam.Iy, beam.Iz), 2),
    ...     round(1e8 * min(beam.Iy, beam.Iz), 2),
    ... )  # cm⁴, without fillets
    (17.91, 4.59)
    """

    height: float
    width: float
    thickness: float
    flat: float | None = None

    kind = "angle"

    def _problem(self) -> str:
        """Problem of the dimensions; empty if there is none."""
        wrong = self._not_positive(
            "height", "width", "thickness", *(() if self.flat is None else ("flat",))
        )
        if not wrong and (
            self.thickness >= self.width or (self.flat or self.thickness) >= self.height
        ):
            wrong = f"thickness = {self.thickness!r} fills the section; use RectangularSection"
        return wrong

    def _shape(self) -> WalledShape:
        """Rectangles, walls and outline of the angle."""
        h, b, t = float(self.height), float(self.width), float(self.thickness)
        f = t if self.flat is None else float(self.flat)
        rectangles = np.array([[[0, 0], [h, t]], [[0, t], [f, b]]])
        corner = 0.5 * f, 0.5 * t
        walls = _walls(((h, 0.5 * t), corner, t), ((0.5 * f, b), corner, f))
        outline = np.array(
            [
                [0, 0],
                [0.5 * h, 0],
                [h, 0],
                [h, t],
                [0.5 * h, t],
                [f, t],
                [f, 0.5 * b],
                [f, b],
                [0, b],
                [0, 0.5 * b],
            ]
        )
        return WalledShape(rectangles, walls, outline)
