"""Knife edge: a blade or skate that cannot move sideways."""

from flexmbs.algebra.vectors import load3
from flexmbs.law_kernel import Row, law_kernel
from flexmbs.model.fields import Axis
from flexmbs.model.relations.relation import Relation, point_row


@law_kernel
def no_motion_along(p, u, x, out):
    """Kernel of the constraint d · v = 0, p = d in the child's axes."""
    zero = (0.0, 0.0, 0.0)
    point_row(out, 0, 0.0, load3(p, 0), zero, zero, zero, load3(x, 13), load3(x, 16))


class KnifeEdge(Relation, kind="knife-edge"):
    """Blade or skate: the child frame cannot move along its own ``axis``, d · v = 0.

    The motion is relative to the parent.

    This is one nonholonomic equation; contact of the blade with its plane needs another joint.
    Source: docs/theory.md, section 37.

    Parameters
    ----------
    axis : direction
        Direction without velocity in the child frame.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("skate", gravity=(0, 0, 0))
    >>> skate = model.add(fm.RigidBody("skate", mass=60.0, inertia=(1.0, 1.0, 1.0)))
    >>> ice = model.add(fm.Planar("ice", model.ground, skate, axis="z", v0=(5.0, 0.0, 2.0)))
    >>> blade = model.add(fm.KnifeEdge("blade", model.ground, skate, axis="y"))
    >>> fm.state(model).sd.round(6)[1:].tolist()  # it turns along a circle: ÿ = v φ̇
    [10.0, 0.0]
    """

    axis: Axis = "y"

    @property
    def position_rows(self) -> int:
        return 0

    def row(self) -> Row:
        """Kernel of zero velocity along an axis."""
        return Row(no_motion_along, self.axis)
