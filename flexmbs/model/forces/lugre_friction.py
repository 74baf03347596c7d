"""LuGre friction on a joint coordinate.

Its force state is the deflection of bristles (Canudas de Wit et al.).
"""

import math

from pydantic import model_validator

from flexmbs.law_kernel import LawPart, Row, StateName, nonlinear_law
from flexmbs.model.fields import Nonnegative, OptionalPositive, Positive
from flexmbs.model.forces.force import JointForce
from flexmbs.model.forces.joint_friction import CHORD, check_static

# indices in p: σ₀, σ₁, σ₂, F_c, F_s, v_s
STIFFNESS, DAMPING, VISCOUS, COULOMB, STATIC, STRIBECK = range(6)


@LawPart
def bristles(p, x):
    """Bristle state (z, ż, g, σ₀ |η|/g, g') of LuGre friction at the rate η.

    ż = η − σ₀ |η| z/g

    In an implicit stage z = c + a ż, x = (t, q, η, z, c, a): z = (c + a η)/(1 + a σ₀ |η|/g).
    """
    v, a = x[2], x[5]
    y = v / p[STRIBECK]
    rise = (p[STATIC] - p[COULOMB]) * math.exp(-y * y)
    g = p[COULOMB] + rise
    rate = p[STIFFNESS] * abs(v) / g
    z = (x[4] + a * v) / (1.0 + a * rate) if a > 0.0 else x[3]
    return z, v - rate * z, g, rate, -2.0 * y / p[STRIBECK] * rise


@nonlinear_law
def lugre(p, u, x, out):
    """Kernel of LuGre friction, τ = −(σ₀ z + σ₁ ż + σ₂ η).

    The elastic part −σ₀ z (1 − σ₀ z sgn η/g) produces the power σ₀ z ż of the bristles.
    """
    v = x[2]
    z, zd, g, _, _ = bristles(p, x)
    sign = 1.0 if v > 0.0 else -1.0 if v < 0.0 else 0.0
    out[0] = -(p[STIFFNESS] * z + p[DAMPING] * zd + p[VISCOUS] * v)
    out[1] = out[0] + p[STIFFNESS] * z * (1.0 - p[STIFFNESS] * z * sign / g)
    out[2] = zd


@lugre.slopes
def lugre_slopes(p, u, x, out):
    """Kernel of the damping −∂τ/∂η of LuGre friction, or a fraction of the secant.

    The latter keeps Newton's method from overshooting.
    """
    v, a = x[2], x[5]
    z, zd, g, rate, slope = bristles(p, x)
    sign = 1.0 if v > 0.0 else -1.0 if v < 0.0 else 0.0
    steepness = p[STIFFNESS] * (sign - abs(v) * slope / g) / g
    weight = p[STIFFNESS] * a + p[DAMPING]
    tangent = weight * (1.0 - z * steepness) / (1.0 + a * rate)
    secant = weight * zd / v if v != 0.0 and a > 0.0 else 0.0
    out[1] = max(tangent, CHORD * secant, 0.0) + p[VISCOUS]


class LuGreFriction(JointForce, kind="lugre-friction"):
    """Friction in one rotation or translation of a joint, modelled by elastic bristles.

    With the rate η and the deflection z of the bristles:

    Q = −(σ₀ z + σ₁ ż + σ₂ η),  ż = η − σ₀ |η| z/g(η),  g(η) = F_c + (F_s − F_c) exp(−(η/v_s)²).

    The joint sticks elastically with stiffness σ₀ before it slides, with z = 0 initially; steady
    sliding: −g(η) sgn η − σ₂ η. For all integrators; while the joint sticks, steps must resolve the
    period of the mass on σ₀ unless σ₁ damps it. Source: Canudas de Wit, Olsson, Åström and
    Lischinsky, IEEE Trans. Automat. Contr. 40 (1995) 419.

    Parameters
    ----------
    coulomb : float [N or N m]
        Coulomb friction F_c.
    stiffness : float [N/m or N m/rad]
        Stiffness σ₀ of the bristles.
    damping : float [N s/m or N m s/rad]
        Damping σ₁ of the bristles, such as √(σ₀ m).
    static : float or None [N or N m]
        Static friction F_s ≥ F_c; None: F_c.
    stribeck_velocity : float or None [m/s or rad/s]
        Rate v_s over which F_s decays to F_c.
    viscous : float [N s/m or N m s/rad]
        Viscous coefficient σ₂.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("block held by friction", gravity=(0, 0, 0))
    >>> block = model.add(fm.RigidBody("block", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    >>> rail = model.add(fm.Prismatic("rail", model.ground, block, axis="x"))
    >>> load = model.add(fm.JointTorque("load", rail, 0.5))
    >>> friction = model.add(
    ...     fm.LuGreFriction("friction", rail, coulomb=1.0, stiffness=1e4, damping=200.0)
    ... )
    >>> run = fm.simulate(model, t_end=0.3, output_step=0.1)
    >>> round(
    ...     1e6 * run.joint("rail").position[-1, 0].item()
    ... )  # µm, about −(F_c/σ₀) ln(1 − Q/F_c) = 69
    70
    """

    coulomb: Positive
    stiffness: Positive
    damping: Nonnegative = 0.0
    static: OptionalPositive = None
    stribeck_velocity: OptionalPositive = None
    viscous: Nonnegative = 0.0

    @model_validator(mode="after")
    def _curve(self) -> "LuGreFriction":
        """Raise `NestedError` for an inconsistent friction curve."""
        check_static("coulomb", self.coulomb, self.static, self.stribeck_velocity)
        return self

    @property
    def limit(self) -> float:
        """Largest friction g(0) (N or N m) of slow motions."""
        return self.coulomb if self.static is None else self.static

    def row(self) -> Row:
        """Kernel and parameters of the LuGre model; the bristle deflection is a state."""
        static = self.limit
        parameters = (
            self.stiffness,
            self.damping,
            self.viscous,
            self.coulomb,
            static,
            self.stribeck_velocity or 1.0,
        )
        return Row(lugre, parameters, states=1, names=(StateName("bristle deflection", "{x}"),))
