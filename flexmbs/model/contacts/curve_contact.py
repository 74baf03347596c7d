"""Contact of two plane curves of any shape, one on each frame.

General cams and followers, gear teeth, Geneva drives.

For a point y = c₁(u₁) of the parent's curve in the axes of the child, the signed distance to the
child's curve with outward normal N₂ is


    s(u₁) = N₂ · (y − c₂(u₂)),  (y − c₂) · c₂' = 0,      g = min s,  s' = N₂ · y' = 0:

at the common normal; z in the axes of the child does not enter, so its profile is a cylinder along
z. Every evaluation searches for all minima and is thus a function of the pose alone. Litvin and
Fuentes, Gear Geometry and Applied Theory (2004), chapter 6 (conjugate profiles); Pfeiffer and
Glocker (1996), the chapter on contact kinematics; docs/theory.md, section 40.
"""

import math
from typing import ClassVar

import numpy as np
from pydantic import model_validator

from flexmbs.algebra.vectors import add, dot, load3, load9, mul, scale, sub
from flexmbs.law_kernel import LawKernel, LawPart, law_kernel
from flexmbs.model.contacts.contact import FrameContact, touching
from flexmbs.model.curves import (
    KNOTS,
    SAMPLES,
    PlanePoints,
    area,
    curve_at,
    curve_numbers,
    half_width,
    is_beyond,
    nearest,
    require_outline,
)  # fmt: skip
from flexmbs.model.fields import Switch, Vector

# indices in the parameters
SIDE_1, SIDE_2, AT_2, AT_SAMPLES_1, N_1, AT_SAMPLES_2, N_2, CURVE_1 = range(8)
# relative to the length of the parent's curve: a second point this close also counts as touching
TWO = 1e-6
SAME = 1e-9  # relative to the length: closer points are identical
# sine of the angle between the normals of both curves at a minimum of s: far above round-off;
# larger where s has a corner
COMMON = 1e-6
ROOT, EXACT = 200, 1e-14  # largest number of iterations; last bracket relative to the length


@LawPart
def left_of(t):
    """Unit normal on the left of a tangent in the plane"""
    size = math.sqrt(t[0] * t[0] + t[1] * t[1])
    return (-t[1] / size, t[0] / size, 0.0)


@LawPart
def in_child(R, d):
    """Product Rᵀ d in the plane"""
    return (R[0] * d[0] + R[3] * d[1] + R[6] * d[2], R[1] * d[0] + R[4] * d[1] + R[7] * d[2], 0.0)


@LawPart
def closest_sample(p, y):
    """Parameter u₂ of the sample of the child's curve nearest to y."""
    best, least = 0.0, math.inf
    at = int(p[AT_SAMPLES_2])
    for k in range(int(p[N_2])):
        a, b = p[at + 3 * k] - y[0], p[at + 3 * k + 1] - y[1]
        if a * a + b * b < least:
            best, least = p[at + 3 * k + 2], a * a + b * b
    return best


@LawPart
def distance_at(p, x, v):
    """(s, s', u₂): distance of the curves at u₁ = ``v``, its derivative, nearest u₂."""
    R, o = load9(x, 3), int(p[AT_2])
    c, cu, _ = curve_at(p, CURVE_1, v)
    y, yu = in_child(R, sub(c, load3(x, 0))), in_child(R, cu)
    at = nearest(p, o, y, closest_sample(p, y))
    b, bu, _ = curve_at(p, o, at)
    n = scale(p[SIDE_2], left_of(bu))
    return dot(n, sub(y, b)), dot(n, yu), at


@LawPart
def minimum(p, x, low, high):
    """Parameter u₁ in [low, high] at which the distance s is smallest.

    By regula falsi (Illinois) and bisection, never closer to an end than half the last bracket, so
    that a root there is enclosed immediately; NaN if the sign does not change.
    """
    last = EXACT * p[CURVE_1 + KNOTS + int(p[CURVE_1 + 1]) - 1]
    _, a, _ = distance_at(p, x, low)
    _, b, _ = distance_at(p, x, high)
    if a > 0.0 or b < 0.0 or a == b:
        return math.nan
    v, side = low, 0
    for k in range(ROOT):
        v = low - a * (high - low) / (b - a) if k % 4 != 3 else 0.5 * (low + high)
        if high - low < last:
            break
        v = min(max(v, low + 0.5 * last), high - 0.5 * last)
        _, f, _ = distance_at(p, x, v)
        if f == 0.0:
            break
        if f < 0.0:
            low, a = v, f
            b = 0.5 * b if side < 0 else b
            side = -1
        else:
            high, b = v, f
            a = 0.5 * a if side > 0 else a
            side = 1
    return v


