"""Two grids in place of a factor: their refined solutions, modes and bodies are those of a direct
factor, or it is used.
"""

import numpy as np
import pytest
from draws import drawn
from random_parts import KINDS, frame_of, random_model

import preprocess as pp
from flexmbs._jit import COMPILED
from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS
from preprocess.fe.corner_interpolation import corner_functions, linear_interpolation
from preprocess.solve import davidson, factors, lanczos, memory, threads
from preprocess.solve.factorize import factorize
from preprocess.solve.factors import CholeskyFactor
from preprocess.solve.multigrid import Multigrid

pytestmark = pytest.mark.skipif(not COMPILED, reason="SuperLU factors only")
STEEL = pp.Isotropic(E=210e9, nu=0.3, rho=7850.0)
INTERFACES = {
    "rigid": {"a": pp.Rigid("x0"), "b": pp.Rigid("x1")},
    "averaged": {"a": pp.Averaged("x0"), "b": pp.Averaged("x1")},
    "mixed": {"a": pp.Rigid("x0"), "b": pp.Averaged("x1")},
}
METHODS = {
    "craig-bampton": pp.CraigBampton(modes=20, verify=True),
    "rubin": pp.Rubin(modes=12),
    "clamped": pp.ClampedModes(frequency=3000.0, at="a"),
}
SECOND_ORDER = [
    name
    for name, element in ELEMENTS.items()
    if element.corners < len(element.nodes) and name != "pyramid13"
]


def bent(mesh: pp.Mesh) -> pp.Mesh:
    """The mesh on an arc: edges are curved."""
    return mesh.moved(
        lambda x: np.column_stack(
            [(1 + x[:, 1]) * np.sin(x[:, 0]), (1 + x[:, 1]) * np.cos(x[:, 0]), x[:, 2]]
        )
    )


