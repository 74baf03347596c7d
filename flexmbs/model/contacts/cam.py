"""Cams: plane curves on the parent, in unilateral contact with a roller or flat face of the child.

With the outward normal N of the curve and the child's origin y in the plane of the cam,

     roller of radius ρ:  g = N · (y − c(u)) − ρ at the nearest point, (y − c) · c' = 0,
     flat face with normal −n towards the cam:  g = n · y − max_u n · c(u),  n · c' = 0.

Norton, Cam Design and Manufacturing Handbook (2009), chapter 7 (roller and flat-faced followers);
docs/theory.md, section 40.
"""

import dataclasses
import math

from pydantic import model_validator

from flexmbs.algebra.vectors import across, dot, load3, load9, mul, scale, sub
from flexmbs.declaration import NestedError
from flexmbs.law_kernel import LawKernel, law_kernel
from flexmbs.model.contacts.contact import FrameContact, touching
from flexmbs.model.curves import (
    PlanePoints,
    area,
    curve_at,
    curve_numbers,
    farthest,
    half_width,
    is_beyond,
    nearest,
    nearest_sample,
    require_outline,
    sharpest,
)  # fmt: skip
from flexmbs.model.fields import Axis, Nonnegative, Switch

CURVE = 4  # index of the curve in the parameters


@law_kernel
def roller(p, u, x, out):
    """Kernel of the gap between a roller and a cam profile, p = (ρ, σ, 0, 0, the curve).

    g = N · (y − c) − ρ at the point nearest to y, N = σ e_z × t
    """
    r = load3(x, 0)
    y = (r[0], r[1], 0.0)
    at = nearest(p, CURVE, y, nearest_sample(p, CURVE, y))
    c, cu, _ = curve_at(p, CURVE, at)
    t = scale(1.0 / math.sqrt(dot(cu, cu)), cu)
    n = scale(p[1], (-t[1], t[0], 0.0))
    d = sub(y, c)
    g, open_end = dot(n, d) - p[0], 0.0
    if is_beyond(p, CURVE, at):
        n = scale(-1.0, n) if dot(n, d) < 0.0 else n
        g, open_end = math.sqrt(dot(d, d)), 1.0
    touching(out, g, open_end, n, t, scale(-p[0], n))


@law_kernel
def flat_face(p, u, x, out):
    """Kernel of the gap between a flat face and a cam, p = (m, 0, the curve).

    g = n · y − max n · c, n = −m across the face, m in the child's axes
    """
    n = scale(-1.0, mul(load9(x, 3), load3(p, 0)))
    d = sub(curve_at(p, CURVE, farthest(p, CURVE, n))[0], load3(x, 0))
    touching(out, -dot(n, d), 0.0, n, across(n), d)


