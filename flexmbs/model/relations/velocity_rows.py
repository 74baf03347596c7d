"""User-defined rows A V + a₀ = 0 on the relative twist of two frames."""

from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import NestedError, Problem
from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.fields import Switch, choice, items, vector
from flexmbs.model.relations.pose_functions import MOST, WORK, Count, OptionalPoseFunction
from flexmbs.model.relations.relation import FunctionRows, Relation


def _covectors(value: object) -> Any:
    """Validate rows of 6 numbers on (v, ω), or of 7 with a₀; also a single row."""
    if value is None:
        return None
    rows = items(value)
    rows = [rows] if rows and np.ndim(rows[0]) == 0 else rows
    made = tuple(vector(row) for row in rows)
    if not 1 <= len(made) <= MOST or any(len(row) not in (6, 7) for row in made):
        sizes = ", ".join(str(len(row)) for row in made)
        raise ValueError(
            f"must be 1 … {MOST} rows of 6 numbers on (v, ω), or 7 with a₀, not "
            f"{len(made)} of {sizes or 'none'}"
        )
    return tuple(row if len(row) == 7 else (*row, 0.0) for row in made)


Covectors = Annotated[Any, BeforeValidator(_covectors)]


class VelocityRows(Relation, kind="velocity-rows"):
    """Constraint A V + a₀ = 0 on the twist V = (v, ω) of the child relative to the parent.

    The rows are constant ``covectors``, or a ``function`` of the pose. The work of rows with a₀ is
    not part of the energy balance. Source: docs/theory.md, section 15.

    Parameters
    ----------
    covectors : rows of 6 or 7 floats
        Constant rows of A, with a₀ [m/s or rad/s] as the 7th number.
    function : function or None
        ``function(t, x, A)`` returns ``equations`` such rows.
    equations : int
        Number of rows of the function.
    axes : 'child' or 'parent'
        Axes of the components of the rows.
    rheonomic : bool
        True if the function depends on time.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("skate", gravity=(0, 0, 0))
    >>> skate = model.add(fm.RigidBody("skate", mass=60.0, inertia=(1.0, 1.0, 1.0)))
    >>> ice = model.add(fm.Planar("ice", model.ground, skate, axis="z", v0=(5.0, 0.0, 2.0)))
    >>> blade = model.add(
    ...     fm.VelocityRows("blade", model.ground, skate, covectors=[(0, 1, 0, 0, 0, 0)])
    ... )  # v_y = 0
    >>> fm.state(model).sd.round(6)[1:].tolist()  # as with `KnifeEdge`
    [10.0, 0.0]
    """

    covectors: Covectors = None
    function: OptionalPoseFunction = None
    equations: Count = 1
    axes: Annotated[str, choice("child", "parent")] = "child"
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

    def row(self) -> FunctionRows:
        """Constant velocity rows or a user function that returns them."""
        constants = tuple(x for row in self.covectors or () for x in row)
        return FunctionRows(
            rows=self.function,
            constants=constants,
            in_parent=self.axes == "parent",
            rheonomic=self.rheonomic,
        )

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """Nonholonomic rows, as many as equations."""
        return (
            ConstraintClass(
                self.equations,
                holonomic=False,
                scleronomic=not self.rheonomic,
                active=self.rheonomic,
            ),
        )

    def warnings(self) -> list[Problem]:
        """Warning if the constraints can do work."""
        works = self.rheonomic or any(row[6] for row in self.covectors or ())
        return [Problem((self.section, self.name), WORK)] if works else []

    @model_validator(mode="after")
    def _one_of_two(self) -> "VelocityRows":
        """Raise `NestedError` unless either covectors or a function is given."""
        if (self.covectors is None) == (self.function is None):
            raise NestedError.at(
                ("covectors",), "give either constant covectors or a function of the pose"
            )
        if self.covectors is not None:
            if self.rheonomic:
                raise NestedError.at(
                    ("rheonomic",), "constant covectors do not depend on time; give a function"
                )
            object.__setattr__(self, "equations", len(self.covectors))
        return self
