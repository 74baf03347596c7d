"""Friction in a joint that depends on its reaction: bearings with pins, guides with slides.

Q = −(P + μ(η) W) tanh(η/v_r),   μ(η) = μ_d + (μ_s − μ_d) exp(−(η/v_s)²),

with a preload P and the load W of the bearing or guide. ṡ, λ and W depend on each other and are
solved simultaneously; if there is no solution, as in a self-locking guide, the run stops.

"""

import math
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, model_validator

from flexmbs.law_kernel import LawPart, Row, nonlinear_law
from flexmbs.model.fields import Nonnegative, OptionalPositive, Positive, nonnegative, optional
from flexmbs.model.forces.force import JointForce
from flexmbs.model.forces.joint_friction import CHORD, REACHED, check_static
from flexmbs.model.joints import Joint
from flexmbs.model.motions import Motion

MOST = 1e3  # largest friction coefficient
PRELOAD, DYNAMIC, STATIC, STRIBECK, REGULARIZATION = range(5)  # indices in p, before the arms
# in x: F_across, F_along, M_bending, M_torsion of the joint
ACROSS, ALONG, BENDING, TORSION = range(3, 7)


@LawPart
def rubbing(p, x, out, load):
    """out ← friction τ = −(P + μ(η) W) tanh(η/v_r) under the load W."""
    v = x[2]
    y = v / p[STRIBECK]
    mu = p[DYNAMIC] + (p[STATIC] - p[DYNAMIC]) * math.exp(-y * y)
    out[0] = -(p[PRELOAD] + mu * load) * math.tanh(v / p[REGULARIZATION])
    out[1] = out[0]


@LawPart
def rubbing_slopes(p, x, out, load):
    """out ← damping −∂τ/∂η of friction at the load, or a fraction of the secant −τ/η.

    The latter keeps the iteration from overshooting near sticking.
    """
    v, vr = x[2], p[REGULARIZATION]
    stribeck = v / p[STRIBECK]
    rise = (p[STATIC] - p[DYNAMIC]) * math.exp(-stribeck * stribeck) * load
    size = p[PRELOAD] + p[DYNAMIC] * load + rise
    if abs(v) < 1e-4 * vr:
        out[1] = size / vr
        return
    th = math.tanh(v / vr)
    tangent = size * (1.0 - th * th) / vr - 2.0 * stribeck / p[STRIBECK] * rise * th
    out[1] = max(tangent, CHORD * size * th / v)


@LawPart
def load_of_pin(p, x):
    """Friction load W = r (F_across + 2 M_bending/l) + r_a F_along of a journal bearing.

    p[5:] = (r, 2/l, r_a)
    """
    return p[5] * (x[ACROSS] + p[6] * x[BENDING]) + p[7] * x[ALONG]


@LawPart
def load_of_guide(p, x):
    """Friction load W = F_across + 2 M_bending/l + 2 M_torsion/w of a guide.

    p[5:] = (2/l, 2/w)
    """
    return x[ACROSS] + p[5] * x[BENDING] + p[6] * x[TORSION]


@nonlinear_law
def pin_friction(p, u, x, out):
    """Kernel of the friction torque of a pin under its joint reaction."""
    rubbing(p, x, out, load_of_pin(p, x))


@pin_friction.slopes
def pin_slopes(p, u, x, out):
    """Kernel of the damping by pin friction."""
    rubbing_slopes(p, x, out, load_of_pin(p, x))


@nonlinear_law
def guide_friction(p, u, x, out):
    """Kernel of the friction force of a guide under its joint reaction."""
    rubbing(p, x, out, load_of_guide(p, x))


@guide_friction.slopes
def guide_slopes(p, u, x, out):
    """Kernel of the damping by guide friction."""
    rubbing_slopes(p, x, out, load_of_guide(p, x))


def _coefficient(value: object) -> float:
    """Validate a friction coefficient, 0 … MOST. Raises ValueError."""
    result = nonnegative(value)
    if result > MOST:
        raise ValueError(f"is a coefficient of at most {MOST:g}, not {result:g}")
    return result


