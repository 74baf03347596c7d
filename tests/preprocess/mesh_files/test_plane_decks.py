"""Plane decks are extruded and axisymmetric ones revolved: closed forms, plane finite elements of
scikit-fem, and CalculiX.
"""

import shutil
import subprocess

import numpy as np
import pytest
import scipy.linalg
import skfem
from mesh_decks import plane_deck
from scipy.optimize import brentq
from skfem.helpers import ddot, sym_grad, trace
from skfem.models.elasticity import lame_parameters

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.inputs.warning import PreprocessWarning

CCX = shutil.which("ccx")
E, NU, RHO = 2.1e11, 0.3, 7850.0
G = E / (2 * (1 + NU))
LENGTH, HEIGHT, THICKNESS = 1.0, 0.1, 0.02
AREA, I = HEIGHT * THICKNESS, THICKNESS * HEIGHT**3 / 12
BEAM = (LENGTH, HEIGHT)


def read(tmp_path, text, message="are extruded|are revolved", **options):
    """Mesh of a deck, whose notice says what has been made of the elements."""
    path = tmp_path / "sheet.inp"
    path.write_text(text)
    with pytest.warns(PreprocessWarning, match=message):
        return pp.read_mesh(path, unit="m", **options)


def in_plane(fe):
    """Fields (3N, 2n) of the motion of each of n places in the plane, and these (n, 2)."""
    places, number = np.unique(fe.nodes[:, :2].round(9), axis=0, return_inverse=True)
    P = np.zeros((len(fe.nodes), 3, len(places), 2))
    for c in (0, 1):
        P[np.arange(len(fe.nodes)), c, number.ravel(), c] = 1.0
    return P.reshape(3 * len(fe.nodes), -1), places


def plane_matrices(fe):
    """K and M (2n, 2n) of motions in the plane, and the places (n, 2)."""
    P, places = in_plane(fe)
    return P.T @ (fe.K @ P), P.T @ (fe.M @ P), places


@pytest.mark.parametrize(
    ("kind", "element", "mesh"),
    [
        ("3", skfem.ElementTriP1, skfem.MeshTri),
        ("6", skfem.ElementTriP2, skfem.MeshTri),
        ("8", skfem.ElementQuadS2, skfem.MeshQuad),
    ],
)
@pytest.mark.parametrize("state", ["CPS", "CPE"])
def test_the_solid_has_the_matrices_of_plane_elements(tmp_path, state, kind, element, mesh):
    """K and M of motions in the plane are those of scikit-fem's plane elements, times the
    thickness; in plane stress with λ' = 2 λ μ / (λ + 2 μ).
    """
    fe = pp.assemble(read(tmp_path, plane_deck(state + kind, (3, 2), (0.3, 0.1))))
    K, M, places = plane_matrices(fe)
    x, y = np.linspace(0, 0.3, 4), np.linspace(0, 0.1, 3)
    grid = skfem.MeshQuad.init_tensor(x, y)
    if mesh is skfem.MeshTri:  # diagonals from the lower left, as in the deck
        cells = grid.t[:, :]
        order = [
            cells[np.lexsort((grid.p[1, cells[:, k]] + 9 * grid.p[0, cells[:, k]],)), k]
            for k in range(cells.shape[1])
        ]
        corners = np.array(order)  # lower left, upper left, lower right, upper right
        a, d, b, c = corners.T
        grid = skfem.MeshTri(grid.p, np.hstack([[a, b, c], [a, c, d]]))
    basis = skfem.Basis(grid, skfem.ElementVector(element()), intorder=6)
    lam, mu = lame_parameters(E, NU)
    lam = 2 * lam * mu / (lam + 2 * mu) if state == "CPS" else lam

    @skfem.BilinearForm
    def stiffness(u, v, w):
        e = sym_grad(u)
        return lam * trace(e) * trace(sym_grad(v)) + 2 * mu * ddot(e, sym_grad(v))

    @skfem.BilinearForm
    def mass(u, v, w):
        return RHO * (u * v).sum(axis=0)

    dofs = np.empty(basis.N, dtype=int)  # of the deck, for those of scikit-fem
    for k, place in enumerate(basis.doflocs.T):
        node = np.linalg.norm(places - place, axis=1).argmin()
        dofs[k] = 2 * node + (basis.doflocs[:, :k] == place[:, None]).all(axis=0).any()
    for own, form in ((K, stiffness), (M, mass)):
        wanted = THICKNESS * form.assemble(basis).toarray()
        np.testing.assert_allclose(
            own[np.ix_(dofs, dofs)], wanted, atol=1e-9 * np.abs(wanted).max()
        )


