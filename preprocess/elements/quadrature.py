"""Quadrature rules on the reference tetrahedron (0 ≤ ξ, η, ζ; ξ+η+ζ ≤ 1) and the reference hexahedron [-1, 1]³."""

import itertools

import numpy as np

from preprocess.elements.element import Array, Quadrature


def gauss_hexahedron(n: int) -> Quadrature:
    """Product Gauss rule of n³ points, exact to degree 2n-1 in each variable."""
    x, w = np.polynomial.legendre.leggauss(n)
    points = np.array(list(itertools.product(x, repeat=3)))
    weights = np.array([a * b * c for a, b, c in itertools.product(w, repeat=3)])
    return Quadrature(points, weights)


def _orbit(*barycentric: float) -> Array:
    """All distinct permutations of four barycentric coordinates, as points (n, 3)."""
    return np.array(sorted(set(itertools.permutations(barycentric))))[:, :3]


def _symmetric_rule(*orbits: tuple[Array, float]) -> Quadrature:
    points = np.concatenate([orbit for orbit, _ in orbits])
    weights = np.concatenate([np.full(len(orbit), weight) for orbit, weight in orbits])
    return Quadrature(points, weights)


def tetrahedron_1() -> Quadrature:
    """One point, degree 1."""
    return _symmetric_rule((_orbit(0.25, 0.25, 0.25, 0.25), 1 / 6))


def tetrahedron_4() -> Quadrature:
    """Four points, degree 2 (Hammer and Stroud 1956)."""
    a = (5 - np.sqrt(5)) / 20
    return _symmetric_rule((_orbit(a, a, a, 1 - 3 * a), 1 / 24))


def tetrahedron_15() -> Quadrature:
    """Fifteen points, degree 5 (Stroud 1971, T3:5-1; closed form)."""
    root = np.sqrt(15)
    a, b = (7 - root) / 34, (7 + root) / 34
    c = (10 - 2 * root) / 40
    return _symmetric_rule(
        (_orbit(0.25, 0.25, 0.25, 0.25), 16 / 135 / 6),
        (_orbit(a, a, a, 1 - 3 * a), (2665 + 14 * root) / 37800 / 6),
        (_orbit(b, b, b, 1 - 3 * b), (2665 - 14 * root) / 37800 / 6),
        (_orbit(c, c, 0.5 - c, 0.5 - c), 20 / 378 / 6),
    )
