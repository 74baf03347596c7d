"""Spline curves through points.

Field types of declarations, coefficients, and kernel parts that evaluate them.

c(u) is a cubic spline over the chord length u (C², natural ends, periodic if closed): c = Σ_k C[k]
(u − u_i)^(3 − k) between u_i and the next knot. Nearest point: f(u) = (c − y) · c' = 0 by Newton's
method. Piegl and Tiller, The NURBS Book (1997), section 6.1, for the projection of a point.

"""

import math
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from flexmbs.algebra.intervals import interval
from flexmbs.algebra.vectors import add, dot, load3, scale, sub
from flexmbs.declaration import NestedError
from flexmbs.law_kernel import LawPart
from flexmbs.model.fields import Vector, items, vector

CLOSED, COUNT, KNOTS = 0, 1, 2  # indices in the numbers of a curve; coefficients follow the knots
FARTHEST = 1e9  # m, largest coordinate of points: powers of lengths do not overflow
FLAT = 1e-12  # relative to the square of its length: smaller outlines enclose no area
BEYOND = 1e-6  # relative to the length: straight continuation of a curve beyond its ends
SAMPLES = 4  # per segment in a global search
# largest number of iterations (few are needed except near a centre of curvature); last step
# relative to the length
NEWTON, CLOSE = 100, 1e-14
GROWN = 1e-12  # relative growth of a squared distance above round-off
TRANSPORT = 16  # steps per segment


def _points(size: int, least: int) -> Any:
    """Field type of at least ``least`` points with ``size`` coordinates."""

    def check(value: object) -> tuple[Vector, ...]:
        """Validate a list of distinct points. Raises ValueError."""
        made = tuple(vector(point) for point in items(value))
        if len(made) < least:
            raise ValueError(f"must be at least {least} points, not {len(made)}")
        for k, point in enumerate(made):
            if len(point) != size:
                raise ValueError(f"point {k} must have {size} coordinates, not {len(point)}")
            if max(map(abs, point)) > FARTHEST:
                raise ValueError(f"point {k} is beyond {FARTHEST:g} m, {point}; positions are in m")
            if k and math.dist(point, made[k - 1]) == 0.0:
                raise ValueError(f"points {k - 1} and {k} are the same, {point}; remove one")
        return made

    return Annotated[Any, BeforeValidator(check)]


SpatialPoints = _points(3, 3)
PlanePoints = _points(2, 3)


def curve_numbers(through: tuple[Vector, ...], closed: bool) -> tuple[float, ...]:
    """Cubic spline through points as flat numbers, read by `curve_at`.

    (closed, n, u (n), C (n − 1, 3, 4))

    Plane points get z = 0.
    """
    from scipy.interpolate import CubicSpline  # import on demand: a third of a second

    x = np.zeros((len(through), 3))
    x[:, : len(through[0])] = through
    if closed and math.dist(x[0], x[-1]) > 0.0:
        x = np.vstack([x, x[:1]])
    u = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(x, axis=0), axis=1))])
    c = CubicSpline(u, x, bc_type="periodic" if closed else "natural").c
    return (
        float(closed),
        float(len(u)),
        *u.tolist(),
        *np.ascontiguousarray(c.transpose(1, 2, 0)).ravel().tolist(),
    )


def normals_along(numbers: tuple[float, ...], e: np.ndarray) -> np.ndarray:
    """Unit normals (n, 3) at the knots with the least twist about the tangent.

    e is transported in small steps, and the mismatch angle of a closed curve is distributed over
    its length. Bishop, Amer. Math. Monthly 82 (1975) 246.
    """
    n = int(numbers[COUNT])
    u = np.array(numbers[KNOTS : KNOTS + n])
    at = np.interp(np.arange(TRANSPORT * (n - 1) + 1) / TRANSPORT, np.arange(n), u)
    t = np.array([curve_at(numbers, 0, float(v))[1] for v in at])
    t /= np.linalg.norm(t, axis=1)[:, None]
    carried = np.zeros_like(t)
    for k in range(len(t)):
        before = carried[k - 1] if k else e if abs(e @ t[0]) < 0.9 else np.roll(e, 1)
        carried[k] = before - (before @ t[k]) * t[k]
        carried[k] /= np.linalg.norm(carried[k])
    if numbers[CLOSED]:
        missed = math.atan2(np.cross(carried[0], carried[-1]) @ t[0], carried[0] @ carried[-1])
        turn = -missed * at / at[-1]
        carried = np.cos(turn)[:, None] * carried + np.sin(turn)[:, None] * np.cross(t, carried)
    return carried[::TRANSPORT]


