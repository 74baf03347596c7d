"""Products of tall matrices (n, k), n ≫ k, by blocks of rows on several threads."""

import numpy as np
from numpy.typing import NDArray

from preprocess.solve.threads import Threads

Array = NDArray[np.float64]

BLOCK = 16384  # rows of a task


class TallProducts:
    """Products of matrices with n rows; the sums are independent of the number of threads."""

    def __init__(self, n: int, threads: Threads) -> None:
        self._blocks = [(slice(low, low + BLOCK),) for low in range(0, n, BLOCK)]
        self.size, self._threads = n, threads

    def inner(self, A: Array, B: Array) -> Array:
        """Aᵀ B."""
        return np.asarray(sum(self._threads.parallel_map(lambda rows: A[rows].T @ B[rows], self._blocks)))

    def squares(self, A: Array, B: Array) -> Array:
        """Diagonal of Aᵀ B."""
        return np.asarray(np.einsum("ik,ik->k", A, B))

    def combined(self, A: Array, y: Array) -> Array:
        """A y."""
        out = np.empty((len(A), y.shape[1]))
        self._threads.parallel_map(lambda rows: np.matmul(A[rows], y, out=out[rows]), self._blocks)
        return out

    def subtract(self, W: Array, A: Array, y: Array) -> None:
        """W := W − A y."""

        def update(rows: slice) -> None:
            W[rows] -= A[rows] @ y

        self._threads.parallel_map(update, self._blocks)

    def copy(self, W: Array, out: Array) -> None:
        """out := W."""
        self._threads.parallel_map(lambda rows: np.copyto(out[rows], W[rows]), self._blocks)

    def multiply_in_place(self, W: Array, y: Array) -> None:
        """W := W y for square y."""

        def update(rows: slice) -> None:
            W[rows] = W[rows] @ y

        self._threads.parallel_map(update, self._blocks)
