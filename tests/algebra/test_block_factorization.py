"""Signed block Cholesky against dense solutions; free and constrained directions of a joint."""

import numpy as np
import pytest
import scipy

from flexmbs.algebra.blocks import (
    add_block,
    factorize,
    solve,
)
from flexmbs.dynamics.constraints import complement, left_inverse
from flexmbs.system.cut_directions import complement as constant_complement
from flexmbs.system.cut_directions import left_inverse as constant_left_inverse
from flexmbs.system.elimination import symbolic


def random_problem(rng, bodies=7, constraints=4):
    """Dense [[T, Gᵀ], [G, 0]] with random sparsity: sizes, signs, couplings, order requirements,
    matrix.
    """
    sizes = np.concatenate([rng.integers(3, 9, bodies), rng.integers(1, 4, constraints)])
    signs = np.where(np.arange(len(sizes)) < bodies, 1, -1)
    pairs = [(int(rng.integers(0, i)), i) for i in range(1, bodies)]
    after = {}
    for k in range(bodies, len(sizes)):
        touched = [int(i) for i in rng.choice(bodies, 3, replace=False)]
        pairs += [(i, k) for i in touched]
        after[k] = set(touched)
    at = np.concatenate([[0], np.cumsum(sizes)])
    K = np.zeros((at[-1], at[-1]))
    for i, j in pairs:
        block = rng.normal(size=(sizes[i], sizes[j]))
        K[at[i] : at[i + 1], at[j] : at[j + 1]] = block
        K[at[j] : at[j + 1], at[i] : at[i + 1]] = block.T
    n = at[bodies]
    K[:n, :n] += np.eye(n) * (np.abs(K[:n, :n]).sum(axis=1).max() + rng.uniform(0.1, 1.0, n))
    return sizes, signs, pairs, after, at, K


def factor(sizes, signs, pairs, after, at, K):
    e = symbolic(sizes, signs, pairs, after)
    values = np.zeros(int(e.n_values[0]))
    for i in range(len(sizes)):
        add_block(e, values, i, i, K[at[i] : at[i + 1], at[i] : at[i + 1]], 1.0)
    for number, (i, j) in enumerate(pairs):
        a, b = (i, j) if number % 2 else (j, i)
        add_block(e, values, a, b, 0.5 * K[at[a] : at[a + 1], at[b] : at[b + 1]], 2.0)
    dropped = factorize(e, values, np.zeros(at[-1]), np.zeros(at[-1]))
    return e, values, dropped


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_dense_solution(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    e, values, dropped = factor(*problem)
    K = problem[-1]
    b = rng.normal(size=len(K))
    x = b.copy()
    solve(e, values, x)
    assert dropped == 0
    assert np.abs(x - np.linalg.solve(K, b)).max() < 1e-11 * np.abs(x).max()
    n = len(problem[0])
    assert sorted(e.order[:n]) == list(range(n))
    assert all(e.position[e.order[step]] == step for step in range(n))
    assert (np.diff(np.append(e.offset[:n], len(K))) == e.size[:n]).all()
    assert len(set(e.diagonal[:n])) == n


@pytest.mark.parametrize("seed", range(4))
def test_dependent_rows_leave_the_solution_unique(seed):
    """A node that repeats the rows of another, and a row that is a combination within a node."""
    rng = np.random.default_rng(seed)
    sizes, signs, pairs, after, at, K = random_problem(rng, bodies=5, constraints=2)
    first = [i for i, k in pairs if k == 5]
    n, m = int(at[-1]), int(sizes[5])
    bigger = np.zeros((n + m + 1, n + m + 1))
    bigger[:n, :n] = K
    G = K[at[5] : at[6], :]
    copy = np.vstack([rng.normal(size=(m, m)) @ G, rng.normal(size=(1, m)) @ G])
    bigger[n:, :n], bigger[:n, n:] = copy, copy.T
    sizes, signs = np.append(sizes, m + 1), np.append(signs, -1)
    pairs = pairs + [(i, 7) for i in first]
    after = after | {7: set(first)}
    at = np.append(at, n + m + 1)
    e, values, dropped = factor(sizes, signs, pairs, after, at, bigger)
    rhs = rng.normal(size=n)
    x = np.concatenate(
        [rhs, copy[:, : at[5]] @ np.linalg.lstsq(G[:, : at[5]], rhs[at[5] : at[6]], rcond=None)[0]]
    )
    b = x.copy()
    solve(e, values, x)
    exact = np.linalg.solve(K, rhs)
    assert dropped == m + 1
    assert np.abs(x[: at[5]] - exact[: at[5]]).max() < 1e-9 * np.abs(exact).max()
    assert np.abs(bigger @ x - b).max() < 1e-9 * np.abs(b).max()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [3e-5, 1e-4, 1e-9])
def test_of_nearly_dependent_rows_the_one_with_more_of_its_own_is_kept(seed, share):
    """A body with as many independent rows as velocities. In the second node a row of which the
    first node leaves only ``share`` comes before one of which it leaves much."""
    rng = np.random.default_rng(seed)
    sizes, signs = np.array([6, 4, 3]), np.array([1, -1, -1])
    C = rng.normal(size=(6, 6))
    T = C @ C.T + np.eye(6)
    first, free = rng.normal(size=(4, 6)), rng.normal(size=(2, 6))
    own = rng.normal(size=(3, 4)) @ first
    own[0] += free[0]
    own[1] += share * free[1]
    own[2] += free[1] + 0.3 * free[0]
    G = np.vstack([first, own])  # 7 rows, of rank 6
    K = np.block([[T, G.T], [G, np.zeros((7, 7))]])
    e, values, dropped = factor(
        sizes, signs, [(0, 1), (0, 2)], {1: {0}, 2: {0}}, np.array([0, 6, 10, 13]), K
    )
    u = rng.normal(size=6)
    b = np.concatenate([rng.normal(size=6), G @ u])
    x = b.copy()
    solve(e, values, x)
    assert dropped == 1
    assert np.abs(x[:6] - u).max() < 1e-11
    assert np.abs(x[6:]).max() < 1e4


