"""Creep force of a wheel on a plane: tyres, and wheels on rails.

With the plane's normal n and the axle a, the contact point of a wheel of radius R with a rim of
radius ρ is c = −(R − ρ) m/|m| − ρ n from the centre, m = n − (n·a) a; t₁ = a × n/|m| is the
direction of the track and t₂ = n × t₁ the direction across it. The creepage ξ is the velocity of
the wheel's material at this point divided by the speed V of the centre along the track; with the
coefficients C and the load N

    F = −μN [1 − (1 − x)³] C ξ/|C ξ|,   x = min(1, |C ξ|/(3 μN)),   M = t₀ (1 − x)³ C₂ ξ₂ (v·t₁)/V n
    about the contact point;

at small creepages F = −C ξ, behind the contact point by the trail t₀. It is the force of a brush
model with a parabolic pressure (Pacejka, Tire and Vehicle Dynamics, 2012, ch. 3), and the force of
Vermeulen and Johnson (1964, J. Appl. Mech. 31, 338) for rolling bodies with Kalker's (1967) C₁ = G
a b C₁₁, C₂ = G a b C₂₂.
"""

import math
from typing import ClassVar

from pydantic import model_validator

from flexmbs.algebra.vectors import add, cross, dot, load3, scale, store3, sub
from flexmbs.declaration import NestedError
from flexmbs.law_kernel import LawPart, Row, nonlinear_law
from flexmbs.model.fields import Axis, Nonnegative, OptionalPositive, Positive
from flexmbs.model.forces.force import BetweenFrames
from flexmbs.model.frames import OptionalJoint
from flexmbs.model.laws import Constant, OptionalLaw

GIVEN, READ, SPRING = range(3)  # source of the load
# indices in p
AXLE, RADIUS, ALONG, ACROSS, FRICTION, SLOW, TRAIL, STIFFNESS, DAMPING, SOURCE, RIM = (
    3,
    *range(6, 16),
)
REACTION = 13  # index in x
FLAT = 1e-9  # sine of the angle between axle and normal


@LawPart
def coefficients(th):
    """Coefficients sin θ/θ, (1 − cos θ)/θ², (θ − sin θ)/θ³ of a rotation vector"""
    t2 = dot(th, th)
    if t2 < 1e-4:
        return (
            1.0 - t2 / 6.0 * (1.0 - t2 / 20.0),
            0.5 - t2 / 24.0 * (1.0 - t2 / 30.0),
            1.0 / 6.0 - t2 / 120.0 * (1.0 - t2 / 42.0),
        )
    t = math.sqrt(t2)
    return math.sin(t) / t, (1.0 - math.cos(t)) / t2, (t - math.sin(t)) / (t2 * t)


@LawPart
def turned(th, v):
    """Rotated vector exp(θ̃) v for a rotation vector θ."""
    a, b, _ = coefficients(th)
    tv = cross(th, v)
    return add(v, add(scale(a, tv), scale(b, cross(th, tv))))


@LawPart
def conjugate(th, m):
    """Moment T(θ)ᵀ m conjugate to a rotation vector, T = 1 + b θ̃ + c θ̃²."""
    _, b, c = coefficients(th)
    tm = cross(th, m)
    return add(m, sub(scale(c, cross(th, tm)), scale(b, tm)))


@LawPart
def saturated(size, most):
    """Saturation factors (F/|Cξ|, (1 − x)³) of a creep force ``size`` bounded by ``most``."""
    x = size / (3.0 * most) if size < 3.0 * most else 1.0
    left = 1.0 - x
    return (1.0 - x + x * x / 3.0 if x < 1.0 else most / size), left * left * left


@LawPart
def contact_of(p, th):
    """Contact point, axes and depth of a wheel with rotation vector ``th``.

    Sine of the angle between axle and normal, contact point relative to the centre, directions
    along and across the track.
    """
    n, axle = load3(p, 0), turned(th, load3(p, AXLE))
    m = sub(n, scale(dot(n, axle), axle))
    sine = max(math.sqrt(dot(m, m)), FLAT)
    t1 = scale(1.0 / sine, cross(axle, n))
    c = sub(scale((p[RIM] - p[RADIUS]) / sine, m), scale(p[RIM], n))
    return sine, c, t1, cross(n, t1)


