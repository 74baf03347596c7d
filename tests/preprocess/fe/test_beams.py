"""Beams against closed forms and published benchmarks.

Sources: NAFEMS, The Standard NAFEMS Benchmarks, TNSB rev. 3 (1990), FV2, FV4, FV5; Wright et al.,
J. Appl. Mech. 49 (1982) 197 (rotating beams); Timoshenko and Gere, Theory of Elastic Stability
(1961), sections 2.2, 6.2 (buckling).
"""

import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import preprocess as pp
from flexmbs.errors import InputError
from flexmbs.flexible_body.free_body import central_inertia
from preprocess.body.unit_loads import inertial_loads
from preprocess.fe.beam_sections import SECTIONS as ALL_SECTIONS

E, NU, RHO = 2.1e11, 0.3, 7850.0
STEEL = pp.Isotropic(E=E, nu=NU, rho=RHO)
SKEW = np.array([0.6, 0.64, 0.48])  # a unit vector
UP = (0.0, 0.0, 1.0)
SECTIONS = {
    "rectangular": pp.RectangularSection(0.03, 0.02, orientation=UP),
    "circular": pp.CircularSection(0.03),
    "tubular": pp.TubularSection(0.03, 0.002),
    "box": pp.BoxSection(0.03, 0.02, 0.002, orientation=UP),
    "i": pp.ISection(0.03, 0.02, 0.002, 0.003, orientation=UP),
    "t": pp.TSection(0.03, 0.02, 0.002, 0.003, orientation=UP),
    "channel": pp.ChannelSection(0.03, 0.02, 0.002, 0.003, orientation=UP),
    "angle": pp.AngleSection(0.03, 0.02, 0.003, orientation=UP),
    "walled": pp.WalledSection(
        [(0, 0, 0, 0.02, 0.002), (0, 0, 0.03, 0, 0.002), (0.03, 0, 0.03, -0.02, 0.002)],
        orientation=UP,
    ),
    "general": pp.GeneralSection(3e-4, 1e-8, 3e-8, 2e-8, shear=(0.8, 0.7), orientation=UP),
}


def line(points, *, cells=None, sets=None, kind="line2"):
    points = np.asarray(points, dtype=float)
    if kind == "line3":
        first = np.arange(0, len(points) - 2, 2)
        cells = np.column_stack([first, first + 2, first + 1])
    cells = (
        np.column_stack([np.arange(len(points) - 1), np.arange(1, len(points))])
        if cells is None
        else cells
    )
    sets = {"root": [0], "tip": [len(points) - 1]} if sets is None else sets
    return pp.Mesh.from_arrays(points, {kind: cells}, node_sets=sets)


def straight(n=8, length=1.0, along=SKEW, kind="line2"):
    return line(np.linspace(0, length, n + 1)[:, None] * np.asarray(along), kind=kind)


def held(fe, dofs):
    """Frequencies [Hz] with some degrees of freedom fixed."""
    free = np.setdiff1d(np.arange(fe.freedoms.size), dofs)
    omega2 = scipy.linalg.eigh(
        fe.K[free][:, free].toarray(), fe.M[free][:, free].toarray(), eigvals_only=True
    )
    return np.sqrt(np.maximum(omega2, 0.0)) / (2 * np.pi)


def static(fe, load, dofs):
    free = np.setdiff1d(np.arange(fe.freedoms.size), dofs)
    u = np.zeros((fe.freedoms.size, 1))
    u[free, 0] = np.linalg.solve(fe.K[free][:, free].toarray(), load[free])
    return u


def test_every_section_is_tried():
    assert {name for name, kind in ALL_SECTIONS.items() if "line2" in kind.elements} == set(
        SECTIONS
    )


