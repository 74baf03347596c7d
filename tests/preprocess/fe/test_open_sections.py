"""T, channel and angle: closed forms, and the problems of Saint-Venant solved in the plane by
scikit-fem.

Sources: Megson, Aircraft Structures, section 17.2 (shear centre of a channel); Timoshenko and Gere,
Theory of Elastic Stability, sections 5.4 (torsional-flexural buckling), 6.1 (lateral buckling);
Trefftz, ZAMM 15 (1935) 220 (shear centre).
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import skfem
from scipy.spatial import cKDTree
from skfem.helpers import dot
from test_beams import NU, STEEL, UP, E, buckling, static, straight

import preprocess as pp
from flexmbs.errors import InputError

SAMPLES = [
    pp.TSection(0.06, 0.05, 0.004, 0.005, orientation=UP),
    pp.ChannelSection(0.1, 0.05, 0.004, 0.006, orientation=UP),
    pp.AngleSection(0.05, 0.05, 0.005, orientation=UP),
    pp.AngleSection(0.07, 0.05, 0.005, orientation=UP),
]


def saint_venant(rectangles, points=None):
    """A, second moments (2, 2) and J of a union of rectangles, its shear centre from the centroid,
    and twice the energy (2, 2) of unit shear forces, G = 1, ν = 0; at points (m, 2), the shear
    stress (m, 2) of unit torque at the nearest points of quadrature.

    Warping ω: ∫ ∇ω·∇v = ∫ (z ∂_y v − y ∂_z v), J = ∫ (y² + z² + y ∂_z ω − z ∂_y ω), e =
    I⁻¹-weighted moments of ω; shear ψ: ∫ ∇ψ·∇v = ∫ I⁻¹ (y, z) v, whose energy is ∫ I⁻¹ (y, z) ψ."""
    lines = [np.unique(rectangles[:, :, i]) for i in range(2)]
    fine = [
        np.unique(np.concatenate([np.linspace(a, b, 13) for a, b in pairwise(line)]))
        for line in lines
    ]
    mesh = skfem.MeshQuad.init_tensor(*fine)
    centres = mesh.p[:, mesh.t].mean(axis=1)
    low, high = rectangles[:, 0].T[:, :, None], rectangles[:, 1].T[:, :, None]
    inside = ((centres[:, None] > low) & (centres[:, None] < high)).all(axis=0).any(axis=0)
    basis = skfem.Basis(mesh.restrict(np.flatnonzero(inside)), skfem.ElementQuad2())

    def integral(function, u):
        return skfem.Functional(lambda w: function(*w.x, w["u"], *w["u"].grad)).assemble(
            basis, u=basis.interpolate(u)
        )

    zero = basis.zeros()
    A = integral(lambda y, z, u, a, b: 1 + 0 * y, zero)
    ym, zm = (integral(lambda y, z, u, a, b, i=i: (y, z)[i], zero) / A for i in range(2))
    K = skfem.BilinearForm(lambda u, v, w: dot(u.grad, v.grad)).assemble(basis)
    load = skfem.LinearForm(
        lambda v, w: (w.x[1] - zm) * v.grad[0] - (w.x[0] - ym) * v.grad[1]
    ).assemble(basis)
    warping = skfem.solve(*skfem.condense(K, load, D=np.array([0])))
    warping -= integral(lambda y, z, u, a, b: u, warping) / A
    J = integral(lambda y, z, u, a, b: (a - z + zm) * (zm - z) + (b + y - ym) * (y - ym), warping)
    yy, yz, zz = (
        integral(
            lambda y, z, u, a, b, i=i: ((y - ym) ** 2, (y - ym) * (z - zm), (z - zm) ** 2)[i], zero
        )
        for i in range(3)
    )
    moments = np.array(
        [integral(lambda y, z, u, a, b, i=i: u * (y, z)[i], warping) for i in range(2)]
    )
    inertia = np.array([[yy, yz], [yz, zz]])
    ez, ey = np.linalg.solve(inertia, moments) * [1, -1]
    if points is None:
        loads = [
            skfem.LinearForm(lambda v, w, i=i: (w.x[i] - (ym, zm)[i]) * v).assemble(basis)
            for i in range(2)
        ]
        slips = np.column_stack(
            [skfem.solve(*skfem.condense(K, f, D=np.array([0]))) for f in loads]
        )
        inverse = np.linalg.inv(inertia)
        return A, inertia, J, np.array([ey, ez]), inverse @ (np.array(loads) @ slips) @ inverse
    places, slope = (
        np.asarray(each).reshape(2, -1)
        for each in (basis.global_coordinates(), basis.interpolate(warping).grad)
    )
    stress = (slope + [zm - places[1], places[0] - ym]) / J
    return stress[:, cKDTree(places.T).query(points)[1]].T


@pytest.mark.parametrize("section", SAMPLES, ids=lambda each: each.kind)
def test_properties_are_those_of_the_plane_problem(section):
    """A and I exact; J within 3 %, the shear centre within 1 % of the height: walls of a tenth of
    it.
    """
    A, inertia, J, centre, energy = saint_venant(section._shape().rectangles)
    data = section.data(NU)
    np.testing.assert_allclose(data.A, A, rtol=1e-9)
    np.testing.assert_allclose(
        data.turn @ inertia @ data.turn.T, np.diag([data.Iz, data.Iy]), atol=1e-9 * data.Iz
    )
    assert pytest.approx(J, rel=0.031) == data.J
    np.testing.assert_allclose(data.turn.T @ data.shear_centre, centre, atol=0.01 * section.height)
    check_shear_areas(data, energy)


def check_shear_areas(data, energy, rtol=0.06):
    wanted = 1 / np.diag(data.turn @ energy @ data.turn.T)
    np.testing.assert_allclose([data.ky * data.A, data.kz * data.A], wanted, rtol=rtol)


@pytest.mark.parametrize("seed", range(6))
def test_shear_areas_of_boxes_and_i_sections_are_those_of_the_plane_problem(seed):
    """Random ones with walls of up to a fifteenth of the height: within 6 %."""
    random = np.random.default_rng(seed)
    h, b = random.uniform(0.04, 0.1, 2)
    t, s = random.uniform(0.02, 0.06, 2) * min(h, b)
    flanged = np.array(
        [[[0, 0], [t, b]], [[h - t, 0], [h, b]], [[t, 0.5 * (b - s)], [h - t, 0.5 * (b + s)]]]
    )
    check_shear_areas(pp.ISection(h, b, s, t, orientation=UP).data(0.0), saint_venant(flanged)[-1])
    box = np.array(
        [[[0, 0], [t, b]], [[h - t, 0], [h, b]], [[t, 0], [h - t, t]], [[t, b - t], [h - t, b]]]
    )
    check_shear_areas(pp.BoxSection(h, b, t, orientation=UP).data(0.0), saint_venant(box)[-1])


def test_a_thin_channel_has_its_shear_centre_where_megson_finds_it():
    """ξ = 3 b²/(h (1 + 6 b/h)) behind the web, of one
    thickness; the shear area by ∫ Q² ds/(t I²).
    """
    h, b, t = 0.1, 0.06, 1e-5
    section = pp.ChannelSection(h + t, b + 0.5 * t, t, t, orientation=UP)
    data = section.data(NU)
    back = -(b**2) / (2 * b + h)  # the web from the centroid
    assert data.shear_centre == pytest.approx(
        (0.0, back - 3 * b**2 / (h * (1 + 6 * b / h))), abs=1e-5
    )
    y = np.linspace(-0.5 * h, 0.5 * h, 20001)
    web = np.trapezoid((b * t * h / 2 + 0.5 * t * (h**2 / 4 - y**2)) ** 2 / t, y)
    flanges = 2 * (t * h / 2) ** 2 * b**3 / (3 * t)
    assert data.ky * data.A == pytest.approx(
        (t * h**3 / 12 + t * b * h**2 / 2) ** 2 / (web + flanges), rel=1e-3
    )


def test_a_t_column_buckles_by_bending_and_torsion():
    """Cantilever under a force through its centroid: (P_z − P)(P_φ − P) i₀² = P² e_y², P_z = π² E
    I_y/4L², P_φ = GJ/i₀².
    """
    section = pp.TSection(0.08, 0.04, 0.002, 0.002, orientation=UP)
    data, L = section.data(NU), 0.6
    fe = pp.assemble(straight(24, L, (1.0, 0.0, 0.0)), STEEL, sections=section)
    six = fe.freedoms.six(np.array([0, 24]))
    load = np.zeros(fe.freedoms.size)
    load[six[1][0]] = -1.0
    e = data.shear_centre[0]
    i2 = (data.Iy + data.Iz) / data.A + e**2
    bend, twist = np.pi**2 * E * data.Iy / (4 * L**2), E / (2 + 2 * NU) * data.J / i2
    bend = 1 / (1 / bend + 1 / (data.kz * E / (2 + 2 * NU) * data.A))
    expected = min(np.roots([i2 - e**2, -i2 * (bend + twist), i2 * bend * twist]).real)
    assert expected < 0.8 * min(bend, twist)
    assert buckling(fe, load, six[0])[0] == pytest.approx(expected, rel=5e-3)


def test_a_t_beam_buckles_sideways_under_end_moments():
    """Between forks, M = P_z (√(b² + GJ/P_z) ± b), P_z = π² E I_y/L², b = e_y − ∫ y (y² + z²)
    dA/2I_z (Wagner): the T whose flange is pressed bears more."""
    section = pp.TSection(0.08, 0.04, 0.002, 0.002, orientation=UP)
    data, L, n = section.data(NU), 1.5, 24
    fe = pp.assemble(straight(n, L, (1.0, 0.0, 0.0)), STEEL, sections=section)
    six = fe.freedoms.six(np.array([0, n]))
    load = np.zeros(fe.freedoms.size)
    load[six[0][4]], load[six[1][4]] = -1.0, 1.0  # presses the stem
    stem, flange = np.abs(buckling(fe, load, np.concatenate([six[0][:4], six[1][1:4]])))
    bend, b = np.pi**2 * E * data.Iy / L**2, data.shear_centre[0] - data.third[0] / (2 * data.Iz)
    root = np.sqrt(b**2 + E / (2 + 2 * NU) * data.J / bend)
    assert flange > stem
    assert (stem, flange) == pytest.approx((bend * (root - b), bend * (root + b)), rel=5e-3)


def test_a_force_beside_the_shear_centre_twists():
    """Tip force along y of a channel at its centroid: twist F e_z L/GJ of the tip; at the shear
    centre none.
    """
    section = pp.ChannelSection(0.1, 0.05, 0.004, 0.004, orientation=UP)
    data, L = section.data(NU), 1.0
    fe = pp.assemble(straight(2, L, (1.0, 0.0, 0.0)), STEEL, sections=section)
    six = fe.freedoms.six(np.array([0, 2]))
    load = np.zeros(fe.freedoms.size)
    load[six[1][2]] = 100.0
    u = static(fe, load, six[0])[six[1], 0]
    assert u[3] == pytest.approx(
        100.0 * data.shear_centre[1] * L / (E / (2 + 2 * NU) * data.J), rel=1e-9
    )
    load[six[1][3]] = -100.0 * data.shear_centre[1]
    assert abs(static(fe, load, six[0])[six[1][3], 0]) < 1e-9 * abs(u[3])


@pytest.mark.parametrize("section", SAMPLES[:2])
def test_a_general_section_has_a_shear_centre_too(section):
    """The properties of a section symmetric about one axis give its beam."""
    data = section.data(NU)
    own = {
        "shear": (data.ky, data.kz),
        "shear_centre": data.shear_centre,
        "orientation": UP,
        "line": "shear-centre",
    }
    general = pp.GeneralSection(data.A, data.Iy, data.Iz, data.J, **own)
    wanted = pp.assemble(straight(3), STEEL, sections=replace(section, line="shear-centre"))
    found = pp.assemble(straight(3), STEEL, sections=general)
    for mine, its in ((found.K, wanted.K), (found.M, wanted.M)):
        assert abs(mine - its).max() < 1e-12 * abs(its).max()
    # to the same section
    tapered = pp.assemble(straight(3), STEEL, sections=replace(general, end={"Iy": data.Iy}))
    assert abs(tapered.K - found.K).max() < 1e-9 * abs(found.K).max()
    assert abs(tapered.M - found.M).max() < 1e-9 * abs(found.M).max()
    for options, message in (
        ({"shear_centre": (1.0, 2.0, 3.0)}, "shear_centre: .*; give y and z in m"),
        ({"end": {"shear_centre": (0.0, 0.0)}}, "end: shear_centre is one for the whole beam"),
    ):
        with pytest.raises(InputError, match=message):
            replace(general, **options)