@pytest.fixture(scope="module")
def part() -> pp.FEModel:
    return pp.assemble(bent(pp.box_mesh((0.75, 0.25, 0.2), (10, 3, 3), "tet10")), STEEL)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two grids for small parts too."""
    monkeypatch.setattr(memory, "MANY", 0)


def held(part: pp.FEModel) -> np.ndarray:
    return np.setdiff1d(np.arange(len(part.nodes)), part.node_sets["x0"])


def two_grids(part: pp.FEModel) -> Multigrid:
    found = factorize(part.K, nodes=held(part), interpolation=linear_interpolation(part))
    assert isinstance(found, Multigrid)
    return found


@pytest.mark.parametrize(
    "name", [name for name, element in ELEMENTS.items() if element.corners < len(element.nodes)]
)
def test_linear_motions_are_those_of_the_corners(name):
    element = ELEMENTS[name]
    values = corner_functions(element)
    np.testing.assert_allclose(values.sum(axis=1), 1.0)
    np.testing.assert_allclose(values @ element.nodes[: element.corners], element.nodes, atol=1e-12)


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_solutions_are_those_of_a_direct_factor(name, small):
    part = pp.assemble(bent(pp.box_mesh((0.6, 0.25, 0.2), (5, 3, 2), name)), STEEL)
    loads = np.random.default_rng(0).standard_normal((part.K.shape[0], 19))
    loads[:, 2] = 0.0
    loads[:, 3] *= 1e-30
    factor = two_grids(part)
    rough, found = factor.approximate(loads), factor.solve(loads)
    assert factor.rough
    assert 0 < factor.error < 1e-8
    expected = factorize(part.K, nodes=held(part)).solve(loads)
    sizes = np.maximum(np.abs(expected).max(axis=0), 1e-300)
    np.testing.assert_allclose(found / sizes, expected / sizes, rtol=0, atol=1e-9)
    assert not found[:, 2].any()
    energy = np.sqrt(np.einsum("ik,ik->k", rough - expected, part.K @ (rough - expected)))
    size = np.maximum(np.sqrt(np.einsum("ik,ik->k", expected, part.K @ expected)), 1e-300)
    assert (energy < 0.2 * size).all()


def test_the_cycle_is_symmetric_and_positive(part, small):
    b = np.random.default_rng(1).standard_normal((part.K.shape[0], 8))
    form = b.T @ two_grids(part)._cycle(b)
    np.testing.assert_allclose(form, form.T, atol=1e-4 * np.abs(form).max())
    assert np.linalg.eigvalsh(form + form.T).min() > 0


def test_results_do_not_depend_on_the_number_of_threads(part, small, monkeypatch):
    loads, found = np.random.default_rng(0).standard_normal((part.K.shape[0], 8)), []
    monkeypatch.setattr(threads, "BLOCK", 300)
    monkeypatch.setattr("preprocess.solve.multigrid.iteration.BLOCK", 300)
    for count in (1, 3):
        monkeypatch.setattr(threads, "_count", lambda count=count: count)
        found.append(two_grids(part).solve(loads))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("interfaces", INTERFACES)
@pytest.mark.parametrize("method", METHODS)
def test_bodies_are_those_of_a_direct_factor(part, monkeypatch, interfaces, method):
    # otherwise the difference is that of the last mode
    monkeypatch.setattr(lanczos, "TOLERANCE", 1e-10)
    monkeypatch.setattr(davidson, "_SETTLED", 1e-10)
    bodies = []
    for many in (np.inf, 0):
        monkeypatch.setattr(memory, "MANY", many)
        bodies.append(
            pp.reduce(
                part,
                interfaces=INTERFACES[interfaces],
                method=METHODS[method],
                reference="a",
                stress=None,
            )
        )
    wanted, found = bodies
    assert wanted.provenance["factor: precision"] == "double"
    assert str(found.provenance["factor: precision"]).startswith("two grids, solutions refined to")
    np.testing.assert_allclose(found.modes.frequency, wanted.modes.frequency, rtol=5e-9)
    for name, frame in wanted.frames.items():
        expected = (frame.phi / wanted.K_ff.diagonal()) @ frame.phi.T
        compliance = (found.frames[name].phi / found.K_ff.diagonal()) @ found.frames[name].phi.T
        np.testing.assert_allclose(
            compliance, expected, rtol=0, atol=1e-8 * np.abs(expected).max() + 1e-20
        )
    assert found.validate().ok


@pytest.mark.parametrize("seed", drawn(len(KINDS), 2 * len(KINDS)))
def test_random_parts_are_right_in_any_case(seed, monkeypatch):
    """All elements, spiders, rigid and averaged interfaces: by two grids or not."""
    monkeypatch.setattr(lanczos, "_DENSE_SIZE", 200)
    monkeypatch.setattr(lanczos, "TOLERANCE", 1e-10)
    monkeypatch.setattr(davidson, "_SETTLED", 1e-10)
    fe, interfaces = random_model(seed, finer=2)
    bodies = []
    for many in (np.inf, 0):
        monkeypatch.setattr(memory, "MANY", many)
        method = (pp.CraigBampton(modes=6), pp.Rubin(modes=6))[seed % 2]
        bodies.append(
            pp.reduce(
                fe,
                interfaces=interfaces,
                method=method,
                reference=frame_of(seed, interfaces),
                stress=None,
            )
        )
    np.testing.assert_allclose(bodies[1].modes.frequency, bodies[0].modes.frequency, rtol=1e-8)


def test_solids_with_a_shell_and_a_spider_have_two_grids_too(monkeypatch):
    """Nodes of shells are coarse ones; followers of ties and spiders are no unknowns."""
    box = pp.box_mesh((0.5, 0.2, 0.2), (8, 3, 3), "hex20")
    n, sheet = len(box.nodes), [(0.4, 0, 0.2), (0.5, 0, 0.2), (0.5, 0.2, 0.2), (0.4, 0.2, 0.2)]
    mesh = pp.Mesh.from_arrays(
        np.vstack([box.nodes, sheet]),
        {"hex20": box.blocks["hex20"].connectivity, "quad4": [np.arange(n, n + 4)]},
        node_sets={
            "root": box.node_sets["x0"],
            "top": box.node_sets["z1"],
            "tip": box.node_sets["x1"],
            "sheet": np.arange(n, n + 4),
        },
    )
    joints = {
        "glue": pp.Tie("sheet", "top"),
        "hub": pp.RigidSpider("tip", position=(0.6, 0.1, 0.1)),
    }
    fe = pp.assemble(mesh, STEEL, sections=pp.ShellSection(0.002), connections=joints)
    monkeypatch.setattr(davidson, "_SETTLED", 1e-10)
    bodies = []
    for many in (np.inf, 0):
        monkeypatch.setattr(memory, "MANY", many)
        interfaces = {"root": pp.Rigid("root"), "hub": pp.Rigid("hub")}
        bodies.append(
            pp.reduce(
                fe,
                interfaces=interfaces,
                method=pp.CraigBampton(modes=8),
                reference="root",
                stress=None,
            )
        )
    assert str(bodies[1].provenance["factor: precision"]).startswith("two grids")
    np.testing.assert_allclose(bodies[1].modes.frequency, bodies[0].modes.frequency, rtol=1e-8)


def test_thin_plates_and_incompressible_solids_have_a_direct_factor(small):
    plate = pp.assemble(pp.box_mesh((0.5, 0.5, 0.001), (12, 12, 1), "tet10"), STEEL)
    rubber = pp.assemble(
        pp.box_mesh((0.5, 0.2, 0.2), (6, 3, 3), "hex20"),
        pp.Isotropic(E=1e7, nu=0.49999, rho=1000.0),
    )
    for part in (plate, rubber):
        factor = factorize(part.K, nodes=held(part), interpolation=linear_interpolation(part))
        assert isinstance(factor, CholeskyFactor)
    linear = pp.assemble(pp.box_mesh((0.5, 0.2, 0.2), (6, 3, 3), "hex8"), STEEL)
    assert linear_interpolation(linear) is None


def test_a_load_that_is_not_refined_gets_a_direct_factor(part, small, monkeypatch):
    monkeypatch.setattr("preprocess.solve.multigrid.factor.REFINED", 1e-30)
    factor = two_grids(part)
    load = np.ones((part.K.shape[0], 1))
    x = factor.solve(load)
    assert not factor.rough
    assert factor.form == "double"
    monkeypatch.setattr(memory, "MANY", len(part.nodes))
    expected = factorize(part.K, nodes=held(part), interpolation=linear_interpolation(part))
    np.testing.assert_array_equal(x, expected.solve(load))
    np.testing.assert_array_equal(factor.approximate(load), x)
    assert factor.nnz == expected.nnz


@pytest.mark.parametrize("share", [1.05, 1.5, 30.0])
def test_matrices_that_are_not_positive_definite_are_refused(part, small, share):
    """Negative springs at the tip, stiffer than the part: the softest motion is unstable, the
    factor has a negative pivot.
    """
    load, tip = np.zeros((part.K.shape[0], 1)), 3 * part.node_sets["x1"] + 2
    load[tip] = 1.0
    compliance = float((load * factorize(part.K, nodes=held(part)).solve(load)).sum())
    diagonal = part.K.diagonal()
    diagonal[tip] -= share * len(tip) / compliance
    K = part.K.copy()
    K.setdiag(diagonal)
    with pytest.raises(InputError, match="stiffness"):
        factorize(K, nodes=held(part), interpolation=linear_interpolation(part)).solve(load)


def test_free_parts_and_lost_nodes_are_refused_by_name(part, small):
    with pytest.raises(InputError, match=r"stiffness: singular: .* nodes move freely"):
        factorize(part.K, interpolation=linear_interpolation(part))


def test_memory_of_large_second_order_parts():
    """Little more than half of that of a direct factor at 1 M degrees of freedom."""
    assert memory.memory_estimate(335_000, 45_000) < 0.6 * memory.memory_estimate(335_000, 335_000)
    assert memory.memory_estimate(100_000, 14_000) == memory.memory_estimate(100_000, 100_000)


def test_factors_are_kept_without_two_grids(part, small, tmp_path):
    body = pp.reduce(
        part,
        interfaces=INTERFACES["averaged"],
        reference="a",
        keep=tmp_path / "part.factor",
        stress=None,
    )
    assert str(body.provenance["factor"]).startswith("written to")
    assert factors.BACKENDS["cholesky"] is CholeskyFactor