@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize(("kind", "n"), [("line2", 1), ("line2", 3), ("line3", 2), ("line3", 6)])
def test_tip_compliance_is_exact(name, kind, n):
    """u = L/EA, L³/3EI + L/kGA, θ = L/GJ, L/EI, coupled by L²/2EI, whatever the number of elements,
    at the shear centre.
    """
    fe, data = (
        pp.assemble(straight(n, kind=kind), STEEL, sections=SECTIONS[name]),
        SECTIONS[name].data(NU),
    )
    axes, six, G = (
        fe.structures[0].local_axes(0.0)[0],
        fe.freedoms.six(np.array([0, n])),
        E / (2 * (1 + NU)),
    )
    turned, (ey, ez) = np.kron(np.eye(2), axes), data.shear_centre
    shift = np.eye(6)
    shift[1, 3], shift[2, 3] = -ez, ey
    turned = shift @ turned
    loads = np.zeros((fe.freedoms.size, 6))
    loads[six[1]] = turned.T
    u = np.hstack([static(fe, load, six[0]) for load in loads.T])
    expected = np.diag(
        [
            1 / (E * data.A),
            1 / (3 * E * data.Iz) + 1 / (data.ky * G * data.A),
            1 / (3 * E * data.Iy) + 1 / (data.kz * G * data.A),
            1 / (G * data.J),
            1 / (E * data.Iy),
            1 / (E * data.Iz),
        ]
    )
    expected[1, 5] = expected[5, 1] = 1 / (2 * E * data.Iz)
    expected[2, 4] = expected[4, 2] = -1 / (2 * E * data.Iy)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(turned @ u[six[1]] / scale, expected / scale, atol=1e-9)


@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize(("kind", "n"), [("line2", 3), ("line3", 4)])
def test_mass_and_inertia_are_those_of_the_solid_bar(name, kind, n):
    """Mass ρAl and the central inertia of a prism: ρ l (Iy + Iz) about the axis, m l²/12 + ρ l I
    across it.
    """
    section, data, length = SECTIONS[name], SECTIONS[name].data(NU), 0.7
    fe = pp.assemble(straight(n, length, kind=kind), STEEL, sections=section)
    body = pp.reduce(
        fe, interfaces={"root": pp.Rigid("root")}, reference="root", method=pp.CraigBampton(modes=3)
    )
    m = RHO * data.A * length
    assert body.mass == pytest.approx(m, rel=1e-12)
    across = m * length**2 / 12
    expected = np.sort(
        [
            RHO * length * (data.Iy + data.Iz),
            across + RHO * length * data.Iy,
            across + RHO * length * data.Iz,
        ]
    )
    np.testing.assert_allclose(np.linalg.eigvalsh(central_inertia(body)), expected, rtol=1e-9)


@pytest.mark.parametrize(("kind", "n"), [("line2", 16), ("line3", 12)])
@pytest.mark.parametrize(("load", "expected"), [((1, 0, 0), 0.08734), ((0, 0, 1), 0.5022)])
def test_a_curved_beam_bends_as_macneal_and_harder_state(kind, n, load, expected):
    """Quarter circle, radii 4.12 and 4.32, thickness 0.1, unit force at its end in its plane and
    across it (1985, table 7).
    """
    angle = np.linspace(0, np.pi / 2, n + 1)
    mesh = line(4.22 * np.column_stack([np.sin(angle), np.cos(angle), 0 * angle]), kind=kind)
    section = pp.RectangularSection(0.1, 0.2, orientation=UP)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pp.PreprocessWarning)  # of units
        fe = pp.assemble(mesh, pp.Isotropic(E=1e7, nu=0.25, rho=1.0), sections=section)
    root, tip = fe.freedoms.six(np.array([0, n]))
    f = np.zeros(fe.freedoms.size)
    f[tip[:3]] = load
    assert f @ static(fe, f, root)[:, 0] == pytest.approx(expected, rel=0.015)


def test_beams_with_three_nodes_have_six_rigid_motions_and_no_other():
    points = np.array(
        [[0.0, 0, 0], [0.4, 0.1, 0.0], [0.9, 0.15, 0.1], [1.2, 0.4, 0.1], [1.4, 0.8, 0.3]]
    )
    aside = pp.RectangularSection(0.03, 0.02, orientation=UP, offset=(0.01, -0.02))
    fe = pp.assemble(line(points, kind="line3"), STEEL, sections=aside)
    R, values = fe.rigid_motion(np.array([0.3, 0.2, -0.1])), np.linalg.eigvalsh(fe.K.toarray())
    assert np.abs(fe.K @ R).max() < 1e-10 * np.abs(fe.K.data).max()
    assert values[5] < 1e-9 * values[6]


