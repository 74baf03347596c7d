"""Spur gear with involute teeth."""

import dataclasses
import math
from collections.abc import Callable
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import NestedError, shown
from flexmbs.model.fields import index, number
from flexmbs.model.shapes.mass_properties import MassProperties
from flexmbs.model.shapes.shape import SIDES, Dimension, OptionalDimension, Shape
from flexmbs.model.shapes.triangles import Triangles

# fewer than three teeth are not isotropic about the axis; more than the largest number are finer
# than a pixel of a picture
FEWEST, MOST = 3, 1000
ADDENDUM, DEDENDUM = 1.0, 1.25  # relative to the module: the basic rack of ISO 53


def _teeth(value: object) -> int:
    count = index(value)
    if not FEWEST <= count <= MOST:
        raise ValueError(f"must be within {FEWEST} … {MOST}, not {shown(count)}")
    return count


def _pressure_angle(value: object) -> float:
    angle = number(value)
    # the range of gears in use is 14.5° to 30°
    if not 0.1 <= angle <= 0.7:
        raise ValueError(f"must be within 0.1 … 0.7 rad, not {angle:g}")
    return angle


def _involute(slope: float) -> float:
    """Polar angle tan α − α of the involute of a circle, by its slope tan α."""
    return slope - math.atan(slope)


