"""Response surfaces: an output as a quadratic polynomial of the parameters.

By least squares, with its leave-one-out error.

y ≈ a + Σ bᵢ xᵢ + Σ cᵢⱼ xᵢ xⱼ, i ≤ j, for parameters (or their logarithms) scaled to −1 … 1. The
residual of case k when it is left out of the fit is r_k / (1 − h_k), where h is the diagonal of X
(XᵀX)⁻¹ Xᵀ; Q² = 1 − Σ (r_k/(1 − h_k))² / Σ (y_k − ȳ)². Source: Myers, Montgomery, Anderson-Cook,
Response Surface Methodology, 4th ed. 2016, sections 2.7 and 6.2.

"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
SPARE_CASES = 2  # cases required in addition to the number of terms
LEVERAGE = 1e-9  # bound on 1 − h: below, the fit passes through the case regardless of its value


class ResponseSurface(NamedTuple):
    """Fitted polynomial: centre and half width (n,) of the parameters, terms, coefficients, Q²."""

    centre: FloatArray
    half: FloatArray
    terms: tuple[tuple[int, ...], ...]
    coefficients: FloatArray
    q2: float

    def __call__(self, x: FloatArray) -> FloatArray:
        """Values at points (m, n) of the parameters."""
        return columns((x - self.centre) / self.half, self.terms) @ self.coefficients

    def influence(self) -> FloatArray:
        """Influence (n,) of each parameter on the output.

        Root of the sum of squared coefficients of all terms containing a parameter.
        """
        n = len(self.centre)
        return np.sqrt(
            [
                sum(c**2 for c, term in zip(self.coefficients, self.terms) if i in term)
                for i in range(n)
            ]
        )


def columns(x: FloatArray, terms: tuple[tuple[int, ...], ...]) -> FloatArray:
    """Matrix (m, terms) of the products of each term at points (m, n)."""
    return np.stack([np.prod(x[:, list(term)], axis=1) for term in terms], axis=1)


def fitted(x: FloatArray, y: FloatArray) -> ResponseSurface | None:
    """Response surface through cases x (m, n) with outputs y (m,).

    It has as many squares and products as the cases determine; None if they do not determine the
    linear terms.
    """
    low, high = x.min(axis=0), x.max(axis=0)
    if len(y) == 0 or (high <= low).any() or np.ptp(y) == 0.0:
        return None
    centre, half, n = 0.5 * (low + high), 0.5 * (high - low), x.shape[1]
    linear = ((), *((i,) for i in range(n)))
    quadratic = (*linear, *itertools.combinations_with_replacement(range(n), 2))
    for terms in (quadratic, linear):
        X = columns((x - centre) / half, terms)
        if len(y) >= len(terms) + SPARE_CASES and np.linalg.matrix_rank(X) == len(terms):
            q, r = np.linalg.qr(X)
            coefficients = np.linalg.solve(r, q.T @ y)
            left_out = (y - X @ coefficients) / np.maximum(1.0 - (q**2).sum(axis=1), LEVERAGE)
            q2 = 1.0 - float((left_out**2).sum() / ((y - y.mean()) ** 2).sum())
            return ResponseSurface(centre, half, terms, coefficients, q2)
    return None
