"""Sections of beams, and the table of all sections.

Axes as in `beam_section_base`. Source: Young and Budynas, Roark's Formulas for Stress and Strain,
tables A.1 and 10.7; Timoshenko and Goodier, Theory of Elasticity, section 109 (torsion of
rectangular bars); Cowper, J. Appl. Mech. 33 (1966) 335 (shear coefficients).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import shown
from preprocess.fe.beam_section_base import BeamSection, SectionData, filled_between_flanges
from preprocess.fe.open_sections import AngleSection, ChannelSection, TSection, shear_areas
from preprocess.fe.section_base import Section
from preprocess.fe.shell_sections import LaminateSection, PlateSection, ShellSection
from preprocess.fe.truss_section import TrussSection
from preprocess.fe.walled_section import WalledSection
from preprocess.inputs.argument_checks import checked_arguments, floats

Array = NDArray[np.float64]

CORNERS = 16  # number of corners of the drawn outline of a circle


@checked_arguments
@dataclass(frozen=True, eq=False)
class RectangularSection(BeamSection):
    """Solid rectangle, ``height`` along y and ``width`` along z [m].

    height, width: sides. k = 10 (1 + ν)/(12 + 11 ν), J by the series of Saint-Venant.

    Examples
    --------
    >>> import preprocess as pp
    >>> section = pp.RectangularSection(0.02, 0.01, orientation=(0, 0, 1))
    >>> data = section.data(0.3)
    >>> (
    ...     round(data.Iz * 12 / (0.01 * 0.02**3), 9),
    ...     round(data.J / (0.01**3 * 0.02), 4),
    ... )  # Roark: 0.229 for 2:1
    (1.0, 0.2287)
    """

    height: float
    width: float

    kind = "rectangular"

    def _problem(self) -> str:
        """Problem of the dimensions; empty if there is none."""
        return self._not_positive("height", "width")

    def data(self, nu: float) -> SectionData:
        """Section properties of a rectangle for Poisson's ratio ν."""
        h, b = float(self.height), float(self.width)
        n = np.arange(1, 2000, 2)
        long, short = 0.5 * max(h, b), 0.5 * min(h, b)
        ratio = np.minimum(n * np.pi * long / (2 * short), 350.0)
        J = float(
            16
            * long
            * short**3
            * (1 / 3 - 64 / np.pi**5 * short / long * np.sum(np.tanh(ratio) / n**5))
        )
        on_long = 2 * short * (1 - 8 / np.pi**2 * np.sum(1 / (n**2 * np.cosh(ratio)))) / J
        on_short = (
            16 * short / np.pi**2 * np.sum((-1.0) ** ((n - 1) // 2) / n**2 * np.tanh(ratio)) / J
        )
        # on the sides along y, and along z
        upright, flat = (on_long, on_short) if h >= b else (on_short, on_long)
        y, z = 0.5 * h, 0.5 * b
        outline = np.array([[-y, -z], [0, -z], [y, -z], [y, 0], [y, z], [0, z], [-y, z], [-y, 0]])
        torsion = np.zeros((8, 2))
        torsion[[1, 5], 0], torsion[[3, 7], 1] = (upright, -upright), (flat, -flat)
        k = 10 * (1 + nu) / (12 + 11 * nu)
        return SectionData(h * b, h * b**3 / 12, b * h**3 / 12, J, k, k, outline, torsion)


@checked_arguments
@dataclass(frozen=True, eq=False)
class TubularSection(BeamSection):
    """Circular tube of outer ``diameter`` and wall ``thickness`` [m].

    diameter, thickness: of the tube, solid if the thickness is half the diameter. With m =
    inner/outer radius, k = 6 (1 + ν)(1 + m²)²/((7 + 6 ν)(1 + m²)² + (20 + 12 ν) m²).

    Examples
    --------
    >>> import preprocess as pp
    >>> tube = pp.TubularSection(0.05, 0.002).data(0.3)
    >>> round(tube.J / (tube.Iy + tube.Iz), 12)
    1.0
    """

    diameter: float
    thickness: float

    kind = "tubular"
    round = True

    def _problem(self) -> str:
        """Problem of the dimensions; empty if there is none."""
        wrong = self._not_positive("diameter", "thickness")
        if not wrong and self.thickness > 0.5 * self.diameter * (1 + 1e-9):
            wrong = f"thickness = {self.thickness!r} exceeds the radius {self.diameter / 2!r}"
        return wrong

    def data(self, nu: float) -> SectionData:
        """Section properties of a tube for Poisson's ratio ν."""
        R = 0.5 * float(self.diameter)
        r = max(R - float(self.thickness), 0.0)
        m2 = (r / R) ** 2
        I = np.pi / 4 * (R**4 - r**4)
        k = 6 * (1 + nu) * (1 + m2) ** 2 / ((7 + 6 * nu) * (1 + m2) ** 2 + (20 + 12 * nu) * m2)
        angle = 2 * np.pi * np.arange(CORNERS) / CORNERS
        outline = R * np.column_stack([np.cos(angle), np.sin(angle)])
        torsion = np.column_stack([-outline[:, 1], outline[:, 0]]) / (2 * I)
        return SectionData(np.pi * (R**2 - r**2), I, I, 2 * I, k, k, outline, torsion)


@checked_arguments
@dataclass(frozen=True, eq=False)
class CircularSection(BeamSection):
    """Solid circle of ``diameter`` [m].

    diameter: of the circle.

    Examples
    --------
    >>> import math
    >>> import preprocess as pp
    >>> round(pp.CircularSection(0.02).data(0.3).Iz * 64 / (math.pi * 0.02**4), 12)
    1.0
    """

    diameter: float

    kind = "circular"
    round = True

    def _problem(self) -> str:
        """Problem of the dimensions; empty if there is none."""
        return self._not_positive("diameter")

    def data(self, nu: float) -> SectionData:
        """Section properties of a solid circle for Poisson's ratio ν."""
        return TubularSection(self.diameter, 0.5 * self.diameter).data(nu)


@checked_arguments
@dataclass(frozen=True, eq=False)
class BoxSection(BeamSection):
    """Thin-walled rectangular tube.

    Outer ``height`` along y and ``width`` along z, wall ``thickness`` [m].

    height, width, thickness: of the tube. J = 4 A_m²/∮ ds/t + Σ b t³/3 (Bredt), A_m within the
    middle line; the shear areas are those of the energy of the shear flow.

    Examples
    --------
    >>> import preprocess as pp
    >>> box = pp.BoxSection(0.05, 0.05, 0.002, orientation=(0, 0, 1)).data(0.3)
    >>> round(
    ...     box.J / (0.048**3 * 0.002), 4
    ... )  # 1 + 4/3 (t/a)² times a³ t of a square with middle line a
    1.0023
    """

    height: float
    width: float
    thickness: float

    kind = "box"

    def _problem(self) -> str:
        """Problem of the dimensions; empty if there is none."""
        wrong = self._not_positive("height", "width", "thickness")
        if not wrong and 2 * self.thickness >= min(self.height, self.width):
            wrong = f"thickness = {self.thickness!r} leaves no hole; use RectangularSection"
        return wrong

    def data(self, nu: float) -> SectionData:
        """Section properties of a thin-walled box for Poisson's ratio ν."""
        h, b, t = float(self.height), float(self.width), float(self.thickness)
        hi, bi, hm, bm = h - 2 * t, b - 2 * t, h - t, b - t
        A = h * b - hi * bi
        bredt = 4 * (hm * bm) ** 2 * t / (2 * (hm + bm))
        J = bredt + 2 * (hm + bm) * t**3 / 3
        y, z = 0.5 * h, 0.5 * b
        outline = np.array([[-y, -z], [0, -z], [y, -z], [y, 0], [y, z], [0, z], [-y, z], [-y, 0]])
        flow = (bredt / (2 * hm * bm * t) + t) / J
        along = np.array([[0, 0], [1, 0], [0, 0], [0, 1], [0, 0], [-1, 0], [0, 0], [0, -1]])
        Iy, Iz = (h * b**3 - hi * bi**3) / 12, (b * h**3 - bi * hi**3) / 12
        corners = [
            (-0.5 * hm, -0.5 * bm),
            (0.5 * hm, -0.5 * bm),
            (0.5 * hm, 0.5 * bm),
            (-0.5 * hm, 0.5 * bm),
        ]
        along_y, along_z = shear_areas(
            *((p, q, t) for p, q in zip(corners, corners[1:] + corners[:1]))
        )
        return SectionData(A, Iy, Iz, J, along_y / A, along_z / A, outline, flow * along)


@checked_arguments
@dataclass(frozen=True, eq=False)
class ISection(BeamSection):
    """Doubly symmetric I section: ``height`` along y, flanges of ``width`` along z [m].

    height, width, web, flange: of the section, the latter two thicknesses. J = Σ b t³/3 of the
    three plates; the shear areas are those of the energy of the shear flow; warping is free.

    Examples
    --------
    >>> import preprocess as pp
    >>> beam = pp.ISection(0.1, 0.055, 0.0041, 0.0057, orientation=(0, 0, 1)).data(
    ...     0.3
    ... )  # IPE 100 without its fillets
    >>> round(beam.A * 1e4, 2), round(beam.Iz * 1e8, 1)
    (9.9, 163.3)
    """

    height: float
    width: float
    web: float
    flange: float

    kind = "i"

    def _problem(self) -> str:
        """Problem of the dimensions; empty if there is none."""
        wrong = self._not_positive("height", "width", "web", "flange")
        return wrong or filled_between_flanges(self.height, self.width, self.web, self.flange)

    def data(self, nu: float) -> SectionData:
        """Section properties of an I section for Poisson's ratio ν."""
        h, b, s, t = float(self.height), float(self.width), float(self.web), float(self.flange)
        hi = h - 2 * t
        A = 2 * b * t + hi * s
        Iz, Iy = (b * h**3 - (b - s) * hi**3) / 12, (2 * t * b**3 + hi * s**3) / 12
        J = (2 * b * t**3 + (h - t) * s**3) / 3
        y, z, w, f = 0.5 * h, 0.5 * b, 0.5 * s, 0.5 * h - t
        outline = np.array(
            [
                [-y, -z],
                [-f, -z],
                [-f, -w],
                [0, -w],
                [f, -w],
                [f, -z],
                [y, -z],
                [y, 0],
                [y, z],
                [f, z],
                [f, w],
                [0, w],
                [-f, w],
                [-f, z],
                [-y, z],
                [-y, 0],
            ]
        )
        torsion = np.zeros((16, 2))
        torsion[[3, 11], 0], torsion[[7, 15], 1] = (s / J, -s / J), (t / J, -t / J)
        m = 0.5 * (h - t)
        flanges = [((place, side * z), (place, 0.0), t) for place in (-m, m) for side in (-1, 1)]
        along_y, along_z = shear_areas(*flanges, ((-m, 0.0), (m, 0.0), s))
        return SectionData(A, Iy, Iz, J, along_y / A, along_z / A, outline, torsion)


@checked_arguments
@dataclass(frozen=True, eq=False)
class GeneralSection(BeamSection):
    """Section with given properties about its principal axes y and z.

    area: m². Iy, Iz: ∫z² dA, ∫y² dA, m⁴. J: torsion constant, m⁴. shear (2,): coefficients k_y, k_z
    of the shear areas k A, zero for no shear deformation. height, width: distances along y and z of
    the points where stress is computed, m; by default those of the rectangle with these second
    moments. The shear stress there under a torque T is T r/J, r the distance from the axis.
    shear_centre (2,): y and z from the centroid, m; the geometric stiffness omits the third moments
    of the area.

    Examples
    --------
    >>> import preprocess as pp
    >>> section = pp.GeneralSection(
    ...     2e-4, 1.6667e-9, 6.6667e-9, 4.577e-9, orientation=(0, 0, 1)
    ... )  # that of 20 mm × 10 mm
    >>> section.data(0.3).outline[2].round(6).tolist()
    [0.01, -0.005]
    """

    area: float
    Iy: float
    Iz: float
    J: float
    shear: tuple[float, float] = (0.0, 0.0)
    height: float | None = None
    width: float | None = None
    shear_centre: tuple[float, float] = (0.0, 0.0)

    kind = "general"

    def _problem(self) -> str:
        """Problem of the given properties; empty if there is none."""
        if floats(self.shear_centre, "section: shear_centre").shape != (2,):
            return f"shear_centre: {shown(self.shear_centre)}; give y and z in m"
        if isinstance(self.end, Mapping) and "shear_centre" in self.end:
            return "end: shear_centre is one for the whole beam; divide the beam"
        if floats(self.shear, "section: shear").shape != (2,) or not min(self.shear) >= 0:
            return f"shear: {shown(self.shear)}; give k_y and k_z, zero for no shear deformation"
        return self._not_positive(
            "area",
            "Iy",
            "Iz",
            "J",
            *(name for name in ("height", "width") if getattr(self, name) is not None),
        )

    def data(self, nu: float) -> SectionData:
        """Section properties as given, with the outline of an equivalent rectangle."""
        y = 0.5 * (self.height or np.sqrt(12 * self.Iz / self.area))
        z = 0.5 * (self.width or np.sqrt(12 * self.Iy / self.area))
        outline = np.array([[-y, -z], [0, -z], [y, -z], [y, 0], [y, z], [0, z], [-y, z], [-y, 0]])
        torsion = np.column_stack([-outline[:, 1], outline[:, 0]]) / self.J
        ky, kz = (float(k) for k in self.shear)
        e_y, e_z = (float(e) for e in self.shear_centre)
        return SectionData(
            self.area, self.Iy, self.Iz, self.J, ky, kz, outline, torsion, (e_y, e_z)
        )


BEAM_SECTIONS = (
    RectangularSection,
    CircularSection,
    TubularSection,
    BoxSection,
    ISection,
    TSection,
    ChannelSection,
    AngleSection,
    WalledSection,
    GeneralSection,
)
SECTIONS: dict[str, type[Section]] = {
    each.kind: each
    for each in (*BEAM_SECTIONS, TrussSection, ShellSection, PlateSection, LaminateSection)
}
