"""Contact of two curves: gaps of circles and ellipses, gear teeth, two points at once, curves
within each other.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import flexmbs as fm
from flexmbs.model.curves import curve_at, curve_numbers, length_of, nearest, nearest_sample


def circle(radius: float, n: int = 48) -> list[tuple[float, float]]:
    return [
        (radius * math.cos(a), radius * math.sin(a))
        for a in np.linspace(0.0, 2.0 * np.pi, n + 1)[:-1]
    ]


def ellipse(n: int = 80) -> list[tuple[float, float]]:
    return [
        (0.1 * math.cos(a), 0.06 * math.sin(a)) for a in np.linspace(0.0, 2.0 * np.pi, n + 1)[:-1]
    ]


class Placed:
    """A contact of two curves whose child is at (x, y), turned by an angle."""

    def __init__(self, one, other, **options) -> None:
        kernel, parameters = fm.CurveContact(
            "c", "ground", "b", points_parent=one, points_child=other, **options
        ).shape()
        self.kernel, self.p = kernel, np.array(parameters)

    def at(self, x: float, y: float, angle: float = 0.0, tilt: float = 0.0) -> np.ndarray:
        turned = np.array(
            [
                [math.cos(angle), -math.sin(angle), 0],
                [math.sin(angle), math.cos(angle), 0],
                [0, 0, 1.0],
            ]
        )
        tilted = np.array(
            [[1.0, 0, 0], [0, math.cos(tilt), -math.sin(tilt)], [0, math.sin(tilt), math.cos(tilt)]]
        )
        out = np.zeros(11)
        self.kernel.value(
            self.p, np.zeros(3), np.array([x, y, 0.2, *(turned @ tilted).ravel()]), out
        )
        return out


@pytest.mark.parametrize("angle", [0.0, 0.7, 4.0])
def test_two_circles(angle: float) -> None:
    contact = Placed(circle(0.1), circle(0.07))
    for x, y in ((0.2, 0.1), (0.1, -0.13), (0.12, 0.11), (-0.17, 0.0), (0.5, 2.0)):
        out, distance = contact.at(x, y, angle), math.hypot(x, y)
        assert out[0] == pytest.approx(distance - 0.17, abs=2e-6)
        assert out[2:5] == pytest.approx([x / distance, y / distance, 0.0], abs=1e-4)
        assert out[8:10] == pytest.approx([-0.07 * x / distance, -0.07 * y / distance], abs=1e-5)


def test_ring_around_a_circle() -> None:
    """R − r − |r|, the ring touched from inside, as parent and as child."""
    for contact in (
        Placed(circle(0.1), circle(0.07), reverse_parent=True),
        Placed(circle(0.07), circle(0.1), reverse_child=True),
    ):
        out = contact.at(0.012, 0.016, 0.3)
        assert out[0] == pytest.approx(0.01, abs=2e-6)
        assert out[2:4] == pytest.approx([-0.6, -0.8], abs=1e-3)


@pytest.mark.parametrize("gap", [0.02, 1e-5, -1e-3])
@pytest.mark.parametrize("a", [0.3, 1.2, 2.5, 4.0])
def test_circle_on_an_ellipse(a: float, gap: float) -> None:
    """The centre on the offset curve of the ellipse; parent and child exchanged."""
    point, n = (
        np.array([0.1 * math.cos(a), 0.06 * math.sin(a)]),
        np.array([0.06 * math.cos(a), 0.1 * math.sin(a)]),
    )
    centre = point + (0.03 + gap) * n / np.linalg.norm(n)
    out = Placed(ellipse(), circle(0.03)).at(*centre, 1.1)
    assert out[0] == pytest.approx(gap, abs=2e-7)
    assert out[2:4] == pytest.approx(n / np.linalg.norm(n), abs=5e-5)
    assert Placed(circle(0.03), ellipse()).at(*-centre)[0] == pytest.approx(gap, abs=2e-7)


def outline(rng: np.random.Generator, waves: float) -> np.ndarray:
    """Points (n, 2) of a random outline, an ellipse without waves."""
    n = int(rng.integers(8, 25))
    a, r = 2.0 * np.pi * np.arange(n) / n, 1.0 + waves * rng.uniform(-1.0, 1.0, n)
    return np.column_stack(
        [r * np.cos(a), rng.uniform(0.4, 1.0) * r * np.sin(a)]
    ) * 10.0 ** rng.uniform(-2.0, 1.5)


def test_nearest_points_are_exact_as_far_as_the_centre_of_curvature() -> None:
    """(c − y) · c' = 0 within round-off and the last step, for points whose distance is nearly the
    radius of curvature.
    """
    rng = np.random.default_rng(0)
    for k in range(1000):
        numbers = curve_numbers(tuple(map(tuple, outline(rng, 0.3 * (k % 2)))), closed=True)
        size = length_of(numbers)
        c, t, b = (np.array(each) for each in curve_at(numbers, 0, rng.uniform(0.0, size)))
        centre = c + np.array([-t[1], t[0], 0.0]) * (t @ t) / (t[0] * b[1] - t[1] * b[0])
        y = centre + 10.0 ** rng.uniform(-8.0, 0.0) * (c - centre)
        first = nearest_sample(numbers, 0, tuple(y))
        c, t, b = (
            np.array(each) for each in curve_at(numbers, 0, nearest(numbers, 0, tuple(y), first))
        )
        d, slope = c - y, abs(t @ t + (c - y) @ b)
        assert abs(d @ t) <= 1e-14 * (
            (np.linalg.norm(d) + np.linalg.norm(c)) * np.linalg.norm(t) + slope * size
        )
        assert np.linalg.norm(d) <= (1.0 + 1e-12) * np.linalg.norm(
            np.array(curve_at(numbers, 0, first)[0]) - y
        )


def test_knots_that_face_each_other() -> None:
    """The contact point is a knot of both curves, where searches end at once or creep to it."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        one, other = outline(rng, 0.0), outline(rng, 0.0)
        at, normals = [], []
        for points in (one, other):
            numbers = curve_numbers(tuple(map(tuple, points)), closed=True)
            c, t, _ = curve_at(numbers, 0, float(numbers[2 + int(rng.integers(len(points)))]))
            at.append(np.array(c[:2]))
            normals.append(np.array([t[1], -t[0]]) / math.hypot(*t[:2]))
        angle = math.atan2(-normals[0][1], -normals[0][0]) - math.atan2(
            normals[1][1], normals[1][0]
        )
        turned = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        gap = rng.uniform(-0.05, 0.5) * min(np.abs(one).max(), np.abs(other).max())
        out = Placed(one, other).at(*(at[0] + gap * normals[0] - turned @ at[1]), angle)
        size = np.abs(one).max() + np.abs(other).max()
        assert out[0] == pytest.approx(gap, abs=1e-13 * size)
        assert out[2:4] == pytest.approx(
            normals[0], abs=1e-11 * size / min(np.abs(one).max(), np.abs(other).max())
        )


