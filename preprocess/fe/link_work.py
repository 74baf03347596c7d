"""Second-order work of the forces of springs and bushings inside a part.

A spring of length L with the force N along e lengthens by |Δ'|²/2L besides e·Δ, with the part Δ'
across e of Δ = u_b − u_a. A bushing between points that rotate with its ends measures its gap
g = u_b(p) − u_a(p) and its relative rotation δ = θ_b − θ_a on axes that rotate with both ends, by
θ = ½ (θ_a + θ_b). To second order, so that a rigid motion of both is free of work,

    g' = g − θ × g + ½ θ_b × (θ_b × r_b) − ½ θ_a × (θ_a × r_a),    δ' = δ − ½ θ × δ,

with r = p − x of each end; δ' is the vector of the rotation Rₐᵀ R_b. The stiffness is that of twice
the work f·g' + m·δ' of the terms of second order. Springs between coincident nodes have none: their
nodes do not rotate their direction.

Source: Argyris, Comput. Methods Appl. Mech. Eng. 32 (1982) 85 (compound rotations).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.free_body import skew
from preprocess.fe.rotation_work import turning_work


class SpringWork(NamedTuple):
    """Spring k along ``along`` (3,) of some length; motion (3, size): Δ = u_b − u_a."""

    motion: sp.csr_matrix
    along: FloatArray
    k: float
    length: float

    def initial_stress_stiffness(self, displacements: FloatArray, shapes: FloatArray) -> FloatArray:
        """Stiffness K0 (k, m, m) of the forces under displacements (size, k)."""
        force = self.k * (self.along @ (self.motion @ displacements))
        across = (np.eye(3) - np.outer(self.along, self.along)) @ (self.motion @ shapes)
        return np.multiply.outer(force / self.length, across.T @ across)


class BushingWork(NamedTuple):
    """Bushing with stiffness K (6, 6) in mesh axes at arms r (2, 3) from its ends.

    motion (12, size): displacement and rotation of the first and of the second end.
    """

    motion: sp.csr_matrix
    arms: FloatArray
    K: FloatArray

    def initial_stress_stiffness(self, displacements: FloatArray, shapes: FloatArray) -> FloatArray:
        """Stiffness K0 (k, m, m) of forces and moments under displacements (size, k)."""
        load = self.K @ self._gap(displacements)
        gap, turns = self._gap(shapes), self._ends(shapes)[:, 1]
        dyads = np.einsum("ei,jk->ekij", self.arms, load[:3])
        mean = 0.5 * turns.sum(axis=0)
        half = mean.T @ np.stack(
            [skew(f) @ gap[:3] + 0.5 * skew(m) @ gap[3:] for f, m in zip(load[:3].T, load[3:].T)]
        )
        work = turning_work(turns[1:], dyads[1:]) - turning_work(turns[:1], dyads[:1])
        return np.asarray(work + half + half.transpose(0, 2, 1))

    def _ends(self, u: FloatArray) -> FloatArray:
        """Displacements and rotations (end, 2, 3, m)."""
        return np.asarray(self.motion @ u).reshape(2, 2, 3, -1)

    def _gap(self, u: FloatArray) -> FloatArray:
        """Gap g and relative rotation δ (6, m)."""
        ends = self._ends(u)
        at = ends[:, 0] + np.einsum("eij,ejm->eim", -skew(self.arms), ends[:, 1])
        return np.concatenate([at[1] - at[0], ends[1, 1] - ends[0, 1]])


LinkWork = SpringWork | BushingWork