def timoshenko(E, G, shear):
    """First bending frequency of a cantilever [Hz].

    EI w'''' + ρA (EI/κGA + ρI/ρA) ω² w'' − ρA ω² (1 − ρI ω²/κGA) w = 0, with w = φ = 0 at the root
    and M = Q = 0 at the end (Timoshenko, Phil. Mag. 41 (1921) 744).
    """

    def determinant(f):
        w2 = (2 * np.pi * f) ** 2
        kGA, rA, rI, EI = shear * G * AREA, RHO * AREA, RHO * I, E * I
        roots = np.roots([EI, 0, rA * w2 * EI / kGA + rI * w2, 0, -rA * w2 * (1 - rI * w2 / kGA)])
        slope = (rA * w2 / kGA + roots**2) / roots  # φ for w = exp(r x)
        grown = np.exp(roots * LENGTH)
        return np.linalg.det([np.ones(4), slope, roots * slope * grown, (roots - slope) * grown])

    guess = 0.5 * (1.8751 / LENGTH) ** 2 * np.sqrt(E * I / RHO / AREA) / np.pi

    def value(f):
        found = determinant(f)
        return found.real if abs(found.real) > abs(found.imag) else found.imag

    return brentq(value, 0.9 * guess, 1.02 * guess)


@pytest.mark.parametrize("kind", ["CPS4", "CPS6", "CPS8R", "CPE8"])
def test_a_cantilever_bends_as_timoshenko_predicts(tmp_path, kind):
    """Tip deflection F L³/3EI + F L/κGA and the first frequency in the plane; in plane strain with
    E/(1 − ν²).
    """
    fe = pp.assemble(read(tmp_path, plane_deck(kind, (40, 4), BEAM)))
    assert fe.mass == pytest.approx(RHO * AREA * LENGTH, rel=1e-12)
    K, M, places = plane_matrices(fe)
    free = np.repeat(places[:, 0] > 0, 2)
    force = np.zeros(len(K))
    tip = np.isclose(places[:, 0], LENGTH)
    force[1::2][tip] = 1e3 / tip.sum()
    u = np.zeros(len(K))
    u[free] = np.linalg.solve(K[np.ix_(free, free)], force[free])
    modulus = E / (1 - NU**2) if kind.startswith("CPE") else E
    shear = 5 / 6
    expected = 1e3 * (LENGTH**3 / (3 * modulus * I) + LENGTH / (shear * G * AREA))
    assert u[1::2][tip].mean() == pytest.approx(expected, rel=5e-3)
    (first,) = scipy.linalg.eigh(
        K[np.ix_(free, free)], M[np.ix_(free, free)], eigvals_only=True, subset_by_index=[0, 0]
    )
    assert np.sqrt(first) / (2 * np.pi) == pytest.approx(timoshenko(modulus, G, shear), rel=5e-3)


def test_a_plane_body_has_interfaces_at_its_edges(tmp_path):
    """Edges as surfaces and node sets carry joints; the body bends in its plane as the plane beam,
    and across it as a plate.
    """
    edge = "*SURFACE, NAME=tip\n{}\n".format("\n".join(f"{k}, S2" for k in (79, 80)))
    mesh = read(tmp_path, plane_deck("CPS8", (40, 2), BEAM) + edge)
    assert sorted(mesh.node_sets["tip"]) == sorted(mesh.node_sets["right"])
    assert len(mesh.node_sets["right"]) == 2 * 5 + 3  # both faces, and corners between them
    body = pp.reduce(
        mesh,
        interfaces={"root": pp.Rigid("left"), "tip": pp.Averaged("tip")},
        reference="root",
        stress=pp.Stress(precision="double"),
    )
    in_plane, across = timoshenko(E, G, 5 / 6), timoshenko(E, G, 5 / 6) * THICKNESS / HEIGHT
    for expected in (in_plane, across):
        assert np.abs(body.modes.frequency / expected - 1).min() < 2e-2
    assert body.mass == pytest.approx(RHO * AREA * LENGTH, rel=1e-12)


