"""Conjugate gradients with the two-grid cycle as preconditioner."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit.simd_rows import EIGHT
from preprocess.solve.cholesky import Cholesky
from preprocess.solve.multigrid.level_kernels import (
    ChebyshevStep,
    GridLevel,
    GridTransfer,
    Single,
    chebyshev_step,
    combine,
    first_step,
    gather,
    inner_products,
    residual,
    scatter,
    transfer,
)
from preprocess.solve.threads import BLOCK, by_rows

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

STEPS = 3  # number of Chebyshev steps before the coarse grid and after it
RANGE = 8.0  # of the eigenvalues that they reduce, the largest over the smallest
# factor on the largest eigenvalue, and the number of products by which it is estimated: for tet10
# and hex20 the estimate is 5 % and 1 % low, and Chebyshev's iteration diverges beyond
SAFE, POWERS = 1.1, 12
# number of steps of conjugate gradients; with eigenvalues from `LEAST` (1/4) to 1 the bound 2/3ᵏ is
# at single precision after 16
MOST = 30
TINY = 1e-300  # guards against division by zero for loads that are zero


class TwoGridIteration:
    """Conjugate gradients preconditioned by the two-grid cycle.

    For eight loads at once, in single precision.
    """

    def __init__(self, level: GridLevel, coarse: Cholesky, P: sp.csr_matrix) -> None:
        """Set up the preconditioned conjugate-gradient iteration.

        P (n, c): interpolation of the nodes from coarse ones.
        """
        self._level, self.coarse, self._count = level, coarse, P.shape[0]
        self._down, self._up, self._low = _transfer(P.T.tocsr()), _transfer(P), _columns(P.shape[1])
        self._x, self._left, self._p, self._z, self._r, self._d, self._out = (
            _columns(self._count) for _ in range(7)
        )
        self._steps = chebyshev_steps(SAFE * self._largest_eigenvalue())

    def solve(self, loads: Array, nodes: Indices, error: float, found: Array) -> float:
        """Write the solution x of K x = b to ``found``, in the rows of the nodes.

        Loads b (3 N, 8 or less), with an expected ``error`` relative in the energy norm. Returns
        the least eigenvalue of A K seen by the iteration; source: Golub, Van Loan, section 11.3.
        """
        scale = np.maximum(np.abs(loads).max(axis=0, initial=0.0), TINY)
        x, left, p, z, product = self._x, self._left, self._p, self._z, self._r
        by_rows(lambda low, high: gather(nodes, low, high, loads, scale, left), self._count)
        x[:] = 0.0
        size = before = np.zeros(EIGHT)
        steps, ratios = list[Array](), list[Array]()
        for k in range(MOST):
            self._cycle(left)
            square = np.maximum(self._inner(z, left), TINY)  # of the error, in the energy norm
            size, before = (size, before) if k else (square, square)
            ratios.append(square / before if k else np.zeros(EIGHT))
            self._combine(ratios[-1], z, p, p)
            # expected after this step
            if np.sqrt((square / size) * (square / before)).max() <= error:
                self._combine(np.ones(EIGHT), x, z, x)
                break
            product[:] = 0.0
            self._each(residual, p, product, product)
            steps.append(square / np.maximum(-self._inner(p, product), TINY))
            self._combine(steps[-1], x, p, x)
            self._combine(steps[-1], left, product, left)
            before = square
        by_rows(lambda low, high: scatter(nodes, low, high, x, scale, found), self._count)
        return least_eigenvalue(np.array(steps), np.array(ratios))

    def _cycle(self, b: Single) -> None:
        """Two-grid cycle: approximation z ≈ K⁻¹ b."""
        r, z, d, out = self._r, self._z, self._d, self._out
        r[:] = b
        self._each(first_step, self._steps[0], r, z, d)
        for step in self._steps[1:]:
            self._each(chebyshev_step, step, d, r, z, out)
            d, out = out, d
        self._each(residual, d, r, r)
        by_rows(
            lambda low, high: transfer(self._down, low, high, r, self._low),
            len(self._low) // (3 * EIGHT),
        )
        e = (
            self.coarse.solve(self._low.reshape(-1, EIGHT).astype(float))
            .astype(np.float32)
            .reshape(-1)
        )
        by_rows(lambda low, high: transfer(self._up, low, high, e, d), self._count)
        self._combine(np.ones(EIGHT), z, d, z)
        for step in self._steps:
            self._each(chebyshev_step, step, d, r, z, out)
            d, out = out, d

    def _largest_eigenvalue(self) -> float:
        """Estimate of the largest eigenvalue of D⁻¹ K by powers of random vectors."""
        v, r, growth = self._x, self._r, np.zeros(EIGHT)
        v[:] = np.random.default_rng(0).standard_normal(len(v))
        for _ in range(POWERS):
            r[:] = 0.0
            self._each(residual, v, r, r)
            self._each(first_step, ChebyshevStep(0.0, -1.0), r, v, self._out)
            growth = np.sqrt(self._inner(v, v))
            self._combine(1.0 / growth - 1.0, v, v, v)
        return float(growth.max())

    def _each(self, function: Any, *given: Any) -> None:
        """Apply a kernel of K and of the rows of nodes to all nodes."""
        by_rows(lambda low, high: function(self._level, low, high, *given), self._count)

    def _combine(self, factor: Array, a: Single, b: Single, out: Single) -> None:
        """Compute out := a + factor b."""
        # of an iteration that diverges, which its coefficients show
        with np.errstate(over="ignore"):
            factors = factor.astype(np.float32)
        by_rows(lambda low, high: combine(low, high, factors, a, b, out), self._count)

    def _inner(self, a: Single, b: Single) -> Array:
        """Column-wise inner products of a and b."""
        sums = np.zeros((-(-self._count // BLOCK), EIGHT))
        by_rows(lambda low, high: inner_products(low, high, BLOCK, a, b, sums), self._count)
        return np.asarray(sums.sum(axis=0))


def least_eigenvalue(steps: Array, ratios: Array) -> float:
    """Least eigenvalue of A K from conjugate gradients with preconditioner A, by load.

    Steps α along the directions, and ratios β of these (k or more, m), β_0 = 0; infinite without
    steps. ``T_kk = 1/α_k + β_k/α_{k-1}, T_k,k+1 = √β_{k+1}/α_k``.
    """
    least = np.inf
    for a, b in zip(steps.T, ratios.T[:, : len(steps)]):
        diagonal = 1.0 / a + b / np.concatenate([[1.0], a[:-1]])
        T = np.diag(diagonal) + np.diag(np.sqrt(b[1:]) / a[:-1], 1)
        least = (
            min(least, float(np.linalg.eigvalsh(T, UPLO="U")[0])) if np.isfinite(T).all() else 0.0
        )
    return least


def _columns(count: int) -> Single:
    """Uninitialized array of eight columns of three numbers for ``count`` nodes."""
    return np.zeros(3 * EIGHT * count, np.float32)


def chebyshev_steps(largest: float) -> tuple[ChebyshevStep, ...]:
    """Coefficients (before, after) of Chebyshev smoothing for the upper part of a spectrum."""
    least = largest / RANGE
    middle, half = 0.5 * (largest + least), 0.5 * (largest - least)
    steps, rho = [ChebyshevStep(0.0, 1.0 / middle)], half / middle
    for _ in range(STEPS - 1):
        following = 1.0 / (2.0 * middle / half - rho)
        steps.append(ChebyshevStep(following * rho, 2.0 * following / half))
        rho = following
    return tuple(steps)


def _transfer(P: sp.csr_matrix) -> GridTransfer:
    """Interpolation between grids in single precision."""
    return GridTransfer(P.indptr, P.indices, P.data.astype(np.float32))
