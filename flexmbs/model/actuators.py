"""Laws of drives and elements on a joint coordinate.

DC motor, limited controller, affine actuator, Maxwell element, characteristic curve.
"""

import dataclasses
import math
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import NestedError, close_names, shown
from flexmbs.law_kernel import LawPart, Row, StateName, law_kernel, nonlinear_law
from flexmbs.model.fields import AnyVector, Nonnegative, Nonzero, Number, Positive, number
from flexmbs.model.interpolation import monotone
from flexmbs.model.laws import INTEGRAL, JointLaw, LawOfTime


def _bound(value: object) -> float:
    """Validate a bound: a number or ±infinity."""
    return float(value) if value in (-math.inf, math.inf) else number(value)  # type: ignore[arg-type]


Bound = Annotated[float, BeforeValidator(_bound)]
AT_LIMIT = 1e-9  # relative to the range of a limited controller: round-off of its force at a limit
# arguments of a curve, and their indices in x of a joint force's kernel
ARGUMENTS = {"position": 1, "velocity": 2}


@law_kernel
def motor(p, u, x, out):
    """Kernel of a DC motor: τ = n k i with L di/dt = U − R i − k n η.

    p = (k n, R, L), u = (U), z = i; without L the current follows immediately.
    """
    if p[2] > 0.0:
        out[0] = p[0] * x[3]
        out[2] = (u[0] - p[1] * x[3] - p[0] * x[2]) / p[2]
    else:
        out[0] = p[0] * (u[0] - p[0] * x[2]) / p[1]


@motor.slopes
def motor_slopes(p, u, x, out):
    """Kernel of the damping k² n²/R of a motor with steady current."""
    out[1] = p[0] * p[0] / p[1]


class DCMotor(JointLaw, kind="dc-motor"):
    """Torque Q = n k i of a motor with current i behind a gear: L di/dt = U(t) − R i − k n v.

    The current is initially zero.

    Rotor inertia is not included. Steady state: Q = n k (U − k n v)/R. Source: Krishnan, Electric
    Motor Drives (2001), section 2.3.

    Parameters
    ----------
    constant : float [N m/A = V s/rad]
        Torque and voltage constant k.
    resistance : float [Ω]
        Resistance R of the armature.
    inductance : float [H]
        Inductance L; at 0 the current follows the voltage immediately.
    ratio : float
        Gear ratio n, turns of the motor per turn of the joint.
    voltage : law of time or float [V]
        Voltage U(t).

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("fan")
    >>> fan = model.add(fm.RigidBody("fan", mass=0.1, inertia=(1e-4, 1e-4, 1e-4)))
    >>> shaft = model.add(fm.Revolute("shaft", model.ground, fan, axis="z", v0=100.0))
    >>> motor = model.add(
    ...     fm.JointTorque("motor", shaft, fm.DCMotor(constant=0.05, resistance=2.0, voltage=12.0))
    ... )
    >>> fm.state(model).sd.round(6).tolist()  # k (U − k v)/(R J)
    [1750.0]
    """

    constant: Positive = dataclasses.field(kw_only=False)
    resistance: Positive = dataclasses.field(kw_only=False)
    inductance: Nonnegative = 0.0
    ratio: Nonzero = 1.0
    voltage: LawOfTime = 0.0

    def row(self) -> Row:
        """Motor kernel, parameters and voltage law; the current is a state if L > 0."""
        parameters = self.constant * self.ratio, self.resistance, self.inductance
        return Row(
            motor,
            parameters,
            (self.voltage,),
            keys=("voltage",),
            states=int(self.inductance > 0.0),
            names=(StateName("current", "A"),),
        )


@LawPart
def limited_share(p, u, x):
    """PID terms (k_p (r − x) + k_d (ṙ − η), k_i z, σ) with anti-windup ż = σ (r − x).

    σ = 1 within the limits and 0 where k_i z would drive τ further beyond a limit, with any σ in
    between at the limit itself:

    k_i (r − x) > 0:  τ < upper ⇒ σ = 1,  τ > upper ⇒ σ = 0,   0 ≤ σ ≤ 1 at τ = upper,

    and likewise at the lower limit. In an implicit stage, z = c + a ż with x = (t, x, η, z, c, a),
    k_i z is evaluated at the end of the stage: c k_i + a k_i (r − x), but at the limit if this is
    beyond it, or at c k_i if that is already beyond it.
    """
    gap = u[0] - x[1]
    rest = p[0] * gap + p[1] * (u[1] - x[2])
    rate = p[2] * gap
    a = x[5]
    if a <= 0.0:
        tau = rest + p[2] * x[3]
        return (
            rest,
            p[2] * x[3],
            0.0 if (tau > p[4] and rate > 0.0) or (tau < p[3] and rate < 0.0) else 1.0,
        )
    base, whole = p[2] * x[4], p[2] * x[4] + a * rate
    if rate > 0.0 and rest + whole > p[4]:
        w = max(base, p[4] - rest)
    elif rate < 0.0 and rest + whole < p[3]:
        w = min(base, p[3] - rest)
    else:
        return rest, whole, 1.0
    return rest, w, (w - base) / (a * rate)


