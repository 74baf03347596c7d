"""Two spheres."""

import math

from flexmbs.algebra.vectors import across, dot, load3, scale
from flexmbs.law_kernel import LawKernel, law_kernel
from flexmbs.model.contacts.contact import FrameContact, touching
from flexmbs.model.fields import Nonnegative

CONCENTRIC = 1e-14  # m between two centres: the normal is arbitrary


@law_kernel
def two_spheres(p, u, x, out):
    """g = |r| − R − radius, n = r/|r|, c = −radius n; p = (R, radius)"""
    r = load3(x, 0)
    distance = math.sqrt(dot(r, r))
    n = scale(1.0 / distance, r) if distance > CONCENTRIC else (1.0, 0.0, 0.0)
    touching(out, distance - p[0] - p[1], 0.0, n, across(n), scale(-p[1], n))


class SphereSphere(FrameContact, kind="sphere-sphere"):
    """Two spheres about the origins of the frames, g = |r| − radius_parent − radius_child.

    Parameters
    ----------
    radius_parent : float [m]
        Radius of the sphere about ``parent``.
    radius_child : float [m]
        Radius of the sphere about ``child``.
    """

    radius_parent: Nonnegative
    radius_child: Nonnegative

    def shape(self) -> tuple[LawKernel, tuple[float, ...]]:
        return two_spheres, (self.radius_parent, self.radius_child)
