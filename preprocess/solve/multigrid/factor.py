"""`Multigrid`: two-grid method in place of a factor."""

from __future__ import annotations

from typing import final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit.simd_rows import EIGHT
from flexmbs.errors import InputError
from preprocess.solve import memory
from preprocess.solve.cholesky import Cholesky, PivotError, analyse
from preprocess.solve.factors import REFINED, CholeskyFactor, Factor, FactorProblem
from preprocess.solve.memory import COARSE, check_free_memory
from preprocess.solve.multigrid.iteration import TwoGridIteration
from preprocess.solve.multigrid.level_kernels import GridLevel, copy_blocks
from preprocess.solve.ordering import node_graph, node_order
from preprocess.solve.refinement import ROUGH, refined_in_parts
from preprocess.solve.sparse_products import CsrRows, sparse_product
from preprocess.solve.threads import by_rows

Array = NDArray[np.float64]

# expected errors of an approximate response, and of that which shows whether the grids serve
ROUGHLY, TRIED = 0.1, 1e-5
# smallest eigenvalue of A K with which two grids are used; below, locking of linear elements makes
# them slower than a factor
LEAST = 0.25
# errors over those of `refined`: in the norm of A, reduced once by 1 − A K
BEYOND = (1.0 - LEAST) / (ROUGH * np.sqrt(LEAST))
# ratio of a pivot to its diagonal entry below which the matrix may be singular; round-off of single
# precision is 1e-7
SOFT = 1e-6


