"""Factors of symmetric matrices by three solvers with the same interface.

`CholeskyFactor` is the package's own (see `cholesky`) and the fastest; `SuperLUFactor` comes with
SciPy and is used if kernels are not compiled; `PardisoFactor` needs the extra ``mkl``.
"""

import weakref
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, final

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from flexmbs._jit.simd_rows import EIGHT
from flexmbs.errors import MachineError
from preprocess.solve.cholesky import Cholesky, PivotError, analyse
from preprocess.solve.cholesky.factor import Entries, Precision
from preprocess.solve.memory import LARGE, check_free_memory
from preprocess.solve.refinement import ROUGH, refined_in_parts, roughness
from preprocess.solve.sparse_products import sparse_product

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

OUT_OF_MEMORY, SOLVE = -2, 33  # PARDISO's error and phase
# largest error of refined solutions, relative in the energy norm; energies and frequencies have its
# square
REFINED = 1e-8
# ratio of a pivot to the largest diagonal entry of its node below which the matrix may be singular
SOFT = 1e-8
# largest relative residual of a solution by a stored factor; a factor of another matrix has about 1
SOLVED = 1e-6


class FactorProblem(NamedTuple):
    """Factorization problem.

    The rows and columns of K (n, n) of some nodes (N,), three each; the graph (N, N) of these and
    their order of elimination; definite: whether every pivot has to be positive; interpolation
    (n/3, n/3): of all nodes from coarse ones, if any.
    """

    K: sp.csr_matrix
    nodes: Indices
    graph: sp.csr_matrix
    order: Indices
    definite: bool
    interpolation: sp.csr_matrix | None = None

    @property
    def rows(self) -> Indices:
        """Rows of K that belong to the nodes."""
        rows = (3 * self.nodes[:, None] + np.arange(3)).ravel()
        return rows[rows < self.K.shape[0]]

    @property
    def inner(self) -> sp.csr_matrix | None:
        """Interpolation (N, N) of the nodes from coarse ones among them, if any."""
        return (
            None
            if self.interpolation is None
            else self.interpolation[self.nodes][:, self.nodes].tocsr()
        )

    @property
    def part(self) -> sp.csr_matrix:
        """Rows and columns of K that belong to the nodes."""
        rows = self.rows
        return self.K if len(rows) == self.K.shape[0] else self.K[rows][:, rows].tocsr()


class Factor(ABC):
    """Factor of a symmetric matrix, or of its rows and columns of some nodes.

    Solves K x = b, with x = 0 at other nodes.
    """

    @abstractmethod
    def __init__(self, problem: FactorProblem) -> None:
        """Factor the matrix.

        Raises PivotError if a pivot fails, MachineError for insufficient memory.
        """

    @property
    @abstractmethod
    def nnz(self) -> int:
        """Number of stored entries."""

    @abstractmethod
    def solve(self, loads: Array) -> Array:
        """Solution x = K⁻¹ b for loads b (n,) or (n, k), zero at omitted nodes.

        Sixteen loads together cost about as much as three single ones.
        """

    def approximate(self, loads: Array) -> Array:
        """Solutions as in `solve`, in the precision of the factor.

        For iterations that form their own residuals.
        """
        return self.solve(loads)

    @property
    def rough(self) -> bool:
        """True if `approximate` is less accurate than `solve`."""
        return False

    @property
    def form(self) -> str:
        """Form of the factor, for the provenance."""
        return "single" if self.rough else "double"

    @property
    def error(self) -> float:
        """Largest error of a refined solution so far, relative in the energy norm.

        Zero if none is refined.
        """
        return 0.0

    @abstractmethod
    def negative_pivots(self) -> int:
        """Number of negative eigenvalues of K (Sylvester's law of inertia)."""

    @abstractmethod
    def nearly_singular(self) -> bool:
        """True if pivots indicate that K may be singular."""