def test_a_truss_of_three_bars():
    """Bars at 45°, 90°, 135° to one node (Timoshenko): the middle force is F/(1 + 2 cos³ 45°); the
    nodes have no rotation.
    """
    nodes, bars = [(0, 0, 0), (-1, 1, 0), (0, 1, 0), (1, 1, 0)], [(0, 1), (0, 2), (0, 3)]
    fe = pp.assemble(
        pp.Mesh.from_arrays(nodes, {"truss2": bars}), STEEL, sections=pp.TrussSection(1e-4)
    )
    assert fe.K.shape == (12, 12)
    assert fe.mass == pytest.approx(RHO * 1e-4 * (1 + 2 * np.sqrt(2)), rel=1e-12)
    f = np.zeros(12)
    f[1] = -1000.0
    u = static(fe, f, np.array([2, *range(3, 12)]))
    trusses = fe.structures[0]
    stress = (trusses.stress() @ trusses.of_elements(u)[:, None])[:, 0, :, 0]
    assert stress[1, 1] * 1e-4 == pytest.approx(1000 / (1 + 2 * np.cos(np.pi / 4) ** 3), rel=1e-12)
    assert np.abs(fe.K @ fe.rigid_motion(np.zeros(3))).max() < 1e-9 * np.abs(fe.K.data).max()


def test_a_stretched_truss_is_a_string():
    """Frequencies √(N/ρA)/2L of a chain of bars under the tension N, across it."""
    n, N = 40, 1e4
    mesh = pp.Mesh.from_arrays(
        np.linspace(0, 1, n + 1)[:, None] * [1.0, 0, 0],
        {"truss2": np.stack([np.arange(n), np.arange(1, n + 1)], 1)},
    )
    fe = pp.assemble(mesh, STEEL, sections=pp.TrussSection(1e-4))
    u = np.zeros((fe.freedoms.size, 1))
    u[0::3, 0] = N / (E * 1e-4) * mesh.nodes[:, 0]
    across = 3 * np.arange(1, n) + 2
    K0 = fe.structures[0].initial_stress_stiffness(u, np.eye(fe.freedoms.size)[:, across])[0]
    omega2 = scipy.linalg.eigh(K0, fe.M[across][:, across].toarray(), eigvals_only=True)
    np.testing.assert_allclose(
        np.sqrt(omega2[:3]) / np.pi, np.sqrt(N / (RHO * 1e-4)) * np.arange(1, 4), rtol=3e-3
    )


def test_rectangular_torsion_constant_is_that_of_roark():
    """J = a b³ (16/3 − 3.36 b/a (1 − b⁴/12a⁴)), sides 2a ≥ 2b; Roark, table 10.7, within 0.4 %."""
    for a, b in ((1.0, 1.0), (1.5, 1.0), (4.0, 1.0), (50.0, 1.0)):
        J = a * b**3 * (16 / 3 - 3.36 * b / a * (1 - b**4 / (12 * a**4)))
        for sides in ((2 * a, 2 * b), (2 * b, 2 * a)):
            found = pp.RectangularSection(*sides, orientation=UP).data(0.3)
            assert pytest.approx(J, rel=4e-3) == found.J
    square = pp.RectangularSection(1.0, 1.0, orientation=UP).data(0.3)
    # τ = 4.803 T/a³ at the middle of each side
    assert square.torsion[3, 1] == pytest.approx(4.803, rel=1e-3)
    assert np.abs(square.torsion).max(axis=1)[1::2] == pytest.approx(square.torsion[3, 1], rel=1e-4)