@final
class Multigrid(Factor):
    """Response of second-order elements by two grids.

    From the first load on that it cannot refine, a direct factor is used.
    """

    def __init__(self, problem: FactorProblem) -> None:
        """Set up a fine and a coarse grid and the two-grid iteration.

        Raises PivotError if the coarse matrix has no factor or a node no stiffness.
        """
        assert problem.interpolation is not None
        self._problem, self._error = problem, 0.0
        self._direct: CholeskyFactor | None = None
        coarse = problem.nodes[problem.interpolation.diagonal()[problem.nodes] == 1.0]
        P = problem.interpolation[problem.nodes][:, coarse].tocsr()
        factor, self._diagonal = _coarse_factor(problem, P)
        self._level = _level(problem)
        self._iteration = TwoGridIteration(self._level, factor, P)

    @classmethod
    def serving(cls, problem: FactorProblem) -> Multigrid | None:
        """Two-grid response, if it converges for uniform and random loads.

        Uniform loads find soft motions.
        """
        if (
            problem.interpolation is None
            or len(problem.nodes) < memory.MANY
            or not problem.definite
        ):
            return None
        if np.count_nonzero(problem.interpolation.diagonal()[problem.nodes]) > COARSE * len(
            problem.nodes
        ):
            return None
        try:
            found = cls(problem)
        except PivotError:
            return None
        loads = np.random.default_rng(0).standard_normal((problem.K.shape[0], EIGHT))
        # uniform loads excite the softest motions, random ones those where elements lock
        loads[:, :3] = np.tile(np.eye(3), (len(loads) // 3, 1))
        least = found._iteration.solve(loads, problem.nodes, TRIED, np.zeros(loads.shape))
        return found if least > LEAST else None

    @property
    def rough(self) -> bool:
        return self._direct is None or self._direct.rough

    @property
    def form(self) -> str:
        return "two grids" if self._direct is None else self._direct.form

    @property
    def error(self) -> float:
        return self._error if self._direct is None else max(self._error, self._direct.error)

    @property
    def nnz(self) -> int:
        return (
            self._iteration.coarse.nnz + len(self._level.entries)
            if self._direct is None
            else self._direct.nnz
        )

    def approximate(self, loads: Array) -> Array:
        """Solution to low accuracy."""
        if self._direct is not None:
            return self._direct.approximate(loads)
        return self._responses(np.asarray(loads.reshape(len(loads), -1), float), ROUGHLY).reshape(
            loads.shape
        )

    def solve(self, loads: Array) -> Array:
        """Solution to full accuracy; a direct factor is used if the iteration fails."""
        if self._direct is not None:
            return self._direct.solve(loads)
        found, error = refined_in_parts(
            self._product, self._cycle, loads.reshape(len(loads), -1), REFINED / BEYOND
        )
        if not BEYOND * error <= REFINED:
            self._direct = self._factored()
            return self._direct.solve(loads)
        self._error = max(self._error, BEYOND * error)
        return found.reshape(loads.shape)

    def _factored(self) -> CholeskyFactor:
        """Direct factorization that replaces the two-grid iteration."""
        self._error = 0.0
        try:
            order = node_order(self._problem.graph, interpolation=self._problem.inner)
            return CholeskyFactor(self._problem._replace(order=order))
        except PivotError as error:
            raise InputError(
                "stiffness: is not positive definite; correct springs and equations of the part"
            ) from error

    def negative_pivots(self) -> int:
        """Number of negative pivots of the direct factor; 0 without one."""
        return 0 if self._direct is None else self._direct.negative_pivots()

    def nearly_singular(self) -> bool:
        """True if a coarse pivot is small compared with its diagonal entry."""
        ratio = self._iteration.coarse.pivots() / np.maximum(self._diagonal, 1e-300)
        return bool(ratio.min() < SOFT)

    def _product(self, x: Array) -> Array:
        """Product K x of the stiffness, for residuals."""
        return sparse_product(self._problem.K, x)

    def _cycle(self, loads: Array) -> Array:
        """One approximate solution, linear in the loads."""
        return self._responses(loads, np.inf)

    def _responses(self, loads: Array, error: float) -> Array:
        """Solutions for loads (n, k), eight at once, to an expected error."""
        found = np.zeros(loads.shape)
        for low in range(0, loads.shape[1], EIGHT):
            self._iteration.solve(
                loads[:, low : low + EIGHT], self._problem.nodes, error, found[:, low : low + EIGHT]
            )
        return found


def _level(problem: FactorProblem) -> GridLevel:
    """Fine-grid matrix in single precision: rows and columns of K of some nodes.

    Raises PivotError if a diagonal block is singular.
    """
    K, nodes, graph = problem.K, problem.nodes, problem.graph
    graph.sort_indices()
    number = np.full(K.shape[0] // 3, -1)
    number[nodes] = np.arange(len(nodes))
    level = GridLevel(
        graph.indptr, graph.indices, np.zeros(9 * graph.nnz, np.float32), np.zeros(0, np.float32)
    )
    rows = CsrRows(K.indptr, K.indices, K.data)
    by_rows(lambda low, high: copy_blocks(rows, nodes, number, low, high, level), len(nodes))
    owner = np.repeat(np.arange(len(nodes)), np.diff(graph.indptr))
    blocks = level.entries.reshape(-1, 3, 3)[graph.indices == owner].astype(float)
    try:
        inverse = np.linalg.inv(blocks)
    except np.linalg.LinAlgError:
        raise PivotError(None) from None
    if len(blocks) < len(nodes) or not np.isfinite(inverse).all():
        raise PivotError(None)
    return level._replace(inverse=inverse.astype(np.float32).ravel())


def _coarse_factor(problem: FactorProblem, P: sp.csr_matrix) -> tuple[Cholesky, Array]:
    """Factor of PᵀKP in single precision, and the diagonal. Raises PivotError, MachineError."""
    entries = P.tocoo()
    rows, columns = (
        np.add.outer(3 * each, np.arange(3)).ravel()
        for each in (problem.nodes[entries.row], entries.col)
    )
    # the coarse functions interpolate each component alike
    lift = sp.csr_matrix(
        (np.repeat(entries.data, 3), (rows, columns)), shape=(problem.K.shape[0], 3 * P.shape[1])
    )
    K = (lift.T @ (problem.K @ lift)).tocsr()
    nodes = np.arange(P.shape[1])
    graph = node_graph(K, nodes)
    tree = analyse(graph.indptr, graph.indices, node_order(graph))
    check_free_memory(
        Cholesky.bytes_needed(tree, np.float32),
        f"the factor of {K.shape[0]} coarse degrees of freedom",
    )
    return Cholesky(K, tree, precision=np.float32), K.diagonal()
