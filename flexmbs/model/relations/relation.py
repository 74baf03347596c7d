"""What all relations share: equations between the poses and twists of two frames that are not the complement of a joint's
freedoms.

They have no coordinates of their own; bodies keep those of their joints, or of a free one. A kind of relation gives the rows of
its equations alone, by a kernel (`flexmbs.law_kernel.LawKernel`) that stands in the file of its declaration, or by functions of
the user.
"""

import abc
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from flexmbs.algebra.vectors import add, cross, dot, store3
from flexmbs.law_kernel import KEPT, ROW, LawPart, Row
from flexmbs.model.joints import Joint
from flexmbs.model.motions import Motion


class FunctionRows(NamedTuple):
    """The record of rows that functions of the user give, told at a pose (t, x, A) in the parent's axes.

    values: of g.  rows: of (A | a₀), which are the derivatives of the values where they are not given.  constants: of (A | a₀)
    instead of functions, seven for each row.  key: of ``rows`` in the declaration.  in_parent: the rows are told in the parent's
    axes.  rheonomic: the functions depend on time.
    """

    values: Any = None
    rows: Any = None
    constants: tuple[float, ...] = ()
    key: str = "function"
    in_parent: bool = True
    rheonomic: bool = False


class Relation(Joint):
    """Equations between the poses and twists of two frames: first ``position_rows`` on positions, the others on velocities.

    Law: x = (t, x (3), R (9, by rows), v (3), ω (3)): time, place of the child from the parent, R child → parent, twist of the
    child relative to the parent, all else in the child's axes; u = (3) what it kept at the last accepted step, zero before →
    out = what it keeps of this state (3), then for each row (g, a₀, b, a (6)): ġ = a · (v, ω) + a₀ and
    g̈ = a · (v̇, ω̇) + b, where b is the rate of a · (v, ω) + a₀ with v, ω held. `point_row` makes a row that is the velocity of
    a point of the child along a direction.
    """

    carries: ClassVar[bool] = False
    # told where a motion would begin without `clearance`; with ``names``, where it stopped almost without
    undefined: ClassVar[str] = "its rows are not defined in this position; begin in another one"
    lost: ClassVar[str] = "the rows of {names} are not defined near this position; end the motion before it"

    @property
    def motions(self) -> tuple[Motion, ...]:
        return ()

    @property
    def among_equals(self) -> str:
        return self.kind

    @property
    @abc.abstractmethod
    def rows(self) -> int:
        """Number of constraint equations."""

    @property
    @abc.abstractmethod
    def position_rows(self) -> int:
        """How many of them constrain positions."""

    @abc.abstractmethod
    def row(self) -> Row | FunctionRows:
        """The record of its equations."""

    def clearance(self, R: Any) -> float:
        """Sine of the angle between the rotation R (3, 3), child → parent, and those at which its rows are not defined."""
        return 1.0


class Rolling(Relation):
    """Rolling without slip: one holonomic equation (contact), two nonholonomic ones (no slip in the plane)."""

    @property
    def rows(self) -> int:
        return 3

    @property
    def position_rows(self) -> int:
        return 1


def nonholonomic(joints: Iterable[Joint]) -> list[str]:
    """Names of those with constraints on velocities alone."""
    return [joint.name for joint in joints if joint.position_rows < joint.rows]


@LawPart
def point_row(out, r, g, d, dd, c, cd, v, w):
    """Row r: g, and the velocity of the point c (rate ċ) of the child along d (rate ḋ), d · (v + ω × c) = (d, c × d) · (v, ω);
    b = ḋ · (v + ω × c) + d · (ω × ċ)."""
    at = KEPT + ROW * r
    out[at] = g
    out[at + 2] = dot(dd, add(v, cross(w, c))) + dot(d, cross(w, cd))
    store3(out, at + 3, d)
    store3(out, at + 6, cross(c, d))
