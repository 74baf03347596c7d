"""Factors in single precision: their refined solutions, modes and bodies are those of double
precision.
"""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from draws import drawn
from random_parts import KINDS, frame_of, full_model, random_model, random_part

import preprocess as pp
from flexmbs._jit import COMPILED
from flexmbs.errors import InputError, SolverError
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.reduction import interface_statics
from preprocess.solve import davidson, factors, lanczos
from preprocess.solve.factorize import factorize
from preprocess.solve.factors import CholeskyFactor
from preprocess.solve.refinement import ROUGH, refined, roughness

pytestmark = pytest.mark.skipif(not COMPILED, reason="SuperLU factors in double precision only")
STEEL = pp.Isotropic(E=210e9, nu=0.3, rho=7850.0)
RIGID, AVERAGED = (
    {"a": pp.Rigid("x0"), "b": pp.Rigid("x1")},
    {"a": pp.Averaged("x0"), "b": pp.Averaged("x1")},
)
INTERFACES = {"rigid": RIGID, "averaged": AVERAGED, "mixed": {"a": RIGID["a"], "b": AVERAGED["b"]}}
METHODS = {
    "craig-bampton": pp.CraigBampton(modes=20, verify=True),
    "rubin": pp.Rubin(modes=12),
    "clamped": pp.ClampedModes(frequency=8000.0, at="a"),
}


@pytest.fixture(scope="module")
def part() -> pp.FEModel:
    return pp.assemble(pp.box_mesh((0.75, 0.25, 0.2), (10, 3, 3), "tet10"), STEEL)


@pytest.fixture
def single(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factors, "LARGE", 0.0)


def reduced(part: pp.FEModel, interfaces: str, method: str, **options) -> FlexibleBodyData:
    return pp.reduce(
        part,
        interfaces=INTERFACES[interfaces],
        method=METHODS[method],
        reference="a",
        stiffening=False,
        stress=None,
        **options,
    )


def held(part: pp.FEModel) -> np.ndarray:
    return np.setdiff1d(np.arange(len(part.nodes)), part.node_sets["x0"])


def test_solutions_have_double_precision(part, single, monkeypatch):
    loads = np.random.default_rng(0).standard_normal((part.K.shape[0], 3))
    loads[:, 2] = 0.0
    factor = factorize(part.K, nodes=held(part))
    assert factor.rough
    assert factor.panels.dtype == np.float32
    rough, found = factor.approximate(loads), factor.solve(loads)
    assert 0 < factor.error < 1e-9
    monkeypatch.setattr(factors, "LARGE", np.inf)
    expected = factorize(part.K, nodes=held(part)).solve(loads)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert np.abs(rough - expected).max() > 1e-6 * np.abs(expected).max()
    assert not found[:, 2].any()


@pytest.mark.parametrize("interfaces", INTERFACES)
@pytest.mark.parametrize("method", METHODS)
def test_bodies_are_those_of_double_precision(part, monkeypatch, interfaces, method):
    # otherwise the difference is that of the last mode
    monkeypatch.setattr(lanczos, "TOLERANCE", 1e-10)
    monkeypatch.setattr(davidson, "_SETTLED", 1e-10)
    expected = reduced(part, interfaces, method)
    monkeypatch.setattr(factors, "LARGE", 0.0)
    found = reduced(part, interfaces, method)
    np.testing.assert_allclose(found.modes.frequency, expected.modes.frequency, rtol=1e-9)
    for name, frame in expected.frames.items():
        wanted = (frame.phi / expected.K_ff.diagonal()) @ frame.phi.T
        compliance = (found.frames[name].phi / found.K_ff.diagonal()) @ found.frames[name].phi.T
        np.testing.assert_allclose(
            compliance, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max() + 1e-20
        )
    assert found.validate().ok


def compliance(body: FlexibleBodyData) -> np.ndarray:
    """Elastic translations and rotations of all interfaces but the first, the reference, and
    momenta, by unit loads on each; of mean axes, which have no momenta, those of all."""
    moving = int(np.abs(body.S_bar).max() > 1e-9 * np.sqrt(body.mass))
    rows = [body.S_bar] * moving + [
        part for each in list(body.frames.values())[moving:] for part in (each.phi, each.psi)
    ]
    unit = np.vstack([each / np.linalg.norm(each) for each in rows])
    return (unit / body.K_ff.diagonal()) @ unit.T * body.K_ff.diagonal().min()


