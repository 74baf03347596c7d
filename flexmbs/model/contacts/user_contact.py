"""Unilateral constraints between two frames by user functions, g(t, x, A) ≥ 0."""

import dataclasses

from pydantic import model_validator

from flexmbs.declaration import NestedError
from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.contacts.contact import FrameContact
from flexmbs.model.fields import Switch
from flexmbs.model.relations.pose_functions import OptionalPoseFunction, PoseFunction
from flexmbs.model.relations.relation import FunctionRows


class UserContact(FrameContact, kind="user"):
    """Condition g(t, x, A) ≥ 0 between two frames by a user function of their relative pose.

    x (3) is the position of the child frame relative to the parent frame in parent axes (m), A (9,
    by rows) the rotation matrix child → parent. With ġ = d · v + m · ω + ∂g/∂t, where v = ẋ and ω
    are the relative velocities in parent axes, the force N ≥ 0 produces the force N d and the
    moment N m on the child: N is in newtons if g is a distance, |d| = 1. Derivatives that are not
    given

    are computed by complex steps, or by differences if the function does not support complex
    numbers. Source: docs/theory.md, section 40.

    Parameters
    ----------
    function : function
        ``function(t, x, A)`` returns g.
    jacobian : function or None
        ``jacobian(t, x, A)`` returns the 6 numbers (d, m), followed by ∂g/∂t if ``rheonomic``.
    slip : function or None
        ``slip(t, x, A)`` returns two rows of 6 numbers that map (v, ω) to the slip velocities
        (m/s), perpendicular to the normal and to each other; 7 with a velocity at rest, such as
        that of a belt, if ``rheonomic``. Required for friction and tangential restitution.
        Coulomb's law holds for the normal force N |d|; slip is reported times |d|, forces along it
        divided by |d|.
    rheonomic : bool
        True if g or the slip depends on time.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("ball in a pipe", gravity=(0, 0, -8.0))
    >>> ball = model.add(fm.PointMass("ball", mass=0.1))
    >>> fall = model.add(fm.Translation("fall", model.ground, ball))
    >>> inside = lambda t, x, A: 1.0 - (x[1] ** 2 + x[2] ** 2) ** 0.5
    >>> pipe = model.add(fm.UserContact("pipe", model.ground, ball, inside, restitution=0.5))
    >>> run = fm.simulate(model, t_end=0.6, integrator="event-driven")
    >>> round(run.run.impacts[0].t, 6)  # √(2 r/g)
    0.5
    """

    function: PoseFunction = dataclasses.field(kw_only=False)
    jacobian: OptionalPoseFunction = None
    slip: OptionalPoseFunction = None
    rheonomic: Switch = False

    @model_validator(mode="after")
    def _slips(self) -> "UserContact":
        """Raise `NestedError` for friction without slip rows and for rolling friction."""
        if self.slip is None and (self.friction or self.tangential_restitution):
            raise NestedError.at(
                ("slip",),
                "is missing: friction needs the rows of the slip velocities; give a function",
            )
        for key in ("rolling_friction", "torsional_friction"):
            if getattr(self, key):
                raise NestedError.at(
                    (key,), "is not defined here: the gap need not be a distance; omit it"
                )
        return self

    @property
    def rows(self) -> int:
        return 1

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """One unilateral row; none with a force law."""
        timed = self.rheonomic
        return (
            (ConstraintClass(1, scleronomic=not timed, bilateral=False, active=timed),)
            if self.rigid
            else ()
        )

    def row(self) -> FunctionRows:
        """Record of the user functions of the gap and its row."""
        return FunctionRows(
            values=self.function, rows=self.jacobian, key="jacobian", rheonomic=self.rheonomic
        )
