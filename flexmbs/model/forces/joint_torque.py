"""Controllers, functions and laws of time on a joint coordinate."""

import dataclasses
from typing import Any

import flexmbs.model.actuators
import flexmbs.model.digital  # noqa: F401
from flexmbs.law_kernel import Row, law_kernel
from flexmbs.model.forces.force import JointForce
from flexmbs.model.laws import Function, JointForceLaw, JointLaw


@law_kernel
def given(p, u, x, out):
    """Kernel of a joint torque τ = u(t), or of a user function u(t, x, η)."""
    out[0] = u[0]


def law_row(law: Any) -> Row:
    """Kernel record of a law of a joint coordinate, a user function or a law of time."""
    if isinstance(law, JointLaw):
        return law.row()
    return Row(
        given, laws=(law.function if isinstance(law, Function) and law.parameters == 3 else law,)
    )


class JointTorque(JointForce, kind="joint-torque"):
    """Generalized force Q (N or N m) on one degree of freedom of a joint, given by a law.

    Source: docs/theory.md, section 39.

    Parameters
    ----------
    law : law [N or N m]
        `PD`, `PID`, `LimitedPID`, `SpringDamper`, `Maxwell`, `DCMotor`, `Curve`, `DigitalPID`,
        `DigitalController`, a function (t, x, v) → Q, or a law of time, a number or a function of
        t.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("flywheel")
    >>> wheel = model.add(fm.RigidBody("wheel", mass=5.0, inertia=(0.1, 0.1, 0.2)))
    >>> axle = model.add(fm.Revolute("axle", model.ground, wheel, axis="z"))
    >>> motor = model.add(fm.JointTorque("motor", axle, fm.Ramp(0.0, rate=2.0)))
    >>> run = fm.simulate(model, t_end=3.0, step=0.01)
    >>> round(run.joint("axle").velocity[-1, 0].item(), 4)  # ∫τ dt/J = t² N m s/J
    45.0
    """

    law: JointForceLaw = dataclasses.field(kw_only=False)

    def row(self) -> Row:
        """Kernel and parameters of the law of the torque."""
        return law_row(self.law)
