"""Points that slide along a curve: beads, slots, pins in grooves, cars on tracks.

The child's origin y is held at the nearest point c(u) of a curve on the parent, (y − c) · c' = 0,
by g_k = n_k · (y − c) with two normals n₁, n₂ of the curve. Since n_k stays perpendicular to the
tangent t, n_k' · t = −n_k · t', and on the curve


    ġ_k = n_k · ẏ,   g̈_k = n_k · ÿ − u̇ (n_k · t') (t · ẏ),   u̇ = c' · ẏ / (c'² + (c − y) · c'').

Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), section 3.3;
docs/theory.md, section 37.
"""

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np
from pydantic import model_validator

from flexmbs.algebra.vectors import add, cross, dot, load3, load9, mul, scale, store3, sub, tmul
from flexmbs.declaration import NestedError
from flexmbs.law_kernel import KEPT, ROW, Row, law_kernel
from flexmbs.model.curves import (
    SpatialPoints,
    curve_at,
    curve_numbers,
    is_beyond,
    length_of,
    nearest,
    nearest_sample,
    normal_at,
    normals_along,
)
from flexmbs.model.fields import Switch
from flexmbs.model.relations.relation import Relation, point_row

# index of the curve in the parameters, after the number of rows and the index of the normals
CURVE = 2
# rad, angle between a chord and the reversed previous chord: below, the curve has no tangent
TURNING_BACK = 1e-6
FLAT = 1e-9  # relative to its size: distance of the points of a plane curve from its plane


@law_kernel
def on_curve(p, u, x, out):
    """Kernel of the constraint of a point to a curve, g_k = n_k · (y − c(u)).

    k = 1 in the plane of the curve, 2 out of it

    p = (rows, index of the normals e, the curve, e at its knots); its memory is u.

    n₂ is e(u) without its component along the tangent, n₁ = n₂ × t. Beyond the ends the rows are
    NaN.

    """
    A, v, w = load9(x, 4), load3(x, 13), load3(x, 16)
    y, rate = mul(A, load3(x, 1)), mul(A, v)
    at = nearest(p, CURVE, y, u[1] if u[0] > 0.0 else nearest_sample(p, CURVE, y))
    out[0] = 1.0
    out[1] = at
    c, cu, cuu = curve_at(p, CURVE, at)
    d = sub(y, c)
    size = math.sqrt(dot(cu, cu))
    t = scale(1.0 / size, cu)
    turn = scale(1.0 / size, sub(cuu, scale(dot(cuu, t), t)))  # t'
    moves = dot(cu, rate) / max(size * size - dot(d, cuu), 1e-3 * size * size)  # u̇
    e = normal_at(p, CURVE, int(p[1]), at)
    second = sub(e, scale(dot(e, t), t))
    second = scale(1.0 / math.sqrt(dot(second, second)), second)
    first = cross(second, t)
    zero = (0.0, 0.0, 0.0)
    for k in range(int(p[0])):
        n = first if k == 0 else second
        nd = scale(-moves * dot(n, turn), t)
        here = tmul(A, n)
        point_row(out, k, dot(n, d), here, add(tmul(A, nd), cross(here, w)), zero, zero, v, w)
        if is_beyond(p, CURVE, at):
            store3(out, KEPT + ROW * k, (math.nan, math.nan, math.nan))


