"""Errors that dividing a part into pieces makes, against the finite-element model of the whole part.

A piece moves by its frame, t and θ, and by its elastic coordinates q; small motions of the welded pieces, with the reference
interface held, are all that satisfy the welds,

    w_a = w_b  at each cut,    w = (t + θ × x + φ q, θ + ψ q, local displacements),    z = (t, θ, q) of all pieces = N y,

with N a basis of the null space of these equations: the stiffness is NᵀKN, the mass NᵀMN. The displacement of an interface under
unit loads and the lowest frequencies with the reference interface held are compared with those of the whole part, which one
factorization of its stiffness gives exactly. Averaged cuts make a part softer, rigid ones stiffer.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.flexible_body.joined import Pose, poses_of
from flexmbs.flexible_body.parts import FlexibleFrame, FloatArray
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.welds import welds
from preprocess.body.free_body import elastic_frame_motion, mass_matrix, rigid_frame_motion
from preprocess.inputs.warning import PreprocessWarning
from preprocess.reduction.accuracy import LOADS
from preprocess.reduction.statics import InterfaceStatics

FREQUENCIES = 6  # compared
TOLERATED = 0.01  # error of compliance or frequency without a warning


class CutErrors(NamedTuple):
    """Relative errors of the divided part, positive where it is softer: of the ``compliance`` by interface load, and of the
    frequencies (m,) [Hz] of the whole part held at ``reference``."""

    reference: str
    compliance: Mapping[str, float]
    frequency: FloatArray
    frequency_error: FloatArray

    def worst(self) -> tuple[str, float]:
        """What has the largest error, and the error."""
        found = {f"static {load}": error for load, error in self.compliance.items()}
        found |= {f"frequency {f:.4g} Hz": float(e) for f, e in zip(self.frequency, self.frequency_error)}
        return max(found.items(), key=lambda item: abs(item[1]))

    def facts(self) -> dict[str, str | float]:
        """Errors by name, for the provenance."""
        pairs = [f"{f:.6g} Hz {error:.2g}" for f, error in zip(self.frequency, self.frequency_error)]
        found: dict[str, str | float] = {
            "accuracy: pieces, frequencies": float(np.abs(self.frequency_error).max()),
            f"accuracy: pieces, held at {self.reference}": ", ".join(pairs),
        }
        if self.compliance:
            found["accuracy: pieces, compliance"] = max(abs(error) for error in self.compliance.values())
            found["accuracy: pieces, by load"] = ", ".join(f"{load} {error:.2g}" for load, error in self.compliance.items())
        return found


def cut_errors(statics: InterfaceStatics, reference: str, bodies: Sequence[FlexibleBodyData]) -> CutErrors:
    """Errors of bodies welded at their cuts, the first of them with the ``reference`` interface, against the whole part."""
    names = [each.name for each in statics.interfaces]
    held = names.index(reference)
    welded = _Welded.of(bodies, statics.interfaces[held].axes)
    exact = np.diag(statics.interface_compliance(held))
    compliance: dict[str, float] = {}
    for k, name in enumerate(names):
        if k != held:
            error = welded.compliances(name) / exact[6 * k : 6 * k + 6] - 1.0
            compliance |= {f"{name} {load}": float(each) for load, each in zip(LOADS, error)}
    count = min(FREQUENCIES, len(welded.K), statics.free_degrees_of_freedom - 6)
    omega = statics.modes(lambda loads: statics.held_response(loads, held), count=count).omega
    lam = scipy.linalg.eigh(welded.K, welded.M, eigvals_only=True, subset_by_index=(0, count - 1))
    return CutErrors(reference, compliance, omega / (2.0 * np.pi), 1.0 - np.sqrt(np.maximum(lam, 0.0)) / omega)


def warn_of_cuts(errors: CutErrors) -> None:
    """Warn of errors above `TOLERATED`."""
    what, error = errors.worst()
    if abs(error) > TOLERATED:
        cause = "averaged cuts leave warping free" if error > 0 else "rigid cuts prevent deformation, or the modes are few"
        message = (
            f"divide: the pieces together are {'softer' if error > 0 else 'stiffer'} than the whole part, {what} by"
            f" {abs(error):.2g}: {cause}; use cuts='full', fewer pieces or more modes"
        )
        warnings.warn(message, PreprocessWarning, stacklevel=4)


class _Welded(NamedTuple):
    """Small motions of welded pieces: stiffness and mass (n, n) of the independent coordinates; motions (6, n) of the frames by
    name, in mesh axes."""

    K: FloatArray
    M: FloatArray
    frames: Mapping[str, FloatArray]

    @classmethod
    def of(cls, bodies: Sequence[FlexibleBodyData], axes: FloatArray) -> _Welded:
        """Of bodies whose first has its frame at the held interface, which has these axes."""
        poses, ends = poses_of(bodies), np.cumsum([0, *(6 + body.nf for body in bodies)])
        motions = [
            {name: _spread(_motion(frame, pose, axes), ends, k) for name, frame in body.frames.items()}
            for k, (body, pose) in enumerate(zip(bodies, poses))
        ]
        rows = [np.eye(6, ends[-1])]
        for i, j, cut in welds([tuple(body.frames) for body in bodies]):
            local = [_spread(np.pad(bodies[k].frames[cut].local, ((0, 0), (6, 0))), ends, k) for k in (i, j)]
            rows += [motions[i][cut] - motions[j][cut], local[0] - local[1]]
        N = scipy.linalg.null_space(np.vstack(rows) * _lengths(bodies))
        N = N * _lengths(bodies)[:, None]
        K = scipy.linalg.block_diag(*(scipy.linalg.block_diag(np.zeros((6, 6)), body.K_ff) for body in bodies))
        M = scipy.linalg.block_diag(*(mass_matrix(body) for body in bodies))
        return cls(N.T @ K @ N, N.T @ M @ N, {name: B @ N for each in motions for name, B in each.items()})

    def compliances(self, frame: str) -> FloatArray:
        """Displacements (6,) at a frame under its own unit loads."""
        B = self.frames[frame]
        return np.asarray(np.einsum("ij,ji->i", B, scipy.linalg.solve(self.K, B.T, assume_a="pos")))


def _motion(frame: FlexibleFrame, pose: Pose, axes: FloatArray) -> FloatArray:
    """(6, 6 + nf): motion of a frame in mesh axes by that of its piece."""
    R = scipy.linalg.block_diag(axes @ pose.R, axes @ pose.R)
    return np.asarray(R @ np.hstack([rigid_frame_motion(frame), elastic_frame_motion(frame)]))


def _spread(B: FloatArray, ends: FloatArray, k: int) -> FloatArray:
    """Columns of piece k among those of all."""
    found = np.zeros((len(B), ends[-1]))
    found[:, ends[k] : ends[k + 1]] = B
    return found


def _lengths(bodies: Sequence[FlexibleBodyData]) -> FloatArray:
    """Sizes of the coordinates that make their energies alike: 1/√diag M."""
    return np.concatenate([1.0 / np.sqrt(np.diag(mass_matrix(body))) for body in bodies])
