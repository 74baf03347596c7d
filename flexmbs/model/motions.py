"""Elementary motions that compose every joint.

A joint is a chain of motions from the parent frame to the child frame. A motion is described by its
numbers alone, which both the compiled kernels (`flexmbs.dynamics.joints`) and NumPy
(`flexmbs.model.chain_twists`) read:


| nv | pose X(q) | twist in the axes after it | positions |
|----|-----------|-----------------------------|-----------|
| 0  | constant (``rotation``, ``translation``) | none | none |
| 1  | exp(q ω), q v with v parallel to ω | ``unit_twist`` (v, ω) q̇ | q (rad or m) |
| 3  | rotation of Euler parameters | (0, ω) | four Euler parameters, scalar first |
| 6  | position and Euler parameters | (v, ω) | three lengths (m), then four Euler parameters |

A further motion with one coordinate is a class with its ``unit_twist``: ω is a unit vector and q
the angle, or ω is zero, v a unit vector and q the length. An axis away from the origin needs a
`FixedTranslation` before and its inverse after the motion.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import Declaration, NestedError, Problem, raise_nested, shown
from flexmbs.model.fields import Axis, Matrix, Number, Vector, Vector3, items
from flexmbs.model.frames import axis_angle_matrix

ROUND_OFF = 1e-9  # of the length of unit axes and of components perpendicular to them


def opposite(vector: Vector) -> Vector:
    """Opposite vector −v as a tuple."""
    return tuple(-component for component in vector)


class Motion(Declaration, section="motions"):
    """Elementary motion: numbers of positions and velocities, positions at rest."""

    nq: ClassVar[int] = 0
    nv: ClassVar[int] = 0
    rest: ClassVar[Vector] = ()

    @property
    def unit_twist(self) -> Vector:
        """Twist (v, ω) per velocity of a motion with one coordinate; zero otherwise.

        v is parallel to ω, the axis of unit length.
        """
        return (0.0,) * 6

    @property
    def rotation(self) -> Matrix:
        """Rotation matrix of a constant motion, else the identity."""
        return axis_angle_matrix((0.0, 0.0, 1.0), 0.0)

    @property
    def translation(self) -> Vector:
        """(3,) displacement (m) of a constant motion, else zero."""
        return (0.0, 0.0, 0.0)

    @property
    def freedoms(self) -> int:
        """Number of declared degrees of freedom, including prescribed motions."""
        return self.nv

    @property
    def turns(self) -> bool:
        """True if its coordinates rotate the child frame."""
        return self.nv >= 3 or any(self.unit_twist[3:])

    @property
    def slides(self) -> bool:
        """True if it is a translation along one axis."""
        return self.nv == 1 and not self.turns

    @property
    def rotations(self) -> int:
        """Number of purely rotational velocities."""
        return 3 if self.nv >= 3 else int(self.turns and not any(self.unit_twist[:3]))

    @property
    def moves_along(self) -> bool:
        """True if it displaces the motions after it."""
        return self.slides or any(self.translation)

    def warnings(self) -> list[str]:
        """Messages about unusual values that are probably mistakes."""
        return []

    def inverse(self) -> "Motion":
        """Inverse motion X⁻¹ with the same coordinates.

        For a ball or free motion with the coordinates of X⁻¹.
        """
        return ReversedMotion(self) if self.nv == 1 else self

    @model_validator(mode="after")
    def _about_one_axis(self) -> "Motion":
        """Raise ValueError unless translation and rotation axes are parallel.

        Only then the pose exp(q ω), q v has the twist (v, ω), and q is its angle or length.
        """
        if self.nv != 1:
            return self
        v, w = self.unit_twist[:3], self.unit_twist[3:]
        length = math.hypot(*(w if any(w) else v))
        if abs(length - 1.0) > ROUND_OFF:
            message = (
                f"has an axis of length {length:g}; make it a unit vector, and the coordinate "
                "the angle or length"
            )
            raise NestedError.at(("unit_twist",), message)
        across = [v[i - 2] * w[i - 1] - v[i - 1] * w[i - 2] for i in range(3)]
        if math.hypot(*across) > ROUND_OFF * max(1.0, math.hypot(*v)):
            message = (
                "translates perpendicular to its axis; displace the axis by a preceding "
                "FixedTranslation"
            )
            raise NestedError.at(("unit_twist",), message)
        return self


class ReversedMotion(Motion):
    """Motion with one coordinate in the opposite direction, X(q)⁻¹."""

    nq = nv = 1
    rest = (0.0,)

    of: Motion = dataclasses.field(kw_only=False)

    @property
    def unit_twist(self) -> Vector:
        return opposite(self.of.unit_twist)

    def inverse(self) -> Motion:
        """The motion that this one reverses."""
        return self.of


class PrescribedMotion(Motion):
    """Motion whose coordinate is a given function of time.

    Pose X(f(t)), relative twist (v, ω) ḟ, without a free coordinate.
    """

    of: Motion = dataclasses.field(kw_only=False)
    drive: str = dataclasses.field(kw_only=False)

    @property
    def unit_twist(self) -> Vector:
        return self.of.unit_twist

    @property
    def freedoms(self) -> int:
        return 1

    @property
    def turns(self) -> bool:
        return False

    @property
    def moves_along(self) -> bool:
        return self.of.moves_along

    def inverse(self) -> Motion:
        """Inverse motion prescribed by the same drive."""
        return PrescribedMotion(self.of.inverse(), self.drive)


class Rotate(Motion, kind="rotate"):
    """Rotation by q (rad) about a unit axis.

    Parameters
    ----------
    axis : direction
        Axis of rotation.

    Examples
    --------
    >>> import flexmbs as fm
    >>> fm.motions.Rotate("z").unit_twist  # (v, ω) for a rate of 1 rad/s
    (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    """

    nq = nv = 1
    rest = (0.0,)

    axis: Axis = dataclasses.field(kw_only=False)

    @property
    def unit_twist(self) -> Vector:
        return (0.0, 0.0, 0.0, *self.axis)

    def inverse(self) -> Motion:
        """Rotation about the opposite axis."""
        return Rotate(opposite(self.axis))


class Slide(Motion, kind="slide"):
    """Translation by q (m) along a unit axis.

    Parameters
    ----------
    axis : direction
        Axis of translation.

    Examples
    --------
    >>> import flexmbs as fm
    >>> fm.motions.Slide((0, 3, 4)).unit_twist  # (v, ω) for a rate of 1 m/s
    (0.0, 0.6, 0.8, 0.0, 0.0, 0.0)
    """

    nq = nv = 1
    rest = (0.0,)

    axis: Axis = dataclasses.field(kw_only=False)

    @property
    def unit_twist(self) -> Vector:
        return (*self.axis, 0.0, 0.0, 0.0)

    def inverse(self) -> Motion:
        """Translation along the opposite axis."""
        return Slide(opposite(self.axis))


class ScrewMotion(Motion, kind="screw"):
    """Screw motion: rotation by q (rad) about a unit axis with translation pitch·q (m) along it.

    Parameters
    ----------
    axis : direction
        Axis of the screw.
    pitch : float [m/rad]
        Translation per angle.

    Examples
    --------
    >>> import flexmbs as fm
    >>> fm.motions.ScrewMotion("z", 0.01).unit_twist  # (v, ω) for a rate of 1 rad/s
    (0.0, 0.0, 0.01, 0.0, 0.0, 1.0)
    """

    nq = nv = 1
    rest = (0.0,)

    axis: Axis = dataclasses.field(kw_only=False)
    pitch: Number = dataclasses.field(kw_only=False)

    @property
    def unit_twist(self) -> Vector:
        return (*(self.pitch * component for component in self.axis), *self.axis)

    def inverse(self) -> Motion:
        """Screw motion about the opposite axis with the same pitch."""
        return ScrewMotion(opposite(self.axis), self.pitch)


class Ball(Motion, kind="ball"):
    """Arbitrary rotation.

    Unit quaternion (scalar first) and relative angular velocity (rad/s) in the moving axes.

    Examples
    --------
    >>> import flexmbs as fm
    >>> shoulder = fm.Chain("shoulder", "torso", "arm", motions=(fm.motions.Ball(),))
    >>> (
    ...     shoulder.motions == fm.Spherical("shoulder", "torso", "arm").motions,
    ...     shoulder.nq,
    ...     shoulder.nv,
    ... )
    (True, 4, 3)
    """

    nq = 4
    nv = 3
    rest = (1.0, 0.0, 0.0, 0.0)


class FreeMotion(Motion, kind="free"):
    """Arbitrary displacement.

    Position (m), unit quaternion (scalar first), and relative twist (v, ω) in the moving axes.

    Examples
    --------
    >>> import flexmbs as fm
    >>> flight = fm.Chain("flight", "ground", "stone", motions=(fm.motions.FreeMotion(),))
    >>> flight.motions == fm.Free("flight", "ground", "stone").motions, flight.nq, flight.nv
    (True, 7, 6)
    """

    nq = 7
    nv = 6
    rest = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


class FixedTranslation(Motion, kind="fixed-translation"):
    """Constant translation.

    Parameters
    ----------
    displacement : 3 floats [m]
        Displacement in the axes before it.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("offset hinge")
    >>> rod = model.add(fm.RigidBody("rod", mass=3.0, inertia=(0.25, 0.25, 0.001)))
    >>> swing = (fm.motions.Rotate("y"), fm.motions.FixedTranslation((0, 0, -0.5)))
    >>> hinge = model.add(fm.Chain("hinge", model.ground, rod, motions=swing, q0=0.1))
    >>> fm.state(model).sd.round(5).tolist()  # same as a `Revolute` at the end of the rod
    [-1.46905]
    """

    displacement: Vector3 = dataclasses.field(kw_only=False)

    @property
    def translation(self) -> Vector:
        return tuple(self.displacement)

    def inverse(self) -> Motion:
        """Opposite displacement."""
        return FixedTranslation(opposite(self.displacement))


def degrees_text(angle: float) -> str:
    """Message for an angle (rad) of more than a full turn, probably in degrees; "" for others."""
    if abs(angle) <= 2.0 * math.pi:
        return ""
    return (
        f"the angle {angle:g} rad is more than a full turn; {angle:g}° are "
        f"{math.radians(angle):.5g} rad"
    )


class FixedRotation(Motion, kind="fixed-rotation"):
    """Constant rotation about a unit axis.

    Parameters
    ----------
    axis : direction
        Axis of rotation.
    angle : float [rad]
        Angle of rotation.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("incline")
    >>> block = model.add(fm.RigidBody("block", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    >>> down = (fm.motions.FixedRotation("y", 0.5236), fm.motions.Slide("x"))
    >>> guide = model.add(fm.Chain("guide", model.ground, block, motions=down))
    >>> fm.state(model).sd.round(3).tolist()  # g sin 30°
    [4.905]
    """

    axis: Axis = dataclasses.field(kw_only=False)
    angle: Number = dataclasses.field(kw_only=False)

    @property
    def rotation(self) -> Matrix:
        return axis_angle_matrix(self.axis, self.angle)

    def warnings(self) -> list[str]:
        """Message if the angle exceeds a full turn."""
        if abs(self.angle) <= 2.0 * math.pi:
            return []
        return [f"the angle {self.angle:g} is more than a full turn; angles are in rad"]

    def inverse(self) -> Motion:
        """Rotation by the opposite angle."""
        return FixedRotation(self.axis, -self.angle)


def motion_chain(value: object) -> tuple[Motion, ...]:
    """Validate a list of motions or of tables with ``kind``."""
    made: list[Motion] = []
    problems: list[Problem] = []
    for number, item in enumerate(items(value)):
        if isinstance(item, Motion):
            made.append(item)
        elif isinstance(item, Mapping):
            try:
                made.append(Motion.read_kind(item))
            except NestedError as error:
                problems.extend(
                    Problem((str(number), *inner.path), inner.message) for inner in error.problems
                )
        else:
            problems.append(
                Problem((str(number),), f"must be a motion such as Rotate('z'), not {shown(item)}")
            )
    raise_nested(problems)
    return tuple(made)


Motions = Annotated[tuple[Motion, ...], BeforeValidator(motion_chain)]