@LawPart
def touches_there(p, x, v, at):
    """True if the points u₁ = ``v`` and u₂ = ``at`` face each other and lie on their curves"""
    R, o = load9(x, 3), int(p[AT_2])
    n1 = in_child(R, scale(p[SIDE_1], left_of(curve_at(p, CURVE_1, v)[1])))
    n2 = scale(p[SIDE_2], left_of(curve_at(p, o, at)[1]))
    return dot(n1, n2) < 0.0 and not is_beyond(p, CURVE_1, v) and not is_beyond(p, o, at)


@LawPart
def closest_points(p, x):
    """Closest points (g, u₁, u₂, next larger minimum) over all minima of s.

    Without a minimum the smallest distance of samples, with u₁ negative.
    """
    n, at, size = int(p[N_1]), int(p[AT_SAMPLES_1]), p[CURVE_1 + KNOTS + int(p[CURVE_1 + 1]) - 1]
    closed = p[CURVE_1] > 0.0
    best, second, v1, v2, far = math.inf, math.inf, -1.0, -1.0, math.inf
    before, now = math.inf, math.inf
    if closed:
        before, now = (
            distance_at(p, x, p[at + 3 * (n - 2) + 2])[0],
            distance_at(p, x, p[at + 3 * (n - 1) + 2])[0],
        )
    else:
        now = distance_at(p, x, p[at + 2])[0]
    for i in range(n):
        # middle one of three samples, on closed curves starting with the last
        middle = (i - 1 + n) % n if closed else i
        follows = (middle + 1) % n if closed else middle + 1
        after = distance_at(p, x, p[at + 3 * follows + 2])[0] if follows < n else math.inf
        far = min(far, abs(now))
        if now <= before and now < after:
            m = p[at + 3 * middle + 2]
            low = p[at + 3 * ((middle - 1 + n) % n) + 2] if closed or middle > 0 else m
            high = p[at + 3 * follows + 2] if follows < n else m
            low = low - size if low > m else low
            high = high + size if high < m else high
            v = minimum(p, x, low, high)
            if v == v:
                s, _, b = distance_at(p, x, v)
                if touches_there(p, x, v, b):
                    if s < best:
                        second = best if abs(v - v1) > SAME * size else second
                        best, v1, v2 = s, v if v >= 0.0 else v + size, b
                    elif abs(v - v1) > SAME * size:
                        second = min(second, s)
        before, now = now, after
    return (best, v1, v2, second) if v2 >= 0.0 else (far, -1.0, -1.0, math.inf)


@law_kernel
def two_curves(p, u, x, out):
    """Kernel of the gap between two curves at their common normal.

    n = −R N₂ and c = c₁ + g n − r

    NaN if two points touch, if one point overlaps so far that two of the child are equally near, or
    if closed curves have no common normal.
    """
    R, o = load9(x, 3), int(p[AT_2])
    g, v, at, second = closest_points(p, x)
    if v < 0.0:
        both = p[CURVE_1] > 0.0 and p[o] > 0.0
        touching(
            out, math.nan if both else g, 1.0, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)
        )
        return
    c, cu, _ = curve_at(p, CURVE_1, v)
    normal, yu = left_of(curve_at(p, o, at)[1]), in_child(R, cu)
    limit = TWO * p[CURVE_1 + KNOTS + int(p[CURVE_1 + 1]) - 1]
    corner = abs(dot(normal, yu)) > COMMON * math.sqrt(dot(yu, yu))
    if g <= limit and (second <= limit or corner):
        g = math.nan
    n, t = mul(R, scale(-p[SIDE_2], normal)), mul(R, (normal[1], -normal[0], 0.0))
    touching(out, g, 0.0, n, t, add(sub(c, load3(x, 0)), scale(g, n)))


