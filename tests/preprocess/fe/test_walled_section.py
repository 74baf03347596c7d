"""Sections of any thin walls against the plane problems of Saint-Venant, and those that they are
other ways of writing.
"""

import numpy as np
import pytest
from test_beams import NU, UP
from test_open_sections import check_shear_areas, saint_venant

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.mesh_files import nastran_shapes as shapes

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
    rows = [
        [0, -0.5 * b - brim, t, -0.5 * b],
        [0, -0.5 * b, h, -0.5 * b + t],
        [h - t, -0.5 * b + t, h, 0.5 * b - t],
    ]
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
    return walls, [
        [0, -0.5 * low, t, 0.5 * low],
        [t, -0.5 * web, h - u, 0.5 * web],
        [h - u, -0.5 * high, h, 0.5 * high],
    ]


def unequal_box(h=H, b=B, t=(0.002, 0.003, 0.004, 0.002)):
    """A box with walls of four thicknesses: low and high along y, low and high along z."""
    low, high, left, right = t
    y, z = (0.5 * low, h - 0.5 * high), (0.5 * left, b - 0.5 * right)
    corners = [(y[0], z[0]), (y[1], z[0]), (y[1], z[1]), (y[0], z[1])]
    walls = [
        (*p, *q, s) for p, q, s in zip(corners, corners[1:] + corners[:1], (left, high, right, low))
    ]
    return walls, [
        [0, 0, h, left],
        [0, b - right, h, b],
        [0, left, low, b - right],
        [h - high, left, h, b - right],
    ]


def zed(h=H, b=0.03, t=T):
    walls = [
        (0.5 * t, -b, 0.5 * t, 0, t),
        (0.5 * t, 0, h - 0.5 * t, 0, t),
        (h - 0.5 * t, 0, h - 0.5 * t, b, t),
    ]
    return walls, [[0, -b, t, -0.5 * t], [0, -0.5 * t, h, 0.5 * t], [h - t, 0.5 * t, h, b]]


def cross(h=H, b=B, upright=0.004, flat=T):
    walls = [
        (0, 0, -0.5 * h, 0, upright),
        (0.5 * h, 0, 0, 0, upright),
        (0, 0, 0, -0.5 * b, flat),
        (0, 0.5 * b, 0, 0, flat),
    ]
    m, f = 0.5 * upright, 0.5 * flat
    return walls, [[-0.5 * h, -m, 0.5 * h, m], [-f, m, f, 0.5 * b], [-f, -0.5 * b, f, -m]]


def two_cells(
    h=H, b=1.6 * B, first=0.025, t=(0.002, 0.003, 0.0025), tops=(0.002, 0.003), feet=(0.003, 0.0025)
):
    """A box with a web between its cells: thicknesses of the upright walls, of both tops, of both
    feet.
    """
    low, high = 0.5 * max(feet), h - 0.5 * max(tops)
    z = (0.5 * t[0], first, b - 0.5 * t[2])
    walls = [(low, place, high, place, s) for place, s in zip(z, t)]
    walls += [(y, z[k], y, z[k + 1], s[k]) for y, s in ((low, feet), (high, tops)) for k in (0, 1)]
    ends = [0.0, t[0], first - 0.5 * t[1], first + 0.5 * t[1], b - t[2], b]
    rows = [[0.0, ends[k], h, ends[k + 1]] for k in (0, 2, 4)]
    rows += [[0.0, ends[2 * k + 1], feet[k], ends[2 * k + 2]] for k in (0, 1)]
    return walls, rows + [[h - tops[k], ends[2 * k + 1], h, ends[2 * k + 2]] for k in (0, 1)]


def flanged_box(h=H, b=1.6 * B, between=0.03, t=(0.003, 0.002, 0.0025)):
    """Two webs between flanges that reach beyond them: thicknesses of the upper and the lower
    flange and of the webs.
    """
    y, z = (0.5 * t[1], h - 0.5 * t[0]), 0.5 * (between + t[2])
    walls = [(y[0], s * z, y[1], s * z, t[2]) for s in (-1, 1)]
    for place, thickness in zip(y, (t[1], t[0])):
        walls += [
            (place, -0.5 * b, place, -z, thickness),
            (place, -z, place, z, thickness),
            (place, z, place, 0.5 * b, thickness),
        ]
    rows = [[0, -0.5 * b, t[1], 0.5 * b], [h - t[0], -0.5 * b, h, 0.5 * b]]
    return walls, rows + [[t[1], s * z - 0.5 * t[2], h - t[0], s * z + 0.5 * t[2]] for s in (-1, 1)]


