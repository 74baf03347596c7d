"""Beams with two and three nodes (Timoshenko).

At a station s on the line of centroids, the displacement v and rotation θ of the section, in its
local axes, and their derivatives along the line are interpolated from the nodes: for two nodes by
the solution of an unloaded beam (`straight_beams`), for three by quadratic functions
(`curved_beams`). The strains ε = u′, γ_y = v′ − θ_z, γ_z = w′ + θ_y and κ = θ′ give the stiffness,
at two Gauss stations, with D = diag(EA, k_y GA, k_z GA, GJ, EI_y, EI_z). Sections whose dimensions
vary along the beam: `tapered_beams`.

Sections that are not doubly symmetric have principal axes y and z through the centroid and a shear
centre e: the shear strains are those of the displacement there, v − e_z θ_x and w + e_y θ_x.

The mass is concentrated at four points of the section, y = ±√(I_z/A) and z = ±√(I_y/A), at each of
four Gauss stations: these points reproduce its area and second moments, hence the rotary inertia;
added mass is on the line of the centroids or shear centres. Lumped mass is at the ends of that
line, with rotary inertia about the line alone.

The initial stress of the section forces N, M, V, T does work on the second-order strains of a
section that turns as a rigid plate, ``u = u₀ + θ × r + ½ θ × (θ × r)``; M acts on the twist by the
third moments of the section too (Wagner's effect).

Source: Przemieniecki, Theory of Matrix Structural Analysis, sections 5.6, 11.3, 15.2; McGuire,
Gallagher, Ziemian, Matrix Structural Analysis, chapter 9 (moments and torque in the geometric
stiffness).
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.free_body import skew
from preprocess.fe.beam_section_base import BeamSection, SectionData
from preprocess.fe.rotation_work import turning_work
from preprocess.fe.structural_element import (
    Array,
    ElementPoints,
    Indices,
    StructuralElement,
    lumped_mass,
    points_on_arms,
    quadratic_form,
    rotated_stress,
)

STATIONS, WEIGHTS = (
    0.5 * (1 + np.polynomial.legendre.leggauss(4)[0]),
    0.5 * np.polynomial.legendre.leggauss(4)[1],
)
PAIR = 0.5 * (1 + np.polynomial.legendre.leggauss(2)[0])
# sine of the angle between beam and orientation below which the orientation is along the beam: the
# cross product has lost six digits
ALONG = 1e-6


class BeamStation(NamedTuple):
    """Section at a station s.

    Local axes as rows (ne, 3, 3); centroid (ne, 3); its displacement and rotation in local axes
    (ne, 6, n) per degree of freedom of the nodes, and their derivatives along the line; length
    (ne,) per s.
    """

    axes: Array
    centre: Array
    value: Array
    slope: Array
    length: Array


def _shifted_motion(point: Array) -> Array:
    """Matrix (6, 6): motion of a point y, z of the section from that of the centroid.

    Along the beam the displacement remains that of the centroid.
    """
    S = np.eye(6)
    S[1, 3], S[2, 3] = -point[1], point[0]
    return S


@dataclass(frozen=True, eq=False)
class Beams(StructuralElement):
    """Beams of one section and material."""

    section: BeamSection = field(kw_only=True)
    stressed: ClassVar[tuple[Array, Array]] = STATIONS, WEIGHTS
    """Stations and weights of the geometric stiffness."""
    places: ClassVar[tuple[float, ...]] = (0.0, 1.0)
    """Fractions of the length at which the nodes are."""

    @abstractmethod
    def _station(self, s: float) -> BeamStation:
        """Axes, position and interpolation at the fraction s, 0 … 1, of the length."""

    def _functions_at(self, s: float) -> Array:
        """Interpolation (nn,) of positions at s from the nodes."""
        return np.array([1 - s, s])

    def local_axes(self, s: float) -> Array:
        """Local axes at s as rows (ne, 3, 3), in mesh axes."""
        return self._station(s).axes

    @functools.cached_property
    def _data(self) -> SectionData:
        return self._data_at(0.0)

    def _data_at(self, s: float) -> SectionData:
        """Section properties at s; principal axes and shear centre are constant.

        Raises InputError for a wall or profile so thin that its area vanishes in double precision.
        """
        C = np.asarray(self.material.elasticity, dtype=float)
        nu, vanishes = C[0, 1] / (C[0, 0] + C[0, 1]), False
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                found = self.section.at(s).data(nu)
            vanishes = not all(0.0 < each < np.inf for each in (found.A, found.Iy, found.Iz))
        except ZeroDivisionError:
            vanishes = True
        if vanishes:
            raise InputError(
                "section: its area or a second moment of area vanishes in double precision; "
                "correct its dimensions"
            )
        return found

    @functools.cached_property
    def _turn(self) -> Array:
        """Principal axes as rows (2, 2) in the axes of the orientation."""
        c, s = np.cos(np.radians(self.section.turn)), np.sin(np.radians(self.section.turn))
        return self._data.turn @ np.array([[c, s], [-s, c]])

    @functools.cached_property
    def _offset(self) -> Array:
        """Centroid from the line between the nodes, in local axes."""
        return np.array(
            [0.0, *(self._turn @ np.asarray(self.section.offset, dtype=float) - self._line)]
        )

    @functools.cached_property
    def _line(self) -> Array:
        """Position y, z of the reference point for offsets, from the centroid."""
        places = {"shear-centre": self._data.shear_centre, "origin": self._data.origin}
        return np.array(places.get(self.section.line, (0.0, 0.0)))

    @functools.cached_property
    def _to_shear_centre(self) -> Array:
        """Matrix (6, 6): motion of the shear centre from that of the centroid.

        Along the beam the displacement remains that of the centroid.
        """
        return _shifted_motion(np.array(self._data.shear_centre))

    def _axes_along(self, along: Array) -> Array:
        """Local axes as rows (ne, 3, 3) for unit tangents.

        Raises InputError for an orientation along a beam.
        """
        if self.section.orientation is None:
            chord = self.x[:, 1] - self.x[:, 0]
            given = np.eye(3)[np.abs(chord).argmin(axis=1)]
        else:
            given = self.section.of_elements("orientation", self.ids)
        across = given - along * np.einsum("ei,ei->e", along, given)[:, None]
        size = np.linalg.norm(across, axis=1)
        bad = size < ALONG * np.linalg.norm(given, axis=1)
        if bad.any():
            raise InputError(
                f"section: orientation is along element {self.ids[bad][0]}; give a "
                "direction across its beams"
            )
        y = across / size[:, None]
        both = np.stack([y, np.cross(along, y)], axis=1)
        return np.concatenate([along[:, None], self._turn @ both], axis=1)

    def _stiffnesses_at(self, s: float) -> Array:
        """Stiffnesses (EA, k_y GA, k_z GA, GJ, EI_y, EI_z)."""
        C, d = np.asarray(self.material.elasticity, dtype=float), self._data_at(s)
        E, G = 1 / np.linalg.inv(C)[0, 0], C[5, 5]
        rigid = 1e6 * E  # no shear deformation
        return np.array(
            [
                E * d.A,
                (d.ky * G or rigid) * d.A,
                (d.kz * G or rigid) * d.A,
                G * d.J,
                E * d.Iy,
                E * d.Iz,
            ]
        )

    def _strains(self, at: BeamStation) -> Array:
        """Strains (ε, γ_y, γ_z, κ_x, κ_y, κ_z) per degree of freedom (ne, 6, n) at a station.

        γ is that of the shear centre.
        """
        B = self._to_shear_centre @ at.slope
        B[:, 1] -= at.value[:, 5]
        B[:, 2] += at.value[:, 4]
        return B

    def stiffness(self) -> Array:
        """Element stiffness (ne, n, n) by two-point quadrature."""
        n = self.dofs.shape[1]
        K = np.zeros((len(self.ids), n, n))
        for s in PAIR:
            at = self._station(s)
            B = self._strains(at)
            K += np.einsum(
                "eri,r,erj,e->eij", B, self._stiffnesses_at(s), B, 0.5 * at.length, optimize=True
            )
        return K

    def _moved(self, at: BeamStation, r: Array) -> ElementPoints:
        """Points r (p, 2) of the section at a station."""
        arm = np.column_stack([np.zeros(len(r)), r])
        local = at.value[:, None, :3] - skew(arm) @ at.value[:, None, 3:]
        return ElementPoints(
            at.centre[:, None] + arm @ at.axes, np.swapaxes(at.axes, 1, 2)[:, None] @ local
        )

    def mass_points(self) -> tuple[ElementPoints, Array]:
        """Points of the mass in the sections, and the mass at each, kg."""
        if self.lumped:
            return self._lumped_points()
        found, mass = [], []
        for s, weight in zip(STATIONS, WEIGHTS):
            d, at = self._data_at(s), self._station(s)
            y, z = np.sqrt(d.Iz / d.A), np.sqrt(d.Iy / d.A)
            points, masses = (
                np.array([[-y, -z], [-y, z], [y, -z], [y, z]]),
                [0.25 * self.material.rho * d.A] * 4,
            )
            if self.section.added_mass:
                points, masses = (
                    np.vstack([points, self._line]),
                    [*masses, float(self.section.added_mass)],
                )
            found.append(self._moved(at, points))
            mass.append(np.outer(weight * at.length, masses))
        return ElementPoints(*(np.concatenate(each, axis=1) for each in zip(*found))), np.hstack(
            mass
        )

    @functools.cached_property
    def _lumps(self) -> list[tuple[Array, Array]]:
        """Arms (ne, nn, 3) of lumped masses, and the masses (ne, nn), kg.

        The rotary inertia J about the axis alone, which no body has, is that of points at ±r along
        the local axes with the masses -J/4r² along x, J/4r² along y and z.
        """
        N = np.array([self._functions_at(s) for s in STATIONS])
        length = np.stack([w * self._station(s).length for s, w in zip(STATIONS, WEIGHTS)], axis=1)

        def lumped(values: list[float]) -> Array:
            """Masses (ne, nn) of values per length at the stations."""
            return lumped_mass(length * values, N, linear=True)

        data = [self._data_at(s) for s in STATIONS]
        rho, axes = self.material.rho, np.stack([self.local_axes(s) for s in self.places], axis=1)
        own = lumped([rho * d.A for d in data])
        found = []
        if self.section.lumped_torsion:
            polar = lumped([rho * (d.Iy + d.Iz) for d in data])
            radius = np.sqrt((data[0].Iy + data[0].Iz) / data[0].A)
            share = polar / (4 * radius**2)
            own = own - 2 * share
            for k, sign in ((0, -1.0), (1, 1.0), (2, 1.0)):
                lever = radius * axes[:, :, k]
                found += [(self._arms + lever, sign * share), (self._arms - lever, sign * share)]
        found.append((self._arms, own))
        if self.section.added_mass:
            line = np.array([0.0, *self._line]) @ axes
            added = lumped([float(self.section.added_mass)] * len(STATIONS))
            found.append((self._arms + line, added))
        return found

    def _lumped_points(self) -> tuple[ElementPoints, Array]:
        """Points at the ends of the arms of the nodes, and the mass at each, kg.

        Released ends of the beam move, their mass remains with the node.
        """
        found = [points_on_arms(self.x + arms, arms) for arms, _ in self._lumps]
        masses = np.hstack([mass for _, mass in self._lumps])
        return ElementPoints(*(np.concatenate(each, axis=1) for each in zip(*found))), masses

    def skin(self) -> tuple[ElementPoints, Indices]:
        """Surface of the beam: outlines of both ends, and the triangles between them."""
        m, k = len(self._data.outline), np.arange(len(self._data.outline))
        ends = [self._moved(self._station(s), self._data_at(s).outline) for s in (0.0, 1.0)]
        after = (k + 1) % m
        sides = np.concatenate(
            [np.column_stack([k, after, m + k]), np.column_stack([after, m + after, m + k])]
        )
        return ElementPoints(*(np.concatenate(each, axis=1) for each in zip(*ends))), sides

    def section_forces(self, s: float) -> Array:
        """Forces N, V_y, V_z, T, M_y, M_z per degree of freedom (ne, 6, n) at s, in local axes.

        T is about the shear centre.
        """
        return np.asarray(self._stiffnesses_at(s)[:, None] * self._strains(self._station(s)))

    def stress(self) -> Array:
        """Stress (ne, s, 6, n) at the outlines of both ends per degree of freedom."""
        low, high = (self.section_forces(s) for s in PAIR)
        found = []
        for s in (0.0, 1.0):
            d = self._data_at(s)
            y, z = d.outline.T
            N, _, _, T, My, Mz = np.moveaxis(
                low + (high - low) * (s - PAIR[0]) / (PAIR[1] - PAIR[0]), 1, 0
            )
            local = np.zeros((len(self.ids), len(y), 6, low.shape[2]))
            local[:, :, 0] = (
                N[:, None] / d.A + z[:, None] * My[:, None] / d.Iy - y[:, None] * Mz[:, None] / d.Iz
            )
            local[:, :, 3], local[:, :, 5] = (t[:, None] * T[:, None] for t in d.torsion.T)
            found.append(rotated_stress(self._station(s).axes)[:, None] @ local)
        return np.concatenate(found, axis=1)

    @property
    @abstractmethod
    def _arms(self) -> Array:
        """Arms from the nodes to the centroids (ne, nn, 3), in mesh axes."""

    def initial_stress_stiffness(
        self, displacements: Array, shapes: Array, forces: Array | None = None
    ) -> Array:
        """Stiffness K0 (k, m, m) of section forces under displacements, for shapes."""
        u, phi = (self.of_elements(each) for each in (displacements, shapes))
        k, n = u.shape[2], phi.shape[2]
        K0 = np.zeros((k, n, n))
        low, high = (self.section_forces(s) @ u for s in PAIR)
        for s, weight in zip(*self.stressed):
            at, d = self._station(s), self._data_at(s)
            inner = (low + (high - low) * (s - PAIR[0]) / (PAIR[1] - PAIR[0])) * (
                weight * at.length
            )[:, None, None]
            N, Vy, Vz, T, My, Mz = np.moveaxis(inner, 1, 0)
            T = T - d.shear_centre[1] * Vy + d.shear_centre[0] * Vz  # about the centroid
            value, slope = at.value @ phi, at.slope @ phi
            (ax, ay, az), (tx, ty, tz), (dx, dy, dz) = (
                np.moveaxis(each, 1, 0) for each in (slope[:, :3], value[:, 3:], slope[:, 3:])
            )
            pairs = [
                (N, ((ax, ax), (ay, ay), (az, az))),
                (N * d.Iz / d.A, ((dx, dx), (dz, dz))),
                (N * d.Iy / d.A, ((dx, dx), (dy, dy))),
                (My * d.third[1] / d.Iy - Mz * d.third[0] / d.Iz, ((dx, dx),)),
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
        return K0 + self._turned_arms(u, phi, forces) - self._turned_points(phi, forces)

    def _turned_arms(self, u: Array, phi: Array, forces: Array | None) -> Array:
        """Second-order work (k, m, m) of the forces between nodes and centroids on the arms.

        The centroids are displaced by a further ½ θ × (θ × arm).
        """
        if not self._arms.any():
            return np.zeros((u.shape[2], phi.shape[2], phi.shape[2]))
        transmitted = self.stiffness() @ u
        if forces is not None:
            transmitted -= np.einsum("epcn,epck->enk", self.mass_points()[0].motion, forces)
        nodal = (*self._arms.shape[:2], 6)
        p, theta = (
            each.reshape(*nodal, -1)[:, :, off]
            for each, off in ((transmitted, slice(3)), (phi, slice(3, 6)))
        )
        dyads = np.einsum("eai,eajk->eakij", self._arms, p)
        return turning_work(
            theta.reshape(-1, *theta.shape[2:]), dyads.reshape(-1, *dyads.shape[2:])
        )

    def _turned_points(self, phi: Array, forces: Array | None) -> Array:
        """Work (k, m, m) of forces on the mass points, which rotate with their sections."""
        if forces is None:
            return np.zeros((1, phi.shape[2], phi.shape[2]))
        if self.lumped:
            return self._turned_lumps(phi, forces)
        K = np.zeros((forces.shape[3], phi.shape[2], phi.shape[2]))
        positions = self.mass_points()[0].positions
        for s, x, f in zip(
            STATIONS, *(np.split(each, len(STATIONS), axis=1) for each in (positions, forces))
        ):
            at = self._station(s)
            theta = np.swapaxes(at.axes, 1, 2) @ (at.value[:, 3:] @ phi)
            K += turning_work(theta, np.einsum("epi,epjk->ekij", x - at.centre[:, None], f))
        return K

    def _turned_lumps(self, phi: Array, forces: Array) -> Array:
        """Work (k, m, m) of forces on lumped masses beside the centroids."""
        nn = self.x.shape[1]
        theta = phi.reshape(len(phi), nn, 6, -1)[:, :, 3:]
        levers = np.stack([arms - self._arms for arms, _ in self._lumps], axis=1)
        f = forces.reshape(len(forces), -1, nn, *forces.shape[2:])
        dyads = np.einsum("epai,epajk->eakij", levers, f)
        return turning_work(
            theta.reshape(-1, *theta.shape[2:]), dyads.reshape(-1, *dyads.shape[2:])
        )