def test_ring_on_a_tilted_cylinder() -> None:
    """A circle of the parent, seen from a tilted child, is an ellipse beside the cylinder of the
    child's circle.
    """
    tilt = 0.4
    out = Placed(circle(0.1), circle(0.07)).at(0.0, 0.3, 0.0, tilt)
    # Rᵀ(c₁ − r) at c₁ = (0, 0.1, 0), r = (0, 0.3, 0.2)
    assert out[0] == pytest.approx(0.2 * math.cos(tilt) + 0.2 * math.sin(tilt) - 0.07, abs=1e-6)
    assert out[2:5] == pytest.approx([0.0, math.cos(tilt), math.sin(tilt)], abs=1e-6)


def flank(base: float, toward: float) -> list[tuple[float, float]]:
    """An involute of the base circle, from it outwards, unwound towards ±y."""
    t = np.linspace(0.05, 1.1, 20)
    x, y = base * (np.cos(t) + t * np.sin(t)), toward * base * (np.sin(t) - t * np.cos(t))
    return list(zip(x.tolist(), y.tolist()))


def test_involute_teeth_have_a_constant_ratio() -> None:
    """φ₂ = −φ₁ r₁/r₂ of two involute flanks in contact, for any distance of the axes (Litvin and
    Fuentes 2004, chapter 10).
    """
    r1, r2 = 0.05, 0.08
    for distance in (0.138, 0.142):
        contact = Placed(
            flank(r1, 1.0),
            flank(r2, 1.0),
            closed_parent=False,
            closed_child=False,
            reverse_parent=True,
            reverse_child=True,
        )
        found = []
        for first in np.linspace(-0.12, 0.12, 3):
            # the child's frame in the axes of the parent, which is turned by ``first``
            centre = distance * math.cos(first), -distance * math.sin(first)

            def gap(
                turn: float, first: float = first, centre: Any = centre, contact: Placed = contact
            ) -> np.ndarray:
                return contact.at(*centre, math.pi + turn - first)

            where = [(turn, gap(turn)) for turn in np.linspace(-0.42, 0.42, 13)]
            signs = [
                (a, b)
                for (a, one), (b, two) in pairwise(where)
                if one[1] == two[1] == 0 and one[0] * two[0] < 0
            ]
            assert len(signs) == 1
            found.append(brentq(lambda turn, gap=gap: gap(turn)[0], *signs[0], xtol=1e-9))
        slopes = np.diff(found) / 0.12
        assert slopes == pytest.approx(-r1 / r2, abs=2e-4)


