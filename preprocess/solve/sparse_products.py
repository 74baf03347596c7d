"""Products of CSR matrices with several vectors at once, on several threads."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit import COMPILED, kernel, part
from flexmbs._jit.simd_rows import (
    EIGHT,
    Blocks,
    Eights,
    Entries,
    add_row,
    add_three_rows,
    add_wide_row,
    subtract_blocks,
)
from preprocess.solve.threads import by_rows

Array = NDArray[np.float64]
Indices = NDArray[np.int32]

TOGETHER = EIGHT  # columns whose sums are in registers
# columns that one row of A is multiplied by at once, if it is not one of three of a node
WIDE = 3 * TOGETHER
# columns beyond a multiple of eight up to which they are computed alone: padding takes longer for
# these
ALONE = 2


class CsrRows(NamedTuple):
    """A matrix in CSR storage."""

    indptr: Indices
    indices: Indices
    values: Array


@part
def rows_share_columns(A: CsrRows, i: int, high: int) -> bool:
    """True if rows i, i + 1, i + 2 have the same columns, as the three rows of a node do.

    Rows from ``high`` on do not count.
    """
    if i + 2 >= high:
        return False
    first, second, third, end = A.indptr[i], A.indptr[i + 1], A.indptr[i + 2], A.indptr[i + 3]
    count = second - first
    if third - second != count or end - third != count:
        return False
    for p in range(count):
        if (
            A.indices[second + p] != A.indices[first + p]
            or A.indices[third + p] != A.indices[first + p]
        ):
            return False
    return True


@kernel
def multiply_rows(A: CsrRows, u: Array, low: int, high: int, out: Array) -> None:
    """Compute rows low … high − 1 of out = A u for u (n, k)."""
    n, k = u.shape
    whole = k - k % TOGETHER
    wide = k - k % WIDE
    flat, sums, entries = u.reshape(n * k), out.reshape(len(out) * k), Entries(A.values, A.indices)
    i = low
    while i < high:
        rows = 3 if whole > 0 and rows_share_columns(A, i, high) else 1
        first, count = A.indptr[i], A.indptr[i + 1] - A.indptr[i]
        for r in range(i, i + rows):
            for c in range(k):
                out[r, c] = 0.0
        if rows == 3:
            for c in range(0, whole, TOGETHER):
                add_three_rows(
                    entries, first, count, Eights(flat, c, k), Eights(sums, i * k + c, k)
                )
        else:
            for c in range(0, wide, WIDE):
                add_wide_row(entries, first, count, Eights(flat, c, k), Eights(sums, i * k + c, k))
            for c in range(wide, whole, TOGETHER):
                add_row(entries, first, count, Eights(flat, c, k), Eights(sums, i * k + c, k))
        for r in range(i, i + rows):
            if whole < k:
                for q in range(A.indptr[r], A.indptr[r + 1]):
                    value, j = A.values[q], A.indices[q]
                    for c in range(whole, k):
                        out[r, c] += value * u[j, c]
        i += rows


@kernel
def multiply_blocks(A: CsrRows, u: Array, low: int, high: int, out: Array) -> None:
    """Compute rows low … high − 1, of whole nodes, of out = −A u for u (n, k).

    k a multiple of eight; A in blocks (3, 3).
    """
    n, k = u.shape
    flat, sums, blocks = u.reshape(n * k), out.reshape(len(out) * k), Blocks(A.values, A.indices)
    for node in range(low // 3, high // 3):
        for at in range(3 * node * k, 3 * (node + 1) * k):
            sums[at] = 0.0
        for c in range(0, k, TOGETHER):
            subtract_blocks(
                blocks,
                A.indptr[node],
                A.indptr[node + 1],
                Eights(flat, c, k),
                Eights(sums, 3 * node * k + c, k),
            )


@kernel
def find_blocks(A: CsrRows, low: int, high: int, columns: Indices, fits: Any) -> None:
    """Find the columns of the blocks (3, 3) in rows low … high − 1, of whole nodes.

    fits (1,): set if A has whole blocks, ascending.
    """
    for i in range(low, high, 3):
        first, count = A.indptr[i], A.indptr[i + 1] - A.indptr[i]
        if first % 9 != 0 or count % 3 != 0 or not rows_share_columns(A, i, high):
            fits[0] = False
            return
        for q in range(count // 3):
            j = A.indices[first + 3 * q]
            if (
                j % 3 != 0
                or A.indices[first + 3 * q + 1] != j + 1
                or A.indices[first + 3 * q + 2] != j + 2
            ):
                fits[0] = False
                return
            columns[first // 9 + q] = j // 3


@kernel
def copy_negative_blocks(A: CsrRows, low: int, high: int, values: Array) -> None:
    """Copy the blocks (3, 3) of −A in rows low … high − 1; all are whole."""
    for i in range(low, high, 3):
        first, count = A.indptr[i], A.indptr[i + 1] - A.indptr[i]
        for q in range(0, count, 3):
            for a in range(3):
                for b in range(3):
                    values[first + 3 * q + 3 * a + b] = -A.values[first + a * count + q + b]


def whole_blocks(A: sp.csr_matrix) -> tuple[Indices, Indices] | None:
    """First block of each node (N + 1,) and column of each block (3, 3) of a matrix (3 N, 3 N).

    None if some blocks are not stored as a whole.
    """
    if not COMPILED or A.shape[0] % 3 or A.nnz % 9:
        return None
    columns, fits, matrix = (
        np.empty(A.nnz // 9, A.indices.dtype),
        np.ones(1, bool),
        CsrRows(A.indptr, A.indices, A.data),
    )
    by_rows(lambda low, high: find_blocks(matrix, low, high, columns, fits), A.shape[0])
    return (A.indptr[::3] // 9, columns) if fits[0] else None


def negative_blocks(A: sp.csr_matrix) -> CsrRows:
    """Blocks (3, 3) of −A."""
    found = whole_blocks(A)
    if found is None:
        blocks = A.tobsr((3, 3))
        return CsrRows(blocks.indptr, blocks.indices, -blocks.data.ravel())
    matrix, values = CsrRows(A.indptr, A.indices, A.data), np.empty(A.nnz)
    by_rows(lambda low, high: copy_negative_blocks(matrix, low, high, values), A.shape[0])
    return CsrRows(*found, values)


def sparse_product(A: sp.csr_matrix, u: Array) -> Array:
    """Product A u for u (n, k)."""
    if not COMPILED:
        return np.asarray(A @ u)
    matrix = CsrRows(A.indptr, A.indices, A.data)
    return _by_columns(
        lambda rows, low, high, out: multiply_rows(matrix, rows, low, high, out),
        u,
        A.shape[0],
        ALONE,
    )


class RepeatedProduct:
    """Product A u for many u (n, k).

    A (n, n) is copied in blocks of the three rows and columns of nodes, which takes as long as a
    few products and halves the time of each.
    """

    def __init__(self, A: sp.csr_matrix) -> None:
        self._A = A
        if COMPILED:
            self._blocks = negative_blocks(A)

    def __call__(self, u: Array) -> Array:
        if not COMPILED:
            return np.asarray(self._A @ u)
        matrix = self._blocks
        return _by_columns(
            lambda rows, low, high, out: multiply_blocks(matrix, rows, low, high, out),
            u,
            self._A.shape[0],
            0,
        )


def _by_columns(
    product: Callable[[Array, int, int, Array], None], u: Array, n: int, alone: int
) -> Array:
    """Results (n, k) of a product for u (n, k), padded to multiples of eight columns if faster.

    ``alone``: up to this number of columns beyond a multiple of eight there is no padding.
    """
    k = u.shape[1]
    missing = -k % TOGETHER if k % TOGETHER > alone else 0
    rows = np.require(np.pad(u, ((0, 0), (0, missing))) if missing else u, float, ["C", "W"])
    out = np.empty((n, k + missing))
    by_rows(lambda low, high: product(rows, low, high, out), n)
    return np.ascontiguousarray(out[:, :k])
