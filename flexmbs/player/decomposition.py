"""Few shapes for many: proper orthogonal decomposition of a field that is linear in known factors.

The values S F of a field, shapes S (N, L) times factors F (L, T) at T instants, are approximated by
C Y with r ≤ L columns, C = S F V, Y = Vᵀ with the right singular vectors V of S F. The error is at
most Σ_{k>r} max|C_k| max|Y_k|.

Source: Holmes, Lumley, Berkooz, Rowley, Turbulence, Coherent Structures (2012), chapter 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
MOST = 64  # columns, as the script takes them


class Reduced(NamedTuple):
    """columns (N, r) in the unit of the field, factors (r, T) of magnitude at most one, and the
    bound of the error.
    """

    columns: FloatArray
    factors: FloatArray
    error: float


def decomposed(shapes: FloatArray, factors: FloatArray, tolerance: float) -> Reduced:
    """The fewest columns whose error is below ``tolerance`` of the largest value, as bounded by the
    columns; at most `MOST`.
    """
    # a tenth of the time of a QR factorization, to 1e-8 of the largest
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
    return Reduced(columns[:, :r], rows[:r], float(left[r]))
