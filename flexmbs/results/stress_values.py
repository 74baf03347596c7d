"""Stress at nodes and derived quantities.

Von Mises stress, principal stresses and their directions, strain.
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
    """Principal stresses σ₁ ≥ σ₂ ≥ σ₃ (..., 3) of stress (..., 6), and their directions.

    The directions (..., 3, 3) are unit columns.
    """
    values, directions = np.linalg.eigh(stress[..., _TENSOR])
    return values[..., ::-1], directions[..., ::-1]


@dataclass(frozen=True, eq=False)
class NodalStress:
    """Stress at m nodes of a body, in body axes.

    At one time t () or at all output times t (nt,). node_ids (m,): numbers in the mesh, one entry
    per material of a node; positions (m, 3): undeformed [m]. stress (m, 6) or (nt, m, 6):
    components xx, yy, zz, xy, yz, zx [Pa]. compliance (m, 6, 6) [1/Pa]. laminated: True if nodes of
    laminates are included.

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
        """Directions of the principal stresses in body axes, (m, 3, 3) or (nt, m, 3, 3).

        One column each.
        """
        return principal(self.stress)[1]

    @property
    def strain(self) -> FloatArray:
        """Strain by Hooke's law, (m, 6) or (nt, m, 6).

        Components xx, yy, zz and engineering shear strains xy, yz, zx. Raises InputError for nodes
        of laminates, whose faces have the rotated material of a ply.
        """
        if self.laminated:
            raise InputError(
                "strain: not defined for nodes of laminated shells; `stress.plies` gives "
                "the stress in their plies"
            )
        return np.asarray(np.einsum("ncd,...nd->...nc", self.compliance, self.stress))
