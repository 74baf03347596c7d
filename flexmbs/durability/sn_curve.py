"""S–N curves and the correction of amplitudes for mean stress."""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError
from flexmbs.signals.signal_arguments import FloatArray, numbers_of_any_shape

CORRECTIONS = ("none", "goodman", "gerber", "swt")


@checked_arguments
@dataclass(frozen=True)
class SNCurve:
    """S–N curve: cycles to failure N = N_D (σ_a/σ_D)^−k for fully reversed amplitudes σ_a > σ_D.

    N_D (σ_a/σ_D)^−k2 below.

    amplitude: σ_D [Pa].  cycles: N_D.  slope: k.  slope_below: k2, by default infinite, an
    endurance limit: smaller amplitudes cause no damage (Miner's original rule); k is Miner's
    elementary rule, 2k − 1 Haibach's modification.  ultimate: tensile strength R_m [Pa], for
    `goodman` and `gerber`.  mean_stress: correction, equivalent amplitude σ_ar of σ_a at the mean
    σ_m:


        goodman  σ_a/(1 − σ_m/R_m)      gerber  σ_a/(1 − (σ_m/R_m)²)      swt  √(σ_max σ_a), 0 for
        σ_max ≤ 0

    Compressive means, σ_m < 0, give no benefit with goodman and gerber; σ_m ≥ R_m fails
    immediately.  Raises InputError. Sources: Dowling, Mechanical Behavior of Materials (2013),
    chapters 9 and 10; Haibach (2006), Betriebsfestigkeit.

    Examples
    --------
    >>> import flexmbs as fm
    >>> steel = fm.SNCurve(
    ...     amplitude=100e6, cycles=1e6, slope=5.0, ultimate=600e6, mean_stress="goodman"
    ... )
    >>> steel.reversed_amplitude(150e6, 150e6).item() / 1e6  # σ_a/(1 − σ_m/R_m)
    200.0
    """

    amplitude: float
    cycles: float
    slope: float
    slope_below: float = np.inf
    ultimate: float = np.inf
    mean_stress: str = "none"

    def __post_init__(self) -> None:
        for name in ("amplitude", "cycles", "slope", "slope_below", "ultimate"):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, numbers.Real)
                or not float(value) > 0.0
            ):
                raise InputError(f"{name}: must be a positive number, not {value!r}")
            object.__setattr__(self, name, float(value))
        for name in ("amplitude", "cycles", "slope"):
            if not np.isfinite(getattr(self, name)):
                raise InputError(f"{name}: must be finite")
        if self.slope_below < self.slope:
            raise InputError(
                f"slope_below: {self.slope_below:g} must not be less than the slope {self.slope:g}"
            )
        if self.mean_stress not in CORRECTIONS:
            raise InputError(
                f"mean_stress: must be one of {', '.join(CORRECTIONS)}, not {self.mean_stress!r}"
            )
        if self.mean_stress in ("goodman", "gerber") and not np.isfinite(self.ultimate):
            raise InputError(
                f"ultimate: '{self.mean_stress}' needs the tensile strength of the material, Pa"
            )
        if self.ultimate <= self.amplitude:
            raise InputError(
                f"ultimate: {self.ultimate:g} must be above the amplitude "
                f"{self.amplitude:g} of the curve, Pa"
            )

    def reversed_amplitude(self, amplitude: ArrayLike, mean: ArrayLike) -> FloatArray:
        """Fully reversed amplitude of equal damage [Pa].

        Like all methods, raises InputError for negative amplitudes and lists of different lengths.
        """
        amplitude, mean = _broadcast_arguments(amplitude=amplitude, mean=mean)
        if self.mean_stress == "none":
            return amplitude
        if self.mean_stress == "swt":
            return np.sqrt(np.maximum(mean + amplitude, 0.0) * amplitude)
        part = np.maximum(mean, 0.0) / self.ultimate
        left = 1.0 - (part if self.mean_stress == "goodman" else part**2)
        return np.where(
            left > 0.0,
            amplitude / np.where(left > 0.0, left, 1.0),
            np.where(amplitude > 0.0, np.inf, 0.0),
        )

    def cycles_to_failure(self, amplitude: ArrayLike, mean: ArrayLike = 0.0) -> FloatArray:
        """Cycles to failure N for amplitudes at means [Pa]; infinite without damage."""
        ratio = self.reversed_amplitude(amplitude, mean) / self.amplitude
        with np.errstate(divide="ignore", over="ignore"):
            above = self.cycles * ratio ** (-self.slope)
            below = (
                np.full_like(ratio, np.inf)
                if np.isinf(self.slope_below)
                else self.cycles * ratio ** (-self.slope_below)
            )
        return np.where(ratio >= 1.0, above, below)

    def damage(self, amplitude: ArrayLike, mean: ArrayLike, count: ArrayLike) -> float:
        """Damage (Palmgren–Miner sum Σ n/N) of cycles with amplitudes, means and counts."""
        return float(self.shares(amplitude, mean, count).sum())

    def shares(self, amplitude: ArrayLike, mean: ArrayLike, count: ArrayLike) -> FloatArray:
        """Share n/N of each cycle; infinite if the mean reaches the tensile strength."""
        amplitude, mean, count = _broadcast_arguments(amplitude=amplitude, mean=mean, count=count)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(count > 0.0, count / self.cycles_to_failure(amplitude, mean), 0.0)


def _broadcast_arguments(**values: ArrayLike) -> list[FloatArray]:
    """Arguments broadcast to a common shape; only ``mean`` may be negative. Raises InputError."""
    found = [
        numbers_of_any_shape(value, key, least=-np.inf if key == "mean" else 0.0)
        for key, value in values.items()
    ]
    try:
        return list(np.broadcast_arrays(*found))
    except ValueError:
        shapes = ", ".join(f"{key} {each.shape}" for key, each in zip(values, found))
        raise InputError(
            f"{' and '.join(values)}: must have equal lengths, not shapes {shapes}"
        ) from None
