"""User-defined constraints g(pose, t) = 0 between two frames."""

import dataclasses

from flexmbs.declaration import Problem
from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.fields import Switch
from flexmbs.model.relations.pose_functions import WORK, Count, OptionalPoseFunction, PoseFunction
from flexmbs.model.relations.relation import FunctionRows, Relation


class Holonomic(Relation, kind="holonomic"):
    """g(pose, t) = 0 by a user function.

    Derivatives that are not given are computed by complex steps, or by differences if the function does not support complex
    numbers. The work of rheonomic constraints is not part of the energy balance.

    Parameters
    ----------
    function : function
        ``function(t, x, A)`` returns the values of g.
    equations : int
        Number of values.
    jacobian : function or None
        ``jacobian(t, x, A)`` returns for each value 6 numbers, ġ = J (v, ω) in parent axes, or 7 with ∂g/∂t if ``rheonomic``.
    rheonomic : bool
        Whether g depends on time.
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

    @property
    def position_rows(self) -> int:
        return self.equations

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        return (ConstraintClass(self.equations, scleronomic=not self.rheonomic, active=self.rheonomic),)

    def warnings(self) -> list[Problem]:
        text = "its derivatives take 10 to 40 calls per evaluation (complex steps or differences); give a jacobian for speed"
        found = [Problem((self.section, self.name, "jacobian"), text)] if self.jacobian is None else []
        return [*found, Problem((self.section, self.name), WORK)] if self.rheonomic else found

    def row(self) -> FunctionRows:
        return FunctionRows(values=self.function, rows=self.jacobian, key="jacobian", rheonomic=self.rheonomic)
