"""Forces: on joint coordinates, on frames, between frames."""

import dataclasses
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, model_validator

from flexmbs.declaration import NestedError, Problem, shown
from flexmbs.model.fields import Index, Nonnegative, NonnegativeSix, Number, OptionalPositive, Positive
from flexmbs.model.frames import FrameLike, JointLike
from flexmbs.model.functions import OptionalFunction, UserFunction, function_of
from flexmbs.model.item import CoordinateUse, Item
from flexmbs.model.laws import JointForceLaw, ThreeLaws


class Force(Item, section="forces"):
    """A force element."""


class JointTorque(Force, kind="joint-torque"):
    """Generalized force Q (N or N m) on one freedom of a joint by a law.

    ``law`` is `PD`, `PID`, `SpringDamper`, a function (t, x, v) → Q, or a law of time, a number or a function of t.
    ``coordinate`` is the index of the freedom.
    """

    joint: JointLike = dataclasses.field(kw_only=False)
    law: JointForceLaw = dataclasses.field(kw_only=False)
    coordinate: Index = 0

    def coordinate_used(self) -> CoordinateUse:
        return CoordinateUse(self.joint, self.coordinate)


class JointSpring(Force, kind="joint-spring"):
    """Q = −k·(x − x0) − c·v on one freedom of a joint; k in N/m or N m/rad, c in N s/m or N m s/rad."""

    joint: JointLike = dataclasses.field(kw_only=False)
    k: Nonnegative = 0.0
    c: Nonnegative = 0.0
    x0: Number = 0.0
    coordinate: Index = 0

    def coordinate_used(self) -> CoordinateUse:
        return CoordinateUse(self.joint, self.coordinate)


class JointFriction(Force, kind="joint-friction"):
    """Friction on one rotation or translation of a joint, a smooth odd function of its rate η:

    Q = −[F_c + (F_s − F_c) exp(−(η/v_s)²)] tanh(η/v_r) − c η

    ``coulomb`` F_c (N or N m), ``static`` F_s ≥ F_c (None: F_c) decaying over ``stribeck_velocity`` v_s (m/s or rad/s),
    ``viscous`` c (N s/m or N m s/rad). ``regularization`` v_r (m/s or rad/s): the rate at which tanh(1) = 76 % of the force is
    reached; below it a joint under load creeps instead of sticking, at η ≈ v_r Q/F_s. Armstrong-Hélouvry, Dupont & Canudas
    de Wit, Automatica 30 (1994) 1083.
    """

    joint: JointLike = dataclasses.field(kw_only=False)
    coulomb: Nonnegative
    static: OptionalPositive = None
    stribeck_velocity: OptionalPositive = None
    viscous: Nonnegative = 0.0
    regularization: Positive = 1e-3
    coordinate: Index = 0

    @model_validator(mode="after")
    def _curve(self) -> "JointFriction":
        if self.static is not None and self.static < self.coulomb:
            raise NestedError([Problem(("static",), f"must be >= coulomb = {self.coulomb:g}, not {self.static:g}")])
        if (self.static is None) != (self.stribeck_velocity is None):
            missing = "static" if self.static is None else "stribeck_velocity"
            raise NestedError([Problem((missing,), "is missing; static and stribeck_velocity go together")])
        return self

    def coordinate_used(self) -> CoordinateUse:
        return CoordinateUse(self.joint, self.coordinate)

    def cautions(self) -> list[Problem]:
        if self.stribeck_velocity is None or self.regularization < 0.5 * self.stribeck_velocity:
            return []
        speeds = f"is {self.regularization:g} and stribeck_velocity {self.stribeck_velocity:g}"
        return [Problem((self.section, self.name, "regularization"), f"{speeds}: the peak is hardly reached; make it smaller")]


def _axes(value: object) -> str:
    if value not in ("world", "follower"):
        raise ValueError(f"must be 'world' or 'follower', not {shown(value)}")
    return str(value)


class FrameForce(Force, kind="frame-force"):
    """Force (N) and torque (N m) on a frame, each three laws of time or numbers, in world axes or following the frame's axes."""

    frame: FrameLike = dataclasses.field(kw_only=False)
    force: ThreeLaws = (0.0, 0.0, 0.0)
    torque: ThreeLaws = (0.0, 0.0, 0.0)
    axes: Annotated[str, BeforeValidator(_axes)] = "world"


class BetweenFrames(Force):
    """A force between two frames."""

    frame_a: FrameLike = dataclasses.field(kw_only=False)
    frame_b: FrameLike = dataclasses.field(kw_only=False)

    @model_validator(mode="after")
    def _two_frames(self) -> "BetweenFrames":
        if self.frame_a == self.frame_b:
            raise NestedError([Problem(("frame_b",), f"is frame_a itself ('{self.frame_a}'); give two frames")])
        return self


TensionFunction = Annotated[OptionalFunction, AfterValidator(function_of(3, "f(t, elongation, rate) -> tension"))]
WrenchFunction = Annotated[UserFunction, AfterValidator(function_of(5, "f(t, r, A, v, w) -> 6 numbers"))]


class PointSpring(BetweenFrames, kind="point-spring"):
    """Spring and damper on the line between two frames: tension = k·(l − length) + c·dl/dt (N).

    ``length`` is the unloaded length (m; None: the initial one). ``law(t, elongation, rate) → tension`` replaces k and c.
    """

    k: Nonnegative = 0.0
    c: Nonnegative = 0.0
    length: OptionalPositive = None
    law: TensionFunction = None


class Bushing(BetweenFrames, kind="bushing"):
    """Elastic bearing: six stiffnesses k (N/m, N m/rad) and dampings c along and about the axes of ``frame_a``."""

    k: NonnegativeSix
    c: NonnegativeSix = (0.0,) * 6


class UserForce(Force, kind="user-force"):
    """Force and torque on a frame by a function of the user.

    ``function(t, r, A, v, w)`` → 6 numbers (force, torque; world axes), from the frame's position r (3), rotation matrix A (9, by
    rows), velocity v (3) and angular velocity w (3), all in world axes.
    """

    frame: FrameLike = dataclasses.field(kw_only=False)
    function: WrenchFunction = dataclasses.field(kw_only=False)
