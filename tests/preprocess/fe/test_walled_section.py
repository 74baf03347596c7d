"""Sections of any thin walls against the plane problems of Saint-Venant, and those that they are other ways of writing."""

import numpy as np
import pytest
from test_beams import NU, UP
from test_open_sections import saint_venant

import preprocess as pp
from flexmbs.errors import InputError

H, B, T = 0.06, 0.04, 0.003


def hat(h=H, b=B, brim=0.02, t=T):
    """A hat: top at the height h, upright walls, brims outward at its foot."""
    m, z = 0.5 * t, 0.5 * (b - t)
    walls = [
        (m, -z - m - brim, m, -z, t),
        (m, -z, h - m, -z, t),
        (h - m, -z, h - m, z, t),
        (h - m, z, m, z, t),
        (m, z, m, z + m + brim, t),
    ]
    rows = [[0, -0.5 * b - brim, t, -0.5 * b], [0, -0.5 * b, h, -0.5 * b + t], [h - t, -0.5 * b + t, h, 0.5 * b - t]]
    rows += [[0, 0.5 * b - t, h, 0.5 * b], [0, 0.5 * b, t, 0.5 * b + brim]]
    return walls, rows


def unequal_i(h=H, low=0.05, high=0.03, web=T, t=0.003, u=0.005):
    """An I of unequal flanges."""
    a, b = 0.5 * t, h - 0.5 * u
    walls = [
        (a, -0.5 * low, a, 0, t),
        (a, 0.5 * low, a, 0, t),
        (a, 0, b, 0, web),
        (b, 0, b, -0.5 * high, u),
        (b, 0, b, 0.5 * high, u),
    ]
    return walls, [[0, -0.5 * low, t, 0.5 * low], [t, -0.5 * web, h - u, 0.5 * web], [h - u, -0.5 * high, h, 0.5 * high]]


def unequal_box(h=H, b=B, t=(0.002, 0.003, 0.004, 0.002)):
    """A box with walls of four thicknesses: low and high along y, low and high along z."""
    low, high, left, right = t
    y, z = (0.5 * low, h - 0.5 * high), (0.5 * left, b - 0.5 * right)
    corners = [(y[0], z[0]), (y[1], z[0]), (y[1], z[1]), (y[0], z[1])]
    walls = [(*p, *q, s) for p, q, s in zip(corners, corners[1:] + corners[:1], (left, high, right, low))]
    return walls, [[0, 0, h, left], [0, b - right, h, b], [0, left, low, b - right], [h - high, left, h, b - right]]


def zed(h=H, b=0.03, t=T):
    walls = [(0.5 * t, -b, 0.5 * t, 0, t), (0.5 * t, 0, h - 0.5 * t, 0, t), (h - 0.5 * t, 0, h - 0.5 * t, b, t)]
    return walls, [[0, -b, t, -0.5 * t], [0, -0.5 * t, h, 0.5 * t], [h - t, 0.5 * t, h, b]]


def cross(h=H, b=B, upright=0.004, flat=T):
    walls = [(0, 0, -0.5 * h, 0, upright), (0.5 * h, 0, 0, 0, upright), (0, 0, 0, -0.5 * b, flat), (0, 0.5 * b, 0, 0, flat)]
    m, f = 0.5 * upright, 0.5 * flat
    return walls, [[-0.5 * h, -m, 0.5 * h, m], [-f, m, f, 0.5 * b], [-f, -0.5 * b, f, -m]]


SHAPES = {"hat": hat, "I": unequal_i, "box": unequal_box, "Z": zed, "cross": cross}


@pytest.mark.parametrize("name", SHAPES)
def test_properties_are_those_of_the_plane_problem(name):
    """A and I exact; J within 5 %, the shear centre within 1 % of the height: walls of a twentieth of it."""
    walls, rows = SHAPES[name]()
    rectangles = np.array(rows).reshape(-1, 2, 2)
    A, inertia, J, centre = saint_venant(rectangles)
    data = pp.WalledSection(walls, rectangles=rows, orientation=UP).data(NU)
    np.testing.assert_allclose(data.A, A, rtol=1e-9)
    np.testing.assert_allclose(data.turn @ inertia @ data.turn.T, np.diag([data.Iz, data.Iy]), atol=1e-9 * data.Iz)
    assert pytest.approx(J, rel=0.05) == data.J
    np.testing.assert_allclose(data.turn.T @ data.shear_centre, centre, atol=0.01 * H)


@pytest.mark.parametrize("seed", range(6))
def test_walls_in_any_order_and_direction_are_one_section(seed):
    """Properties do not depend on the order of the walls, nor on their directions and origin."""
    random = np.random.default_rng(seed)
    for make in SHAPES.values():
        walls = np.array(make()[0])
        plain = pp.WalledSection(walls.tolist(), orientation=UP).data(NU)
        other = walls[random.permutation(len(walls))]
        swap = random.random(len(walls)) < 0.5
        other[swap] = other[swap][:, [2, 3, 0, 1, 4]]
        other[:, :4] += np.tile(random.uniform(-1, 1, 2), 2)
        found = pp.WalledSection(other.tolist(), orientation=UP).data(NU)
        for k in (0, 1, 2, 3, 4, 5, 8, 9, 10):
            np.testing.assert_allclose(found[k], plain[k], rtol=1e-7, atol=1e-12)
        size = lambda data: np.ptp(data.outline, axis=0)  # noqa: E731
        np.testing.assert_allclose(size(found), size(plain), rtol=1e-6)


