"""A reduced body as a structure: its six rigid-body motions r beside its elastic coordinates q.

[M_rr, L; Lᵀ, m_ff], diag(0, K_ff),    a frame moves by T_j r + [φ_j; ψ_j] q.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body import FlexibleBodyData, FlexibleFrame, FloatArray
from preprocess.comparison.structure import FREE, Structure, StructureModes
from preprocess.interfaces import rigid_motion


class ReducedBody(Structure):
    """Structure of a flexible body with its surface. Raises InputError without one."""

    def __init__(self, data: FlexibleBodyData, label: str = "") -> None:
        if data.surface is None:
            raise InputError(f"{label or data.name}: holds no nodal shapes; reduce the part again, or load it with its surface")
        self.label, self._data = label or data.name, data
        self.nodes, self.node_ids, self._phi = data.surface.nodes, data.surface.node_ids, data.surface.phi
        self.frames = {name: frame.x for name, frame in data.frames.items()}

    def modes(self, held: str, count: int) -> StructureModes:
        data = self._data
        M, K = self._mass(), scipy.linalg.block_diag(np.zeros((6, 6)), data.K_ff)
        basis = self._elastic_free(M) if held == FREE else self._elastic_held(held)
        omega2, y = scipy.linalg.eigh(basis.T @ K @ basis, basis.T @ M @ basis)
        motion = (basis @ y)[:, :count]
        shapes = rigid_motion(self.nodes) @ motion[:6] + self._phi @ motion[6:]
        return StructureModes(np.sqrt(np.maximum(omega2[:count], 0.0)) / (2 * np.pi), shapes)

    def compliance(self, held: str, moving: str) -> FloatArray:
        data = self._data
        relative = _shape(data.frames[moving]) - _carried(data.frames[moving]) @ self._following(held)
        return np.asarray(relative @ np.linalg.solve(data.K_ff, relative.T))

    def _following(self, held: str) -> FloatArray:
        """Rigid motion of the body frame (6, nf) that keeps the frame ``held`` still, but for its sign."""
        frame = self._data.frames[held]
        return np.asarray(np.linalg.solve(_carried(frame), _shape(frame)))

    def _elastic_held(self, held: str) -> FloatArray:
        return np.vstack([-self._following(held), np.eye(self._data.nf)])

    def _elastic_free(self, M: FloatArray) -> FloatArray:
        """Motions without momentum: the rigid-body part balances that of the shapes."""
        return np.vstack([-np.linalg.solve(M[:6, :6], M[:6, 6:]), np.eye(self._data.nf)])

    def _mass(self) -> FloatArray:
        """Mass matrix of (r, q), (6 + nf, 6 + nf)."""
        data, c = self._data, self._data.first_moment
        skew = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
        rigid = np.block([[data.mass * np.eye(3), -skew], [skew, data.inertia]])
        L = np.vstack([data.S_bar, data.x_cross_S])
        return np.block([[rigid, L], [L.T, data.m_ff]])


def _shape(frame: FlexibleFrame) -> FloatArray:
    return np.vstack([frame.phi, frame.psi])


def _carried(frame: FlexibleFrame) -> FloatArray:
    """Motion of a frame (6, 6) under the rigid motions of the body: t + θ × x and θ."""
    return np.vstack([rigid_motion(frame.x[None])[0], np.eye(6)[3:]])
