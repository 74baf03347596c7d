"""Shells with three, four, six and eight nodes (Reissner–Mindlin), continuum-based.

With the directors n_a of the nodes, normal to the shell, and the heights z_a of a layer there, a
point and its displacement are

    x = Σ N_a (x_a + z_a n_a),    u = Σ N_a (u_a + z_a θ_a × n_a),    z_a = offset + ½ h_a ζ

and the covariant strains e_ij = ½ (g_i · u,j + g_j · u,i) follow, with these measures against
locking and zero-energy modes:

* strains that lock are assumed from those at tying points (`shell_schemes`);
* membrane strains of quad4 have the incompatible modes 1 − r², 1 − s² of both tangential
  displacements, with the gradients of Taylor, Beresford and Wilson, condensed in the element: it
  bends in its plane without locking;
* the rotation about the director is tied to that of the surface, these modes included, by ``γ G h ∫
  ((θ − ω)·d)² dA`` (Hughes and Brezzi); in tri3 it takes part in the membrane strains, which are
  those of Felippa's optimal triangle.

The stress normal to the shell is zero. The mass is at two layers of each ply, whose second moment
is that of the thickness. The geometric stiffness ``∫ σ_ij u,i · u,j dV`` has all stresses, and the
second-order part ½ θ × (θ × n) z of the director. Lumped mass is at the nodes, in the middle of
the thickness, without rotary inertia.

Source: Dvorkin and Bathe, Eng. Comput. 1 (1984) 77; Taylor, Beresford, Wilson, Int. J. Numer. Meth.
Eng. 10 (1976) 1211; Hughes and Brezzi, Comput. Methods Appl. Mech. Eng. 72 (1989) 105.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.free_body import skew
from preprocess.fe.drilling_triangle import drilling_strains
from preprocess.fe.freedoms import Freedoms
from preprocess.fe.nodal_stress import elasticity
from preprocess.fe.shell_normals import facet_normals, smooth_normals
from preprocess.fe.shell_schemes import SCHEMES, ShellScheme, Strains
from preprocess.fe.shell_second_order import second_order_work
from preprocess.fe.shell_sections import STRAINED, Layer, SurfaceSection, with_free_thickness
from preprocess.fe.structural_element import (
    Array,
    ElementPoints,
    Indices,
    LaminatePoints,
    StructuralElement,
    lumped_mass,
    points_on_arms,
    rotated_stress,
)
from preprocess.mesh.checks import SMOOTH

# γ, ratio of the drilling stiffness to the shear stiffness: from 0.001 to 1 frequencies of a bent
# plate change by at most 3e-4
DRILLING = 0.01
# between the normal of a triangle, which is flat, and one that is given
FLAT = np.cos(np.radians(0.1))
FOLDED = "its surface is folded, or curved more than its thickness and offset allow"
# sine of the angle between normal and orientation below which the orientation is normal to the
# shell: its projection has lost six digits
ALONG = 1e-6


class ShellKinematics(NamedTuple):
    """Kinematics at a point.

    Base vectors g (ne, 3, 3), rows r, s, ζ; derivatives of u along r, s, ζ (ne, 3, 3, n), [i,
    component]; rotation θ and its derivatives (ne, 3, 3, n), [0] θ, [1] ∂r, [2] ∂s; normal and
    director (ne, 3).
    """

    g: Array
    du: Array
    turn: Array
    normal: Array
    director: Array


@dataclass(frozen=True, eq=False)
class Shells(StructuralElement):
    """Shells of one section and material.

    Columns n of the inner arrays are the degrees of freedom of the nodes, six each, followed by
    those of the inner node. smooth: normals (ne, nn, 3) of the surface, common to all shells at a
    node; means: the directors, if elements of other processes contribute to them.
    """

    section: SurfaceSection = field(kw_only=True)
    smooth: Array | None = field(default=None, kw_only=True, repr=False)
    means: Array | None = field(default=None, kw_only=True, repr=False)

    def within(self, rows: Indices, number: Indices, freedoms: Freedoms) -> StructuralElement:
        """The elements ``rows`` with other node numbers."""
        return replace(
            cast(Shells, super().within(rows, number, freedoms)),
            smooth=None,
            means=self.directors[rows],
        )

    @property
    def scheme(self) -> ShellScheme:
        return SCHEMES[self.kind]

    @property
    def _size(self) -> int:
        """Number of nodal degrees of freedom of an element."""
        return 6 * self.connectivity.shape[1]

    @functools.cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Integration layers, two in each ply."""
        return self.section.layers(self.material)

    @functools.cached_property
    def thickness(self) -> Array:
        """Thickness h_a (ne, nn + inner)."""
        return self._with_inner(self.section.thickness_at(self.numbers))

    def _with_inner(self, values: Array) -> Array:
        """Values (ne, nn, …), followed by the interpolated value at the inner node."""
        if not self.scheme.inner:
            return values
        N = self.scheme.functions(*self.scheme.nodes[:4].mean(axis=0))[0][: values.shape[1]]
        return np.concatenate([values, np.einsum("a,ea...->e...", N, values)[:, None]], axis=1)

    def heights_at(self, zeta: float) -> Array:
        """Heights z_a (ne, nn + inner) of a layer, ζ = −1 at the bottom and 1 at the top."""
        return float(self.section.offset) + 0.5 * zeta * self.thickness

    @functools.cached_property
    def directors(self) -> Array:
        """Directors n_a (ne, nn + inner, 3).

        Mean normal of the elements at a node, at folds the element's own; tri3 are flat.
        """
        if self.means is not None:
            return self.means
        if self.kind == "tri3":
            self._given(self.normals)
            return self.normals
        found = self._with_inner(self.smooth_normals)
        return np.asarray(found / np.maximum(np.linalg.norm(found, axis=2), 1e-300)[..., None])

    @property
    def smooth_normals(self) -> Array:
        """Normals (ne, nn, 3) of the surface at its nodes, or those given by the section."""
        return self._given(smooth_normals([self])[0] if self.smooth is None else self.smooth)

    def _given(self, found: Array) -> Array:
        """Directors (ne, nn, 3), with those that the section prescribes inserted.

        Raises InputError for one far from the element's own.
        """
        if not len(self.section.normals):
            return found
        row = {int(number): k for k, number in enumerate(self.ids)}
        for element, node, *direction in np.asarray(self.section.normals, dtype=float):
            if int(element) not in row:
                continue
            e, n = row[int(element)], np.array(direction) / np.linalg.norm(direction)
            for a in np.flatnonzero(self.numbers[e] == int(node)):
                if not n @ self.normals[e, a] > (FLAT if self.kind == "tri3" else SMOOTH):
                    raise InputError(
                        f"section: normals: of element {int(element)} at node "
                        f"{int(node)}: is far from its surface; change it"
                    )
                found[e, a] = n
        return found

    @functools.cached_property
    def normals(self) -> Array:
        """Normals of the element at its nodes (ne, nn, 3)."""
        return facet_normals(self.kind, self.x)

    def kinematics(self, r: float, s: float, z: Array | None = None) -> ShellKinematics:
        """Kinematics at heights z_a (ne, nn + inner), by default on the surface of the nodes.

        Raises InputError for a folded element.
        """
        N, dN = self.scheme.functions(r, s)
        n_e, nn, all_ = len(self.ids), self.x.shape[1], len(N)
        z = np.zeros((n_e, all_)) if z is None else z
        half = 0.5 * self.thickness
        g = np.empty((n_e, 3, 3))
        g[:, :2] = np.einsum(
            "ia,eac->eic", dN[:, :nn], (self.x + (z[..., None] * self.directors)[:, :nn])
        )
        g[:, 2] = np.einsum("a,ea,eac->ec", N[:nn], half[:, :nn], self.directors[:, :nn])
        folded = ~(np.linalg.det(g) > 0)
        if folded.any():
            raise InputError(f"{self.kind} element {self.ids[folded][0]}: {FOLDED}; remesh there")
        du, turn = np.zeros((n_e, 3, 3, all_, 6)), np.zeros((n_e, 3, 3, all_, 6))
        lever = -skew(self.directors).transpose(0, 2, 1, 3)  # (ne, component, node, θ): θ × n
        for i in range(2):
            du[:, i, :, :, :3] = dN[i][:, None] * np.eye(3)[:, None, :]
            du[:, i, :, :, 3:] = (z * dN[i])[:, None, :, None] * lever
            turn[:, 1 + i, :, :, 3:] = dN[i][:, None] * np.eye(3)[:, None, :]
        du[:, 2, :, :, 3:] = (half * N)[:, None, :, None] * lever
        turn[:, 0, :, :, 3:] = N[:, None] * np.eye(3)[:, None, :]
        normal = np.cross(g[:, 0], g[:, 1])
        normal = normal / np.linalg.norm(normal, axis=1)[:, None]
        shape = (n_e, 3, 3, 6 * all_)
        director = np.einsum("a,eac->ec", N[:nn], self.directors[:, :nn])
        return ShellKinematics(g, du.reshape(shape), turn.reshape(shape), normal, director)

    @functools.cached_property
    def _first_axis(self) -> Array:
        """Direction (ne, 3) of the first local axis.

        The orientation of the section, or from the first corner to the second.
        """
        if self.section.first_axis is not None:
            return np.broadcast_to(
                np.asarray(self.section.first_axis, dtype=float), (len(self.ids), 3)
            )
        side = self.x[:, 1] - self.x[:, 0]
        return np.asarray(side / np.linalg.norm(side, axis=1)[:, None])

    def axes_at(self, at: ShellKinematics) -> Array:
        """Local axes of the shells at a point, as rows (ne, 3, 3).

        The first axis is turned into the tangent plane; the last is the normal.
        """
        e1 = (
            self._first_axis
            - at.normal * np.einsum("ec,ec->e", self._first_axis, at.normal)[:, None]
        )
        size = np.linalg.norm(e1, axis=1)
        bad = size < ALONG * np.linalg.norm(self._first_axis, axis=1)
        if bad.any():
            raise InputError(
                f"section: orientation is normal to element {self.ids[bad][0]}; give a "
                "direction along its surface"
            )
        e1 = e1 / size[:, None]
        if self.section.turn:
            c, s = np.cos(np.radians(self.section.turn)), np.sin(np.radians(self.section.turn))
            e1 = c * e1 + s * np.cross(at.normal, e1)
        return np.stack([e1, np.cross(at.normal, e1), at.normal], axis=1)

    def _across(self, r: float, s: float) -> Array:
        """Transverse shear 2 e_rζ and 2 e_sζ (ne, 2, n) at a point of the surface of the nodes."""
        at = self.kinematics(r, s)
        return np.einsum("eic,ecn->ein", at.g[:, :2], at.du[:, 2]) + np.einsum(
            "ec,eicn->ein", at.g[:, 2], at.du[:, :2]
        )

    def _in_plane(self, z: Array) -> Strains:
        """In-plane strains e_rr, e_ss and 2 e_rs (ne, 3, n) at heights z."""

        def strains(r: float, s: float) -> Array:
            """In-plane strains at (r, s) per degree of freedom."""
            at = self.kinematics(r, s, z)
            e = np.einsum("eic,ejcn->eijn", at.g[:, :2], at.du[:, :2])
            return np.stack([e[:, 0, 0], e[:, 1, 1], e[:, 0, 1] + e[:, 1, 0]], axis=1)

        return strains

    def _strain(self, r: float, s: float, z: Array) -> tuple[Array, Array, Array]:
        """Strains 11, 22, 12, 13, 23 in local axes, and (θ − ω)·d except for tri3 (ne, 5 or 6, n).

        Without `_modes`; also the axes, and det g (ne,).
        """
        at = self.kinematics(r, s, z)
        axes = self.axes_at(at)
        e = np.zeros((len(at.g), 3, 3, at.du.shape[3]))
        plane = self.scheme.plane(r, s, self._in_plane(z))
        e[:, 0, 0], e[:, 1, 1] = plane[:, 0], plane[:, 1]
        e[:, 0, 1] = e[:, 1, 0] = 0.5 * plane[:, 2]
        e[:, :2, 2] = e[:, 2, :2] = 0.5 * self.scheme.across(r, s, self._across)
        to_local = axes @ np.linalg.inv(at.g)  # e_a · gⁱ
        local = np.einsum("eai,ebj,eijn->eabn", to_local, to_local, e, optimize=True)
        B = np.stack(
            [
                local[:, 0, 0],
                local[:, 1, 1],
                2 * local[:, 0, 1],
                2 * local[:, 0, 2],
                2 * local[:, 1, 2],
            ],
            axis=1,
        )
        if self.kind == "tri3":
            B[:, :3] += self._corner_strains(r, s)
            return B, axes, np.linalg.det(at.g)
        middle = self.kinematics(r, s)
        drilling = self._deviation(middle, middle.turn[:, 0], middle.director)
        return np.concatenate([B, drilling[:, None]], axis=1), axes, np.linalg.det(at.g)

    def _deviation(self, at: ShellKinematics, theta: Array, director: Array) -> Array:
        """Drilling strain (θ − ω)·d (ne, n).

        The rotation about a director less that of the surface, which tilts and rotates in its plane
        with u.
        """
        axes = self.axes_at(at)
        du = np.einsum("eai,eicn->eacn", (axes @ np.linalg.inv(at.g))[:, :2, :2], at.du[:, :2])
        slope = np.einsum("ebc,eacn->eabn", axes, du)  # ∂_a u_b
        omega = np.stack(
            [slope[:, 1, 2], -slope[:, 0, 2], 0.5 * (slope[:, 0, 1] - slope[:, 1, 0])], axis=1
        )
        own = np.einsum("eac,ec->ea", axes, director)
        return np.asarray(
            np.einsum("ec,ecn->en", director, theta) - np.einsum("ea,ean->en", own, omega)
        )

    def _corner_strains(self, r: float, s: float) -> Array:
        """Membrane strains (ne, 3, n) due to the drilling rotations of the corners of a tri3."""
        at = self.kinematics(r, s)
        turns = [self.kinematics(a, b).turn[:, 0] for a, b in self.scheme.nodes]
        each = [
            self._deviation(at, turn, d)
            for turn, d in zip(turns, np.moveaxis(self.directors, 1, 0))
        ]
        return np.asarray(self.corner_factors(r, s) @ np.stack(each, axis=1))

    def corner_factors(self, r: float, s: float) -> Array:
        """Membrane strains (ne, 3, 3) per rotation of a tri3's corners about their directors.

        The rotation of the surface is subtracted.
        """
        axes = self.axes_at(self.kinematics(r, s))
        x = np.einsum("eac,eic->eai", self.x, axes[:, :2])
        # a membrane has its moduli in the middle layer alone
        D = next(D for layer in self.layers if (D := self.plane_stress(axes, layer))[0, 0, 0] > 0)
        return drilling_strains(x, D[:, 0, 1] / D[:, 0, 0], np.array([1 - r - s, r, s]))

    def _modes(self, r: float, s: float, z: Array) -> Array:
        """Strains (ne, 5 or 6, m) of further internal modes: m = 4 of a quad4, 2 of a tri3."""
        if self.kind == "quad4":
            return self._membrane_modes(r, s)
        return self._bubble(r, s, z) if self.kind == "tri3" else np.zeros((len(self.ids), 6, 0))

    def _membrane_modes(self, r: float, s: float) -> Array:
        """Strains of the displacements 1 − r² and 1 − s² along both local axes (ne, 6, 4)."""
        found = np.zeros((len(self.ids), 6, 4))
        centre, at = self.kinematics(0.0, 0.0), self.kinematics(r, s)
        J = np.einsum("eic,eac->eia", centre.g[:, :2], self.axes_at(centre)[:, :2])
        ratio = np.linalg.det(centre.g) / np.linalg.det(at.g)
        grad = (
            np.einsum("eai,im->eam", np.linalg.inv(J), np.diag([-2 * r, -2 * s]))
            * ratio[:, None, None]
        )
        for m in range(2):
            found[:, 0, 2 * m] = found[:, 2, 2 * m + 1] = grad[:, 0, m]
            found[:, 1, 2 * m + 1] = found[:, 2, 2 * m] = grad[:, 1, m]
            found[:, 5, 2 * m], found[:, 5, 2 * m + 1] = 0.5 * grad[:, 1, m], -0.5 * grad[:, 0, m]
        return found

    def _bubble(self, r: float, s: float, z: Array) -> Array:
        """Strains of the rotations 27 r s (1 − r − s) about both local axes (ne, 5, 2)."""
        at = self.kinematics(r, s)
        axes = self.axes_at(at)
        tangents = np.einsum("eic,eac->eia", at.g[:, :2], axes[:, :2])
        across = np.stack([-tangents[:, :, 1], tangents[:, :, 0]], axis=2)  # g_i · (e × n)
        to_local = np.linalg.inv(tangents)
        N = self.scheme.functions(r, s)[0]
        height = z @ N
        a, b = (to_local @ (27 * np.array([s * (1 - 2 * r - s), r * (1 - r - 2 * s)]))).T
        found = np.zeros((len(self.ids), 5, 2))
        found[:, 0, 1], found[:, 1, 0] = height * a, -height * b
        found[:, 2, 0], found[:, 2, 1] = -height * a, height * b
        found[:, 3:] = to_local @ self.scheme.across(
            r, s, lambda p, q: 27 * p * q * (1 - p - q) * across
        )
        return found

    def plane_stress(self, axes: Array, layer: Layer) -> Array:
        """Moduli D (ne, 5, 5) of strains 11, 22, 12, 13, 23, with σ₃₃ = 0."""
        if layer.moduli is not None:
            return np.broadcast_to(layer.moduli, (len(axes), 5, 5))
        T = rotated_stress(np.swapaxes(axes, 1, 2))
        return with_free_thickness(
            T @ elasticity(self.material) @ np.swapaxes(T, 1, 2), layer.shear
        )

    def moduli(self, axes: Array, layer: Layer) -> Array:
        """Moduli D (ne, 5, 5), except for tri3 (ne, 6, 6) with γ G for the last."""
        plane = self.plane_stress(axes, layer)
        if self.kind == "tri3":
            return plane
        D = np.zeros((len(axes), 6, 6))
        D[:, :5, :5], D[:, 5, 5] = plane, DRILLING * plane[:, 2, 2]
        return D

    @functools.cached_property
    def elimination(self) -> tuple[Array, Array]:
        """Condensed stiffness (ne, n, n), and internal per nodal amplitudes (ne, m, n).

        Internal are the inner degrees of freedom and modes.
        """
        whole: Array | None = None
        for (r, s), weight in zip(self.scheme.points, self.scheme.weights):
            for layer in self.layers:
                z = self.heights_at(layer.zeta)
                B, axes, det = self._strain(r, s, z)
                if not det.min() > 0:
                    number = self.ids[det.argmin()]
                    raise InputError(
                        f"{self.kind} element {number}: its surface folds, or its "
                        "thickness exceeds a radius; remesh there"
                    )
                B = np.concatenate([B, self._modes(r, s, z)], axis=2)
                DB = self.moduli(axes, layer) * (det * weight * layer.weight)[:, None, None]
                part = np.swapaxes(B, 1, 2) @ DB @ B
                whole = part if whole is None else whole + part
        assert whole is not None
        n = self._size
        if whole.shape[1] == n:
            return whole, np.zeros((len(self.ids), 0, n))
        inner = whole[:, n:, n:]
        if inner.any():
            alpha = -np.linalg.solve(inner, whole[:, n:, :n])
        else:  # a membrane: bubbles of its bending have no stiffness
            alpha = np.zeros_like(whole[:, n:, :n])
        return np.asarray(whole[:, :n, :n] + whole[:, :n, n:] @ alpha), np.asarray(alpha)

    def stiffness(self) -> Array:
        """Element stiffness, with inner nodes eliminated."""
        return self.elimination[0]

    def _points(self, reference: Array, z: Array) -> ElementPoints:
        """Points (p, 2) of the reference element at heights z."""
        nn = self.x.shape[1]
        places, motion, directors, z = [], [], self.directors[:, :nn], z[:, :nn, None]
        for r, s in reference:
            N = self.scheme.functions(r, s)[0][:nn]
            places.append(np.einsum("a,eac->ec", N, self.x + z * directors))
            move = np.zeros((len(self.ids), 3, nn, 6))
            move[..., :3] = N[:, None] * np.eye(3)[:, None, :]
            move[..., 3:] = -(z * N[:, None])[:, None] * skew(directors).transpose(0, 2, 1, 3)
            motion.append(move.reshape(len(self.ids), 3, -1))
        return ElementPoints(np.stack(places, axis=1), np.stack(motion, axis=1))

    def _stacked(self, reference: Array, heights: list[Array]) -> ElementPoints:
        """Points of the element at several heights."""
        found = [self._points(reference, z) for z in heights]
        return ElementPoints(*(np.concatenate(each, axis=1) for each in zip(*found)))

    def mass_points(self) -> tuple[ElementPoints, Array]:
        """Points of the layers with the mass ρ h dA, dA = |g_r × g_s| dr ds of the middle surface.

        On facets of a curved surface interpolated directors are shorter than one, so that det g is
        less than ½ h |g_r × g_s|.
        """
        middle, nn = self.heights_at(0.0), self.x.shape[1]
        area, half = list[Array](), list[Array]()
        for (r, s), weight in zip(self.scheme.points, self.scheme.weights):
            g = self.kinematics(r, s, middle).g
            area.append(weight * np.linalg.norm(np.cross(g[:, 0], g[:, 1]), axis=1))
            half.append(0.5 * self.thickness[:, :nn] @ self.scheme.functions(r, s)[0][:nn])
        dA, dm = np.stack(area, axis=1), np.stack(area, axis=1) * np.stack(half, axis=1)
        if self.lumped:
            return self._lumped_points(dA, dm)
        masses = [layer.rho * layer.weight * dm for layer in self.layers]
        heights = [self.heights_at(layer.zeta) for layer in self.layers]
        if self.section.added_mass:
            masses.append(float(self.section.added_mass) * dA)
            heights.append(middle)
        return self._stacked(self.scheme.points, heights), np.hstack(masses)

    def _lumped_points(self, dA: Array, dm: Array) -> tuple[ElementPoints, Array]:
        """Lumped mass at the height of the plies' centre of mass, added mass at the middle."""
        nn = self.x.shape[1]
        N = np.array([self.scheme.functions(r, s)[0][:nn] for r, s in self.scheme.points])
        weights = np.array([layer.rho * layer.weight for layer in self.layers])
        zeta = weights @ [layer.zeta for layer in self.layers] / (weights.sum() or 1.0)
        stacks = [(float(zeta), weights.sum() * dm)]
        if self.section.added_mass:
            stacks.append((0.0, float(self.section.added_mass) * dA))
        arms = [self.heights_at(at)[:, :nn, None] * self.directors[:, :nn] for at, _ in stacks]
        found = [points_on_arms(self.x + each, each) for each in arms]
        linear = self.kind in ("tri3", "quad4")  # with midside nodes ∫ N_a is zero or negative
        masses = [lumped_mass(each, N, linear=linear) for _, each in stacks]
        return ElementPoints(*(np.concatenate(each, axis=1) for each in zip(*found))), np.hstack(
            masses
        )

    def skin(self) -> tuple[ElementPoints, Indices]:
        """Points on both faces of the shell, and the triangles."""
        nn = self.x.shape[1]
        triangles = np.vstack([self.scheme.triangles[:, ::-1], self.scheme.triangles + nn])
        return self._stacked(
            self.scheme.nodes, [self.heights_at(-1.0), self.heights_at(1.0)]
        ), triangles

    def laminate(self) -> LaminatePoints | None:
        """Material axes at the nodes and data of the plies; None without plies."""
        plies = self.section.ply_data(self.material)
        if plies is None:
            return None
        axes = [
            self.axes_at(self.kinematics(r, s, self.heights_at(0.0))) for r, s in self.scheme.nodes
        ]
        return LaminatePoints(np.stack(axes, axis=1), plies)

    def _nodal(self, B: Array, alpha: Array) -> Array:
        """Strains (ne, r, n) per nodal displacement, without the internal modes."""
        return np.asarray(B[..., : self._size] + B[..., self._size :] @ alpha)

    def whole_strain(self, r: float, s: float, z: Array) -> tuple[Array, Array, Array]:
        """Strains (ne, 5 or 6, n) as in `_strain` per nodal displacement, with internal modes."""
        B, axes, det = self._strain(r, s, z)
        B = np.concatenate([B, self._modes(r, s, z)], axis=2)
        return self._nodal(B, self.elimination[1]), axes, det

    def stress(self) -> Array:
        """Stress on both faces per degree of freedom, at the nodes."""
        found = []
        for layer, zeta in ((self.layers[0], -1.0), (self.layers[-1], 1.0)):
            sampled = []
            for r, s in self.scheme.sampled:
                B, axes, _ = self.whole_strain(r, s, self.heights_at(zeta))
                B[:, 3:] = 0.0  # no transverse shear on the surface
                local = np.zeros((len(self.ids), 6, B.shape[2]))
                local[:, STRAINED] = self.plane_stress(axes, layer) @ B[:, :5]
                sampled.append(rotated_stress(axes) @ local)
            found.append(np.einsum("aq,qecn->eacn", self.scheme.extrapolation, np.stack(sampled)))
        return np.concatenate(found, axis=1)

    def initial_stress_stiffness(
        self, displacements: Array, shapes: Array, forces: Array | None = None
    ) -> Array:
        """Stiffness K0 of the stresses under displacements, for shapes."""
        return second_order_work(
            self, self.of_elements(displacements), self.of_elements(shapes), forces
        )
