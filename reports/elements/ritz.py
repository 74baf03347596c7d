"""Frequencies of a free elastic box by Ritz's method with products of Legendre polynomials.

The reflections in the three middle planes split the problem into eight: the parity of one
displacement component in x, y, z determines that of the others. Source: Demarest, J. Acoust. Soc.
Am. 49 (1971) 768; Leissa and Zhang, ibid. 73 (1983) 2013.
"""

import itertools

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from preprocess.fe.material import Isotropic, elasticity_tensor

Array = NDArray[np.float64]


def free_box_frequencies(
    size: tuple[float, float, float], material: Isotropic, degree: int, n: int
) -> Array:
    """n lowest elastic frequencies in Hz, polynomials up to the degree in each direction."""
    classes = itertools.product((0, 1), repeat=3)
    squares = np.sort(
        np.concatenate([_class_eigenvalues(size, material, degree, parity) for parity in classes])
    )
    return np.sqrt(squares[6 : 6 + n]) / (2 * np.pi)


def _tables(length: float, degree: int) -> list[list[Array]]:
    """∫ of products of orthonormal polynomials and their derivatives: tables[derivative of
    row][derivative of column].
    """
    legendre = np.polynomial.legendre
    x, w = legendre.leggauss(degree + 1)
    norm = np.sqrt((2 * np.arange(degree + 1) + 1) / length)
    value = norm * legendre.legvander(x, degree)
    slope = (
        norm
        * 2
        / length
        * np.column_stack([legendre.legval(x, legendre.legder(row)) for row in np.eye(degree + 1)])
    )
    return [[length / 2 * a.T @ (w[:, None] * b) for b in (value, slope)] for a in (value, slope)]


def _class_eigenvalues(
    size: tuple[float, float, float], material: Isotropic, degree: int, parity: tuple[int, ...]
) -> Array:
    """ω² of the motions whose component x is even (0) or odd (1) in x, y, z."""
    tables = [_tables(length, degree) for length in size]
    degrees = np.arange(degree + 1)
    chosen = [
        [
            degrees[(degrees - p - (i != 0) * (axis in (0, i))) % 2 == 0]
            for axis, p in enumerate(parity)
        ]
        for i in range(3)
    ]
    C = elasticity_tensor(material.elasticity)

    def block(i: int, k: int) -> Array:
        total: Array | float = 0.0
        for j, l in itertools.product(range(3), repeat=2):
            if C[i, j, k, l]:
                X, Y, Z = (
                    tables[axis][int(axis == j)][int(axis == l)][
                        np.ix_(chosen[i][axis], chosen[k][axis])
                    ]
                    for axis in range(3)
                )
                total = total + C[i, j, k, l] * np.kron(np.kron(X, Y), Z)
        return np.asarray(total)

    K = np.block([[block(i, k) for k in range(3)] for i in range(3)]) / material.rho
    return np.abs(scipy.linalg.eigh(K, eigvals_only=True, subset_by_index=(0, 15)))
