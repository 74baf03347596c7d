"""Beams with two nodes whose section varies along them: exact for loads at their ends.

The forces of an unloaded beam follow those at its second end, σ(x) = b(L − x) q with the moments
M_z = M_z2 + V_y (L − x) and M_y = M_y2 − V_z (L − x); the strains are C⁻¹ σ, and the motion of a
section is that of the first node and their integral,

    d(x) = R(x) d₁ + ∫₀ˣ bᵀ(x − ξ) C⁻¹(ξ) b(L − ξ) dξ q,    q = F⁻¹ (d₂ − R(L) d₁),    F = ∫₀ᴸ bᵀ C⁻¹ b dξ

with R(x) = bᵀ(x). The stiffness is Γᵀ F⁻¹ Γ with Γ = [−R(L), 1].

Source: Przemieniecki, Theory of Matrix Structural Analysis, section 6.5 (stiffness from
flexibility).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from preprocess.fe.straight_beams import StraightBeams
from preprocess.fe.structural_element import Array

PLACES, WEIGHTS = (
    0.5 * (1 + np.polynomial.legendre.leggauss(16)[0]),
    0.5 * np.polynomial.legendre.leggauss(16)[1],
)


@dataclass(frozen=True, eq=False)
class TaperedBeams(StraightBeams):
    """Beams with two nodes and a section that varies to its second end."""

    def _lever(self, r: float) -> Array:
        """Equilibrium matrix b (ne, 6, 6) from end forces to forces at distance r L."""
        found = np.tile(np.eye(6), (len(self.ids), 1, 1))
        found[:, 5, 1], found[:, 4, 2] = r * self._length, -r * self._length
        return found

    def _flexibility(self, s: float) -> Array:
        """Flexibility ∫₀ˣ bᵀ(x − ξ) C⁻¹ b(L − ξ) dξ (ne, 6, 6) up to x = s L."""
        found = np.zeros((len(self.ids), 6, 6))
        for at, weight in zip(s * PLACES, s * WEIGHTS):
            compliance = weight * self._length[:, None] / self._stiffnesses_at(at)
            found += np.swapaxes(self._lever(s - at), 1, 2) @ (
                compliance[:, :, None] * self._lever(1 - at)
            )
        return found

    @functools.cached_property
    def _end_forces(self) -> Array:
        """End forces q (ne, 6, 12) per motion of both ends."""
        apart = np.concatenate([-np.swapaxes(self._lever(1.0), 1, 2), self._lever(0.0)], axis=2)
        return np.linalg.solve(self._flexibility(1.0), apart)

    def _fields(self, s: float) -> tuple[Array, Array]:
        """Displacements at s per degree of freedom, and their derivatives, by flexibility."""
        value = self._flexibility(s) @ self._end_forces
        value[:, :, :6] += np.swapaxes(self._lever(s), 1, 2)
        slope = (self._lever(1 - s) @ self._end_forces) / self._stiffnesses_at(s)[:, None]
        slope[:, 1] += value[:, 5]
        slope[:, 2] -= value[:, 4]
        return value, slope

    def _local_stiffness(self) -> Array:
        """Stiffness in beam axes from the end forces by flexibility."""
        apart = np.concatenate([-np.swapaxes(self._lever(1.0), 1, 2), self._lever(0.0)], axis=2)
        back = np.kron(np.eye(2), self._to_shear_centre)
        return np.asarray(back.T @ (np.swapaxes(apart, 1, 2) @ self._end_forces) @ back)
