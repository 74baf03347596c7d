"""Base class of relations: constraints between two frames that do not define a joint.

They are equations between poses and twists.

They have no coordinates; bodies keep those of their joints, or of a free joint. A kind of relation
defines only the rows of its equations, by a kernel (`flexmbs.law_kernel.LawKernel`) in the file of
its declaration, or by user functions.

"""

import abc
import math
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from flexmbs.algebra.vectors import add, cross, dot, store3
from flexmbs.law_kernel import KEPT, ROW, LawPart, Row
from flexmbs.model.joints import Joint
from flexmbs.model.motions import Motion


class FunctionRows(NamedTuple):
    """Record of rows given by user functions of the pose (t, x, A) in parent axes.

    values: function for g.  rows: function for (A | a₀), by default the derivatives of the values.
    constants: constant (A | a₀) instead of functions, seven numbers per row.  key: name of ``rows``
    in the declaration.  in_parent: True if the rows are in parent axes.  rheonomic: True if the
    functions depend on time.

    """

    values: Any = None
    rows: Any = None
    constants: tuple[float, ...] = ()
    key: str = "function"
    in_parent: bool = True
    rheonomic: bool = False


class Relation(Joint):
    """Equations between the poses and twists of two frames.

    The first ``position_rows`` are on positions, the others on velocities.

    Law: x = (t, x (3), R (9, by rows), v (3), ω (3)): time, position of the child relative to the
    parent, R child → parent, twist of the child relative to the parent, vectors in child axes; u =
    (3) memory of the last accepted step, initially zero → out = memory of this state (3), then for
    each row (g, a₀, b, a (6)): ġ = a · (v, ω) + a₀ and g̈ = a · (v̇, ω̇) + b, where b is the rate
    of a · (v, ω) + a₀ at constant v, ω. `point_row` makes a row for the velocity of a point of the
    child along a direction.

    """

    carries: ClassVar[bool] = False
    # messages for an initial position without `clearance`, and for a run that stopped near such a
    # position
    undefined: ClassVar[str] = (
        "its rows are not defined in this position; start in another position"
    )
    lost: ClassVar[str] = (
        "the rows of {names} are not defined near this position; end the run before it"
    )

    @property
    def motions(self) -> tuple[Motion, ...]:
        return ()

    @property
    def among_equals(self) -> str:
        return self.kind

    @property
    def rows(self) -> int:
        """Number of constraint equations; by default all of them constrain positions."""
        return 1

    @abc.abstractmethod
    def row(self) -> Row | FunctionRows:
        """Record of the kernel of the constraint rows and its parameters."""

    @property
    def extent(self) -> float:
        """Size (m) of its curve or surface; infinite if it has none."""
        return math.inf

    def clearance(self, R: Any, x: Any) -> float:
        """Sine of the angle to the nearest orientation in which the rows are undefined.

        R (3, 3): the rotation, child → parent. An equivalent measure if the position x (3,) of the
        child in the parent is decisive.
        """
        return 1.0


class Rolling(Relation):
    """Rolling without slip.

    One holonomic equation (contact), two nonholonomic ones (no slip in the plane).
    """

    @property
    def rows(self) -> int:
        return 3

    @property
    def position_rows(self) -> int:
        return 1


def nonholonomic(joints: Iterable[Joint]) -> list[str]:
    """Names of the joints that constrain velocities only."""
    return [joint.name for joint in joints if joint.position_rows < joint.rows]


@LawPart
def point_row(out, r, g, d, dd, c, cd, v, w):
    """Write row r: value g, covector of the velocity of point c along d, and rates.

    d · (v + ω × c) = (d, c × d) · (v, ω); b = ḋ · (v + ω × c) + d · (ω × ċ) with the rates ċ and ḋ.
    """
    at = KEPT + ROW * r
    out[at] = g
    out[at + 2] = dot(dd, add(v, cross(w, c))) + dot(d, cross(w, cd))
    store3(out, at + 3, d)
    store3(out, at + 6, cross(c, d))
