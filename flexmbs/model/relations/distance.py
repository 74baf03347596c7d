"""Two points at a constant distance.

    g = |y| − L,   ġ = e · ẏ with e = y/|y|,   g̈ = e · ÿ + ė · ẏ,   ė = (ẏ − (e · ẏ) e)/|y|,

where y points from the origin of the parent frame to the origin of the child frame. The multiplier
is the force in the rod, negative for tension.
"""

import math

from flexmbs.algebra.vectors import add, cross, dot, load3, load9, scale, sub, tmul
from flexmbs.law_kernel import Row, law_kernel
from flexmbs.model.fields import Axis, Positive
from flexmbs.model.relations.relation import Relation, point_row

# relative to the length: closer points have no direction; the assembly leaves them along the axis
COINCIDING = 1e-6


@law_kernel
def at_distance(p, u, x, out):
    """Kernel of the distance constraint g = |y| − L, p = (L, direction if coincident)."""
    y, v, w, zero = load3(x, 1), load3(x, 13), load3(x, 16), (0.0, 0.0, 0.0)
    r = math.sqrt(dot(y, y))
    e, turn = tmul(load9(x, 4), load3(p, 1)), zero
    if r > COINCIDING * p[0]:
        e = scale(1.0 / r, y)
        turn = scale(1.0 / r, sub(v, scale(dot(e, v), e)))
    point_row(out, 0, dot(e, y) - p[0], e, add(turn, cross(e, w)), zero, zero, v, w)


class Distance(Relation, kind="distance"):
    """Two points at a constant distance: a massless rod with spherical joints at its ends.

    One equation g = |y| − length.

    It has neither coordinates nor singular positions. A body that no other joint holds starts at
    the end of the rod, along ``axis``, with the axes of the parent frame; a point mass moves by
    three translations. For another initial position or velocity declare an additional
    `Translation`, `Pose` or `Free` joint. Source: docs/theory.md, section 37.


    Parameters
    ----------
    length : float [m]
        Distance between the two points.
    axis : direction
        Initial direction of the rod in the parent frame, if no other joints determine it.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum", gravity=(0, 0, -9.81))
    >>> bob = model.add(fm.PointMass("bob", mass=2.0))
    >>> rod = model.add(fm.Distance("rod", model.ground, bob, length=0.5, axis=(3.0, 0.0, -4.0)))
    >>> fm.state(model).sd.round(4).tolist()  # along the arc, g sin φ with sin φ = 3/5
    [-4.7088, 0.0, -3.5316]
    """

    length: Positive
    axis: Axis = "x"

    def row(self) -> Row:
        """Kernel of the distance constraint, with length and axis."""
        return Row(at_distance, (self.length, *self.axis))
