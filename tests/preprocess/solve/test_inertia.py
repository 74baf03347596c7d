"""Signs of pivots and BᵀA⁻¹B of a factor whose panels are dropped, against dense matrices and the
factor that is kept.
"""

import tracemalloc

import numpy as np
import pytest

import preprocess as pp
from flexmbs._jit import COMPILED
from flexmbs.errors import InputError
from preprocess.solve.cholesky import TransientFactor, analyse, factor
from preprocess.solve.engine import SERIAL, BlockMatrix, Engine
from preprocess.solve.ordering import node_graph, node_order

pytestmark = pytest.mark.skipif(not COMPILED, reason="SuperLU factors only")


@pytest.fixture(scope="module")
def block() -> pp.FEModel:
    return pp.assemble(
        pp.box_mesh((0.5, 0.3, 0.3), (8, 5, 5), "hex20"), pp.Isotropic(E=2e11, nu=0.3, rho=7850.0)
    )


def matrix(fe: pp.FEModel, shift: float) -> BlockMatrix:
    """K − σ M with one end held."""
    free = np.setdiff1d(np.arange(len(fe.nodes)), fe.node_sets["x0"])
    return BlockMatrix((fe.K - shift * fe.M).tocsr(), free, fe.nodes, fe.node_ids, definite=False)


@pytest.mark.parametrize("columns", [0, 3, 12])
@pytest.mark.parametrize("hertz", [0.0, 3000.0, 20_000.0])
def test_inertia_is_that_of_a_kept_factor(block, columns, hertz, monkeypatch):
    monkeypatch.setattr(factor, "STREAMED", 1 / 500)  # many steps
    A, B = (
        matrix(block, (2 * np.pi * hertz) ** 2),
        np.random.default_rng(1).standard_normal((block.K.shape[0], columns)),
    )
    found, kept = SERIAL.inertia(A, B), Engine.inertia(SERIAL, A, B)
    assert found.negative == kept.negative
    assert (found.negative > 0) == (hertz > 0)
    np.testing.assert_allclose(
        found.form, kept.form, rtol=0, atol=1e-7 * np.abs(kept.form).max(initial=0.0)
    )
    assert found.backward_error < 1e-11
    assert kept.backward_error < 1e-11


def test_counts_are_those_of_all_eigenvalues():
    fe = pp.assemble(
        pp.box_mesh((0.5, 0.2, 0.1), (4, 2, 1), "tet10"), pp.Isotropic(E=2e11, nu=0.3, rho=7850.0)
    )
    rows = np.setdiff1d(np.arange(fe.K.shape[0]), 3 * fe.node_sets["x0"][:, None] + np.arange(3))
    for hertz in (500.0, 5000.0, 40_000.0):
        A = matrix(fe, (2 * np.pi * hertz) ** 2)
        values = np.linalg.eigvalsh(A.A[rows][:, rows].toarray())
        assert SERIAL.inertia(A, np.zeros((fe.K.shape[0], 0))).negative == np.sum(values < 0)


def test_a_wrong_factor_shows_in_the_backward_error(block, monkeypatch):
    """As of a small pivot: one panel with a relative error of 1e-6."""
    right = factor.TransientFactor._finished

    def disturbed(self, step, tree, L, pool):
        L[: tree.panel[step.high]] *= 1.0 + 1e-6 * (step.low == 0)
        right(self, step, tree, L, pool)

    monkeypatch.setattr(factor.TransientFactor, "_finished", disturbed)
    found = SERIAL.inertia(matrix(block, 1e8), np.zeros((block.K.shape[0], 0)))
    assert 1e-8 < found.backward_error < 1e-4


@pytest.mark.parametrize("columns", [0, 60, 300])
def test_memory_needed_is_that_of_the_work(block, columns):
    """Also of the solutions for many interfaces; beside it a copy of the matrix."""
    A, B = matrix(block, 1e8), np.random.default_rng(2).standard_normal((block.K.shape[0], columns))
    graph = node_graph(A.A, A.blocks)
    tree = analyse(graph.indptr, graph.indices, node_order(graph, A.places[A.blocks])).of_nodes(
        A.blocks, len(block.nodes)
    )
    tracemalloc.start()
    TransientFactor(A.A, tree, B)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used - 12 * A.A.nnz < 1.1 * TransientFactor.bytes_needed(tree, columns) < 2 * used


def test_a_shift_at_an_eigenvalue_is_named():
    fe = pp.assemble(
        pp.box_mesh((1.0, 1.0, 1.0), (1, 1, 1), "hex8"), pp.Isotropic(E=2e11, nu=0.0, rho=7850.0)
    )
    zero = fe.K * 0.0
    zero.eliminate_zeros()
    with pytest.raises(InputError, match="modes: a shift is an eigenvalue"):
        SERIAL.inertia(matrix(fe, 0.0)._replace(A=zero + 0.0 * fe.K), np.zeros((24, 0)))