def area(through: tuple[Vector, ...]) -> float:
    """Twice the area of a closed plane polygon, positive if it runs counterclockwise."""
    x = np.array(through)
    after = np.roll(x, -1, axis=0)
    return float(np.sum(x[:, 0] * after[:, 1] - x[:, 1] * after[:, 0]))


def half_width(through: tuple[Vector, ...]) -> float:
    """Half of the longer side (m) of the bounding rectangle of the points."""
    return 0.5 * float(np.ptp(np.array(through)[:, :2], axis=0).max())


def require_outline(key: str, through: tuple[Vector, ...]) -> None:
    """Raise NestedError unless a closed profile turns exactly once.

    One that crosses itself, or is flat, has no outside.
    """
    numbers = curve_numbers(through, closed=True)
    if abs(area(through)) > FLAT * length_of(numbers) ** 2:
        n = int(numbers[COUNT])
        at = np.interp(
            np.arange(TRANSPORT * (n - 1) + 1) / TRANSPORT, np.arange(n), numbers[KNOTS : KNOTS + n]
        )
        angle = np.array(
            [math.atan2(cu[1], cu[0]) for cu in (curve_at(numbers, 0, float(u))[1] for u in at)]
        )
        turn = np.diff(np.unwrap(angle)[[0, -1]])[0] / (2.0 * math.pi)
        if abs(abs(turn) - 1.0) < 0.1:
            return
    raise NestedError.at(
        (key,), "the closed profile crosses itself or encloses nothing: it has no outside"
    )


def sharpest(numbers: tuple[float, ...], side: float) -> float:
    """Largest curvature (1/m) of a plane curve towards its left (side 1) or right (−1)."""
    n = int(numbers[COUNT])
    knots = np.array(numbers[KNOTS : KNOTS + n])
    found = 0.0
    for u in np.interp(np.arange(TRANSPORT * (n - 1) + 1) / TRANSPORT, np.arange(n), knots):
        _, (x, y, _), (xx, yy, _) = curve_at(numbers, 0, float(u))
        found = max(found, side * (x * yy - y * xx) / math.hypot(x, y) ** 3)
    return found


def length_of(numbers: tuple[float, ...]) -> float:
    """Chord length of a curve (m)."""
    return numbers[KNOTS + int(numbers[COUNT]) - 1]


@LawPart
def wrapped(p, o, u):
    """Parameter u within the period of a closed curve"""
    end = p[o + KNOTS + int(p[o + COUNT]) - 1]
    return u - math.floor(u / end) * end if p[o + CLOSED] > 0.0 else u


@LawPart
def curve_at(p, o, u):
    """Derivatives c, c', c'' of the curve whose numbers begin at p[o]; straight beyond its ends"""
    n = int(p[o + COUNT])
    first, last = o + KNOTS, o + KNOTS + n - 1
    inside = min(max(wrapped(p, o, u), p[first]), p[last])
    low = interval(p, first, n, inside)
    s, at = inside - p[first + low], last + 1 + 12 * low
    d, e = s * s, s * s * s
    c = (
        p[at] * e + p[at + 1] * d + p[at + 2] * s + p[at + 3],
        p[at + 4] * e + p[at + 5] * d + p[at + 6] * s + p[at + 7],
        p[at + 8] * e + p[at + 9] * d + p[at + 10] * s + p[at + 11],
    )
    cu = (
        3.0 * p[at] * d + 2.0 * p[at + 1] * s + p[at + 2],
        3.0 * p[at + 4] * d + 2.0 * p[at + 5] * s + p[at + 6],
        3.0 * p[at + 8] * d + 2.0 * p[at + 9] * s + p[at + 10],
    )
    cuu = (
        6.0 * p[at] * s + 2.0 * p[at + 1],
        6.0 * p[at + 4] * s + 2.0 * p[at + 5],
        6.0 * p[at + 8] * s + 2.0 * p[at + 9],
    )
    beyond = u - inside if p[o + CLOSED] == 0.0 else 0.0
    if beyond != 0.0:
        return add(c, scale(beyond, cu)), cu, (0.0, 0.0, 0.0)
    return c, cu, cuu


