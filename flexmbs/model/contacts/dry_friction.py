"""Dry friction of a joint coordinate with sticking: a set-valued force in the contact problem."""

import dataclasses
from typing import ClassVar

from pydantic import model_validator

from flexmbs.model.contacts.contact import Contact
from flexmbs.model.fields import Index, OptionalPositive, Positive
from flexmbs.model.forces.joint_friction import check_static
from flexmbs.model.frames import JointLike
from flexmbs.model.item import CoordinateUse


class DryFriction(Contact, kind="dry-friction"):
    """Dry friction in one rotation or translation of a joint with rate η, including sticking:

    Q = −F(η) sgn η for slipping, |Q| ≤ F_s with η = 0 for sticking, F(η) = F_c + (F_s − F_c)
    exp(−(η/v_s)²).

    Sticking is a constraint, so nothing creeps. It is solved together with the rigid contacts of
    the model, by integrators that support these. Viscous friction: `JointSpring` with c. Source:
    docs/theory.md, section 43; Acary and Brogliato, Numerical Methods for Nonsmooth Dynamical
    Systems (2008), chapter 3.

    Parameters
    ----------
    joint : joint
        The joint, by handle or name.
    coordinate : int
        Index of the degree of freedom of the joint, from 0.
    coulomb : float [N or N m]
        Sliding friction F_c.
    static : float or None [N or N m]
        Static friction F_s ≥ F_c; None: F_c.
    stribeck_velocity : float or None [m/s or rad/s]
        Rate v_s over which F_s decays to F_c; None: a jump.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("arm on a stiff hinge")
    >>> arm = model.add(fm.RigidBody("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.08, 0.08)))
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, arm, axis="y"))
    >>> friction = model.add(
    ...     fm.DryFriction("friction", hinge, coulomb=8.0)
    ... )  # more than m g l/2 = 4.9 N m
    >>> run = fm.simulate(model, t_end=60.0, step=0.01, integrator="moreau-jean")
    >>> abs(run.joint("hinge").position[-1, 0].item()) < 1e-12
    True
    """

    joint: JointLike = dataclasses.field(kw_only=False)
    coordinate: Index = 0
    coulomb: Positive
    static: OptionalPositive = None
    stribeck_velocity: OptionalPositive = None

    named: ClassVar[str] = "dry friction"

    def coordinate_used(self) -> CoordinateUse:
        """Joint coordinate on which the friction acts."""
        return CoordinateUse(self.joint, self.coordinate)

    @property
    def limits(self) -> tuple[float, float, float]:
        """Parameters (F_c, F_s, v_s), v_s = 0 for a jump."""
        return (
            self.coulomb,
            self.coulomb if self.static is None else self.static,
            self.stribeck_velocity or 0.0,
        )

    @model_validator(mode="after")
    def _curve(self) -> "DryFriction":
        """Raise `NestedError` for an inconsistent Stribeck curve."""
        check_static("coulomb", self.coulomb, self.static, self.stribeck_velocity, jumps=True)
        return self