@LawPart
def load_of(p, u, x, th, c, rate):
    """(wheel load, its elastic part): given, read from a contact, or from depth and rate."""
    if p[SOURCE] == GIVEN:
        return u[0], 0.0
    if p[SOURCE] == READ:
        return dot(load3(p, 0), turned(th, load3(x, REACTION))), 0.0
    depth = -dot(load3(p, 0), add(load3(x, 1), c))
    elastic = max(p[STIFFNESS] * depth, 0.0)
    return (max(elastic + p[DAMPING] * rate, 0.0) if depth > 0.0 else 0.0), elastic


@LawPart
def creep(p, load, forward, slip):
    """Creep force along and across the track for a ``slip`` (m/s) by Kalker's cubic law."""
    speed = math.sqrt(forward * forward + p[SLOW] * p[SLOW])
    f1, f2 = p[ALONG] * slip[0] / speed, p[ACROSS] * slip[1] / speed
    part, left = (
        saturated(math.sqrt(f1 * f1 + f2 * f2), p[FRICTION] * load) if load > 0.0 else (0.0, 0.0)
    )
    return f1, f2, speed, part, left


@LawPart
def rolling(p, u, x):
    """Contact geometry, load, speed and creep forces of a wheel.

    The speed is that of the centre.
    """
    n, th, v = load3(p, 0), load3(x, 4), load3(x, 7)
    contact = contact_of(p, th)
    _, c, t1, t2 = contact
    touching = add(v, cross(load3(x, 10), c))
    pressed, forward = load_of(p, u, x, th, c, -dot(n, touching)), dot(v, t1)
    return (
        contact,
        pressed,
        forward,
        creep(p, pressed[0], forward, (dot(touching, t1), dot(touching, t2))),
    )


@nonlinear_law
def wheel_creep(p, u, x, out):
    """Kernel of the creep force and moment on the wheel in axes of frame a.

    Elastic parts of the tread, dissipative parts of its damping and of creep.
    """
    (sine, c, t1, t2), (load, elastic), forward, (f1, f2, speed, part, left) = rolling(p, u, x)
    n = load3(p, 0)
    force = scale(elastic, n)
    store3(out, 0, force)
    store3(out, 3, conjugate(load3(x, 4), cross(c, force)))
    damped = load - elastic if p[SOURCE] == SPRING else 0.0
    force = add(scale(damped, n), add(scale(-part * f1, t1), scale(-part * f2, t2)))
    store3(out, 6, force)
    store3(out, 9, add(cross(c, force), scale(p[TRAIL] * left * f2 * forward / speed, n)))
    # a NaN load counts as zero, like a negative one
    if sine <= FLAT or load != load:
        out[0] = math.nan


@wheel_creep.slopes
def wheel_creep_slopes(p, u, x, out):
    """Kernel of the symmetric parts of stiffness and damping of a wheel.

    k g gᵀ of the tread, damping Σ d g gᵀ, with g = (t, c × t) for the velocity of the contact point
    along t.
    """
    (_, c, t1, t2), (load, elastic), _, (_, _, speed, part, _) = rolling(p, u, x)
    n, pressed = load3(p, 0), 1.0 if elastic > 0.0 and load > 0.0 else 0.0
    along_direction(out, 0, pressed * p[STIFFNESS], n, c)
    along_direction(out, 36, pressed * p[DAMPING], n, c)
    along_direction(out, 36, part * p[ALONG] / speed, t1, c)
    along_direction(out, 36, part * p[ACROSS] / speed, t2, c)


@LawPart
def along_direction(out, at, d, t, c):
    """out[at:] += d g gᵀ (6, 6): stiffness d along t at lever arm c, g = (t, c × t)."""
    m = cross(c, t)
    for i in range(3):
        for j in range(3):
            out[at + 6 * i + j] += d * t[i] * t[j]
            out[at + 6 * i + 3 + j] += d * t[i] * m[j]
            out[at + 18 + 6 * i + j] += d * m[i] * t[j]
            out[at + 18 + 6 * i + 3 + j] += d * m[i] * m[j]


