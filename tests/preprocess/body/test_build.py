"""From mesh to body: published frequencies, mode table, damping, provenance, and what reduce
rejects.
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from flexmbs.errors import InputError
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.body.build import reduce
from preprocess.fe.assembly import assemble
from preprocess.fe.interfaces import Averaged, Rigid
from preprocess.fe.material import Isotropic
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.structured import box_mesh
from preprocess.reduction import CraigBampton

STEEL = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
FACES = {"base": Rigid("x0"), "tip": Rigid("x1")}


@pytest.fixture(scope="module")
def arm() -> FlexibleBodyData:
    """Steel beam 1 m x 40 mm x 40 mm, 24 x 2 x 2 triquadratic
    hexahedra, 3675 degrees of freedom.
    """
    mesh = box_mesh((1.0, 0.04, 0.04), (24, 2, 2), "hex27", origin=(0, -0.02, -0.02))
    return reduce(
        mesh,
        STEEL,
        interfaces=FACES,
        method=CraigBampton(modes=10),
        reference="base",
        damping=0.01,
        name="arm",
    )


def test_swinging_arm_frequencies_of_exudyn(arm: FlexibleBodyData) -> None:
    """Exudyn 1.13.6, same mesh and element, full integration: fixed-interface frequencies and the
    first clamped-free one.
    """
    published = [
        211.918,
        211.918,
        576.373,
        576.373,
        1110.497,
        1110.497,
        1487.008,
        1797.614,
        1797.614,
        2595.519,
    ]
    found = [float(f) for f in str(arm.provenance["normal-mode frequencies [Hz]"]).split(",")]
    np.testing.assert_allclose(found, published, rtol=1e-5)
    np.testing.assert_allclose(arm.modes.frequency[:2], 33.497, rtol=1e-5)
    assert arm.nf == 16
    assert arm.provenance["degrees of freedom"] == 3675


def test_cantilever_box() -> None:
    """1 x 0.1 x 0.05 m, clamped at one end; three-dimensional elasticity 41.91 83.20 259.6 499.0
    600.6 714.3 Hz within 0.2 %.
    """
    mesh = box_mesh((1.0, 0.1, 0.05), (32, 4, 3), "hex27")
    body = reduce(
        mesh,
        STEEL,
        interfaces={"root": Rigid("x0")},
        method=CraigBampton(modes=8),
        reference="root",
    )
    assert body.nf == 8
    np.testing.assert_allclose(
        body.modes.frequency[:6], [41.91, 83.20, 259.6, 499.0, 600.6, 714.3], rtol=2e-3
    )


def test_arm_is_sound(arm: FlexibleBodyData) -> None:
    report = arm.validate()
    assert report.ok, str(report)
    assert len(report) == 15
    assert arm.mass == pytest.approx(7850 * 1.0 * 0.04**2, rel=1e-13)
    np.testing.assert_allclose(arm.com, [0.5, 0, 0], atol=1e-13)
    Iyy = arm.mass * (1.0 / 3 + 0.04**2 / 12)
    np.testing.assert_allclose(arm.inertia, np.diag([arm.mass * 0.04**2 / 6, Iyy, Iyy]), atol=1e-12)
    np.testing.assert_allclose(arm.m_ff, np.eye(16), atol=1e-11)
    np.testing.assert_allclose(arm.frames["tip"].x, [1, 0, 0], atol=1e-14)


@pytest.fixture(scope="module")
def slender() -> FlexibleBodyData:
    """The same beam without lateral contraction, where beam and rod theory hold up to the ends."""
    mesh = box_mesh((1.0, 0.04, 0.04), (24, 2, 2), "hex27", origin=(0, -0.02, -0.02))
    return reduce(
        mesh,
        replace(STEEL, nu=0.0),
        interfaces=FACES,
        method=CraigBampton(modes=30),
        reference="base",
        damping=0.01,
    )


def test_effective_masses_are_those_of_beam_and_rod(slender: FlexibleBodyData) -> None:
    """Euler-Bernoulli cantilever: 0.6131 and 0.1883 of the mass in the first two bending modes
    (each a pair of one plane); rod: 8/π² in the first axial mode, at a quarter of the wave speed
    per metre."""
    effective = slender.modes.effective_mass / slender.mass
    np.testing.assert_allclose(effective[:2, 1].sum(), 0.6131, rtol=1e-3)
    np.testing.assert_allclose(effective[2:4, 2].sum(), 0.1883, rtol=4e-3)
    axial = int(np.argmax(effective[:, 0]))
    np.testing.assert_allclose(effective[axial, 0], 8 / np.pi**2, rtol=2e-3)
    np.testing.assert_allclose(
        slender.modes.frequency[axial], np.sqrt(2.1e11 / 7850) / 4, rtol=1e-3
    )
    assert np.all(effective[:, :3].sum(axis=0) < 1)


def test_tip_deflection_is_that_of_the_timoshenko_beam(slender: FlexibleBodyData) -> None:
    """w = F L³/3EI + 6 F L/5GA; the slope F L²/2EI."""
    tip = slender.frames["tip"]
    q = np.linalg.solve(slender.K_ff, tip.phi[1])
    I, A, G = 0.04**4 / 12, 0.04**2, 2.1e11 / 2
    assert tip.phi[1] @ q == pytest.approx(1 / (3 * 2.1e11 * I) + 1.2 / (G * A), rel=2e-4)
    assert tip.psi[2] @ q == pytest.approx(1 / (2 * 2.1e11 * I), rel=2e-4)


def test_mode_table(arm: FlexibleBodyData) -> None:
    modes = arm.modes
    assert modes.kind == ("clamped",) * 12 + ("static",) * 4
    np.testing.assert_allclose(modes.damping, 0.01)
    np.testing.assert_allclose(
        arm.D_ff, np.diag(2 * 0.01 * 2 * np.pi * modes.frequency), rtol=1e-12
    )
    assert str(modes).count("clamped") == 12


def test_surface_and_file(arm: FlexibleBodyData, tmp_path) -> None:
    surface = arm.surface
    assert surface is not None
    assert surface.nodes.shape == (1225, 3)
    a, b, c = (surface.nodes[surface.triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a) / 2
    assert np.linalg.norm(normals, axis=1).sum() == pytest.approx(4 * 0.04 + 2 * 0.04**2, rel=1e-12)
    # divergence theorem: outward
    assert np.einsum("ta,ta->", (a + b + c) / 3, normals) / 3 == pytest.approx(0.04**2, rel=1e-12)
    arm.save(tmp_path / "arm.h5")
    read = FlexibleBodyData.load(tmp_path / "arm.h5")
    assert read.digest == arm.digest
    assert dict(read.provenance) == {key: value for key, value in arm.provenance.items()}


def test_provenance_and_progress() -> None:
    steps: list[tuple[str, float]] = []
    mesh = box_mesh((0.4, 0.1, 0.1), (3, 1, 1), "hex20")
    options = {"interfaces": FACES, "method": CraigBampton(modes=3), "reference": "base"}
    body = reduce(mesh, STEEL, **options, progress=lambda step, share: steps.append((step, share)))
    assert [step for step, _ in steps][:4] == [
        "assemble",
        "factorize",
        "constraint modes",
        "fixed-interface modes",
    ]
    shares = [share for _, share in steps]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    facts = body.provenance
    assert facts["source"] == "hex20 box"
    assert facts["elements"] == "3 hex20"
    assert "2.1e+11" in str(facts["material"]) or "210000000000.0" in str(facts["material"])
    assert facts["reference"] == "base"
    assert facts["rigid_body_modes"] == 6
    assert "base: rigid, 8 nodes" in str(facts["interfaces"])
    assert all(
        float(facts[f"time {step}"]) >= 0
        for step in ("assemble", "factorize", "fixed-interface modes", "shape integrals")
    )
    again = reduce(mesh, STEEL, **options)
    assert again.provenance["digest"] == facts["digest"]
    assert again.digest == body.digest
    stiffer = reduce(mesh, replace(STEEL, E=2.2e11), **options)
    assert stiffer.provenance["digest"] != facts["digest"]


def test_matrices_are_another_way_in(arm: FlexibleBodyData) -> None:
    fe = assemble(box_mesh((1.0, 0.04, 0.04), (24, 2, 2), "hex27", origin=(0, -0.02, -0.02)), STEEL)
    body = reduce(fe, interfaces=FACES, method=CraigBampton(modes=10), reference="base")
    np.testing.assert_allclose(body.modes.frequency, arm.modes.frequency, rtol=1e-12)


def test_lumped_mass_makes_a_sound_body() -> None:
    """Clamped modes of a diagonal mass matrix; oracle: dense eigenvalues of the matrices without
    the clamped nodes.
    """
    fe = assemble(small(), STEEL, mass="lumped")
    body = reduce(
        fe, interfaces={"base": Rigid("x0")}, method=CraigBampton(modes=4), reference="base"
    )
    assert body.validate().ok, str(body.validate())
    assert body.mass == pytest.approx(7850 * 0.4 * 0.1 * 0.08, rel=1e-13)
    np.testing.assert_allclose(body.com, [0.2, 0, 0], atol=1e-14)
    free = np.setdiff1d(np.arange(len(fe.nodes)), fe.node_sets["x0"])
    dofs = (3 * free[:, None] + np.arange(3)).ravel()
    omega2 = scipy.linalg.eigh(
        fe.K.toarray()[np.ix_(dofs, dofs)],
        np.diag(np.repeat(fe.m.diagonal()[free], 3)),
        eigvals_only=True,
    )
    np.testing.assert_allclose((2 * np.pi * body.modes.frequency) ** 2, omega2[:4], rtol=1e-9)


def small() -> Mesh:
    return box_mesh((0.4, 0.1, 0.08), (3, 1, 1), "hex20")


def test_damping_per_mode_and_by_frequency() -> None:
    options = {
        "interfaces": {"base": Rigid("x0")},
        "method": CraigBampton(modes=4),
        "reference": "base",
    }
    ratios = [0.01, 0.02, 0.03, 0.04]
    np.testing.assert_allclose(
        reduce(small(), STEEL, **options, damping=ratios).modes.damping, ratios
    )
    body = reduce(small(), STEEL, **options, damping=lambda f: 1e-5 * f)
    np.testing.assert_allclose(body.modes.damping, 1e-5 * body.modes.frequency, rtol=1e-12)
    with pytest.warns(PreprocessWarning, match="ratio 2 of mode 1 is above 1"):
        reduce(small(), STEEL, **options, damping=2.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"damping": -0.01}, "damping: ratio -0.01 of mode 1; ratios must not be negative"),
        ({"damping": [0.1, 0.2]}, "damping: 2 ratios for 9 modes"),
        ({"damping": lambda f: np.full_like(f, np.nan)}, "damping: ratio nan of mode 1"),
        ({"reference": "hub"}, "reference: no interface 'hub'"),
        ({"interfaces": {}}, "interfaces: none given"),
        ({"material": None}, "material: missing"),
        (
            {"interfaces": {"base": Rigid("x0"), "tip": Averaged("x9")}},
            "interfaces.tip: the mesh has no set 'x9'; its sets: x0, x1",
        ),
    ],
)
def test_bad_input_is_named(change: dict, message: str) -> None:
    options = {
        "material": STEEL,
        "interfaces": FACES,
        "method": CraigBampton(modes=3),
        "reference": "base",
    } | change
    with pytest.raises(InputError) as caught:
        reduce(small(), **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_material_beside_matrices_is_rejected() -> None:
    with pytest.raises(InputError, match="material: given together with matrices"):
        reduce(assemble(small(), STEEL), STEEL, interfaces=FACES, reference="base")


def test_grounded_matrices_are_rejected() -> None:
    """A stiffness with a support left in it has fewer than six rigid-body modes."""
    fe = assemble(small(), STEEL)
    spring = sp.csr_matrix(([1e9], ([60], [60])), shape=fe.K.shape)
    with pytest.raises(InputError, match="rigid-body modes are not strain-free"):
        reduce(replace(fe, K=(fe.K + spring).tocsr()), interfaces=FACES, reference="base")


def test_two_separate_parts_are_rejected() -> None:
    """Two bars, each with one rigid face, so that the factorization passes: twelve rigid-body
    modes.
    """
    fe = assemble(small(), STEEL)
    n = len(fe.nodes)
    pair = replace(
        fe,
        K=sp.block_diag([fe.K, fe.K], format="csr"),
        m=sp.block_diag([fe.m, fe.m], format="csr"),
        nodes=np.vstack([fe.nodes, fe.nodes + [2.0, 0, 0]]),
        node_ids=np.arange(2 * n),
        node_sets={"x0": fe.node_sets["x0"], "x1": fe.node_sets["x1"] + n},
    )
    with pytest.raises(InputError, match="12 rigid-body modes found instead of 6"):
        reduce(pair, interfaces=FACES, method=CraigBampton(modes=3), reference="base")
    with pytest.raises(InputError, match="singular"):
        reduce(
            pair, interfaces={"base": Rigid("x0")}, method=CraigBampton(modes=3), reference="base"
        )
