"""Joints between two frames.

A joint is data: its chain of `motions` from the parent frame to the child frame.

At q = 0 the child frame coincides with the parent frame. Axes are given in the parent frame in that
position. A new lower pair is a class with its parameters and its chain.

"""

import dataclasses
import functools
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, model_validator

from flexmbs.declaration import NestedError, Problem, raise_nested
from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.fields import Axis, Number, OptionalScalarOrVector, Vector, items, unit_axis
from flexmbs.model.frames import FrameLike, unit_quaternion
from flexmbs.model.item import Item
from flexmbs.model.motions import (
    Ball,
    FreeMotion,
    Motion,
    Motions,
    Rotate,
    ScrewMotion,
    Slide,
    degrees_text,
)


class Joint(Item, section="joints"):
    """Joint from frame ``parent`` to frame ``child``.

    A spatial rotation has a unit quaternion (scalar first) as position coordinates. Initial values
    that are given, zero included, are kept as far as the constraints allow; values that are not
    given (None) start at the rest position and are adjusted first during loop closure.

    Parameters
    ----------
    parent : frame
        Frame of one body or the ground: ``body['frame']`` or 'body/frame'.
    child : frame
        Frame of the other body.
    q0 : float, floats or None [m, rad]
        Initial position coordinates, `nq` numbers; 0 is the rest position.
    v0 : float, floats or None [m/s, rad/s]
        Initial velocities, `nv` numbers.
    """

    parent: FrameLike = dataclasses.field(kw_only=False)
    child: FrameLike = dataclasses.field(kw_only=False)
    q0: OptionalScalarOrVector = None
    v0: OptionalScalarOrVector = None

    carries: ClassVar[bool] = True  # True if it can be a joint of the tree

    if TYPE_CHECKING:

        @property
        def motions(self) -> tuple[Motion, ...]:
            """Chain of elementary motions from the parent frame to the child frame."""

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return sum(motion.nq for motion in self.motions)

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return sum(motion.nv for motion in self.motions)

    @property
    def rest(self) -> Vector:
        """Coordinates (nq,) at rest, where only the constant motions of the chain act."""
        return sum((motion.rest for motion in self.motions), ())

    @property
    def initial_position(self) -> Vector:
        """Initial position (nq,): ``q0``, or the rest position if it is not given."""
        return self.rest if self.q0 is None else self.q0  # type: ignore[no-any-return]

    @property
    def initial_velocity(self) -> Vector:
        """Initial velocity (nv,): ``v0``, or zero if it is not given."""
        return (0.0,) * self.nv if self.v0 is None else self.v0  # type: ignore[no-any-return]

    @property
    def among_equals(self) -> str:
        """Text that distinguishes it from others between the same two frames.

        Empty for joints, of which there is only one.
        """
        return ""

    @property
    def rows(self) -> int:
        """Number of constraint equations between the two frames."""
        return 6 - self.nv

    @property
    def position_rows(self) -> int:
        """Number of holonomic equations; the remaining ones constrain velocities only."""
        return self.rows

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """Classes of the constraint rows, holonomic first; none for a free joint."""
        rows = ((self.position_rows, True), (self.rows - self.position_rows, False))
        return tuple(ConstraintClass(n, holonomic) for n, holonomic in rows if n)

    def warnings(self) -> list[Problem]:
        """Warnings of the motions, and of motions that repeat an axis."""
        path = (self.section, self.name)
        found = [
            Problem((*path, "motions", str(i)), text)
            for i, motion in enumerate(self.motions)
            for text in motion.warnings()
        ]
        at = 0
        for motion in self.motions:
            angle = self.initial_position[at] if motion.nq == motion.rotations == 1 else 0.0
            if text := degrees_text(angle):
                found.append(Problem((*path, "q0"), text))
            at += motion.nq
        return found

    @model_validator(mode="after")
    def _initial_values(self) -> "Joint":
        """Raise `NestedError` for wrong lengths of q0 and v0; normalize quaternions."""
        problems: list[Problem] = []
        if self.nv > 6:
            message = (
                f"the chain has {self.nv} degrees of freedom; at most 6 are possible, remove "
                "motions"
            )
            raise NestedError.at(("motions",), message)
        for key, default in (("q0", self.rest), ("v0", (0.0,) * self.nv)):
            if getattr(self, key) is None:
                continue
            try:
                object.__setattr__(self, key, _full(getattr(self, key), default))
            except ValueError as error:
                problems.append(Problem((key,), str(error)))
        if self.q0 is not None and not problems:
            try:
                object.__setattr__(self, "q0", _checked_positions(self.q0, self.motions))
            except ValueError as error:
                problems.append(Problem(("q0",), str(error)))
        raise_nested(problems)
        return self


