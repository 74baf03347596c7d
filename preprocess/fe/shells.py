"""Shells with three and four nodes (Reissner–Mindlin), from the three-dimensional continuum.

With the directors n_a of the nodes, normal to the shell, a point at height z and its displacement are

    x = Σ N_a (x_a + z n_a),    u = Σ N_a (u_a + z θ_a × n_a)

and the covariant strains e_ij = ½ (g_i · u,j + g_j · u,i) follow, with three remedies:

* transverse shear is assumed from that of tying points, which does not lock thin shells (MITC4, MITC3+); triangles have a bubble
  in the rotations for it, condensed in the element;
* membrane strains of quadrilaterals have the incompatible modes 1 − r², 1 − s² of both tangential displacements, with the
  gradients of Taylor, Beresford and Wilson, condensed in the element: it bends in its plane without locking; their rotation about
  the director is tied to that of the surface, these modes included, by ``γ G h ∫ ((θ − ω)·d)² dA`` (Hughes and Brezzi);
* membrane strains of triangles are those of Felippa's optimal triangle, in which rotations about the normal take part.

The stress normal to the shell is zero, the shear correction is 5/6. The mass is in two layers at z = ±h/2√3 from the middle,
whose second moment is that of the thickness. The geometric stiffness ``∫ σ_ij u,i · u,j dV`` has all stresses, and the
second-order part ½ θ × (θ × n) z of the director.

Source: Dvorkin and Bathe, Eng. Comput. 1 (1984) 77 (MITC4); Lee, Lee and Bathe, Computers & Structures 138 (2014) 12 (MITC3+);
Taylor, Beresford, Wilson, Int. J. Numer. Meth. Eng. 10 (1976) 1211; Hughes and Brezzi, Comput. Methods Appl. Mech. Eng. 72 (1989)
105.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from preprocess.fe.drilling_triangle import drilling_strains
from preprocess.fe.nodal_stress import elasticity
from preprocess.fe.sections import ShellSection
from preprocess.fe.structure import Array, ElementPoints, Indices, Structure, cross_matrix, quadratic_form, rotated_stress

SHEAR = 5 / 6
DRILLING = 0.01  # γ
SMOOTH = np.cos(np.radians(25.0))  # between the normal of an element and the mean at its node; beyond, there is a fold
NEAR = 1e-4  # of the inner tying points of triangles from the centre
LAYERS = np.array([-1.0, 1.0]) / np.sqrt(3.0)
STRAINED = [0, 1, 3, 5, 4]  # strains 11, 22, 12, 13, 23 in the order xx yy zz xy yz zx


class Shape(NamedTuple):
    """Reference element: corners (nn, 2), quadrature points (q, 2) and weights (q,), the extrapolation (nn, q) from the points to
    the corners, triangles (t, 3) that cover it."""

    corners: Array
    points: Array
    weights: Array
    extrapolation: Array
    triangles: Indices

    def functions(self, r: float, s: float) -> tuple[Array, Array]:
        """N (nn,) and ∂N/∂(r, s) (2, nn)."""
        if len(self.corners) == 3:
            return np.array([1 - r - s, r, s]), np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
        a, b = self.corners.T
        return 0.25 * (1 + a * r) * (1 + b * s), 0.25 * np.array([a * (1 + b * s), b * (1 + a * r)])


def _bilinear(points: Array) -> Array:
    return np.column_stack([np.ones(len(points)), points, points.prod(axis=1)])


_CORNERS = np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
_TRIANGLE = np.array([[1 / 6, 1 / 6], [2 / 3, 1 / 6], [1 / 6, 2 / 3]])
_LINEAR = np.linalg.inv(np.column_stack([np.ones(3), _TRIANGLE]))
SHAPES = {
    "quad4": Shape(
        _CORNERS,
        _CORNERS / np.sqrt(3),
        np.ones(4),
        _bilinear(_CORNERS) @ np.linalg.inv(_bilinear(_CORNERS / np.sqrt(3))),
        np.array([[0, 1, 2], [0, 2, 3]]),
    ),
    "tri3": Shape(
        np.array([[0.0, 0], [1, 0], [0, 1]]),
        _TRIANGLE,
        np.full(3, 1 / 6),
        np.column_stack([np.ones(3), [[0, 0], [1, 0], [0, 1]]]) @ _LINEAR,
        np.array([[0, 1, 2]]),
    ),
}


class Kinematics(NamedTuple):
    """At a point: base vectors g (ne, 3, 3), rows r, s, z; derivatives of u along r, s, z (ne, 3, 3, n), [i, component]; rotation
    θ and its derivatives (ne, 3, 3, n), [0] θ, [1] ∂r, [2] ∂s; normal (ne, 3)."""

    g: Array
    du: Array
    turn: Array
    normal: Array


@dataclass(frozen=True, eq=False)
class Shells(Structure):
    """Shells of one section and material."""

    section: ShellSection = field(kw_only=True)

    @property
    def _shape(self) -> Shape:
        return SHAPES[self.kind]

    @property
    def _heights(self) -> Array:
        """z of the bottom and the top."""
        return float(self.section.offset) + 0.5 * float(self.section.thickness) * np.array([-1.0, 1.0])

    def _at(self, layer: float) -> float:
        """z of a layer, −1 at the bottom and 1 at the top."""
        return float(self.section.offset) + 0.5 * float(self.section.thickness) * layer

    @functools.cached_property
    def directors(self) -> Array:
        """n_a (ne, nn, 3): of quadrilaterals the mean normal of the elements at the node, but at folds the element's own; a
        triangle is flat."""
        own = self._normals
        if self.kind == "tri3":
            return own
        total = np.zeros((self.freedoms.nodes, 3))
        np.add.at(total, self.connectivity, own)
        mean = total[self.connectivity]
        mean = mean / np.maximum(np.linalg.norm(mean, axis=2), 1e-300)[..., None]
        least = np.full(self.freedoms.nodes, np.inf)
        np.minimum.at(least, self.connectivity, np.einsum("eac,eac->ea", mean, own))
        return np.where((least[self.connectivity] > SMOOTH)[..., None], mean, own)

    @functools.cached_property
    def _normals(self) -> Array:
        """Normals of the element at its corners (ne, nn, 3)."""
        found = []
        for r, s in self._shape.corners:
            tangent = np.einsum("ia,eac->eic", self._shape.functions(r, s)[1], self.x)
            normal = np.cross(tangent[:, 0], tangent[:, 1])
            found.append(normal / np.linalg.norm(normal, axis=1)[:, None])
        return np.stack(found, axis=1)

    def _kinematics(self, r: float, s: float, z: float) -> Kinematics:
        N, dN = self._shape.functions(r, s)
        n_e, nn = self.connectivity.shape
        g = np.empty((n_e, 3, 3))
        g[:, :2] = np.einsum("ia,eac->eic", dN, self.x + z * self.directors)
        g[:, 2] = np.einsum("a,eac->ec", N, self.directors)
        du, turn = np.zeros((n_e, 3, 3, nn, 6)), np.zeros((n_e, 3, 3, nn, 6))
        lever = -cross_matrix(self.directors).transpose(0, 2, 1, 3)  # (ne, component, node, θ): θ × n
        for i in range(2):
            du[:, i, :, :, :3] = dN[i][:, None] * np.eye(3)[:, None, :]
            du[:, i, :, :, 3:] = z * dN[i][:, None] * lever
            turn[:, 1 + i, :, :, 3:] = dN[i][:, None] * np.eye(3)[:, None, :]
        du[:, 2, :, :, 3:] = N[:, None] * lever
        turn[:, 0, :, :, 3:] = N[:, None] * np.eye(3)[:, None, :]
        normal = np.cross(g[:, 0], g[:, 1])
        normal = normal / np.linalg.norm(normal, axis=1)[:, None]
        shape = (n_e, 3, 3, 6 * nn)
        return Kinematics(g, du.reshape(shape), turn.reshape(shape), normal)

    @functools.cached_property
    def _centre_axis(self) -> Array:
        """Direction (ne, 3) of the first local axis: along r at the centre."""
        r, s = self._shape.corners.mean(axis=0)
        tangent = self._kinematics(r, s, 0.0).g[:, 0]
        return np.asarray(tangent / np.linalg.norm(tangent, axis=1)[:, None])

    def _axes(self, at: Kinematics) -> Array:
        """Local axes as rows (ne, 3, 3): the centre's first axis turned into the tangent plane, and the normal."""
        e1 = self._centre_axis - at.normal * np.einsum("ec,ec->e", self._centre_axis, at.normal)[:, None]
        e1 = e1 / np.linalg.norm(e1, axis=1)[:, None]
        return np.stack([e1, np.cross(at.normal, e1), at.normal], axis=1)

    def _sheared(self, r: float, s: float) -> Array:
        """2 e_rz and 2 e_sz (ne, 2, n) of the displacements at a point of the middle."""
        at = self._kinematics(r, s, 0.0)
        return np.einsum("eic,ecn->ein", at.g[:, :2], at.du[:, 2]) + np.einsum("ec,eicn->ein", at.g[:, 2], at.du[:, :2])

    def _tied(self, r: float, s: float, sheared: Callable[[float, float], Array]) -> Array:
        """Assumed 2 e_rz and 2 e_sz (ne, 2, n) at a point, from those at the tying points."""
        if self.kind == "quad4":
            low, high, left, right = (sheared(*p) for p in ((0.0, -1.0), (0.0, 1.0), (-1.0, 0.0), (1.0, 0.0)))
            return 0.5 * np.stack(
                [(1 - s) * low[:, 0] + (1 + s) * high[:, 0], (1 - r) * left[:, 1] + (1 + r) * right[:, 1]], axis=1
            )
        A, B, C = (sheared(*p) for p in ((1 / 6, 2 / 3), (2 / 3, 1 / 6), (1 / 6, 1 / 6)))
        D, E, F = (
            sheared(*p)
            for p in ((1 / 3 + NEAR, 1 / 3 - 2 * NEAR), (1 / 3 - 2 * NEAR, 1 / 3 + NEAR), (1 / 3 + NEAR, 1 / 3 + NEAR))
        )
        both, c = (C[:, 0] + C[:, 1]) / 3, F[:, 0] - D[:, 0] - F[:, 1] + E[:, 1]
        first = (2 * B[:, 0] - B[:, 1]) / 3 + both + c * (3 * s - 1) / 3
        second = (2 * A[:, 1] - A[:, 0]) / 3 + both + c * (1 - 3 * r) / 3
        return np.stack([first, second], axis=1)

    def _strain(self, r: float, s: float, z: float) -> tuple[Array, Array, Array]:
        """Strains 11, 22, 12, 13, 23 in local axes and, of quadrilaterals, (θ − ω)·d, (ne, 5 or 6, n), without internal modes;
        the axes, and det g (ne,)."""
        at = self._kinematics(r, s, z)
        axes = self._axes(at)
        e = np.zeros((len(at.g), 3, 3, at.du.shape[3]))
        gu = np.einsum("eic,ejcn->eijn", at.g[:, :2], at.du[:, :2])
        e[:, :2, :2] = 0.5 * (gu + gu.transpose(0, 2, 1, 3))
        e[:, :2, 2] = e[:, 2, :2] = 0.5 * self._tied(r, s, self._sheared)
        to_local = axes @ np.linalg.inv(at.g)  # e_a · gⁱ
        local = np.einsum("eai,ebj,eijn->eabn", to_local, to_local, e, optimize=True)
        B = np.stack([local[:, 0, 0], local[:, 1, 1], 2 * local[:, 0, 1], 2 * local[:, 0, 2], 2 * local[:, 1, 2]], axis=1)
        if self.kind == "tri3":
            B[:, :3] += self._corner_strains(r, s)
            return B, axes, np.linalg.det(at.g)
        middle = self._kinematics(r, s, 0.0)
        drilling = self._deviation(middle, middle.turn[:, 0], middle.g[:, 2])
        return np.concatenate([B, drilling[:, None]], axis=1), axes, np.linalg.det(at.g)

    def _deviation(self, at: Kinematics, theta: Array, director: Array) -> Array:
        """(θ − ω)·d (ne, n): rotation about a director less that of the surface, which tilts and turns in its plane with u."""
        axes = self._axes(at)
        du = np.einsum("eai,eicn->eacn", (axes @ np.linalg.inv(at.g))[:, :2, :2], at.du[:, :2])
        slope = np.einsum("ebc,eacn->eabn", axes, du)  # ∂_a u_b
        omega = np.stack([slope[:, 1, 2], -slope[:, 0, 2], 0.5 * (slope[:, 0, 1] - slope[:, 1, 0])], axis=1)
        own = np.einsum("eac,ec->ea", axes, director)
        return np.asarray(np.einsum("ec,ecn->en", director, theta) - np.einsum("ea,ean->en", own, omega))

    def _corner_strains(self, r: float, s: float) -> Array:
        """Membrane strains (ne, 3, n) of the rotations of a triangle's corners about their directors."""
        at = self._kinematics(r, s, 0.0)
        x = np.einsum("eac,eic->eai", self.x, self._axes(at)[:, :2])
        D = self._plane_stress(self._axes(at))
        factors = drilling_strains(x, D[:, 0, 1] / D[:, 0, 0], np.array([1 - r - s, r, s]))
        turns = [self._kinematics(a, b, 0.0).turn[:, 0] for a, b in self._shape.corners]
        each = [self._deviation(at, turn, d) for turn, d in zip(turns, np.moveaxis(self.directors, 1, 0))]
        return np.asarray(factors @ np.stack(each, axis=1))

    def _internal(self, r: float, s: float, z: float) -> Array:
        """Strains (ne, 6 or 5, 4 or 2) of the internal modes of the element."""
        return self._membrane_modes(r, s) if self.kind == "quad4" else self._bubble(r, s, z)

    def _membrane_modes(self, r: float, s: float) -> Array:
        """Those of the displacements 1 − r² and 1 − s² along both local axes (ne, 6, 4)."""
        found = np.zeros((len(self.ids), 6, 4))
        centre, at = self._kinematics(0.0, 0.0, 0.0), self._kinematics(r, s, 0.0)
        J = np.einsum("eic,eac->eia", centre.g[:, :2], self._axes(centre)[:, :2])
        ratio = np.linalg.det(centre.g) / np.linalg.det(at.g)
        grad = np.einsum("eai,im->eam", np.linalg.inv(J), np.diag([-2 * r, -2 * s])) * ratio[:, None, None]
        for m in range(2):
            found[:, 0, 2 * m] = found[:, 2, 2 * m + 1] = grad[:, 0, m]
            found[:, 1, 2 * m + 1] = found[:, 2, 2 * m] = grad[:, 1, m]
            found[:, 5, 2 * m], found[:, 5, 2 * m + 1] = 0.5 * grad[:, 1, m], -0.5 * grad[:, 0, m]
        return found

    def _bubble(self, r: float, s: float, z: float) -> Array:
        """Those of the rotations 27 r s (1 − r − s) about both local axes (ne, 5, 2)."""
        at = self._kinematics(r, s, 0.0)
        axes = self._axes(at)
        tangents = np.einsum("eic,eac->eia", at.g[:, :2], axes[:, :2])
        across = np.stack([-tangents[:, :, 1], tangents[:, :, 0]], axis=2)  # g_i · (e × n)
        to_local = np.linalg.inv(tangents)
        a, b = (to_local @ (27 * np.array([s * (1 - 2 * r - s), r * (1 - r - 2 * s)]))).T
        found = np.zeros((len(self.ids), 5, 2))
        found[:, 0, 1], found[:, 1, 0] = z * a, -z * b
        found[:, 2, 0], found[:, 2, 1] = -z * a, z * b
        found[:, 3:] = to_local @ self._tied(r, s, lambda p, q: 27 * p * q * (1 - p - q) * across)
        return found

    def _plane_stress(self, axes: Array) -> Array:
        """D (ne, 5, 5) of strains 11, 22, 12, 13, 23, with σ₃₃ = 0."""
        T = rotated_stress(np.swapaxes(axes, 1, 2))
        C = T @ elasticity(self.material) @ np.swapaxes(T, 1, 2)
        D = C - C[:, :, 2:3] * C[:, 2:3, :] / C[:, 2:3, 2:3]
        D = D[:, STRAINED][:, :, STRAINED]
        D[:, 3:] *= SHEAR
        D[:, :3, 3:] *= SHEAR
        return D

    def _moduli(self, axes: Array) -> Array:
        """D (ne, 5, 5), of quadrilaterals (ne, 6, 6) with γ G for the last."""
        plane = self._plane_stress(axes)
        if self.kind == "tri3":
            return plane
        D = np.zeros((len(axes), 6, 6))
        D[:, :5, :5], D[:, 5, 5] = plane, DRILLING * plane[:, 2, 2]
        return D

    @functools.cached_property
    def _elimination(self) -> tuple[Array, Array]:
        """Stiffness (ne, n, n), and the internal modes by the nodes' motion (ne, 4 or 2, n)."""
        n = 6 * self.connectivity.shape[1]
        m = 4 if self.kind == "quad4" else 2
        K, coupling, inner = (np.zeros((len(self.ids), a, b)) for a, b in ((n, n), (m, n), (m, m)))
        h = float(self.section.thickness)
        for (r, s), weight in zip(self._shape.points, self._shape.weights):
            for layer in LAYERS:
                P = self._internal(r, s, self._at(layer))
                B, axes, det = self._strain(r, s, self._at(layer))
                DB = self._moduli(axes) * (det * weight * h / 2)[:, None, None]
                K += np.swapaxes(B, 1, 2) @ DB @ B
                coupling += np.swapaxes(P, 1, 2) @ DB @ B
                inner += np.swapaxes(P, 1, 2) @ DB @ P
        alpha = -np.linalg.solve(inner, coupling)
        return K + np.swapaxes(coupling, 1, 2) @ alpha, alpha

    def stiffness(self) -> Array:
        return self._elimination[0]

    def _points(self, reference: Array, z: float) -> ElementPoints:
        """Points (p, 2) of the reference element at height z."""
        places, motion = [], []
        for r, s in reference:
            N = self._shape.functions(r, s)[0]
            places.append(np.einsum("a,eac->ec", N, self.x + z * self.directors))
            move = np.zeros((len(self.ids), 3, len(N), 6))
            move[..., :3] = N[:, None] * np.eye(3)[:, None, :]
            move[..., 3:] = -z * N[:, None] * cross_matrix(self.directors).transpose(0, 2, 1, 3)
            motion.append(move.reshape(len(self.ids), 3, -1))
        return ElementPoints(np.stack(places, axis=1), np.stack(motion, axis=1))

    def _stacked(self, reference: Array, heights: Array) -> ElementPoints:
        found = [self._points(reference, z) for z in heights]
        return ElementPoints(*(np.concatenate(each, axis=1) for each in zip(*found)))

    def mass_points(self) -> tuple[ElementPoints, Array]:
        area = [
            w * np.linalg.det(self._kinematics(r, s, self._at(0.0)).g)
            for (r, s), w in zip(self._shape.points, self._shape.weights)
        ]
        layer = 0.5 * self.material.rho * float(self.section.thickness) * np.stack(area, axis=1)
        return self._stacked(self._shape.points, np.array([self._at(layer) for layer in LAYERS])), np.hstack([layer, layer])

    def skin(self) -> tuple[ElementPoints, Indices]:
        nn = len(self._shape.corners)
        triangles = np.vstack([self._shape.triangles[:, ::-1], self._shape.triangles + nn])
        return self._stacked(self._shape.corners, self._heights), triangles

    def _whole_strain(self, r: float, s: float, z: float) -> tuple[Array, Array, Array]:
        """Strains (ne, 5, n) as in `_strain`, with the internal modes."""
        B, axes, det = self._strain(r, s, z)
        return (B + self._internal(r, s, z) @ self._elimination[1])[:, :5], axes, det

    def stress(self) -> Array:
        found = []
        for z in self._heights:
            sampled = []
            for r, s in self._shape.points:
                B, axes, _ = self._whole_strain(r, s, z)
                B[:, 3:] = 0.0  # no transverse shear on the surface
                local = np.zeros((len(self.ids), 6, B.shape[2]))
                local[:, STRAINED] = self._plane_stress(axes) @ B
                sampled.append(rotated_stress(axes) @ local)
            found.append(np.einsum("aq,qecn->eacn", self._shape.extrapolation, np.stack(sampled)))
        return np.concatenate(found, axis=1)

    def initial_stress_stiffness(self, displacements: Array, shapes: Array) -> Array:
        u, phi = self.of_elements(displacements), self.of_elements(shapes)
        K0 = np.zeros((u.shape[2], phi.shape[2], phi.shape[2]))
        for (r, s), weight in zip(self._shape.points, self._shape.weights):
            for layer in LAYERS:
                z = self._at(layer)
                B, axes, det = self._whole_strain(r, s, z)
                scale = det * weight * float(self.section.thickness) / 2
                stress = (self._plane_stress(axes) @ (B @ u)) * scale[:, None, None]
                at = self._kinematics(r, s, z)
                to_local = axes @ np.linalg.inv(at.g)
                D = np.einsum("eai,eicn->eacn", to_local, at.du) @ phi[:, None]
                turn = at.turn @ phi[:, None]
                theta = axes @ turn[:, 0]
                slope = axes[:, None] @ np.einsum("eai,eicn->eacn", to_local[:, :2, :2], turn[:, 1:])
                for c, (a, b) in enumerate(((0, 0), (1, 1), (0, 1), (0, 2), (1, 2))):
                    factor = 1.0 if a == b else 2.0
                    for k in range(3):
                        K0 += quadratic_form(factor * stress[:, c], D[:, a, k], D[:, b, k])
                    if b == 2:
                        K0 += quadratic_form(stress[:, c], theta[:, a], theta[:, 2])
                        continue
                    for p, q in {(a, b), (b, a)}:
                        K0 += quadratic_form(z * stress[:, c], slope[:, q, p], theta[:, 2])
                        K0 += quadratic_form(z * stress[:, c], theta[:, p], slope[:, q, 2])
        return K0
