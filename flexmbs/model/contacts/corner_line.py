"""Corner over an edge in the plane."""

import math
from typing import ClassVar

from pydantic import model_validator

from flexmbs.algebra.vectors import add, dot, load3, scale, sub
from flexmbs.declaration import NestedError
from flexmbs.law_kernel import LawKernel, law_kernel
from flexmbs.model.contacts.contact import FrameContact, touching
from flexmbs.model.fields import Axis, OptionalPositive

SQUARE = 1e-9  # cosine of the angle between a normal and the direction of the edge


@law_kernel
def over_edge(p, u, x, out):
    """Kernel of the gap g = n · r of a corner above an edge of limited length.

    t · r is between the ends on the edge; p = (n, t, ends).
    """
    n, t, r = load3(p, 0), load3(p, 3), load3(x, 0)
    g, along = dot(n, r), dot(t, r)
    beyond = min(along - p[6], 0.0) + max(along - p[7], 0.0)
    outside = 0.0
    if beyond != 0.0:
        distance = math.sqrt(g * g + beyond * beyond)
        c, s = g / distance, beyond / distance
        g, outside = distance, 1.0
        n, t = add(scale(c, n), scale(s, t)), sub(scale(c, t), scale(s, n))
    touching(out, g, outside, n, t, (0.0, 0.0, 0.0))


class CornerLine(FrameContact, kind="corner-line"):
    """Corner above an edge of a body in planar motion, g = n·r along the edge.

    The corner is the origin of frame ``child``.

    The edge starts at the origin of frame ``parent``. Beyond its ends the contact is open.
    Source: docs/theory.md, section 40.

    Parameters
    ----------
    normal : direction
        Outward normal of the edge in parent axes.
    direction : direction
        Direction of the edge in parent axes.
    length : float or None [m]
        Length of the edge; None: infinite in both directions.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("corner over an edge", gravity=(0, -8.0, 0))
    >>> block = model.add(fm.RigidBody("block", mass=1.0, inertia=(0.01, 0.01, 0.01)))
    >>> plane = model.add(fm.Planar("plane", model.ground, block, axis="z", q0=(0.2, 0.25, 0.0)))
    >>> edge = model.add(fm.CornerLine("edge", model.ground, block, length=0.5))
    >>> run = fm.simulate(model, t_end=0.3, integrator="event-driven")
    >>> round(run.run.impacts[0].t, 6)  # √(2 h/g)
    0.25
    """

    extended: ClassVar[tuple[str, ...]] = ("parent",)

    normal: Axis = "y"
    direction: Axis = "x"
    length: OptionalPositive = None

    @model_validator(mode="after")
    def _across(self) -> "CornerLine":
        """Raise `NestedError` unless the direction of the edge is perpendicular to the normal."""
        cosine = sum(a * b for a, b in zip(self.normal, self.direction))
        if abs(cosine) > SQUARE:
            raise NestedError.at(
                ("direction",),
                f"must be perpendicular to the normal, but their cosine is {cosine:g}",
            )
        return self

    @property
    def size(self) -> float:
        return self.length or math.inf

    def shape(self) -> tuple[LawKernel, tuple[float, ...]]:
        """Kernel of the gap of a corner over an edge, and its parameters."""
        ends = (-math.inf, math.inf) if self.length is None else (0.0, self.length)
        return over_edge, (*self.normal, *self.direction, *ends)