def test_other_sections_written_as_walls():
    """T, channel, angle and box: all properties but the outline are the same."""
    t, channel = pp.TSection(0.06, 0.05, 0.004, 0.005, orientation=UP), pp.ChannelSection(0.1, 0.05, 0.004, 0.006, orientation=UP)
    angle, box = pp.AngleSection(0.07, 0.05, 0.005, 0.003, orientation=UP), pp.BoxSection(0.06, 0.04, 0.003, orientation=UP)
    for section in (t, channel, angle):
        shape = section._shape()
        walls = [(*wall.start, *wall.end, wall.thickness) for wall in shape.walls]
        rows = shape.rectangles.reshape(-1, 4).tolist()
        found, wanted = pp.WalledSection(walls, rectangles=rows, orientation=UP).data(NU), section.data(NU)
        for k in (0, 1, 2, 3, 4, 5, 8, 9, 10):
            np.testing.assert_allclose(found[k], wanted[k], rtol=1e-9, atol=1e-15)
    walls, rows = unequal_box(0.06, 0.04, (0.003,) * 4)
    found, wanted = pp.WalledSection(walls, rectangles=rows, orientation=UP).data(NU), box.data(NU)
    for k in range(6):
        np.testing.assert_allclose(found[k], wanted[k], rtol=1e-9)
    np.testing.assert_allclose(found.shear_centre, 0.0, atol=1e-12)
    flow = np.linalg.norm(wanted.torsion, axis=1).max()
    assert sorted(np.linalg.norm(found.torsion, axis=1).round(6)) == pytest.approx([0.0] * 4 + [flow] * 4, rel=1e-6)
    assert len(found.outline) == 8


def test_the_shear_area_of_a_square_tube_is_that_of_cowper():
    """5/12 of thin walls without Poisson's ratio; the outline is that of the tube, counterclockwise."""
    data = pp.BoxSection(0.05, 0.05, 1e-5, orientation=UP).data(0.0)
    assert (data.ky, data.kz) == pytest.approx((5 / 12, 5 / 12), rel=1e-3)
    walls, rows = unequal_box()
    y, z = pp.WalledSection(walls, rectangles=rows, orientation=UP).data(NU).outline.T
    assert 0.5 * np.sum(y * np.roll(z, -1) - z * np.roll(y, -1)) == pytest.approx(H * B, rel=1e-9)


def test_a_cell_whose_wall_vanishes_is_open():
    """A box with one wall of a nanometre has the bending, the shear centre and J of the channel."""
    walls, rows = unequal_box(0.05, 0.025, (0.003, 0.003, 0.003, 1e-9))
    found = pp.WalledSection(walls, rectangles=rows, orientation=UP).data(NU)
    wanted = pp.ChannelSection(0.05, 0.025, 0.003, 0.003, orientation=UP).data(NU)
    for k in (0, 1, 2, 3, 4, 5):
        assert found[k] == pytest.approx(wanted[k], rel=0.02)
    np.testing.assert_allclose(found.shear_centre, wanted.shear_centre, atol=2e-4)


def test_a_tube_of_many_walls_is_round():
    n, radius, t = 96, 0.03, 0.001
    angle = 2 * np.pi * np.arange(n) / n
    p = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    found = pp.WalledSection([(*a, *b, t) for a, b in zip(p, np.roll(p, -1, axis=0))], orientation=UP).data(NU)
    tube = pp.TubularSection(2 * radius + t, t).data(NU)
    for k in (0, 1, 2, 3):
        assert found[k] == pytest.approx(tube[k], rel=5e-3)
    assert (found.ky, found.kz) == pytest.approx((0.5, 0.5), rel=5e-3)


@pytest.mark.parametrize(
    ("walls", "message"),
    [
        ([(0, 0, 1, 0, 0.1)], "give two or more rows"),
        ([(0, 0, 1, 0, 0.1), (1, 0, 1, 1, 0.0)], "a positive thickness"),
        ([(0, 0, 1, 0, 0.1), (1, 0, 1, 0, 0.1)], "one has no length"),
        ([(0, 0, 1, 0, 0.1), (1, 0, 2, 0, 0.1)], "they are in one line; use RectangularSection"),
        ([(0, 0, 1, 0, 0.1), (2, 0, 2, 1, 0.1)], "they must hang together"),
        ([(0, 0, 2, 0, 0.1), (2, 0, 1, 1, 0.1), (1, 1, 1, -1, 0.1)], "two cross or touch"),
        ([(0, 0, 2, 0, 0.1), (2, 0, 1, 1, 0.1), (1, 1, 1, 0, 0.1)], "two cross or touch"),
        ([(0, 0, 1, 0, 0.1), (1, 0, 1, 1, 0.1), (1, 1, 0, 0, 0.1), (0, 0, -1, 0, 0.1)], "one cell without branches"),
    ],
)
def test_bad_walls_are_named(walls, message):
    with pytest.raises(InputError, match=message):
        pp.WalledSection(walls, orientation=UP)


@pytest.mark.parametrize("t", [(0.035, 0.035, 0.002, 0.002), (0.002, 0.002, 0.03, 0.02)])
def test_walls_that_do_not_fit_are_named(t):
    walls, rows = unequal_box(t=t)
    with pytest.raises(InputError, match="the walls do not fit into the section"):
        pp.WalledSection(walls, rectangles=rows, orientation=UP)
