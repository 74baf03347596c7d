"""Exporter for Simscape's reduced-order flexible solid (.mat, .npz): stiffness, mass and frames.

Rigid-body modes are included.

Coordinates are the displacements of the frames, U_i = [Tx Ty Tz Rx Ry Rz] one frame after the
other, then modal coordinates in which every frame is fixed (Craig–Bampton form). The body
coordinates z = (rigid motion of the body frame, q) give the motion of the frames as U = E z, hence
with E⁺ of least strain energy and N the modes of E z = 0,

    z = [E⁺ | N] [U; η],   K' = [E⁺ | N]ᵀ diag(0, K_ff) [E⁺ | N],   M' alike with the mass matrix of the undeformed body.

Variables: K, M, D ((6k + m), (6k + m)); origins (k, 3) [m]; quaternions (k, 4), scalar first;
rotations (k, 3, 3); names. Source: MathWorks, Simscape Multibody, Reduced Order Flexible Solid.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.io
import scipy.linalg
from scipy.spatial.transform import Rotation

from flexmbs.errors import InputError
from flexmbs.files.output import atomic_file
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.free_body import elastic_frame_motion, mass_matrix, rigid_frame_motion
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.base import Exporter, missing_fields


class FrameSuperelement(NamedTuple):
    """Superelement in the displacements of k frames and m fixed-interface modes.

    Stiffness, mass and damping (6k + m, 6k + m).
    """

    K: FloatArray
    M: FloatArray
    D: FloatArray


class SimscapeExporter(Exporter):
    """MATLAB or NumPy file of a superelement."""

    kind = "simscape"
    suffixes = (".mat", ".npz")

    def write(self, body: FlexibleBodyData, path: Path) -> list[str]:
        """Write K, M and the frames as .mat or .npz; notes on data that are lost."""
        variables = {**superelement(body)._asdict(), **_frames(body)}
        with atomic_file(path) as draft, open(draft, "wb") as file:
            if path.suffix.lower() == ".npz":
                np.savez(file, **variables)
            else:
                scipy.io.savemat(file, variables)
        lost = (
            "shape integrals beyond K and M, the surface and the geometric stiffness are not "
            "in the file"
        )
        return [lost, *missing_fields(body, "SimscapeExporter", surface=True)]


def superelement(body: FlexibleBodyData) -> FrameSuperelement:
    """Stiffness, mass and damping in frame displacements.

    Raises InputError if the modes do not span the frame displacements.
    """
    n = body.nf
    E = _frame_motion(body)
    if not len(E):
        raise InputError(
            f"{body.name}: has no frames; declare interfaces for the boundary of the solid"
        )
    K, D, M = np.zeros((6 + n, 6 + n)), np.zeros((6 + n, 6 + n)), mass_matrix(body)
    K[6:, 6:], D[6:, 6:] = body.K_ff, body.D_ff
    rank = np.linalg.matrix_rank(E, tol=1e-9 * np.linalg.norm(E, 2))
    if rank < len(E):
        raise InputError(
            f"{body.name}: its {n} modes and 6 rigid-body modes span {rank} of {len(E)} "
            f"displacements of {len(E) // 6} frames; "
            "reduce with more modes, or export fewer frames"
        )
    basis = _boundary_and_modes(E, K, M)
    return FrameSuperelement(
        *(0.5 * (A + A.T) for A in (basis.T @ matrix @ basis for matrix in (K, M, D)))
    )


def _boundary_and_modes(E: FloatArray, K: FloatArray, M: FloatArray) -> FloatArray:
    """Matrix [E⁺, N] of static motions and modes with the frames at rest.

    The motions of least strain energy with unit frame displacements, then the modes with the frames
    at rest.
    """
    null = scipy.linalg.null_space(E)
    inner = null.T @ K @ null
    guess = np.linalg.pinv(E)
    static = guess - null @ np.linalg.solve(inner, null.T @ K @ guess) if null.shape[1] else guess
    if not null.shape[1]:
        return np.asarray(static)
    _, modes = scipy.linalg.eigh(inner, null.T @ M @ null)
    return np.hstack([static, null @ modes])


def _frame_motion(body: FlexibleBodyData) -> FloatArray:
    """Displacements E (6k, 6 + n) of the frames per rigid motion of the body frame and per q.

    In body axes.
    """
    rows = [
        np.hstack([rigid_frame_motion(frame), elastic_frame_motion(frame)])
        for frame in body.frames.values()
    ]
    return np.vstack(rows) if rows else np.zeros((0, 6 + body.nf))


def _frames(body: FlexibleBodyData) -> dict[str, Any]:
    """Origins, rotations and names of the frames."""
    R = np.array([frame.R for frame in body.frames.values()])
    quaternions = Rotation.from_matrix(R).as_quat()[:, [3, 0, 1, 2]]
    origins = np.array([frame.x for frame in body.frames.values()])
    return {
        "origins": origins,
        "quaternions": quaternions,
        "rotations": R,
        "names": np.array(list(body.frames)),
    }
