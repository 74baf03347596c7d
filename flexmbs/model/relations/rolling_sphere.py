"""Spheres that roll on a plane."""

from typing import ClassVar

from flexmbs.algebra.vectors import add, cross, dot, load3, load9, scale, tmul
from flexmbs.law_kernel import Row, law_kernel
from flexmbs.model.fields import Axis, Positive
from flexmbs.model.joints import normal_directions
from flexmbs.model.relations.relation import Rolling, point_row


@law_kernel
def rolling_sphere(p, u, x, out):
    """Kernel of contact and rolling without slip of a sphere.

    Rows along the normal n and two directions in the plane, fixed in the parent like n, p = (n, t₁,
    t₂, r).
    """
    y, A, v, w = load3(x, 1), load9(x, 4), load3(x, 13), load3(x, 16)
    n, t1, t2 = tmul(A, load3(p, 0)), tmul(A, load3(p, 3)), tmul(A, load3(p, 6))
    c, cd = scale(-p[9], n), scale(-p[9], cross(n, w))
    point_row(out, 0, dot(n, add(y, c)), n, cross(n, w), c, cd, v, w)
    point_row(out, 1, 0.0, t1, cross(t1, w), c, cd, v, w)
    point_row(out, 2, 0.0, t2, cross(t2, w), c, cd, v, w)


class RollingSphere(Rolling, kind="rolling-sphere"):
    """Sphere about the origin of the child frame that rolls without slip on a plane.

    The plane passes through the origin of the parent frame.

    One holonomic equation, two nonholonomic ones; the rotation about the normal is free.
    Source: docs/theory.md, section 37.

    Parameters
    ----------
    radius : float [m]
        Radius of the sphere.
    normal : direction
        Normal of the plane in the parent frame, towards the sphere.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("ball on a slope", gravity=(7.0, 0, -7.0))
    >>> ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(0.004, 0.004, 0.004)))
    >>> way = model.add(fm.Free("way", model.ground, ball, q0=(0, 0, 0.1, 1, 0, 0, 0)))
    >>> contact = model.add(fm.RollingSphere("contact", model.ground, ball, radius=0.1))
    >>> round(fm.state(model).sd[0].item(), 6)  # 5/7 g sin α of a solid ball
    5.0
    """

    extended: ClassVar[tuple[str, ...]] = ("parent",)

    radius: Positive
    normal: Axis = "z"

    def row(self) -> Row:
        """Kernel of rolling without slip of a sphere on a plane, and its parameters."""
        first, second = normal_directions(self.normal)
        return Row(rolling_sphere, (*self.normal, *first, *second, self.radius))