def _count(n: int) -> str:
    """Text "n numbers"."""
    return f"{n} number{'' if n == 1 else 's'}"


def _full(value: Any, default: Vector) -> Vector:
    """Coordinates as a full list, from one number or one per coordinate."""
    if not default and value not in (0.0, ()):
        raise ValueError(
            "it has no coordinates; give initial values for the other joints of its bodies"
        )
    if isinstance(value, tuple):
        if len(value) != len(default):
            raise ValueError(f"must have {_count(len(default))}, not {len(value)}")
        return value
    if value == 0.0:
        return default
    if len(default) != 1:
        raise ValueError(f"must have {_count(len(default))}, not one")
    return (value,)


def _checked_positions(q0: Vector, motions: tuple[Motion, ...]) -> Vector:
    """Initial positions with normalized quaternions. Raises ValueError."""
    checked: list[float] = []
    for motion in motions:
        part = q0[len(checked) : len(checked) + motion.nq]
        if motion.nq >= 4:
            part = part[:-4] + unit_quaternion(part[-4:])
        checked.extend(part)
    return tuple(checked)


def normal_directions(normal: Vector) -> tuple[Vector, Vector]:
    """Unit vectors a, b that make (a, b, normal) right-handed and orthonormal.

    x, y for z and cyclically for other axes.
    """
    k = max(range(3), key=lambda i: abs(normal[i]))
    seed = [0.0, 0.0, 0.0]
    seed[(k + 1) % 3] = 1.0
    along = sum(s * n for s, n in zip(seed, normal))
    a = unit_axis([s - along * n for s, n in zip(seed, normal)])
    b = tuple(
        normal[(i + 1) % 3] * a[(i + 2) % 3] - normal[(i + 2) % 3] * a[(i + 1) % 3]
        for i in range(3)
    )
    return a, b


def two_axes(value: object) -> tuple[Vector, Vector]:
    """Validate two unit axes that are not parallel."""
    axes = tuple(unit_axis(item) for item in items(value))
    if len(axes) != 2:
        raise ValueError(f"must be two axes, not {len(axes)}")
    cosine = sum(a * b for a, b in zip(*axes))
    if abs(cosine) > 1.0 - 1e-9:
        raise ValueError(
            "the two axes are parallel; a universal joint needs perpendicular axes, such "
            "as ['x', 'y']"
        )
    return axes[0], axes[1]


def _at_least_one(motions: tuple[Motion, ...]) -> tuple[Motion, ...]:
    """Validate that there is a motion. Raises ValueError."""
    if not motions:
        raise ValueError("needs at least one motion; otherwise use a fixed joint")
    return motions


class Fixed(Joint, kind="fixed"):
    """Fixed connection without degrees of freedom.

    Source: docs/theory.md, section 11.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("sign")
    >>> sign = model.add(fm.RigidBody("sign", mass=10.0, com=(0.4, 0, 0), inertia=(1.0, 1.0, 1.0)))
    >>> bolts = model.add(fm.Fixed("bolts", model.ground, sign))
    >>> wrench = fm.statics(model).reactions["bolts"]
    >>> (
    ...     wrench.force[0].round(6).tolist(),
    ...     wrench.torque[0].round(6).tolist(),
    ... )  # m g and its moment about y
    ([0.0, 0.0, 98.1], [0.0, -39.24, 0.0])
    """

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        return ()


class Revolute(Joint, kind="revolute"):
    """Rotation about an axis; one coordinate in rad.

    Source: docs/theory.md, section 11.

    Parameters
    ----------
    axis : direction
        Axis of rotation in the parent frame.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=0.1))
    >>> fm.state(model).sd.round(5).tolist()  # φ̈ = −3 g/(2 l) sin φ of a rod of length l = 1 m
    [-1.46905]
    """

    axis: Axis = "z"

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        return (Rotate(self.axis),)


