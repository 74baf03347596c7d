"""Beams with three nodes, straight or curved: position, displacement and rotation are quadratic.

    x = Σ N_a (x_a + Rᵀ_a o),    u = Σ N_a (u_a + θ_a × Rᵀ_a o),    θ = Σ N_a θ_a

with o the offset of the centroid in the local axes R_a of each node. Strains at two Gauss stations
do not lock, and only rigid motions are free of strain.

Source: Hughes, The Finite Element Method, section 5.4 (reduced integration of Timoshenko beams).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from flexmbs.flexible_body.free_body import skew
from preprocess.fe.beams import PAIR, Beams, BeamStation
from preprocess.fe.structural_element import Array


def _functions(s: float) -> tuple[Array, Array]:
    """Shape functions N (3,) of the ends and the middle, and their derivatives."""
    return np.array([(1 - s) * (1 - 2 * s), s * (2 * s - 1), 4 * s * (1 - s)]), np.array(
        [4 * s - 3, 4 * s - 1, 4 - 8 * s]
    )


@dataclass(frozen=True, eq=False)
class CurvedBeams(Beams):
    """Beams with three nodes: the ends and the middle."""

    places = (0.0, 1.0, 0.5)
    stressed = PAIR, np.full(2, 0.5)  # those of the stiffness, at which forces are in equilibrium

    def _functions_at(self, s: float) -> Array:
        return _functions(s)[0]

    @functools.cached_property
    def _arms(self) -> Array:
        return np.stack(
            [self._offset @ self._axes_along(self._tangent(self.x, s)[0]) for s in self.places],
            axis=1,
        )

    @staticmethod
    def _tangent(x: Array, s: float) -> tuple[Array, Array]:
        """Unit tangents (ne, 3) of the line through x (ne, 3, 3), and its length per s (ne,)."""
        d = np.einsum("a,eac->ec", _functions(s)[1], x)
        length = np.linalg.norm(d, axis=1)
        return d / length[:, None], length

    def _station(self, s: float) -> BeamStation:
        """Axes, position and interpolation of the elements at the fraction s of their length."""
        centroids = self.x + self._arms
        along, length = self._tangent(centroids, s)
        axes, (N, dN) = self._axes_along(along), _functions(s)
        value, slope = (self._interpolated(factors, axes) for factors in (N, dN))
        return BeamStation(
            axes, np.einsum("a,eac->ec", N, centroids), value, slope / length[:, None, None], length
        )

    def _interpolated(self, factors: Array, axes: Array) -> Array:
        """Sum of factors_a times displacement and rotation of the centroids (ne, 6, 18).

        In local axes.
        """
        found = np.zeros((len(self.ids), 6, 3, 6))
        for a, factor in enumerate(factors):
            found[:, :3, a, :3] = found[:, 3:, a, 3:] = factor * axes
            found[:, :3, a, 3:] = -factor * axes @ skew(self._arms[:, a])
        return found.reshape(len(self.ids), 6, 18)