@nonlinear_law
def limited_pid(p, u, x, out):
    """Kernel of a PID controller limited to p[3] … p[4].

    ż = σ (r − x), σ = 1 unless z drives τ beyond a limit.
    """
    rest, w, share = limited_share(p, u, x)
    out[0] = min(max(rest + w, p[3]), p[4])
    out[2] = share * (u[0] - x[1])


@limited_pid.slopes
def limited_slopes(p, u, x, out):
    """Kernel of the slopes of a limited PID controller; zero at its limits."""
    rest, w, share = limited_share(p, u, x)
    tau, edge = rest + w, AT_LIMIT * (p[4] - p[3])
    within = share == 1.0 and p[3] + edge < tau < p[4] - edge
    out[0] = p[0] + x[5] * p[2] if within else 0.0
    out[1] = p[1] if within else 0.0


class LimitedPID(JointLaw, kind="limited-pid"):
    """Q = kp·(r − x) + ki·z + kd·(ṙ − v) within ``lower`` … ``upper``.

    ż = r − x, z = 0 at the start.

    Anti-windup by conditional integration: z is held while Q is beyond a limit and the error drives
    it further; where it would chatter at the limit, Q stays at the limit and z follows from that
    (the solution of Filippov). Source: Åström and Hägglund, Advanced PID Control (2006), section
    3.5.

    Parameters
    ----------
    kp : float [N/m or N m/rad]
        Proportional gain.
    ki : float [N/(m s) or N m/(rad s)]
        Integral gain.
    kd : float [N s/m or N m s/rad]
        Derivative gain.
    lower : float [N or N m]
        Smallest force.
    upper : float [N or N m]
        Largest force.
    reference : law of time or float [m or rad]
        Reference r(t) of the coordinate.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("servo", gravity=(0, 0, 0))
    >>> arm = model.add(fm.RigidBody("arm", mass=1.0, inertia=(0.03, 0.03, 0.05)))
    >>> axis = model.add(fm.Revolute("axis", model.ground, arm, axis="z"))
    >>> law = fm.LimitedPID(kp=100.0, ki=400.0, kd=5.0, lower=-2.0, upper=2.0, reference=1.0)
    >>> servo = model.add(fm.JointTorque("servo", axis, law))
    >>> fm.state(model).sd.round(6).tolist()  # at the limit: 2 N m/J instead of kp/J
    [40.0]
    """

    kp: Number = dataclasses.field(kw_only=False)
    ki: Number = dataclasses.field(kw_only=False)
    kd: Number = dataclasses.field(default=0.0, kw_only=False)
    lower: Number
    upper: Number
    reference: LawOfTime = 0.0

    @model_validator(mode="after")
    def _order(self) -> "LimitedPID":
        """Raise `NestedError` unless lower < upper."""
        if not self.lower < self.upper:
            raise NestedError.at(
                ("upper",), f"must be above lower = {self.lower:g}, not {self.upper:g}"
            )
        return self

    def row(self) -> Row:
        """PID kernel, parameters and law of the reference; the integral is a state."""
        parameters = self.kp, self.kd, self.ki, self.lower, self.upper
        return Row(
            limited_pid,
            parameters,
            (self.reference,),
            gives=2,
            keys=("reference",),
            states=1,
            names=INTEGRAL,
        )


@nonlinear_law
def affine(p, u, x, out):
    """Kernel of an affine actuator, τ = g w + b − k x − c η within p[4] … p[5].

    w = u or its lag, T ẇ = u − w; p = (g, b, k, c, lower, upper, T).
    """
    lagged = p[6] > 0.0
    w = x[3] if lagged else u[0]
    out[0] = min(max(p[0] * w + p[1] - p[2] * x[1] - p[3] * x[2], p[4]), p[5])
    if lagged:
        out[2] = (u[0] - w) / p[6]


