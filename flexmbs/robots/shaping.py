"""Input shapers: reference paths without residual vibration of given modes."""

from typing import NamedTuple, final

import numpy as np

from flexmbs.errors import InputError
from flexmbs.model.argument_checks import checked, checked_kind, real_array
from flexmbs.model.control.paths import ComputedPath, DelayedPath, Path, not_impulses
from flexmbs.model.fields import number


class Shaper(NamedTuple):
    """Impulses of an input shaper: amplitudes with sum 1, and their times (s)."""

    amplitudes: tuple[float, ...]
    times: tuple[float, ...]


def zero_vibration(frequency: float, damping: float = 0.0) -> Shaper:
    """ZV shaper of a mode (Hz, damping ratio): two impulses whose vibrations cancel.

    Singer, Seering, J. Dyn. Sys. Meas. Control 112 (1990) 76.
    """
    K, half = _decay(frequency, damping)
    return Shaper((1.0 / (1.0 + K), K / (1.0 + K)), (0.0, half))


def zero_vibration_derivative(frequency: float, damping: float = 0.0) -> Shaper:
    """ZVD shaper of three impulses, robust to errors of the frequency.

    The derivative of the residual vibration with respect to frequency also vanishes; same source.
    """
    K, half = _decay(frequency, damping)
    total = (1.0 + K) ** 2
    return Shaper((1.0 / total, 2.0 * K / total, K * K / total), (0.0, half, 2.0 * half))


def _decay(frequency: float, damping: float) -> tuple[float, float]:
    """(decay factor over half a damped period, half period) of a mode."""
    f, zeta = checked("frequency", number, frequency), checked("damping", number, damping)
    if f <= 0.0 or not 0.0 <= zeta < 1.0:
        raise InputError(
            f"shaper: frequency must be > 0 Hz and damping in 0 … 1, not {f:g} and {zeta:g}"
        )
    root = np.sqrt(1.0 - zeta**2)
    return float(np.exp(-zeta * np.pi / root)), float(0.5 / (f * root))


@final
class Shaped(ComputedPath):
    """Path filtered by shapers: Σ A_k path(t − t_k), extended by the last t_k of each.

    Several shapers are applied in sequence.

    Raises `InputError`.
    """

    def __init__(self, path: Path, *shapers: Shaper) -> None:
        amplitudes, times = np.ones(1), np.zeros(1)
        for shaper in shapers:
            A, t = _impulses(shaper)
            amplitudes, times = np.outer(amplitudes, A).ravel(), np.add.outer(times, t).ravel()
        self.made = DelayedPath(path, amplitudes, times)


def _impulses(shaper: Shaper) -> tuple[np.ndarray, np.ndarray]:
    """Validate the amplitudes and times of a shaper. Raises `InputError`."""
    A, t = (
        real_array(f"shaper.{key}", value)
        for key, value in checked_kind("shaper", Shaper, shaper)._asdict().items()
    )
    if text := not_impulses(A, t):
        raise InputError(text)
    return A, t
