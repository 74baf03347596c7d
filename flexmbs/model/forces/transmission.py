"""Forces on a linear combination of joint coordinates: compliant gears and belts, tendons."""

import dataclasses
from typing import Any

from pydantic import model_validator

from flexmbs.declaration import NestedError
from flexmbs.law_kernel import Row
from flexmbs.model.forces.force import OnCombination
from flexmbs.model.forces.joint_torque import law_row
from flexmbs.model.laws import JointForceLaw


class Transmission(OnCombination, kind="transmission"):
    """Generalized forces aᵢ τ on joint coordinates qᵢ, τ from a law of x = Σ aᵢ qᵢ and ẋ.

    Compliant gears, belts and shafts, backlash, tendons over several joints with their actuators.

    With a₁ = 1 and a₂ = −n it is a gear of ratio n with compliant teeth, whereas a `Gear` is rigid.
    Source: docs/theory.md, section 39.


    Parameters
    ----------
    law : law [N or N m]
        τ of x, its rate v and t: `SpringDamper`, `Maxwell`, `Curve`, `AffineActuator`, …, a
        function (t, x, v) → τ, or a law of time, a number or a function of t.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("drive", gravity=(0, 0, 0))
    >>> motor, arm = (
    ...     model.add(fm.RigidBody(name, mass=1.0, inertia=(1, 1, J)))
    ...     for name, J in (("motor", 1e-4), ("arm", 1.0))
    ... )
    >>> fast, slow = (
    ...     model.add(fm.Revolute(name, model.ground, b, axis="z"))
    ...     for name, b in (("fast", motor), ("slow", arm))
    ... )
    >>> gear = model.add(fm.Transmission("gear", {fast: 1.0, slow: -50.0}, fm.SpringDamper(k=10.0)))
    >>> round(fm.linearize(model).modes.frequency.max().item(), 4)  # √(k (1/J₁ + n²/J₂))/2π
    56.2698
    """

    law: JointForceLaw = dataclasses.field(kw_only=False)

    @model_validator(mode="after")
    def _continuous(self) -> "Transmission":
        """Raise `NestedError` for a sampled law."""
        if self.row().sampler:
            law: Any = self.law
            text = (
                f"{law.kind} measures one coordinate at sample times; put it on a joint, as a "
                "JointTorque"
            )
            raise NestedError.at(("law",), text)
        return self

    def row(self) -> Row:
        """Kernel and parameters of the law."""
        return law_row(self.law)