@affine.slopes
def affine_slopes(p, u, x, out):
    """Kernel of stiffness and damping of an affine actuator; none at its limits."""
    w = x[3] if p[6] > 0.0 else u[0]
    tau = p[0] * w + p[1] - p[2] * x[1] - p[3] * x[2]
    within = p[4] < tau < p[5]
    out[0] = p[2] if within else 0.0
    out[1] = p[3] if within else 0.0


class AffineActuator(JointLaw, kind="affine-actuator"):
    """Q = gain·w + bias − k·x − c·v within ``lower`` … ``upper``.

    w = command(t) or its lag, lag·ẇ = command − w, w = 0 initially.

    Motors, position and velocity servos and similar actuators, as in MuJoCo (documentation,
    Computation, section Actuation model).

    Parameters
    ----------
    command : law of time or float
        Command; ``gain`` converts its unit to a force.
    gain : float
        Force per unit of command.
    bias : float [N or N m]
        Force at x = 0 without command.
    k : float [N/m or N m/rad]
        Stiffness of the feedback.
    c : float [N s/m or N m s/rad]
        Damping of the feedback.
    lag : float [s]
        Time constant; at 0 the command acts immediately.
    lower : float [N or N m]
        Smallest force; -inf: none.
    upper : float [N or N m]
        Largest force; inf: none.

    Examples
    --------
    A servo with position feedback, 50 (w − x) − 2 v for the command w = 0.2, on a block at rest:

    >>> import flexmbs as fm
    >>> model = fm.Model("servo", gravity=(0, 0, 0))
    >>> block = model.add(fm.PointMass("block", mass=1.0))
    >>> rail = model.add(fm.Prismatic("rail", model.ground, block))
    >>> servo = model.add(
    ...     fm.JointTorque("servo", rail, fm.AffineActuator(0.2, gain=50.0, k=50.0, c=2.0))
    ... )
    >>> fm.state(model).sd.round(9).tolist()  # 50 · 0.2 / m
    [10.0]
    """

    command: LawOfTime = dataclasses.field(default=0.0, kw_only=False)
    gain: Number = 1.0
    bias: Number = 0.0
    k: Number = 0.0
    c: Number = 0.0
    lag: Nonnegative = 0.0
    lower: Bound = -math.inf
    upper: Bound = math.inf

    @model_validator(mode="after")
    def _order(self) -> "AffineActuator":
        """Raise `NestedError` unless lower < upper."""
        if not self.lower < self.upper:
            raise NestedError.at(
                ("upper",), f"must be above lower = {self.lower:g}, not {self.upper:g}"
            )
        return self

    def row(self) -> Row:
        """Affine kernel, parameters and command law; the lagged command is a state."""
        parameters = self.gain, self.bias, self.k, self.c, self.lower, self.upper, self.lag
        return Row(
            affine,
            parameters,
            (self.command,),
            keys=("command",),
            states=int(self.lag > 0.0),
            names=(StateName("lagged command"),),
        )


@law_kernel
def maxwell(p, u, x, out):
    """Kernel of a spring, damper and Maxwell branch in parallel, p = (k₀, c₀, x₀, k, T).

    τ = −k₀ (x − x₀) − c₀ η − z, ż = k η − z/T
    """
    out[0] = -p[0] * (x[1] - p[2]) - p[1] * x[2] - x[3]
    out[1] = -p[1] * x[2]
    out[2] = p[3] * x[2] - x[3] / p[4]


@maxwell.slopes
def maxwell_slopes(p, u, x, out):
    """Kernel of the stiffness and damping of a Maxwell element."""
    out[0] = p[0] + p[3]
    out[1] = p[1]


