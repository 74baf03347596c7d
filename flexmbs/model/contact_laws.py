"""Laws of contact forces."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import Declaration, NestedError, shown
from flexmbs.errors import InputError
from flexmbs.law_kernel import LawKernel, LawPart, Row, nonlinear_law
from flexmbs.model.fields import (
    OptionalNonnegative,
    OptionalPositive,
    Positive,
    number,
    positive,
)
from flexmbs.model.forces.joint_friction import CHORD, REACHED

HALVINGS = 200


@LawPart
def hunt_crossley(k, exponent, d, gap, rate):
    """Force and its elastic part (N, k δⁿ) for N = k δⁿ (1 + d δ̇) ≥ 0 with δ = −g, δ̇ = −ġ."""
    if gap >= 0.0:
        return 0.0, 0.0
    elastic = k * math.pow(-gap, exponent)
    return max(elastic * (1.0 - d * rate), 0.0), elastic


@LawPart
def hunt_crossley_slopes(k, exponent, d, gap, rate):
    """Stiffness −∂N/∂g and damping −∂N/∂ġ of the Hunt–Crossley force."""
    if gap >= 0.0 or d * rate >= 1.0:
        return 0.0, 0.0
    return k * exponent * math.pow(-gap, exponent - 1.0) * (1.0 - d * rate), k * math.pow(
        -gap, exponent
    ) * d


@LawPart
def slip_friction(force, slip, u, v):
    """Friction (T₁, T₂) and its slopes along and across the slip γ = (u, v).

    T = −F tanh(|γ|/v_r) γ/|γ|.
    """
    speed = math.sqrt(u * u + v * v)
    if speed < 1e-4 * slip:
        return -force * u / slip, -force * v / slip, force / slip, force / slip
    th = math.tanh(speed / slip)
    across = force * th / speed
    return -across * u, -across * v, max(force * (1.0 - th * th) / slip, CHORD * across), across


@nonlinear_law
def pressed(p, u, x, out):
    """Kernel of normal force N(g, ġ) and friction T(μ N, γ), p = (k, n, d, v_r)."""
    out[0], out[1] = hunt_crossley(p[0], p[1], p[2], x[0], x[1])
    out[2], out[3], _, _ = slip_friction(x[4] * out[0], p[3], x[2], x[3])


@pressed.slopes
def pressed_slopes(p, u, x, out):
    """Kernel of the slopes of normal force and friction."""
    normal, _ = hunt_crossley(p[0], p[1], p[2], x[0], x[1])
    _, _, out[2], out[3] = slip_friction(x[4] * normal, p[3], x[2], x[3])
    out[0], out[1] = hunt_crossley_slopes(p[0], p[1], p[2], x[0], x[1])


@nonlinear_law
def stop(p, u, x, out):
    """Kernel of the force of a joint stop, τ = σ N(g, ġ), g = σ (x − bound).

    p = (k, n, d, bound, σ)
    """
    sign = p[4]
    normal, elastic = hunt_crossley(p[0], p[1], p[2], sign * (x[1] - p[3]), sign * x[2])
    out[0] = sign * normal
    out[1] = sign * (normal - elastic)


@stop.slopes
def stop_slopes(p, u, x, out):
    """Kernel of stiffness and damping of a joint stop."""
    sign = p[4]
    out[0], out[1] = hunt_crossley_slopes(p[0], p[1], p[2], sign * (x[1] - p[3]), sign * x[2])


class ContactLaw(Declaration, section="contact laws"):
    """Law for the force of a contact, from its gap and velocities."""

    @property
    def creep_rate(self) -> float:
        """Slip (m/s) below which friction that is smooth at rest creeps.

        99 % of its limit is reached there; 0 for other laws.
        """
        return 0.0

    @property
    def turn_rate(self) -> float:
        """Angular velocity (rad/s) that regularizes rolling and torsional friction.

        tanh(1) = 76 % of it is reached there.
        """
        return 1e-2

    def contact(self) -> tuple[LawKernel, tuple[float, ...]]:
        """Kernel between two frames, and its parameters.

        x = (gap g, rate ġ, slip velocities γ₁, γ₂, friction coefficient μ) → out = (N, elastic part
        of N, T₁, T₂); slopes (−∂N/∂g, −∂N/∂ġ, slope of T along the slip, across it), which enter
        the iteration matrix of Newton's method.

        """
        raise NotImplementedError

    def stop(self, bound: float, sign: float) -> Row:
        """Record of the force on a joint coordinate bounded from below (sign 1) or above (−1)."""
        raise NotImplementedError


def _exponent(value: object) -> float:
    """Validate an exponent, 1 … 10. Raises ValueError."""
    result = number(value)
    if not 1.0 <= result <= 10.0:
        raise ValueError(f"must be within 1 … 10, not {result:g}")
    return result


def _optional_restitution(value: object) -> Any:
    """Validate a coefficient of restitution, 0 < e ≤ 1, or None. Raises ValueError."""
    if value is None:
        return None
    result = number(value)
    if not 0.0 < result <= 1.0:
        raise ValueError(
            f"must be above 0 and at most 1, not {result:g}; for 0 use a rigid contact"
        )
    return result


class HuntCrossley(ContactLaw, kind="hunt-crossley"):
    """Elastic contact with losses, N = k δⁿ (1 + d δ̇) ≥ 0 for the indentation δ = −g.

    Coulomb friction is a smooth function of the slip γ, T = −μ N tanh(|γ|/v_r) γ/|γ|.

    For a given restitution e at the approach speed v, d is exact: an impact of two bodies under
    this force alone satisfies x (1 + e) = ln((1 + x)/(1 − e x)), x = d v, for any masses, k and n.
    At other speeds e follows from this relation and is closer to 1 at lower speeds; the values x =
    3(1 − e)/2 and 3(1 − e²)/4 in the sources approximate it near e = 1. Hunt and Crossley, J. Appl.
    Mech. 42 (1975) 440; Lankarani and Nikravesh, J. Mech. Des. 112 (1990) 369.

    Parameters
    ----------
    stiffness : float [N/m^n]
        Stiffness k.
    exponent : float
        Exponent n, 1 … 10.
    restitution : float or None
        Restitution e at ``speed``, instead of ``damping``.
    speed : float or None [m/s]
        Approach speed v at which ``restitution`` holds.
    damping : float or None [s/m]
        Damping d.
    slip_velocity : float [m/s]
        Slip v_r at which tanh(1) = 76 % of the friction is reached.
    turn_velocity : float [rad/s]
        Angular velocity ω_r at which 76 % of the rolling and torsional friction of the contact is
        reached.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("ball on a soft floor", gravity=(0, 0, -10.0))
    >>> ball = model.add(fm.RigidBody("ball", mass=0.8, inertia=(1e-3, 1e-3, 1e-3)))
    >>> guide = model.add(fm.Prismatic("guide", model.ground, ball, axis="z", q0=0.099))
    >>> rubber = fm.HuntCrossley(stiffness=1e6, restitution=0.7, speed=1.0)
    >>> floor = model.add(fm.SpherePlane("floor", model.ground, ball, radius=0.1, law=rubber))
    >>> rest = fm.statics(model)
    >>> round(0.1 - rest.state.q[0].item(), 6)  # (m g/k)^(2/3)
    0.0004
    """

    stiffness: Positive = dataclasses.field(kw_only=False)
    exponent: Annotated[float, BeforeValidator(_exponent)] = 1.5
    restitution: Annotated[Any, BeforeValidator(_optional_restitution)] = None
    speed: OptionalPositive = None
    damping: OptionalNonnegative = None
    slip_velocity: Positive = 1e-3
    turn_velocity: Positive = 1e-2

    @model_validator(mode="after")
    def _losses(self) -> "HuntCrossley":
        """Raise `NestedError` unless damping or restitution with speed defines the loss."""
        if self.damping is not None and self.restitution is not None:
            raise NestedError.at(
                ("damping",), "is already determined by restitution; give only one of them"
            )
        if self.restitution is not None and self.restitution < 1.0 and self.speed is None:
            raise NestedError.at(
                ("speed",), "is missing: the approach speed (m/s) at which restitution holds"
            )
        return self

    @property
    def creep_rate(self) -> float:
        return REACHED * self.slip_velocity

    @property
    def turn_rate(self) -> float:
        return self.turn_velocity

    @property
    def dissipation(self) -> float:
        """Dissipation factor d (s/m), given or from the restitution."""
        if self.damping is not None:
            return float(self.damping)
        if self.restitution is None or self.restitution == 1.0:
            return 0.0
        return _loss(float(self.restitution)) / float(self.speed)

    def contact(self) -> tuple[LawKernel, tuple[float, ...]]:
        """Kernel and parameters of the law for a contact."""
        return pressed, (self.stiffness, self.exponent, self.dissipation, self.slip_velocity)

    def stop(self, bound: float, sign: float) -> Row:
        """Kernel and parameters of the law for a joint stop at ``bound``."""
        return Row(stop, (self.stiffness, self.exponent, self.dissipation, bound, sign))

    @staticmethod
    def hertz(E1: float, nu1: float, E2: float, nu2: float, radius: float) -> float:
        """Stiffness k = (4/3) E* √R of two elastic spheres, for the exponent 3/2.

        Or of a sphere on a plane.

        E (Pa) and ν of the bodies, 1/E* = (1 − ν₁²)/E₁ + (1 − ν₂²)/E₂; ``radius`` R (m): 1/R = 1/R₁
        + 1/R₂. Raises `InputError`. Johnson, Contact Mechanics (1985), eq. 4.22.
        """
        try:
            moduli = [(positive(E1), number(nu1)), (positive(E2), number(nu2))]
            root = math.sqrt(positive(radius))
        except ValueError as error:
            raise InputError(f"HuntCrossley.hertz: modulus or radius {error}") from None
        for _, nu in moduli:
            if not -1.0 < nu <= 0.5:
                raise InputError(
                    "HuntCrossley.hertz: Poisson's ratio must be above -1 and at most "
                    f"0.5, not {nu:g}"
                )
        return 4.0 / 3.0 * root / sum((1.0 - nu**2) / E for E, nu in moduli)


def _loss(e: float) -> float:
    """Solve x (1 + e) = ln((1 + x)/(1 − e x)) for x = d v by bisection, e restitution."""
    low, high = 0.0, 1.0 / e
    for _ in range(HALVINGS):
        x = 0.5 * (low + high)
        if e * x < 1.0 and (
            x < 1e-4 * (1.0 - e) or x * (1.0 + e) > math.log1p(x) - math.log1p(-e * x)
        ):
            low = x
        else:
            high = x
    return low


def _contact_law(value: object) -> ContactLaw | None:
    """Contact law from a table or a law; None for none. Raises ValueError."""
    if isinstance(value, Mapping):
        made: ContactLaw = ContactLaw.read_kind({str(key): each for key, each in value.items()})
        return made
    if value is not None and not isinstance(value, ContactLaw):
        raise ValueError(f"must be a law such as HuntCrossley, not {shown(value)}")
    return value


OptionalContactLaw = Annotated[Any, BeforeValidator(_contact_law)]
