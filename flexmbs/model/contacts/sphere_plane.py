"""Sphere or point over a plane."""

import math
from typing import ClassVar

from flexmbs.algebra.vectors import dot, load3, scale
from flexmbs.law_kernel import LawKernel, law_kernel
from flexmbs.model.contacts.contact import FrameContact, touching
from flexmbs.model.fields import Axis, Nonnegative
from flexmbs.model.joints import normal_directions


@law_kernel
def over_plane(p, u, x, out):
    """Kernel of the gap of a sphere over a plane, g = n · r − radius; p = (n, t, radius)."""
    n = load3(p, 0)
    touching(out, dot(n, load3(x, 0)) - p[6], 0.0, n, load3(p, 3), scale(-p[6], n))


class SpherePlane(FrameContact, kind="sphere-plane"):
    """Sphere about frame ``child`` over the plane through frame ``parent``, g = n·r − radius.

    Source: docs/theory.md, section 40.

    Parameters
    ----------
    normal : direction
        Outward normal n of the plane in parent axes.
    radius : float [m]
        Radius of the sphere, 0 for a point.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("dropped ball", gravity=(0, 0, -8.0))
    >>> ball = model.add(fm.RigidBody("ball", mass=0.1, inertia=(1e-5, 1e-5, 1e-5)))
    >>> flight = model.add(fm.Free("flight", model.ground, ball, q0=(0, 0, 1.02, 1, 0, 0, 0)))
    >>> floor = model.add(fm.SpherePlane("floor", model.ground, ball, radius=0.02, restitution=0.5))
    >>> run = fm.simulate(model, t_end=0.75, integrator="event-driven")
    >>> (
    ...     round(run.run.impacts[0].t, 6),
    ...     round(run.body("ball").position[-1, 2].item(), 6),
    ... )  # √(2 h/g), radius + e² h
    (0.5, 0.27)
    """

    extended: ClassVar[tuple[str, ...]] = ("parent",)

    normal: Axis = "z"
    radius: Nonnegative = 0.0

    @property
    def size(self) -> float:
        return self.radius or math.inf

    def shape(self) -> tuple[LawKernel, tuple[float, ...]]:
        """Kernel of the gap of a sphere over a plane, and its parameters."""
        return over_plane, (*self.normal, *normal_directions(self.normal)[0], self.radius)