class WheelCreep(BetweenFrames, kind="wheel-creep"):
    """Creep force of a wheel on the plane through the origin of frame_a.

    For a tyre or a wheel on a rail:

    F = μ·N·(1 − (1 − x)³), x = min(1, |C·ξ|/(3·μ·N)), against the creepage ξ; |C·ξ| at small
    creepages.

    ξ is the velocity of the wheel at the contact point divided by the speed along the track.
    Exactly one of ``load``, ``contact`` and ``stiffness`` gives the load N. Source: Pacejka, Tire
    and Vehicle Dynamics (2012), ch. 3 (brush model); Vermeulen and Johnson, J. Appl. Mech. 31
    (1964) 338.

    Parameters
    ----------
    frame_a : frame
        Frame whose origin is on the plane.
    frame_b : frame
        Frame at the centre of the wheel, on the body that turns.
    radius : float [m]
        Largest radius R of the wheel.
    along : float [N]
        Creep coefficient C₁ along the track: slip stiffness of a tyre, G a b C₁₁ of a rail.
    across : float [N]
        Creep coefficient C₂ across it: cornering stiffness [N/rad] of a tyre, G a b C₂₂ of a rail.
    friction : float
        Coefficient μ of friction.
    load : law of time, float or None [N]
        Given load N; there is no force while it is negative.
    contact : joint or None
        Relation whose reaction on its child, which must be frame_b, is the load, such as
        `DiscOnPlane`.
    stiffness : float or None [N/m]
        Radial stiffness: N = stiffness·depth + damping·rate, not below 0.
    damping : float [N s/m]
        Radial damping, with ``stiffness``.
    rim : float [m]
        Radius ρ of the round cross-section of the rim, 0 for a sharp edge.
    trail : float [m]
        Pneumatic trail t₀ at small creepages, which decreases with (1 − x)³: a moment about the
        normal.
    slow : float [m/s]
        Lower bound of the speed in creepages, so that a wheel at rest creeps viscously.
    axis : direction
        Axle in frame_b.
    normal : direction
        Normal of the plane in frame_a, towards the wheel.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("spinning wheel", gravity=(0, 0, 0))
    >>> wheel = model.add(fm.RigidBody("wheel", mass=20.0, inertia=(0.5, 1.0, 0.5)))
    >>> hub = model.add(
    ...     fm.Free(
    ...         "hub", model.ground, wheel, q0=(0, 0, 0.3, 1, 0, 0, 0), v0=(15.0, 0, 0, 0, 50.5, 0)
    ...     )
    ... )
    >>> values = {"radius": 0.3, "along": 9e4, "across": 6e4, "friction": 0.8, "load": 3e3}
    >>> tyre = model.add(fm.WheelCreep("tyre", model.ground, wheel, **values))
    >>> x = 9e4 * 0.01 / (3 * 0.8 * 3e3)  # |C·ξ|/(3 μ N) at the creepage ξ = (R ω − v)/v = 1 %
    >>> round(20.0 * fm.state(model).sd[0].item(), 1), round(0.8 * 3e3 * (1 - (1 - x) ** 3), 1)
    (792.2, 792.2)
    """

    turns_freely: ClassVar[bool] = True
    undefined: ClassVar[str] = (
        "the wheel lies flat on its plane, without a single contact point; tilt it, or "
        "correct axis or normal"
    )

    radius: Positive
    along: Nonnegative
    across: Nonnegative
    friction: Positive
    load: OptionalLaw = None
    contact: OptionalJoint = None
    stiffness: OptionalPositive = None
    damping: Nonnegative = 0.0
    rim: Nonnegative = 0.0
    trail: Nonnegative = 0.0
    slow: Positive = 0.1
    axis: Axis = "y"
    normal: Axis = "z"

    @model_validator(mode="after")
    def _one_load(self) -> "WheelCreep":
        """Raise `NestedError` unless exactly one of load, contact and stiffness is given."""
        given = [key for key in ("load", "contact", "stiffness") if getattr(self, key) is not None]
        if len(given) != 1:
            text = (
                f"{' and '.join(given)} are given; give one of"
                if given
                else "is missing; give one of"
            )
            raise NestedError.at(
                (given[0] if given else "load",), f"{text} load, contact and stiffness"
            )
        if self.damping > 0.0 and self.stiffness is None:
            raise NestedError.at(
                ("damping",), "requires a stiffness; omit it, or give stiffness as the load"
            )
        if isinstance(self.load, Constant) and self.load.value < 0.0:
            raise NestedError.at(("load",), f"must be >= 0, not {self.load.value:g}")
        return self

    def row(self) -> Row:
        """Kernel and parameters of the creep forces, with the source of the wheel load."""
        source = GIVEN if self.load is not None else READ if self.contact is not None else SPRING
        parameters = (
            *self.normal,
            *self.axis,
            self.radius,
            self.along,
            self.across,
            self.friction,
            self.slow,
            self.trail,
            self.stiffness or 0.0,
            self.damping,
            float(source),
            self.rim,
        )
        load = self.load if self.load is not None else Constant(0.0)
        reads = () if self.contact is None else (self.contact,)
        return Row(wheel_creep, parameters, (load,), keys=("load",), reads=reads)
