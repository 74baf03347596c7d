"""Solutions in double precision with a factor in single precision.

Conjugate gradients with the factor as preconditioner.

The factor S ≈ K⁻¹ has an error ε = ‖1 − S K‖ in the energy norm, for a compact solid 0.01, 0.04,
0.12 at 0.1, 0.3, 1 million degrees of freedom. It is due to the few softest motions; each step
therefore reduces it by much more than ε, at the cost of a solution by S and a product with K. A
last step starts from the residual of the solution itself, so that the error is that of the matrix
in double precision: |x − K⁻¹b|² ≈ r·S r, r = b − K x, before the step, and ε of it after. Source:
Golub, Van Loan, Matrix Computations, section 11.5; Carson, Higham, SIAM J. Sci. Comput. 40 (2018)
A817.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from flexmbs._jit.simd_rows import whole_eights
from preprocess.solve.tall_products import inner, squares

Array = NDArray[np.float64]
Operator = Callable[[Array], Array]

ROUGH = 0.5  # largest error ε of a factor that is refined
# error before the last step, relative in the energy norm √(xᵀKx); the last step multiplies it by ε
_BEFORE = 1e-9
# number of steps; for ε = ROUGH the condition number is 3, and the bound of conjugate gradients
# reaches `_BEFORE` after 17
_STEPS = 20
_TINY = 1e-300  # guards against division by zero for loads that are zero
TOGETHER = 16  # number of loads refined at once; they share the reading of K and of the factor


def refined(stiffness: Operator, rough: Operator, loads: Array) -> tuple[Array, float]:
    """Solve K x = b by iterative refinement with a rough factor; x and the largest error.

    The errors are relative in the energy norm. b (n, k): loads. stiffness: K x; rough: S b.
    """
    x = rough(loads)
    size = np.maximum(squares(x, loads), _TINY)
    left, direction, before = _residual(loads, stiffness(x)), np.zeros(x.shape), size
    for _ in range(_STEPS):
        correction = rough(left)
        square = np.maximum(squares(correction, left), 0.0)  # of the error, in the energy norm
        direction *= square / before
        direction += correction
        product = stiffness(direction)
        step = square / np.maximum(squares(direction, product), _TINY)
        x += np.multiply(step, direction, out=correction)
        left -= np.multiply(step, product, out=product)
        expected = np.sqrt((square / size) * (square / before)).max(initial=0.0)
        before = np.maximum(square, _TINY)
        if expected <= _BEFORE:
            break
    left = _residual(loads, stiffness(x))
    correction = rough(left)
    x += correction
    return x, ROUGH * _relative(squares(correction, left), size)


def refined_in_parts(
    stiffness: Operator, rough: Operator, loads: Array, most: float
) -> tuple[Array, float]:
    """Solutions as `refined` for loads (n, k), a few at a time, and the largest error.

    Continues as long as the error is at most ``most``.
    """
    found, largest = np.empty(loads.shape), 0.0
    for low in range(0, loads.shape[1], TOGETHER):
        given = loads[:, low : low + TOGETHER]
        k = given.shape[1]
        # what products with eight columns would be completed to each time
        part = np.zeros((len(loads), whole_eights(k)))
        part[:, :k] = given
        responses, error = refined(stiffness, rough, part)
        found[:, low : low + k] = responses[:, :k]
        if not error <= most:
            return found, error
        largest = max(largest, error)
    return found, largest


def roughness(stiffness: Operator, rough: Operator, loads: Array) -> float:
    """Relative error of a rough factor, from its solutions for known loads.

    The largest |1 − μ| of the eigenvalues μ of ``XᵀKX v = μ XᵀB v``, which are Rayleigh quotients
    of S K; infinite if they are not finite.
    """
    x = rough(loads)
    energy, work = inner(x, stiffness(x)), inner(x, loads)
    try:
        quotients = scipy.linalg.eigh(
            0.5 * (energy + energy.T), 0.5 * (work + work.T), eigvals_only=True
        )
    except (ValueError, np.linalg.LinAlgError):  # not finite, not positive definite
        return np.inf
    return float(np.abs(1.0 - quotients).max())


def _residual(loads: Array, product: Array) -> Array:
    """Residual b − K x, in place of the product."""
    return np.subtract(loads, product, out=product)


def _relative(square: Array, size: Array) -> float:
    """Largest relative error of the columns from squared errors and sizes."""
    return float(np.sqrt(np.abs(square) / size).max(initial=0.0))
