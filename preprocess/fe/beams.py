"""Beams with two nodes (Timoshenko): exact for loads at their ends.

In local axes at the centroid, with ξ = x/L, Φ = 12 E I/(k G A L²) and f = 1/(1 + Φ), the displacement v and the rotation θ of
bending in one plane follow the nodal values (v₁, θ₁, v₂, θ₂) by

    v: f (1 − 3ξ² + 2ξ³ + Φ(1 − ξ)),      f L (ξ − 2ξ² + ξ³ + Φ/2 (ξ − ξ²)),
       f (3ξ² − 2ξ³ + Φ ξ),               f L (−ξ² + ξ³ − Φ/2 (ξ − ξ²))
    θ: f 6(ξ² − ξ)/L,                     f (1 − 4ξ + 3ξ² + Φ(1 − ξ)),
       f 6(ξ − ξ²)/L,                     f (−2ξ + 3ξ² + Φ ξ)

which solve the equations of an unloaded beam; stretch and twist are linear. The strains ε = u′, γ_y = v′ − θ_z, γ_z = w′ + θ_y
and κ = θ′ give the stiffness with D = diag(EA, k_y GA, k_z GA, GJ, EI_y, EI_z).

Mass is at four points of the section, y = ±√(I_z/A) and z = ±√(I_y/A), at each of four Gauss stations: the points have its area
and second moments, hence the rotary inertia.

The initial stress of the section forces N, M, V, T does work on the second-order strains of a section that turns as a rigid
plate, ``u = u₀ + θ × r + ½ θ × (θ × r)``.

Source: Przemieniecki, Theory of Matrix Structural Analysis, sections 5.6, 11.3, 15.2; Friedman and Kosmatka, Computers &
Structures 47 (1993) 473; McGuire, Gallagher, Ziemian, Matrix Structural Analysis, chapter 9 (moments and torque in the geometric
stiffness).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from flexmbs.errors import InputError
from preprocess.fe.sections import BeamSection, SectionData
from preprocess.fe.structure import Array, ElementPoints, Indices, Structure, cross_matrix, quadratic_form, rotated_stress

STATIONS, WEIGHTS = (0.5 * (1 + np.polynomial.legendre.leggauss(4)[0]), 0.5 * np.polynomial.legendre.leggauss(4)[1])
PAIR = 0.5 * (1 + np.polynomial.legendre.leggauss(2)[0])
ALONG = 1e-6  # sine of the angle between beam and orientation that is none


class Fields(NamedTuple):
    """Local displacement and rotation (ne, 6, 12) at a station by the local degrees of freedom, and their derivatives along x."""

    value: Array
    slope: Array


@dataclass(frozen=True, eq=False)
class Beams(Structure):
    """Beams of one section and material."""

    section: BeamSection = field(kw_only=True)

    @functools.cached_property
    def _data(self) -> SectionData:
        C = np.asarray(self.material.elasticity, dtype=float)
        return self.section.data(C[0, 1] / (C[0, 0] + C[0, 1]))

    @functools.cached_property
    def _length(self) -> Array:
        return np.linalg.norm(self.x[:, 1] - self.x[:, 0], axis=1)

    @functools.cached_property
    def axes(self) -> Array:
        """Local axes as rows (ne, 3, 3), in mesh axes. Raises InputError for an orientation along a beam."""
        along = (self.x[:, 1] - self.x[:, 0]) / self._length[:, None]
        if self.section.orientation is None:
            given = np.eye(3)[np.abs(along).argmin(axis=1)]
        else:
            given = np.broadcast_to(np.asarray(self.section.orientation, dtype=float), along.shape)
        across = given - along * np.einsum("ei,ei->e", along, given)[:, None]
        size = np.linalg.norm(across, axis=1)
        bad = size < ALONG * np.linalg.norm(given, axis=1)
        if bad.any():
            raise InputError(f"section: orientation is along element {self.ids[bad][0]}; give a direction across its beams")
        y = across / size[:, None]
        return np.stack([along, y, np.cross(along, y)], axis=1)

    @functools.cached_property
    def _stiffnesses(self) -> Array:
        """(EA, k_y GA, k_z GA, GJ, EI_y, EI_z)."""
        C, d = np.asarray(self.material.elasticity, dtype=float), self._data
        E, G = 1 / np.linalg.inv(C)[0, 0], C[5, 5]
        rigid = 1e6 * E  # no shear deformation
        return np.array([E * d.A, (d.ky * G or rigid) * d.A, (d.kz * G or rigid) * d.A, G * d.J, E * d.Iy, E * d.Iz])

    @functools.cached_property
    def _to_local(self) -> Array:
        """(ne, 12, 12): motion of the centroids in local axes by that of the nodes in mesh axes."""
        offset = cross_matrix(np.array([0.0, *np.asarray(self.section.offset, dtype=float)]))
        T = np.zeros((len(self.ids), 12, 12))
        for k in range(0, 12, 6):
            T[:, k : k + 3, k : k + 3] = T[:, k + 3 : k + 6, k + 3 : k + 6] = self.axes
            T[:, k : k + 3, k + 3 : k + 6] = -offset @ self.axes
        return T

    def _fields(self, s: float) -> Fields:
        """Fields at ξ = s."""
        L = self._length
        value, slope = np.zeros((len(L), 6, 12)), np.zeros((len(L), 6, 12))
        for row in (0, 3):
            value[:, row, row], value[:, row, row + 6] = 1 - s, s
            slope[:, row, row], slope[:, row, row + 6] = -1 / L, 1 / L
        _, GAy, GAz, _, EIy, EIz = self._stiffnesses
        for v, turn, sign, phi in ((1, 5, 1.0, 12 * EIz / (GAy * L**2)), (2, 4, -1.0, 12 * EIy / (GAz * L**2))):
            f, columns = 1 / (1 + phi), [v, turn, v + 6, turn + 6]
            signs = np.array([1.0, sign, 1.0, sign])
            v_ = [1 - 3 * s**2 + 2 * s**3 + phi * (1 - s), L * (s - 2 * s**2 + s**3 + 0.5 * phi * (s - s**2)),
                  3 * s**2 - 2 * s**3 + phi * s, L * (s**3 - s**2 - 0.5 * phi * (s - s**2))]  # fmt: skip
            dv = [(-6 * s + 6 * s**2 - phi) / L, 1 - 4 * s + 3 * s**2 + 0.5 * phi * (1 - 2 * s),
                  (6 * s - 6 * s**2 + phi) / L, 3 * s**2 - 2 * s - 0.5 * phi * (1 - 2 * s)]  # fmt: skip
            r = [6 * (s**2 - s) / L, 1 - 4 * s + 3 * s**2 + phi * (1 - s), 6 * (s - s**2) / L, 3 * s**2 - 2 * s + phi * s]
            dr = [6 * (2 * s - 1) / L**2, (6 * s - 4 - phi) / L, 6 * (1 - 2 * s) / L**2, (6 * s - 2 + phi) / L]
            for into, row, factors in ((value, v, v_), (slope, v, dv), (value, turn, r), (slope, turn, dr)):
                own = 1.0 if row == v else sign
                into[:, row, columns] = own * np.stack(factors, axis=1) * f[:, None] * signs
        return Fields(value, slope)

    def _strains(self, s: float) -> Array:
        """(ε, γ_y, γ_z, κ_x, κ_y, κ_z) per local degree of freedom (ne, 6, 12) at ξ = s."""
        value, slope = self._fields(s)
        B = slope.copy()
        B[:, 1] -= value[:, 5]
        B[:, 2] += value[:, 4]
        return B

    def stiffness(self) -> Array:
        K = np.zeros((len(self.ids), 12, 12))
        for s in PAIR:
            B = self._strains(s)
            K += np.einsum("eri,r,erj,e->eij", B, self._stiffnesses, B, 0.5 * self._length, optimize=True)
        T = self._to_local
        return np.asarray(np.swapaxes(T, 1, 2) @ K @ T)

    def _moved(self, s: float, r: Array) -> ElementPoints:
        """Points r (p, 2) of the section at ξ = s."""
        arm = np.column_stack([np.zeros(len(r)), r])
        value = self._fields(s).value
        local = value[:, None, :3] - cross_matrix(arm) @ value[:, None, 3:]
        back = np.swapaxes(self.axes, 1, 2)[:, None]
        centre = (1 - s) * self.x[:, 0] + s * self.x[:, 1]
        places = centre[:, None] + (arm + [0.0, *np.asarray(self.section.offset, dtype=float)]) @ self.axes
        return ElementPoints(places, back @ local @ self._to_local[:, None])

    def mass_points(self) -> tuple[ElementPoints, Array]:
        d = self._data
        y, z = np.sqrt(d.Iz / d.A), np.sqrt(d.Iy / d.A)
        corners = np.array([[-y, -z], [-y, z], [y, -z], [y, z]])
        found = [self._moved(s, corners) for s in STATIONS]
        mass = self.material.rho * d.A * self._length[:, None] * np.repeat(WEIGHTS / 4, 4)
        return ElementPoints(*(np.concatenate(each, axis=1) for each in zip(*found))), mass

    def skin(self) -> tuple[ElementPoints, Indices]:
        outline = self._data.outline
        m, k = len(outline), np.arange(len(outline))
        ends = [self._moved(s, outline) for s in (0.0, 1.0)]
        after = (k + 1) % m
        sides = np.concatenate([np.column_stack([k, after, m + k]), np.column_stack([after, m + after, m + k])])
        return ElementPoints(*(np.concatenate(each, axis=1) for each in zip(*ends))), sides

    def section_forces(self, s: float) -> Array:
        """N, V_y, V_z, T, M_y, M_z per degree of freedom (ne, 6, 12) at ξ = s, in local axes."""
        return np.asarray(self._stiffnesses[:, None] * self._strains(s) @ self._to_local)

    def stress(self) -> Array:
        d, (low, high) = self._data, (self.section_forces(s) for s in PAIR)
        y, z = d.outline.T
        found = []
        for s in (0.0, 1.0):
            N, _, _, T, My, Mz = np.moveaxis(low + (high - low) * (s - PAIR[0]) / (PAIR[1] - PAIR[0]), 1, 0)
            local = np.zeros((len(self.ids), len(y), 6, 12))
            local[:, :, 0] = N[:, None] / d.A + z[:, None] * My[:, None] / d.Iy - y[:, None] * Mz[:, None] / d.Iz
            local[:, :, 3], local[:, :, 5] = (t[:, None] * T[:, None] for t in d.torsion.T)
            found.append(rotated_stress(self.axes)[:, None] @ local)
        return np.concatenate(found, axis=1)

    def initial_stress_stiffness(self, displacements: Array, shapes: Array) -> Array:
        u, phi = (self._to_local @ self.of_elements(each) for each in (displacements, shapes))
        k, n, d = u.shape[2], phi.shape[2], self._data
        K0 = np.zeros((k, n, n))
        for s, weight in zip(STATIONS, WEIGHTS):
            forces = self._stiffnesses[:, None] * (self._strains(s) @ u) * (weight * self._length)[:, None, None]
            N, Vy, Vz, T, My, Mz = np.moveaxis(forces, 1, 0)
            value, slope = (each @ phi for each in self._fields(s))
            (ax, ay, az), (tx, ty, tz), (dx, dy, dz) = (
                np.moveaxis(each, 1, 0) for each in (slope[:, :3], value[:, 3:], slope[:, 3:])
            )
            pairs = [
                (N, ((ax, ax), (ay, ay), (az, az))),
                (N * d.Iz / d.A, ((dx, dx), (dz, dz))),
                (N * d.Iy / d.A, ((dx, dx), (dy, dy))),
                (-2 * Mz, ((-ax, dz), (az, dx))),
                (2 * My, ((ax, dy), (-ay, dx))),
                (-Mz, ((dx, ty), (tx, dy))),
                (My, ((dx, tz), (tx, dz))),
                (2 * Vy, ((-ax, tz), (az, tx))),
                (2 * Vz, ((ax, ty), (-ay, tx))),
                (Vy, ((tx, ty),)),
                (Vz, ((tx, tz),)),
                (T, ((dy, tz), (-dz, ty))),
            ]
            for force, products in pairs:
                for a, b in products:
                    K0 += quadratic_form(force, a, b)
        return K0
