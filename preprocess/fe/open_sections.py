"""Thin-walled sections of beams: T, channel, angle, and any walls.

Area, centroid and second moments are those of the rectangles that make up the section; its axes y and z are the principal ones. A
shear force V_y or V_z is carried along the middle lines of the walls by the shear flow

    q = −V_y Q_z/I_z − V_z Q_y/I_y,    Q_z = ∫ y t ds,  Q_y = ∫ z t ds from a free end

whose moment about the centroid gives the shear centre e, e_y = ∫ (y q_z − z q_y) ds for V_z = 1, and whose energy the shear
coefficient, 1/(k A) = ∫ q²/t ds for V = 1. J = Σ b t³/3 over the walls, b along middle lines; warping is free. Walls that enclose
a cell of area A_m within the middle line carry in addition the flow q₀ that keeps it from twisting, ∮ (q + q₀) ds/t = 0, and have
J = J_B + Σ b t³/3 with J_B = 4 A_m²/∮ ds/t; under a torque T the stress on their outside is T (J_B/(2 A_m t) + t)/J.

Source: Megson, Aircraft Structures for Engineering Students, sections 17.2, 17.3 (shear of open and closed sections), 18.1, 18.2
(torsion); Renton, Int. J. Solids Struct. 28 (1991) 1479 (shear stiffness by energy).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preprocess.fe.beam_section import BeamSection, SectionData, filled_between_flanges
from preprocess.inputs.arguments import checked_arguments

Array = NDArray[np.float64]
ROUND_OFF = 1e-9
POINTS, WEIGHTS = 0.5 * (1 + np.polynomial.legendre.leggauss(3)[0]), 0.5 * np.polynomial.legendre.leggauss(3)[1]


class Wall(NamedTuple):
    """Middle line from ``start`` to ``end`` (y, z), thickness; ``before``: the walls that it continues, none at a free end."""

    start: Array
    end: Array
    thickness: float
    before: tuple[int, ...] = ()

    @property
    def along(self) -> Array:
        """From start to end (2,)."""
        return np.asarray(np.subtract(self.end, self.start))

    @property
    def length(self) -> float:
        """Of the middle line."""
        return float(np.linalg.norm(self.along))


class Shape(NamedTuple):
    """Rectangles (r, 2, 2), rows of the lowest and the highest y, z, None for those about the walls; walls; outline (m, 2) in
    order; whether the walls in order enclose a cell."""

    rectangles: Array | None
    walls: list[Wall]
    outline: Array
    closed: bool = False

    def area_points(self) -> tuple[Array, Array]:
        """Gauss points (p, 2) and weights (p,) that integrate over the area, exact to the fifth degree."""
        s, r = (each.ravel() for each in np.meshgrid(POINTS, POINTS, indexing="ij"))
        unit = np.outer(WEIGHTS, WEIGHTS).ravel()
        if self.rectangles is not None:
            low, size = self.rectangles[:, 0], self.rectangles[:, 1] - self.rectangles[:, 0]
            places = low[:, None] + size[:, None] * np.column_stack([s, r])
            return places.reshape(-1, 2), (size.prod(axis=1)[:, None] * unit).ravel()
        across = [wall.thickness / wall.length * np.array([-wall.along[1], wall.along[0]]) for wall in self.walls]
        places = np.concatenate(
            [wall.start + np.outer(s, wall.along) + np.outer(r - 0.5, n) for wall, n in zip(self.walls, across)]
        )
        return places, np.concatenate([wall.length * wall.thickness * unit for wall in self.walls])


@dataclass(frozen=True, eq=False)
class OpenSection(BeamSection):
    """Section of thin walls; offset (2,): of the centroid, along ``orientation`` and across."""

    tapers = False

    @abstractmethod
    def _shape(self) -> Shape:
        """In axes along the walls."""

    def data(self, nu: float) -> SectionData:
        shape = self._shape()
        places, areas = shape.area_points()
        A = float(areas.sum())
        centre = areas @ places / A
        turn = _principal_axes(places - centre, areas)
        y, z = turn @ (places - centre).T
        Iz, Iy, square = float(areas @ y**2), float(areas @ z**2), y**2 + z**2
        third = float(areas @ (y * square)), float(areas @ (z * square))
        walls = [wall._replace(start=turn @ (wall.start - centre), end=turn @ (wall.end - centre)) for wall in shape.walls]
        J = sum(wall.length * wall.thickness**3 for wall in walls) / 3 + (_bredt(walls)[1] if shape.closed else 0.0)
        shear_centre, (along_y, along_z) = _shear(walls, shape.closed)
        outline = (shape.outline - centre) @ turn.T
        stress = _torsion_stress(walls, outline, J, shape.closed)
        origin = float(turn[0] @ -centre), float(turn[1] @ -centre)
        return SectionData(A, Iy, Iz, J, along_y / A, along_z / A, outline, stress, shear_centre, third, turn, origin)


def _principal_axes(places: Array, areas: Array) -> Array:
    """Rows (2, 2), turned by no more than 45°."""
    (yy, yz), (_, zz) = (areas[:, None] * places).T @ places
    if abs(yz) < ROUND_OFF * (yy + zz):
        return np.eye(2)
    angle = 0.5 * np.arctan2(2 * yz * np.sign(yy - zz or 1.0), abs(yy - zz))
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]])


def _bredt(walls: list[Wall]) -> tuple[float, float]:
    """Signed area within the middle line of walls that enclose a cell, and the torsion constant of their flow."""
    area = 0.5 * sum(float(wall.start[0] * wall.end[1] - wall.start[1] * wall.end[0]) for wall in walls)
    return area, 4 * area**2 / sum(wall.length / wall.thickness for wall in walls)


def _shear(walls: list[Wall], closed: bool) -> tuple[tuple[float, float], tuple[float, float]]:
    """Shear centre (y, z), and shear areas for forces along y and z."""
    weights = np.array([wall.length * wall.thickness * WEIGHTS for wall in walls])  # (w, 3)
    places = np.array([wall.start + np.outer(POINTS, wall.along) for wall in walls])
    places = places - np.einsum("wp,wpi->i", weights, places) / weights.sum()
    inertia = np.einsum("wp,wpi,wpj->ij", weights, places, places)
    flows, ends = list[Array](), list[Array]()
    for wall, middle in zip(walls, places):
        first = middle[1] - 0.5 * wall.along
        before = sum((ends[k] for k in wall.before), np.zeros(2))
        length = wall.length * POINTS[:, None]
        Q = before + wall.thickness * length * (first + 0.5 * np.outer(POINTS, wall.along))
        ends.append(before + wall.thickness * wall.length * (first + 0.5 * wall.along))
        flows.append(-Q @ np.linalg.inv(inertia))  # (3, 2): under V_y = 1 and V_z = 1
    slimness = np.array([wall.length / wall.thickness for wall in walls])
    if closed:
        opening = sum(r * (WEIGHTS @ q) for r, q in zip(slimness, flows)) / slimness.sum()
        flows = [q - opening for q in flows]
    moment, energy = np.zeros(2), np.zeros((2, 2))
    for wall, q, r in zip(walls, flows, slimness):
        moment += (wall.start[0] * wall.along[1] - wall.start[1] * wall.along[0]) * (WEIGHTS @ q)
        energy += r * np.einsum("p,pa,pb->ab", WEIGHTS, q, q)
    return (float(moment[1]), -float(moment[0])), (1 / float(energy[0, 0]), 1 / float(energy[1, 1]))


def shear_of_cell(corners: list[tuple[float, float]], thickness: float) -> tuple[float, float]:
    """Shear areas along y and z of a cell whose walls of one thickness are between its corners."""
    walls = _walls(
        *((a, b, thickness, (k - 1,) if k else ()) for k, (a, b) in enumerate(zip(corners, corners[1:] + corners[:1])))
    )
    return _shear(walls, closed=True)[1]


def _torsion_stress(walls: list[Wall], outline: Array, J: float, closed: bool) -> Array:
    """τ_xy, τ_xz (m, 2) at points on the sides of walls under unit torque: t/J along the wall, zero at its free end; 1/(2 A_m t)
    around a cell, zero at its corners."""
    found = np.zeros_like(outline)
    area, flow = _bredt(walls) if closed else (1.0, 0.0)
    for wall in walls:
        along = wall.along / wall.length
        away = outline - wall.start
        height = away @ np.array([-along[1], along[0]])
        place = away @ along / wall.length
        side = (
            (np.abs(np.abs(height) - 0.5 * wall.thickness) < ROUND_OFF * wall.length)
            & (place > ROUND_OFF)
            & (place < 1 + ROUND_OFF * (-1 if closed else 1))
        )
        found[side] += (flow / (2 * area * wall.thickness) - 2 * height[side, None]) / J * along
    return found


def _walls(*rows: tuple[tuple[float, float], tuple[float, float], float, tuple[int, ...]]) -> list[Wall]:
    return [Wall(np.array(start), np.array(end), thickness, before) for start, end, thickness, before in rows]


@checked_arguments
@dataclass(frozen=True, eq=False)
class TSection(OpenSection):
    """T: ``height`` along y, the flange of ``width`` along z at its top, thicknesses of ``web`` and ``flange`` [m].

    height, width, web, flange: of the section.
    The shear centre is where the middle lines of web and flange meet.

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
        wrong = self._not_positive("height", "width", "web", "flange")
        if not wrong and (self.flange >= self.height or self.web >= self.width):
            wrong = "the flange or the web fills the section; use RectangularSection"
        return wrong

    def _shape(self) -> Shape:
        h, b, s, t = float(self.height), 0.5 * float(self.width), 0.5 * float(self.web), float(self.flange)
        rectangles = np.array([[[0, -s], [h - t, s]], [[h - t, -b], [h, b]]])
        m, i, f = h - 0.5 * t, h - t, 0.5 * (b + s)
        walls = _walls(((m, -b), (m, 0), t, ()), ((m, b), (m, 0), t, ()), ((0, 0), (m, 0), 2 * s, ()))
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
        return Shape(rectangles, walls, outline)


