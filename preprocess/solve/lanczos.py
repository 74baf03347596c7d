"""Lowest modes of large structures by block Lanczos on one factorization.

``K φ = ω² M φ`` becomes ``A M φ = θ φ`` with θ = 1/ω² and A the static response (loads →
displacements); A may include constraints, then the modes are those of the constrained structure.
Each step solves for a block of loads, which costs little more than one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from flexmbs.errors import SolverError
from flexmbs.flexible_body.components import FloatArray
from preprocess.solve.tall_products import TallProducts
from preprocess.solve.threads import Threads

Operator = Callable[[FloatArray], FloatArray]
Indices = NDArray[np.int64]
# residual of a Ritz vector, of the order of its error; that of its ω² is of the order of its square
TOLERANCE = 4e-9
# largest number of sweeps of orthogonalization against the basis; two are enough in general
# (Parlett 1998, section 6.9), shapes with hardly any mass need more
_SWEEPS = 3
# number of restarts; compact solids with up to 60 modes need none, since the basis has six fields
# for each mode
_MAX_RESTARTS = 30
_CAPACITY = 96  # least number of fields of a basis, so that a few modes need no restart
_DENSE_SIZE = 400  # number of degrees of freedom up to which all eigenpairs are computed: 15 ms
# relative distance of angular frequencies that may belong to one eigenspace, far above their errors
_EQUAL = 1e-6
_MASSLESS = 1e-13  # eigenvalue of a mass matrix with unit diagonal that is zero but for round-off


class Modes(NamedTuple):
    """Angular frequencies omega (k,) [rad/s], ascending, and M-orthonormal shapes (n, k)."""

    omega: FloatArray
    shapes: FloatArray


class WantedModes(NamedTuple):
    """Modes to find: a number, or all below an angular frequency."""

    number: int
    omega_max: float

    def target(self, theta: FloatArray) -> int:
        """Number of leading Ritz values (θ descending) to converge.

        One beyond the limit proves completeness.
        """
        if self.number:
            return self.number
        return int(np.sum(theta * self.omega_max**2 >= 1.0)) + 1


def modes_of(
    response: Operator,
    mass: Operator,
    size: int,
    *,
    count: int = 0,
    omega_max: float = 0.0,
    block: int = 8,
) -> Modes:
    """Lowest modes: the ``count`` lowest, or all with ω ≤ ``omega_max``.

    response: static response A to loads (n, k); mass: M times (n, k). Raises SolverError if the
    iteration does not converge. Source: Grimes, Lewis, Simon, SIAM J. Matrix Anal. Appl. 15 (1994)
    228 (shifted block Lanczos); Wu, Simon, ibid. 22 (2000) 602 (thick restart).
    """
    massive = np.flatnonzero(mass(np.random.default_rng(0).standard_normal((size, 1))))
    if is_small(len(massive), count, block):
        return wanted_of(*_dense(response, mass, massive, size), count, omega_max)
    with Threads() as threads:
        return modes_by_blocks(
            response,
            mass,
            TallProducts(size, threads),
            count=count,
            omega_max=omega_max,
            block=block,
        )


def is_small(size: int, count: int, block: int = 8) -> bool:
    """True if modes are computed from dense matrices (n, n), of n degrees of freedom with mass.

    An iteration would need a large part of their space, or all of it where mass is on few nodes.
    """
    return size <= max(_DENSE_SIZE, 4 * count + 10 * block)


def modes_by_blocks(
    response: Operator,
    mass: Operator,
    products: TallProducts,
    *,
    count: int = 0,
    omega_max: float = 0.0,
    block: int = 8,
) -> Modes:
    """Modes as `modes_of`, by the iteration for any size, with given products of fields.

    Raises SolverError.
    """

    def find(block: int) -> Modes:
        """Modes found by Lanczos iteration with blocks of this size."""
        return wanted_of(
            *_block_lanczos(response, mass, products, WantedModes(count, omega_max), block),
            count,
            omega_max,
        )

    return with_repeated_modes(find, block)


def with_repeated_modes(find: Callable[[int], Modes], block: int) -> Modes:
    """Modes found by an iteration whose blocks are enlarged for repeated eigenvalues.

    For example those of equal fins: an iteration finds at most as many directions of an eigenspace
    as its first block has.
    """
    while True:
        found = find(block)
        new = np.diff(found.omega, prepend=-np.inf) > _EQUAL * found.omega
        if np.bincount(np.cumsum(new), minlength=1).max() < block:
            return found
        block *= 2


def wanted_of(theta: FloatArray, shapes: FloatArray, count: int, omega_max: float) -> Modes:
    """Wanted modes among eigenpairs (θ, φ), θ descending."""
    # smaller θ are those of massless motions, of infinite frequency
    positive = theta > 1e-13 * theta[0]
    keep = positive if not count else positive & (np.arange(len(theta)) < count)
    if not count:
        keep &= theta * omega_max**2 >= 1.0
    return Modes(theta[keep] ** -0.5, shapes[:, keep])


def _dense(
    response: Operator, mass: Operator, massive: Indices, size: int
) -> tuple[FloatArray, FloatArray]:
    """All modes of a small structure from ``Lᵀ A L y = θ y``, M = L Lᵀ, φ = A L y / θ.

    L (n, r) with r the rank of M; massive: the degrees of freedom with mass.
    """
    unit = np.zeros((size, len(massive)))
    unit[massive, np.arange(len(massive))] = 1.0
    root = _root(mass(unit)[massive])
    L = np.zeros((size, root.shape[1]))
    L[massive] = root
    AL = response(L)
    theta, y = np.linalg.eigh(0.5 * (L.T @ AL + AL.T @ L))
    theta, y = theta[::-1], y[:, ::-1]
    return theta, (AL @ y) / np.where(theta > 1e-13 * theta[0], theta, 1.0)


def _root(M: FloatArray) -> FloatArray:
    """Rank-revealing root L (n, r) of a mass matrix, L Lᵀ = M."""
    scale = np.sqrt(np.maximum(np.diag(M), 0.0))
    unit = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(M / np.outer(unit, unit))
    kept = values > _MASSLESS * values[-1]
    return np.asarray(scale[:, None] * vectors[:, kept] * np.sqrt(values[kept]))


def _block_lanczos(
    response: Operator, mass: Operator, products: TallProducts, wanted: WantedModes, block: int
) -> tuple[FloatArray, FloatArray]:
    """Leading eigenpairs (θ, φ) of A M by block Lanczos iteration.

    With full orthogonalization and thick restart.
    """
    # a response to inertia forces obeys the supports and has no massless motions; the fixed seed
    # makes results reproducible
    start = response(mass(np.random.default_rng(0).standard_normal((products.size, block))))
    krylov = _KrylovBasis(start, mass, products, max(_CAPACITY, 6 * wanted.number + 4 * block))
    for _ in range(_MAX_RESTARTS):
        while True:
            krylov.extend(response)
            theta, y, residual = krylov.ritz()
            target = min(wanted.target(theta), len(theta))
            if len(theta) > target and residual[:target].max() < TOLERANCE:
                return theta[:target], krylov.vectors(y[:, :target])
            if krylov.full:
                break
        keep = min(target + block, len(theta) - block)
        krylov.restart(theta[:keep], y[:, :keep])
    done = int(np.sum(residual[:target] < TOLERANCE))
    raise SolverError(
        f"modes: {done} of {target} converged after {_MAX_RESTARTS} restarts; request "
        "fewer modes or repair the mesh"
    )


class _KrylovBasis:
    """M-orthonormal basis V of the block Krylov space.

    It is one block ahead of the projection ``T = Vᵀ M A M V``.
    """

    def __init__(
        self, start: FloatArray, mass: Operator, products: TallProducts, capacity: int
    ) -> None:
        """Mass-orthonormal Krylov basis from a start block."""
        self._mass, self._products, self._block, self._T = (
            mass,
            products,
            start.shape[1],
            np.zeros((0, 0)),
        )
        # by columns, so that a block is appended without moving the others
        self._V = np.empty((len(start), capacity + self._block), order="F")
        # the first field with which the next block has more than round-off in common
        self._coupled = 0
        self._MQ, self._R = orthonormalize(start, mass, products)
        self._V[:, : self._block] = start

    @property
    def full(self) -> bool:
        """True if the basis is full."""
        return len(self._T) + 2 * self._block > self._V.shape[1]

    def extend(self, response: Operator) -> None:
        """Extend T by the block ahead, and the basis by A M Q, orthogonalized.

        The part in the two last blocks is removed first, with which A M Q is coupled in exact
        arithmetic, or after a restart with all. Orthogonalization against all is repeated if it
        removes more than half, since round-off would grow from step to step.
        """
        k = len(self._T) + self._block
        V = self._V[:, :k]
        W = response(self._MQ)
        H, first = np.zeros((k, self._block)), self._coupled
        for _ in range(_SWEEPS):
            MW = self._mass(W)
            before = self._products.squares(W, MW)
            part = self._products.inner(V[:, first:], MW)
            self._products.subtract(W, V[:, first:], part)
            H[first:] += part
            if first == 0 and (np.einsum("ik,ik->k", part, part) < 0.5 * before).all():
                break
            first = 0
        self._coupled = k - self._block
        self._T = _bordered(self._T, H, self._block)
        self._MQ, self._R = orthonormalize(W, self._mass, self._products)
        self._products.copy(W, self._V[:, k : k + self._block])

    def ritz(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Eigenvalues θ of T (k,), descending, their vectors (k, k) and relative residuals.

        ``|A M φ − θ φ| / θ``.
        """
        theta, y = scipy.linalg.eigh(self._T)
        theta, y = theta[::-1], y[:, ::-1]
        return theta, y, np.linalg.norm(self._R @ y[-self._block :], axis=0) / np.abs(theta)

    def vectors(self, y: FloatArray) -> FloatArray:
        """Vectors V y, (n, m)."""
        return self._products.combined(self._V[:, : len(y)], y)

    def restart(self, theta: FloatArray, y: FloatArray) -> None:
        """Keep the Ritz vectors y and the block ahead.

        The capacity becomes at least three times as many.
        """
        # the Ritz vectors overwrite its place
        keep, ahead = len(theta), self._V[:, len(y) : len(y) + self._block].copy()
        kept = self.vectors(y)
        if self._V.shape[1] < 3 * keep:
            self._V = np.empty((len(ahead), 3 * keep + self._block), order="F")
        self._V[:, :keep], self._V[:, keep : keep + self._block] = kept, ahead
        self._T, self._coupled = np.diag(theta), 0


