"""Trusses: bars that transmit forces along their axis only.

Their nodes have no rotation.

K = EA/L t tᵀ of the elongation t·(u₂ − u₁),    mass at two Gauss stations: the consistent one; or
half of it at each node, which moves with the node (lumped), or along the bar by the share β of the
elongation less: ρ A L (5/12, 1/12) along the bar, (1/2, 0) across it (coupled, as in Nastran).

Source of the coupled mass: MSC Nastran, Dynamic Analysis User's Guide, coupled mass of CROD.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np

from preprocess.fe.structural_element import (
    Array,
    ElementPoints,
    Indices,
    StructuralElement,
    quadratic_form,
    rotated_stress,
)
from preprocess.fe.truss_section import TrussSection

STATIONS = 0.5 * (1 + np.array([-1.0, 1.0]) / np.sqrt(3.0))
BETA = 0.5 * (1 - np.sqrt(2 / 3))  # β (1 − β) = 1/12


@dataclass(frozen=True, eq=False)
class Trusses(StructuralElement):
    """Trusses of one section and material."""

    section: TrussSection = field(kw_only=True)
    rotates = False

    @property
    def dofs(self) -> Indices:
        return (3 * self.connectivity[..., None] + np.arange(3)).reshape(len(self.connectivity), 6)

    @functools.cached_property
    def _length(self) -> Array:
        return np.linalg.norm(self.x[:, 1] - self.x[:, 0], axis=1)

    @functools.cached_property
    def axes(self) -> Array:
        """Local axes as rows (ne, 3, 3): along the bar, and two across it."""
        along = (self.x[:, 1] - self.x[:, 0]) / self._length[:, None]
        y = np.cross(along, np.eye(3)[np.abs(along).argmin(axis=1)])
        y = y / np.linalg.norm(y, axis=1)[:, None]
        return np.stack([along, y, np.cross(along, y)], axis=1)

    @functools.cached_property
    def _force(self) -> Array:
        """Normal force N (ne, 6) per degree of freedom."""
        E = 1 / np.linalg.inv(np.asarray(self.material.elasticity, dtype=float))[0, 0]
        t = self.axes[:, 0] * (E * float(self.section.area) / self._length)[:, None]
        return np.hstack([-t, t])

    def stiffness(self) -> Array:
        """Element stiffness (ne, 6, 6)."""
        t = np.hstack([-self.axes[:, 0], self.axes[:, 0]])
        return t[:, :, None] * self._force[:, None, :]

    def _points(self, s: float, r: Array) -> ElementPoints:
        """Points r (p, 2) of the cross-section at the fraction s of the length."""
        motion = np.hstack([(1 - s) * np.eye(3), s * np.eye(3)])
        centre = (1 - s) * self.x[:, 0] + s * self.x[:, 1]
        places = centre[:, None] + np.column_stack([np.zeros(len(r)), r]) @ self.axes
        return ElementPoints(places, np.broadcast_to(motion, (*places.shape, 6)))

    def mass_points(self) -> tuple[ElementPoints, Array]:
        """Two points of the mass in each truss, and the mass at each, kg."""
        stations = STATIONS if self.mass == "consistent" else (0.0, 1.0)
        found = [self._points(s, np.zeros((1, 2))) for s in stations]
        if self.mass == "coupled":
            along = np.einsum("ei,ej->eij", self.axes[:, 0], self.axes[:, 0])
            shift = BETA * np.concatenate([-along, along], axis=2)[:, None]
            found = [each._replace(motion=each.motion + sign * shift)
                     for each, sign in zip(found, (1.0, -1.0))]  # fmt: skip
        mass = (
            0.5
            * (self.material.rho * float(self.section.area) + float(self.section.added_mass))
            * self._length
        )
        return ElementPoints(*(np.concatenate(each, axis=1) for each in zip(*found))), np.tile(
            mass[:, None], 2
        )

    def skin(self) -> tuple[ElementPoints, Indices]:
        """Surface of the truss: outlines of both ends, and the triangles between them."""
        outline = self.section.outline
        m, k = len(outline), np.arange(len(outline))
        ends = [self._points(s, outline) for s in (0.0, 1.0)]
        after = (k + 1) % m
        sides = np.concatenate(
            [np.column_stack([k, after, m + k]), np.column_stack([after, m + after, m + k])]
        )
        return ElementPoints(*(np.concatenate(each, axis=1) for each in zip(*ends))), sides

    def stress(self) -> Array:
        """Axial stress at the outlines per degree of freedom."""
        local = np.zeros((len(self.ids), 6, 6))
        local[:, 0] = self._force / float(self.section.area)
        found = rotated_stress(self.axes) @ local
        return np.repeat(found[:, None], 2 * len(self.section.outline), axis=1)

    def initial_stress_stiffness(
        self, displacements: Array, shapes: Array, forces: Array | None = None
    ) -> Array:
        """Stiffness K0 (k, m, m) of the axial forces under displacements, for shapes."""
        u, phi = self.of_elements(displacements), self.of_elements(shapes)
        N = np.einsum("en,enk->ek", self._force, u)
        K0 = np.zeros((u.shape[2], phi.shape[2], phi.shape[2]))
        for change in np.moveaxis(phi[:, 3:] - phi[:, :3], 1, 0):
            K0 += quadratic_form(N / self._length[:, None], change, change)
        return K0 if forces is None or self.mass != "coupled" else K0 - self._shifted(phi, forces)

    def _shifted(self, phi: Array, forces: Array) -> Array:
        """Work (k, m, m) of forces on the points that the elongation shifts, to second order.

        With Δ = u₂ − u₁, across the bar Δ', the elongation along the displaced bar is t (t·Δ) + t
        |Δ'|²/2L + (t·Δ) Δ'/L.
        """
        pull = BETA * (forces[:, 0] - forces[:, 1]) / self._length[:, None, None]
        pull = np.einsum("eci,eik->eck", self.axes, pull)
        change = np.einsum("eci,eim->ecm", self.axes, phi[:, 3:] - phi[:, :3])
        K = np.zeros((forces.shape[3], phi.shape[2], phi.shape[2]))
        for c in (1, 2):
            K += quadratic_form(pull[:, 0], change[:, c], change[:, c])
            K += 2 * quadratic_form(pull[:, c], change[:, 0], change[:, c])
        return K