def test_nafems_fv2_double_cross():
    """Eight arms of 5 m from one node, 125 mm square, far ends pinned, in plane: 11.336, 17.709,
    45.345, 57.390 Hz.
    """
    n, angle = 4, np.arange(8) * np.pi / 4
    tips = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    points, cells = [np.zeros(3)], []
    for tip in tips:
        for k in range(1, n + 1):
            points.append(5.0 * tip * k / n)
            cells.append((0 if k == 1 else len(points) - 2, len(points) - 1))
    mesh = line(points, cells=np.array(cells), sets={})
    section = pp.RectangularSection(0.125, 0.125, orientation=UP)
    fe = pp.assemble(mesh, pp.Isotropic(E=200e9, nu=0.3, rho=8000.0), sections=section)
    nodes = np.arange(len(points))
    six = fe.freedoms.six(nodes)
    ends = nodes[n::n]
    found = held(fe, np.concatenate([six[ends][:, :2].ravel(), six[:, [2, 3, 4]].ravel()]))
    np.testing.assert_allclose(
        found[:16], [11.336] + 7 * [17.709] + [45.345] + 7 * [57.390], rtol=0.012
    )
    assert found[0] == pytest.approx(11.336, rel=1.5e-3)


def test_nafems_fv4_cantilever_with_off_centre_masses():
    """Bar 10 m, ⌀ 0.5 m, with 10 000 kg and 1000 kg 2 m to either side of its tip, without shear:
    1.723 … 26.957 Hz.
    """
    I = np.pi * 0.5**4 / 64
    section = pp.GeneralSection(np.pi * 0.5**2 / 4, I, I, 2 * I, orientation=UP)
    mesh = line(np.linspace(0, 10.0, 11)[:, None] * [1.0, 0.0, 0.0])
    fe = pp.assemble(mesh, pp.Isotropic(E=200e9, nu=0.3, rho=8000.0), sections=section)
    fe = pp.attach(
        fe, [pp.PointMass("tip", m, position=(10.0, y, 0.0)) for m, y in ((1e4, -2.0), (1e3, 2.0))]
    )
    found = held(fe, fe.freedoms.six(np.array([0]))[0])
    np.testing.assert_allclose(found[:6], [1.723, 1.727, 7.413, 9.972, 18.155, 26.957], rtol=2e-4)


def test_nafems_fv5_deep_beam():
    """Simply supported 10 m × 2 m × 2 m: bending 42.649, 148.31, 284.55, torsion 77.542, 233.10,
    stretch 125.00 Hz.
    """
    mesh = line(np.linspace(0, 10.0, 21)[:, None] * [1.0, 0.0, 0.0])
    I = 2.0**4 / 12
    # the torsion constant of the benchmark
    section = pp.GeneralSection(4.0, I, I, 2 * I, shear=(0.85, 0.85), orientation=UP)
    fe = pp.assemble(mesh, pp.Isotropic(E=200e9, nu=0.3, rho=8000.0), sections=section)
    six = fe.freedoms.six(np.array([0, 20]))
    found = held(fe, np.concatenate([six[0][:4], six[1][1:3]]))
    np.testing.assert_allclose(
        found[:9], [42.649, 42.649, 77.542, 125.0, 148.31, 148.31, 233.1, 284.55, 284.55], rtol=4e-3
    )


def buckling(fe, load, dofs):
    """Smallest factors of a load, of either sign, at which K + factor K0 is singular."""
    u = static(fe, load, dofs)
    free = np.setdiff1d(np.arange(fe.freedoms.size), dofs)
    K0 = fe.structures[0].initial_stress_stiffness(u, np.eye(fe.freedoms.size))[0]
    inverse = scipy.linalg.eigh(
        -K0[np.ix_(free, free)], fe.K[free][:, free].toarray(), eigvals_only=True
    )
    return 1 / inverse.max(), 1 / inverse.min()


def test_a_column_buckles_at_eulers_load():
    """π² EI/4L² reduced by shear, 1/P = 1/P_E + 1/kGA, for a cantilever under a force along it."""
    section, fe = (
        SECTIONS["rectangular"],
        pp.assemble(straight(8), STEEL, sections=SECTIONS["rectangular"]),
    )
    data, six = section.data(NU), fe.freedoms.six(np.array([0, 8]))
    load = np.zeros(fe.freedoms.size)
    load[six[1][:3]] = -SKEW
    euler = np.pi**2 * E * data.Iy / 4
    assert buckling(fe, load, six[0])[0] == pytest.approx(
        1 / (1 / euler + 1 / (data.kz * E / (2 + 2 * NU) * data.A)), rel=1e-3
    )


