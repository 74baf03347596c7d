"""Static shapes for the forces of dampers inside a part, and estimated errors of its damped poles.

The dampers give the forces ``−D u̇``, D of low rank. A body in the span of a few normal modes is
too stiff at the dampers, so that they move too little and its poles have wrong damping. The static
responses to forces in the range of D supply the missing compliance, as those to unit loads do at
the interfaces.

Poles of the body, free or with one interface held, with Ritz vectors W (M-orthonormal, WᵀKW = Λ)
are those of

    (Λ + s C + s²) y = 0,    C = WᵀDW.

Corrections d = A (s D + s² M) w + w of their vectors w = W y, A the static response, extend the
basis, as in `accuracy`: the distance of a pole to the nearest one of the extended basis estimates
its error.

Source: Craig and Kurdila, Fundamentals of Structural Dynamics (2006), sections 17.3 (residual
flexibility); Bai and Su, SIAM J. Matrix Anal. Appl. 26 (2005) 640 (second-order projection).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from flexmbs.errors import warn_caller
from flexmbs.flexible_body.components import FloatArray
from preprocess.fe.fe_model import FEModel
from preprocess.inputs.warning import PreprocessWarning
from preprocess.reduction.accuracy import FREE, ReducedModel, ritz
from preprocess.reduction.independent_shapes import DEPENDENT, orthonormal
from preprocess.reduction.interface_statics import InterfaceStatics

# number of patterns of damper forces; each adds a static shape to the basis. With more dampers the
# forces are those of the shapes of the basis
MOST = 60
# eigenvalue of D relative to the largest, scaled to a unit diagonal, that is zero but for round-off
RANK = 1e-9
# relative error of a pole without a warning: 2 %, of the size of other errors of damping
TOLERATED = 0.02
AT_LEAST = 3  # number of poles that are judged, even above the band
SLOWEST = 1e-4  # of the band; slower poles are creep, and lost to round-off where dampers hold


class PoleErrors(NamedTuple):
    """Poles s (m,) [rad/s] of the reduced body under a support and estimated relative errors.

    Each pair is represented by the pole with Im s ≥ 0.
    """

    support: str
    poles: np.ndarray
    error: FloatArray

    def fact(self) -> str:
        """Text with frequency, damping ratio and error of each pole."""
        rows = zip(
            np.abs(self.poles) / (2 * np.pi), -self.poles.real / np.abs(self.poles), self.error
        )
        return ", ".join(
            f"{f:.6g} Hz damping {zeta:.3g} error {error:.2g}" for f, zeta, error in rows
        )


def damper_forces(fe: FEModel, shapes: FloatArray) -> FloatArray:
    """Forces (n, r) that span the range of D.

    If its rank is larger than `MOST`, the forces for velocities along some shapes (n, m).
    """
    at, patterns = _range(fe.D)
    # of all processes, of which one has the dampers
    count = int(fe.engine.total(np.array(float(patterns.shape[1]))))
    if count > MOST:
        return fe.damping_product(shapes[:, :MOST])
    own = np.zeros((fe.freedoms.size, count))
    own[at, : patterns.shape[1]] = patterns  # none where this process has no dampers
    return fe.engine.assembled(own)


def _range(D: sp.csr_matrix | None) -> tuple[np.ndarray, FloatArray]:
    """Degrees of freedom (k,) that D damps, and force patterns (k, r) there that span its range.

    If their number exceeds `MOST`, zeros of more than that many columns.
    """
    if D is None:
        return np.zeros(0, np.int64), np.zeros((0, 0))
    at = np.unique(D.nonzero()[0])
    if len(at) > 12 * MOST:  # both ends of a damper may have six each
        return at, np.zeros((len(at), MOST + 1))
    block = D[at][:, at].toarray()
    size = np.sqrt(block.diagonal())
    values, vectors = scipy.linalg.eigh(block / np.outer(size, size))
    return at, size[:, None] * vectors[:, values > RANK * values[-1]]


def pole_errors(
    statics: InterfaceStatics, shapes: FloatArray, band: float
) -> tuple[PoleErrors, ...]:
    """Estimated errors of the damped poles of elastic, M-orthonormal shapes (n, k).

    Poles up to ``band`` [Hz], of the body free and with each interface held.
    """
    reduced = ReducedModel.of(statics, shapes)
    return tuple(
        _errors(reduced, held, 2 * np.pi * band) for held in (None, *range(len(statics.interfaces)))
    )


def pole_facts(found: Sequence[PoleErrors]) -> dict[str, str | float]:
    """Errors by name, for the provenance of a body; warns of errors above `TOLERATED`."""
    found = [each for each in found if len(each.poles)]  # without one where none is within the band
    if not found:
        return {}
    worst = max(
        found, key=lambda each: float(np.nan_to_num(each.error, nan=np.inf).max(initial=0.0))
    )
    k = int(np.nan_to_num(worst.error, nan=np.inf).argmax())
    if not worst.error[k] <= TOLERATED:  # also where it is not a number
        message = (
            f"dampers: the pole at {abs(worst.poles[k]) / (2 * np.pi):.4g} Hz, "
            f"{worst.support}, is off by about"
            f" {worst.error[k]:.2g}; use more modes"
        )
        warn_caller(message, PreprocessWarning)
    facts: dict[str, str | float] = {"accuracy: damped poles": float(worst.error[k])}
    return facts | {f"accuracy: damped poles, {each.support}": each.fact() for each in found}


def _errors(reduced: ReducedModel, held: int | None, omega_max: float) -> PoleErrors:
    """Relative errors of the damped poles of a reduced model for a support."""
    statics = reduced.statics
    moved, lam, V = ritz(reduced, held)
    W = moved @ V
    DW = statics.fe.damping_product(W)
    s, Y = _poles(np.diag(lam), statics.fe.engine.inner(W, DW))
    size = np.abs(s)  # of real poles those within the band: faster ones have decayed
    judged = (size > SLOWEST * omega_max) & ((s.imag > 0) | (size <= omega_max))
    s, Y = s[judged], Y[:, judged]
    m = max(int(np.sum(np.abs(s) <= omega_max)), min(AT_LEAST, len(s)))
    s, Y = s[:m], Y[:, :m]
    better = _extended(statics, (W, DW), lam, (s, Y), held) if m else np.zeros(1, complex)
    support = FREE if held is None else f"held at {statics.interfaces[held].name}"
    return PoleErrors(support, s, np.abs(better[:, None] - s).min(axis=0) / np.abs(s))


def _extended(
    statics: InterfaceStatics,
    basis: tuple[FloatArray, FloatArray],
    lam: FloatArray,
    poles: tuple[np.ndarray, np.ndarray],
    held: int | None,
) -> np.ndarray:
    """Poles improved in the span of Ritz vectors and of corrections of their poles."""
    (W, DW), (s, Y), fe = basis, poles, statics.fe
    MW = fe.mass_product(W)
    loads = DW @ (s * Y) + MW @ (s**2 * Y)
    loads = np.hstack([loads.real, loads.imag])
    response = statics.free_response(loads) if held is None else statics.held_response(loads, held)
    d = response + np.hstack([(W @ Y).real, (W @ Y).imag])
    for _ in range(2):
        d = d - W @ fe.engine.inner(MW, d)
    size = np.sqrt(np.maximum(fe.engine.squares(d, fe.mass_product(d)), 0.0))
    scale = np.linalg.norm(Y, axis=0)
    kept = size > DEPENDENT * np.tile(scale, 2)
    if not kept.any():
        return _poles(np.diag(lam), fe.engine.inner(W, DW))[0]
    d = orthonormal(d[:, kept], fe, size[kept])[1]
    whole = np.hstack([W, d])
    K, D = (
        fe.engine.inner(whole, product(whole))
        for product in (fe.stiffness_product, fe.damping_product)
    )
    return _poles(0.5 * (K + K.T), 0.5 * (D + D.T))[0]


def _poles(K: FloatArray, D: FloatArray) -> tuple[np.ndarray, np.ndarray]:
    """Poles s (m,) of K + s D + s² by magnitude, and their vectors (n, m).

    Each pair is represented by the pole with Im s ≥ 0.
    """
    n = len(K)
    unit = np.sqrt(np.abs(np.diag(K)).mean())  # of time, so that both halves have one size
    A = np.block([[np.zeros((n, n)), unit * np.eye(n)], [-K / unit, -D]])
    s, Y = scipy.linalg.eig(A)
    chosen = np.flatnonzero(s.imag >= -1e-12 * np.abs(s))
    order = chosen[np.argsort(np.abs(s[chosen]), kind="stable")]
    return s[order], Y[:n, order] / np.linalg.norm(Y[:n, order], axis=0)
