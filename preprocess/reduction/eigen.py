"""Lowest modes of large structures by block Lanczos on one factorization.

``K φ = ω² M φ`` becomes ``A M φ = θ φ`` with θ = 1/ω² and A the static response (loads → displacements); A may hold constraints,
then the modes are those of the constrained structure. Every step solves for a block of loads, which costs little more than one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.errors import SolverError
from flexmbs.flexible_body import FloatArray

Operator = Callable[[FloatArray], FloatArray]
_TOLERANCE = 1e-9
_MAX_RESTARTS = 30
_DENSE_SIZE = 400


class Modes(NamedTuple):
    """Angular frequencies omega (k,) [rad/s], ascending, and M-orthonormal shapes (n, k)."""

    omega: FloatArray
    shapes: FloatArray


class _Wanted(NamedTuple):
    """How many modes to find: a number, or all below an angular frequency."""

    number: int
    omega_max: float

    def target(self, theta: FloatArray) -> int:
        """Number of leading Ritz values (θ descending) that must be converged; one beyond the limit proves
        that none is missing."""
        if self.number:
            return self.number
        return int(np.sum(theta * self.omega_max**2 >= 1.0)) + 1


def modes_of(response: Operator, mass: Operator, size: int, *, count: int = 0, omega_max: float = 0.0, block: int = 8) -> Modes:
    """The ``count`` lowest modes, or all with ω ≤ ``omega_max``.

    response: static response A to loads (n, k); mass: M times (n, k).  Raises SolverError when the iteration does not converge.
    Source: Grimes, Lewis, Simon, SIAM J. Matrix Anal. Appl. 15 (1994) 228 (shifted block Lanczos); Wu, Simon, ibid. 22 (2000) 602
    (thick restart).
    """
    wanted = _Wanted(count, omega_max)
    if size <= max(_DENSE_SIZE, 4 * count + 10 * block):
        theta, shapes = _dense(response, mass, size)
    else:
        theta, shapes = _block_lanczos(response, mass, size, wanted, block)
    positive = theta > 1e-13 * theta[0]
    keep = positive if not count else positive & (np.arange(len(theta)) < count)
    if not count:
        keep &= theta * omega_max**2 >= 1.0
    return Modes(theta[keep] ** -0.5, shapes[:, keep])


def _dense(response: Operator, mass: Operator, size: int) -> tuple[FloatArray, FloatArray]:
    """All modes of a small structure from ``Lᵀ A L y = θ y``, M = L Lᵀ, φ = A L y / θ."""
    L = np.asarray(np.linalg.cholesky(mass(np.eye(size))), dtype=np.float64)
    AL = response(L)
    theta, y = np.linalg.eigh(0.5 * (L.T @ AL + AL.T @ L))
    theta, y = theta[::-1], y[:, ::-1]
    return theta, (AL @ y) / np.where(theta > 1e-13 * theta[0], theta, 1.0)


def _block_lanczos(response: Operator, mass: Operator, size: int, wanted: _Wanted, block: int) -> tuple[FloatArray, FloatArray]:
    """Leading eigenpairs (θ, φ) of A M by block Lanczos with full orthogonalization and thick restart."""
    start = np.random.default_rng(0).standard_normal((size, block))
    V, MV = _orthonormal(response(mass(start)), mass)[:2]
    T = np.zeros((0, 0))
    for _ in range(_MAX_RESTARTS):
        room = max(10 * block, 4 * wanted.number, 3 * T.shape[0])
        while True:
            k = T.shape[0]
            W = response(MV[:, k:])
            H = MV.T @ W
            W -= V @ H
            again = MV.T @ W
            W -= V @ again
            H += again
            T = _bordered(T, H, block)
            W, MW, R = _orthonormal(W, mass)
            theta, y = scipy.linalg.eigh(T)
            theta, y = theta[::-1], y[:, ::-1]
            residual = np.linalg.norm(R @ y[-block:], axis=0) / np.abs(theta)
            target = min(wanted.target(theta), len(theta))
            if len(theta) > target and residual[:target].max() < _TOLERANCE:
                return theta[:target], V @ y[:, :target]
            if len(theta) + block > room:
                break
            V, MV = np.hstack([V, W]), np.hstack([MV, MW])
        keep = min(target + block, len(theta) - block)
        V, MV = np.hstack([V @ y[:, :keep], W]), np.hstack([MV @ y[:, :keep], MW])
        T = np.diag(theta[:keep])
    done = int(np.sum(residual[:target] < _TOLERANCE))
    raise SolverError(f"modes: {done} of {target} converged after {_MAX_RESTARTS} restarts; ask for fewer modes or mend the mesh")


def _bordered(T: FloatArray, H: FloatArray, block: int) -> FloatArray:
    """Projection T grown by the block column H = Vᵀ M A M V_last, symmetric, (k + block, k + block)."""
    k = T.shape[0]
    grown = np.zeros((k + block, k + block))
    grown[:k, :k] = T
    grown[:, k:] = H
    grown[k:, :] = H.T
    grown[k:, k:] = 0.5 * (H[k:] + H[k:].T)
    return grown


def _orthonormal(W: FloatArray, mass: Operator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """M-orthonormal Q with W = Q R, and M Q: Cholesky QR, twice; dependent columns are replaced by tiny ones."""
    R = np.eye(W.shape[1])
    MW = mass(W)
    for _ in range(2):
        gram = W.T @ MW
        gram = 0.5 * (gram + gram.T)
        weight, u = np.linalg.eigh(gram)
        weight = np.maximum(weight, weight[-1] * 1e-15)
        step = u * np.sqrt(weight) @ u.T
        inverse = u / np.sqrt(weight) @ u.T
        W, MW, R = W @ inverse, MW @ inverse, step @ R
    return W, MW, R