def test_a_thin_cantilever_buckles_sideways_under_its_tip_load():
    """P = 4.013 √(EI_y GJ)/L², the same in both directions."""
    section = pp.RectangularSection(0.1, 0.004, orientation=UP)
    fe = pp.assemble(straight(20, 1.0, (1.0, 0.0, 0.0)), STEEL, sections=section)
    data, six = section.data(NU), fe.freedoms.six(np.array([0, 20]))
    load = np.zeros(fe.freedoms.size)
    load[six[1][2]] = 1.0
    expected = 4.013 * np.sqrt(E * data.Iy * E / (2 + 2 * NU) * data.J)
    np.testing.assert_allclose(np.abs(buckling(fe, load, six[0])), expected, rtol=5e-3)


@pytest.mark.parametrize(
    ("eta", "flap"), [(2.0, (4.1373, 22.615)), (6.0, (7.3604, 26.809)), (10.0, (11.2023, 33.640))]
)
def test_a_spinning_beam_stiffens_as_wright_found(eta, flap):
    """Flap frequencies √(ρ A L⁴/EI) ω at spin η, without hub."""
    section = pp.CircularSection(0.004)
    data = section.data(NU)
    fe = pp.assemble(straight(40, 1.0, (1.0, 0.0, 0.0)), STEEL, sections=section)
    unit = np.sqrt(E * data.Iy / (RHO * data.A))
    six = fe.freedoms.six(np.array([0]))[0]
    load = inertial_loads(fe, np.zeros(3), np.eye(3))[:, 8] * (eta * unit) ** 2
    K0 = fe.structures[0].initial_stress_stiffness(static(fe, load, six), np.eye(fe.freedoms.size))[
        0
    ]
    w, turn = fe.freedoms.six(np.arange(1, 41))[:, [2, 4]].T
    flapping = np.concatenate([w, turn])
    K, M = (
        (fe.K.toarray() + K0)[np.ix_(flapping, flapping)],
        fe.M.toarray()[np.ix_(flapping, flapping)],
    )
    found = np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[:2]) / unit
    np.testing.assert_allclose(found, flap, rtol=4e-4)


def test_stress_is_that_of_the_section_forces():
    """Tip force and torque on a cantilever: σ = F/A ∓ M y/I at the root, τ of torsion 4.07 T/(h b²)
    on the long sides of 3:2.
    """
    section = SECTIONS["rectangular"]
    fe = pp.assemble(straight(4, 1.0, (1.0, 0.0, 0.0)), STEEL, sections=section)
    six, data = fe.freedoms.six(np.array([0, 4])), section.data(NU)
    load = np.zeros(fe.freedoms.size)
    load[six[1]] = [1000.0, 0.0, -50.0, 20.0, 0.0, 0.0]
    beams = fe.structures[0]
    stress = (beams.stress() @ beams.of_elements(static(fe, load, six[0]))[:, None])[0, :8, :, 0]
    top = data.outline[:, 0] * 50.0 / data.Iz + 1000.0 / data.A  # upper fibres pulled
    np.testing.assert_allclose(stress[:, 0], top, rtol=1e-9)
    shear = np.hypot(stress[:, 3], stress[:, 5])
    # Timoshenko: k = 0.231 for 3:2
    assert shear[1] == pytest.approx(20.0 / (0.231 * 0.03 * 0.02**2), rel=2e-3)
    np.testing.assert_allclose(stress[:, [1, 2, 4]], 0.0, atol=1e-3)


def test_an_offset_is_a_rigid_link():
    """Centroid beside the nodes: as a beam through centroids whose nodes are linked rigidly to
    them.
    """
    offset = (0.03, -0.02)
    plain = pp.RectangularSection(0.03, 0.02, orientation=UP)
    aside = pp.RectangularSection(0.03, 0.02, orientation=UP, offset=offset)
    mesh = straight(5, 1.0, (1.0, 0.0, 0.0))
    fe = pp.assemble(mesh, STEEL, sections=aside)
    shift = np.array([0.0, -offset[1], offset[0]])  # local y is z, local z is −y
    moved = line(mesh.nodes + shift)
    links = {
        f"link {k}": pp.RigidSpider(pp.Point(tuple(x)), position=tuple(x - shift))
        for k, x in enumerate(moved.nodes)
    }
    linked = pp.assemble(moved, STEEL, sections=plain, connections=links)
    ends = {"root": "root", "tip": "tip"}, {"root": "link 0", "tip": "link 5"}
    one, two = (
        pp.reduce(
            each,
            interfaces={k: pp.Rigid(v) for k, v in names.items()},
            reference="root",
            method=pp.CraigBampton(modes=6),
        )
        for each, names in zip((fe, linked), ends)
    )
    np.testing.assert_allclose(one.modes.frequency, two.modes.frequency, rtol=1e-8)
    np.testing.assert_allclose(one.second_moment, two.second_moment, rtol=1e-8)
    np.testing.assert_allclose(
        np.abs(one.geometric.rotation[1]),
        np.abs(two.geometric.rotation[1]),
        atol=1e-6 * np.abs(one.geometric.rotation).max(),
    )