def three_cells(h=H, t=T):
    """Cells beside and above each other in a square, and a wall across its corner that is open."""
    m, middle, end = 0.5 * t, 0.5 * h, h - 0.5 * t
    p = (m, middle, end)
    walls = [(p[i], p[k], p[i + 1], p[k], t) for i in (0, 1) for k in (0, 1, 2) if (i, k) != (1, 2)]
    walls += [(p[i], p[k], p[i], p[k + 1], t) for i in (0, 1, 2) for k in (0, 1)]
    rows = [
        [0, 0, h, t],
        [0, middle - m, h, middle + m],
        [0, end - m, middle + m, h],
        [0, t, t, middle - m],
    ]
    rows += [
        [0, middle + m, t, end - m],
        [middle - m, t, middle + m, middle - m],
        [middle - m, middle + m, middle + m, end - m],
    ]
    return walls, [*rows, [end - m, t, h, middle - m], [end - m, middle + m, h, end]]


SHAPES = {
    "hat": hat,
    "I": unequal_i,
    "box": unequal_box,
    "Z": zed,
    "cross": cross,
    "two cells": two_cells,
    "flanged box": flanged_box,
    "three cells": three_cells,
}


@pytest.mark.parametrize("name", SHAPES)
def test_properties_are_those_of_the_plane_problem(name):
    """A and I exact; J within 5 %, the shear centre within 1 % of the height, shear areas 11 %:
    walls of a twentieth of it.
    """
    walls, rows = SHAPES[name]()
    rectangles = np.array(rows).reshape(-1, 2, 2)
    A, inertia, J, centre, energy = saint_venant(rectangles)
    data = pp.WalledSection(walls, rectangles=rows, orientation=UP).data(NU)
    np.testing.assert_allclose(data.A, A, rtol=1e-9)
    np.testing.assert_allclose(
        data.turn @ inertia @ data.turn.T, np.diag([data.Iz, data.Iy]), atol=1e-9 * data.Iz
    )
    assert pytest.approx(J, rel=0.05) == data.J
    np.testing.assert_allclose(data.turn.T @ data.shear_centre, centre, atol=0.01 * H)
    check_shear_areas(data, energy, rtol=0.11)


def tee(h=H, b=B, t=T):
    section = pp.TSection(h, b, t, 1.5 * t, orientation=UP)._shape()
    return [
        (*wall.start, *wall.end, wall.thickness) for wall in section.walls
    ], section.rectangles.reshape(-1, 4).tolist()


@pytest.mark.parametrize("name", [*SHAPES, "T"])
def test_stress_of_torsion_is_that_of_the_plane_problem(name):
    """On the straight sides around the section, also where a wall meets their middle: within 40 %
    of the largest.
    """
    walls, rows = (SHAPES | {"T": tee})[name]()
    rectangles = np.array(rows).reshape(-1, 2, 2)
    data = pp.WalledSection(walls, rectangles=rows, orientation=UP).data(NU)
    points, stress = (data.outline - data.origin) @ data.turn, data.torsion @ data.turn
    outside = (np.isclose(points, points.min(axis=0)) | np.isclose(points, points.max(axis=0))).any(
        axis=1
    )
    assert outside.sum() >= 8
    wanted = saint_venant(rectangles, points[outside])
    np.testing.assert_allclose(
        stress[outside], wanted, atol=0.4 * np.linalg.norm(stress, axis=1).max()
    )


NASTRAN = {  # dimensions, and the area by the figure
    "DBOX": ([80, 36, 30, 2, 2.5, 3, 2, 1.5, 2, 2.5], 80 * 36 - 26.75 * 32.5 - 45.75 * 31.5),
    "HAT1": ([80, 40, 30, 2, 1.5], 80 * 1.5 + 50 * 2 + 30 * 2 + 2 * 36.5 * 2),
}


@pytest.mark.parametrize("name", NASTRAN)
def test_sections_of_nastran_with_cells(name):
    dimensions, area = NASTRAN[name]
    given = shapes.SHAPES[name].make(dimensions)
    rectangles = np.array(given["rectangles"]).reshape(-1, 2, 2)
    A, _, J, centre, _ = saint_venant(rectangles)
    data = pp.WalledSection(given["walls"], rectangles=given["rectangles"], orientation=UP).data(NU)
    assert pytest.approx((area, area), rel=1e-9) == (A, data.A)
    assert pytest.approx(J, rel=0.06) == data.J
    np.testing.assert_allclose(data.turn.T @ data.shear_centre, centre, atol=0.015 * dimensions[0])


