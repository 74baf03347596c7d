"""Natural modes of assembled matrices by ARPACK, a reference for those of the preprocessor."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from preprocess.solve.factorize import factorize


class NaturalModes(NamedTuple):
    """Frequencies (n,) in Hz, ascending, and mass-normalised shapes (dof, n)."""

    frequencies: np.ndarray
    shapes: np.ndarray


def eigenmodes(K: sp.csr_matrix, M: sp.csr_matrix, n: int, *, shift: float = 0.0) -> NaturalModes:
    """The n modes of K φ = ω² M φ nearest to ω² = shift (rad²/s²).

    By Lanczos iteration with (K - shift M)⁻¹; a free body needs a negative shift.
    """
    size = K.shape[0]
    factor = factorize(K - shift * M if shift else K, definite=shift <= 0)
    inverse = sla.LinearOperator(
        (size, size), matvec=factor.solve, matmat=factor.solve, dtype=float
    )
    values, shapes = sla.eigsh(
        K,
        n,
        M,
        sigma=shift,
        OPinv=inverse,
        v0=np.random.default_rng(0).standard_normal(size),
        ncv=min(size, max(2 * n + 1, 20)),
    )
    order = np.argsort(values)
    return NaturalModes(np.sqrt(np.maximum(values[order], 0.0)) / (2 * np.pi), shapes[:, order])


def eigenvalues_below(K: sp.csr_matrix, M: sp.csr_matrix, value: float) -> int:
    """Number of eigenvalues ω² of K φ = ω² M φ below a value, from the signs of the pivots."""
    return factorize(K - value * M, definite=False).negative_pivots()
