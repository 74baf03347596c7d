"""Errors of a divided part compared with the finite-element model of the whole part.

The pieces are welded as in `flexmbs.flexible_body.assembled`, with the reference interface held.
The displacement of an interface under unit loads and the lowest frequencies are compared with those
of the whole part, which one factorization of its stiffness gives exactly. Averaged cuts make a part
softer, rigid ones stiffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.errors import warn_caller
from flexmbs.flexible_body.assembled import WeldedPieces
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.undeformed_pieces import poses_of
from preprocess.inputs.warning import PreprocessWarning
from preprocess.reduction.accuracy import LOADS
from preprocess.reduction.interface_statics import InterfaceStatics

# number of lowest frequencies that are compared
FREQUENCIES = 6
# relative error of compliance or frequency without a warning: 1 %, of the size of other modelling
# errors
TOLERATED = 0.01


class CutErrors(NamedTuple):
    """Relative errors of the divided part, positive if it is softer than the whole part.

    Errors of the ``compliance`` by interface load, and of the frequencies (m,) [Hz] of the whole
    part held at ``reference``.
    """

    reference: str
    compliance: Mapping[str, float]
    frequency: FloatArray
    frequency_error: FloatArray

    def worst(self) -> tuple[str, float]:
        """Name and value of the largest error."""
        found = {f"static {load}": error for load, error in self.compliance.items()}
        found |= {
            f"frequency {f:.4g} Hz": float(e) for f, e in zip(self.frequency, self.frequency_error)
        }
        return max(found.items(), key=lambda item: abs(item[1]))

    def facts(self) -> dict[str, str | float]:
        """Errors by name, for the provenance."""
        pairs = [
            f"{f:.6g} Hz {error:.2g}" for f, error in zip(self.frequency, self.frequency_error)
        ]
        found: dict[str, str | float] = {
            "accuracy: pieces, frequencies": float(np.abs(self.frequency_error).max()),
            f"accuracy: pieces, held at {self.reference}": ", ".join(pairs),
        }
        if self.compliance:
            found["accuracy: pieces, compliance"] = max(
                abs(error) for error in self.compliance.values()
            )
            found["accuracy: pieces, by load"] = ", ".join(
                f"{load} {error:.2g}" for load, error in self.compliance.items()
            )
        return found


def cut_errors(
    statics: InterfaceStatics, reference: str, bodies: Sequence[FlexibleBodyData]
) -> CutErrors:
    """Errors of bodies welded at their cuts against the whole part.

    The first body has the ``reference`` interface.
    """
    names = [each.name for each in statics.interfaces]
    held = names.index(reference)
    welded = WeldedPieces.of(bodies, poses_of(bodies))
    # of the first piece, in those of the mesh
    axes = scipy.linalg.block_diag(*(2 * [statics.interfaces[held].axes]))
    motions = {name: axes @ B for name, B in welded.frames.items()}
    exact = np.diag(statics.interface_compliance(held))
    compliance: dict[str, float] = {}
    for k, name in enumerate(names):
        if k != held:
            B = motions[name]  # displacements under its own unit loads: the diagonal of B K⁻¹ Bᵀ
            found = np.einsum("ij,ji->i", B, scipy.linalg.solve(welded.K, B.T, assume_a="pos"))
            error = found / exact[6 * k : 6 * k + 6] - 1.0
            compliance |= {f"{name} {load}": float(each) for load, each in zip(LOADS, error)}
    count = min(FREQUENCIES, len(welded.K), statics.free_degrees_of_freedom - 6)
    omega = statics.modes((held,), count=count).omega
    lam = scipy.linalg.eigh(welded.K, welded.M, eigvals_only=True, subset_by_index=(0, count - 1))
    return CutErrors(
        reference, compliance, omega / (2.0 * np.pi), 1.0 - np.sqrt(np.maximum(lam, 0.0)) / omega
    )


def pieces_damping(bodies: Sequence[FlexibleBodyData]) -> tuple[FloatArray, FloatArray]:
    """Lowest frequencies (m,) [Hz] and damping ratios φᵀDφ / 2ω of bodies welded at their cuts.

    The bodies are held at the reference interface of the first.
    """
    welded = WeldedPieces.of(bodies, poses_of(bodies)).in_modes(FREQUENCIES)
    omega = np.sqrt(np.maximum(np.diag(welded.K), 0.0))
    return omega / (2.0 * np.pi), np.diag(welded.D) / (2.0 * omega)


CAUSES = {  # by the kind of cuts, of too soft and too stiff pieces, with the remedy
    "full": (
        "more patterns of forces act there",
        "cut elsewhere or use fewer pieces",
        "there are too few modes",
        "use more modes",
    ),
    "averaged": (
        "averaged cuts leave warping free",
        "use cuts='full', or fewer pieces",
        "there are too few modes",
        "use more modes",
    ),
    "rigid": (
        "the deformation exceeds that of the modes",
        "use more modes",
        "rigid cuts prevent deformation, or there are too few modes",
        "use cuts='full', fewer pieces or more modes",
    ),
}


def warn_of_cuts(errors: CutErrors, kind: str) -> None:
    """Warn of errors above `TOLERATED` with cuts of this ``kind``."""
    what, error = errors.worst()
    if abs(error) > TOLERATED:
        soft, cut_less, stiff, refine = CAUSES[kind]
        cause, remedy = (soft, cut_less) if error > 0 else (stiff, refine)
        message = (
            f"divide: the pieces together are {'softer' if error > 0 else 'stiffer'} than "
            f"the whole part, {what} by"
            f" {abs(error):.2g}: {cause}; {remedy}"
        )
        warn_caller(message, PreprocessWarning)
