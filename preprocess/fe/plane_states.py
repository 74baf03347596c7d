"""Materials in plane stress or plane strain in the plane z = 0, for solids extruded along z.

With the components p in the plane (xx, yy, xy) and a across it (zz, yz, zx), σ = C ε gives

    plane stress, σ_a = 0      σ_p = (C_pp − C_pa C_aa⁻¹ C_ap) ε_p
    plane strain, ε_a = 0      σ_p = C_pp ε_p,   σ_a = C_ap ε_p

Without the coupling of p and a, an extruded solid with free faces responds in its plane exactly as
a plane mesh, whatever its thickness, and still moves and bends freely in space: a plane condition
on the nodes would leave no motion for joints across the plane.

Source: O. C. Zienkiewicz, R. L. Taylor, The Finite Element Method, vol. 1, ch. 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preprocess.fe.material import Material

Array = NDArray[np.float64]

PLANE_STRESS = "plane stress"
IN_PLANE, ACROSS = np.array([0, 1, 5]), np.array([2, 3, 4])  # of xx, yy, zz, yz, zx, xy


@dataclass(frozen=True)
class InPlane:
    """Material in a plane state, "plane stress" or "plane strain"."""

    material: Material
    state: str

    @property
    def rho(self) -> float:
        """Density, kg/m³."""
        return self.material.rho

    @property
    def yield_stress(self) -> float | None:
        """Pa, if known."""
        return self.material.yield_stress

    @property
    def elasticity(self) -> Array:
        """Elasticity matrix C (6, 6), Pa, in mesh axes, without coupling of p and a."""
        C = self.stress_matrix
        C[np.ix_(ACROSS, IN_PLANE)] = 0.0
        return C

    @property
    def stress_matrix(self) -> Array:
        """Matrix (6, 6) with σ = S ε, Pa: in plane strain with the stress across the plane."""
        C = np.array(self.material.elasticity, dtype=float)
        C[np.ix_(IN_PLANE, ACROSS)] = 0.0
        if self.state == PLANE_STRESS:
            coupling, own = C[np.ix_(ACROSS, IN_PLANE)], C[np.ix_(ACROSS, ACROSS)]
            C[np.ix_(IN_PLANE, IN_PLANE)] -= coupling.T @ np.linalg.solve(own, coupling)
            C[np.ix_(ACROSS, IN_PLANE)] = 0.0
        return C


def stress_matrix(material: Material) -> Array:
    """Matrix (6, 6) of the stress of a material, its elasticity unless it is in plane strain."""
    return (
        material.stress_matrix
        if isinstance(material, InPlane)
        else np.asarray(material.elasticity, dtype=float)
    )
