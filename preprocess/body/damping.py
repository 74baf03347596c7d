"""Modal damping: ratios of the modes, and the dampers of the part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from flexmbs.errors import InputError, warn_caller
from flexmbs.flexible_body.components import FloatArray
from preprocess.fe.fe_model import FEModel
from preprocess.inputs.warning import PreprocessWarning

Damping = float | Sequence[float] | Callable[[FloatArray], FloatArray | float]


def damping_ratios(damping: Damping, frequency: FloatArray) -> FloatArray:
    """Damping ratios ζ (nf,) for modes at ``frequency`` (nf,) [Hz].

    Given as one number for all modes, one per mode, or a function of the frequency. Raises
    InputError for negative or missing ratios; warns of ratios above one.
    """
    try:
        given = damping(frequency) if callable(damping) else damping
    except Exception as error:
        raise InputError(
            f"damping: the function raises {type(error).__name__} ({str(error)[:100]}); correct it"
        ) from error
    ratio = np.asarray(given)
    if ratio.dtype.kind not in "iuf":
        raise InputError(
            f"damping: {given!r:.60} is not a ratio; give one number, one per mode or a "
            "function of Hz"
        )
    ratio = ratio.astype(float)
    if ratio.shape not in ((), frequency.shape):
        raise InputError(
            f"damping: {ratio.size} ratios for {frequency.size} modes; give one number, "
            "one per mode or a function of Hz"
        )
    ratio = np.array(np.broadcast_to(ratio, frequency.shape))
    bad = np.flatnonzero(~(ratio >= 0) | ~np.isfinite(ratio))
    if bad.size:
        raise InputError(
            f"damping: ratio {ratio[bad[0]]:g} of mode {bad[0] + 1}; ratios must not be negative"
        )
    high = np.flatnonzero(ratio > 1)
    if high.size:
        warn_caller(
            f"damping: ratio {ratio[high[0]]:g} of mode {high[0] + 1} is above 1 "
            "(critical); is it given in per cent?",
            PreprocessWarning,
        )
    return ratio


def damping_matrix(
    ratio: FloatArray, omega: FloatArray, fe: FEModel, shapes: FloatArray
) -> FloatArray:
    """Damping matrix ``D_ff = diag(2 ζ ω) + Ψᵀ D Ψ`` (nf, nf) of mass-normalised modes Ψ (n, nf).

    D (n, n) are the dampers of the part.
    """
    modal = np.diag(2.0 * ratio * omega)
    if not fe.has_dampers:
        return modal
    own = fe.engine.inner(shapes, fe.damping_product(shapes))
    return np.asarray(modal + 0.5 * (own + own.T))
