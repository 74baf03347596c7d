"""What beams need of their section, and what all sections of beams share.

Local axes: x along the beam from its first node to its second, y along the part of ``orientation`` perpendicular to it,
and z = x × y. I_z = ∫ y² dA belongs to bending along y.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import InputError, shown
from preprocess.fe.section import Section
from preprocess.inputs.arguments import floats, number, vector

Array = NDArray[np.float64]


class SectionData(NamedTuple):
    """In principal axes y, z through the centroid: area A, second moments Iy = ∫z² dA, Iz = ∫y² dA, torsion constant J, shear
    coefficients ky, kz (shear areas k A), points (m, 2) y, z of the outline in order, and the shear stress (m, 2) τ_xy, τ_xz at
    these under unit torque, Pa/(N m); y, z of the shear centre; third moments ∫ y (y² + z²) dA, ∫ z (y² + z²) dA; the principal
    axes as rows (2, 2) in those of the section's orientation."""

    A: float
    Iy: float
    Iz: float
    J: float
    ky: float
    kz: float
    outline: Array
    torsion: Array
    shear_centre: tuple[float, float] = (0.0, 0.0)
    third: tuple[float, float] = (0.0, 0.0)
    turn: Array = np.eye(2)


@dataclass(frozen=True, eq=False)
class BeamSection(Section):
    """Section of beams.

    orientation (3,): direction of the local y axis in mesh axes; it need not be perpendicular to the beam.
    offset (2,): y and z of the centroid from the line between the nodes [m]."""

    _: KW_ONLY
    orientation: ArrayLike | None = None
    offset: ArrayLike = (0.0, 0.0)

    elements: ClassVar[tuple[str, ...]] = ("line2", "line3")
    round: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.orientation is not None and not np.linalg.norm(vector(self.orientation, "section: orientation")) > 0:
            raise InputError("section: orientation: has zero length; give the direction of the local y axis")
        if floats(self.offset, "section: offset").shape != (2,):
            raise InputError(f"section: offset: {shown(self.offset)}; give y and z in m")
        if self.orientation is None and not self.round:
            raise InputError("section: orientation is missing; give the direction of the section's y axis in mesh axes")
        problem = self._problem()
        if problem:
            raise InputError(f"section: {problem}")

    @abstractmethod
    def data(self, nu: float) -> SectionData:
        """Properties for Poisson's ratio ν, which the shear coefficients depend on."""

    def _problem(self) -> str:
        """What is wrong with the dimensions; empty if nothing is."""
        return ""

    def _not_positive(self, *names: str) -> str:
        bad = [name for name in names if not 0 < number(getattr(self, name), f"section: {name}") < np.inf]
        return f"{bad[0]} = {getattr(self, bad[0])!r}; give a positive length in m" if bad else ""