@pytest.mark.parametrize("seed", drawn(len(KINDS), 2 * len(KINDS)))
def test_bodies_of_random_parts_are_those_of_double_precision(seed, monkeypatch):
    """All elements, spiders, rigid and averaged interfaces."""
    monkeypatch.setattr(lanczos, "_DENSE_SIZE", 200)
    monkeypatch.setattr(lanczos, "TOLERANCE", 1e-10)
    monkeypatch.setattr(davidson, "_SETTLED", 1e-10)
    # modes beyond the basis may need a factor in double precision
    monkeypatch.setattr("preprocess.body.build._residual", lambda *given: None)
    fe, interfaces = random_model(seed, finer=2)
    method = (pp.CraigBampton(modes=6), pp.Rubin(modes=6))[seed % 2]
    bodies = []
    for large in (np.inf, 0.0):
        monkeypatch.setattr(factors, "LARGE", large)
        bodies.append(
            pp.reduce(
                fe,
                interfaces=interfaces,
                method=method,
                reference=frame_of(seed, interfaces),
                stress=None,
            )
        )
    wanted, found = bodies
    assert wanted.provenance["factor: precision"] == "double"
    assert str(found.provenance["factor: precision"]).startswith("single, solutions refined to")
    np.testing.assert_allclose(found.modes.frequency, wanted.modes.frequency, rtol=1e-8)
    np.testing.assert_allclose(compliance(found), compliance(wanted), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "method",
    [pp.ClampedModes(modes=8, at="a"), pp.CraigBampton(modes=8)],
    ids=["clamped", "craig-bampton"],
)
def test_slender_parts_are_refined_from_a_tenth(monkeypatch, method):
    """A bar of 40 × 1.25 × 1 held at one end: its factor in single precision has an error of more
    than 10 %.
    """
    monkeypatch.setattr(lanczos, "TOLERANCE", 1e-10)
    fe = pp.assemble(pp.box_mesh((0.8, 0.025, 0.02), (32, 1, 1), "hex20"), STEEL)
    bodies = []
    for large in (np.inf, 0.0):
        monkeypatch.setattr(factors, "LARGE", large)
        bodies.append(
            pp.reduce(
                fe, interfaces={"a": pp.Rigid("x0")}, method=method, reference="a", stress=None
            )
        )
    wanted, found = bodies
    assert str(found.provenance["factor: precision"]).startswith("single")
    np.testing.assert_allclose(found.modes.frequency, wanted.modes.frequency, rtol=1e-9)
    np.testing.assert_allclose(compliance(found), compliance(wanted), rtol=0, atol=1e-7)
    factor = factorize(fe.K, nodes=held(fe))
    loads = np.random.default_rng(0).standard_normal((fe.K.shape[0], 8))
    assert 0.1 < roughness(lambda x: fe.K @ x, factor.approximate, loads) < ROUGH


@pytest.mark.parametrize("wrong", [1e-3, 0.05, 0.3])
def test_errors_of_refined_solutions_are_known(wrong):
    """K = diag(κ), S with known errors: the error stated is not below the true one."""
    stiffness = np.geomspace(1.0, 1e6, 500)[:, None]
    rough = (1.0 + wrong * np.random.default_rng(0).uniform(-1.0, 1.0, (500, 1))) / stiffness
    loads = np.random.default_rng(1).standard_normal((500, 4))
    x, error = refined(lambda u: stiffness * u, lambda f: rough * f, loads)
    size = (loads**2 / stiffness).sum(axis=0)
    true = np.sqrt(((stiffness * (x - loads / stiffness) ** 2).sum(axis=0) / size).max())
    assert true < error < 1e-8
    assert 0.2 * wrong < roughness(lambda u: stiffness * u, lambda f: rough * f, loads) < wrong


def test_ill_conditioned_matrices_are_factored_in_double_precision(single):
    """A strip of 1000 × 5 × 1: its first eigenvalue is less
    than the round-off of single precision.
    """
    mesh = pp.box_mesh((2.0, 0.01, 0.002), (200, 1, 1), "hex8")
    fe = pp.assemble(mesh, STEEL)
    factor = factorize(fe.K, nodes=held(fe))
    assert not factor.rough
    load = np.zeros(fe.K.shape[0])
    load[3 * mesh.node_sets["x1"] + 2] = 1.0
    assert np.isfinite(factor.solve(load)).all()


