"""User-defined constraints g(pose, t) = 0 between two frames."""

import dataclasses

from flexmbs.declaration import Problem
from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.fields import Switch
from flexmbs.model.relations.pose_functions import WORK, Count, OptionalPoseFunction, PoseFunction
from flexmbs.model.relations.relation import FunctionRows, Relation


class Holonomic(Relation, kind="holonomic"):
    """Constraint g(pose, t) = 0 by a user function.

    Derivatives that are not given are computed by complex steps, or by differences if the function
    does not support complex numbers. The work of rheonomic constraints is not part of the energy
    balance. Source: docs/theory.md, section 15.

    Parameters
    ----------
    function : function
        ``function(t, x, A)`` returns the values of g.
    equations : int
        Number of values.
    jacobian : function or None
        ``jacobian(t, x, A)`` returns 6 numbers for each value, ġ = J (v, ω) in parent axes,
        followed by ∂g/∂t if ``rheonomic``.
    rheonomic : bool
        True if g depends on time.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("bead on a sphere", gravity=(0, 0, -9.0))
    >>> bead = model.add(fm.PointMass("bead", mass=0.1))
    >>> way = model.add(fm.Translation("way", model.ground, bead, q0=(0, 0, -2.0), v0=(3.0, 0, 0)))
    >>> def on_sphere(t, x, A):
    ...     return x[0] ** 2 + x[1] ** 2 + x[2] ** 2 - 4.0
    >>> sphere = model.add(fm.Holonomic("sphere", model.ground, bead, on_sphere))
    >>> round(fm.state(model).sd[2].item(), 6)  # v²/r
    4.5
    """

    function: PoseFunction = dataclasses.field(kw_only=False)
    equations: Count = 1
    jacobian: OptionalPoseFunction = None
    rheonomic: Switch = False

    @property
    def among_equals(self) -> str:
        return self.name

    @property
    def rows(self) -> int:
        return self.equations

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """Holonomic rows, as many as equations."""
        return (
            ConstraintClass(self.equations, scleronomic=not self.rheonomic, active=self.rheonomic),
        )

    def warnings(self) -> list[Problem]:
        """Warnings of slow numerical derivatives and of work done by moving constraints."""
        text = (
            "its derivatives take 10 to 40 calls per evaluation (complex steps or "
            "differences); give a jacobian for speed"
        )
        found = (
            [Problem((self.section, self.name, "jacobian"), text)] if self.jacobian is None else []
        )
        return [*found, Problem((self.section, self.name), WORK)] if self.rheonomic else found

    def row(self) -> FunctionRows:
        """User functions of the constraint and its Jacobian."""
        return FunctionRows(
            values=self.function, rows=self.jacobian, key="jacobian", rheonomic=self.rheonomic
        )