def peanut(n: int = 48) -> list[tuple[float, float]]:
    a = np.linspace(0.0, 2.0 * np.pi, n + 1)[:-1]
    r = 0.06 + 0.03 * np.cos(2 * a)
    return list(zip((r * np.cos(a)).tolist(), (r * np.sin(a)).tolist()))


def test_two_points_at_once_have_no_gap() -> None:
    """Large circle over the hollow of a peanut: one point beside the middle, two in the middle."""
    contact = Placed(peanut(), circle(0.2))
    above = [contact.at(0.0, y)[0] for y in (0.3, 0.27)]
    assert np.isfinite(above).all()
    touching = (
        brentq(lambda y: contact.at(0.0, y)[0], 0.22, 0.27)
        if np.isfinite(contact.at(0.0, 0.22)[0])
        else math.nan
    )
    assert math.isnan(touching)
    assert math.isnan(contact.at(0.0, 0.22)[0])
    assert contact.at(0.05, 0.26)[0] > 0.0
    small = Placed(peanut(), circle(0.01))
    assert math.isfinite(small.at(0.0, 0.0395)[0])
    assert small.at(0.0, 0.0395)[0] == pytest.approx(-0.0005, abs=1e-6)


def test_a_closed_contact_has_a_common_normal() -> None:
    """n is across the parent's tangent, or the gap is undefined: for overlaps of any depth, up to
    and beyond the child's radii of curvature.
    """
    rng, found = np.random.default_rng(3), []
    for _ in range(60):
        one, other = outline(rng, 0.1), outline(rng, 0.1)
        other *= rng.uniform(0.3, 1.0) * np.abs(one).max() / np.abs(other).max()
        contact, way = Placed(one.tolist(), other.tolist()), rng.uniform(0.0, 2.0 * np.pi)
        numbers = curve_numbers(tuple(map(tuple, one)), closed=True)
        for part in rng.uniform(0.2, 2.0, 8):
            x = part * np.abs(one).max() * np.array([math.cos(way), math.sin(way)])
            out = contact.at(*x, rng.uniform(0.0, 6.0))
            if not out[0] <= 0.0:
                found.append("undefined" if math.isnan(out[0]) else "open")
                continue
            touched = tuple(x + out[8:10] - out[0] * out[2:4])  # c₁ = r + c − g n
            y = (*touched, 0.0)
            u = nearest(numbers, 0, y, nearest_sample(numbers, 0, y))
            c, t, _ = (np.array(each)[:2] for each in curve_at(numbers, 0, u))
            assert np.linalg.norm(c - touched) < 1e-9 * np.abs(one).max()
            assert abs(out[2:4] @ t) < 2e-6 * np.linalg.norm(t)
            found.append("closed")
    assert min(found.count(each) for each in ("undefined", "open", "closed")) > 20


def test_what_has_no_common_normal() -> None:
    contact = Placed(circle(0.1), circle(0.02))
    assert math.isnan(contact.at(0.0, 0.001)[0])  # within the other
    line = Placed([(-0.1, 0.0), (0.0, 0.0), (0.1, 0.0)], circle(0.02), closed_parent=False)
    assert line.at(0.05, 0.03)[:2] == pytest.approx([0.01, 0.0], abs=1e-7)
    assert line.at(0.2, 0.03)[1] == 1.0  # beyond the end
