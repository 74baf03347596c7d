"""Natural modes of assembled matrices by ARPACK, and the number of eigenvalues below a value."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from flexmbs.errors import InputError, SolverError
from preprocess.solve.factorize import factorize
from preprocess.solve.factors import Factor

Array = NDArray[np.float64]


class NaturalModes(NamedTuple):
    """Frequencies (n,) in Hz, ascending, and mass-normalised shapes (dof, n)."""

    frequencies: Array
    shapes: Array


def eigenmodes(
    K: sp.csr_matrix,
    M: sp.csr_matrix,
    n: int,
    *,
    factor: Factor | None = None,
    shift: float = 0.0,
    verify: bool = False,
) -> NaturalModes:
    """The n modes of K φ = ω² M φ nearest to ω² = shift (rad²/s²).

    By Lanczos iteration with (K - shift M)⁻¹.

    A free body needs a negative shift. factor: of K - shift M if available. verify: count the
    eigenvalues below the highest one found by a second factorization (Sturm sequence). Raises
    InputError for a singular matrix or n out of range, SolverError when the iteration fails or a
    mode is missing.
    """
    size = K.shape[0]
    if not 0 < n < size:
        raise InputError(
            f"modes: {n} requested of {size} degrees of freedom; give a number from 1 to {size - 1}"
        )
    chosen = factor or factorize(K - shift * M if shift else K, definite=shift <= 0)
    inverse = sla.LinearOperator(
        (size, size), matvec=chosen.solve, matmat=chosen.solve, dtype=float
    )
    start = np.random.default_rng(0).standard_normal(size)
    try:
        values, shapes = sla.eigsh(
            K, n, M, sigma=shift, OPinv=inverse, v0=start, ncv=min(size, max(2 * n + 1, 20))
        )
    except sla.ArpackNoConvergence as error:
        found = len(error.eigenvalues)
        raise SolverError(
            f"modes: {found} of {n} converged; request fewer, or move the shift closer to "
            "the frequencies"
        ) from error
    ascending = np.argsort(values)
    values, shapes = values[ascending], shapes[:, ascending]
    if verify:
        _verify(K, M, values)
    return NaturalModes(np.sqrt(np.maximum(values, 0.0)) / (2 * np.pi), shapes)


def eigenvalues_below(K: sp.csr_matrix, M: sp.csr_matrix, value: float) -> int:
    """Number of eigenvalues ω² of K φ = ω² M φ below a value.

    From the signs of the pivots of K - value M (Sturm sequence).
    """
    return factorize(K - value * M, definite=False).negative_pivots()


def _verify(K: sp.csr_matrix, M: sp.csr_matrix, values: Array) -> None:
    """Raise SolverError unless the values are complete up to the last but one cluster."""
    gaps = np.flatnonzero(np.diff(values) > 1e-6 * np.abs(values[-1]))
    if not len(gaps):
        return
    cut = gaps[-1]
    expected = eigenvalues_below(K, M, float(0.5 * (values[cut] + values[cut + 1])))
    if expected != cut + 1:
        raise SolverError(
            f"modes: {cut + 1} found, {expected} exist; request more modes, or change the shift"
        )