class Maxwell(JointLaw, kind="maxwell"):
    """Spring, damper and a Maxwell branch in parallel: Q = −k0·(x − x0) − c0·v − f.

    ḟ = k·v − f/T, f = 0 initially.

    For x = X sin Ωt the branch has the stiffness k Ω²T²/(1 + Ω²T²) and the damping k T/(1 +
    Ω²T²); T = c/k of spring and dashpot in series. Use one force per branch. Source:
    Lakes, Viscoelastic Materials (2009), section 2.6.

    Parameters
    ----------
    k : float [N/m or N m/rad]
        Stiffness of the branch.
    relaxation_time : float [s]
        T of the branch.
    k0 : float [N/m or N m/rad]
        Parallel stiffness.
    c0 : float [N s/m or N m s/rad]
        Parallel damping.
    x0 : float [m or rad]
        Coordinate of the unloaded spring k0.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("viscoelastic mount", gravity=(0, 0, 0))
    >>> mass = model.add(fm.RigidBody("mass", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    >>> guide = model.add(fm.Prismatic("guide", model.ground, mass, axis="z"))
    >>> rubber = model.add(
    ...     fm.JointTorque("rubber", guide, fm.Maxwell(300.0, relaxation_time=10.0, k0=100.0))
    ... )
    >>> round(
    ...     (2 * 3.14159265 * fm.linearize(model).modes.frequency.max().item()) ** 2
    ... )  # fast: (k0 + k)/m
    400
    """

    k: Nonnegative = dataclasses.field(kw_only=False)
    relaxation_time: Positive = dataclasses.field(kw_only=False)
    k0: Nonnegative = 0.0
    c0: Nonnegative = 0.0
    x0: Number = 0.0

    def row(self) -> Row:
        """Kernel and parameters; the elongation of the spring of the Maxwell element is a state."""
        parameters = self.k0, self.c0, self.x0, self.k, self.relaxation_time
        return Row(maxwell, parameters, states=1, names=(StateName("Maxwell branch", "{Q}"),))


def _argument(value: object) -> str:
    """Number argument of a curve: "position" or "velocity". Raises ValueError otherwise."""
    if not isinstance(value, str) or value not in ARGUMENTS:
        raise ValueError(
            f"must be 'position' or 'velocity', not {shown(value)}; "
            f"{close_names(str(value), ARGUMENTS)}"
        )
    return str(value)


@nonlinear_law
def curve(p, u, x, out):
    """Kernel of a force τ = u f(a) with a piecewise cubic f of position or velocity a.

    p = (index of a, n, n a, n, n points, 4 (n − 1)).
    """
    a, n = x[int(p[0])], int(p[1])
    i = 0
    while i < n - 2 and a >= p[3 + i]:
        i += 1
    at = 2 + n + 4 * i
    inside = min(max(a, p[2]), p[1 + n])
    s = inside - p[2 + i]
    value = p[at + 3] + s * (p[at + 2] + s * (p[at + 1] + s * p[at]))
    slope = p[at + 2] + s * (2.0 * p[at + 1] + s * 3.0 * p[at])
    out[0] = u[0] * (value + slope * (a - inside))


class Curve(JointLaw, kind="curve"):
    """Q = command(t) · f(x) or f(v), where f passes through given points.

    For example a motor characteristic over speed, or a spring given by a table.

    Monotone cubics (PCHIP) between the points, linear extrapolation with the slope at the ends.
    Source: docs/theory.md, section 39.

    Parameters
    ----------
    points : floats [m, rad, m/s or rad/s]
        Increasing positions or velocities.
    values : floats [N or N m]
        Q at the points for command = 1.
    of : 'velocity' or 'position'
        Quantity given by the points.
    command : law of time or float
        Factor, such as the throttle of an engine.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("starter")
    >>> crank = model.add(fm.RigidBody("crank", mass=5.0, inertia=(0.1, 0.1, 0.2)))
    >>> shaft = model.add(fm.Revolute("shaft", model.ground, crank, axis="z", v0=50.0))
    >>> curve = fm.Curve((0.0, 100.0, 200.0), (40.0, 20.0, 0.0), command=0.5)
    >>> starter = model.add(fm.JointTorque("starter", shaft, curve))
    >>> fm.state(model).sd.round(6).tolist()  # command · f(50 rad/s)/J
    [75.0]
    """

    points: AnyVector = dataclasses.field(kw_only=False)
    values: AnyVector = dataclasses.field(kw_only=False)
    of: Annotated[str, BeforeValidator(_argument)] = "velocity"
    command: LawOfTime = 1.0

    @model_validator(mode="after")
    def _shape(self) -> "Curve":
        """Raise `NestedError` unless points increase and there is one value for each."""
        if len(self.points) < 2 or len(self.points) != len(self.values):
            text = (
                f"must be as many as points, at least 2; given are {len(self.points)} and "
                f"{len(self.values)}"
            )
            raise NestedError.at(("values",), text)
        for before, after in zip(self.points, self.points[1:]):
            if after <= before:
                raise NestedError.at(("points",), f"must increase; {after:g} follows {before:g}")
        return self

    def row(self) -> Row:
        """Kernel with the monotone cubic through the points, and the command law."""
        found = monotone(np.array(self.points), np.array(self.values))
        parameters = (
            float(ARGUMENTS[self.of]),
            float(len(self.points)),
            *self.points,
            *found.T.ravel().tolist(),
        )
        return Row(curve, parameters, (self.command,), keys=("command",))