def _bordered(T: FloatArray, H: FloatArray, block: int) -> FloatArray:
    """Projection T extended by the symmetric block column H = Vᵀ M A M V_last.

    (k + block, k + block).
    """
    k = T.shape[0]
    grown = np.zeros((k + block, k + block))
    grown[:k, :k] = T
    grown[:, k:] = H
    grown[k:, :] = H.T
    # H is symmetric but for round-off
    grown[k:, k:] = 0.5 * (H[k:] + H[k:].T)
    return grown


def orthonormalize(
    W: FloatArray, mass: Operator, products: TallProducts
) -> tuple[FloatArray, FloatArray]:
    """Replace W = Q R by M-orthonormal Q; returns M Q and R.

    Cholesky QR, twice; dependent columns become tiny.
    """
    R = np.eye(W.shape[1])
    MW = mass(W)
    # a second pass: the first loses as many digits as the Gram matrix is badly conditioned
    for _ in range(2):
        gram = products.inner(W, MW)
        gram = 0.5 * (gram + gram.T)
        weight, u = np.linalg.eigh(gram)
        # dependent columns have a weight of round-off, which may be negative
        weight = np.maximum(weight, weight[-1] * 1e-15)
        step = u * np.sqrt(weight) @ u.T
        inverse = u / np.sqrt(weight) @ u.T
        MW = products.combined(MW, inverse)
        products.multiply_in_place(W, inverse)
        R = step @ R
    return MW, R
