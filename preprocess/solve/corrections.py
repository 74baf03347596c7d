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
from preprocess.solve.lanczos import Modes, Operator, Wanted, wanted_of
from preprocess.solve.tall import TallProducts
from preprocess.solve.threads import Threads

_MAX_STEPS = 200
CAPACITY = 6  # shapes for each mode
_SETTLED = 2e-8  # residual of a Ritz vector, less than that of `lanczos`, where only the last one reaches the tolerance
_SWEEPS = 4  # of orthogonalization, at most
_LITTLE = 1e-4  # of what a sweep removes, after which round-off is left
_SHIFTED = 1e-6  # relative decrease of a Ritz value that a new mode below it causes


def modes_by_corrections(
    response: Operator,
    stiffness: Operator,
    mass: Operator,
    admissible: Operator,
    size: int,
    *,
    count: int = 0,
    omega_max: float = 0.0,
    block: int = 8,
) -> Modes:
    """The ``count`` lowest modes, or all with ω ≤ ``omega_max``.

    response: approximate static response A to loads (n, k); stiffness, mass: K and M times (n, k); admissible: fields (n, k)
    without what round-off brings into them against the supports. Raises SolverError when the iteration does not converge.
    """
    wanted = Wanted(count, omega_max)
    with Threads() as threads:
        space = _Space(stiffness, mass, admissible, TallProducts(size, threads), max(12 * block, CAPACITY * count + 4 * block))
        start = response(mass(np.random.default_rng(0).standard_normal((size, block))))
        space.extend(start, mass(start))
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
            residual = stiffness(shapes)
            residual -= mass(shapes) * value[chosen]
            correction = response(residual)
            product = mass(correction)
            sizes = np.sqrt(space.products.squares(correction, product))
            large = sizes > _SETTLED
            settled += int(np.argmax(large)) if large.any() else len(large)
            if large.any():
                space.extend(correction[:, large] / sizes[large], product[:, large] / sizes[large], keep=target + block)
    raise SolverError(f"modes: {settled} of {target} converged after {_MAX_STEPS} steps; request fewer modes or repair the mesh")


class _Space:
    """M-orthonormal basis V (n, k), and H = Vᵀ K V."""

    def __init__(self, stiffness: Operator, mass: Operator, admissible: Operator, products: TallProducts, capacity: int) -> None:
        self._stiffness, self._mass, self._admissible, self.products = stiffness, mass, admissible, products
        self._basis, self._H = np.empty((products.size, capacity), order="F"), np.zeros((0, 0))

    @property
    def _V(self) -> FloatArray:
        return self._basis[:, : len(self._H)]

    def extend(self, W: FloatArray, MW: FloatArray, keep: int = 0) -> None:
        """Add the span of W (n, m), MW = M W; if it does not fit, after a restart with the ``keep`` lowest Ritz vectors.

        Each sweep removes the part in V and divides by the root of the products that are left, ``WᵀMW − pᵀp`` with p = VᵀMW,
        until a sweep had little to do. What is left of a correction may be a small part of it: there the inadmissible part of V
        would grow from step to step.
        """
        if len(self._H) + W.shape[1] > self._basis.shape[1]:
            value, y = self.ritz()
            self._basis[:, :keep] = self.vectors(y[:, :keep])
            self._H = np.diag(value[:keep])
        for sweep in range(_SWEEPS):
            MW = self._mass(W) if sweep else MW
            part, gram = self.products.inner(self._V, MW), self.products.inner(W, MW)
            self.products.subtract(W, self._V, part)
            self.products.multiply_in_place(W, _inverse_root(gram - part.T @ part))
            if max(np.abs(part).max(initial=0.0), np.abs(gram - np.eye(len(gram))).max()) < _LITTLE:
                break
        k, m = len(self._H), W.shape[1]
        self._basis[:, k : k + m] = W = self._admissible(W)
        product = self._stiffness(W)
        H = np.zeros((k + m, k + m))
        H[:k, :k] = self._H
        H[:, k:] = self.products.inner(self._basis[:, : k + m], product)
        H[k:, :k] = H[:k, k:].T
        self._H = 0.5 * (H + H.T)

    def ritz(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues λ of H (k,), ascending, and their vectors (k, k)."""
        return scipy.linalg.eigh(self._H)  # type: ignore[no-any-return]

    def vectors(self, y: FloatArray) -> FloatArray:
        """V y, (n, m)."""
        return self.products.combined(self._V, y)


def _inverse_root(gram: FloatArray) -> FloatArray:
    """G^(−½) of a symmetric matrix; eigenvalues that are round-off count as such."""
    value, u = np.linalg.eigh(0.5 * (gram + gram.T))
    return np.asarray(u / np.sqrt(np.maximum(value, value[-1] * 1e-15)) @ u.T)
