"""Interface at a cut of a divided part: average over the cut surface."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from flexmbs.flexible_body.components import FloatArray
from preprocess.fe.interfaces import Averaged
from preprocess.inputs.argument_checks import checked_arguments


@checked_arguments
@dataclass(frozen=True, eq=False)
class FaceAveraged(Averaged):
    """Averaged interface with the mass matrix m = ∫ N Nᵀ dA of a surface as weights.

    The frame has the mean motion of the surface, and its loads are tractions t(x) = a + b × x on
    the surface, with the consistent nodal forces ∫ N t dA.

    The tractions of a tension and of moments about the axes of the surface are those in a slender
    part, so that a weld at such an interface does not disturb bending and contraction.

    face_mass (n, n): m, in the order of the node rows.
    """

    face_mass: sp.csr_matrix = field(kw_only=True)

    def node_weights(self, count: int) -> FloatArray:
        """Weights of the nodes: areas of the faces assigned to each node."""
        return np.asarray(self.face_mass.sum(axis=1)).ravel()

    def _weighted(self, weights: FloatArray, motion: FloatArray) -> FloatArray:
        """Motion of the nodes times the mass matrix of the faces."""
        return np.asarray(self.face_mass @ motion.reshape(len(motion), -1)).reshape(motion.shape)