class CamRoller(FrameContact, kind="cam-roller"):
    """Roller on the child in contact with a plane cam on the parent.

    g = N·(y − c) − radius, at the nearest point c of its profile.

    The profile is a cubic spline in the x-y plane of the parent frame; the axis of the roller,
    through the origin of the child frame, is along z. Concave parts must be less curved than the
    roller, so that it touches at one point. A closed profile is touched from outside, an open one
    on the left of its direction; beyond its ends the contact is open. Source: docs/theory.md,
    section 40.

    Parameters
    ----------
    points : rows of 2 floats [m]
        Points of the profile in the parent frame, at least 3.
    radius : float [m]
        Radius of the roller; 0: a knife edge.
    closed : bool
        Connect the last point to the first.
    reverse : bool
        Touch the other side: closed profiles from inside, open ones on the right.

    Examples
    --------
    >>> import numpy as np
    >>> import flexmbs as fm
    >>> a = np.linspace(0.0, 2.0 * np.pi, 121)[:-1]
    >>> eccentric = np.column_stack([0.02 + 0.05 * np.cos(a), 0.05 * np.sin(a)])
    >>> model = fm.Model("cam", gravity=(0, 0, 0))
    >>> cam, follower = (
    ...     model.add(fm.RigidBody(name, mass=1.0, inertia=(1e-3, 1e-3, 1e-3)))
    ...     for name in ("cam", "follower")
    ... )
    >>> shaft = model.add(fm.Revolute("shaft", model.ground, cam, axis="z"))
    >>> guide = model.add(fm.Prismatic("guide", model.ground, follower, axis="x", q0=0.09))
    >>> touch = model.add(fm.CamRoller("touch", cam, follower, points=eccentric, radius=0.015))
    >>> run = fm.simulate(model, t_end=0.01, step=0.01, integrator="moreau-jean")
    >>> round(run.contact("touch").gap[0].item(), 6)  # 0.09 − (0.02 + 0.05 + 0.015)
    0.005
    """

    points: PlanePoints = dataclasses.field(kw_only=True)
    radius: Nonnegative
    closed: Switch = True
    reverse: Switch = False

    @model_validator(mode="after")
    def _fits_its_hollows(self) -> "CamRoller":
        """Raise `NestedError` if the roller is larger than a concave radius of the cam."""
        if self.closed:
            require_outline("points", self.points)
        hollow = float(sharpest(curve_numbers(self.points, self.closed), self._side()))
        if self.radius * hollow > 1.0:
            text = (
                f"{self.radius:g} is above the least radius of curvature of a concave part, "
                f"{1.0 / hollow:.3g}; reduce it"
            )
            raise NestedError.at(("radius",), text)
        return self

    def _side(self) -> float:
        """1 if the roller is on the left of the profile, −1 if on its right."""
        left = not (self.closed and area(self.points) > 0.0)
        return 1.0 if left != self.reverse else -1.0

    @property
    def size(self) -> float:
        return min(self.radius or math.inf, half_width(self.points))

    def shape(self) -> tuple[LawKernel, tuple[float, ...]]:
        """Kernel of the gap of a roller on a curve, and its parameters."""
        return roller, (
            self.radius,
            self._side(),
            0.0,
            0.0,
            *curve_numbers(self.points, self.closed),
        )


class CamFace(FrameContact, kind="cam-face"):
    """Flat face on the child in contact with a closed plane cam on the parent.

    g = n·(y − c) at the point c farthest along n.

    The profile is a cubic spline in the x-y plane of the parent frame. The face is unbounded and
    goes through the origin of the child frame. Source: docs/theory.md, section 40.

    Parameters
    ----------
    points : rows of 2 floats [m]
        Points of the closed profile in the parent frame, at least 3.
    normal : direction
        Normal of the face in the child frame, towards the cam, in the plane of the cam.

    Examples
    --------
    >>> import numpy as np
    >>> import flexmbs as fm
    >>> a = np.linspace(0.0, 2.0 * np.pi, 121)[:-1]
    >>> eccentric = np.column_stack([0.02 + 0.05 * np.cos(a), 0.05 * np.sin(a)])
    >>> model = fm.Model("cam", gravity=(0, 0, 0))
    >>> cam, follower = (
    ...     model.add(fm.RigidBody(name, mass=1.0, inertia=(1e-3, 1e-3, 1e-3)))
    ...     for name in ("cam", "follower")
    ... )
    >>> shaft = model.add(fm.Revolute("shaft", model.ground, cam, axis="z", q0=np.pi / 3))
    >>> guide = model.add(fm.Prismatic("guide", model.ground, follower, axis="x", q0=0.07))
    >>> touch = model.add(fm.CamFace("touch", cam, follower, points=eccentric, normal="-x"))
    >>> run = fm.simulate(model, t_end=0.01, step=0.01, integrator="moreau-jean")
    >>> round(run.contact("touch").gap[0].item(), 6)  # x − (R + e cos φ) = 0.07 − 0.06
    0.01
    """

    points: PlanePoints = dataclasses.field(kw_only=True)
    normal: Axis

    @model_validator(mode="after")
    def _has_an_outside(self) -> "CamFace":
        """Raise `NestedError` unless the points form an outline."""
        require_outline("points", self.points)
        return self

    @property
    def size(self) -> float:
        return half_width(self.points)

    def shape(self) -> tuple[LawKernel, tuple[float, ...]]:
        """Kernel of the gap of a flat face on a cam, and its parameters."""
        return flat_face, (*self.normal, 0.0, *curve_numbers(self.points, closed=True))
