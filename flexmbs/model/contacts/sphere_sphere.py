"""Two spheres."""

import math

from flexmbs.algebra.vectors import across, dot, load3, scale
from flexmbs.law_kernel import LawKernel, law_kernel
from flexmbs.model.contacts.contact import FrameContact, touching
from flexmbs.model.fields import Nonnegative

CONCENTRIC = 1e-14  # m between two centres: the normal is arbitrary


@law_kernel
def two_spheres(p, u, x, out):
    """Kernel of the gap between two spheres, g = |r| − R − radius; p = (R, radius)."""
    r = load3(x, 0)
    distance = math.sqrt(dot(r, r))
    n = scale(1.0 / distance, r) if distance > CONCENTRIC else (1.0, 0.0, 0.0)
    touching(out, distance - p[0] - p[1], 0.0, n, across(n), scale(-p[1], n))


class SphereSphere(FrameContact, kind="sphere-sphere"):
    """Two spheres about the origins of the frames, g = |r| − radius_parent − radius_child.

    Source: docs/theory.md, section 40.

    Parameters
    ----------
    radius_parent : float [m]
        Radius of the sphere about ``parent``.
    radius_child : float [m]
        Radius of the sphere about ``child``.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("two balls on a rail", gravity=(0, 0, 0))
    >>> for name, x, v in (("one", -0.2, 1.0), ("two", 0.2, 0.0)):
    ...     ball = model.add(fm.RigidBody(name, mass=0.1, inertia=(1e-5, 1e-5, 1e-5)))
    ...     rail = model.add(fm.Prismatic(f"rail {name}", model.ground, ball, axis="x", q0=x, v0=v))
    >>> hit = model.add(
    ...     fm.SphereSphere(
    ...         "hit", "one", "two", radius_parent=0.05, radius_child=0.05, restitution=1.0
    ...     )
    ... )
    >>> run = fm.simulate(model, t_end=0.5, integrator="event-driven")
    >>> abs(run.s[-1]).round(6).tolist()  # equal masses exchange their velocities
    [0.0, 1.0]
    """

    radius_parent: Nonnegative
    radius_child: Nonnegative

    @property
    def size(self) -> float:
        return min(
            (radius for radius in (self.radius_parent, self.radius_child) if radius > 0.0),
            default=math.inf,
        )

    def shape(self) -> tuple[LawKernel, tuple[float, ...]]:
        """Kernel of the gap between two spheres, and their radii."""
        return two_spheres, (self.radius_parent, self.radius_child)
