"""Constraints of the user's own between two frames: holonomic g(pose, t) = 0, and rows A V + a₀ = 0 on the relative twist V.

A pose is given to functions as ``(t, x, A)``: time (s), position x (3) of the child frame from the parent frame in the parent's
axes (m), rotation matrix A (9, by rows) child → parent. A twist is V = (v, ω), v = ẋ and Ȧ = ω̃ A in the parent's axes.
"""

import dataclasses
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BeforeValidator, model_validator

from flexmbs.declaration import NestedError, Problem, shown
from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.fields import Switch, index, items, vector
from flexmbs.model.functions import OptionalFunction, UserFunction, function_of
from flexmbs.model.relations import Relation

MOST = 6
WORK = "its forces do work, which the energy balance does not hold; a drive's is in it"


def _equations(value: object) -> int:
    """A number of equations between two frames."""
    n = index(value)
    if not 1 <= n <= MOST:
        raise ValueError(f"must be 1 … {MOST} equations between two frames, not {n}")
    return n


def _covectors(value: object) -> Any:
    """Rows of 6 numbers on (v, ω), or of 7 with a₀; one row may stand alone."""
    if value is None:
        return None
    rows = items(value)
    rows = [rows] if rows and np.ndim(rows[0]) == 0 else rows
    made = tuple(vector(row) for row in rows)
    if not 1 <= len(made) <= MOST or any(len(row) not in (6, 7) for row in made):
        sizes = ", ".join(str(len(row)) for row in made)
        raise ValueError(f"must be 1 … {MOST} rows of 6 numbers on (v, ω), or 7 with a₀, not {len(made)} of {sizes or 'none'}")
    return tuple(row if len(row) == 7 else (*row, 0.0) for row in made)


def _axes(value: object) -> str:
    if value not in ("child", "parent"):
        raise ValueError(f"must be 'child' or 'parent', not {shown(value)}")
    return str(value)


Count = Annotated[int, BeforeValidator(_equations)]
Covectors = Annotated[Any, BeforeValidator(_covectors)]
PoseFunction = Annotated[UserFunction, AfterValidator(function_of(3, "f(t, x, A)"))]
OptionalPoseFunction = Annotated[OptionalFunction, AfterValidator(function_of(3, "f(t, x, A)"))]


class Holonomic(Relation, kind="holonomic"):
    """g(pose, t) = 0: ``function(t, x, A)`` gives the ``equations`` values of g.

    ``jacobian(t, x, A)`` gives as many rows of 6 numbers, ġ = J (v, ω) in the parent's axes, of 7 with ∂g/∂t if it is
    ``rheonomic``; without it derivatives are taken by complex steps, or by differences where the function cannot take them.
    The work of rheonomic ones is no part of the energy balance.
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
        return (ConstraintClass(self.equations, scleronomic=not self.rheonomic),)

    def cautions(self) -> list[Problem]:
        text = "its derivatives are taken by complex steps or differences, 10 to 40 calls each time; give a jacobian for speed"
        found = [Problem((self.section, self.name, "jacobian"), text)] if self.jacobian is None else []
        return [*found, Problem((self.section, self.name), WORK)] if self.rheonomic else found


class VelocityRows(Relation, kind="velocity-rows"):
    """A V + a₀ = 0 on the twist V = (v, ω) of the child relative to the parent: ``covectors`` or a ``function`` of the pose.

    ``covectors``: constant rows of 6 numbers, or 7 with a₀ (m/s or rad/s); ``function(t, x, A)`` gives ``equations`` such rows.
    They are told in ``axes`` of the child or of the parent. ``rheonomic``: the function depends on time. The work of rows with
    a₀ is no part of the energy balance.
    """

    covectors: Covectors = None
    function: OptionalPoseFunction = None
    equations: Count = 1
    axes: Annotated[str, BeforeValidator(_axes)] = "child"
    rheonomic: Switch = False

    @property
    def among_equals(self) -> str:
        return self.name

    @property
    def rows(self) -> int:
        return self.equations

    @property
    def position_rows(self) -> int:
        return 0

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        return (ConstraintClass(self.equations, holonomic=False, scleronomic=not self.rheonomic),)

    def cautions(self) -> list[Problem]:
        works = self.rheonomic or any(row[6] for row in self.covectors or ())
        return [Problem((self.section, self.name), WORK)] if works else []

    @model_validator(mode="after")
    def _one_of_two(self) -> "VelocityRows":
        """Covectors or a function; the number of equations from the covectors."""
        if (self.covectors is None) == (self.function is None):
            raise NestedError([Problem(("covectors",), "give either constant covectors or a function of the pose")])
        if self.covectors is not None:
            if self.rheonomic:
                raise NestedError([Problem(("rheonomic",), "constant covectors do not depend on time; give a function")])
            object.__setattr__(self, "equations", len(self.covectors))
        return self
