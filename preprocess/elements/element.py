"""Definition of a solid element: nodes, polynomials, quadrature, faces."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
# smallest 1-ζ: at the apex it avoids 0/0, and the quotients are zero on the axis ξ = η = 0
APEX = 1e-100


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Quadrature rule on the reference element, ∫ f dV ≈ Σ w_q f(ξ_q).

    Points (nq, 3) and weights (nq,).
    """

    points: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class FaceTable:
    """Faces of one shape.

    nodes (nf, k): of each face, corners first, counter-clockwise seen from outside; corners: number
    of corners; triangles (nt, 3): linear triangles that cover a face, as indices into the row of
    its nodes.
    """

    nodes: Indices
    corners: int
    triangles: Indices


@dataclass(frozen=True, eq=False)
class Element:
    """Isoparametric solid element x(ξ) = Σ_a N_a(ξ) x_a.

    Each N_a is the combination of the functions ξ^i η^j ζ^k / (1-ζ)^m that is one at node a and
    zero at the other nodes, so that nodes, exponents and divisors define the element. At the apex
    of a pyramid, ζ = 1, the functions take their limits along its axis.

    name: short name; meshio_name: name of the cell type in meshio; corners: number of corner nodes,
    which come first; nodes (nn, 3): reference coordinates in the order of VTK; exponents (nn, 3):
    of the monomials; stiffness_rule, mass_rule: quadrature of K and of m; faces: the faces, by
    shape; internal (ni, 3): exponents of incompatible modes, internal to the element; divisors
    (nn,): m of pyramids, by default zero.
    """

    name: str
    meshio_name: str
    corners: int
    nodes: Array
    exponents: Indices
    stiffness_rule: Quadrature
    mass_rule: Quadrature
    faces: tuple[FaceTable, ...]
    internal: Indices = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    divisors: Indices | None = None

    @functools.cached_property
    def coefficients(self) -> Array:
        """Coefficients (function, node) of the shape functions."""
        return cast(Array, np.linalg.inv(self._functions(self.nodes)))

    def _functions(self, points: Array, axis: int | None = None) -> Array:
        """Functions ξ^i η^j ζ^k / (1-ζ)^m (nq, nn), or their derivatives along an axis."""
        values = monomials(points, self.exponents, axis)
        if self.divisors is None:
            return values
        m, shrunk = self.divisors, np.maximum(1 - points[:, 2, None], APEX)
        values /= shrunk**m
        return (
            values + m * monomials(points, self.exponents) / shrunk ** (m + 1)
            if axis == 2
            else values
        )

    def shape_functions(self, points: Array) -> Array:
        """Values N (nq, nn) at points (nq, 3)."""
        return self._functions(points) @ self.coefficients

    def gradients(self, points: Array) -> Array:
        """Derivatives ∂N/∂ξ (nq, nn, 3) at points (nq, 3)."""
        return np.stack(
            [self._functions(points, axis) @ self.coefficients for axis in range(3)], axis=-1
        )

    def internal_gradients(self, points: Array) -> Array:
        """Derivatives ∂P/∂ξ (nq, ni, 3) of the incompatible modes at points (nq, 3)."""
        return np.stack([monomials(points, self.internal, axis) for axis in range(3)], axis=-1)

    @functools.cached_property
    def centre(self) -> Array:
        """Mean of the corners on the reference element (3,)."""
        return cast(Array, self.nodes[: self.corners].mean(axis=0))

    @functools.cached_property
    def stiffness_tables(self) -> tuple[Array, Array, Array, Array]:
        """Tables (dN/dξ, w, dP/dξ) at the points of the stiffness rule, and dN/dξ at the centre.

        The tables have the form of the kernels' arguments.
        """
        points, weights = self.stiffness_rule.points, self.stiffness_rule.weights
        dN, dP, dN_0 = (
            self.gradients(points),
            self.internal_gradients(points),
            self.gradients(self.centre[None]),
        )
        return (
            np.ascontiguousarray(dN),
            np.ascontiguousarray(weights),
            np.ascontiguousarray(dP),
            np.ascontiguousarray(dN_0),
        )

    @functools.cached_property
    def mirrored(self) -> Indices:
        """Node order that corrects an inverted element: the reflection exchanging ξ and η."""
        distance = np.abs(self.nodes[None, :, :] - self.nodes[:, None, [1, 0, 2]]).max(axis=2)
        return distance.argmin(axis=1)

    def jacobian_determinants(self, positions: Array, points: Array | None = None) -> Array:
        """Determinants det ∂x/∂ξ (ne, nq) at the stiffness quadrature points and the corners.

        The node positions of the elements have shape (ne, nn, 3).
        """
        if points is None:
            points = np.concatenate([self.stiffness_rule.points, self.nodes[: self.corners]])
        jacobians = np.einsum("eai,qaj->eqij", positions, self.gradients(points), optimize=True)
        return cast(Array, np.linalg.det(jacobians))


def monomials(points: Array, exponents: Indices, derivative: int | None = None) -> Array:
    """Monomials x^i y^j z^k (nq, number of exponents), or their derivatives along one axis."""
    result = np.ones((len(points), len(exponents)))
    for axis in range(3):
        power = exponents[:, axis].astype(float)
        x = points[:, axis, None]
        if axis == derivative:
            result *= power * x ** np.maximum(power - 1, 0)
        else:
            result *= x**power
    return result


def midpoints(corners: Array, edges: Sequence[Sequence[int]]) -> Array:
    """Midpoints of edges, or of any groups of corners."""
    return np.array([corners[list(edge)].mean(axis=0) for edge in edges])
