"""Products of CSR matrices with several vectors at once, on several threads."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit import COMPILED, kernel
from preprocess.solve.threads import by_rows

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


class Rows(NamedTuple):
    """A matrix in CSR storage."""

    indptr: Indices
    indices: Indices
    values: Array


@kernel
def multiply_rows(A: Rows, u: Array, low: int, high: int, out: Array) -> None:
    """Rows low … high - 1 of out = A u for u (n, k)."""
    indptr, indices, values = A.indptr, A.indices, A.values
    k = u.shape[1]
    for i in range(low, high):
        for c in range(k):
            out[i, c] = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            value, j = values[q], indices[q]
            for c in range(k):
                out[i, c] += value * u[j, c]


def sparse_product(A: sp.csr_matrix, u: Array) -> Array:
    """A u for u (n, k)."""
    if not COMPILED:
        return np.asarray(A @ u)
    rows, out = np.require(u, float, ["C", "W"]), np.empty((A.shape[0], u.shape[1]))
    matrix = Rows(A.indptr, A.indices, A.data)
    by_rows(lambda low, high: multiply_rows(matrix, rows, low, high, out), A.shape[0])
    return out
