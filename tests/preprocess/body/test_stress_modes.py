"""Stress modes: exact fields on every element, scikit-fem at the sampling points, materials, static
correction, file.
"""

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import skfem
from hdf5_edits import open_unverified
from skfem.helpers import eye, sym_grad, trace

from flexmbs.errors import InputError
from flexmbs.files import hdf5
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.results.body_loads import LoadFactors
from flexmbs.results.stress import StressPiece, StressView
from preprocess.body.build import reduce
from preprocess.body.prestress import Prestress
from preprocess.body.stress import Stress, stress_rotation
from preprocess.elements import ELEMENTS
from preprocess.elements.quadrature import tetrahedron_4
from preprocess.fe.assembly import assemble
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import Rigid
from preprocess.fe.material import Isotropic, Orthotropic
from preprocess.fe.nodal_stress import elasticity, nodal_stress, stress_rows
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.structured import box_mesh
from preprocess.reduction import CraigBampton

STEEL = Isotropic(E=2.1e11, nu=0.3, rho=7850.0, yield_stress=250e6)
WOOD = Orthotropic(
    E=(12e9, 0.9e9, 0.6e9), nu=(0.37, 0.45, 0.42), G=(0.7e9, 0.65e9, 0.06e9), rho=430.0
)
RNG = np.random.default_rng(7)
LENGTH, WIDTH, HEIGHT = 0.5, 0.03, 0.02


def distorted(element: str) -> Mesh:
    """Box of 2 x 2 x 2 cells under a smooth map that is linear for linear elements and quadratic
    for the others.
    """
    bend = 0.1 if len(ELEMENTS[element].nodes) > ELEMENTS[element].corners else 0.0
    box = box_mesh((0.3, 0.2, 0.1), (2, 2, 2), element)
    return box.moved(
        lambda x: (
            x
            + 0.2 * x[:, [1, 2, 0]]
            + bend * np.stack([0 * x[:, 0], x[:, 0] ** 2, x[:, 0] * x[:, 1]], axis=1)
        )
    )


def all_stress(fe: FEModel, *fields: np.ndarray) -> np.ndarray:
    """Stress (N, 6, k) at all nodes of a model of one material."""
    rows = stress_rows(fe.groups, np.arange(len(fe.nodes)), len(fe.nodes))
    np.testing.assert_array_equal(rows.nodes, np.arange(len(fe.nodes)))
    return nodal_stress(fe.groups, fe.nodes, np.stack([u.ravel() for u in fields], axis=1), rows)


def strain(H: np.ndarray) -> np.ndarray:
    """xx yy zz and engineering shears xy yz zx of displacement gradients (..., 3, 3)."""
    normal = [H[..., k, k] for k in range(3)]
    return np.stack(
        [*normal, *(H[..., i, j] + H[..., j, i] for i, j in ((0, 1), (1, 2), (2, 0)))], axis=-1
    )


@pytest.mark.parametrize("element", ELEMENTS)
def test_constant_stress_is_exact_on_distorted_elements(element: str) -> None:
    fe = assemble(distorted(element), WOOD)
    gradient = RNG.normal(size=(3, 3))
    expected = strain(gradient) @ elasticity(WOOD)
    found = all_stress(fe, fe.nodes @ gradient.T)[:, :, 0]
    np.testing.assert_allclose(
        found, np.broadcast_to(expected, found.shape), atol=1e-11 * np.abs(expected).max()
    )


@pytest.mark.parametrize(
    "element", [name for name, kind in ELEMENTS.items() if len(kind.nodes) > kind.corners]
)
def test_linear_stress_is_exact_at_every_node(element: str) -> None:
    """Displacements of second order: the extrapolation reaches the surface without loss."""
    fe = assemble(box_mesh((0.3, 0.2, 0.1), (2, 2, 2), element), STEEL)
    Q = RNG.normal(size=(3, 3, 3))
    u = np.einsum("ijk,nj,nk->ni", Q, fe.nodes, fe.nodes)
    expected = strain(np.einsum("ijk,nk->nij", Q + Q.transpose(0, 2, 1), fe.nodes)) @ elasticity(
        STEEL
    )
    np.testing.assert_allclose(
        all_stress(fe, u)[:, :, 0], expected, atol=1e-11 * np.abs(expected).max()
    )