class GearShape(Shape, kind="gear"):
    """Spur gear about z with involute teeth of the basic rack of ISO 53, without fillets.

    Its centre is at the origin of the shape; a tooth is on the x axis. Flanks below the base circle
    are radial.

    Parameters
    ----------
    teeth : int
        Number of teeth, 3 … 1000.
    module : float [m]
        Pitch diameter divided by the number of teeth.
    width : float [m]
        Width along z.
    bore : float [m]
        Radius of the bore.
    pressure_angle : float [rad]
        Pressure angle; the default is 20°.

    Examples
    --------
    >>> import flexmbs as fm
    >>> wheel = fm.GearShape(20, module=0.002, width=0.01, bore=0.005)
    >>> wheel.tip_radius, wheel.root_radius  # m z/2 + m, m z/2 − 1.25 m
    (0.022, 0.0175)
    """

    teeth: Annotated[int, BeforeValidator(_teeth)] = dataclasses.field(kw_only=False)
    module: Dimension = dataclasses.field(kw_only=False)
    width: Dimension = dataclasses.field(kw_only=False)
    bore: OptionalDimension = 0.0
    pressure_angle: Annotated[float, BeforeValidator(_pressure_angle)] = math.radians(20.0)

    @property
    def tip_radius(self) -> float:
        """Radius of the tip circle (m)."""
        return self.module * (0.5 * self.teeth + ADDENDUM)

    @property
    def root_radius(self) -> float:
        """Radius of the root circle (m)."""
        return self.module * (0.5 * self.teeth - DEDENDUM)

    @model_validator(mode="after")
    def _possible(self) -> "GearShape":
        if self.bore >= self.root_radius:
            text = f"must be smaller than the root circle {self.root_radius:g}, not {self.bore:g}"
            raise NestedError.at(("bore",), text)
        if self._half_angle(self.tip_radius) <= 0.0:
            text = "the flanks of a tooth meet below its tip; take a smaller angle or more teeth"
            raise NestedError.at(("pressure_angle",), text)
        if self._half_angle(self.root_radius) >= math.pi / self.teeth:
            text = "the teeth touch at the root circle; take a smaller angle or fewer teeth"
            raise NestedError.at(("pressure_angle",), text)
        return self

    @property
    def _base_radius(self) -> float:
        return 0.5 * self.module * self.teeth * math.cos(self.pressure_angle)

    @property
    def _base_half_angle(self) -> float:
        """Half angle of a tooth at the base circle: π/(2z) + tan α − α."""
        return 0.5 * math.pi / self.teeth + _involute(math.tan(self.pressure_angle))

    def _slope(self, radius: float) -> float:
        """Slope tan α of the involute at a radius; zero within the base circle."""
        return math.sqrt(max((radius / self._base_radius) ** 2 - 1.0, 0.0))

    def _half_angle(self, radius: float) -> float:
        """Half angle ψ of a tooth at a radius."""
        return self._base_half_angle - _involute(self._slope(radius))

    def volume(self) -> MassProperties:
        """Volume, centre and inertia of the density one.

        The area A = π (r_f² − r_i²) + 2 z ∫ψ r dr and the polar moment J = ½ π (r_f⁴ − r_i⁴) +
        2 z ∫ψ r³ dr from the root to the tip circle are closed forms of t = tan α: r² = r_b² (1 +
        t²), ψ = ψ_b − t + arctan t.
        """
        psi, base, bore = self._base_half_angle, self._base_radius, self.bore
        root, first = self.root_radius, max(self.root_radius, self._base_radius)
        low, high = self._slope(first), self._slope(self.tip_radius)

        def between(primitive: Callable[[float], float]) -> float:
            return primitive(high) - primitive(low)

        def linear(t: float) -> float:
            """∫(ψ_b − t + arctan t) t dt"""
            return 0.5 * psi * t * t - t**3 / 3.0 + 0.5 * ((t * t + 1.0) * math.atan(t) - t)

        def cubic(t: float) -> float:
            """∫(ψ_b − t + arctan t) t³ dt"""
            return (
                psi * t**4 / 4.0 - t**5 / 5.0 + 0.25 * ((t**4 - 1.0) * math.atan(t) - t**3 / 3 + t)
            )

        z = self.teeth
        area = math.pi * (root + bore) * (root - bore) + z * psi * (first + root) * (first - root)
        area += 2.0 * z * base**2 * between(linear)
        polar = 0.5 * math.pi * (root**4 - bore**4) + 0.5 * z * psi * (first**4 - root**4)
        polar += 2.0 * z * base**4 * (between(linear) + between(cubic))
        across = 0.5 * polar + area * self.width**2 / 12.0
        inertia = self.width * np.diag([across, across, polar])
        return MassProperties(self.width * area, np.zeros(3), inertia)

    def triangles(self, sides: int = SIDES) -> Triangles:
        """Surface with sides/4 strips on a flank and sides/8 corners on each arc."""
        strips, arc = max(sides // 4, 2), max(sides // 8, 1)
        root, base = self.root_radius, self._base_radius
        radii = np.linspace(max(root, base), self.tip_radius, strips)
        radii = np.concatenate([[root], radii]) if base > root else radii
        half = np.array([self._half_angle(r) for r in radii])
        n = len(radii)
        # outline of a tooth and the gap behind it: flank up, tip, flank down, root
        tip = np.linspace(-half[-1], half[-1], arc + 2)[1:-1]
        gap = np.linspace(half[0], 2.0 * math.pi / self.teeth - half[0], arc + 2)[1:-1]
        r = np.concatenate([radii, np.full(arc, self.tip_radius), radii[::-1], np.full(arc, root)])
        angle = np.concatenate([-half, tip, half[::-1], gap])
        turn = 2.0 * math.pi * np.arange(self.teeth)[:, None] / self.teeth + angle
        outer = np.stack([r * np.cos(turn), r * np.sin(turn)], axis=-1).reshape(-1, 2)
        size = len(angle)
        last = size - arc - 1
        # points of the root circle and corners of the bore; below a tooth there are only the latter
        inside = [*[0] * (arc + 1), *range(last, size)]
        circle = (size * np.arange(self.teeth)[:, None] + inside).ravel()
        below = np.linspace(turn[:, 0], turn[:, last], arc + 1, endpoint=False, axis=1)
        feet = np.concatenate([below, turn[:, last:]], axis=1).ravel()
        hole = self.bore * np.stack([np.cos(feet), np.sin(feet)], axis=-1)
        k, j = np.arange(n - 1), np.arange(n, n + arc)
        cover = np.concatenate(
            [
                np.stack([k, k + 1, last - k - 1], axis=1),
                np.stack([k, last - k - 1, last - k], axis=1),
                np.stack([np.full(arc, n - 1), j, j + 1], axis=1),
            ]
        )
        teeth = (size * np.arange(self.teeth)[:, None, None] + cover).reshape(-1, 3)
        return self._prism(outer, hole if self.bore else np.zeros((1, 2)), teeth, circle)

    def _prism(
        self, outer: np.ndarray, hole: np.ndarray, teeth: np.ndarray, circle: np.ndarray
    ) -> Triangles:
        """Prism of an outline and a hole; a hole of one point is the centre.

        teeth: triangles of the teeth; circle: points of the outline on the root circle.
        """
        flat, n = np.vstack([outer, hole]), len(outer)
        total = len(flat)
        ring, after = n + np.arange(len(circle)) % len(hole), np.roll(circle, -1)
        inner = np.roll(ring, -1)
        disc = np.concatenate(
            [np.stack([ring, circle, after], 1), np.stack([ring, after, inner], 1)]
        )
        top = np.concatenate([teeth, disc]) + total
        edge, ahead = np.arange(n), np.roll(np.arange(n), -1)
        walls = [_wall(edge, ahead, total)]
        if len(hole) > 1:
            walls.append(_wall(inner, ring, total))
        found = np.concatenate([top, (top - total)[:, ::-1], *walls])
        a, b, c = found.T
        half = 0.5 * self.width
        points = np.concatenate([np.column_stack([flat, np.full(total, z)]) for z in (-half, half)])
        return Triangles(points, found[(a != b) & (b != c) & (c != a)])


def _wall(edge: np.ndarray, ahead: np.ndarray, up: int) -> np.ndarray:
    """Wall on the edges; ``up``: difference of the point rows between bottom and top."""
    return np.concatenate(
        [np.stack([edge, ahead, ahead + up], 1), np.stack([edge, ahead + up, edge + up], 1)]
    )