@checked_arguments
@dataclass(frozen=True, eq=False)
class ChannelSection(OpenSection):
    """Channel: ``height`` along y, flanges of ``width`` from the back of the web along z, wall thicknesses [m].

    height, width, web, flange: of the section, the latter two thicknesses.
    The shear centre is behind the web.

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
        wrong = self._not_positive("height", "width", "web", "flange")
        return wrong or filled_between_flanges(self.height, self.width, self.web, self.flange)

    def _shape(self) -> Shape:
        h, b, s, t = float(self.height), float(self.width), float(self.web), float(self.flange)
        rectangles = np.array([[[0, 0], [h, s]], [[0, s], [t, b]], [[h - t, s], [h, b]]])
        m, w, f = 0.5 * t, 0.5 * s, 0.5 * (b + s)
        walls = _walls(((m, b), (m, w), t, ()), ((m, w), (h - m, w), s, (0,)), ((h - m, b), (h - m, w), t, ()))
        outline = np.array(
            [[0, 0], [0.5 * h, 0], [h, 0], [h, f], [h, b], [h - t, b], [h - t, f], [h - t, s],
             [0.5 * h, s], [t, s], [t, f], [t, b], [0, b], [0, f]]
        )  # fmt: skip
        return Shape(rectangles, walls, outline)


@checked_arguments
@dataclass(frozen=True, eq=False)
class AngleSection(OpenSection):
    """Angle: legs of ``height`` along y and ``width`` along z from their common corner, of one ``thickness`` [m].

    height, width, thickness: of the section.  flat: thickness of the leg along z where it is another [m].
    The beam bends about its principal axes; the shear centre is where the middle lines of the legs meet.

    Examples
    --------
    >>> import preprocess as pp
    >>> beam = pp.AngleSection(0.05, 0.05, 0.005, orientation=(0, 0, 1)).data(0.3)
    >>> round(1e8 * max(beam.Iy, beam.Iz), 2), round(1e8 * min(beam.Iy, beam.Iz), 2)  # cm⁴, without fillets
    (17.91, 4.59)
    """

    height: float
    width: float
    thickness: float
    flat: float | None = None

    kind = "angle"

    def _problem(self) -> str:
        wrong = self._not_positive("height", "width", "thickness", *(() if self.flat is None else ("flat",)))
        if not wrong and (self.thickness >= self.width or (self.flat or self.thickness) >= self.height):
            wrong = f"thickness = {self.thickness!r} fills the section; use RectangularSection"
        return wrong

    def _shape(self) -> Shape:
        h, b, t = float(self.height), float(self.width), float(self.thickness)
        f = t if self.flat is None else float(self.flat)
        rectangles = np.array([[[0, 0], [h, t]], [[0, t], [f, b]]])
        corner = 0.5 * f, 0.5 * t
        walls = _walls(((h, 0.5 * t), corner, t, ()), ((0.5 * f, b), corner, f, ()))
        outline = np.array(
            [[0, 0], [0.5 * h, 0], [h, 0], [h, t], [0.5 * h, t], [f, t], [f, 0.5 * b], [f, b], [0, b], [0, 0.5 * b]]
        )
        return Shape(rectangles, walls, outline)