def test_one_layer_of_hex8_shows_pure_bending() -> None:
    """u = κ (xz, −νyz, ½(ν(y² − z²) − x²)) at the nodes of a single layer: its incompatible modes
    give σ_xx = E κ z exactly.
    """
    fe = assemble(box_mesh((0.4, 0.1, 0.1), (4, 1, 1), "hex8", origin=(0, -0.05, -0.05)), STEEL)
    x, y, z = fe.nodes.T
    u = np.stack([x * z, -STEEL.nu * y * z, 0.5 * (STEEL.nu * (y**2 - z**2) - x**2)], axis=1)
    found = all_stress(fe, u)[:, :, 0]
    expected = np.zeros_like(found)
    expected[:, 0] = STEEL.E * z
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


def test_stress_equals_scikit_fem_at_the_sampling_points() -> None:
    """Any displacements on curved tet10: σ of scikit-fem at the four points, carried to the corners
    by the linear function through them and to the middles of edges by the mean of the corners."""
    fe = assemble(distorted("tet10"), STEEL)
    table = fe.groups[0].connectivity
    u = RNG.normal(size=fe.nodes.shape)
    rule = tetrahedron_4()
    mesh = skfem.MeshTet2(fe.nodes.T, table.T)
    basis = skfem.Basis(
        mesh,
        skfem.ElementVector(skfem.ElementTetP2()),
        quadrature=(rule.points.T.copy(), rule.weights),
    )
    dofs = np.zeros(basis.N)
    for a in range(10):
        for i in range(3):
            dofs[basis.element_dofs[3 * a + i]] = u[table[:, a], i]
    e = sym_grad(basis.interpolate(dofs))
    lam, mu = STEEL.E * STEEL.nu / (1 + STEEL.nu) / (1 - 2 * STEEL.nu), STEEL.E / 2 / (1 + STEEL.nu)
    sigma = np.asarray(2 * mu * e + lam * eye(trace(e), 3))  # (3, 3, elements, points)
    a, b = (5 - np.sqrt(5)) / 20, (5 + 3 * np.sqrt(5)) / 20  # barycentric coordinates of the points
    weights = np.where(
        np.isclose(np.column_stack([1 - rule.points.sum(axis=1), rule.points]), b), b, a
    )
    corners = np.linalg.solve(weights, np.moveaxis(sigma, -1, 0).reshape(4, -1)).reshape(
        4, 3, 3, -1
    )
    edges = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
    nodal = np.concatenate([corners, [(corners[i] + corners[j]) / 2 for i, j in edges]])
    total, count = np.zeros((len(u), 3, 3)), np.bincount(table.ravel(), minlength=len(u))
    for place in range(10):
        np.add.at(total, table[:, place], np.moveaxis(nodal[place], -1, 0))
    mean = total / count[:, None, None]
    expected = np.stack(
        [mean[:, i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))], axis=1
    )
    np.testing.assert_allclose(
        all_stress(fe, u)[:, :, 0], expected, atol=1e-11 * np.abs(expected).max()
    )


def test_rotated_axes() -> None:
    axes = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    axes *= np.linalg.det(axes)
    s = RNG.normal(size=(3, 3))
    s = s + s.T
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
    turned = axes.T @ s @ axes
    np.testing.assert_allclose(
        stress_rotation(axes) @ [s[i, j] for i, j in pairs],
        [turned[i, j] for i, j in pairs],
        atol=1e-14,
    )
    T = stress_rotation(axes)
    # isotropic; Pa
    np.testing.assert_allclose(T @ elasticity(STEEL) @ T.T, elasticity(STEEL), atol=1e-3)


