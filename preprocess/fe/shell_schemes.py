"""Reference elements of shells: interpolation, quadrature, and tying points against locking.

    quad4   transverse shear at the middles of the sides (MITC4)
    tri3    transverse shear at six inner points, with a bubble in the rotations (MITC3+)
    quad8   all strains of nine nodes (MITC9); the ninth, in the centre, is condensed in the element
    tri6    all strains (MITC6)

Tied strains are interpolated between their tying points; at these they are those of the
displacements. In a quad8 that is not a parallelogram the contravariant components of a constant
stress, J gⁱ·σ·gʲ, are not polynomials, so that the tied strains of its inner node do not balance it
exactly: the error in a patch is about 1e-6 of the strain and decreases with mesh refinement.

Source: Dvorkin and Bathe, Eng. Comput. 1 (1984) 77; Lee, Lee and Bathe, Computers & Structures 138
(2014) 12; Bucalem and Bathe, Int. J. Numer. Meth. Eng. 36 (1993) 3729 (MITC9); Lee and Bathe,
Computers & Structures 82 (2004) 945 (MITC6).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Strains = Callable[[float, float], Array]
"""Covariant strains of the displacements at a point: in the plane rr, ss, 2 rs (ne, 3, n), or
across it 2 rz, 2 sz (ne, 2, n).
"""
Tie = Callable[[float, float, Strains], Array]

# distance of the inner tying points of MITC3+ from the centre in area coordinates, d of the source
# (10⁻⁴)
NEAR = 1e-4
A, B = 1 / np.sqrt(3), np.sqrt(0.6)
LOW, HIGH = 0.5 * (1 - A), 0.5 * (1 + A)


class ShellScheme(NamedTuple):
    """Reference element of shells.

    nodes (nn, 2), of which ``inner`` more follow in the interpolation; functions: N and ∂N/∂(r, s)
    at a point; quadrature points (q, 2) and weights (q,); the points (p, 2) of stress and their
    extrapolation (nn, p) to the nodes; triangles (t, 3) that cover it; the assumed strains in the
    plane and across it.
    """

    nodes: Array
    inner: int
    functions: Callable[[float, float], tuple[Array, Array]]
    points: Array
    weights: Array
    sampled: Array
    extrapolation: Array
    triangles: Indices
    plane: Tie
    across: Tie


@functools.cache
def tying(tie: Tie, r: float, s: float, components: int) -> dict[tuple[float, float], Array]:
    """Weights (components, components) of the tying points' strains in those at (r, s)."""
    places: list[tuple[float, float]] = []

    def listed(p: float, q: float) -> Array:
        """Record a sampling point and return strains of zero."""
        places.append((float(p), float(q)))
        return np.zeros((1, components, 1))

    tie(r, s, listed)
    unit = iter(np.eye(components * len(places)).reshape(len(places), 1, components, -1))
    factors = tie(r, s, lambda p, q: next(unit))[0].reshape(components, len(places), components)
    found = dict[tuple[float, float], Array]()
    for k, place in enumerate(places):
        found[place] = found.get(place, 0.0) + factors[:, k]
    return found


def _untied(r: float, s: float, strains: Strains) -> Array:
    """Strains at (r, s) without assumed strain interpolation."""
    return strains(r, s)


def _quad4(r: float, s: float) -> tuple[Array, Array]:
    """Bilinear shape functions of four nodes and their derivatives at (r, s)."""
    a, b = _SQUARE.T
    return 0.25 * (1 + a * r) * (1 + b * s), 0.25 * np.array([a * (1 + b * s), b * (1 + a * r)])


def _tri3(r: float, s: float) -> tuple[Array, Array]:
    """Linear shape functions of three nodes and their derivatives at (r, s)."""
    return np.array([1 - r - s, r, s]), np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])


def _tri6(r: float, s: float) -> tuple[Array, Array]:
    """Quadratic shape functions of six nodes and their derivatives at (r, s)."""
    t = 1 - r - s
    N = np.array(
        [t * (2 * t - 1), r * (2 * r - 1), s * (2 * s - 1), 4 * r * t, 4 * r * s, 4 * s * t]
    )
    dr = np.array([1 - 4 * t, 4 * r - 1, 0.0, 4 * (t - r), 4 * s, -4 * s])
    ds = np.array([1 - 4 * t, 0.0, 4 * s - 1, -4 * r, 4 * r, 4 * (t - s)])
    return N, np.stack([dr, ds])


