"""Factors in single precision: their refined solutions, modes and bodies are those of double precision."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from random_parts import KINDS, random_model

import preprocess as pp
from flexmbs._jit import COMPILED
from flexmbs.errors import InputError, SolverError
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.solve import corrections, factors, lanczos
from preprocess.solve.factorize import factorize
from preprocess.solve.factors import CholeskyFactor
from preprocess.solve.refinement import ROUGH, refined, roughness

pytestmark = pytest.mark.skipif(not COMPILED, reason="SuperLU factors in double precision only")
STEEL = pp.Isotropic(E=210e9, nu=0.3, rho=7850.0)
RIGID, AVERAGED = {"a": pp.Rigid("x0"), "b": pp.Rigid("x1")}, {"a": pp.Averaged("x0"), "b": pp.Averaged("x1")}
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
        part, interfaces=INTERFACES[interfaces], method=METHODS[method], reference="a", stiffening=False, stress=None, **options
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
    monkeypatch.setattr(lanczos, "TOLERANCE", 1e-10)  # otherwise the difference is that of the last mode
    monkeypatch.setattr(corrections, "_SETTLED", 1e-10)
    expected = reduced(part, interfaces, method)
    monkeypatch.setattr(factors, "LARGE", 0.0)
    found = reduced(part, interfaces, method)
    np.testing.assert_allclose(found.modes.frequency, expected.modes.frequency, rtol=1e-9)
    for name, frame in expected.frames.items():
        wanted = (frame.phi / expected.K_ff.diagonal()) @ frame.phi.T
        compliance = (found.frames[name].phi / found.K_ff.diagonal()) @ found.frames[name].phi.T
        np.testing.assert_allclose(compliance, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max() + 1e-20)
    assert found.validate().ok


def compliance(body: FlexibleBodyData) -> np.ndarray:
    """Elastic translations and rotations of all interfaces but the first, the reference, and momenta, by unit loads on each."""
    rows = [body.S_bar, *(each for f in list(body.frames.values())[1:] for each in (f.phi, f.psi))]
    unit = np.vstack([each / np.linalg.norm(each) for each in rows])
    return (unit / body.K_ff.diagonal()) @ unit.T * body.K_ff.diagonal().min()


@pytest.mark.parametrize("seed", range(2 * len(KINDS)))
def test_bodies_of_random_parts_are_those_of_double_precision(seed, monkeypatch):
    """All elements, spiders, rigid and averaged interfaces."""
    monkeypatch.setattr(lanczos, "_DENSE_SIZE", 200)
    monkeypatch.setattr(lanczos, "TOLERANCE", 1e-10)
    monkeypatch.setattr(corrections, "_SETTLED", 1e-10)
    fe, interfaces = random_model(seed, finer=2)
    method = (pp.CraigBampton(modes=6), pp.Rubin(modes=6))[seed % 2]
    bodies = []
    for large in (np.inf, 0.0):
        monkeypatch.setattr(factors, "LARGE", large)
        bodies.append(pp.reduce(fe, interfaces=interfaces, method=method, reference=next(iter(interfaces)), stress=None))
    wanted, found = bodies
    assert wanted.provenance["factor: precision"] == "double"
    assert str(found.provenance["factor: precision"]).startswith("single, solutions refined to")
    np.testing.assert_allclose(found.modes.frequency, wanted.modes.frequency, rtol=1e-8)
    np.testing.assert_allclose(compliance(found), compliance(wanted), rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", [pp.ClampedModes(modes=8, at="a"), pp.CraigBampton(modes=8)], ids=["clamped", "craig-bampton"])
def test_slender_parts_are_refined_from_a_tenth(monkeypatch, method):
    """A bar of 40 × 1.25 × 1 held at one end: its factor in single precision has an error of more than 10 %."""
    monkeypatch.setattr(lanczos, "TOLERANCE", 1e-10)
    fe = pp.assemble(pp.box_mesh((0.8, 0.025, 0.02), (32, 1, 1), "hex20"), STEEL)
    bodies = []
    for large in (np.inf, 0.0):
        monkeypatch.setattr(factors, "LARGE", large)
        bodies.append(pp.reduce(fe, interfaces={"a": pp.Rigid("x0")}, method=method, reference="a", stress=None))
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
    """A strip of 1000 × 5 × 1: its first eigenvalue is less than the round-off of single precision."""
    mesh = pp.box_mesh((2.0, 0.01, 0.002), (200, 1, 1), "hex8")
    fe = pp.assemble(mesh, STEEL)
    factor = factorize(fe.K, nodes=held(fe))
    assert not factor.rough
    load = np.zeros(fe.K.shape[0])
    load[3 * mesh.node_sets["x1"] + 2] = 1.0
    assert np.isfinite(factor.solve(load)).all()


def test_nearly_incompressible_and_flat_parts_are_right_in_any_case(monkeypatch):
    """ν → ½ of linear tetrahedra, and slivers: whether their factor is refined or in double precision."""
    flat = pp.box_mesh((0.3, 0.1, 1e-4), (6, 2, 1), "tet10")
    for mesh, nu in ((pp.box_mesh((0.3, 0.1, 0.1), (6, 2, 2), "tet4"), 0.499999), (flat, 0.3)):
        fe = pp.assemble(mesh, pp.Isotropic(E=2e11, nu=nu, rho=7850.0))
        found = []
        for large in (np.inf, 0.0):
            monkeypatch.setattr(factors, "LARGE", large)
            found.append(pp.reduce(fe, interfaces=RIGID, method=pp.CraigBampton(modes=4), reference="a", stress=None))
        np.testing.assert_allclose(found[1].modes.frequency, found[0].modes.frequency, rtol=1e-7)


def test_modes_that_do_not_converge_are_an_error(part, single, monkeypatch):
    monkeypatch.setattr(corrections, "_MAX_STEPS", 3)
    with pytest.raises(SolverError, match=r"modes: \d+ of 20 converged after 3 steps; request fewer modes"):
        reduced(part, "rigid", "craig-bampton")


def test_solutions_that_do_not_converge_are_those_of_a_factor_in_double_precision(part, single, monkeypatch):
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
    with pytest.raises(InputError, match=f"stiffness: singular: {n} of .* nodes in 2 separate parts move freely"):
        factorize(sp.block_diag([part.K, part.K], format="csr"), nodes=np.concatenate([held(part), n + np.arange(n)]))


def test_restarts_of_the_space_lose_nothing(part, single, monkeypatch):
    """The space of 60 modes is full several times; no mode is missed, as the Sturm check proves."""
    monkeypatch.setattr(corrections, "CAPACITY", 2)
    found = pp.CraigBampton(modes=60, verify=True)
    body = pp.reduce(part, interfaces=RIGID, method=found, reference="a", stiffening=False, stress=None, estimate=False)
    assert body.nf == 66


def test_kept_factors_are_in_single_precision_too(part, single, tmp_path: Path):
    path = tmp_path / "part.factor"
    for expected in ("written to", "read from"):
        body = reduced(part, "averaged", "rubin", keep=path)
        assert str(body.provenance["factor"]).startswith(expected)
    assert isinstance(factorize(part.K, nodes=held(part)), CholeskyFactor)
    np.testing.assert_allclose(body.modes.frequency, reduced(part, "averaged", "rubin").modes.frequency, rtol=1e-8)
