"""Two kinds of relations and a shape of contacts from outside the package."""

import math

from flexmbs.algebra.vectors import cross, dot, load3, load9, mul, scale, sub
from flexmbs.law_kernel import LawKernel, LawPart, Row, law_kernel
from flexmbs.model.contacts.contact import FrameContact, touching
from flexmbs.model.fields import Axis, Number, Positive
from flexmbs.model.joints import normal_directions
from flexmbs.model.relations.relation import Relation, Rolling, point_row


@LawPart
def unit_rate(u, m, md):
    """Rate of u = m/|m|, (ṁ − (u · ṁ) u)/|m|"""
    return scale(1.0 / math.sqrt(dot(m, m)), sub(md, scale(dot(u, md), u)))


@law_kernel
def rolling_in_bowl(p, u, x, out):
    """g = R − r − |x| with n = −x/|x|; no slip at c = −r n along t₁ = k × n/|k × n| and t₂ = n ×
    t₁; p = (k, R − r, r)
    """
    y, A, v, w = load3(x, 1), load9(x, 4), load3(x, 13), load3(x, 16)
    distance = math.sqrt(dot(y, y))
    n = scale(-1.0 / distance, y)
    nd = unit_rate(n, scale(-1.0, y), sub(cross(w, y), v))
    k = (dot(p, (A[0], A[3], A[6])), dot(p, (A[1], A[4], A[7])), dot(p, (A[2], A[5], A[8])))
    m, kd = cross(k, n), cross(k, w)
    md = sub(cross(kd, n), cross(nd, k))
    t1 = scale(1.0 / math.sqrt(dot(m, m)), m)
    t1d = unit_rate(t1, m, md)
    t2, t2d = cross(n, t1), sub(cross(nd, t1), cross(t1d, n))
    c, cd = scale(-p[4], n), scale(-p[4], nd)
    point_row(out, 0, p[3] - distance, n, nd, c, cd, v, w)
    point_row(out, 1, 0.0, t1, t1d, c, cd, v, w)
    point_row(out, 2, 0.0, t2, t2d, c, cd, v, w)


class RollingInBowl(Rolling, kind="rolling-in-bowl"):
    """A sphere of ``radius`` that rolls without slip inside a spherical ``bowl`` (its radius) about
    the parent's origin.
    """

    radius: Positive
    bowl: Positive

    def row(self) -> Row:
        return Row(rolling_in_bowl, (0.0, 0.0, 1.0, self.bowl - self.radius, self.radius))


@law_kernel
def steered_edge(p, u, x, out):
    """d · v with d = (−sin Ω t, cos Ω t, 0) in the child's axes, p = (Ω)"""
    si, co = math.sin(p[0] * x[0]), math.cos(p[0] * x[0])
    zero = (0.0, 0.0, 0.0)
    point_row(
        out,
        0,
        0.0,
        (-si, co, 0.0),
        (-p[0] * co, -p[0] * si, 0.0),
        zero,
        zero,
        load3(x, 13),
        load3(x, 16),
    )


class SteeredEdge(Relation, kind="steered-edge"):
    """A blade that rotates about its frame's z axis at ``rate`` (rad/s)."""

    rate: Number

    @property
    def rows(self) -> int:
        return 1

    @property
    def position_rows(self) -> int:
        return 0

    def row(self) -> Row:
        return Row(steered_edge, (self.rate,))


@law_kernel
def disc_over_plane(p, u, x, out):
    """g = n · (x + c) with c = −R m/|m|, m = n − (n · a) a of the axle a; p = (n, t, a in the
    child's axes, R)
    """
    n, a = load3(p, 0), mul(load9(x, 3), load3(p, 6))
    m = sub(n, scale(dot(n, a), a))
    c = scale(-p[9] / math.sqrt(dot(m, m)), m)
    touching(out, dot(n, load3(x, 0)) + dot(n, c), 0.0, n, load3(p, 3), c)


class DiscPlane(FrameContact, kind="disc-plane"):
    """Sharp disc of ``radius`` about frame ``child`` with the axle ``axis`` there, over the plane
    through frame ``parent``.
    """

    radius: Positive
    axis: Axis = "y"
    normal: Axis = "z"

    def shape(self) -> tuple[LawKernel, tuple[float, ...]]:
        return disc_over_plane, (
            *self.normal,
            *normal_directions(self.normal)[0],
            *self.axis,
            self.radius,
        )
