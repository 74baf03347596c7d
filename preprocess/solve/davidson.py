"""Lowest modes of large structures with an approximate factor, by the block Davidson method.

A space of shapes is extended by corrections of its Ritz vectors,

    r = K φ − λ M φ,    correction = A r,    A ≈ the static response

With an exact response the space is that of the Lanczos iteration, since A r = φ − λ A M φ. Errors
of the response slow the convergence but do not limit the accuracy: residuals and projections are
those of the matrices. Source: Davidson, J. Comput. Phys. 17 (1975) 87; Morgan, Scott, SIAM J. Sci.
Stat. Comput. 7 (1986) 817.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from flexmbs.errors import SolverError
from flexmbs.flexible_body.components import FloatArray
from preprocess.solve.lanczos import Modes, Operator, WantedModes, wanted_of, with_repeated_modes
from preprocess.solve.tall_products import TallProducts
from preprocess.solve.threads import Threads

Flags = NDArray[np.bool_]

# number of steps for each two hundred modes; with a factor in single precision compact solids take
# 6 steps for 6 modes, 13 for 20 and 40 for 60
_MAX_STEPS = 200
CAPACITY = 6  # number of shapes of the space for each wanted mode; a restart keeps a sixth
# residual of a Ritz vector whose correction, which the space gets, leaves less than a tenth: see
# `lanczos`
_SETTLED = 2e-7
# the same for strain energies, which errors of high frequency have more of: the error of ω² is the
# square
_SETTLED_STRAIN = 1e-5
# of that residual: a correction that adds little but its round-off, which has all frequencies
_LITTLE = 0.1
# largest error of a product of shapes; more indicates a space that is larger than that of the
# motions
_ORTHONORMAL = 1e-8
# largest number of sweeps of orthogonalization; two are enough in general (Parlett 1998, section
# 6.9), shapes with hardly any mass need more
_SWEEPS = 4
# of the square of a shape that a sweep leaves; of less, round-off would be a part that counts
_LEFT = 1e-5
_DRIFT = 1e-12  # error of products of Ritz vectors from which on one sweep does not do
# relative decrease of a Ritz value by a new mode below it, far above that of a converged value
_SHIFTED = 1e-6
# relative distance of Ritz values whose vectors do not mix by the errors of the response
_APART = 1e-4


class Projection(NamedTuple):
    """Projection u − A Bᵀ u that removes the motions A (n, c) of a support.

    ``coordinates`` B (n, c), with Bᵀ A = 1, give their amplitudes.
    """

    motions: FloatArray
    coordinates: FloatArray


def davidson_modes(
    response: Operator,
    stiffness: Operator,
    mass: Operator,
    supports: Projection,
    size: int,
    *,
    count: int = 0,
    omega_max: float = 0.0,
    block: int = 8,
) -> Modes:
    """Lowest modes: the ``count`` lowest, or all with ω ≤ ``omega_max``.

    response: approximate static response A to loads (n, k); stiffness, mass: K and M times (n, k);
    supports: projection that removes the motions which round-off introduces against the supports.
    Raises SolverError if the iteration does not converge.
    """

    def find(block: int) -> Modes:
        """Modes found with blocks of this size."""
        return _by_blocks(
            response, stiffness, mass, supports, size, WantedModes(count, omega_max), block
        )

    return with_repeated_modes(find, block)


def _by_blocks(
    response: Operator,
    stiffness: Operator,
    mass: Operator,
    supports: Projection,
    size: int,
    wanted: WantedModes,
    block: int,
) -> Modes:
    """Davidson iteration with blocks of ``block`` shapes: the lowest modes.

    Or as many as a cluster has.
    """
    count, omega_max = wanted
    with Threads() as threads:
        space = _SearchSpace(
            stiffness,
            mass,
            supports,
            TallProducts(size, threads),
            max(12 * block, CAPACITY * count + 4 * block),
        )
        start = space.admissible(
            response(mass(np.random.default_rng(0).standard_normal((size, block))))
        )
        space.extend(start, mass(start))
        settled, before = np.zeros(0, dtype=bool), np.zeros(0)
        for step in itertools.count():
            value, y = space.ritz()
            settled, before = _converged(settled, before, value), value
            target = min(wanted.target(1.0 / value), len(value))
            if settled[:target].all() and len(value) > target:
                shapes = space.vectors(y[:, :target])
                if (
                    np.abs(space.products.inner(shapes, mass(shapes)) - np.eye(target)).max()
                    > _ORTHONORMAL
                ):
                    raise SolverError(
                        f"modes: the {target} lowest shapes are not orthonormal; request "
                        "fewer modes"
                    )
                return wanted_of(1.0 / value[:target], shapes, count, omega_max)
            if step >= _MAX_STEPS * (1 + target // 200):
                break
            if settled.all():
                raise _too_few(len(value))
            cluster, chosen = _clusters(value), np.flatnonzero(~settled)
            # the lowest first, since their errors disturb the higher ones; clusters as a whole,
            # since their vectors mix
            chosen = chosen[: max(block, np.sum(cluster[chosen] == cluster[chosen[0]]))]
            shapes = space.vectors(y[:, chosen])
            residual, momenta = stiffness(shapes), mass(shapes)
            space.watch(shapes, momenta)
            space.products.subtract_scaled(residual, momenta, value[chosen])
            correction = space.admissible(response(residual))
            product = mass(correction)
            sizes = np.sqrt(space.products.squares(correction, product))
            strains = np.sqrt(
                np.abs(space.products.squares(correction, residual)) / np.abs(value[chosen])
            )
            # scaled to unit norm, such a correction would add round-off only
            useful = sizes > _LITTLE * _SETTLED
            settled[chosen] = (sizes <= _SETTLED) & (strains <= _SETTLED_STRAIN) | ~useful
            settled &= ~np.isin(cluster, cluster[~settled])
            if useful.any():
                kept = slice(None) if useful.all() else useful
                W, MW = (
                    space.products.scaled(each[:, kept], 1.0 / sizes[kept])
                    for each in (correction, product)
                )
                space.extend(W, MW, keep=target + block)
    found = np.sum(settled[:target])
    raise SolverError(
        f"modes: {found} of {target} converged after {step} steps; request fewer modes or "
        "repair the mesh"
    )


def _too_few(found: int) -> SolverError:
    """Error that the model has fewer modes than requested."""
    return SolverError(f"modes: only {found} motions with mass were found; request fewer modes")


def _converged(settled: Flags, before: FloatArray, value: FloatArray) -> Flags:
    """Mask of the Ritz values (k,) that have converged.

    None if a new value appeared below a converged one.
    """
    known = np.zeros(len(value), dtype=bool)
    common = min(len(before), len(value))
    # Ritz values only decrease: one that has converged decreases when a new mode appears below it,
    # which shifts the numbers of all values above
    if not (settled[:common] & (value[:common] < before[:common] * (1.0 - _SHIFTED))).any():
        known[:common] = settled[:common]
    return known


def _clusters(value: FloatArray) -> NDArray[np.intp]:
    """Group numbers (k,) of ascending values whose vectors may mix.

    The values of a group converge together.
    """
    return np.cumsum(np.diff(value, prepend=value[0]) > _APART * np.abs(value))


class _SearchSpace:
    """M-orthonormal basis V (n, k), and H = Vᵀ K V."""

    def __init__(
        self,
        stiffness: Operator,
        mass: Operator,
        supports: Projection,
        products: TallProducts,
        capacity: int,
    ) -> None:
        self._stiffness, self._mass, self._supports, self.products = (
            stiffness,
            mass,
            supports,
            products,
        )
        self._basis, self._H = np.empty((products.size, capacity), order="F"), np.zeros((0, 0))
        self._twice = True  # whether to sweep twice: the first block is nearly dependent

    @property
    def _V(self) -> FloatArray:
        return self._basis[:, : len(self._H)]

    def extend(self, W: FloatArray, MW: FloatArray, keep: int = 0) -> None:
        """Add the span of W (n, m), MW = M W.

        If it does not fit, the space is first restarted with the ``keep`` lowest Ritz vectors.

        Each sweep removes the part in V and divides by the root of the products that are left,
        ``WᵀMW − pᵀp`` with p = VᵀMW, until the remainder is large enough for their round-off to be
        negligible. The remainder of a correction may be small compared with it: its inadmissible
        part would then grow from step to step.
        """
        if len(self._H) + W.shape[1] > self._basis.shape[1]:
            value, y = self.ritz()
            kept = self.vectors(y[:, :keep])
            if self._basis.shape[1] < kept.shape[1] + 2 * W.shape[1]:
                self._basis = np.empty((len(kept), 3 * kept.shape[1] + 2 * W.shape[1]), order="F")
            self._basis[:, : kept.shape[1]], self._H = kept, np.diag(value[:keep])
        k, m = len(self._H), W.shape[1]
        for sweep in range(_SWEEPS):
            MW = self._mass(W) if sweep else MW
            part, gram = self.products.inner(self._V, MW), self.products.inner(W, MW)
            left, directions = np.linalg.eigh(gram - part.T @ part)
            # all directions of W are in V: the space has no further motion with mass
            if not left[-1] > 0.0:
                raise _too_few(k)
            self.products.subtract(W, self._V, part)
            self.products.multiply_in_place(
                W, directions / np.sqrt(np.maximum(left, left[-1] * 1e-15)) @ directions.T
            )
            if left[0] > _LEFT * max(left[-1], np.diag(gram).max()) and (sweep or not self._twice):
                break
        # after the sweeps, which amplify inadmissible parts
        self.products.copy(self.admissible(W), self._basis[:, k : k + m])
        product = self._stiffness(W)
        H = np.zeros((k + m, k + m))
        H[:k, :k] = self._H
        H[:, k:] = self.products.inner(self._basis[:, : k + m], product)
        H[k:, :k] = H[:k, k:].T
        self._H = 0.5 * (H + H.T)

    def admissible(self, W: FloatArray) -> FloatArray:
        """Shapes W (n, m) without the motions that the supports exclude."""
        self.products.subtract(
            W, self._supports.motions, self.products.inner(self._supports.coordinates, W)
        )
        return W

    def watch(self, shapes: FloatArray, momenta: FloatArray) -> None:
        """Use two orthogonalization sweeps if the Ritz vectors are no longer orthonormal.

        momenta (n, m): M times the vectors.

        The error that one sweep leaves grows from step to step. Raises SolverError if some vectors
        have no mass.
        """
        gram = self.products.inner(shapes, momenta)
        self._twice = bool(np.abs(gram - np.eye(len(gram))).max() > _DRIFT)
        lost = int(np.sum(np.linalg.eigvalsh(gram) < 0.5))
        if lost:
            raise _too_few(len(self._H) - lost)

    def ritz(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues λ of H (k,), ascending, and their vectors (k, k)."""
        return scipy.linalg.eigh(self._H)  # type: ignore[no-any-return]

    def vectors(self, y: FloatArray) -> FloatArray:
        """Vectors V y (n, m) of the search space."""
        return self.products.combined(self._V, y)