@pytest.mark.parametrize("kind", ["CPS8", "CPE8"])
def test_stress_across_the_plane(tmp_path, kind):
    """A strip under ε_x: in plane strain σ_x = E/(1 − ν²) ε_x and σ_z = ν σ_x, in plane stress
    σ_x = E ε_x and σ_z = 0.
    """
    from preprocess.fe.nodal_stress import nodal_stress, stress_rows

    fe = pp.assemble(read(tmp_path, plane_deck(kind, (2, 1), (0.2, 0.1))))
    ratio = NU / (1 - NU) if kind == "CPE8" else NU
    u = (fe.nodes * [1e-3, -ratio * 1e-3, 0]).reshape(-1, 1)
    rows = stress_rows(fe.groups, np.arange(len(fe.nodes)), len(fe.nodes))
    stress = nodal_stress(fe.groups, fe.nodes, u, rows)[:, :, 0]
    along = 1e-3 * (E / (1 - NU**2) if kind == "CPE8" else E)
    across = NU * along if kind == "CPE8" else 0.0
    np.testing.assert_allclose(
        stress, [[along, 0, across, 0, 0, 0]] * len(stress), atol=1e-9 * along
    )


def test_thicknesses_differ_by_layers(tmp_path):
    """A plate with a thicker half: mass, both faces, and K of uniform stretching."""
    text = plane_deck("CPS4", (2, 1), (0.2, 0.1))
    text = text.replace("*SOLID", "*ELSET, ELSET=thick\n2,\n*SOLID", 1)
    mesh = read(tmp_path, text + "*SOLID SECTION, ELSET=thick, MATERIAL=steel\n0.05\n")
    fe = pp.assemble(mesh)
    assert fe.mass == pytest.approx(RHO * 0.01 * (0.02 + 0.05), rel=1e-12)
    assert len(mesh.blocks["hex8"].ids) == 1 + 3
    assert set(np.unique(mesh.nodes[:, 2])) == {-0.025, -0.01, 0.01, 0.025}
    assert np.ptp(mesh.nodes[mesh.node_sets["right"], 2]) == pytest.approx(0.05)
    assert np.ptp(mesh.nodes[mesh.node_sets["left"], 2]) == pytest.approx(0.02)
    u = (fe.nodes * [1.0, -NU, 0.0]).ravel()
    assert u @ fe.K @ u == pytest.approx(E * 0.01 * 0.07, rel=1e-9)


def facets(sectors, order):
    """Areas of a circle of facets over π r², and their polar moments over π r⁴/2."""
    half = np.pi / sectors
    area = np.sin(2 * half) / (2 * half)
    return (area, area * (2 + np.cos(2 * half)) / 3) if order == 1 else (1.0, 1.0)


@pytest.mark.parametrize("kind", ["CAX3", "CAX4", "CAX6", "CAX8R"])
@pytest.mark.parametrize("inner", [0.0, 0.03])
def test_a_disc_has_the_mass_and_inertia_of_its_facets(tmp_path, kind, inner):
    """Exactly those of a prism of 48 sides for elements of first order; of the disc to 1e-4 for
    second order and 16 sectors.
    """
    outer, width = 0.08, 0.02
    deck = plane_deck(kind, (3, 2), (outer - inner, width), (inner, 0.1), section="")
    mesh = read(tmp_path, deck)
    fe = pp.assemble(mesh)
    order, tolerance = (1, 1e-9) if kind in ("CAX3", "CAX4") else (2, 2e-4)
    area, polar = facets(48, order)
    mass = RHO * np.pi * (outer**2 - inner**2) * width * area
    assert fe.mass == pytest.approx(mass, rel=tolerance)
    R = fe.rigid_motion(fe.centre_of_mass)
    inertia = (R.T @ (fe.M @ R))[3:, 3:]
    spin = 0.5 * RHO * np.pi * (outer**4 - inner**4) * width * polar
    tilt = spin / 2 + mass * width**2 / 12
    np.testing.assert_allclose(inertia, np.diag([tilt, spin, tilt]), atol=tolerance * spin)
    np.testing.assert_allclose(fe.centre_of_mass, [0, 0.1 + width / 2, 0], atol=1e-9)
    radius = np.hypot(*mesh.nodes[mesh.node_sets["right"]][:, [0, 2]].T)
    np.testing.assert_allclose(radius, outer, rtol=1e-12)
    assert abs(fe.K @ R).max() < 1e-8 * abs(fe.K).max()


