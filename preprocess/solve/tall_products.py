"""Products of tall matrices (n, k), n ≫ k, by blocks of rows on several threads."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import COMPILED, kernel
from flexmbs._jit.simd_rows import (
    EIGHT,
    Eights,
    Lines,
    subtract_one,
    subtract_six,
    subtract_turned_one,
    subtract_turned_six,
)
from preprocess.solve.threads import Threads, parallel_map

Array = NDArray[np.float64]
Map = Callable[[Callable[[slice], Any], Sequence[tuple[slice]]], list[Any]]

BLOCK = 16384  # number of rows of a task; sums over blocks are independent of the number of threads
STRIP = 1024  # number of rows of fields that stay in the cache of a processor
SIX = 6  # number of columns at once, whose sums are in registers


@kernel
def subtract(V: Array, y: Array, W: Array, low: int, high: int, turned: bool) -> None:
    """Compute W := W − V y, or if ``turned`` y := y − VᵀW, for rows low … high − 1.

    V column by column (k n,), y (k, 8 m) and W (n, 8 m).
    """
    n, (k, width) = len(W), y.shape
    fields, rows = y.reshape(k * width), W.reshape(n * width)
    for first in range(low, high, STRIP):
        count = min(STRIP, high - first)
        for c in range(0, width, EIGHT):
            strip = Eights(rows, first * width + c, width)
            j = 0
            while j < k:
                columns, own = Lines(V, j * n + first, n), Eights(fields, j * width + c, width)
                if j + SIX <= k:
                    if turned:
                        subtract_turned_six(columns, count, strip, own)
                    else:
                        subtract_six(columns, count, own, strip)
                    j += SIX
                else:
                    if turned:
                        subtract_turned_one(columns, count, strip, own)
                    else:
                        subtract_one(columns, count, own, strip)
                    j += 1


def _in_columns(A: Array, B: Array) -> bool:
    """True if A (n, k) is stored by columns and B has a multiple of eight columns.

    The kernels require this layout: they read A once, whereas dense linear algebra copies it.
    """
    return (
        COMPILED and A.flags.f_contiguous and A.dtype == B.dtype == float and not B.shape[1] % EIGHT
    )


def blocks_of(n: int) -> list[tuple[slice]]:
    """Row ranges (from, to) of n rows, one for each task."""
    return [(slice(low, min(low + BLOCK, n)),) for low in range(0, n, BLOCK)]


def inner(A: Array, B: Array, mapped: Map = parallel_map) -> Array:
    """Product Aᵀ B, independent of the number of threads.

    ``np.dot`` releases the interpreter lock; ``@`` does not for small products.
    """
    blocks = blocks_of(len(A))
    if not _in_columns(A, B):
        return np.asarray(sum(mapped(lambda rows: np.dot(A[rows].T, B[rows]), blocks)))
    columns, given = A.T.reshape(-1), np.ascontiguousarray(B)
    parts = np.zeros((len(blocks), A.shape[1], B.shape[1]))
    mapped(
        lambda rows: subtract(
            columns, parts[rows.start // BLOCK], given, rows.start, rows.stop, True
        ),
        blocks,
    )
    return -parts.sum(axis=0)


def squares(A: Array, B: Array, mapped: Map = parallel_map) -> Array:
    """Diagonal of Aᵀ B, independent of the number of threads."""
    return np.asarray(
        sum(mapped(lambda rows: np.einsum("ik,ik->k", A[rows], B[rows]), blocks_of(len(A))))
    )


class TallProducts:
    """Products of matrices with n rows; the sums are independent of the number of threads."""

    def __init__(self, n: int, threads: Threads) -> None:
        self._blocks, self.size, self._threads = blocks_of(n), n, threads

    def inner(self, A: Array, B: Array) -> Array:
        """Product Aᵀ B."""
        return inner(A, B, self._threads.parallel_map)

    def squares(self, A: Array, B: Array) -> Array:
        """Diagonal of Aᵀ B."""
        return squares(A, B, self._threads.parallel_map)

    def combined(self, A: Array, y: Array) -> Array:
        """Product A y."""
        if _in_columns(A, y):
            out = np.zeros((len(A), y.shape[1]))
            self.subtract(out, A, -y)
            return out
        out = np.empty((len(A), y.shape[1]))
        self._threads.parallel_map(lambda rows: np.matmul(A[rows], y, out=out[rows]), self._blocks)
        return out

    def subtract(self, W: Array, A: Array, y: Array) -> None:
        """Compute W := W − A y."""
        by_strips, factors = _in_columns(A, W) and W.flags.c_contiguous, np.ascontiguousarray(y)

        def update(rows: slice) -> None:
            """W ← W − A y for a strip of rows."""
            if by_strips:
                subtract(A.T.reshape(-1), factors, W, rows.start, rows.stop, False)
            else:
                W[rows] -= A[rows] @ y

        self._threads.parallel_map(update, self._blocks)

    def multiply_in_place(self, W: Array, y: Array) -> None:
        """Compute W := W y for square y."""

        def update(rows: slice) -> None:
            """W ← W y for a strip of rows."""
            W[rows] = W[rows] @ y

        self._threads.parallel_map(update, self._blocks)

    def subtract_scaled(self, W: Array, A: Array, factors: Array) -> None:
        """Compute W := W − A diag(factors)."""

        def update(rows: slice) -> None:
            """W ← W − A diag(factors) for a strip of rows."""
            W[rows] -= A[rows] * factors

        self._threads.parallel_map(update, self._blocks)

    def scaled(self, W: Array, factors: Array) -> Array:
        """Product W diag(factors)."""
        out = np.empty((len(W), len(factors)))
        self._threads.parallel_map(
            lambda rows: np.multiply(W[rows], factors, out=out[rows]), self._blocks
        )
        return out

    def copy(self, W: Array, out: Array) -> None:
        """Compute out := W."""
        self._threads.parallel_map(lambda rows: np.copyto(out[rows], W[rows]), self._blocks)