@LawPart
def normal_at(p, o, a, u):
    """Linear interpolation at u of the normals at the knots, which begin at p[a]"""
    n = int(p[o + COUNT])
    inside = min(max(wrapped(p, o, u), p[o + KNOTS]), p[o + KNOTS + n - 1])
    i = 0
    while i < n - 2 and inside >= p[o + KNOTS + i + 1]:
        i += 1
    part = (inside - p[o + KNOTS + i]) / (p[o + KNOTS + i + 1] - p[o + KNOTS + i])
    return add(scale(1.0 - part, load3(p, a + 3 * i)), scale(part, load3(p, a + 3 * i + 3)))


@LawPart
def nearest_sample(p, o, y):
    """Parameter u of the sample nearest to y.

    Samples are the knots and `SAMPLES` − 1 points between any two.
    """
    n, best, least = int(p[o + COUNT]), 0.0, math.inf
    for i in range(n - 1):
        a, b = p[o + KNOTS + i], p[o + KNOTS + i + 1]
        for k in range(SAMPLES + 1):
            u = a + (b - a) * k / SAMPLES
            d = sub(curve_at(p, o, u)[0], y)
            if dot(d, d) < least:
                best, least = u, dot(d, d)
    return best


@LawPart
def nearest(p, o, y, u):
    """Parameter u of the point nearest to y, (c − y) · c' = 0, by Newton's method from u.

    Steps of at most a tenth of the length, halving if they leave a bracket: `low` and `high`
    enclose a minimum once both are finite.
    """
    size = p[o + KNOTS + int(p[o + COUNT]) - 1]
    reach = size / (p[o + COUNT] - 1.0)
    low, high, best, least = -math.inf, math.inf, u, math.inf
    for _ in range(NEWTON):
        c, cu, cuu = curve_at(p, o, u)
        d = sub(c, y)
        rise, distance = dot(d, cu), dot(d, d)
        # a minimum lies between here and the best point
        passed = distance > least + GROWN * size * size
        if u > best if passed else rise > 0.0:
            high = u
        else:
            low = u
        if distance < least:
            best, least = u, distance
        slope = dot(cu, cu) + dot(d, cuu)
        step = -rise / slope if slope > 0.0 else math.copysign(0.1 * reach, -rise)
        step = min(max(step, -0.1 * size), 0.1 * size)
        if not low < u + step < high and abs(step) >= CLOSE * size:
            step = 0.5 * (low + high) - u
        u += step
        if abs(step) < CLOSE * size:
            break
    return wrapped(p, o, u)


@LawPart
def farthest(p, o, n):
    """Parameter u of the point farthest along n, n · c' = 0.

    By Newton's method from the best sample.
    """
    count, best, most = int(p[o + COUNT]), 0.0, -math.inf
    for i in range(count - 1):
        a, b = p[o + KNOTS + i], p[o + KNOTS + i + 1]
        for k in range(SAMPLES):
            u = a + (b - a) * k / SAMPLES
            along = dot(curve_at(p, o, u)[0], n)
            if along > most:
                best, most = u, along
    size = p[o + KNOTS + count - 1]
    reach = size / (count - 1)
    for _ in range(NEWTON):
        _, cu, cuu = curve_at(p, o, best)
        slope, rise = dot(cuu, n), dot(cu, n)
        step = -rise / slope if slope < 0.0 else math.copysign(0.1 * reach, rise)
        step = min(max(step, -0.25 * reach), 0.25 * reach)
        best += step
        if abs(step) < CLOSE * size:
            break
    return wrapped(p, o, best)


@LawPart
def is_beyond(p, o, u):
    """True if u is outside the ends of an open curve, by more than round-off"""
    end = p[o + KNOTS + int(p[o + COUNT]) - 1]
    return p[o + CLOSED] == 0.0 and (u < -BEYOND * end or u > (1.0 + BEYOND) * end)