class CurveContact(FrameContact, kind="curve-contact"):
    """Contact of two plane curves, one on each frame.

    g = N₁ · (c₂ − c₁) along their common normal where they are closest.

    Each profile is a cubic spline in the x-y plane of its frame; the child's profile extends along
    z, so that an offset of the planes does not matter, and if they tilt the parent's curve touches
    this cylinder. Closed profiles are touched from outside, open ones on the left of their
    direction; beyond the ends of an open profile the contact is open. The contact has one point: if
    two points touch at the same time, as for two pairs of gear teeth or in a hollow more curved
    than the other profile, or the overlap exceeds the radius of curvature of the child's profile so
    that two of its points are equally near, the run stops; define a separate contact for each
    flank, or a stiffer law. Source: docs/theory.md, section 40.

    Parameters
    ----------
    points_parent : rows of 2 floats [m]
        Points of the profile in the parent frame, at least 3.
    points_child : rows of 2 floats [m]
        Points of the profile in the child frame, at least 3.
    closed_parent : bool
        Connect the last point of the parent's profile to the first.
    closed_child : bool
        Connect the last point of the child's profile to the first.
    reverse_parent : bool
        Touch the other side of the parent's profile: closed profiles from inside, open ones on
        the right.
    reverse_child : bool
        Touch the other side of the child's profile.

    Examples
    --------
    >>> import numpy as np
    >>> import flexmbs as fm
    >>> a = np.linspace(0.0, 2.0 * np.pi, 61)[:-1]
    >>> circle = np.column_stack([np.cos(a), np.sin(a)])
    >>> model = fm.Model("two discs", gravity=(0, 0, 0))
    >>> disc = model.add(fm.RigidBody("disc", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    >>> table = model.add(fm.Planar("table", model.ground, disc, axis="z", q0=(0.4, 0.3, 0.0)))
    >>> touch = model.add(
    ...     fm.CurveContact(
    ...         "touch", model.ground, disc, points_parent=0.3 * circle, points_child=0.1 * circle
    ...     )
    ... )
    >>> run = fm.simulate(model, t_end=0.01, step=0.01, integrator="moreau-jean")
    >>> round(run.contact("touch").gap[0].item(), 5)  # distance 0.5 less the radii
    0.1
    """

    points_parent: PlanePoints
    points_child: PlanePoints
    closed_parent: Switch = True
    closed_child: Switch = True
    reverse_parent: Switch = False
    reverse_child: Switch = False

    undefined: ClassVar[str] = (
        "its curves touch at two points at the same time, overlap by more than a radius of "
        "curvature, or one lies within the other; define a separate contact for each flank, or a "
        "stiffer law"
    )

    @model_validator(mode="after")
    def _has_an_outside(self) -> "CurveContact":
        """Raise `NestedError` unless closed curves form outlines."""
        for key in ("parent", "child"):
            if getattr(self, f"closed_{key}"):
                require_outline(f"points_{key}", getattr(self, f"points_{key}"))
        return self

    @property
    def size(self) -> float:
        return min(half_width(self.points_parent), half_width(self.points_child))

    def shape(self) -> tuple[LawKernel, tuple[float, ...]]:
        """Kernel of the gap between two curves, and its parameters: curves, samples, sides."""
        one, other = (
            curve_numbers(self.points_parent, self.closed_parent),
            curve_numbers(self.points_child, self.closed_child),
        )
        samples = _samples(one), _samples(other)
        sides = (
            _side(self.points_parent, self.closed_parent, self.reverse_parent),
            _side(self.points_child, self.closed_child, self.reverse_child),
        )
        at = np.cumsum([CURVE_1, len(one), len(other), len(samples[0])]).tolist()
        head = (*sides, at[1], at[2], len(samples[0]) / 3, at[3], len(samples[1]) / 3)
        return two_curves, (*map(float, head), *one, *other, *samples[0], *samples[1])


def _side(points: tuple[Vector, ...], closed: bool, reverse: bool) -> float:
    """1 if the left of the curve is touched, −1 if the right."""
    left = not (closed and area(points) > 0.0)
    return 1.0 if left != reverse else -1.0


def _samples(numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Samples (x, y, u): `SAMPLES` points of each segment, and the last point of an open curve."""
    n = int(numbers[1])
    u = np.interp(
        np.arange(SAMPLES * (n - 1) + 1) / SAMPLES, np.arange(n), numbers[KNOTS : KNOTS + n]
    )
    u = u[:-1] if numbers[0] else u
    return tuple(float(each) for v in u for each in (*curve_at(numbers, 0, float(v))[0][:2], v))
