"""Reduced body as a structure.

Rigid-body motions r and elastic coordinates q as in `flexmbs.flexible_body.free_body`.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.free_body import elastic_frame_motion, mass_matrix, rigid_frame_motion
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.comparison.structure import FREE, Structure, StructureModes
from preprocess.mesh.rigid_motion import rigid_motion


class ReducedBody(Structure):
    """Structure of a flexible body. Raises InputError for a body without surface."""

    def __init__(self, data: FlexibleBodyData, label: str = "") -> None:
        """Structure of a flexible body with nodal shapes. Raises `InputError`."""
        if data.surface is None:
            raise InputError(
                f"{label or data.name}: has no nodal shapes; reduce the part again, or "
                "load it with its surface"
            )
        self.label, self._data = label or data.name, data
        self.nodes, self.node_ids, self._phi = (
            data.surface.nodes,
            data.surface.node_ids,
            data.surface.phi,
        )
        self.frames = {name: frame.x for name, frame in data.frames.items()}

    def modes(self, held: str, count: int) -> StructureModes:
        """Lowest modes with one interface held, or of the free body."""
        data = self._data
        M, K = mass_matrix(data), scipy.linalg.block_diag(np.zeros((6, 6)), data.K_ff)
        basis = self._elastic_free(M) if held == FREE else self._elastic_held(held)
        omega2, y = scipy.linalg.eigh(basis.T @ K @ basis, basis.T @ M @ basis)
        motion = (basis @ y)[:, :count]
        shapes = rigid_motion(self.nodes) @ motion[:6] + self._phi @ motion[6:]
        return StructureModes(np.sqrt(np.maximum(omega2[:count], 0.0)) / (2 * np.pi), shapes)

    def compliance(self, held: str, moving: str) -> FloatArray:
        """Compliance (6, 6) of an interface with another one held."""
        data = self._data
        relative = elastic_frame_motion(data.frames[moving]) - rigid_frame_motion(
            data.frames[moving]
        ) @ self._following(held)
        return np.asarray(relative @ np.linalg.solve(data.K_ff, relative.T))

    def _following(self, held: str) -> FloatArray:
        """Negative rigid motion of the body frame (6, nf) that keeps the frame ``held`` fixed."""
        frame = self._data.frames[held]
        return np.asarray(np.linalg.solve(rigid_frame_motion(frame), elastic_frame_motion(frame)))

    def _elastic_held(self, held: str) -> FloatArray:
        """Basis of rigid and elastic coordinates with an interface held."""
        return np.vstack([-self._following(held), np.eye(self._data.nf)])

    def _elastic_free(self, M: FloatArray) -> FloatArray:
        """Basis of motions without momentum: shapes balanced by rigid-body motions."""
        return np.vstack([-np.linalg.solve(M[:6, :6], M[:6, 6:]), np.eye(self._data.nf)])