class LoadedFriction(JointForce):
    """Friction that depends on the reaction of a joint, Q = −(preload + μ W) tanh(η/v_r).

    Parameters
    ----------
    friction : float
        Coefficient μ_d of sliding friction.
    static : float or None
        Coefficient μ_s ≥ μ_d at rest; None: μ_d.
    stribeck_velocity : float or None [m/s or rad/s]
        Rate v_s over which μ_s decays to μ_d.
    preload : float [N or N m]
        Friction P without load, such as the friction of seals.
    regularization : float [m/s or rad/s]
        Rate v_r at which 76 % of the friction is reached; below it a loaded joint creeps instead of
        sticking.
    """

    friction: Annotated[float, BeforeValidator(_coefficient)]
    static: Annotated[Any, BeforeValidator(optional(_coefficient))] = None
    stribeck_velocity: OptionalPositive = None
    preload: Nonnegative = 0.0
    regularization: Positive = 1e-3

    turns: ClassVar[bool]  # True for friction of rotations, False for translations

    def unfit_for(self, joint: Joint, motion: Motion) -> str:
        """Reason why the friction cannot act on a degree of freedom; "" if it can.

        Loads are defined for joints with one axis: forces transmitted along their degrees of
        freedom are not loads.
        """
        if joint.kind not in ("revolute", "prismatic", "cylindrical"):
            return (
                f"belongs to a joint of kind '{joint.kind}'; friction from reactions needs a "
                "revolute, prismatic or cylindrical joint"
            )
        if motion.turns != self.turns:
            other = "guide-friction" if self.turns else "pin-friction"
            return f"is a {'translation' if self.turns else 'rotation'}; use '{other}'"
        return ""

    @model_validator(mode="after")
    def _curve(self) -> "LoadedFriction":
        """Raise `NestedError` for an inconsistent friction curve."""
        check_static("friction", self.friction, self.static, self.stribeck_velocity)
        return self

    @property
    def creep_rate(self) -> float:
        return (
            REACHED * self.regularization
            if max(self.friction, self.static or 0.0, self.preload)
            else 0.0
        )

    def _curve_parameters(self) -> tuple[float, ...]:
        """Parameters of the friction curve: preload, coefficients and velocities."""
        static = self.friction if self.static is None else self.static
        return (
            self.preload,
            self.friction,
            static,
            self.stribeck_velocity or 1.0,
            self.regularization,
        )


class PinFriction(LoadedFriction, kind="pin-friction"):
    """Friction torque of a pin or bearing on a rotation.

    The load is W = radius·(F_across + 2 M_bending/length) + arm·F_along.

    F_across and F_along are the reaction force perpendicular to and along the axis (F_along for a
    revolute joint), M_bending its moment perpendicular to it, about the frame of the child. Source:
    docs/theory.md, section 39.

    Parameters
    ----------
    radius : float [m]
        Radius of the pin.
    length : float or None [m]
        Distance between the two ends that carry the bending moment; None: it causes no friction.
    arm : float [m]
        Mean radius of the collar that carries the axial force.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("rope drum")
    >>> drum = model.add(fm.RigidBody("drum", mass=30.0, inertia=(0.6, 0.6, 0.6)))
    >>> pin = model.add(fm.Revolute("pin", model.ground, drum, axis="y", v0=5.0))
    >>> bearing = model.add(fm.PinFriction("bearing", pin, friction=0.1, radius=0.02))
    >>> run = fm.simulate(model, t_end=0.1, step=0.01)
    >>> run.joint("pin").acceleration[0].round(6).tolist()  # −μ r m g/J
    [-0.981]
    """

    radius: Nonnegative
    length: OptionalPositive = None
    arm: Nonnegative = 0.0
    turns: ClassVar[bool] = True

    def row(self) -> Row:
        """Kernel and parameters of a journal bearing; reads the joint reactions."""
        arms = self.radius, 0.0 if self.length is None else 2.0 / self.length, self.arm
        return Row(pin_friction, (*self._curve_parameters(), *arms), loaded=True)


class GuideFriction(LoadedFriction, kind="guide-friction"):
    """Friction force of a slide on a translation.

    The load is W = F_across + 2 M_bending/length + 2 M_torsion/width.

    F_across is the reaction force perpendicular to the axis, M_bending and M_torsion its moments
    perpendicular to and about it (M_torsion for a prismatic joint), about the frame of the child.
    Source: docs/theory.md, section 39.

    Parameters
    ----------
    length : float or None [m]
        Distance between the two ends that carry the bending moment; None: it causes no friction.
    width : float or None [m]
        Distance between the two flanks that carry the torsional moment; None: it causes no
        friction.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("sledge")
    >>> sledge = model.add(fm.RigidBody("sledge", mass=30.0, inertia=(1.0, 1.0, 1.0)))
    >>> guide = model.add(fm.Prismatic("guide", model.ground, sledge, axis="x", v0=2.0))
    >>> rubbing = model.add(fm.GuideFriction("rubbing", guide, friction=0.1))
    >>> run = fm.simulate(model, t_end=0.1, step=0.01)
    >>> run.joint("guide").acceleration[0].round(6).tolist()  # −μ g
    [-0.981]
    """

    length: OptionalPositive = None
    width: OptionalPositive = None
    turns: ClassVar[bool] = False

    def row(self) -> Row:
        """Kernel and parameters of a linear guide; reads the joint reactions."""
        arms = (
            0.0 if self.length is None else 2.0 / self.length,
            0.0 if self.width is None else 2.0 / self.width,
        )
        return Row(guide_friction, (*self._curve_parameters(), *arms), loaded=True)
