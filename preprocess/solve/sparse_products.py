"""Products of CSR matrices with several vectors at once, on several threads."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit import COMPILED, kernel, part
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


@kernel
def multiply_rows(A: Rows, u: Array, low: int, high: int, out: Array) -> None:
    """Rows low … high - 1 of out = A u for u (n, k)."""
    k = u.shape[1]
    whole = k - k % TOGETHER
    for i in range(low, high):
        for c in range(0, whole, TOGETHER):
            eight(A, u, i, c, out)
        if whole == k:
            continue
        for c in range(whole, k):
            out[i, c] = 0.0
        for q in range(A.indptr[i], A.indptr[i + 1]):
            value, j = A.values[q], A.indices[q]
            for c in range(whole, k):
                out[i, c] += value * u[j, c]


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
