"""Beams with two nodes: exact for loads at their ends.

In local axes, of the shear centre, with ξ = x/L, Φ = 12 E I/(k G A L²) and f = 1/(1 + Φ), the
displacement v and the rotation θ of bending in one plane follow the nodal values (v₁, θ₁, v₂, θ₂)
by

    v: f (1 − 3ξ² + 2ξ³ + Φ(1 − ξ)),      f L (ξ − 2ξ² + ξ³ + Φ/2 (ξ − ξ²)),
       f (3ξ² − 2ξ³ + Φ ξ),               f L (−ξ² + ξ³ − Φ/2 (ξ − ξ²))
    θ: f 6(ξ² − ξ)/L,                     f (1 − 4ξ + 3ξ² + Φ(1 − ξ)),
       f 6(ξ − ξ²)/L,                     f (−2ξ + 3ξ² + Φ ξ)

which solve the equations of an unloaded beam; stretch and twist are linear.

Degrees of freedom r of the ends that are released from the nodes carry no force: from the others k
they are u_r = −K_rr⁻¹ K_rk u_k, by which they are eliminated from stiffness, mass and stress.

Source: Friedman and Kosmatka, Computers & Structures 47 (1993) 473.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.free_body import skew
from preprocess.fe.beams import PAIR, STATIONS, Beams, BeamStation
from preprocess.fe.rotation_work import turning_work
from preprocess.fe.structural_element import Array

# length between the ends of the rigid arms relative to that between the nodes, below which the beam
# has no length
SHORT = 1e-9
# stiffness relative to that of single degrees of freedom, below which a released beam is a
# mechanism
FREE = 1e-10


@dataclass(frozen=True, eq=False)
class StraightBeams(Beams):
    """Beams with two nodes."""

    @property
    def releases(self) -> bool:
        return any(self.section.released)

    def without_releases(self) -> Self:
        """The same beams without hinges at their ends."""
        return replace(self, section=replace(self.section, released=("", "")))

    @functools.cached_property
    def _ends(self) -> Array:
        """Both ends (ne, 2, 3) of the line from which the offset is measured."""
        return (
            self.x
            if self.section.ends is None
            else self.x + self.section.of_elements("ends", self.ids)
        )

    @functools.cached_property
    def _length(self) -> Array:
        return np.linalg.norm(self._ends[:, 1] - self._ends[:, 0], axis=1)

    @functools.cached_property
    def _axes(self) -> Array:
        """Local axes as rows (ne, 3, 3), in mesh axes.

        Raises InputError for an orientation along a beam, and for zero length.
        """
        short = ~(self._length > SHORT * np.linalg.norm(self.x[:, 1] - self.x[:, 0], axis=1))
        if short.any():
            raise InputError(
                f"section: ends: element {self.ids[short][0]} has no length between its "
                "ends; give others"
            )
        return self._axes_along((self._ends[:, 1] - self._ends[:, 0]) / self._length[:, None])

    @functools.cached_property
    def _arms(self) -> Array:
        return np.asarray(self._ends - self.x + (self._offset @ self._axes)[:, None])

    @functools.cached_property
    def _to_local(self) -> Array:
        """Transformation (ne, 12, 12) from nodes in mesh axes to end centroids in local axes."""
        arms = self._arms
        T = np.zeros((len(self.ids), 12, 12))
        for end, k in enumerate((0, 6)):
            T[:, k : k + 3, k : k + 3] = T[:, k + 3 : k + 6, k + 3 : k + 6] = self._axes
            T[:, k : k + 3, k + 3 : k + 6] = -self._axes @ skew(arms[:, end])
        return self._released @ T if self.releases else T

    @functools.cached_property
    def _released(self) -> Array:
        """Motion (ne, 12, 12) of the end centroids per motion of the nodes there, in local axes.

        Raises InputError if the beam moves freely without the released degrees of freedom.
        """
        rows = [
            6 * end + int(c) - 1
            for end, given in enumerate(self.section.released)
            for c in sorted(set(given))
        ]
        along = np.eye(3)
        along[1:, 1:] = self._turn
        # motion of the point whose degrees of freedom are released by that of the centroid
        to_line = np.eye(6)
        to_line[:3, 3:] = -skew(np.array([0.0, *self._line]))
        # from the axes of the orientation there
        back = np.kron(np.eye(2), np.linalg.inv(to_line) @ np.kron(np.eye(2), along))
        K = back.T @ self._local_stiffness() @ back
        own = K[:, rows][:, :, rows]
        size = np.sqrt(np.diagonal(own, axis1=1, axis2=2))
        least = np.linalg.eigvalsh(own / (size[:, :, None] * size[:, None]))[:, 0]
        if not least.min() > FREE:
            raise InputError(
                f"section: released: element {self.ids[np.argmin(least)]} moves without "
                "force; keep it at one of its ends"
            )
        T = np.tile(np.eye(12), (len(self.ids), 1, 1))
        T[:, rows] = -np.linalg.solve(own, K[:, rows])
        T[:, :, rows] = 0.0
        return np.asarray(back @ T @ np.linalg.inv(back))

    def _local_stiffness(self) -> Array:
        """Stiffness K (ne, 12, 12) for the motion of the centroids at the ends in local axes."""
        back = np.kron(np.eye(2), self._to_shear_centre)
        K = np.zeros((len(self.ids), 12, 12))
        for s in PAIR:
            value, B = self._fields(s)
            B[:, 1] -= value[:, 5]
            B[:, 2] += value[:, 4]
            K += np.einsum(
                "eri,r,erj,e->eij", B, self._stiffnesses_at(s), B, 0.5 * self._length, optimize=True
            )
        return np.asarray(back.T @ K @ back)

    def stiffness(self) -> Array:
        """Element stiffness in global axes."""
        K = np.swapaxes(self._to_local, 1, 2) @ self._local_stiffness() @ self._to_local
        return 0.5 * (K + np.swapaxes(K, 1, 2))

    def _station(self, s: float) -> BeamStation:
        """Axes, position and interpolation at the fraction s of the length."""
        S = self._to_shear_centre
        motion, back = np.kron(np.eye(2), S) @ self._to_local, np.linalg.inv(S)
        value, slope = (back @ each @ motion for each in self._fields(s))
        centre = (1 - s) * self._ends[:, 0] + s * self._ends[:, 1] + self._offset @ self._axes
        return BeamStation(self._axes, centre, value, slope, self._length)

    def _turned_points(self, phi: Array, forces: Array | None) -> Array:
        """Add the work on the line, whose end tangents are displaced by a further ½ θ × (θ × e_x).

        The line follows these tangents by the functions of its slopes, and is linear along itself;
        the sections keep their rotation vectors, so that their functions are these less linear
        ones. This makes rigid rotations exact.
        """
        K = super()._turned_points(phi, forces)
        if forces is None or self.lumped:  # the line follows the nodes at its ends
            return K
        positions = self.mass_points()[0].positions
        # conjugate to ½ θ × (θ × e_x) of the ends
        pull = np.zeros((len(self.ids), 2, 3, forces.shape[3]))
        for s, x, f in zip(
            STATIONS, *(np.split(each, len(STATIONS), axis=1) for each in (positions, forces))
        ):
            value, arms = self._by_ends(s), x - self._station(s).centre[:, None]
            force, moment = (
                self._axes @ f.sum(axis=1),
                self._axes @ np.cross(arms[..., None], f, axis=2).sum(axis=1),
            )
            for end, linear in enumerate((1 - s, s)):
                y, z = 6 * end + 4, 6 * end + 5
                pull[:, end, 0] += (0.5 * self._length * (s - value[:, 0, 6]))[:, None] * force[
                    :, 0
                ]
                pull[:, end, 1] += (
                    value[:, 1, z, None] * force[:, 1]
                    + (value[:, 5, z, None] - linear) * moment[:, 2]
                )
                pull[:, end, 2] -= (
                    value[:, 2, y, None] * force[:, 2]
                    + (value[:, 4, y, None] - linear) * moment[:, 1]
                )
        for end in (0, 1):
            dyads = np.zeros((len(self.ids), forces.shape[3], 3, 3))
            dyads[:, :, 0] = np.swapaxes(pull[:, end], 1, 2)
            K += turning_work(self._station(float(end)).value[:, 3:] @ phi, dyads)
        return K

    def _by_ends(self, s: float) -> Array:
        """Displacement and rotation (ne, 6, 12) of the centroid at ξ = s per motion of the ends.

        In local axes. Released or not.
        """
        S = self._to_shear_centre
        value = np.linalg.inv(S) @ self._fields(s)[0] @ np.kron(np.eye(2), S)
        return value @ self._released if self.releases else value

    def _fields(self, s: float) -> tuple[Array, Array]:
        """Displacement and rotation (ne, 6, 12) at ξ = s per degree of freedom, and x derivatives.

        In local axes.
        """
        L = self._length
        value, slope = np.zeros((len(L), 6, 12)), np.zeros((len(L), 6, 12))
        for row in (0, 3):
            value[:, row, row], value[:, row, row + 6] = 1 - s, s
            slope[:, row, row], slope[:, row, row + 6] = -1 / L, 1 / L
        _, GAy, GAz, _, EIy, EIz = self._stiffnesses_at(0.0)
        for v, turn, sign, phi in (
            (1, 5, 1.0, 12 * EIz / (GAy * L**2)),
            (2, 4, -1.0, 12 * EIy / (GAz * L**2)),
        ):
            f, columns = 1 / (1 + phi), [v, turn, v + 6, turn + 6]
            signs = np.array([1.0, sign, 1.0, sign])
            v_ = [
                1 - 3 * s**2 + 2 * s**3 + phi * (1 - s),
                L * (s - 2 * s**2 + s**3 + 0.5 * phi * (s - s**2)),
                3 * s**2 - 2 * s**3 + phi * s,
                L * (s**3 - s**2 - 0.5 * phi * (s - s**2)),
            ]
            dv = [(-6 * s + 6 * s**2 - phi) / L, 1 - 4 * s + 3 * s**2 + 0.5 * phi * (1 - 2 * s),
                  (6 * s - 6 * s**2 + phi) / L, 3 * s**2 - 2 * s - 0.5 * phi * (1 - 2 * s)]  # fmt: skip
            r = [
                6 * (s**2 - s) / L,
                1 - 4 * s + 3 * s**2 + phi * (1 - s),
                6 * (s - s**2) / L,
                3 * s**2 - 2 * s + phi * s,
            ]
            dr = [
                6 * (2 * s - 1) / L**2,
                (6 * s - 4 - phi) / L,
                6 * (1 - 2 * s) / L**2,
                (6 * s - 2 + phi) / L,
            ]
            for into, row, factors in (
                (value, v, v_),
                (slope, v, dv),
                (value, turn, r),
                (slope, turn, dr),
            ):
                own = 1.0 if row == v else sign
                into[:, row, columns] = own * np.stack(factors, axis=1) * f[:, None] * signs
        return value, slope
