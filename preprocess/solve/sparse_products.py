"""Products of CSR matrices with several vectors at once, on several threads."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit import COMPILED, kernel, part
from flexmbs._jit.eights import Eights, Entries, add_three_rows
from preprocess.solve.threads import by_rows

Array = NDArray[np.float64]
Indices = NDArray[np.int32]

TOGETHER = 8  # columns whose sums are in registers
ALONE = 2  # columns beyond a multiple of these that take less time than as many


class Rows(NamedTuple):
    """A matrix in CSR storage."""

    indptr: Indices
    indices: Indices
    values: Array


@part
def eight(A: Rows, u: Array, i: int, c: int, out: Array) -> None:
    """Columns c … c + 7 of row i of A u."""
    indices, values = A.indices, A.values
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
    for q in range(A.indptr[i], A.indptr[i + 1]):
        value, j = values[q], indices[q]
        a0 += value * u[j, c]
        a1 += value * u[j, c + 1]
        a2 += value * u[j, c + 2]
        a3 += value * u[j, c + 3]
        a4 += value * u[j, c + 4]
        a5 += value * u[j, c + 5]
        a6 += value * u[j, c + 6]
        a7 += value * u[j, c + 7]
    out[i, c], out[i, c + 1], out[i, c + 2], out[i, c + 3] = a0, a1, a2, a3
    out[i, c + 4], out[i, c + 5], out[i, c + 6], out[i, c + 7] = a4, a5, a6, a7


@part
def three_alike(A: Rows, i: int, high: int) -> bool:
    """Whether rows i, i + 1, i + 2, below ``high``, have the same columns, as those of a node have."""
    if i + 2 >= high:
        return False
    first, second, third, end = A.indptr[i], A.indptr[i + 1], A.indptr[i + 2], A.indptr[i + 3]
    count = second - first
    if third - second != count or end - third != count:
        return False
    for p in range(count):
        if A.indices[second + p] != A.indices[first + p] or A.indices[third + p] != A.indices[first + p]:
            return False
    return True


@kernel
def multiply_rows(A: Rows, u: Array, low: int, high: int, out: Array) -> None:
    """Rows low … high - 1 of out = A u for u (n, k)."""
    n, k = u.shape
    whole = k - k % TOGETHER
    flat, sums, entries = u.reshape(n * k), out.reshape(len(out) * k), Entries(A.values, A.indices)
    i = low
    while i < high:
        alike = whole > 0 and three_alike(A, i, high)
        rows = 3 if alike else 1
        for c in range(0, whole, TOGETHER):
            if alike:
                for r in range(i, i + 3):
                    for q in range(TOGETHER):
                        sums[r * k + c + q] = 0.0
                add_three_rows(
                    entries, A.indptr[i], A.indptr[i + 1] - A.indptr[i], Eights(flat, c, k), Eights(sums, i * k + c, k)
                )
            else:
                eight(A, u, i, c, out)
        for r in range(i, i + rows):
            for c in range(whole, k):
                out[r, c] = 0.0
            if whole < k:
                for q in range(A.indptr[r], A.indptr[r + 1]):
                    value, j = A.values[q], A.indices[q]
                    for c in range(whole, k):
                        out[r, c] += value * u[j, c]
        i += rows


def sparse_product(A: sp.csr_matrix, u: Array) -> Array:
    """A u for u (n, k)."""
    if not COMPILED:
        return np.asarray(A @ u)
    k = u.shape[1]
    missing = -k % TOGETHER if k % TOGETHER > ALONE else 0
    rows = np.require(np.pad(u, ((0, 0), (0, missing))) if missing else u, float, ["C", "W"])
    out, matrix = np.empty((A.shape[0], k + missing)), Rows(A.indptr, A.indices, A.data)
    by_rows(lambda low, high: multiply_rows(matrix, rows, low, high, out), A.shape[0])
    return np.ascontiguousarray(out[:, :k])
