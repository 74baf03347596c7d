"""Knife edge: a blade or skate that does not move sideways."""

from flexmbs.algebra.vectors import load3
from flexmbs.law_kernel import Row, law_kernel
from flexmbs.model.fields import Axis
from flexmbs.model.relations.relation import Relation, point_row


@law_kernel
def no_motion_along(p, u, x, out):
    """d · v, p = d in the child's axes"""
    zero = (0.0, 0.0, 0.0)
    point_row(out, 0, 0.0, load3(p, 0), zero, zero, zero, load3(x, 13), load3(x, 16))


class KnifeEdge(Relation, kind="knife-edge"):
    """A blade or skate: the child frame does not move along its own ``axis`` relative to the parent, d · v = 0.

    This is one nonholonomic equation; contact of the blade with its plane needs another joint.

    Parameters
    ----------
    axis : direction
        Direction without velocity in the child frame.
    """

    axis: Axis = "y"

    @property
    def rows(self) -> int:
        return 1

    @property
    def position_rows(self) -> int:
        return 0

    def row(self) -> Row:
        return Row(no_motion_along, self.axis)
