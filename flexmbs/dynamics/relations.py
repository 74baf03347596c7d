"""Relations: constraint equations between two frames that are not the complement of a joint's freedoms.

Every row is the velocity of one material point c of the child along one direction d, both told in the child's axes, relative to
the parent: d · (v + ω × c), so its covector on the relative twist (v, ω) is (d, c × d). Directions fixed in the parent turn with
ḋ = d × ω there. The rate of a row is ḋ · (v + ω × c) + d · (v̇ + ω̇ × c + ω × ċ).

Rolling on the plane with the normal n: the contact point of a wheel with the axle a is c = R u − ρ n with u = −m/|m|,
m = n − (n·a) a, and its height g = n · (x + c) with x the centre relative to a point of the plane; rows are n, the direction of
the track t₁ = a × n/|m| and the one across it t₂ = n × t₁ (Neimark & Fufaev, Dynamics of Nonholonomic Systems, 1972, ch. I).
"""

import math

from flexmbs._jit import part
from flexmbs.algebra.small import ZERO3, add, cross, dot, load3_at, mul, scale, store3_at, sub, tmul
from flexmbs.system.records import (
    AXLE, CENTRE_RADIUS, CLOSED_ROWS, CUT_KIND, CUT_ROW, CUT_VALUES, DIRECTIONS, FIRST_TANGENT, G_ACCELERATION, G_POSITION,
    G_VELOCITY, KNIFE_AXIS, KNIFE_EDGE, PLANE, RIM_RADIUS, ROLLING_DISC, SECOND_TANGENT, SPHERE_RADIUS, TRACK, WATCHED,
)  # fmt: skip

LEANING = 0.5  # sine of that angle, below which a reversal of the track is a fall
FLAT = 1e-9  # sine of the angle between axle and normal, below which a wheel lies flat and has no single contact point


@part
def load3_from(a, o):
    """Entries o … o+2."""
    return (a[o], a[o + 1], a[o + 2])


@part
def point_row(cut, gs, k, row, r, d, dd, c, cd, v, w, av, aw):
    """Row r of cut k: the velocity of the point c (rate ċ) along d (rate ḋ), no position."""
    at = CLOSED_ROWS + 6 * r
    store3_at(cut, k, at, d)
    store3_at(cut, k, at + 3, cross(c, d))
    u = add(v, cross(w, c))
    du = add(av, add(cross(aw, c), cross(w, cd)))
    gs[G_POSITION, row + r] = 0.0
    gs[G_VELOCITY, row + r] = dot(d, u)
    gs[G_ACCELERATION, row + r] = dot(dd, u) + dot(d, du)


@part
def rolling_disc(relations, at, followed, cut, gs, k, row, Rr, x, v, w, av, aw):
    """Contact and no slip of a wheel. In a time loop a wheel that fell flat since the last accepted step, when its contact point
    jumps to the other side of the rim, gives no numbers: the step is refused."""
    n = tmul(Rr, load3_from(relations, at + PLANE))
    a = load3_from(relations, at + AXLE)
    R = relations[at + CENTRE_RADIUS]
    rim = relations[at + RIM_RADIUS]
    m = sub(n, scale(dot(n, a), a))
    size = max(math.sqrt(dot(m, m)), FLAT)
    u = scale(-1.0 / size, m)
    c = sub(scale(R, u), scale(rim, n))
    nd = cross(n, w)
    md = sub(nd, scale(dot(nd, a), a))
    ud = scale(-1.0 / size, sub(md, scale(dot(u, md), u)))
    cd = sub(scale(R, ud), scale(rim, nd))
    t1 = scale(1.0 / size, cross(a, n))
    t1d = scale(1.0 / size, add(cross(a, nd), scale(dot(u, md), t1)))
    t2 = cross(n, t1)
    t2d = add(cross(nd, t1), cross(n, t1d))
    point_row(cut, gs, k, row, 0, n, nd, c, cd, v, w, av, aw)
    point_row(cut, gs, k, row, 1, t1, t1d, c, cd, v, w, av, aw)
    point_row(cut, gs, k, row, 2, t2, t2d, c, cd, v, w, av, aw)
    gs[G_POSITION, row] = dot(n, add(x, c))
    track = mul(Rr, t1)
    store3_at(cut, k, DIRECTIONS, track)
    if followed[k, WATCHED] == 1.0 and size < LEANING and dot(track, load3_at(followed, k, TRACK)) < 0.0:
        gs[G_POSITION, row] = math.nan
        gs[G_VELOCITY, row] = math.nan
        gs[G_ACCELERATION, row] = math.nan


@part
def rolling_sphere(relations, at, cut, gs, k, row, Rr, x, v, w, av, aw):
    """Contact and no slip of a sphere; rows along the normal and two directions fixed in the plane."""
    n = tmul(Rr, load3_from(relations, at + PLANE))
    nd = cross(n, w)
    c = scale(-relations[at + SPHERE_RADIUS], n)
    cd = scale(-relations[at + SPHERE_RADIUS], nd)
    t1 = tmul(Rr, load3_from(relations, at + FIRST_TANGENT))
    t2 = tmul(Rr, load3_from(relations, at + SECOND_TANGENT))
    point_row(cut, gs, k, row, 0, n, nd, c, cd, v, w, av, aw)
    point_row(cut, gs, k, row, 1, t1, cross(t1, w), c, cd, v, w, av, aw)
    point_row(cut, gs, k, row, 2, t2, cross(t2, w), c, cd, v, w, av, aw)
    gs[G_POSITION, row] = dot(n, add(x, c))


@part
def relation_rows(cuts, relations, followed, cut, gs, k, Rr, x, v, w, av, aw):
    """Covectors, values and rates of the rows of cut k, which is a relation; place x of the child, its twist and the rate of that
    relative to the parent, all in the child's axes."""
    kind = cuts[k, CUT_KIND]
    row = cuts[k, CUT_ROW]
    at = cuts[k, CUT_VALUES]
    if kind == KNIFE_EDGE:
        point_row(cut, gs, k, row, 0, load3_from(relations, at + KNIFE_AXIS), ZERO3, ZERO3, ZERO3, v, w, av, aw)
    elif kind == ROLLING_DISC:
        rolling_disc(relations, at, followed, cut, gs, k, row, Rr, x, v, w, av, aw)
    else:
        rolling_sphere(relations, at, cut, gs, k, row, Rr, x, v, w, av, aw)
