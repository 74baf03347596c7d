"""Controllers, functions and laws of time on a joint coordinate."""

import dataclasses
from typing import Any

from flexmbs.law_kernel import law_kernel
from flexmbs.model.forces.force import JointForce, Row
from flexmbs.model.forces.joint_spring import spring_damper
from flexmbs.model.laws import PD, PID, Function, JointForceLaw, SpringDamper


@law_kernel
def given(p, u, x, out):
    """τ = u(t), or u(t, x, η) of the user"""
    out[0] = u[0]


@law_kernel
def pd(p, u, x, out):
    """τ = k_p (r − x) + k_d (ṙ − η), p = (k_p, k_d), u = (r, ṙ)"""
    out[0] = p[0] * (u[0] - x[1]) + p[1] * (u[1] - x[2])


@law_kernel
def pid(p, u, x, out):
    """τ = k_p (r − x) + k_d (ṙ − η) + k_i z, ż = r − x, p = (k_p, k_d, k_i), u = (r, ṙ)"""
    out[0] = p[0] * (u[0] - x[1]) + p[1] * (u[1] - x[2]) + p[2] * x[3]
    out[2] = u[0] - x[1]


@pd.slopes
@pid.slopes
def gains(p, u, x, out):
    """(k_p, k_d)"""
    out[0] = p[0]
    out[1] = p[1]


class JointTorque(JointForce, kind="joint-torque"):
    """Generalized force Q (N or N m) on one freedom of a joint by a law.

    ``law`` is `PD`, `PID`, `SpringDamper`, a function (t, x, v) → Q, or a law of time, a number or a function of t.
    ``coordinate`` is the index of the freedom.
    """

    law: JointForceLaw = dataclasses.field(kw_only=False)

    def row(self) -> Row:
        law: Any = self.law
        match law:
            case PD():
                return Row(pd, (law.kp, law.kd), (law.reference,), gives=2)
            case PID():
                return Row(pid, (law.kp, law.kd, law.ki), (law.reference,), gives=2, integral=True)
            case SpringDamper():
                return Row(spring_damper, (law.k, law.c, law.x0, law.preload))
            case Function() if law.parameters == 3:
                return Row(given, laws=(law.function,))
        return Row(given, laws=(law,))
