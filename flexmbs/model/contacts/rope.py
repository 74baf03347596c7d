"""Ropes: two frames whose distance is bounded."""

import math

from pydantic import model_validator

from flexmbs.algebra.vectors import across, dot, load3, scale
from flexmbs.declaration import NestedError, Problem
from flexmbs.law_kernel import LawKernel, law_kernel
from flexmbs.model.contacts.contact import FrameContact, touching
from flexmbs.model.fields import Positive

TOGETHER = 1e-14  # m between the ends: the direction is arbitrary


@law_kernel
def taut(p, u, x, out):
    """g = L − |r|, n = −r/|r|, c = 0; p = (L,)"""
    r = load3(x, 0)
    distance = math.sqrt(dot(r, r))
    n = scale(-1.0 / distance, r) if distance > TOGETHER else (1.0, 0.0, 0.0)
    touching(out, p[0] - distance, 0.0, n, across(n), (0.0, 0.0, 0.0))


class Rope(FrameContact, kind="rope"):
    """A massless rope between the origins of two frames, g = length − distance ≥ 0: tension only, when it is taut.

    Rigid, or with a contact ``law`` of its stretch. A rod, which also pushes, is the joint `Distance`.

    Parameters
    ----------
    length : float [m]
        Length.
    """

    length: Positive

    @model_validator(mode="after")
    def _no_plane(self) -> "Rope":
        for key in ("friction", "tangential_restitution"):
            if getattr(self, key):
                raise NestedError([Problem((key,), "does not apply to a rope, which has no contact plane; omit it")])
        return self

    def shape(self) -> tuple[LawKernel, tuple[float, ...]]:
        return taut, (self.length,)