def test_a_solid_continued_by_beams_is_one_bar():
    """Half of a bar of solids, half of beams, joined by a spider: frequencies of the whole bar of
    beams.
    """
    flexible = pp.Isotropic(E=E, nu=0.0, rho=RHO)
    solid = pp.box_mesh((0.2, 0.02, 0.03), (10, 2, 3))
    beams = np.column_stack([np.linspace(0.2, 0.4, 5), np.full(5, 0.01), np.full(5, 0.015)])
    n = len(solid.nodes)
    cells = np.column_stack([np.arange(4), np.arange(1, 5)]) + n
    sets = {**solid.node_sets, "start": [n], "tip": [n + 4]}
    both = pp.Mesh.from_arrays(
        np.vstack([solid.nodes, beams]),
        {"hex20": solid.blocks["hex20"].connectivity, "line2": cells},
        node_sets=sets,
    )
    section = pp.RectangularSection(0.03, 0.02, orientation=UP)
    mixed = pp.assemble(
        both,
        flexible,
        sections=section,
        connections={"joint": pp.RigidSpider("x1", reference="start")},
    )
    whole = pp.assemble(
        line(np.linspace(0, 0.4, 17)[:, None] * [1.0, 0.0, 0.0]), flexible, sections=section
    )
    ends = [{"root": pp.Rigid(name), "tip": pp.Rigid("tip")} for name in ("x0", "root")]
    one, two = (
        pp.reduce(fe, interfaces=each, reference="root", method=pp.CraigBampton(modes=10))
        for fe, each in zip((mixed, whole), ends)
    )
    np.testing.assert_allclose(
        np.sort(one.modes.frequency)[:8], np.sort(two.modes.frequency)[:8], rtol=0.011
    )  # the spider keeps the section from warping
    np.testing.assert_allclose(one.second_moment, two.second_moment, atol=1e-9)
    assert one.stress.modes.shape[0] == len(np.unique(mixed.triangles)) + 4 * 16


ALONG = pp.RectangularSection(0.1, 0.1, orientation=SKEW)
WOOD = pp.Orthotropic(E=(1e10, 1e9, 1e9), nu=(0.3, 0.3, 0.3), G=(5e8, 5e8, 5e8), rho=500.0)
ROUND = pp.CircularSection(0.1)
DOUBLE = [[0, 0, 0], [1, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pp.RectangularSection(0.02, -1.0, orientation=UP), "section: width = -1.0; give a positive length"),
        (lambda: pp.RectangularSection(0.02, 0.01), "section: orientation is missing"),
        (lambda: pp.TSection(0.02, 0.01, 0.01, 0.001, orientation=UP), "the flange or the web fills the section"),
        (lambda: pp.ChannelSection(0.02, 0.01, 0.001, 0.01, orientation=UP), "the flanges or the web fill the section"),
        (lambda: pp.AngleSection(0.02, 0.01, 0.01, orientation=UP), "thickness = 0.01 fills the section"),
        (lambda: pp.TubularSection(0.02, 0.02), "thickness = 0.02 exceeds the radius 0.01"),
        (lambda: pp.assemble(straight(), STEEL), "sections: missing for line2 elements"),
        (lambda: pp.assemble(straight(), WOOD, sections=ROUND), "line2 elements need an Isotropic one"),
        (lambda: pp.assemble(straight(), STEEL, sections={"web": pp.CircularSection(0.1)}), "sections: no element set 'web'"),
        (lambda: pp.assemble(straight(), STEEL, sections=ALONG), "orientation is along element 1"),
        (lambda: pp.Mesh.from_arrays(DOUBLE, {"line2": [[0, 1], [1, 2]]}), "two coincident nodes: element 2"),
        (lambda: pp.reduce(straight(), STEEL, interfaces={"root": pp.Rigid("root")}, reference="root"), "sections: missing"),
    ],
)  # fmt: skip
def test_bad_beams_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


