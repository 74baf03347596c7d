"""Elementary motions, of which every joint is composed.

A joint is a chain of motions from the parent frame to the child frame. Each motion has ``nq`` position coordinates and ``nv``
velocities, and default positions ``rest``; ``rotations`` is the number of purely rotational velocities, and
``moves_along`` states whether it displaces the following motions.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator

from flexmbs.declaration import Declaration, NestedError, Problem, shown
from flexmbs.model.fields import Axis, Number, Vector, Vector3, items


def opposite(vector: Vector) -> Vector:
    """−v"""
    return tuple(-component for component in vector)


class Motion(Declaration, section="motions"):
    """One elementary motion."""

    nq: ClassVar[int] = 0
    nv: ClassVar[int] = 0
    rest: ClassVar[Vector] = ()
    rotations: ClassVar[int] = 0
    moves_along: ClassVar[bool] = False

    def warnings(self) -> list[str]:
        """Unusual values that are probably mistakes."""
        return []

    def inverse(self) -> "Motion":
        """The motion X⁻¹ with the same coordinates (for a ball or free motion: with the coordinates of X⁻¹)."""
        return self


class Rotate(Motion, kind="rotate"):
    """Rotation by q (rad) about a unit axis.

    Parameters
    ----------
    axis : direction
        Axis of rotation.
    """

    nq = nv = 1
    rest = (0.0,)
    rotations = 1

    axis: Axis = dataclasses.field(kw_only=False)

    def inverse(self) -> Motion:
        return Rotate(opposite(self.axis))


class Slide(Motion, kind="slide"):
    """Translation by q (m) along a unit axis.

    Parameters
    ----------
    axis : direction
        Axis of translation.
    """

    nq = nv = 1
    rest = (0.0,)
    moves_along = True

    axis: Axis = dataclasses.field(kw_only=False)

    def inverse(self) -> Motion:
        return Slide(opposite(self.axis))


class ScrewMotion(Motion, kind="screw"):
    """Screw motion: rotation by q (rad) about a unit axis with translation pitch·q (m) along it.

    Parameters
    ----------
    axis : direction
        Axis of the screw.
    pitch : float [m/rad]
        Translation per angle.
    """

    nq = nv = 1
    rest = (0.0,)

    axis: Axis = dataclasses.field(kw_only=False)
    pitch: Number = dataclasses.field(kw_only=False)

    def inverse(self) -> Motion:
        return ScrewMotion(opposite(self.axis), self.pitch)


class Ball(Motion, kind="ball"):
    """Arbitrary rotation: unit quaternion (scalar first) and relative angular velocity (rad/s) in the moved axes."""

    nq = 4
    nv = 3
    rest = (1.0, 0.0, 0.0, 0.0)
    rotations = 3


class FreeMotion(Motion, kind="free"):
    """Arbitrary displacement: position (m), unit quaternion (scalar first), and relative twist (v, ω) in the moved axes."""

    nq = 7
    nv = 6
    rest = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    rotations = 3


class FixedTranslation(Motion, kind="fixed-translation"):
    """Constant translation.

    Parameters
    ----------
    displacement : 3 floats [m]
        Displacement in the axes before it.
    """

    moves_along = True

    displacement: Vector3 = dataclasses.field(kw_only=False)

    def inverse(self) -> Motion:
        return FixedTranslation(opposite(self.displacement))


class FixedRotation(Motion, kind="fixed-rotation"):
    """Constant rotation about a unit axis.

    Parameters
    ----------
    axis : direction
        Axis of rotation.
    angle : float [rad]
        Angle of rotation.
    """

    axis: Axis = dataclasses.field(kw_only=False)
    angle: Number = dataclasses.field(kw_only=False)

    def warnings(self) -> list[str]:
        if abs(self.angle) <= 2.0 * math.pi:
            return []
        return [f"the angle {self.angle:g} is more than a full turn; angles are in rad"]

    def inverse(self) -> Motion:
        return FixedRotation(self.axis, -self.angle)


def motion_chain(value: object) -> tuple[Motion, ...]:
    """Motions from a list of motions or of tables with ``kind``."""
    made: list[Motion] = []
    problems: list[Problem] = []
    for number, item in enumerate(items(value)):
        if isinstance(item, Motion):
            made.append(item)
        elif isinstance(item, Mapping):
            try:
                made.append(Motion.read_kind(item))
            except NestedError as error:
                problems.extend(Problem((str(number), *inner.path), inner.message) for inner in error.problems)
        else:
            problems.append(Problem((str(number),), f"must be a motion such as Rotate('z'), not {shown(item)}"))
    if problems:
        raise NestedError(problems)
    return tuple(made)


Motions = Annotated[tuple[Motion, ...], BeforeValidator(motion_chain)]