@final
class CholeskyFactor(Factor):
    """Supernodal factor P K Pᵀ = L S Lᵀ.

    Large positive definite matrices are factored in single precision, which takes half the memory
    and time, and solutions are refined to double precision; if that does not converge, in double
    precision.
    """

    def __init__(self, problem: FactorProblem, panels: Entries | None = None) -> None:
        """Factor the matrix in single or double precision, or take stored panels.

        panels: of this factor, computed before; raises InputError if they do not fit.
        """
        tree = analyse(problem.graph.indptr, problem.graph.indices, problem.order)
        self._tree = tree.of_nodes(problem.nodes, -(-problem.K.shape[0] // 3))
        self._problem, self.order, self._error = problem, problem.order, 0.0
        large = problem.definite and panels is None and tree.panel[-1] > LARGE
        self._factor = (self._in_single_precision() if large else None) or self._factored(
            np.float64, panels
        )

    def _factored(self, precision: Precision, panels: Entries | None = None) -> Cholesky:
        """Cholesky factor in single or double precision."""
        problem, tree = self._problem, self._tree
        check_free_memory(
            Cholesky.bytes_needed(tree, precision),
            f"the factor of {len(problem.rows)} degrees of freedom",
        )
        return Cholesky(
            problem.K, tree, signed=not problem.definite, panels=panels, precision=precision
        )

    def _in_single_precision(self) -> Cholesky | None:
        """Factor in single precision, if its solutions can be refined; None otherwise.

        Tested with random loads, in which the softest motions prevail.
        """
        try:
            factor = self._factored(np.float32)
        except PivotError:
            return None
        return factor if self._roughness(factor) < ROUGH else None

    def _roughness(self, factor: Cholesky) -> float:
        """Relative error of solutions for random loads."""
        return roughness(
            self._product,
            factor.solve,
            np.random.default_rng(0).standard_normal((self._problem.K.shape[0], EIGHT)),
        )

    def _product(self, x: Array) -> Array:
        """Product K x of the stiffness, for residuals."""
        return sparse_product(self._problem.K, x)

    def serves(self) -> bool:
        """True if solutions with the factor are accurate enough."""
        if self.rough:
            return self._roughness(self._factor) < ROUGH
        K, rows = self._problem.K, self._problem.rows
        load = np.zeros(K.shape[0])
        load[rows] = np.random.default_rng(0).standard_normal(len(rows))
        return bool(
            np.linalg.norm((K @ self.solve(load) - load)[rows]) <= SOLVED * np.linalg.norm(load)
        )

    @property
    def rough(self) -> bool:
        return self._factor.panels.dtype == np.float32

    @property
    def error(self) -> float:
        return self._error

    @property
    def nnz(self) -> int:
        return self._factor.nnz

    @property
    def panels(self) -> Entries:
        """Entries of the panels."""
        return self._factor.panels

    def approximate(self, loads: Array) -> Array:
        """Solution by one substitution, without iterative refinement."""
        columns = np.ascontiguousarray(loads.reshape(len(loads), -1), dtype=float)
        return self._factor.solve(columns).reshape(loads.shape)

    def solve(self, loads: Array) -> Array:
        """Solution with iterative refinement; a rough factor is replaced if this fails."""
        if not self.rough:
            return self.approximate(loads)
        found, error = refined_in_parts(
            self._product, self._factor.solve, loads.reshape(len(loads), -1), REFINED
        )
        if not error <= REFINED:
            self._factor = self._factored(np.float64)
            return self.solve(loads)
        self._error = max(self._error, error)
        return found.reshape(loads.shape)

    def negative_pivots(self) -> int:
        """Number of negative pivots."""
        return int((self._factor.signs < 0).sum())

    def nearly_singular(self) -> bool:
        """True if a pivot is small compared with the largest diagonal entry of its node.

        A single pivot may be round-off as a whole.
        """
        diagonal = np.abs(self._problem.K.diagonal())
        of_node = np.pad(diagonal, (0, -len(diagonal) % 3)).reshape(-1, 3).max(axis=1)
        ratio = self._factor.pivots() / np.maximum(np.repeat(of_node, 3)[: len(diagonal)], 1e-300)
        return bool(ratio.min() < SOFT)


@final
class SuperLUFactor(Factor):
    """P K Pᵀ = L U, pivots from the diagonal."""

    def __init__(self, problem: FactorProblem) -> None:
        """Factor a matrix by SuperLU with a given order."""
        n = problem.K.shape[0]
        order = (3 * problem.nodes[problem.order][:, None] + np.arange(3)).ravel()
        self._order = order[order < n]
        permuted = problem.K[self._order][:, self._order]
        permuted.sort_indices()
        columns = sp.csc_matrix(
            (permuted.data, permuted.indices, permuted.indptr), shape=permuted.shape
        )
        try:
            self._lu = sla.splu(
                columns,
                permc_spec="NATURAL",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except MemoryError as error:
            raise MachineError(
                f"the factors of {n} degrees of freedom do not fit in memory; coarsen the mesh"
            ) from error
        except RuntimeError as error:
            raise PivotError(None) from error

    @property
    def nnz(self) -> int:
        return int(self._lu.nnz)

    def solve(self, loads: Array) -> Array:
        """Solution x = K⁻¹ b by the SuperLU factors."""
        x = np.zeros(loads.shape)
        x[self._order] = self._lu.solve(np.asfortranarray(loads[self._order], dtype=float))
        return x

    def negative_pivots(self) -> int:
        """Number of negative pivots."""
        return int((self._lu.U.diagonal() < 0).sum())

    def nearly_singular(self) -> bool:
        """Always True: pivots of SuperLU tell nothing, so that a check follows."""
        return True


@final
class PardisoFactor(Factor):
    """L D Lᵀ by the PARDISO of Intel's MKL, through pypardiso."""

    def __init__(self, problem: FactorProblem) -> None:
        """Factor a matrix by Intel's Pardiso."""
        pypardiso = _pypardiso()
        self._rows = problem.rows
        self._upper = sp.triu(problem.part, format="csr")
        self._upper.sort_indices()
        self._solver: Any = pypardiso.PyPardisoSolver(mtype=2 if problem.definite else -2)
        weakref.finalize(self, self._solver.free_memory, everything=True)
        try:
            self._solver.factorize(self._upper)
        except pypardiso.pardiso_wrapper.PyPardisoError as error:
            if error.value == OUT_OF_MEMORY:
                raise MachineError(
                    f"the factor of {len(self._rows)} degrees of freedom does not fit in memory"
                ) from error
            raise PivotError(None) from error
        # a copy, which `solve` would compare with the matrix each time
        self._solver.remove_stored_factorization()
        self._solver.set_phase(SOLVE)

    @property
    def nnz(self) -> int:
        return int(self._solver.get_iparm(18))

    def solve(self, loads: Array) -> Array:
        """Solution x = K⁻¹ b by the Pardiso factors."""
        x = np.zeros(loads.shape)
        x[self._rows] = self._solver._call_pardiso(
            self._upper, np.asfortranarray(loads[self._rows], dtype=float)
        )
        return x

    def negative_pivots(self) -> int:
        """Number of negative pivots."""
        return int(self._solver.get_iparm(23))

    def nearly_singular(self) -> bool:
        """Always True: pivots of Pardiso tell nothing, so that a check follows."""
        return True


def _pypardiso() -> Any:
    """Import pypardiso. Raises `MachineError` if it is missing."""
    try:
        import pypardiso
    except ImportError as error:
        raise MachineError(
            "backend 'pardiso': pypardiso is not installed; pip install 'flexmbs[mkl]'"
        ) from error
    return pypardiso


BACKENDS: dict[str, type[Factor]] = {
    "cholesky": CholeskyFactor,
    "superlu": SuperLUFactor,
    "pardiso": PardisoFactor,
}
