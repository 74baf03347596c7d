"""Wheels that roll on a plane.

With the plane's normal n and the axle a, the contact point is c = −R m/|m| − ρ n with m = n − (n·a)
a, its height g = n · (x + c) with x the centre relative to a point of the plane; the rows are along
n, the direction of the track t₁ = a × n/|m| and the direction across it t₂ = n × t₁ (Neimark &
Fufaev, Dynamics of Nonholonomic Systems, 1972, ch. I). Directions fixed in the parent have the rate
ḋ = d × ω in child axes.
"""

import math
from typing import Any, ClassVar

import numpy as np
from pydantic import model_validator

from flexmbs.algebra.vectors import add, cross, dot, load3, load9, mul, scale, store3, sub, tmul
from flexmbs.declaration import NestedError
from flexmbs.law_kernel import KEPT, Row, law_kernel
from flexmbs.model.fields import Axis, Nonnegative, Positive
from flexmbs.model.relations.relation import Rolling, point_row

# sine of the angle between axle and normal, below which a reversed track means that the wheel has
# fallen flat
LEANING = 0.5
# sine of the angle between axle and normal, below which a wheel lies flat on its plane, without a
# single contact point
FLAT = 1e-9


@law_kernel
def rolling_disc(p, u, x, out):
    """Kernel of contact and rolling without slip of a wheel.

    p = (n in parent axes, a in child axes, R, ρ); its memory is t₁ in parent axes.

    If the wheel has fallen flat since the last accepted step, its contact point jumps to the other
    side of the rim; the result is then NaN, and the step is rejected.

    """
    y, A, v, w = load3(x, 1), load9(x, 4), load3(x, 13), load3(x, 16)
    n, a, R, rim = tmul(A, load3(p, 0)), load3(p, 3), p[6], p[7]
    m = sub(n, scale(dot(n, a), a))
    size = max(math.sqrt(dot(m, m)), FLAT)
    e = scale(-1.0 / size, m)
    c = sub(scale(R, e), scale(rim, n))
    nd = cross(n, w)
    md = sub(nd, scale(dot(nd, a), a))
    ed = scale(-1.0 / size, sub(md, scale(dot(e, md), e)))
    cd = sub(scale(R, ed), scale(rim, nd))
    t1 = scale(1.0 / size, cross(a, n))
    t1d = scale(1.0 / size, add(cross(a, nd), scale(dot(e, md), t1)))
    t2 = cross(n, t1)
    t2d = add(cross(nd, t1), cross(n, t1d))
    point_row(out, 0, dot(n, add(y, c)), n, nd, c, cd, v, w)
    point_row(out, 1, 0.0, t1, t1d, c, cd, v, w)
    point_row(out, 2, 0.0, t2, t2d, c, cd, v, w)
    track = mul(A, t1)
    store3(out, 0, track)
    if size < LEANING and dot(track, load3(u, 0)) < 0.0:
        store3(out, KEPT, (math.nan, math.nan, math.nan))


class RollingDisc(Rolling, kind="rolling-disc"):
    """Wheel that rolls without slip on the plane through the origin of the parent frame.

    The child frame is at the centre of the wheel. One holonomic equation (contact), two
    nonholonomic ones (no slip along and across the track). Source: docs/theory.md, section 37.

    Parameters
    ----------
    radius : float [m]
        Largest distance of the tread from the axle.
    rim : float [m]
        Radius of the round cross-section of the rim, 0 for a sharp edge.
    axis : direction
        Axle in the child frame.
    normal : direction
        Normal of the plane in the parent frame, towards the wheel.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("hoop on a slope", gravity=(5.0, 0, -8.0))
    >>> hoop = model.add(fm.RigidBody("hoop", mass=2.0, inertia=(0.09, 0.18, 0.09)))
    >>> way = model.add(fm.Free("way", model.ground, hoop, q0=(0, 0, 0.3, 1, 0, 0, 0)))
    >>> contact = model.add(fm.RollingDisc("contact", model.ground, hoop, radius=0.3))
    >>> round(fm.state(model).sd[0].item(), 6)  # g sin α/(1 + J/(m r²)) = 5/2
    2.5
    """

    radius: Positive
    rim: Nonnegative = 0.0
    axis: Axis = "y"
    normal: Axis = "z"

    extended: ClassVar[tuple[str, ...]] = ("parent",)
    undefined: ClassVar[str] = (
        "the wheel lies flat on its plane without a single contact point; tilt it, or "
        "correct axis or normal"
    )
    lost: ClassVar[str] = (
        "wheel {names} has fallen flat on its plane, without a single contact point; end "
        "the run before it"
    )

    def row(self) -> Row:
        """Kernel of rolling without slip of a disc with a rounded rim, and its parameters."""
        return Row(rolling_disc, (*self.normal, *self.axis, self.radius - self.rim, self.rim))

    def clearance(self, R: Any, x: Any) -> float:
        """Sine of the angle between axis and normal; 0 if the disc lies flat."""
        return float(np.linalg.norm(np.cross(R @ self.axis, self.normal)))

    @model_validator(mode="after")
    def _round_within(self) -> "RollingDisc":
        """Raise `NestedError` if the rim radius exceeds the radius."""
        if self.rim > self.radius:
            text = (
                f"{self.rim:g} is larger than the radius {self.radius:g}; reduce it, the rim "
                "is part of the wheel"
            )
            raise NestedError.at(("rim",), text)
        return self


class DiscOnPlane(RollingDisc, kind="disc-on-plane"):
    """Wheel that touches a plane and slips without friction.

    The plane passes through the origin of the parent frame.

    Only the contact of `RollingDisc`, one holonomic equation: for wheels with `WheelCreep`, or on
    rails or rollers. It also holds the wheel down: where it would lift off, the reaction is tensile
    and a `WheelCreep` that reads it produces no force. Source: docs/theory.md, section 37.


    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("hoop on ice", gravity=(5.0, 0, -8.0))
    >>> hoop = model.add(fm.RigidBody("hoop", mass=2.0, inertia=(0.09, 0.18, 0.09)))
    >>> way = model.add(fm.Free("way", model.ground, hoop, q0=(0, 0, 0.3, 1, 0, 0, 0)))
    >>> contact = model.add(fm.DiscOnPlane("contact", model.ground, hoop, radius=0.3))
    >>> fm.state(model).sd.round(6)[[0, 4]].tolist()  # it slides with g sin α and does not turn
    [5.0, 0.0]
    """

    @property
    def rows(self) -> int:
        return 1