def test_flows_of_two_equal_cells():
    """A square tube of side a with a web in its middle: J_B of the tube alone, which the web does
    not carry; across the web both cells share the force of the shear centre in the middle. Unequal
    cells of sides a, a/2: Bredt's two equations by hand."""
    a, t = 0.1, 1e-4
    corners = [(0, 0), (0, a), (a, a), (a, 0)]
    tube = [(*p, *q, t) for p, q in zip(corners, corners[1:] + corners[:1])]
    halves = [
        (0, 0, 0, a / 2, t),
        (0, a / 2, 0, a, t),
        (0, a, a, a, t),
        (a, a, a, a / 2, t),
        (a, a / 2, a, 0, t),
        (a, 0, 0, 0, t),
    ]
    with_web = pp.WalledSection([*halves, (0, a / 2, a, a / 2, t)], orientation=UP).data(0.0)
    assert pytest.approx(pp.WalledSection(tube, orientation=UP).data(0.0).J, rel=1e-5) == with_web.J
    np.testing.assert_allclose(with_web.shear_centre, 0.0, atol=1e-12)
    unequal = [(0, 0, 0, a, t), (0, a, a, a, t), (a, a, a, 0, t), (a, 0, 0, 0, t)]
    unequal += [(0, a, 0, 1.5 * a, t), (0, 1.5 * a, a, 1.5 * a, t), (a, 1.5 * a, a, a, t)]
    areas, matrix = np.array([a * a, a * a / 2]), np.array([[4 * a, -a], [-a, 3 * a]]) / t
    flows = np.linalg.solve(matrix, 2 * areas)
    assert (
        pytest.approx(2 * areas @ flows, rel=1e-5)
        == pp.WalledSection(unequal, orientation=UP).data(0.0).J
    )


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
    t, channel = (
        pp.TSection(0.06, 0.05, 0.004, 0.005, orientation=UP),
        pp.ChannelSection(0.1, 0.05, 0.004, 0.006, orientation=UP),
    )
    angle, box = (
        pp.AngleSection(0.07, 0.05, 0.005, 0.003, orientation=UP),
        pp.BoxSection(0.06, 0.04, 0.003, orientation=UP),
    )
    for section in (t, channel, angle):
        shape = section._shape()
        walls = [(*wall.start, *wall.end, wall.thickness) for wall in shape.walls]
        rows = shape.rectangles.reshape(-1, 4).tolist()
        found, wanted = (
            pp.WalledSection(walls, rectangles=rows, orientation=UP).data(NU),
            section.data(NU),
        )
        for k in (0, 1, 2, 3, 4, 5, 8, 9, 10):
            np.testing.assert_allclose(found[k], wanted[k], rtol=1e-9, atol=1e-15)
    walls, rows = unequal_box(0.06, 0.04, (0.003,) * 4)
    found, wanted = pp.WalledSection(walls, rectangles=rows, orientation=UP).data(NU), box.data(NU)
    for k in range(6):
        np.testing.assert_allclose(found[k], wanted[k], rtol=1e-9)
    np.testing.assert_allclose(found.shear_centre, 0.0, atol=1e-12)
    flow = np.linalg.norm(wanted.torsion, axis=1).max()
    assert sorted(np.linalg.norm(found.torsion, axis=1).round(6)) == pytest.approx(
        [0.0] * 4 + [flow] * 4, rel=1e-6
    )
    assert len(found.outline) == 8


def test_the_shear_area_of_a_square_tube_is_that_of_cowper():
    """5/12 of thin walls without Poisson's ratio; the outline is that of the tube,
    counterclockwise.
    """
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
    found = pp.WalledSection(
        [(*a, *b, t) for a, b in zip(p, np.roll(p, -1, axis=0))], orientation=UP
    ).data(NU)
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
        ([(0, 0, 1, 0, 0.1), (1, 0, 2, 0, 0.1)], "they are collinear; use RectangularSection"),
        ([(0, 0, 1, 0, 0.1), (2, 0, 2, 1, 0.1)], "they are not connected; join them at their ends"),
        ([(0, 0, 2, 0, 0.1), (2, 0, 1, 1, 0.1), (1, 1, 1, -1, 0.1)], "two cross or touch"),
        ([(0, 0, 2, 0, 0.1), (2, 0, 1, 1, 0.1), (1, 1, 1, 0, 0.1)], "two cross or touch"),
        ([(0, 0, 1, 0, 0.1), (1, 0, 1, 1, 0.1), (1, 0, 0, 0, 0.1)], "two coincide"),
        ([(0, 0, 1, 0, 0.1), (1, 0, 1, 1, 0.1), (0, 0, 2, 0, 0.1)], "two coincide"),
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


def test_rectangles_elsewhere_are_named():
    """Shifted, or in millimetres: the shear centre was as far from its place as they are."""
    walls, rows = hat()
    for other in (np.array(rows) + 0.05, 1000 * np.array(rows)):
        with pytest.raises(
            InputError,
            match="rectangles: differ from the walls in position or area; give the same origin "
            "and unit",
        ):
            pp.WalledSection(walls, rectangles=other.tolist(), orientation=UP)
