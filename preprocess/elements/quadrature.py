"""Quadrature rules on the reference elements.

tetrahedron   0 ≤ ξ, η, ζ; ξ + η + ζ ≤ 1
hexahedron    [-1, 1]³
wedge         the triangle 0 ≤ ξ, η; ξ + η ≤ 1, times [-1, 1]
pyramid       |ξ|, |η| ≤ 1 − ζ; 0 ≤ ζ ≤ 1
"""

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
    """Quadrature rule from orbits of points of equal weight."""
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


def triangle_1() -> Quadrature:
    """One point on the triangle, degree 1."""
    return Quadrature(np.full((1, 2), 1 / 3), np.full(1, 0.5))


def triangle_3() -> Quadrature:
    """Three points on the triangle, degree 2 (Hammer and Stroud 1956)."""
    return Quadrature(np.array([[1 / 6, 1 / 6], [2 / 3, 1 / 6], [1 / 6, 2 / 3]]), np.full(3, 1 / 6))


def triangle_6() -> Quadrature:
    """Six points on the triangle, degree 4 (Strang and Fix 1973; closed form)."""
    root, inner = np.sqrt(10), np.sqrt(38 - 44 * np.sqrt(0.4))
    a, b = (8 - root + inner) / 18, (8 - root - inner) / 18
    spread = np.sqrt(213125 - 53320 * root)
    points = [[x, y] for c in (a, b) for x, y in ((c, c), (1 - 2 * c, c), (c, 1 - 2 * c))]
    return Quadrature(
        np.array(points), np.repeat([(620 + spread) / 7440, (620 - spread) / 7440], 3)
    )


def gauss_wedge(triangle: Quadrature, n: int) -> Quadrature:
    """A rule on the triangle times n Gauss points along the axis."""
    z, w = np.polynomial.legendre.leggauss(n)
    points = np.array([(*xy, height) for height in z for xy in triangle.points])
    return Quadrature(points, np.outer(w, triangle.weights).ravel())


def gauss_pyramid(n: int, m: int) -> Quadrature:
    """Gauss rule of n × n points in the base, shrunk towards the apex, at m heights.

    Exact for the polynomials in ξ/(1-ζ), η/(1-ζ) to degree 2n-1 and in ζ to degree 2m-3.
    """
    x, w = np.polynomial.legendre.leggauss(n)
    z, v = (
        0.5 * (1 + np.polynomial.legendre.leggauss(m)[0]),
        0.5 * np.polynomial.legendre.leggauss(m)[1],
    )
    points = np.array([((1 - c) * a, (1 - c) * b, c) for c in z for a in x for b in x])
    return Quadrature(points, np.outer(v * (1 - z) ** 2, np.outer(w, w)).ravel())
