"""Pivoted elimination against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.linalg

from flexmbs.algebra.pivoting import (
    cholesky,
    cholesky_solve,
    complete_pivots,
    lu,
    lu_solve,
    lu_solve_rows,
    lu_solve_transposed,
)  # fmt: skip

SHAPES = [(1, 1), (3, 7), (7, 3), (6, 6), (20, 31)]


def of_rank(rng, m, n, rank):
    return rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))


@pytest.mark.parametrize("shape", SHAPES)
def test_complete_pivoting_finds_rank_rows_and_columns(shape):
    m, n = shape
    rng = np.random.default_rng(m * n)
    for rank in range(min(m, n) + 1):
        G = of_rank(rng, m, n, rank)
        row, column = np.arange(m), np.arange(n)
        A = G.copy()
        assert complete_pivots(A, n, row, column, 1e-10) == rank
        assert sorted(row) == list(range(m))
        assert sorted(column) == list(range(n))
        chosen = G[np.ix_(row[:rank], column[:rank])]
        assert np.linalg.matrix_rank(chosen) == rank
        L, U = np.tril(A[:, :rank], -1), np.triu(A[:rank])
        assert np.abs(np.diag(U)).min(initial=1.0) > 0.0
        assert L.shape == (m, rank)
        if rank:
            first = np.abs(G).max()
            assert abs(abs(U[0, 0]) - first) == 0.0
            X = np.linalg.solve(chosen, G[np.ix_(row[:rank], column[rank:])])
            assert (
                np.abs(G[:, column[rank:]] - G[:, column[:rank]] @ X).max(initial=0.0)
                < 1e-9 * first
            )


def test_pivots_stay_among_the_first_columns_of_a_given_order():
    rng = np.random.default_rng(3)
    G = rng.normal(size=(4, 9))
    column = rng.permutation(9)
    given = column[:4].copy()
    row = np.arange(4)
    assert complete_pivots(G[:, column].copy(), 4, row, column, 1e-10) == 4
    assert sorted(column[:4]) == sorted(given)
    assert sorted(column) == list(range(9))


@pytest.mark.parametrize("n", [1, 2, 5, 24])
def test_solutions(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n))
    A[rng.random((n, n)) < 0.3] = 0.0
    A += np.diag(np.sign(rng.normal(size=n)))
    b, B = rng.normal(size=n), rng.normal(size=(n, 3))
    F = np.zeros((n + 2, n + 2))
    F[:n, :n] = A
    order = np.zeros(n, np.int64)
    least = lu(F, n, order)
    U = scipy.linalg.lu(A)[2]
    assert least == pytest.approx(np.abs(np.diag(U)).min(), rel=1e-9)
    size = np.linalg.cond(A)
    for given, solve in ((A, lu_solve), (A.T, lu_solve_transposed)):
        x = b.copy()
        solve(F, n, order, x)
        assert np.abs(x - np.linalg.solve(given, b)).max() < 1e-13 * size * np.abs(x).max()
    X = np.zeros((n + 1, 5))
    X[:n, :3] = B
    lu_solve_rows(F, n, order, X, 3)
    assert np.abs(X[:n, :3] - np.linalg.solve(A, B)).max() < 1e-13 * size * np.abs(X).max()
    assert not X[n:].any()
    assert not X[:, 3:].any()


def test_singular_matrix_has_a_vanishing_pivot():
    A = of_rank(np.random.default_rng(0), 6, 6, 5)
    assert lu(A, 6, np.zeros(6, np.int64)) < 1e-13
    assert lu(np.zeros((2, 2)), 2, np.zeros(2, np.int64)) == 0.0


@pytest.mark.parametrize("n", [1, 4, 17])
def test_cholesky(n):
    rng = np.random.default_rng(n)
    R = rng.normal(size=(n + 3, n))
    A, b = R.T @ R, rng.normal(size=n)
    F = A.copy()
    assert cholesky(F, n) == -1
    assert np.abs(np.triu(F) - scipy.linalg.cholesky(A)).max() < 1e-12 * np.linalg.cond(A)
    x = b.copy()
    cholesky_solve(F, n, x)
    assert np.abs(x - np.linalg.solve(A, b)).max() < 1e-13 * np.linalg.cond(A) * np.abs(x).max()
    A[n - 1, n - 1] = -1.0
    assert cholesky(A, n) == n - 1