TAPERS = {
    "rectangular": pp.RectangularSection(
        0.03, 0.02, orientation=UP, end={"height": 0.01, "width": 0.012}
    ),
    "circular": pp.CircularSection(0.03, end={"diameter": 0.012}),
    "tubular": pp.TubularSection(0.03, 0.002, end={"diameter": 0.02, "thickness": 0.003}),
    "box": pp.BoxSection(0.03, 0.02, 0.002, orientation=UP, end={"height": 0.02}),
    "i": pp.ISection(0.03, 0.02, 0.002, 0.003, orientation=UP, end={"height": 0.05, "width": 0.03}),
    "general": pp.GeneralSection(
        3e-4,
        1e-8,
        3e-8,
        2e-8,
        shear=(0.8, 0.7),
        orientation=UP,
        end={"area": 1e-4, "Iy": 2e-9, "Iz": 1e-8, "J": 1e-8, "shear": (0.5, 0.9)},
    ),
}


@pytest.mark.parametrize("kind", TAPERS)
def test_a_tapered_beam_bends_by_the_integral_of_its_compliance(kind):
    """One element under loads at its end: ∫ (1/EA, (L − x)²/EI + 1/kGA, 1/GJ) dx by scipy, at the
    end and between.
    """
    section = TAPERS[kind]
    assert set(TAPERS) == {
        name for name, each in ALL_SECTIONS.items() if getattr(each, "tapers", False)
    }
    L, G = 0.7, E / (2 * (1 + NU))
    fe = pp.assemble(line([(0, 0, 0), (L, 0, 0)]), STEEL, sections=section)
    root, tip = fe.freedoms.six(np.array([0, 1]))

    def integral(f):
        return scipy.integrate.quad(
            lambda s: f(section.at(s).data(NU), L * (1 - s)) * L, 0, 1, epsabs=0, epsrel=1e-12
        )[0]

    along = np.array(section.orientation if section.orientation is not None else (0.0, 1.0, 0.0))
    y, z = np.abs(along).argmax(), 3 - np.abs(along).argmax()
    expected = {
        0: integral(lambda d, r: 1 / (E * d.A)), 3: integral(lambda d, r: 1 / (G * d.J)),
        y: integral(lambda d, r: r**2 / (E * d.Iz) + 1 / (d.ky * G * d.A)),
        z: integral(lambda d, r: r**2 / (E * d.Iy) + 1 / (d.kz * G * d.A)),
        3 + z: integral(lambda d, r: 1 / (E * d.Iz)), 3 + y: integral(lambda d, r: 1 / (E * d.Iy)),
    }  # fmt: skip
    for component, compliance in expected.items():
        load = np.zeros(fe.freedoms.size)
        load[tip[component]] = 1.0
        u = static(fe, load, root)
        assert u[tip[component], 0] == pytest.approx(compliance, rel=1e-9)
    R = fe.rigid_motion(np.array([0.3, 0.1, -0.2]))
    assert np.abs(fe.K @ R).max() < 1e-9 * np.abs(fe.K.data).max()
    volume = scipy.integrate.quad(lambda s: section.at(s).data(NU).A * L, 0, 1)[0]
    assert fe.mass == pytest.approx(RHO * volume, rel=1e-12)
    # under the last load: M over the section modulus at both ends
    stress = fe.structures[0].stress()
    found = (stress @ fe.structures[0].of_elements(u)[:, None])[0, ..., 0]
    for end, half in enumerate(np.split(found, 2)):
        d = section.at(float(end)).data(NU)
        assert np.abs(half[:, 0]).max() == pytest.approx(
            np.abs(d.outline[:, 1]).max() / d.Iy, rel=1e-9
        )


