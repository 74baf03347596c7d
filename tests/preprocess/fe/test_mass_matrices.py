"""Lumped mass of beams, trusses and shells, and that of the program of a deck."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.fe.structural_element import moved_points

E, NU, RHO = 2.1e11, 0.3, 7850.0
STEEL = pp.Isotropic(E=E, nu=NU, rho=RHO)
UP = (0.0, 0.0, 1.0)
EULER = pp.GeneralSection(area=1e-4, Iy=2e-9, Iz=2e-9, J=3e-9, shear=(0, 0), orientation=UP)


def along_x(count, length, kind):
    nodes = np.zeros((count + 1, 3))
    nodes[:, 0] = np.linspace(0.0, length, count + 1)
    return pp.Mesh.from_arrays(nodes, {kind: [(k, k + 1) for k in range(count)]})


def omega(fe, free, count):
    """Lowest natural frequencies [rad/s] of the finite ones, with singular M, by 1/ω²."""
    K, M = (A.toarray()[np.ix_(free, free)] for A in (fe.K, fe.M))
    L = np.linalg.inv(np.linalg.cholesky(K))
    return 1 / np.sqrt(np.linalg.eigvalsh(L @ M @ L.T)[::-1][:count])


@pytest.mark.parametrize("kind", ["truss2", "line2"])
def test_a_lumped_rod_has_its_discrete_frequencies(kind):
    """ω_k = (2/h) √(E/ρ) sin((2k − 1) π/(4 n)) of a rod of n elements that is held at one end."""
    n, length = 8, 2.0
    section = pp.TrussSection(1e-4) if kind == "truss2" else EULER
    fe = pp.assemble(along_x(n, length, kind), STEEL, sections=section, mass="lumped")
    k = np.arange(1, n + 1)
    expected = 2 * n / length * np.sqrt(E / RHO) * np.sin((2 * k - 1) * np.pi / (4 * n))
    np.testing.assert_allclose(omega(fe, 3 * k, n), expected, rtol=1e-10)


def test_a_lumped_beam_has_its_discrete_frequencies():
    """ω² = 12 (1 − cos θ)²/(2 + cos θ) EI/(ρ A h⁴), θ = kπ/n, of a beam on two supports.

    Masses on a beam, which is a cubic spline between them: 6 EI δ²w/h² = M₋ + 4 M + M₊ and δ²M/h =
    −m ω² w.
    """
    n, length = 6, 1.5
    fe = pp.assemble(along_x(n, length, "line2"), STEEL, sections=EULER, mass="lumped")
    six = fe.freedoms.six(np.arange(n + 1))
    free = np.concatenate([six[1:-1, 2], six[:, 4]])
    c, h = np.cos(np.arange(1, n) * np.pi / n), length / n
    expected = np.sqrt(12 * (1 - c) ** 2 / (2 + c) * E * 2e-9 / (RHO * 1e-4 * h**4))
    np.testing.assert_allclose(omega(fe, free, n - 1), expected, rtol=1e-8)


def truss_72():
    """Tower of four storeys with 18 bars each: columns, diagonals of faces, horizontals, braces.

    Side 120 in, height 60 in a storey (Venkayya 1971; Schmit and Farshi, AIAA J. 12 (1974) 692).
    """
    corners = 60.0 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    nodes = 0.0254 * np.array([(x, y, 60.0 * z) for z in range(5) for x, y in corners])
    bars = []
    for low in range(0, 16, 4):
        up = low + 4
        for a, b in ((0, 1), (1, 2), (2, 3), (3, 0)):
            bars += [(low + a, up + a), (low + a, up + b), (low + b, up + a), (up + a, up + b)]
        bars += [(up, up + 2), (up + 1, up + 3)]
    return nodes, np.array(bars)


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_a_tower_of_72_bars(mass):
    """Frequencies against matrices that are summed here bar by bar."""
    nodes, bars = truss_72()
    modulus, rho, area = 6.895e10, 2767.99, 6.4516e-4
    mesh = pp.Mesh.from_arrays(nodes, {"truss2": bars})
    material = pp.Isotropic(E=modulus, nu=0.3, rho=rho)
    fe = pp.assemble(mesh, material, sections=pp.TrussSection(area), mass=mass)
    K, M = np.zeros((60, 60)), np.zeros((60, 60))
    share = [[3, 0], [0, 3]] if mass == "lumped" else [[2, 1], [1, 2]]
    for a, b in bars:
        dofs = [*range(3 * a, 3 * a + 3), *range(3 * b, 3 * b + 3)]
        span = nodes[b] - nodes[a]
        length = np.linalg.norm(span)
        t = np.concatenate([-span, span]) / length
        K[np.ix_(dofs, dofs)] += modulus * area / length * np.outer(t, t)
        M[np.ix_(dofs, dofs)] += rho * area * length / 6 * np.kron(share, np.eye(3))
    free = np.arange(12, 60)
    expected = np.sqrt(scipy.linalg.eigvalsh(K[12:, 12:], M[12:, 12:]))
    np.testing.assert_allclose(omega(fe, free, 48), expected, rtol=1e-9)
    third = expected[2] / (2 * np.pi)  # of the twist, printed with lumped mass as 38.9 Hz
    assert third == pytest.approx(38.9 if mass == "lumped" else 48.8, abs=0.05)
    ground = pp.Mesh.from_arrays(nodes, {"truss2": bars}, node_sets={"feet": np.arange(4)})
    body = pp.reduce(
        pp.assemble(ground, material, sections=pp.TrussSection(area), mass=mass),
        interfaces={"feet": pp.Rigid("feet")},
        reference="feet",
        method=pp.CraigBampton(modes=6),
    )
    np.testing.assert_allclose(body.modes.frequency, expected[:6] / (2 * np.pi), rtol=1e-8)


def frame(mass):
    nodes = [(0.1 * k, 0.0, 0.0) for k in range(6)] + [(0.5, 0.1 * k, 0.0) for k in range(1, 6)]
    mesh = pp.Mesh.from_arrays(
        np.array(nodes), {"line2": [(k, k + 1) for k in range(10)]}, node_sets={"root": [0]}
    )
    section = pp.RectangularSection(0.02, 0.01, orientation=UP, lumped_torsion=False)
    return pp.assemble(mesh, STEEL, sections=section, mass=mass)


def test_rotations_without_mass_are_condensed():
    """A frame whose rotations have no mass: all its 30 clamped modes, no more."""
    fe = frame("lumped")
    assert np.linalg.matrix_rank(fe.M.toarray()) == 33
    free = np.setdiff1d(np.arange(fe.freedoms.size), fe.freedoms.six(np.array([0])))

    def body(count):
        return pp.reduce(
            fe,
            interfaces={"root": pp.Rigid("root")},
            reference="root",
            method=pp.CraigBampton(modes=count),
            stress=None,
        )

    expected = omega(fe, free, 10) / (2 * np.pi)
    np.testing.assert_allclose(body(10).modes.frequency, expected, rtol=1e-8)
    found = body(30)
    np.testing.assert_allclose(found.modes.frequency[:8], expected[:8], rtol=1e-8)
    m, x = fe.m.diagonal(), fe.points
    assert found.mass == pytest.approx(m.sum(), rel=1e-12)
    np.testing.assert_allclose(found.com, m @ x / m.sum(), atol=1e-12)
    inertia = np.einsum("p,pij->ij", m, (x**2).sum(1)[:, None, None] * np.eye(3)
                        - x[:, :, None] * x[:, None])  # fmt: skip
    assert np.allclose(found.inertia, inertia, rtol=1e-10, atol=1e-12 * inertia.max())
    with pytest.raises(InputError, match="31 requested; the body has 30 degrees of freedom"):
        body(31)


def test_a_straight_lumped_beam_without_rotary_inertia_is_refused():
    """No body has its mass on a line; with the rotary inertia about the axis it is ρ I_p L."""
    mesh = along_x(4, 1.0, "line2")
    interface = {"root": pp.Rigid(pp.Point((0.0, 0.0, 0.0)))}
    section = pp.TubularSection(0.02, 0.002, orientation=UP)
    fe = pp.assemble(mesh, STEEL, sections=section, mass="lumped")
    data = section.data(NU)
    body = pp.reduce(fe, interfaces=interface, reference="root", method=pp.CraigBampton(modes=4))
    assert body.inertia[0, 0] == pytest.approx(RHO * (data.Iy + data.Iz), rel=1e-10)
    section = pp.TubularSection(0.02, 0.002, orientation=UP, lumped_torsion=False)
    fe = pp.assemble(mesh, STEEL, sections=section, mass="lumped")
    with pytest.raises(InputError, match=r"the mass is on one line; .* consistent"):
        pp.reduce(fe, interfaces=interface, reference="root", method=pp.CraigBampton(modes=4))


def curve(count):
    t = np.linspace(0.0, 1.0, count + 1)
    return np.column_stack([t, 0.1 * t**2, 0.05 * t])


def sheet(kind):
    nodes = np.array([(a, b, 0.2 * a * b) for b in (0.0, 0.5, 1.0) for a in (0.0, 0.4, 1.0)])
    quads = [(0, 1, 4, 3), (1, 2, 5, 4), (3, 4, 7, 6), (4, 5, 8, 7)]
    cells = (
        quads if kind == "quad4" else [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    )
    return pp.Mesh.from_arrays(nodes, {kind: cells})


CASES = {
    "beam": (
        lambda: pp.Mesh.from_arrays(curve(3), {"line2": [(0, 1), (1, 2), (2, 3)]}),
        pp.GeneralSection(area=1e-3, Iy=1e-6, Iz=2e-6, J=1e-6, shear_centre=(0.01, 0.02),
                          line="shear-centre", orientation=UP, added_mass=2.0,
                          ends=((0.0, 0.1, 0.05), (0.0, 0.0, 0.2))),
    ),
    "curved": (
        lambda: pp.Mesh.from_arrays(curve(2)[[0, 2, 1]], {"line3": [(0, 1, 2)]}),
        pp.TubularSection(0.1, 0.01, orientation=UP, offset=(0.05, 0.02)),
    ),
    "quad4": (lambda: sheet("quad4"), pp.ShellSection(0.05, offset=0.03, added_mass=2.0)),
    "tri3": (lambda: sheet("tri3"), pp.ShellSection(0.05, offset=0.03)),
    "truss": (
        lambda: pp.Mesh.from_arrays(curve(3), {"truss2": [(0, 1), (1, 2), (2, 3)]}),
        pp.TrussSection(1e-3),
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::preprocess.PreprocessWarning")
@pytest.mark.parametrize("mass", ["consistent", "lumped", "coupled"])
@pytest.mark.parametrize("case", CASES)
def test_second_order_work_of_rigid_rotations(case, mass):
    """θᵀ K0 θ = −Σ f·(θ × (θ × x)) for any displacements, with forces on the mass points.

    f: the forces on the nodes in equilibrium with the stresses and the points, and on the points.
    """
    made, section = CASES[case]
    mesh, random = made(), np.random.default_rng(3)
    mesh = replace(mesh, declared=replace(mesh.declared, mass=mass))
    fe = pp.assemble(mesh, STEEL, sections=section, mass="deck")
    (structure,) = fe.structures
    u = 1e-3 * random.standard_normal((fe.freedoms.size, 1))
    own, masses = structure.mass_points()
    points = moved_points(structure, own, fe.freedoms.size)
    f = 1e5 * random.standard_normal((*masses.shape, 3, 1))
    rigid = fe.freedoms.rigid_motion(mesh.nodes).reshape(-1, 6)
    nodal = fe.K @ u - points.motion.T @ f.reshape(-1, 1)
    product = nodal[: mesh.nodes.size].reshape(-1, 3).T @ mesh.nodes
    product += f.reshape(-1, 3).T @ points.positions
    expected = np.zeros((6, 6))
    expected[3:, 3:] = np.trace(product) * np.eye(3) - 0.5 * (product + product.T)
    K0 = structure.initial_stress_stiffness(u, rigid, f)[0]
    np.testing.assert_allclose(K0, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.filterwarnings("ignore::preprocess.PreprocessWarning")
@pytest.mark.parametrize("case", CASES)
def test_lumped_mass_and_centre_are_the_consistent_ones(case):
    made, section = CASES[case]
    models = [
        pp.assemble(made(), STEEL, sections=section, mass=m) for m in ("lumped", "consistent")
    ]
    lumped, consistent = models
    assert lumped.mass == pytest.approx(consistent.mass, rel=1e-12)
    apart = np.abs(lumped.centre_of_mass - consistent.centre_of_mass).max()
    assert apart < (0.02 if case == "curved" else 2e-3)  # of directors and arms between nodes
    assert np.linalg.eigvalsh(lumped.M.toarray())[0] > -1e-9


HEAD = "SOL 103\nCEND\nBEGIN BULK\n"
BARS = """GRID,1,,0.,0.,0.
GRID,2,,1.,0.,0.
GRID,3,,1.,1.,0.
{element},1,7,1,2,0.,0.,1.,,
,,,0.,.1,.2,0.,.1,.2
{element},2,7,2,3,0.,0.,1.
{property}
MAT1,1,2.1+11,,.3,7850.
ENDDATA
"""
BAR, BEAM = "PBAR,7,1,1.-3,1.-6,2.-6,3.-6", "PBEAM,7,1,1.-3,1.-6,2.-6,,3.-6"


def read(tmp_path, text, name="bars.bdf"):
    path = tmp_path / name
    path.write_text(text)
    return pp.read_mesh(path, unit="m")


@pytest.mark.parametrize(("element", "card", "polar"), [("CBAR", BAR, 0), ("CBEAM", BEAM, 1)])
def test_the_mass_of_bars_is_that_of_nastran(tmp_path, element, card, polar):
    """Half the mass at the ends of the offsets; of rotary inertia, ρ (I1 + I2) L/2 of CBEAM."""
    mesh = read(tmp_path, HEAD + BARS.format(element=element, property=card))
    fe = pp.assemble(mesh, mass="deck")
    six = fe.freedoms.six(np.array([0]))[0]
    m, y, z = 7850 * 1e-3 / 2, 0.1, 0.2
    arm = np.array([[0, z, -y], [-z, 0, 0], [y, 0, 0]])
    expected = m * np.block([[np.eye(3), arm], [arm.T, arm.T @ arm]])
    expected[3, 3] += polar * 7850 * 3e-6 / 2
    np.testing.assert_allclose(fe.M.toarray()[np.ix_(six, six)], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [("", "lumped"), ("PARAM,COUPMASS,1\n", "coupled"), ("PARAM,COUPMASS,-1\n", "lumped"),
     ("PARAM   COUPMASS YES\n", "coupled"), ("PARAM,COUPMASS,AUTO\n", None)],
)  # fmt: skip
def test_the_formulation_of_a_deck(tmp_path, parameter, expected):
    mesh = read(tmp_path, HEAD + parameter + BARS.format(element="CBAR", property=BAR))
    assert mesh.declared.mass == expected
    if expected is None:
        with pytest.raises(InputError, match=r"mass: the file states no formulation .* 'lumped'"):
            pp.assemble(mesh, mass="deck")
        return
    found = pp.assemble(mesh, mass="deck")
    same = pp.assemble(mesh, mass="lumped" if expected == "lumped" else "consistent")
    assert abs(found.M - same.M).max() == 0.0
    assert f"{expected} mass" in found.elements


def test_coupled_rods_are_those_of_nastran(tmp_path):
    """ρ A L (5/12, 1/12) along the rod, (1/2, 0) across it: ten bars."""
    grids = [(720, 0), (720, -360), (360, 0), (360, -360), (0, 0), (0, -360)]
    bars = [(3, 5), (1, 3), (4, 6), (2, 4), (3, 4), (1, 2), (4, 5), (3, 6), (2, 3), (1, 4)]
    lines = [f"GRID,{n},,{x}.,0.,{z}." for n, (x, z) in enumerate(grids, 1)]
    lines += [f"CONROD,{n},{a},{b},1,1.5" for n, (a, b) in enumerate(bars, 1)]
    text = HEAD + "PARAM,COUPMASS,1\n" + "\n".join(lines) + "\nMAT1,1,1.+7,,.3,2.588-4\nENDDATA\n"
    fe = pp.assemble(read(tmp_path, text), mass="deck")
    M = np.zeros((18, 18))
    for a, b in np.array(bars) - 1:
        span = np.subtract(grids[b], grids[a])
        length, t = np.hypot(*span), np.array([span[0], 0.0, span[1]]) / np.hypot(*span)
        dofs = [*range(3 * a, 3 * a + 3), *range(3 * b, 3 * b + 3)]
        along = np.kron([[5, 1], [1, 5]], np.outer(t, t)) / 12
        across = np.kron(np.eye(2), np.eye(3) - np.outer(t, t)) / 2
        M[np.ix_(dofs, dofs)] += 2.588e-4 * 1.5 * length * (along + across)
    np.testing.assert_allclose(fe.M.toarray(), M, atol=1e-12)


def test_a_parameter_of_the_case_control(tmp_path):
    head = HEAD.replace("CEND\n", "CEND\nPARAM,COUPMASS,1\n")
    mesh = read(tmp_path, head + BARS.format(element="CBAR", property=BAR))
    assert mesh.declared.mass == "coupled"


def test_optistruct_has_another_default(tmp_path):
    text = BARS.format(element="CBAR", property=BAR)
    assert read(tmp_path, HEAD + text, "bars.fem").declared.mass is None


def test_the_mass_of_calculix_is_consistent(tmp_path):
    nodes = "*NODE\n1,0,0,0\n2,1,0,0\n3,0,1,0\n4,0,0,1\n"
    solid = "*ELEMENT,TYPE=C3D4,ELSET=a\n1,1,2,3,4\n"
    assert read(tmp_path, nodes + solid, "a.inp").declared.mass == "consistent"
    part = f"*PART,NAME=p\n{nodes}{solid}*END PART\n"  # of Abaqus, which lumps linear elements
    assert read(tmp_path, part, "b.inp").declared.mass is None


def test_shares_of_shells_are_integrals_of_the_functions():
    """A trapezium: ∫ N_a dA, whose centre is that of the area."""
    corners = np.array([(0.0, 0.0, 0.0), (3.0, 0.0, 0.0), (2.0, 1.0, 0.0), (0.0, 1.0, 0.0)])
    mesh = pp.Mesh.from_arrays(corners, {"quad4": [(0, 1, 2, 3)]})
    fe = pp.assemble(mesh, STEEL, sections=pp.ShellSection(0.01), mass="lumped")
    shares = fe.m.diagonal()[-4:] / (RHO * 0.01)
    np.testing.assert_allclose(shares, [2 / 3, 2 / 3, 7 / 12, 7 / 12], rtol=1e-12)
    np.testing.assert_allclose(shares @ corners / 2.5, [19 / 15, 7 / 15, 0.0], atol=1e-12)