def test_a_cone_of_quadrilaterals_has_its_apex_on_the_axis(tmp_path):
    """A rhombus with one corner on the axis, divided into pyramids: volume 2π · 1 · 2 (Pappus)."""
    corners = "*NODE\n1, 0, 0\n2, 1, -1\n3, 2, 0\n4, 1, 1\n"
    between = "5, 0.5, -0.5\n6, 1.5, -0.5\n7, 1.5, 0.5\n8, 0.5, 0.5\n"
    steel = "*MATERIAL, NAME=steel\n*ELASTIC\n2.1e11, 0.3\n*DENSITY\n7850.\n"
    steel += "*SOLID SECTION, ELSET=ring, MATERIAL=steel\n"
    first = corners + "*ELEMENT, TYPE=CAX4, ELSET=ring\n1, 1, 2, 3, 4\n" + steel
    second = (
        corners + between + "*ELEMENT, TYPE=CAX8, ELSET=ring\n1, 1, 2, 3, 4, 5, 6, 7, 8\n" + steel
    )
    # curved pyramids of second order are integrated approximately
    for text, kind, order, tolerance in (
        (first, "pyramid5", 1, 1e-9),
        (second, "pyramid13", 2, 2e-4),
    ):
        mesh = read(tmp_path, text, sectors=48)
        assert list(mesh.blocks) == [kind]
        assert len(mesh.blocks[kind].ids) == 96
        mass = pp.assemble(mesh).mass
        assert mass == pytest.approx(RHO * 4 * np.pi * facets(48, order)[0], rel=tolerance)


def test_a_shaft_has_the_frequencies_of_a_bar(tmp_path):
    """Free round shaft: torsion √(G/ρ)/2L, extension with lateral inertia (Rayleigh and Love),
    first bending of Timoshenko's beam (22.373 less shear and rotation, Timoshenko's approximation).
    """
    length, r = 1.0, 0.03
    fe = pp.assemble(read(tmp_path, plane_deck("CAX8", (2, 20), (r, length), section="")))
    K, M = fe.K.tocsc(), fe.M.tocsc()
    import scipy.sparse.linalg as sla

    values, shapes = sla.eigsh(K, 18, M, sigma=-1e7, v0=np.ones(K.shape[0]))
    frequency = np.sqrt(np.abs(values)) / (2 * np.pi)
    assert frequency[:6].max() < 1e-2 * frequency[6]
    turn = np.cross([0, 1.0, 0], fe.nodes)
    wave = np.cos(np.pi * fe.nodes[:, 1] / length)[:, None]
    fields = {
        "torsion": (turn * wave, np.sqrt(G / RHO) / (2 * length)),
        "extension": (
            [0, 1, 0] * wave,
            np.sqrt(E / RHO) / (2 * length) / np.sqrt(1 + (NU * np.pi * r / length) ** 2 / 2),
        ),
    }
    for name, (field, expected) in fields.items():
        u = np.ravel(field)
        share = (shapes.T @ (M @ u)) ** 2 / (u @ M @ u)
        assert share.max() > 0.99, name
        assert frequency[share.argmax()] == pytest.approx(expected, rel=5e-4), name
    euler = 22.3733 * np.sqrt(E / RHO) * (r / 2) / (2 * np.pi * length**2)
    # Blevins, Formulas for Natural Frequency and Mode Shape, (8-35): free ends, k = 4.730, shear
    # coefficient 6 (1 + ν) / (7 + 6 ν) of Cowper
    shear = 6 * (1 + NU) / (7 + 6 * NU)
    slender = (r / 2 / length) ** 2
    reduced = euler / np.sqrt(1 + slender * (49.48 + 12.30 * E / (shear * G)))
    np.testing.assert_allclose(frequency[6:8], reduced, rtol=5e-3)