def test_an_indefinite_mass_block_is_named():
    sizes, signs = np.array([3, 4]), np.array([1, 1])
    K = np.diag([1.0, 1, 1, 1, 1, -0.1, 1])
    e = symbolic(sizes, signs, [(0, 1)], {})
    values = np.zeros(int(e.n_values[0]))
    add_block(e, values, 0, 0, K[:3, :3], 1.0)
    add_block(e, values, 1, 1, K[3:, 3:], 1.0)
    assert factorize(e, values, np.zeros(7), np.zeros(7)) == -1 - 1


def test_a_solution_by_an_abandoned_factor_stays_in_its_arrays():
    """A body without inertia stops the factorization: in constraint nodes behind it stand sums, no
    interchanges.
    """
    rng = np.random.default_rng(0)
    sizes, signs = np.array([6, 3, 4]), np.array([1, 1, -1])
    G = rng.normal(size=(4, 9))
    K = np.block([[np.diag([1e-6] * 6 + [0.0] * 3), G.T], [G, np.zeros((4, 4))]])
    e, values, status = factor(
        sizes, signs, [(0, 2), (1, 2)], {2: {0, 1}}, np.array([0, 6, 9, 13]), K
    )
    assert status == -1 - 1
    at = e.diagonal[2]
    assert np.abs(values[at : at + 16].reshape(4, 4)).max() > 1e3  # what the first body gave
    assert not values[at : at + 16].reshape(4, 4).diagonal(-1).any()
    solve(e, values, np.ones(13))


@pytest.mark.parametrize("n", range(7))
def test_free_and_constrained_directions(n):
    rng = np.random.default_rng(n)
    directions, covectors = np.zeros((2, 1, 36))
    C = rng.normal(size=(n, 6))
    C /= np.linalg.norm(C, axis=1)[:, None]
    directions[0, : 6 * n] = C.ravel()
    complement(directions, covectors, 0, n)
    T = covectors[0, : 6 * (6 - n)].reshape(-1, 6)
    assert np.abs(T @ C.T).max(initial=0.0) < 1e-14
    assert np.abs(T @ T.T - np.eye(6 - n)).max(initial=0.0) < 1e-14


# columns: rotations with offsets, slides (w = 0), a second rotation about the axis of the first one
CHAINS = ["r", "s", "rs", "sr", "rr", "rrr", "ssr", "rsp", "rrrp", "srpr", "rrrsss", "srprp"]


@pytest.mark.parametrize("chain", CHAINS)
def test_efforts_act_as_the_same_wrenches_in_any_unit(chain):
    """Orthogonal projections mixed metres and radians: reactions that forces read depended on
    units."""
    rng = np.random.default_rng(len(chain))
    n, axis = len(chain), None
    C = rng.normal(size=(n, 6))
    for row, motion in zip(C, chain):
        if motion == "s":
            row[3:] = 0.0
        else:
            row[3:] = axis = axis if motion == "p" else row[3:] / np.linalg.norm(row[3:])
    found = []
    for length in (1.0, 1e-3, 1e3, 1e6):
        sizes = np.repeat([length, 1.0], 3)
        directions, inverse = np.zeros((2, 1, 36))
        directions[0, : 6 * n] = (C * sizes).ravel()
        left_inverse(directions, inverse, 0, n)
        found.append(inverse[0, : 6 * n].reshape(n, 6) * sizes)
        assert np.abs(constant_left_inverse((C * sizes).T) * sizes - found[-1]).max() < 1e-9
        assert np.abs(found[-1] @ C.T - np.eye(n)).max() < 1e-10
    assert max(np.abs(each - found[0]).max() for each in found) < 1e-10
    # no wrench without work on C lessens the forces, none without force then the moments
    f, n = found[0][:, :3], found[0][:, 3:]
    assert np.abs(f @ scipy.linalg.null_space(C)[:3]).max(initial=0.0) < 1e-10
    assert np.abs(n @ scipy.linalg.null_space(C[:, 3:])).max(initial=0.0) < 1e-10


@pytest.mark.parametrize(
    "axis", [(0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1.0, -1.0), (1.0, 0.0, 0.0)]
)
@pytest.mark.parametrize("kind", [0, 3])
def test_rows_follow_small_changes_of_directions(axis, kind):
    """Where unit vectors have equal remainders: derivatives by parameters compare the multipliers
    of neighbours.
    """
    rng = np.random.default_rng(7)

    def rows(v):
        directions, covectors = np.zeros((2, 1, 36))
        directions[0, kind : kind + 3] = v / np.linalg.norm(v)
        complement(directions, covectors, 0, 1)
        np.testing.assert_allclose(
            constant_complement(directions[0, :6, None]),
            covectors[0, :30].reshape(5, 6),
            atol=1e-14,
        )
        return covectors

    for change in 1e-4 * rng.normal(size=(10, 3)):
        assert np.abs(rows(axis + change) - rows(np.array(axis))).max() < 3e-3
