"""Linear algebra of the fields of one model: operations on arrays with a row per degree of freedom.

A field is an array (n, k) with a row for each *local* degree of freedom: all of them, or those of
the elements of one of several processes; a row shared by several processes is identical in all of
them. Sums over local elements become fields by `assembled`, sums of small arrays by `total`. The
formulas of a reduction are thus the same in one process and in many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit import COMPILED
from flexmbs.errors import InputError
from preprocess.solve.cholesky import PivotError, TransientFactor, analyse
from preprocess.solve.factorize import factorize
from preprocess.solve.factors import Factor
from preprocess.solve.lanczos import Modes, Operator, modes_of
from preprocess.solve.memory import check_free_memory
from preprocess.solve.ordering import node_graph, node_order
from preprocess.solve.tall_products import inner, squares

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class BlockMatrix(NamedTuple):
    """Rows and columns A (n, n) of some ``blocks`` (b,) of three degrees of freedom.

    The other blocks are held.

    places (n/3, 3) and numbers (n/3,) of all blocks, for the ordering and for messages; whether A
    must be positive definite; interpolation (n/3, n/3) of all blocks from coarse ones, if any.
    """

    A: sp.csr_matrix
    blocks: Indices
    places: Array
    numbers: Indices
    definite: bool = True
    interpolation: sp.csr_matrix | None = None


class MatrixInertia(NamedTuple):
    """Inertia of a symmetric matrix A: number of its negative eigenvalues.

    F = BᵀA⁻¹B (k, k); the relative change of A that explains the residual of the computation, since
    its factorization does not pivot.
    """

    negative: int
    form: Array
    backward_error: float


class Engine(ABC):
    """Products, factors and modes of the fields of a model."""

    owned: slice | NDArray[np.bool_]
    """The rows of a field that count here: each degree of freedom counts once."""

    @abstractmethod
    def total(self, x: Array) -> Array:
        """Sum of an array over all processes."""

    @abstractmethod
    def largest(self, x: Array) -> Array:
        """Maximum of an array over all processes, entry by entry."""

    @abstractmethod
    def assembled(self, f: Array) -> Array:
        """Sum (n, k) of the contributions f (n, k) of all processes.

        The contributions may be overwritten.
        """

    @abstractmethod
    def factorize(self, matrix: BlockMatrix) -> Factor:
        """Factor of the sum of the contributions A of all processes.

        Raises InputError for a singular matrix, MachineError.
        """

    def inertia(self, matrix: BlockMatrix, B: Array) -> MatrixInertia:
        """Inertia (signs of the eigenvalues) of the assembled matrix, and F for fields B (n, k).

        Raises InputError if A is singular to working accuracy, MachineError.
        """
        factor, A = self.factorize(matrix), matrix.A
        rows = (3 * matrix.blocks[:, None] + np.arange(3)).ravel()
        b = np.zeros((A.shape[0], 1))
        b[rows] = np.random.default_rng(0).standard_normal((len(rows), 1))
        x = factor.solve(np.hstack([B, b]))
        residual = np.abs(A @ x[:, -1] - b[:, 0])[rows]
        error = float((residual / (abs(A) @ np.abs(x[:, -1]))[rows]).max())
        return MatrixInertia(factor.negative_pivots(), self.inner(B, x[:, :-1]), error)

    @abstractmethod
    def modes(
        self,
        response: Operator,
        mass: Operator,
        size: int,
        *,
        count: int = 0,
        omega_max: float = 0.0,
    ) -> Modes:
        """Lowest modes: the ``count`` lowest, or all with ω ≤ ``omega_max``, see `modes_of`.

        Raises SolverError.
        """

    process: int
    """Number of this process."""
    single_vectors: bool
    """Whether the iteration for modes works with single vectors, and may miss one of several equal
    frequencies.
    """

    @abstractmethod
    def counted(self, f: Array | sp.spmatrix) -> Array | sp.spmatrix:
        """Field f (n, k) with zeros in the rows that other processes count."""

    @abstractmethod
    def gathered(self, rows: Array) -> Array:
        """Rows (…, k) of all processes, one below the other."""

    def inner(self, a: Array | sp.spmatrix, b: Array) -> Array:
        """Inner products aᵀ b (k, m) of fields a (n, k), b (n, m)."""
        counted = self.counted(b)
        return self.total(np.asarray(a.T @ counted) if sp.issparse(a) else inner(a, counted))

    def squares(self, a: Array, b: Array) -> Array:
        """Column-wise inner products (k,) of a and b: the diagonal of aᵀ b."""
        return self.total(squares(a, self.counted(b)))

    def extent(self, a: Array) -> Array:
        """Largest absolute value of each column, (k,)."""
        return self.largest(np.maximum(a.max(axis=0, initial=0.0), -a.min(axis=0, initial=0.0)))

    def count(self, chosen: NDArray[np.bool_]) -> int:
        """Number of chosen degrees of freedom (n,) over all processes."""
        return int(self.total(np.array(float(np.count_nonzero(chosen[self.owned])))))


@final
class SerialEngine(Engine):
    """Engine for one process, with the package's own factors and Lanczos iteration."""

    owned = slice(None)
    process = 0
    single_vectors = False

    def total(self, x: Array) -> Array:
        """Sum over all processes: x itself in one process."""
        return x

    def largest(self, x: Array) -> Array:
        """Maximum over all processes: x itself in one process."""
        return x

    def assembled(self, f: Array) -> Array:
        """Field with the contributions of all processes: f itself in one process."""
        return f

    def counted(self, f: Array | sp.spmatrix) -> Array | sp.spmatrix:
        """Rows owned by this process: all of f."""
        return f

    def gathered(self, rows: Array) -> Array:
        """Rows of all processes: those of this one."""
        return rows

    def factorize(self, matrix: BlockMatrix) -> Factor:
        """Sparse factorization of a matrix."""
        A, blocks, places, numbers, definite, coarse = matrix
        return factorize(
            A,
            nodes=blocks,
            coordinates=places,
            node_ids=numbers,
            definite=definite,
            interpolation=coarse,
        )

    def inertia(self, matrix: BlockMatrix, B: Array) -> MatrixInertia:
        """Numbers of negative eigenvalues of a bordered matrix, by a transient factor."""
        if not COMPILED:
            return super().inertia(matrix, B)
        A, blocks, places = matrix.A, matrix.blocks, matrix.places
        graph = node_graph(A, blocks)
        tree = analyse(graph.indptr, graph.indices, node_order(graph, places[blocks])).of_nodes(
            blocks, -(-A.shape[0] // 3)
        )
        needed = TransientFactor.bytes_needed(tree, B.shape[1])
        check_free_memory(needed, f"a count of modes of {3 * len(blocks)} degrees of freedom")
        try:
            found = TransientFactor(A, tree, B)
        except PivotError:
            raise InputError(
                "modes: a shift is an eigenvalue to working accuracy; change the limit slightly"
            ) from None
        return MatrixInertia(
            found.negative, np.asarray(found.form, dtype=float), found.backward_error
        )

    def modes(
        self,
        response: Operator,
        mass: Operator,
        size: int,
        *,
        count: int = 0,
        omega_max: float = 0.0,
    ) -> Modes:
        """Lowest modes from response and mass products."""
        return modes_of(response, mass, size, count=count, omega_max=omega_max)


SERIAL = SerialEngine()
