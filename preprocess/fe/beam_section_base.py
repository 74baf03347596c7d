"""Properties of a beam section, and the base of all beam sections.

Local axes: x along the beam from its first node to its second, y along the part of ``orientation``
perpendicular to it, and z = x × y. I_z = ∫ y² dA belongs to bending along y.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import InputError, shown
from preprocess.elements.structural import names_of
from preprocess.fe.section_base import Section, check_added_mass
from preprocess.inputs.argument_checks import floats, instance, number

Array = NDArray[np.float64]

# no dimensions of a section
SHARED = (
    "orientation",
    "offset",
    "end",
    "turn",
    "ends",
    "released",
    "added_mass",
    "line",
    "lumped_torsion",
)


class SectionData(NamedTuple):
    """Properties of a section in principal axes y, z through the centroid.

    Area A, second moments Iy = ∫z² dA, Iz = ∫y² dA, torsion constant J, shear coefficients ky, kz
    (shear areas k A), points (m, 2) y, z of the outline in order, and the shear stress (m, 2) τ_xy,
    τ_xz at these under unit torque, Pa/(N m); y, z of the shear centre, third moments ∫ y (y² + z²)
    dA, ∫ z (y² + z²) dA; the principal axes as rows (2, 2) in those of the section's orientation;
    y, z of the origin of its dimensions.
    """

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
    origin: tuple[float, float] = (0.0, 0.0)


def filled_between_flanges(height: float, width: float, web: float, flange: float) -> str:
    """Problem of two flanges and a web without room between or beside them; empty if none."""
    room = 2 * flange < height and web < width
    return "" if room else "the flanges or the web fill the section; use RectangularSection"


@dataclass(frozen=True, eq=False)
class BeamSection(Section):
    """Section of beams.

    orientation (3,): direction of the local y axis in mesh axes, not necessarily perpendicular to
    the beam; or rows (n, 4) of an element number and its direction. offset (2,): y and z from the
    line between the nodes to the reference point ``line`` of the section [m]. line: "centroid",
    "shear-centre", or "origin", the point from which the walls of an open section are measured.
    end: dimensions at the second end of each element that differ from those at the first, such as
    {"height": 0.01}; they vary linearly in between. turn: rotation of the section in these axes,
    from y to z [degrees]. added_mass: additional mass on the line of the centroids [kg/m]. ends (2,
    3): vectors in mesh axes from both nodes to the line from which the offset counts, rigid arms
    [m]; or rows (n, 7). released: degrees of freedom 1 to 6 of both ends, in local axes at the
    reference point of the offset, that are not connected to the node, such as ("", "56");
    added_mass acts at this point too. lumped_torsion: whether lumped mass has the rotary inertia
    about the axis, as CBEAM of Nastran has and CBAR has not.
    """

    _: KW_ONLY
    orientation: ArrayLike | None = None
    offset: ArrayLike = (0.0, 0.0)
    end: Mapping[str, Any] | None = None  # numbers, and the pair ``shear``
    turn: float = 0.0
    ends: ArrayLike | None = None
    released: tuple[str, str] = ("", "")
    added_mass: float = 0.0
    line: Literal["centroid", "shear-centre", "origin"] = "centroid"
    lumped_torsion: bool = True

    elements: ClassVar[tuple[str, ...]] = names_of("beam")
    round: ClassVar[bool] = False
    tapers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if (
            self.orientation is not None
            and not np.linalg.norm(self._rows("orientation", (3,))[:, -3:], axis=1).min() > 0
        ):
            raise InputError(
                "section: orientation: has zero length; give the direction of the local y axis"
            )
        if floats(self.offset, "section: offset").shape != (2,):
            raise InputError(f"section: offset: {shown(self.offset)}; give y and z in m")
        if self.orientation is None and not self.round:
            raise InputError(
                "section: orientation is missing; give the direction of the section's y "
                "axis in mesh axes"
            )
        if not np.isfinite(number(self.turn, "section: turn")):
            raise InputError(f"section: turn: {self.turn!r}; give an angle in degrees")
        check_added_mass(self.added_mass, "kg/m")
        if self.ends is not None:
            self._rows("ends", (2, 3))
        wrong = [each for each in self.released if set(each) - set("123456")]
        if wrong:
            raise InputError(
                f"section: released: {wrong[0]!r}; give digits from 1 to 6 for each end"
            )
        problem = self._problem()
        if problem:
            raise InputError(f"section: {problem}")
        if self.end is not None:
            self._check_end(
                instance(self.end, Mapping, "section: end", 'dimensions, such as {"height": 0.01}')
            )

    def _check_end(self, end: Mapping[str, float]) -> None:
        """Raise `InputError` for dimensions of a tapered end that the section lacks."""
        own = [each.name for each in fields(self) if each.name not in SHARED]
        wrong = [name for name in end if name not in own or getattr(self, name) is None]
        if wrong or not end:
            what = f"{shown(wrong[0])} is not one of its dimensions" if wrong else "is empty"
            raise InputError(f"section: end: {what}; give {', '.join(own)}")
        if not self.tapers:
            raise InputError(
                f"section: end: {type(self).__name__} cannot taper; divide the beam, each "
                "part with its own section"
            )
        try:
            self.at(1.0)
        except InputError as error:
            raise InputError(
                *(problem.replace("section:", "section: end:", 1) for problem in error.problems)
            ) from None

    def _rows(self, name: str, shape: tuple[int, ...]) -> Array:
        """Rows (element number, values) of a field; one value applies to all elements.

        Raises InputError.
        """
        given, width = floats(getattr(self, name), f"section: {name}"), math.prod(shape)
        if given.shape != shape and (
            given.ndim != 2 or given.shape[1:] != (width + 1,) or not len(given)
        ):
            raise InputError(
                f"section: {name}: {shown(getattr(self, name))}; give {width} numbers, or "
                "rows of a number and these"
            )
        return given.reshape(1, -1) if given.shape == shape else given

    def of_elements(self, name: str, numbers: NDArray[np.int64]) -> Array:
        """Orientations (ne, 3) or ends (ne, 2, 3) of elements.

        Raises InputError for an element without one.
        """
        shape = (3,) if name == "orientation" else (2, 3)
        rows = self._rows(name, shape)
        if np.shape(getattr(self, name)) == shape:
            return np.broadcast_to(rows.reshape(shape), (len(numbers), *shape))
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        place = np.minimum(np.searchsorted(rows[:, 0], numbers), len(rows) - 1)
        missing = numbers[rows[place, 0] != numbers]
        if len(missing):
            raise InputError(f"section: {name}: has no row of element {missing[0]}; give one")
        return rows[place, 1:].reshape(-1, *shape)

    def at(self, s: float) -> Self:
        """Section at s, from 0 at the first end to 1 at the second."""
        if self.end is None:
            return self
        between = {
            name: (1 - s) * np.asarray(getattr(self, name)) + s * np.asarray(value)
            for name, value in self.end.items()
        }
        return replace(self, end=None, **{name: value.tolist() for name, value in between.items()})

    @property
    def varies(self) -> bool:
        return self.end is not None

    @abstractmethod
    def data(self, nu: float) -> SectionData:
        """Properties for Poisson's ratio ν, on which the shear coefficients depend."""

    def _problem(self) -> str:
        """Problem of the dimensions; empty if there is none."""
        return ""

    def _not_positive(self, *names: str) -> str:
        """Problem of dimensions that are not positive; empty if there is none."""
        bad = [
            name
            for name in names
            if not 0 < number(getattr(self, name), f"section: {name}") < np.inf
        ]
        return f"{bad[0]} = {getattr(self, bad[0])!r}; give a positive length in m" if bad else ""