class PointOnCurve(Relation, kind="point-on-curve"):
    """The origin of the child frame slides along a curve of the parent.

    Two equations, g = n₁·(y − c), n₂·(y − c).

    The curve is a cubic spline through its points. A run that reaches an end of an open curve stops
    there. Source: docs/theory.md, section 37.


    Parameters
    ----------
    points : rows of 3 floats [m]
        Points of the curve in the parent frame, at least 3.
    closed : bool
        Connect the last point to the first.
    planar : bool
        Use only the equation in the plane of the curve, for mechanisms that other joints keep in
        this plane.

    Examples
    --------
    >>> import numpy as np
    >>> import flexmbs as fm
    >>> a = np.linspace(0.0, 2.0 * np.pi, 61)[:-1]
    >>> hoop = np.column_stack([np.sin(a), 0.0 * a, -np.cos(a)])
    >>> model = fm.Model("bead on a hoop", gravity=(0, 0, -9.0))
    >>> bead = model.add(fm.PointMass("bead", mass=0.1))
    >>> way = model.add(fm.Translation("way", model.ground, bead, q0=(0, 0, -1.0), v0=(2.0, 0, 0)))
    >>> wire = model.add(fm.PointOnCurve("wire", model.ground, bead, hoop, closed=True))
    >>> round(fm.state(model).sd[2].item(), 2)  # v²/r at the lowest point
    4.0
    """

    points: SpatialPoints = dataclasses.field(kw_only=False)
    closed: Switch = False
    planar: Switch = False

    extended: ClassVar[tuple[str, ...]] = ("parent",)
    undefined: ClassVar[str] = (
        "the point is beyond the ends of its curve; start within it, or add points"
    )
    lost: ClassVar[str] = (
        "point {names} has reached an end of its curve; end the run before it, or add points"
    )

    @property
    def rows(self) -> int:
        return 1 if self.planar else 2

    @property
    def among_equals(self) -> str:
        return self.name

    @property
    def extent(self) -> float:
        return float(np.ptp(np.array(self.points), axis=0).max())

    def row(self) -> Row:
        """Kernel of a point on a curve, with the spline and its normals."""
        numbers = curve_numbers(self.points, self.closed)
        normals = normals_along(numbers, self._across())
        return Row(
            on_curve,
            (float(self.rows), float(CURVE + len(numbers)), *numbers, *normals.ravel().tolist()),
        )

    def clearance(self, R: Any, x: Any) -> float:
        """Measure of distance from the ends of an open curve: 0 beyond, 1 well inside."""
        if self.closed:
            return 1.0
        numbers = curve_numbers(self.points, self.closed)
        u = nearest(numbers, 0, tuple(x), nearest_sample(numbers, 0, tuple(x)))
        end = min(u, length_of(numbers) - u) / length_of(numbers)
        return 0.0 if is_beyond(numbers, 0, u) else float(min(max(10.0 * end, 0.0) + 1e-3, 1.0))

    def _across(self) -> np.ndarray:
        """Unit normal of the plane of the curve.

        For a straight line any perpendicular direction, for a spatial curve the normal of the
        best-fitting plane.
        """
        x = np.array(self.points) - np.mean(self.points, axis=0)
        return np.linalg.svd(x)[2][2]

    @model_validator(mode="after")
    def _has_tangents(self) -> "PointOnCurve":
        """Raise `NestedError` if consecutive chords reverse the direction of the curve."""
        x = np.array(self.points)
        ends = np.vstack(
            [x, x[:2]]
            if self.closed and np.ptp(x[[0, -1]], axis=0).any()
            else [x, x[1:2]]
            if self.closed
            else [x]
        )
        chords = np.diff(ends, axis=0)
        chords /= np.linalg.norm(chords, axis=1)[:, None]
        back = np.flatnonzero(np.linalg.norm(chords[1:] + chords[:-1], axis=1) < TURNING_BACK)
        if len(back):
            k = (int(back[0]) + 1) % len(x)
            text = (
                f"the curve turns back on itself at point {k}, {self.points[k]}, where it has "
                "no tangent; correct or omit points"
            )
            raise NestedError.at(("points",), text)
        return self

    @model_validator(mode="after")
    def _has_normals(self) -> "PointOnCurve":
        """Raise `NestedError` if a planar curve has points outside of its plane."""
        x, e = np.array(self.points), self._across()
        if self.planar and np.abs((x - x[0]) @ e).max() > FLAT * np.ptp(x, axis=0).max():
            raise NestedError.at(
                ("planar",), "the points are not in a plane; omit it, or correct them"
            )
        return self
