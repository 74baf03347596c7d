"""Beams with two nodes: exact for loads at their ends.

In local axes, of the shear centre, with ξ = x/L, Φ = 12 E I/(k G A L²) and f = 1/(1 + Φ), the displacement v and the rotation θ
of bending in one plane follow the nodal values (v₁, θ₁, v₂, θ₂) by

    v: f (1 − 3ξ² + 2ξ³ + Φ(1 − ξ)),      f L (ξ − 2ξ² + ξ³ + Φ/2 (ξ − ξ²)),
       f (3ξ² − 2ξ³ + Φ ξ),               f L (−ξ² + ξ³ − Φ/2 (ξ − ξ²))
    θ: f 6(ξ² − ξ)/L,                     f (1 − 4ξ + 3ξ² + Φ(1 − ξ)),
       f 6(ξ − ξ²)/L,                     f (−2ξ + 3ξ² + Φ ξ)

which solve the equations of an unloaded beam; stretch and twist are linear.

Source: Friedman and Kosmatka, Computers & Structures 47 (1993) 473.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from preprocess.fe.beams import Beams, Station
from preprocess.fe.structure import Array, cross_matrix


@dataclass(frozen=True, eq=False)
class StraightBeams(Beams):
    """Beams with two nodes."""

    @functools.cached_property
    def _length(self) -> Array:
        return np.linalg.norm(self.x[:, 1] - self.x[:, 0], axis=1)

    @functools.cached_property
    def _axes(self) -> Array:
        """Local axes as rows (ne, 3, 3), in mesh axes. Raises InputError for an orientation along a beam."""
        return self._axes_along((self.x[:, 1] - self.x[:, 0]) / self._length[:, None])

    @functools.cached_property
    def _to_local(self) -> Array:
        """(ne, 12, 12): motion of the centroids in local axes by that of the nodes in mesh axes."""
        offset = cross_matrix(self._offset)
        T = np.zeros((len(self.ids), 12, 12))
        for k in range(0, 12, 6):
            T[:, k : k + 3, k : k + 3] = T[:, k + 3 : k + 6, k + 3 : k + 6] = self._axes
            T[:, k : k + 3, k + 3 : k + 6] = -offset @ self._axes
        return T

    def _station(self, s: float) -> Station:
        S = self._to_shear_centre
        motion, back = np.kron(np.eye(2), S) @ self._to_local, np.linalg.inv(S)
        value, slope = (back @ each @ motion for each in self._fields(s))
        centre = (1 - s) * self.x[:, 0] + s * self.x[:, 1] + self._offset @ self._axes
        return Station(self._axes, centre, value, slope, self._length)

    def _fields(self, s: float) -> tuple[Array, Array]:
        """Displacement and rotation (ne, 6, 12) at ξ = s by the local degrees of freedom, and their derivatives along x."""
        L = self._length
        value, slope = np.zeros((len(L), 6, 12)), np.zeros((len(L), 6, 12))
        for row in (0, 3):
            value[:, row, row], value[:, row, row + 6] = 1 - s, s
            slope[:, row, row], slope[:, row, row + 6] = -1 / L, 1 / L
        _, GAy, GAz, _, EIy, EIz = self._stiffnesses_at(0.0)
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
        return value, slope