def test_nearly_incompressible_and_flat_parts_are_right_in_any_case(monkeypatch):
    """ν → ½ of linear tetrahedra, and slivers: whether their factor is refined or in double
    precision.
    """
    flat = pp.box_mesh((0.3, 0.1, 1e-4), (6, 2, 1), "tet10")
    for mesh, nu in ((pp.box_mesh((0.3, 0.1, 0.1), (6, 2, 2), "tet4"), 0.499999), (flat, 0.3)):
        fe = pp.assemble(mesh, pp.Isotropic(E=2e11, nu=nu, rho=7850.0))
        found = []
        for large in (np.inf, 0.0):
            monkeypatch.setattr(factors, "LARGE", large)
            found.append(
                pp.reduce(
                    fe,
                    interfaces=RIGID,
                    method=pp.CraigBampton(modes=4),
                    reference="a",
                    stress=None,
                )
            )
        np.testing.assert_allclose(found[1].modes.frequency, found[0].modes.frequency, rtol=1e-7)


def test_modes_that_do_not_converge_are_those_of_refined_solutions(part, single, monkeypatch):
    expected = reduced(part, "rigid", "craig-bampton").modes.frequency
    told, find = [], interface_statics.davidson_modes

    def attempt(*given, **options):
        try:
            return find(*given, **options)
        except SolverError as error:
            told.append(str(error))
            raise

    monkeypatch.setattr(interface_statics, "davidson_modes", attempt)
    monkeypatch.setattr(davidson, "_MAX_STEPS", 3)
    np.testing.assert_allclose(
        reduced(part, "rigid", "craig-bampton").modes.frequency, expected, rtol=1e-9
    )
    text = r"modes: \d+ of 20 converged after 3 steps; request fewer modes or repair the mesh"
    assert told
    # of the basis, and of the modes beyond it
    assert all(re.fullmatch(text, each) for each in told)


def test_solutions_that_do_not_converge_are_those_of_a_factor_in_double_precision(
    part, single, monkeypatch
):
    monkeypatch.setattr(factors, "REFINED", 1e-30)
    factor = factorize(part.K, nodes=held(part))
    assert factor.rough
    load = np.ones((part.K.shape[0], 1))
    x = factor.solve(load)
    assert not factor.rough
    monkeypatch.setattr(factors, "LARGE", np.inf)
    np.testing.assert_array_equal(x, factorize(part.K, nodes=held(part)).solve(load))


def test_singular_parts_are_refused_by_name(part, single):
    """Two parts of which one is free: a factor of round-off in single precision solves nothing."""
    n = len(part.nodes)
    with pytest.raises(
        InputError, match=r"stiffness: singular: 10\d\d of .* nodes in 2 separate parts move freely"
    ):
        factorize(
            sp.block_diag([part.K, part.K], format="csr"),
            nodes=np.concatenate([held(part), n + np.arange(n)]),
        )


def test_restarts_of_the_space_lose_nothing(part, single, monkeypatch):
    """The space of 60 modes is full several times; no mode is missed, as the Sturm check proves."""
    monkeypatch.setattr(davidson, "CAPACITY", 2)
    found = pp.CraigBampton(modes=60, verify=True)
    body = pp.reduce(
        part,
        interfaces=RIGID,
        method=found,
        reference="a",
        stiffening=False,
        stress=None,
        estimate=False,
    )
    assert body.nf == 66


