"""Products of tall matrices (n, k), n many times k, by stretches of their rows on several threads."""

from typing import final

import numpy as np
from numpy.typing import NDArray

from preprocess.threads import Threads

Array = NDArray[np.float64]

STRETCH = 16384  # rows of a task


@final
class TallProducts:
    """Products of matrices with n rows. The sums do not depend on the number of threads."""

    def __init__(self, n: int, threads: Threads) -> None:
        self._stretches = [(slice(low, low + STRETCH),) for low in range(0, n, STRETCH)]
        self.size, self._threads = n, threads

    def inner(self, A: Array, B: Array) -> Array:
        """Aᵀ B."""
        return np.asarray(sum(self._threads.together(lambda rows: A[rows].T @ B[rows], self._stretches)))

    def combined(self, A: Array, y: Array) -> Array:
        """A y."""
        out = np.empty((len(A), y.shape[1]))
        self._threads.together(lambda rows: np.matmul(A[rows], y, out=out[rows]), self._stretches)
        return out

    def subtract(self, W: Array, A: Array, y: Array) -> None:
        """W := W − A y."""

        def stretch(rows: slice) -> None:
            W[rows] -= A[rows] @ y

        self._threads.together(stretch, self._stretches)

    def turn(self, W: Array, y: Array) -> None:
        """W := W y for square y."""

        def stretch(rows: slice) -> None:
            W[rows] = W[rows] @ y

        self._threads.together(stretch, self._stretches)
