"""The back ends of `factorize` against each other and against dense linear algebra."""

import importlib.util

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from flexmbs.errors import InputError, MachineError
from preprocess.fe.assembly import assemble
from preprocess.fe.material import Isotropic
from preprocess.mesh.structured import box_mesh
from preprocess.solve.cholesky import schedule
from preprocess.solve.factorize import factorize
from preprocess.solve.factors import BACKENDS

STEEL = Isotropic(E=210e9, nu=0.3, rho=7850.0)
MKL = pytest.param(
    "pardiso",
    marks=pytest.mark.skipif(
        importlib.util.find_spec("pypardiso") is None,
        reason="the extra mkl (pypardiso) is not installed",
    ),
)
ALL = ["cholesky", "superlu", MKL]


@pytest.fixture(scope="module")
def block():
    """K and M of a block held at one face; its separators are wide enough for the parts of fronts
    to matter.
    """
    mesh = box_mesh((0.75, 0.45, 0.45), (5, 3, 3), "tet10")
    fe = assemble(mesh, STEEL)
    free = np.setdiff1d(np.arange(len(mesh.nodes)), mesh.node_set("x0"))
    dof = (3 * free[:, None] + np.arange(3)).ravel()
    return fe.K[dof][:, dof].tocsr(), fe.M[dof][:, dof].tocsr()


@pytest.fixture(scope="module")
def dense(block):
    """All eigenvalues of (K, M), by LAPACK."""
    return scipy.linalg.eigh(block[0].toarray(), block[1].toarray(), eigvals_only=True)


@pytest.mark.parametrize("backend", ALL)
def test_solutions_are_those_of_dense_elimination(block, backend):
    K, _ = block
    loads = np.random.default_rng(1).standard_normal((K.shape[0], 5))
    expected = scipy.linalg.solve(K.toarray(), loads, assume_a="pos")
    factor = factorize(K, backend=backend)
    for b, x in ((loads, expected), (loads[:, 0], expected[:, 0])):
        found = factor.solve(b)
        assert found.shape == b.shape
        assert np.linalg.norm(found - x) < 1e-10 * np.linalg.norm(x)
    assert factor.negative_pivots() == 0


@pytest.mark.parametrize("backend", ALL)
def test_held_nodes_are_left_out(block, backend):
    K, _ = block
    count = K.shape[0] // 3
    free = np.setdiff1d(np.arange(count), np.arange(0, count, 5))
    rows = (3 * free[:, None] + np.arange(3)).ravel()
    loads = np.random.default_rng(4).standard_normal((K.shape[0], 2))
    x = factorize(K, nodes=free, backend=backend).solve(loads)
    expected = np.zeros(loads.shape)
    expected[rows] = scipy.linalg.solve(
        K.toarray()[np.ix_(rows, rows)], loads[rows], assume_a="pos"
    )
    assert np.linalg.norm(x - expected) < 1e-10 * np.linalg.norm(expected)
    assert not x[np.setdiff1d(np.arange(K.shape[0]), rows)].any()


@pytest.mark.parametrize("backend", ALL)
@pytest.mark.parametrize("count", [1, 7, 200])
def test_negative_pivots_count_the_eigenvalues_below_a_shift(block, dense, backend, count):
    K, M = block
    shift = 0.5 * (dense[count - 1] + dense[count])
    shifted = (K - shift * M).tocsr()
    factor = factorize(shifted, definite=False, backend=backend)
    assert factor.negative_pivots() == count
    b = np.random.default_rng(2).standard_normal((K.shape[0], 2))
    assert np.linalg.norm(shifted @ factor.solve(b) - b) < 1e-7 * np.linalg.norm(b)


@pytest.mark.parametrize("backend", ALL)
def test_an_indefinite_matrix_is_no_stiffness(block, dense, backend):
    K, M = block
    if backend == "superlu":
        pytest.skip("LU takes pivots of any sign")
    with pytest.raises(InputError, match="stiffness: singular"):
        factorize((K - 1.5 * dense[2] * M).tocsr(), backend=backend)


def test_the_factor_is_the_same_on_any_number_of_threads(block, monkeypatch):
    """Many tasks, shared fronts among them, since nothing is too small to divide."""
    monkeypatch.setattr(schedule, "LEAST", 1e5)
    K, M = block
    b = np.random.default_rng(3).standard_normal((K.shape[0], 3))
    for A, definite in ((K, True), ((K - 1e10 * M).tocsr(), False)):
        found = []
        for threads in (1, 2, 3):
            with threadpool_limits(threads):
                found.append(factorize(A, definite=definite).solve(b))
        np.testing.assert_array_equal(found[1], found[0])
        np.testing.assert_array_equal(found[2], found[0])
        assert np.linalg.norm(A @ found[0] - b) < 1e-7 * np.linalg.norm(b)


def test_no_entry_is_left_unset(block, monkeypatch):
    """The panels, which may be kept in a file, do not depend on what the memory held before."""
    monkeypatch.setattr(schedule, "LEAST", 1e5)
    expected, empty = factorize(block[0], backend="cholesky"), np.empty

    def filled(shape, dtype=float, **options):
        array = empty(shape, dtype, **options)
        if array.dtype == float:
            array.fill(np.nan)
        return array

    monkeypatch.setattr(np, "empty", filled)
    np.testing.assert_array_equal(factorize(block[0], backend="cholesky").panels, expected.panels)


def test_a_matrix_without_the_blocks_of_a_mesh():
    """Laplace's operator on a grid: no three columns go together, and the rows are no multiple of
    three.
    """
    line = sp.diags([-1.0, 2.001, -1.0], [-1, 0, 1], shape=(20, 20))
    K = sp.csr_matrix(sp.kronsum(line, line)[:-2, :-2])
    b = np.arange(398.0)
    np.testing.assert_allclose(factorize(K).solve(b), np.linalg.solve(K.toarray(), b), rtol=1e-10)


def test_unknown_and_missing_backends_are_reported(block, monkeypatch):
    with pytest.raises(
        InputError, match="backend: 'mumps' is unknown; choose one of cholesky, superlu, pardiso"
    ):
        factorize(block[0], backend="mumps")
    monkeypatch.setitem(__import__("sys").modules, "pypardiso", None)
    with pytest.raises(MachineError, match=r"pip install 'flexmbs\[mkl\]'"):
        BACKENDS["pardiso"](None)


def test_too_little_memory_is_reported_before_the_work(block, monkeypatch):
    monkeypatch.setattr("preprocess.solve.memory.free_memory", lambda: 1e6)
    with pytest.raises(
        MachineError,
        match=r"the factor of 1470 degrees of freedom needs 0\.\d\d GB, 0\.00 GB are free; coarsen",
    ):
        factorize(block[0])


def test_a_direction_whose_stiffness_is_round_off_is_singular(block):
    """Its pivot is as small as its own diagonal entry, but not beside those of its node."""
    K = block[0].tolil()
    dof = 3 * 20 + 2
    K[dof, :] = 0.0
    K[:, dof] = 0.0
    K[dof, dof] = 1e-11
    with pytest.raises(InputError, match="move freely"):
        factorize(K.tocsr())