def comb(fins: int) -> pp.FEModel:
    """Equal fins on a root that is held: each frequency is that of all."""
    n = 2 * fins + 1
    box = pp.box_mesh((0.14, 0.01 * n, 0.013), (6, n, 1), "hex20")
    cells = box.blocks["hex20"].connectivity
    centre = box.nodes[cells].mean(axis=1)
    root = 0.14 / 6 + 1e-6
    used, cells = np.unique(
        cells[(centre[:, 0] < root) | ((centre[:, 1] // 0.01) % 2 == 1)], return_inverse=True
    )
    nodes = box.nodes[used]
    mesh = pp.Mesh.from_arrays(
        nodes,
        {"hex20": cells.reshape(-1, 20)},
        node_sets={"root": np.flatnonzero(nodes[:, 0] < root)},
    )
    return pp.assemble(mesh, STEEL)


@pytest.mark.parametrize("large", [np.inf, 0.0], ids=["double", "single"])
@pytest.mark.parametrize("count", [9, 25])
def test_modes_of_equal_fins_are_as_many_as_these(monkeypatch, large, count):
    """Twelve equal frequencies are more than a block of the iteration has directions of."""
    monkeypatch.setattr(factors, "LARGE", large)
    method = pp.CraigBampton(modes=count, verify=True)
    body = pp.reduce(
        comb(12),
        interfaces={"a": pp.Rigid("root")},
        method=method,
        reference="a",
        stress=None,
        stiffening=False,
    )
    frequency = body.modes.frequency
    assert len(frequency) == count
    for first in range(0, count, 12):
        np.testing.assert_allclose(frequency[first : first + 12], frequency[first], rtol=1e-8)


def test_bands_may_have_many_modes(part, monkeypatch):
    """More than the first space has shapes."""
    method, found = pp.ClampedModes(frequency=18000.0, at="a", verify=True), []
    for large in (np.inf, 0.0):
        monkeypatch.setattr(factors, "LARGE", large)
        options = {"reference": "a", "stress": None, "stiffening": False, "estimate": False}
        found.append(
            pp.reduce(part, interfaces={"a": RIGID["a"]}, method=method, **options).modes.frequency
        )
    assert len(found[0]) > 96
    np.testing.assert_allclose(found[1], found[0], rtol=1e-8)


def test_more_modes_than_motions_with_mass_are_an_error():
    """25 modes of 20 masses on 500 springs."""
    massive, stiffness = np.arange(500)[:, None] < 20, np.linspace(1.0, 2.0, 500)[:, None]
    none = davidson.Projection(np.zeros((500, 0)), np.zeros((500, 0)))
    with pytest.raises(
        SolverError, match=r"modes: only \d+ motions with mass were found; request fewer modes"
    ):
        davidson.davidson_modes(
            lambda f: f / stiffness,
            lambda u: stiffness * u,
            lambda u: massive * u,
            none,
            500,
            count=25,
        )


@pytest.mark.parametrize("seed", [seed for seed in range(len(KINDS)) if KINDS[seed] != "frame"])
def test_modes_of_random_parts_are_those_of_dense_matrices(seed, single, monkeypatch):
    """Under any support, few or many, with restarts: frequencies, products and spaces of the
    shapes.
    """
    random = np.random.default_rng(seed)
    monkeypatch.setattr(lanczos, "_DENSE_SIZE", 60)
    monkeypatch.setattr(davidson, "CAPACITY", int(random.integers(2, 7)))
    statics = random_part(seed, finer=2)
    fe, full = statics.fe, full_model(statics, None)
    held = [(), (0,), tuple(range(len(statics.interfaces)))][random.integers(3)]
    columns = (6 * np.array(held, dtype=int)[:, None] + np.arange(6)).ravel()
    Z = full.Z @ scipy.linalg.null_space(
        statics.interface_loads[:, columns].T @ full.Z, rcond=1e-10
    )
    K, M = Z.T @ (fe.K @ Z), Z.T @ (fe.M @ Z)
    shift = 0.0 if held else 1e-8 * np.trace(K) / np.trace(M)
    theta, x = (
        each[..., ::-1] for each in scipy.linalg.eigh(0.5 * (M + M.T), 0.5 * (K + K.T) + shift * M)
    )
    massive = theta > 1e-11 * theta[0]
    value, shapes = 1.0 / theta[massive] - shift, Z @ (x[:, massive] / np.sqrt(theta[massive]))
    value, shapes = (each[..., 0 if held else 6 :] for each in (value, shapes))
    count = int(random.integers(1, min(50, (statics.free_count - 80) // 4)))
    limit = np.sqrt(0.5 * (value[count - 1] + value[count]))
    found = statics.modes(held, **({"count": count}, {"omega_max": limit})[random.integers(2)])
    assert len(found.omega) == np.sum(value <= limit**2) or len(found.omega) == count
    # plates: of the dense ones
    np.testing.assert_allclose(found.omega, np.sqrt(value[: len(found.omega)]), rtol=1e-7)
    np.testing.assert_allclose(
        found.shapes.T @ (fe.M @ found.shapes), np.eye(len(found.omega)), atol=1e-9
    )
    products = shapes[:, value <= 1.001 * value[len(found.omega) - 1]].T @ (fe.M @ found.shapes)
    np.testing.assert_allclose((products**2).sum(axis=0), 1.0, atol=1e-8)


def test_kept_factors_are_in_single_precision_too(part, single, tmp_path: Path):
    path = tmp_path / "part.factor"
    for expected in ("written to", "read from"):
        body = reduced(part, "averaged", "rubin", keep=path)
        assert str(body.provenance["factor"]).startswith(expected)
    assert isinstance(factorize(part.K, nodes=held(part)), CholeskyFactor)
    np.testing.assert_allclose(
        body.modes.frequency, reduced(part, "averaged", "rubin").modes.frequency, rtol=1e-8
    )