def test_a_thin_ring_breathes(tmp_path):
    """Uniform radial vibration of a thin ring, ω = √(E/ρ)/R (Love, Treatise, § 293)."""
    text = plane_deck("CAX8", (1, 1), (0.002, 0.002), (0.2, 0.0), section="")
    fe = pp.assemble(read(tmp_path, text, sectors=48))
    radial = fe.nodes * [1, 0, 1] / np.hypot(fe.nodes[:, 0], fe.nodes[:, 2])[:, None]
    u = radial - NU * (fe.nodes - fe.nodes.mean(axis=0)) * [0, 1, 0] / 0.201  # contraction
    u -= NU * radial * (np.hypot(fe.nodes[:, 0], fe.nodes[:, 2]) - 0.201)[:, None] / 0.201
    u = u.ravel()
    frequency = np.sqrt((u @ fe.K @ u) / (u @ fe.M @ u)) / (2 * np.pi)
    assert frequency == pytest.approx(np.sqrt(E / RHO) / 0.201 / (2 * np.pi), rel=1e-3)


def test_couplings_and_instances_of_axisymmetric_parts(tmp_path):
    """A pulley of a *PART, moved along its axis: rings couple to reference nodes on the axis."""
    part = plane_deck("CAX4", (2, 2), (0.02, 0.05), (0.03, 0.0), section="")
    mesh_lines, _, rest = part.partition("*MATERIAL")
    text = "*PART, NAME=Pulley\n" + mesh_lines + "*SURFACE, NAME=bore\nsheet\n"
    text += "*SOLID SECTION, ELSET=sheet, MATERIAL=steel\n*END PART\n*ASSEMBLY, NAME=A\n"
    text += "*INSTANCE, NAME=P-1, PART=Pulley\n0., 1.\n*END INSTANCE\n"
    text += "*NODE, NSET=centre\n1, 0., 1.025\n"
    text += "*NSET, NSET=hole, INSTANCE=P-1\nleft\n*SURFACE, NAME=inside, TYPE=NODE\nhole\n"
    text += "*COUPLING, CONSTRAINT NAME=hub, REF NODE=centre, SURFACE=inside\n*KINEMATIC\n"
    text += "*END ASSEMBLY\n"
    text += "*MATERIAL" + rest.partition("*SOLID")[0]
    mesh = read(tmp_path, text)
    assert len(mesh.node_sets["hole"]) == 3 * 48
    # the outer edges of the section: 8 nodes of the 9, all around
    assert len(mesh.node_sets["bore"]) == 8 * 48
    body = pp.reduce(
        mesh,
        interfaces={"hub": pp.Rigid("hub reference")},
        reference="hub",
        method=pp.CraigBampton(modes=2),
    )
    assert body.frames["hub"].kind == "rigid"
    np.testing.assert_allclose(mesh.nodes[mesh.node_sets["hub reference"]], [[0, 1.025, 0]])
    np.testing.assert_allclose(mesh.nodes[:, 1].min(), 1.0)


def nastran_ring(order):
    """A ring of CTRIAX6, radii 0.1 and 0.3, heights 0 and 0.1, in the plane of x and z."""
    lines = ["BEGIN BULK"]
    grid = [(i, j) for i in range(5) for j in range(3)]
    number = {place: k for k, place in enumerate(grid, 1)}
    lines += [f"GRID,{number[i, j]},,{0.1 + 0.05 * i},0.,{0.05 * j}" for i, j in grid]
    for k, i in enumerate((0, 2)):
        below = [(i, 0), (i + 1, 0), (i + 2, 0), (i + 2, 1), (i + 2, 2), (i + 1, 1)]
        above = [(i, 0), (i + 1, 1), (i + 2, 2), (i + 1, 2), (i, 2), (i, 1)]
        for n, places in enumerate((below, above)):
            around = places if order == 1 else [places[0], *places[:0:-1]]
            nodes = [number[each] for each in around]
            lines.append(f"CTRIAX6,{2 * k + n + 1},7,{','.join(map(str, nodes))}")
    lines += ["MAT1,7,2.1+11,,.3,7850.", "SPC1,1,13,1,2,3", "ENDDATA", ""]
    return "\n".join(lines)