class Prismatic(Joint, kind="prismatic"):
    """Translation along an axis; one coordinate in m.

    Source: docs/theory.md, section 11.

    Parameters
    ----------
    axis : direction
        Axis of translation in the parent frame.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("incline")
    >>> block = model.add(fm.RigidBody("block", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    >>> guide = model.add(fm.Prismatic("guide", model.ground, block, axis=(4.0, 0.0, -3.0)))
    >>> fm.state(model).sd.round(6).tolist()  # g sin α = 9.81 · 3/5
    [5.886]
    """

    axis: Axis = "x"

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        return (Slide(self.axis),)


class Cylindrical(Joint, kind="cylindrical"):
    """Translation along an axis (coordinate 0, m) and rotation about it (coordinate 1, rad).

    Source: docs/theory.md, section 11.

    Parameters
    ----------
    axis : direction
        Common axis in the parent frame.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("shaft in a sleeve")
    >>> shaft = model.add(fm.RigidBody("shaft", mass=2.0, inertia=(0.1, 0.1, 0.05)))
    >>> sleeve = model.add(fm.Cylindrical("sleeve", model.ground, shaft, axis="z"))
    >>> motor = model.add(fm.JointTorque("motor", sleeve, 0.2, coordinate=1))
    >>> fm.state(model).sd.round(6).tolist()  # it falls with g and turns with τ/J
    [-9.81, 4.0]
    """

    axis: Axis = "z"

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        return (Slide(self.axis), Rotate(self.axis))


class Universal(Joint, kind="universal"):
    """Cardan joint: rotations about an axis fixed in the parent and one fixed in the child.

    Two coordinates in rad.

    Source: docs/theory.md, section 11.

    Parameters
    ----------
    axes : 2 directions
        Axis in the parent frame, axis in the child frame.

    Examples
    --------
    >>> import numpy as np
    >>> import flexmbs as fm
    >>> bend, body = 0.5, {"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}
    >>> model = fm.Model("Cardan shaft", gravity=(0, 0, 0))
    >>> drive, driven = (model.add(fm.RigidBody(name, **body)) for name in ("drive", "driven"))
    >>> motor = model.add(fm.Revolute("motor", model.ground, drive, axis="x", v0=10.0))
    >>> load = model.add(
    ...     fm.Revolute("load", model.ground, driven, axis=(np.cos(bend), np.sin(bend), 0))
    ... )
    >>> cross = model.add(
    ...     fm.Universal("cross", drive, driven, axes=("z", (-np.sin(bend), np.cos(bend), 0)))
    ... )
    >>> fm.assemble(model).joints["load"].velocity.round(
    ...     6
    ... ).tolist()  # ω cos β, between ω cos β and ω/cos β in a turn
    [8.775826]
    """

    axes: Annotated[Any, AfterValidator(two_axes)] = ("x", "y")

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        return (Rotate(self.axes[0]), Rotate(self.axes[1]))

    def warnings(self) -> list[Problem]:
        """Warnings, also of axes that are not perpendicular."""
        cosine = sum(a * b for a, b in zip(*self.axes))
        text = f"the axes are not perpendicular (cosine {cosine:g}), unlike those of a Cardan joint"
        return super().warnings() + (
            [Problem((self.section, self.name, "axes"), text)] if abs(cosine) > 1e-6 else []
        )


class Spherical(Joint, kind="spherical"):
    """Arbitrary rotation about the common point.

    q is a unit quaternion (scalar first), v the angular velocity in child axes.

    Source: docs/theory.md, section 11.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("free top", gravity=(0, 0, 0))
    >>> top = model.add(fm.RigidBody("top", mass=1.0, inertia=(1.0, 2.0, 2.5)))
    >>> pivot = model.add(fm.Spherical("pivot", model.ground, top, v0=(1.0, 2.0, 3.0)))
    >>> fm.state(model).sd.round(6).tolist()  # Euler's equations, ω̇₁ = (I₂ − I₃) ω₂ ω₃/I₁ …
    [-3.0, 2.25, -0.8]
    """

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        return (Ball(),)


class Planar(Joint, kind="planar"):
    """Two translations in a plane (m) and the rotation about its normal (rad).

    For the normal z: x, y, angle.

    Source: docs/theory.md, section 11.

    Parameters
    ----------
    axis : direction
        Normal of the plane in the parent frame.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("struck rod", gravity=(0, 0, 0))
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, inertia=(0.0, 0.25, 0.25), frames={"end": (0.5, 0, 0)})
    ... )
    >>> table = model.add(fm.Planar("table", model.ground, rod, axis="z"))
    >>> push = model.add(fm.FrameForce("push", rod["end"], force=(0, 6.0, 0)))
    >>> fm.state(model).sd.round(6)[1:].tolist()  # ÿ = F/m, φ̈ = F l/(2 J)
    [2.0, 12.0]
    """

    axis: Axis = "z"

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        """Two translations in the plane and the rotation about its normal."""
        a, b = normal_directions(self.axis)
        return (Slide(a), Slide(b), Rotate(self.axis))


