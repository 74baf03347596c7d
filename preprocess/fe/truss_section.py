"""Section of trusses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from preprocess.elements.structural import names_of
from preprocess.fe.section_base import Section, check_added_mass
from preprocess.inputs.argument_checks import checked_arguments, positive

CORNERS = 8  # number of corners of the drawn outline of a circle


@checked_arguments
@dataclass(frozen=True, eq=False)
class TrussSection(Section):
    """Section of trusses, which transmit forces along their axis only.

    area: m². added_mass: along the axis, besides that of the material [kg/m].

    Examples
    --------
    >>> import preprocess as pp
    >>> nodes, bars = (
    ...     [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],
    ...     [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1)],
    ... )
    >>> frame = pp.Mesh.from_arrays(nodes, {"truss2": bars})
    >>> fe = pp.assemble(
    ...     frame, pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0), sections=pp.TrussSection(1e-4)
    ... )
    >>> fe.K.shape, round(fe.mass, 3)  # no rotations; ρ A times the length 3 + 3 √2
    ((12, 12), 5.685)
    """

    area: float
    added_mass: float = 0.0

    kind = "truss"
    elements: ClassVar[tuple[str, ...]] = names_of("truss")

    def __post_init__(self) -> None:
        positive(self.area, "section: area", "give a positive area in m²")
        check_added_mass(self.added_mass, "kg/m")

    @property
    def outline(self) -> NDArray[np.float64]:
        """Points (m, 2) of the circle of this area."""
        angle = 2 * np.pi * np.arange(CORNERS) / CORNERS
        return np.asarray(
            np.sqrt(float(self.area) / np.pi) * np.column_stack([np.cos(angle), np.sin(angle)])
        )