@pytest.mark.parametrize("order", [1, -1])
def test_nastran_rings_are_revolved_about_z(tmp_path, order):
    """CTRIAX6 in either direction: mass, inertia and the ring of an SPC set."""
    path = tmp_path / "ring.bdf"
    path.write_text(nastran_ring(order))
    with pytest.warns(
        PreprocessWarning, match="4 axisymmetric elements are revolved about the z axis"
    ):
        mesh = pp.read_mesh(path, unit="m", sectors=24)
    fe = pp.assemble(mesh)
    mass = RHO * np.pi * (0.3**2 - 0.1**2) * 0.1
    assert fe.mass == pytest.approx(mass, rel=1e-4)
    R = fe.rigid_motion(fe.centre_of_mass)
    spin = 0.5 * RHO * np.pi * (0.3**4 - 0.1**4) * 0.1
    tilt = spin / 2 + mass * 0.1**2 / 12
    inertia = (R.T @ (fe.M @ R))[3:, 3:]
    np.testing.assert_allclose(inertia, np.diag([tilt, tilt, spin]), atol=1e-4 * spin)
    np.testing.assert_allclose(fe.centre_of_mass, [0, 0, 0.05], atol=1e-9)
    inner = mesh.nodes[mesh.node_sets["SPC 1"]]
    assert len(inner) == 24 * 3 + 24 * 2  # corners, and those between the sectors
    np.testing.assert_allclose(np.hypot(inner[:, 0], inner[:, 1]), 0.1, rtol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("CTRIAX6,1", "CQUADX,1", "1 CQUADX elements are not supported; of plane and axisymmetric"),
        ("CTRIAX6,1", "CPLSTN6,1", "1 CPLSTN6 elements are not supported; of plane"),
        ("CTRIAX6,2", "CTRIAX6,1", "CTRIAX6 1 occurs twice"),
        ("0.1,0.,0.0", "0.1,0.02,0.0", "a distance of 0.02 from the plane y = 0"),
        ("0.1,0.,0.0", "-0.1,0.,0.0", "axisymmetric elements are at x ≥ 0, beside the axis z"),
    ],
)
def test_bad_nastran_rings_are_named(tmp_path, old, new, message):
    path = tmp_path / "ring.bdf"
    assert old in nastran_ring(1)
    path.write_text(nastran_ring(1).replace(old, new))
    with pytest.raises(InputError, match=message):
        pp.read_mesh(path, unit="m")


def test_materials_given_in_python_are_in_the_plane_state_too(tmp_path):
    mesh = read(tmp_path, plane_deck("CPE8", (2, 1), (0.2, 0.1)))
    fe, own = pp.assemble(mesh), pp.assemble(mesh, pp.Isotropic(E=E, nu=NU, rho=RHO))
    assert abs(fe.K - own.K).max() == 0.0
    pieces = pp.assemble(mesh, pp.Anisotropic(C=own.materials[0].material.elasticity, rho=RHO))
    assert abs(fe.K - pieces.K).max() < 1e-12 * abs(fe.K).max()