class Free(Joint, kind="free"):
    """All six degrees of freedom.

    q is position and unit quaternion (scalar first), v the twist (v, ω) in child axes.

    Source: docs/theory.md, section 11.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("flight")
    >>> ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    >>> flight = model.add(fm.Free("flight", model.ground, ball, v0=(3.0, 0, 0, 0, 0, 2.0)))
    >>> fm.state(model).sd.round(6).tolist()  # in the turning axes of the ball: v̇ = g − ω × v
    [0.0, -6.0, -9.81, 0.0, 0.0, 0.0]
    """

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        return (FreeMotion(),)


class Pose(Joint, kind="pose"):
    """All six degrees of freedom as three translations and a rotation.

    The translations x, y, z along the parent's axes (m) are coordinates 0 to 2.

    It constrains nothing: together with other joints it provides positions of points for couplings.
    q has 7 numbers (x, y, z, quaternion). Source: docs/theory.md, section 11.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("flight")
    >>> ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    >>> flight = model.add(fm.Pose("flight", model.ground, ball, v0=(3.0, 0, 0, 0, 0, 2.0)))
    >>> fm.state(model).sd.round(6).tolist()  # along the axes of the ground: v̇ = g
    [0.0, 0.0, -9.81, 0.0, 0.0, 0.0]
    """

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        return (Slide("x"), Slide("y"), Slide("z"), Ball())


class Screw(Joint, kind="screw"):
    """Rotation by q (rad) about an axis with translation pitch·q along it.

    Source: docs/theory.md, section 11.

    Parameters
    ----------
    axis : direction
        Axis in the parent frame.
    pitch : float [m/rad]
        Translation per angle.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("nut")
    >>> nut = model.add(fm.RigidBody("nut", mass=2.0, inertia=(1e-3, 1e-3, 1e-3)))
    >>> thread = model.add(fm.Screw("thread", model.ground, nut, axis="z", pitch=0.01))
    >>> fm.state(model).sd.round(4).tolist()  # −m g p/(J + m p²): it turns down by itself
    [-163.5]
    """

    axis: Axis = "z"
    pitch: Number

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        return (ScrewMotion(self.axis, self.pitch),)


class Translation(Joint, kind="translation"):
    """Three translations along x, y, z (m), no rotation; a point mass moves on it.

    Source: docs/theory.md, section 11.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("throw")
    >>> stone = model.add(fm.PointMass("stone", mass=0.2))
    >>> flight = model.add(fm.Translation("flight", model.ground, stone, v0=(4.0, 0.0, 9.81)))
    >>> run = fm.simulate(model, t_end=1.0, step=0.01)
    >>> run.body("stone").position[-1].round(6).tolist()  # v t + g t²/2
    [4.0, 0.0, 4.905]
    """

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        return (Slide("x"), Slide("y"), Slide("z"))


class Chain(Joint, kind="chain"):
    """A user-defined joint: any chain of elementary motions (`fm.motions`).

    For example ``(Rotate("z"), FixedTranslation((0.1, 0, 0)), Rotate("x"))``. Source:
    docs/theory.md, section 11.

    Parameters
    ----------
    motions : motions
        Elementary motions from the parent to the child frame.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("bead on a turning bar", gravity=(0, 0, 0))
    >>> bead = model.add(fm.RigidBody("bead", mass=1.0, inertia=(1e-3, 1e-3, 1e-3)))
    >>> turn_and_slide = (fm.motions.Rotate("z"), fm.motions.Slide("x"))
    >>> bar = model.add(
    ...     fm.Chain(
    ...         "bar", model.ground, bead, motions=turn_and_slide, q0=(0.0, 0.5), v0=(2.0, 0.0)
    ...     )
    ... )
    >>> fm.state(model).sd.round(6)[1:].tolist()  # r̈ = r φ̇²
    [2.0]
    """

    motions: Annotated[Motions, AfterValidator(_at_least_one)] = dataclasses.field()  # type: ignore[misc,assignment]