def test_materials_have_their_own_stress_where_they_meet() -> None:
    """Uniform strain ε_xx in two bonded halves: σ_xx = C_11 ε of each material at the nodes between
    them.
    """
    box = box_mesh((0.2, 0.1, 0.1), (2, 1, 1), "hex20")
    left = box.nodes[box.blocks["hex20"].connectivity].mean(axis=1)[:, 0] < 0.1
    ids = box.blocks["hex20"].ids
    mesh = replace(box, element_sets={"left": ids[left], "right": ids[~left]})
    soft = Isotropic(E=7e10, nu=0.2, rho=2700.0)
    body = reduce(
        mesh,
        {"left": STEEL, "right": soft},
        interfaces={"a": Rigid("x0")},
        method=CraigBampton(modes=1),
        reference="a",
    )
    assert body.stress is not None
    between = np.flatnonzero(np.isclose(box.nodes[:, 0], 0.1))
    np.testing.assert_array_equal(
        np.bincount(body.stress.rows, minlength=len(box.nodes))[between], 2
    )
    np.testing.assert_allclose(
        body.stress.compliance[:, 0, 0], [1 / STEEL.E, 1 / soft.E], rtol=1e-12
    )
    np.testing.assert_array_equal(body.stress.yield_stress, [250e6, np.inf])
    fe = assemble(mesh, {"left": STEEL, "right": soft})
    rows = stress_rows(fe.groups, between, len(fe.nodes))
    found = nodal_stress(fe.groups, fe.nodes, (fe.nodes * [1e-3, 0, 0]).reshape(-1, 1), rows)[
        :, 0, 0
    ]
    expected = [1e-3 * material.elasticity[0, 0] for material in (STEEL, soft)]
    np.testing.assert_allclose(found, np.repeat(expected, len(between)), rtol=1e-11)


@pytest.fixture(scope="module", params=["root", "mean axes"])
def bar(request: pytest.FixtureRequest) -> FlexibleBodyData:
    """Steel bar along x with a single fixed-interface mode: the modes alone are far from the stress
    under any load.
    """
    mesh = box_mesh(
        (LENGTH, WIDTH, HEIGHT), (16, 2, 2), "hex20", origin=(0, -WIDTH / 2, -HEIGHT / 2)
    )
    ends = {"root": Rigid("x0"), "tip": Rigid("x1")}
    choice = Stress(nodes="all", precision="double")
    return reduce(
        mesh,
        STEEL,
        interfaces=ends,
        method=CraigBampton(modes=1),
        reference=request.param,
        stress=choice,
    )


def under(body: FlexibleBodyData, **loads: float) -> StressView:
    """The body at rest in its frame under loads: accelerations a_x …, angular velocity w_z, forces
    by "interface_x".
    """
    assert body.stress is not None
    assert body.surface is not None
    names = ["a_x", "a_y", "a_z", "al_x", "al_y", "al_z", "xx", "yy", "zz", "xy", "yz", "zx"]
    names += [
        f"{place}_{axis}"
        for place in body.stress.interfaces
        for axis in ("x", "y", "z", "mx", "my", "mz")
    ]
    zeta = np.array([loads.get(name, 0.0) for name in names])
    # modal forces: −∫φ·a dm, −∫φ·(α × x) dm, −∫φ·(ω (ω·x) − ω² x) dm, and the interfaces' shapes
    xx, yy, zz, xy, yz, zx = zeta[6:12]
    products = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]) - (xx + yy + zz) * np.eye(3)
    force = -(
        body.S_bar.T @ zeta[:3]
        + body.x_cross_S.T @ zeta[3:6]
        + np.einsum("ab,abk->k", products, body.xS)
    )
    for k, place in enumerate(body.stress.interfaces):
        frame, wrench = body.frames[place], zeta[12 + 6 * k : 18 + 6 * k]
        force = force + frame.phi.T @ wrench[:3] + frame.psi.T @ wrench[3:]
    q = np.linalg.solve(body.K_ff, force)
    rows = body.stress.rows
    piece = StressPiece(
        body.stress, np.arange(len(rows)), q[None], lambda: LoadFactors(zeta[None], ())
    )
    return StressView("bar", np.zeros(1), rows, body.surface, (piece,))