def _quad8(r: float, s: float) -> tuple[Array, Array]:
    """Shape functions of eight serendipity nodes, and the inner bubble (1 − r²)(1 − s²)."""
    a, b = _SQUARE.T
    N, dN = np.empty(9), np.empty((2, 9))
    N[:4] = 0.25 * (1 + a * r) * (1 + b * s) * (a * r + b * s - 1)
    dN[0, :4] = 0.25 * a * (1 + b * s) * (2 * a * r + b * s)
    dN[1, :4] = 0.25 * b * (1 + a * r) * (a * r + 2 * b * s)
    for k, side in ((4, -1.0), (6, 1.0)):  # middles of the sides s = ∓1
        N[k], dN[0, k], dN[1, k] = (
            0.5 * (1 - r * r) * (1 + side * s),
            -r * (1 + side * s),
            0.5 * side * (1 - r * r),
        )
    for k, side in ((5, 1.0), (7, -1.0)):  # of r = ±1
        N[k], dN[0, k], dN[1, k] = (
            0.5 * (1 - s * s) * (1 + side * r),
            0.5 * side * (1 - s * s),
            -s * (1 + side * r),
        )
    N[8], dN[0, 8], dN[1, 8] = (1 - r * r) * (1 - s * s), -2 * r * (1 - s * s), -2 * s * (1 - r * r)
    return N, dN


def _mitc4(r: float, s: float, strains: Strains) -> Array:
    """Transverse shear strains of MITC4, interpolated from four tying points."""
    low, high, left, right = (
        strains(*p) for p in ((0.0, -1.0), (0.0, 1.0), (-1.0, 0.0), (1.0, 0.0))
    )
    return 0.5 * np.stack(
        [(1 - s) * low[:, 0] + (1 + s) * high[:, 0], (1 - r) * left[:, 1] + (1 + r) * right[:, 1]],
        axis=1,
    )


def _mitc3(r: float, s: float, strains: Strains) -> Array:
    """Transverse shear strains of MITC3+, interpolated from six tying points."""
    a, b, c = (strains(*p) for p in ((1 / 6, 2 / 3), (2 / 3, 1 / 6), (1 / 6, 1 / 6)))
    d, e, f = (
        strains(*p)
        for p in (
            (1 / 3 + NEAR, 1 / 3 - 2 * NEAR),
            (1 / 3 - 2 * NEAR, 1 / 3 + NEAR),
            (1 / 3 + NEAR, 1 / 3 + NEAR),
        )
    )
    both, turn = (c[:, 0] + c[:, 1]) / 3, f[:, 0] - d[:, 0] - f[:, 1] + e[:, 1]
    first = (2 * b[:, 0] - b[:, 1]) / 3 + both + turn * (3 * s - 1) / 3
    second = (2 * a[:, 1] - a[:, 0]) / 3 + both + turn * (1 - 3 * r) / 3
    return np.stack([first, second], axis=1)


def _linear(x: float) -> tuple[tuple[float, float], ...]:
    """Tying coordinates ±1/√3 and linear weights at x."""
    return (-A, 0.5 * (1 - x / A)), (A, 0.5 * (1 + x / A))


def _quadratic(x: float) -> tuple[tuple[float, float], ...]:
    """Tying coordinates 0, ±√(3/5) and quadratic weights at x."""
    return (-B, 0.5 * x * (x - B) / B**2), (0.0, 1 - (x / B) ** 2), (B, 0.5 * x * (x + B) / B**2)


def _linear_along(r: float, s: float, strains: Strains) -> tuple[Array, Array]:
    """Strains interpolated linearly along r and quadratically along s, and vice versa."""
    first = sum(f * g * strains(p, q) for p, f in _linear(r) for q, g in _quadratic(s))
    second = sum(f * g * strains(p, q) for p, f in _quadratic(r) for q, g in _linear(s))
    return np.asarray(first), np.asarray(second)


def _mitc9_plane(r: float, s: float, strains: Strains) -> Array:
    """In-plane strains of MITC9, interpolated from tying points."""
    first, second = _linear_along(r, s, strains)
    both = sum(f * g * strains(p, q) for p, f in _linear(r) for q, g in _linear(s))
    return np.stack([first[:, 0], second[:, 1], np.asarray(both)[:, 2]], axis=1)


def _mitc9_across(r: float, s: float, strains: Strains) -> Array:
    """Transverse shear strains of MITC9, interpolated from tying points."""
    first, second = _linear_along(r, s, strains)
    return np.stack([first[:, 0], second[:, 1]], axis=1)


def _plane_through(places: Array, values: list[Array], r: float, s: float) -> Array:
    """Value at (r, s) of the linear function through three values."""
    factors = np.array([1.0, r, s]) @ np.linalg.inv(np.column_stack([np.ones(3), places]))
    return np.asarray(sum(f * value for f, value in zip(factors, values)))


def _mitc6_plane(r: float, s: float, strains: Strains) -> Array:
    """In-plane strains of MITC6, interpolated from tying points.

    rr, ss and that along the third side, qq = (rr + ss)/2 − rs, linear through two points of their
    side and one inside.
    """
    found = []
    for places, factors in (
        (np.array([[LOW, 0.0], [HIGH, 0.0], [LOW, A]]), (1.0, 0.0, 0.0)),
        (np.array([[0.0, LOW], [0.0, HIGH], [A, LOW]]), (0.0, 1.0, 0.0)),
        (np.array([[HIGH, LOW], [LOW, HIGH], [LOW, LOW]]), (0.5, 0.5, -0.5)),
    ):
        values = [np.einsum("k,ekn->en", np.array(factors), strains(*p)) for p in places]
        found.append(_plane_through(places, values, r, s))
    return np.stack([found[0], found[1], found[0] + found[1] - 2 * found[2]], axis=1)


