"""Friction on a joint coordinate as a smooth function of its rate."""

import math

from pydantic import model_validator

from flexmbs.declaration import NestedError, Problem
from flexmbs.law_kernel import Row, nonlinear_law
from flexmbs.model.fields import Nonnegative, OptionalNonnegative, OptionalPositive, Positive
from flexmbs.model.forces.force import JointForce

REACHED = math.atanh(0.99)  # rate over the regularization at which tanh reaches 99 % of the limit
# fraction of the secant slope: from 0.5 on Newton's method does not oscillate about sticking
CHORD = 0.6
COULOMB, STATIC, STRIBECK, VISCOUS, REGULARIZATION, REVERSE = range(6)  # indices in p


@nonlinear_law
def friction(p, u, x, out):
    """Kernel of regularized Stribeck friction in a joint at the rate η.

    τ = −[F_c + (F_s − F_c) exp(−(η/v_s)²)] tanh(η/v_r) − c η
    """
    v = x[2]
    y = v / p[STRIBECK]
    size = p[COULOMB] + (p[STATIC] - p[COULOMB]) * math.exp(-y * y)
    if v < 0.0:
        size += p[REVERSE] - p[COULOMB]
    out[0] = -size * math.tanh(v / p[REGULARIZATION]) - p[VISCOUS] * v
    out[1] = out[0]


@friction.slopes
def friction_slopes(p, u, x, out):
    """Kernel of the damping −∂τ/∂η of friction, or a fraction of the secant −τ/η.

    The latter keeps the iteration from overshooting near sticking.
    """
    v = x[2]
    stribeck = v / p[STRIBECK]
    rise = (p[STATIC] - p[COULOMB]) * math.exp(-stribeck * stribeck)
    size = (p[COULOMB] if v >= 0.0 else p[REVERSE]) + rise
    vr = p[REGULARIZATION]
    y = v / vr
    if abs(y) < 1e-4:
        out[1] = size / vr + p[VISCOUS]
        return
    th = math.tanh(y)
    tangent = size * (1.0 - th * th) / vr - 2.0 * stribeck / p[STRIBECK] * rise * th
    out[1] = max(tangent, CHORD * size * th / v) + p[VISCOUS]


def check_static(
    key: str,
    sliding: float,
    static: float | None,
    stribeck_velocity: float | None,
    *,
    jumps: bool = False,
) -> None:
    """Raise NestedError for inconsistent parameters of static friction.

    It may not be below the sliding friction, whose name is ``key``, and static and
    stribeck_velocity must be given together; a static friction that ``jumps`` to the sliding one
    needs no rate.
    """
    if static is not None and static < sliding:
        raise NestedError.at(("static",), f"must be >= {key} = {sliding:g}, not {static:g}")
    if static is None and stribeck_velocity is not None and jumps:
        raise NestedError.at(
            ("static",), "is missing; stribeck_velocity is the rate over which it decays"
        )
    if (static is None) != (stribeck_velocity is None) and not jumps:
        missing = "static" if static is None else "stribeck_velocity"
        raise NestedError.at(
            (missing,), "is missing; static and stribeck_velocity must be given together"
        )


class JointFriction(JointForce, kind="joint-friction"):
    """Friction in one rotation or translation of a joint, a smooth odd function of its rate η:

    Q = −[F_c + (F_s − F_c) exp(−(η/v_s)²)] tanh(η/v_r) − c η.

    Source: Armstrong-Hélouvry, Dupont & Canudas de Wit, Automatica 30 (1994) 1083.

    Parameters
    ----------
    coulomb : float [N or N m]
        Coulomb friction F_c.
    reverse : float or None [N or N m]
        Coulomb friction at negative rates; None: F_c.
    static : float or None [N or N m]
        Static friction F_s ≥ F_c; None: F_c.
    stribeck_velocity : float or None [m/s or rad/s]
        Rate v_s over which F_s decays to F_c.
    viscous : float [N s/m or N m s/rad]
        Viscous coefficient c.
    regularization : float [m/s or rad/s]
        Rate v_r at which tanh(1) = 76 % of the force is reached; below it a loaded joint creeps at
        η ≈ v_r Q/F_s instead of sticking.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("coasting rotor")
    >>> rotor = model.add(fm.RigidBody("rotor", mass=1.0, inertia=(0.01, 0.01, 0.02)))
    >>> shaft = model.add(fm.Revolute("shaft", model.ground, rotor, axis="z", v0=10.0))
    >>> bearing = model.add(fm.JointFriction("bearing", shaft, coulomb=0.05, viscous=0.01))
    >>> fm.state(model).sd.round(6).tolist()  # −(F_c + c η)/J
    [-7.5]
    """

    coulomb: Nonnegative
    reverse: OptionalNonnegative = None
    static: OptionalPositive = None
    stribeck_velocity: OptionalPositive = None
    viscous: Nonnegative = 0.0
    regularization: Positive = 1e-3

    @model_validator(mode="after")
    def _curve(self) -> "JointFriction":
        """Raise `NestedError` for an inconsistent friction curve."""
        check_static("coulomb", self.coulomb, self.static, self.stribeck_velocity)
        if self.reverse is not None and self.static is not None:
            raise NestedError.at(
                ("reverse",), "is only supported with Coulomb and viscous friction; omit static"
            )
        return self

    @property
    def creep_rate(self) -> float:
        """Rate below which the regularized friction creeps instead of sticking."""
        dry = max(self.coulomb, self.static or 0.0, self.reverse or 0.0)
        return REACHED * self.regularization if dry else 0.0

    def row(self) -> Row:
        """Kernel and parameters of the regularized friction curve."""
        static = self.coulomb if self.static is None else self.static
        reverse = self.coulomb if self.reverse is None else self.reverse
        return Row(
            friction,
            (
                self.coulomb,
                static,
                self.stribeck_velocity or 1.0,
                self.viscous,
                self.regularization,
                reverse,
            ),
        )

    def warnings(self) -> list[Problem]:
        """Warning if the regularization hides the static peak."""
        if self.stribeck_velocity is None or self.regularization < 0.5 * self.stribeck_velocity:
            return []
        speeds = f"is {self.regularization:g} and stribeck_velocity {self.stribeck_velocity:g}"
        return [
            Problem(
                (self.section, self.name, "regularization"),
                f"{speeds}: the static peak is hardly reached; use a smaller regularization",
            )
        ]