def test_a_wedge_vibrates_as_by_kirchhoff():
    """Cantilever whose height falls linearly to (nearly) zero: ω = 5.315, 15.207, 30.020 √(E I₀/(ρ
    A₀ L⁴)) (Kirchhoff 1879).
    """
    L, h, n = 1.0, 0.01, 40
    places = np.linspace(0, 1, n + 1)
    nodes = np.column_stack([L * places, 0 * places, 0 * places])
    cells = np.column_stack([np.arange(n), np.arange(1, n + 1)])
    sets = {f"e{k}": [k + 1] for k in range(n)}
    mesh = pp.Mesh.from_arrays(nodes, {"line2": cells}, element_sets=sets)
    sections = {
        f"e{k}": pp.RectangularSection(
            h * (1.0 - 0.9999 * places[k]),
            0.02,
            orientation=UP,
            end={"height": h * (1 - 0.9999 * places[k + 1])},
        )
        for k in range(n)
    }
    fe = pp.assemble(mesh, STEEL, sections=sections)
    plane = fe.freedoms.six(np.arange(n + 1))[:, [0, 1, 3, 5]].ravel()
    omega = 2 * np.pi * held(fe, np.union1d(plane, fe.freedoms.six(np.array([0]))[0]))
    unit = np.sqrt(E * h**2 / (12 * RHO * L**4))
    np.testing.assert_allclose(omega[:3] / unit, [5.315, 15.207, 30.020], rtol=1e-3)


def test_tapered_beams_with_three_nodes_converge_to_those_with_two():
    section = TAPERS["rectangular"]
    one = pp.assemble(line([(0, 0, 0), (0.4, 0, 0)]), STEEL, sections=section)
    n = 16
    x = np.linspace(0, 0.4, 2 * n + 1)
    mesh = pp.Mesh.from_arrays(
        np.column_stack([x, 0 * x, 0 * x]),
        {"line3": [(2 * k, 2 * k + 2, 2 * k + 1) for k in range(n)]},
        element_sets={f"e{k}": [k + 1] for k in range(n)},
    )
    pieces = [(section.at(k / n), section.at((k + 1) / n)) for k in range(n)]
    sections = {
        f"e{k}": pp.RectangularSection(
            a.height, a.width, orientation=UP, end={"height": b.height, "width": b.width}
        )
        for k, (a, b) in enumerate(pieces)
    }
    many = pp.assemble(mesh, STEEL, sections=sections)
    tips = []
    for fe in (one, many):
        load = np.zeros(fe.freedoms.size)
        end = fe.freedoms.six(np.array([len(fe.nodes) - 1]))[0]
        load[end[:3]] = 100.0, 200.0, 300.0
        tips.append(static(fe, load, fe.freedoms.six(np.array([0]))[0])[end, 0])
    np.testing.assert_allclose(tips[1], tips[0], rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"end": {}}, "end: is empty; give height, width"),
        (
            {"end": {"diameter": 0.1}},
            "end: 'diameter' is not one of its dimensions; give height, width",
        ),
        ({"end": {"height": -0.1}}, "section: end: height = -0.1; give a positive length"),
        ({"end": 3}, "section: end"),
    ],
)
def test_bad_ends_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        pp.RectangularSection(0.03, 0.02, orientation=UP, **options)


def test_open_sections_do_not_taper():
    with pytest.raises(InputError, match="TSection cannot taper; divide the beam"):
        pp.TSection(0.03, 0.02, 0.002, 0.003, orientation=UP, end={"height": 0.02})


@pytest.mark.parametrize(
    "section",
    [
        pp.TubularSection(0.05, 1e-60),
        pp.BoxSection(0.05, 0.05, 1e-60, orientation=(0, 1, 0)),
    ],
)
def test_sections_that_vanish_in_double_precision_are_refused(section):
    """A wall of 1e-60 m divided by an area of zero."""
    nodes = [(0.0, 0.0, 0.0), (0.4, 0.0, 0.0)]
    mesh = pp.Mesh.from_arrays(nodes, {"line2": [[0, 1]]})
    steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    with pytest.raises(InputError, match="vanishes in double precision"):
        pp.assemble(mesh, steel, sections=section)