# rz = a₁ + b₁ r + c₁ s + s (d r + e s), sz = a₂ + b₂ r + c₂ s − r (d r + e s), by (a₁ b₁ c₁ a₂ b₂
# c₂ d e)
def _rz(r: float, s: float) -> Array:
    """Polynomials of the first transverse shear strain of MITC6."""
    return np.array([1, r, s, 0, 0, 0, r * s, s * s])


def _sz(r: float, s: float) -> Array:
    """Polynomials of the second transverse shear strain of MITC6."""
    return np.array([0, 0, 0, 1, r, s, -r * r, -r * s])


_THIRD = 1 / 3
_TIED = (
    ((LOW, 0.0), (1.0, 0.0)),
    ((HIGH, 0.0), (1.0, 0.0)),
    ((0.0, LOW), (0.0, 1.0)),
    ((0.0, HIGH), (0.0, 1.0)),
    ((HIGH, LOW), (-1.0, 1.0)),
    ((LOW, HIGH), (-1.0, 1.0)),
    ((_THIRD, _THIRD), (1.0, 0.0)),
    ((_THIRD, _THIRD), (0.0, 1.0)),
)
_FIELD = np.linalg.inv(np.array([a * _rz(*p) + b * _sz(*p) for p, (a, b) in _TIED]))


def _mitc6_across(r: float, s: float, strains: Strains) -> Array:
    """Transverse shear strains of MITC6, interpolated from tying points."""
    values = np.stack(
        [np.einsum("k,ekn->en", np.array(factors), strains(*p)) for p, factors in _TIED]
    )
    return np.einsum("ik,ken->ein", np.stack([_rz(r, s), _sz(r, s)]) @ _FIELD, values)


def _gauss(n: int) -> tuple[Array, Array]:
    """Points (n², 2) and weights of Gauss quadrature in a square."""
    x, w = np.polynomial.legendre.leggauss(n)
    return np.array([(a, b) for a in x for b in x]), np.outer(w, w).ravel()


def _bilinear(points: Array) -> Array:
    """Matrix of 1, r, s, r s at points."""
    return np.column_stack([np.ones(len(points)), points, points.prod(axis=1)])


def _affine(points: Array) -> Array:
    """Matrix of 1, r, s at points."""
    return np.column_stack([np.ones(len(points)), points])


def _six_points() -> tuple[Array, Array]:
    """Quadrature rule of degree 4 on the triangle (Strang and Fix)."""
    a, b = 0.445948490915965, 0.091576213509771
    points = [(a, a), (1 - 2 * a, a), (a, 1 - 2 * a), (b, b), (1 - 2 * b, b), (b, 1 - 2 * b)]
    return np.array(points), 0.5 * np.repeat([0.223381589678011, 0.109951743655322], 3)


_SQUARE = np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
_OCTET = np.vstack([_SQUARE, np.array([[0.0, -1], [1, 0], [0, 1], [-1, 0]])])
_TRIANGLE = np.array([[0.0, 0], [1, 0], [0, 1]])
_SEXTET = np.vstack([_TRIANGLE, np.array([[0.5, 0], [0.5, 0.5], [0, 0.5]])])
_THREE = np.array([[1 / 6, 1 / 6], [2 / 3, 1 / 6], [1 / 6, 2 / 3]])
_FOUR = _SQUARE / np.sqrt(3)

SCHEMES = {
    "quad4": ShellScheme(
        _SQUARE,
        0,
        _quad4,
        _FOUR,
        np.ones(4),
        _FOUR,
        _bilinear(_SQUARE) @ np.linalg.inv(_bilinear(_FOUR)),
        np.array([[0, 1, 2], [0, 2, 3]]),
        _untied,
        _mitc4,
    ),
    "tri3": ShellScheme(
        _TRIANGLE,
        0,
        _tri3,
        _THREE,
        np.full(3, 1 / 6),
        _THREE,
        _affine(_TRIANGLE) @ np.linalg.inv(_affine(_THREE)),
        np.array([[0, 1, 2]]),
        _untied,
        _mitc3,
    ),
    "quad8": ShellScheme(
        _OCTET,
        1,
        _quad8,
        *_gauss(3),
        _FOUR,
        _bilinear(_OCTET) @ np.linalg.inv(_bilinear(_FOUR)),
        np.array([[0, 4, 7], [4, 1, 5], [5, 2, 6], [6, 3, 7], [4, 5, 6], [4, 6, 7]]),
        _mitc9_plane,
        _mitc9_across,
    ),
    "tri6": ShellScheme(
        _SEXTET,
        0,
        _tri6,
        *_six_points(),
        _THREE,
        _affine(_SEXTET) @ np.linalg.inv(_affine(_THREE)),
        np.array([[0, 3, 5], [3, 1, 4], [4, 2, 5], [3, 4, 5]]),
        _mitc6_plane,
        _mitc6_across,
    ),
}
