"""Membrane strains of the optimal triangle with rotations about its normal (OPT).

    ε(ζ) = B u + (L_θᵀ/(A h) + (3/2)√β₀ T_e Q(ζ)) θ̃

B u are the strains of linear displacements, θ̃ the rotations of the corners about the normal less
that of these displacements. L lumps the stress of the sides, so that constant stress is exact;
Q(ζ), with mean zero, is linear in the area coordinates. The free parameters are those for which a
rectangular mesh bends in its plane as a beam: α = 3/2, β = (1, 2, 1, 0, 1, −1, −1, −1, −2), β₀ = (1
− 4ν²)/2.

Source: Felippa, Comput. Methods Appl. Mech. Eng. 192 (2003) 2125, equations (26) to (38) and table
1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# free parameters α and β of the element, from the source, for which a rectangular mesh bends in its
# plane as a beam; dimensionless
ALPHA = 1.5
BETA = np.array([1.0, 2.0, 1.0, 0.0, 1.0, -1.0, -1.0, -1.0, -2.0])
# smallest β₀: (1 − 4ν²)/2 vanishes at ν = 1/2, where the higher-order stiffness would be lost
LEAST = 0.01
PATTERNS = BETA[
    [[0, 1, 2, 3, 4, 5, 6, 7, 8], [8, 6, 7, 2, 0, 1, 5, 3, 4], [4, 5, 3, 7, 8, 6, 1, 2, 0]]
].reshape(3, 3, 3)
SIDES = ((1, 0), (2, 1), (0, 2))  # 21, 32, 13


def drilling_strains(x: Array, nu: Array, zeta: Array) -> Array:
    """Strains 11, 22, 12 (ne, 3, 3) per drilling rotation θ̃ of the corners x (ne, 3, 2).

    zeta (3,): area coordinates of the point. nu (ne,): Poisson's ratio.
    """
    area = _area(x)
    length2 = np.stack([((x[:, a] - x[:, b]) ** 2).sum(axis=1) for a, b in SIDES], axis=1)
    Q = np.einsum("c,cij,ei,e->eij", zeta, PATTERNS, 1 / length2, 2 * area / 3)
    factor = 1.5 * np.sqrt(np.maximum(0.5 * (1 - 4 * nu**2), LEAST))
    return np.asarray(
        _side_strains(x, area) + factor[:, None, None] * _natural_to_cartesian(x, area, length2) @ Q
    )


def _area(x: Array) -> Array:
    """Signed areas of plane triangles."""
    a, b = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    return np.asarray(0.5 * (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]))


def _side_strains(x: Array, area: Array) -> Array:
    """Matrix L_θᵀ/(A h) (ne, 3, 3)."""
    found = np.zeros((len(x), 3, 3))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        (x_kj, y_kj), (x_ki, y_ki), (x_ij, y_ij) = (
            (x[:, a] - x[:, b]).T for a, b in ((k, j), (k, i), (i, j))
        )
        found[:, 0, i] = ALPHA / 6 * -y_kj * (y_ij - y_ki)
        found[:, 1, i] = ALPHA / 6 * x_kj * (x_ki - x_ij)
        found[:, 2, i] = ALPHA / 3 * (x_ij * y_ij - x_ki * y_ki)
    return np.asarray(found / (2 * area)[:, None, None])


def _natural_to_cartesian(x: Array, area: Array, length2: Array) -> Array:
    """Matrix T_e (ne, 3, 3): strains 11, 22, 12 from those along the sides 21, 32, 13."""
    T = np.empty((len(x), 3, 3))
    for side, (i, j) in enumerate(SIDES):
        k = 3 - i - j
        (x_jk, y_jk), (x_ik, y_ik) = (x[:, j] - x[:, k]).T, (x[:, i] - x[:, k]).T
        T[:, 0, side], T[:, 1, side], T[:, 2, side] = (
            y_ik * y_jk,
            x_ik * x_jk,
            -(y_ik * x_jk + x_ik * y_jk),
        )
    return np.asarray(T * length2[:, None] / (4 * area**2)[:, None, None])