def stations(view: StressView, body: FlexibleBodyData) -> tuple[np.ndarray, np.ndarray]:
    """Distance from the root of the nodes away from the ends, and their rows."""
    x = view.positions[:, 0] - body.frames["root"].x[0]
    inside = np.flatnonzero((x > 0.2 * LENGTH) & (x < 0.8 * LENGTH))
    return x[inside], inside


def test_bent_cantilever(bar: FlexibleBodyData) -> None:
    """Tip force F_z: σ_xx = −F (L − x) z / I with I = b h³/12, Saint-Venant, away from the ends."""
    F = 100.0
    view = under(bar, tip_z=F, root_z=-F, root_my=F * LENGTH)
    x, inside = stations(view, bar)
    expected = -F * (LENGTH - x) * view.positions[inside, 2] / (WIDTH * HEIGHT**3 / 12)
    found = view.field(0.0).stress[inside]
    np.testing.assert_allclose(found[:, 0], expected, atol=3e-3 * np.abs(expected).max())
    assert np.abs(found[:, 1:3]).max() < 3e-3 * np.abs(expected).max()


def test_spinning_bar(bar: FlexibleBodyData) -> None:
    """σ_xx = ½ρω²(L² − x²); under mean axes the frame's origin, at the middle, is accelerated by
    −ω² L/2.
    """
    omega, total = 200.0, 0.5 * 7850.0 * 200.0**2 * LENGTH**2
    middle = -bar.frames["root"].x[0]
    view = under(bar, zz=omega**2, a_x=-(omega**2) * middle, root_x=-total * WIDTH * HEIGHT)
    x, inside = stations(view, bar)
    field = view.field(0.0)
    expected = 0.5 * 7850.0 * omega**2 * (LENGTH**2 - x**2)
    # a parabola by lines: h²/6 of 16 elements
    np.testing.assert_allclose(field.stress[inside, 0], expected, atol=1.5e-3 * total)
    np.testing.assert_allclose(field.strain[inside, 0], expected / STEEL.E, rtol=4e-3)
    np.testing.assert_allclose(
        field.strain[inside, 1], -STEEL.nu * field.strain[inside, 0], rtol=1e-2
    )
    modes_alone = np.asarray(bar.stress.modes)[inside, 0] @ view._pieces[0].elastic[0]  # type: ignore[union-attr]
    assert np.abs(modes_alone - expected).max() > 0.2 * total


@pytest.mark.parametrize(
    "turning", ["angular acceleration about z", "spin about an axis across the corner"]
)
def test_inertia_that_bends(bar: FlexibleBodyData, turning: str) -> None:
    """Load −ρ β x along y: M = ρ A β (L³/3 − L² x/2 + x³/6), σ_xx = M y / I; β = ω̇_z, or ω_x ω_y,
    which with ω_y² also pulls.
    """
    beta, section, middle = 4e4, WIDTH * HEIGHT, -bar.frames["root"].x[0]
    line = 7850.0 * section * beta
    carried = {
        "root_y": line * LENGTH**2 / 2,
        "root_mz": line * LENGTH**3 / 3,
        "a_y": beta * middle,
    }
    if turning.startswith("angular"):
        view, pull = under(bar, al_z=beta, **carried), 0.0
    else:
        carried["a_x"], carried["root_x"] = -beta * middle, -line * LENGTH**2 / 2
        view, pull = under(bar, xx=beta, yy=beta, xy=beta, **carried), 0.5 * 7850.0 * beta
    x, inside = stations(view, bar)
    M = line * (LENGTH**3 / 3 - LENGTH**2 * x / 2 + x**3 / 6)
    expected = M * view.positions[inside, 1] / (HEIGHT * WIDTH**3 / 12) + pull * (LENGTH**2 - x**2)
    found = view.field(0.0).stress[inside, 0]
    np.testing.assert_allclose(found, expected, atol=5e-3 * np.abs(expected).max())