def test_a_plane_mesh_may_be_moved_in_its_plane(tmp_path):
    """A rotation within the plane turns K; one out of it would turn the plane state away."""
    mesh = read(tmp_path, plane_deck("CPE4", (2, 1), (0.2, 0.1)))
    turned = mesh.moved(lambda x: x @ [[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    own, other = (np.sort(np.linalg.eigvalsh(pp.assemble(m).K.toarray())) for m in (mesh, turned))
    np.testing.assert_allclose(own, other, atol=1e-9 * own.max())
    tilted = mesh.moved(lambda x: x @ [[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    with pytest.raises(InputError, match="in plane strain is not along z, as after a rotation"):
        pp.assemble(tilted)


def test_inverted_plane_elements_are_reordered_when_asked(tmp_path):
    text = plane_deck("CPS8", (1, 1), (0.2, 0.1))
    line = next(text for text in text.splitlines() if text.startswith("1, 1, 2, 3"))
    number, *nodes = line.split(", ")
    back = [number, *(nodes[k] for k in (0, 3, 2, 1, 7, 6, 5, 4))]
    (tmp_path / "sheet.inp").write_text(text.replace(line, ", ".join(back)))
    with pytest.raises(InputError, match="inverted: read with fix='orientation'"):
        pp.read_mesh(tmp_path / "sheet.inp", unit="m")
    mesh = read(tmp_path, text.replace(line, ", ".join(back)), fix="orientation")
    assert pp.assemble(mesh).mass == pytest.approx(RHO * 0.2 * 0.1 * 0.02, rel=1e-12)


def test_faces_of_solids_written_as_plane_elements_stay_names(tmp_path):
    """As mesh generators write them: the solids are read, the plane elements give no matrices."""
    brick = "*NODE\n1, 0, 0\n2, 1, 0\n3, 1, 1\n4, 0, 1\n5, 0, 0, 1\n6, 1, 0, 1\n7, 1, 1, 1\n8, 0, 1, 1\n"
    brick += "*ELEMENT, TYPE=C3D8, ELSET=brick\n1, 1, 2, 3, 4, 5, 6, 7, 8\n"
    brick += "*ELEMENT, TYPE=CPS4, ELSET=floor\n2, 1, 2, 3, 4\n"
    mesh = read(tmp_path, brick, message="only its solids are read")
    assert list(mesh.blocks) == ["hex8"]
    assert len(mesh.nodes) == 8


@pytest.mark.skipif(CCX is None, reason="CalculiX (ccx) is not installed")
@pytest.mark.parametrize("kind", ["CPS6", "CPS8", "CPE6", "CPE8", "CAX6", "CAX8"])
def test_calculix_has_the_same_frequencies(tmp_path, kind):
    """Of motions in the plane of a cantilever, and of axisymmetric motions of a ring, which
    CalculiX computes on one element over the thickness, or in a sector of 2°. Its plane stress is
    that of a solid with free faces, whose thickness changes continuously: it is stiffer.
    """
    axisymmetric = kind.startswith("CAX")
    size, corner, ends = (
        ((0.05, 0.1), (0.1, 0.0), "bottom") if axisymmetric else (BEAM, (0, 0), "left")
    )
    text = plane_deck(kind, (4, 4), size, corner, "" if axisymmetric else "0.02")
    step = f"*BOUNDARY\n{ends}, 1, 2\n*STEP\n*FREQUENCY\n5\n*END STEP\n"
    (tmp_path / "job.inp").write_text(text + step)
    subprocess.run([str(CCX), "job"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    table = [line.split() for line in (tmp_path / "job.dat").read_text().splitlines()]
    found = [float(words[3]) for words in table if len(words) == 5 and words[0].isdigit()][:5]
    mesh = read(tmp_path, text)
    fe = pp.assemble(mesh, formulation=pp.Formulation(mass_rule="stiffness"))
    if axisymmetric:
        radius = np.hypot(fe.nodes[:, 0], fe.nodes[:, 2])
        section = np.column_stack([radius, fe.nodes[:, 1]]).round(9)
        places, number = np.unique(section, axis=0, return_inverse=True)
        P = np.zeros((len(fe.nodes), 3, len(places), 2))
        rows = np.arange(len(fe.nodes))
        P[rows, :, number.ravel(), 0] = fe.nodes * [1, 0, 1] / radius[:, None]
        P[rows, 1, number.ravel(), 1] = 1.0
        P = P.reshape(3 * len(fe.nodes), -1)
        K, M = P.T @ (fe.K @ P), P.T @ (fe.M @ P)
        free = np.repeat(places[:, 1] > 0, 2)
    else:
        K, M, places = plane_matrices(fe)
        free = np.repeat(places[:, 0] > 0, 2)
    values = scipy.linalg.eigh(K[np.ix_(free, free)], M[np.ix_(free, free)], eigvals_only=True)
    own = np.sqrt(values[:5]) / (2 * np.pi)
    np.testing.assert_allclose(own, found, rtol={"CPS": 4e-3, "CPE": 1e-5, "CAX": 2e-4}[kind[:3]])
    assert (own < 1.0001 * np.array(found)).all()


SHEET = plane_deck("CPS4", (2, 1), (0.2, 0.1))
RING = plane_deck("CAX4", (2, 1), (0.2, 0.1), (0.1, 0.0), section="")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SHEET.replace("CPS4", "CPEG4"), "CPEG4 are not supported; in generalized plane strain"),
        (RING.replace("CAX4", "CGAX4"), "CGAX4 are not supported; the revolved solid twists"),
        (RING.replace("CAX4", "CAXA41"), "CAXA41 are not supported; the revolved solid twists"),
        (SHEET.replace("CPS4", "CPS5"), "CPS5 are not supported; of plane elements give CPS, CPE"),
        (RING + "*ELEMENT, TYPE=SAX1\n9, 1, 2\n", "SAX1 are not supported; give CAX elements"),
        (SHEET + "*ELEMENT, TYPE=B21\n9, 1, 2\n", "B21 are not supported; plane frames"),
        (
            SHEET.replace("1, 0.0, 0.0", "1, 0.0, 0.0, 0.05"),
            "a distance of 0.05 from the plane z = 0, in which",
        ),
        (RING.replace("1, 0.1, 0.0", "1, -0.1, 0.0"), "axisymmetric elements are at x ≥ 0"),
        (SHEET.partition("*SOLID")[0], "2 plane element.s. have no thickness: element 1; give"),
        (SHEET.replace("\n0.02", "\n-0.02"), "thickness -0.02; give a positive one"),
        (
            SHEET
            + "*ELEMENT, TYPE=CAX3, ELSET=ring\n9, 1, 2, 3\n*SOLID SECTION, ELSET=ring, MATERIAL=steel\n",
            "are in one file; plane elements are extruded",
        ),
        (
            SHEET
            + "*ELEMENT, TYPE=S3, ELSET=ring\n9, 1, 2, 3\n*SHELL SECTION, ELSET=ring, MATERIAL=steel\n1.\n",
            "are in one file; plane elements are extruded",
        ),
        (
            SHEET + "*EQUATION\n2\n1, 1, 1., 2, 1, -1.\n",
            "equation 1: acts at node 1 of a plane or axisymmetric element",
        ),
        (
            SHEET + "*ELEMENT, TYPE=MASS, ELSET=m\n9, 1\n*MASS, ELSET=m\n2.\n",
            "mass 9: acts at node 1 of a plane or axisymmetric element",
        ),
        (
            SHEET + "*NODE\n90, 1, 1\n*SURFACE, NAME=s\nsheet\n*COUPLING, REF NODE=90, SURFACE=s, "
            "CONSTRAINT NAME=c\n*DISTRIBUTING\n",
            r"\*DISTRIBUTING of edges of plane or axisymmetric elements is not",
        ),
        (SHEET + "*SURFACE, NAME=s\n1, S5\n", "element 1 .plane stress quad. has no face 'S5'"),
        (
            RING.replace(
                "*ELASTIC\n2.1e11, 0.3",
                "*ELASTIC, TYPE=ENGINEERING CONSTANTS\n1., 1., 1., 0.1, 0.1, 0.1, 1., 1.\n1.",
            ),
            "axisymmetric elements of anisotropic materials are not supported",
        ),
    ],
)
def test_what_is_not_extruded_or_revolved_is_refused_by_name(tmp_path, text, message):
    path = tmp_path / "sheet.inp"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        pp.read_mesh(path, unit="m")


def test_fine_sections_have_fewer_sectors(tmp_path):
    """By default, from 16 for a solid of more than 200 000 nodes to 48 for small ones."""
    long = plane_deck("CAX8", (1, 1800), (0.01, 10.0), (0.1, 0.0), section="")
    assert len(read(tmp_path, long).blocks["hex20"].ids) == 16 * 1800
    short = plane_deck("CAX8", (1, 1), (0.001, 0.001), (0.1, 0.0), section="")
    assert len(read(tmp_path, short).blocks["hex20"].ids) == 48


def test_the_number_of_sectors_is_that_of_axisymmetric_decks(tmp_path):
    for text, sectors, message in (
        (SHEET, 24, "sectors: the file has no axisymmetric elements"),
        (RING, 5, "sectors: 5; give a number from 6 to 2000"),
    ):
        path = tmp_path / "sheet.inp"
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            pp.read_mesh(path, unit="m", sectors=sectors)
    mesh = read(
        tmp_path, RING, message="in 24 sectors, whose facets omit 1.1 % of the volume", sectors=24
    )
    assert len(mesh.blocks["hex8"].ids) == 2 * 24


def test_part_files_set_the_number_of_sectors(tmp_path):
    (tmp_path / "ring.inp").write_text(RING)
    part = tmp_path / "part.toml"
    part.write_text(
        'format = "flexmbs-part/1"\nmesh = "ring.inp"\nunit = "m"\nsectors = 30\n'
        'reference = "bore"\n[interfaces.bore]\nset = "left"\n'
    )
    with pytest.warns(PreprocessWarning, match="in 30 sectors"):
        mesh = pp.read_part(part).read_mesh()
    assert len(mesh.node_sets["left"]) == 2 * 30


def test_a_missing_thickness_is_one(tmp_path):
    mesh = read(
        tmp_path, plane_deck("CPS4", (2, 1), (0.2, 0.1), section=""), message="no thickness; 1"
    )
    assert np.ptp(mesh.nodes[:, 2]) == 1.0
