"""Lowest modes of large structures by a rough factor: a space of shapes, extended by corrections of its Ritz vectors.

    r = K φ − λ M φ,    correction = A r,    A ≈ the static response

With an exact response the space is that of the Lanczos iteration, since A r = φ − λ A M φ. Errors of the response delay the
convergence, but do not limit it: residuals and projections are those of the matrices.
Source: Davidson, J. Comput. Phys. 17 (1975) 87; Morgan, Scott, SIAM J. Sci. Stat. Comput. 7 (1986) 817.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from flexmbs.errors import SolverError
from flexmbs.flexible_body.parts import FloatArray
from preprocess.solve.lanczos import Modes, Operator, Wanted, orthonormalize, wanted_of
from preprocess.solve.tall import TallProducts
from preprocess.solve.threads import Threads

_MAX_STEPS = 200
CAPACITY = 6  # shapes for each mode
_SETTLED = 2e-8  # residual of a Ritz vector, less than that of `lanczos`, where only the last one reaches the tolerance
_SHIFTED = 1e-6  # relative decrease of a Ritz value that a new mode below it causes


def modes_by_corrections(
    response: Operator,
    stiffness: Operator,
    mass: Operator,
    size: int,
    *,
    count: int = 0,
    omega_max: float = 0.0,
    block: int = 8,
) -> Modes:
    """The ``count`` lowest modes, or all with ω ≤ ``omega_max``.

    response: approximate static response A to loads (n, k); stiffness, mass: K and M times (n, k). Raises SolverError when the
    iteration does not converge.
    """
    wanted = Wanted(count, omega_max)
    with Threads() as threads:
        space = _Space(stiffness, mass, TallProducts(size, threads), max(12 * block, CAPACITY * count + 4 * block))
        space.extend(response(mass(np.random.default_rng(0).standard_normal((size, block)))))
        settled, before = 0, np.zeros(0)
        for _ in range(_MAX_STEPS):
            value, y = space.ritz()
            if (value[:settled] < before[:settled] * (1.0 - _SHIFTED)).any():
                settled = 0
            before = value
            target = min(wanted.target(1.0 / value), len(value))
            if settled >= target and len(value) > target:
                return wanted_of(1.0 / value[:target], space.vectors(y[:, :target]), count, omega_max)
            chosen = slice(settled, settled + block)
            shapes = space.vectors(y[:, chosen])
            correction = response(stiffness(shapes) - mass(shapes) * value[chosen])
            residual = np.sqrt(space.squares(correction))
            large = residual > _SETTLED
            settled += int(np.argmax(large)) if large.any() else len(large)
            if large.any():
                space.extend(correction[:, large] / residual[large], keep=target + block)
    raise SolverError(f"modes: {settled} of {target} converged after {_MAX_STEPS} steps; request fewer modes or repair the mesh")


class _Space:
    """M-orthonormal basis V (n, k), and H = Vᵀ K V."""

    def __init__(self, stiffness: Operator, mass: Operator, products: TallProducts, capacity: int) -> None:
        self._stiffness, self._mass, self._products = stiffness, mass, products
        self._basis, self._H = np.empty((products.size, capacity), order="F"), np.zeros((0, 0))

    @property
    def _V(self) -> FloatArray:
        return self._basis[:, : len(self._H)]

    def squares(self, W: FloatArray) -> FloatArray:
        """The diagonal of Wᵀ M W."""
        return self._products.squares(W, self._mass(W))

    def extend(self, W: FloatArray, keep: int = 0) -> None:
        """Add the span of W (n, m); if it does not fit, after a restart with the ``keep`` lowest Ritz vectors."""
        if len(self._H) + W.shape[1] > self._basis.shape[1]:
            value, y = self.ritz()
            self._basis[:, :keep] = self.vectors(y[:, :keep])
            self._H = np.diag(value[:keep])
        for _ in range(2):  # of columns that nearly depend on V the first pass leaves round-off
            self._products.subtract(W, self._V, self._products.inner(self._V, self._mass(W)))
            orthonormalize(W, self._mass, self._products)
        k, m = len(self._H), W.shape[1]
        self._basis[:, k : k + m] = W
        product = self._stiffness(W)
        H = np.zeros((k + m, k + m))
        H[:k, :k] = self._H
        H[:, k:] = self._products.inner(self._basis[:, : k + m], product)
        H[k:, :k] = H[:k, k:].T
        self._H = 0.5 * (H + H.T)

    def ritz(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues λ of H (k,), ascending, and their vectors (k, k)."""
        return scipy.linalg.eigh(self._H)  # type: ignore[no-any-return]

    def vectors(self, y: FloatArray) -> FloatArray:
        """V y, (n, m)."""
        return self._products.combined(self._V, y)