def test_prestress_is_there_at_rest() -> None:
    """A bar pulled by N = 20 kN before it moves: σ_xx = N / A at rest; a force F across the tip
    bends it less than without, by M = (F / k) sinh k(L − x) / cosh kL, k² = N / EI (Timoshenko,
    Strength of Materials, part II, tie-rods)."""
    mesh = box_mesh(
        (LENGTH, WIDTH, HEIGHT), (16, 2, 2), "hex20", origin=(0, -WIDTH / 2, -HEIGHT / 2)
    )
    ends, pull = {"root": Rigid("x0"), "tip": Rigid("x1")}, 20e3
    body = reduce(
        mesh,
        STEEL,
        interfaces=ends,
        method=CraigBampton(modes=4),
        reference="root",
        prestress=Prestress({"tip": (pull, 0, 0, 0, 0, 0)}),
        stress=Stress(nodes="all", precision="double"),
    )
    still, bent = under(body), under(body, tip_z=100.0)
    x, inside = stations(still, body)
    np.testing.assert_allclose(
        still.field(0.0).stress[inside, 0], pull / (WIDTH * HEIGHT), rtol=1e-3
    )
    inertia = WIDTH * HEIGHT**3 / 12
    k = np.sqrt(pull / (STEEL.E * inertia))
    M = 100.0 / k * np.sinh(k * (LENGTH - x)) / np.cosh(k * LENGTH)
    added = bent.field(0.0).stress[inside, 0] - still.field(0.0).stress[inside, 0]
    expected = -M * bent.positions[inside, 2] / inertia
    np.testing.assert_allclose(added, expected, atol=1e-2 * np.abs(expected).max())


def test_precision_and_nodes_are_chosen() -> None:
    mesh = box_mesh((0.2, 0.1, 0.1), (2, 2, 2), "hex20")
    options = {"interfaces": {"a": Rigid("x0")}, "method": CraigBampton(modes=2), "reference": "a"}
    plain = reduce(mesh, STEEL, **options).stress  # type: ignore[arg-type]
    full = reduce(mesh, STEEL, **options, stress=Stress(nodes="all", precision="double")).stress  # type: ignore[arg-type]
    assert plain is not None
    assert full is not None
    assert (plain.modes.dtype, full.modes.dtype) == (np.float32, np.float64)
    assert (
        len(full.rows)
        == len(mesh.nodes)
        > len(plain.rows)
        == len(np.unique(mesh.surface_triangles()))
    )
    assert plain.size == 24 * len(plain.rows) * (2 + 12 + 6)
    np.testing.assert_allclose(
        plain.modes, full.modes[plain.rows], rtol=1e-6, atol=1e-6 * np.abs(full.modes).max()
    )
    assert reduce(mesh, STEEL, **options, stress=None).stress is None  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"stress\.nodes: 'some' is unknown"):
        Stress(nodes="some")  # type: ignore[arg-type]


def test_matrices_have_no_stress() -> None:
    model = assemble(box_mesh((0.2, 0.1, 0.1), (2, 1, 1), "hex20"), STEEL)
    given = FEModel.from_matrices(model.K, model.m, model.nodes, node_sets=model.node_sets)
    options = {"interfaces": {"a": Rigid("x0")}, "method": CraigBampton(modes=2), "reference": "a"}
    assert reduce(given, **options).stress is None  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no elements for stress recovery"):
        reduce(given, **options, stress=Stress())  # type: ignore[arg-type]


