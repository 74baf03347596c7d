"""Stress at nodes and derived quantities: von Mises stress, principal stresses and their
directions, strain.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.flexible_body.stress import von_mises

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_TENSOR = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])  # indices of xx yy zz xy yz zx in the tensor


def principal(stress: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Principal stresses σ₁ ≥ σ₂ ≥ σ₃ (..., 3) of stress (..., 6), and their directions (..., 3, 3)
    as unit columns."""
    values, directions = np.linalg.eigh(stress[..., _TENSOR])
    return values[..., ::-1], directions[..., ::-1]


@dataclass(frozen=True, eq=False)
class NodalStress:
    """Stress at m nodes of a body, at one time t () or at all output times t (nt,), in body axes.

    node_ids (m,): numbers in the mesh, one entry per material of a node; positions (m, 3):
    undeformed [m]. stress (m, 6) or (nt, m, 6): components xx, yy, zz, xy, yz, zx [Pa].  compliance
    (m, 6, 6) [1/Pa]. laminated: True if nodes of laminates are included.

    """

    t: FloatArray
    node_ids: IntArray
    positions: FloatArray
    stress: FloatArray
    compliance: FloatArray
    laminated: bool = False

    @property
    def von_mises(self) -> FloatArray:
        """Von Mises stress (m,) or (nt, m), Pa."""
        return von_mises(self.stress)

    @property
    def principal(self) -> FloatArray:
        """Principal stresses, largest first, (m, 3) or (nt, m, 3), Pa."""
        return principal(self.stress)[0]

    @property
    def directions(self) -> FloatArray:
        """Directions of the principal stresses in body axes, one column each, (m, 3, 3) or (nt, m,
        3, 3).
        """
        return principal(self.stress)[1]

    @property
    def strain(self) -> FloatArray:
        """Strain xx, yy, zz and engineering shear strains xy, yz, zx by Hooke's law, (m, 6) or (nt,
        m, 6). Raises InputError for nodes of laminates, whose faces have the rotated material of a
        ply."""
        if self.laminated:
            raise InputError(
                "strain: not defined for nodes of laminated shells; `stress.plies` gives "
                "the stress in their plies"
            )
        return np.asarray(np.einsum("ncd,...nd->...nc", self.compliance, self.stress))