@pytest.mark.parametrize("least", [0, 2**40])
def test_file_keeps_stress_and_reads_it_when_needed(
    bar: FlexibleBodyData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    monkeypatch.setattr(hdf5, "LEAST_MAPPED", least)
    bar.save(tmp_path / "bar.h5")
    read = FlexibleBodyData.load(tmp_path / "bar.h5")
    assert read.stress is not None
    assert bar.stress is not None
    assert isinstance(read.stress.modes, np.memmap) == (least == 0)
    for name in ("rows", "modes", "correction", "material", "compliance", "yield_stress"):
        np.testing.assert_array_equal(getattr(read.stress, name), getattr(bar.stress, name))
    assert read.stress.interfaces == ("root", "tip")
    assert FlexibleBodyData.load(tmp_path / "bar.h5", surface=False).stress is None
    read.save(tmp_path / "again.h5")
    assert (tmp_path / "again.h5").stat().st_size == (tmp_path / "bar.h5").stat().st_size


def test_stress_modes_that_do_not_fit_are_rejected(bar: FlexibleBodyData) -> None:
    assert bar.stress is not None
    with pytest.raises(
        InputError, match=r"stress\.correction: has shape \(\d+, 6, 24\); it must be \(\d+, 6, 18\)"
    ):
        replace(bar.stress, interfaces=("root",))
    with pytest.raises(InputError, match=r"stress\.modes: has values that are not finite"):
        replace(bar.stress, modes=np.where(bar.stress.modes > 0, np.nan, bar.stress.modes))
    with pytest.raises(InputError, match="interface 'elbow' is not a frame of the body"):
        replace(bar, stress=replace(bar.stress, interfaces=("root", "elbow")))
    with pytest.raises(InputError, match="rows refer to nodes outside"):
        replace(bar, stress=replace(bar.stress, rows=bar.stress.rows + 1))
    with pytest.raises(InputError, match="modes has 2 shapes, the body has"):
        replace(bar, stress=replace(bar.stress, modes=bar.stress.modes[:, :, :2]))


@pytest.mark.parametrize(
    ("item", "change", "message"),
    [
        ("modes", lambda a: a * 2.0, "sha256_stress: does not match"),
        ("modes", lambda a: a[:, :5], "stress/modes: has shape"),
        ("rows", lambda a: a.astype(float), "stress/rows: has type float64"),
        ("correction", None, "stress/correction: is missing"),
    ],
)  # fmt: skip
def test_damaged_stress_is_rejected(tmp_path: Path, item: str, change, message: str) -> None:  # type: ignore[no-untyped-def]
    mesh = box_mesh((0.2, 0.1, 0.1), (1, 1, 1), "hex20")
    file = tmp_path / "bar.h5"
    reduce(
        mesh, STEEL, interfaces={"a": Rigid("x0")}, method=CraigBampton(modes=1), reference="a"
    ).save(file)
    with open_unverified(file) as opened:
        values = opened[f"stress/{item}"][()]
        del opened[f"stress/{item}"]
        if change is not None:
            opened[f"stress/{item}"] = change(values)
    with pytest.raises(InputError, match=message):
        FlexibleBodyData.load(file)


def test_flipped_bytes_of_stress_never_pass_silently(tmp_path: Path) -> None:
    """Any single changed byte gives the same stress modes, or InputError; nothing else."""
    mesh, file = box_mesh((0.2, 0.1, 0.1), (1, 1, 1), "hex8"), tmp_path / "box.h5"
    reduce(
        mesh, STEEL, interfaces={"a": Rigid("x0")}, method=CraigBampton(modes=1), reference="a"
    ).save(file)
    whole = bytearray(file.read_bytes())
    body = FlexibleBodyData.load(file)
    assert body.stress is not None
    for place in RNG.choice(len(whole), 60, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= 0x41
        file.write_bytes(damaged)
        with contextlib.suppress(InputError):
            found = FlexibleBodyData.load(file).stress
            assert found is not None
            np.testing.assert_array_equal(found.modes, body.stress.modes)
            np.testing.assert_array_equal(found.correction, body.stress.correction)
