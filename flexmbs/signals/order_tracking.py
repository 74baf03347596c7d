"""Computed order tracking: spectra of a signal over the angle of a shaft instead of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.errors import InputError
from flexmbs.signals.signal_arguments import number_list, one_number, whole_number
from flexmbs.signals.spectra import OrderMap

if TYPE_CHECKING:
    from flexmbs.signals.signal import Signal

TURN = 2.0 * np.pi
MOST_SAMPLES = 4096  # samples per revolution


def order_map(signal: Signal, angle: ArrayLike, revolutions: int, highest: float) -> OrderMap:
    """Map of amplitudes over orders and speed, see `Signal.orders`."""
    from scipy.interpolate import CubicSpline

    turned = number_list(angle, "angle")
    if len(turned) != len(signal.t):
        raise InputError(f"angle: has {len(turned)} numbers for {len(signal.t)} times")
    if turned[-1] < turned[0]:
        turned = -turned
    if not (np.diff(turned) > 0.0).all():
        raise InputError("angle: must be monotonic; use a monotonic part, .between(start, end)")
    revolutions, highest = (
        whole_number(revolutions, "revolutions", least=1),
        one_number(highest, "highest"),
    )
    whole = (turned[-1] - turned[0]) / TURN
    if whole < revolutions:
        raise InputError(
            f"revolutions: the signal has {whole:.3g}, fewer than a block of {revolutions}"
        )
    density = int(np.clip(np.ceil(TURN / np.diff(turned).min()), 8, MOST_SAMPLES))
    coarsest = TURN / float(np.diff(turned).max())
    if not 0.0 < highest <= 0.5 * coarsest:
        raise InputError(
            f"highest: must be within 0 … {0.5 * coarsest:.3g}, half of the samples of "
            "the fastest revolution"
        )
    n, hop = revolutions * density, max(1, revolutions * density // 2)
    theta = turned[0] + TURN / density * np.arange(int(whole * density) + 1)
    values, times = CubicSpline(turned, signal.values)(theta), np.interp(theta, turned, signal.t)
    weights = np.hanning(n + 1)[:-1]  # periodic
    starts = np.arange(0, len(theta) - n, hop) if len(theta) > n else np.array([0])
    blocks = np.stack([values[start : start + n] for start in starts])
    # removed first: the window would spread them over neighbouring orders
    means = np.average(blocks, axis=1, weights=weights)
    lines = np.abs(np.fft.rfft(weights * (blocks - means[:, None]), axis=1)).T * 2.0 / weights.sum()
    lines[0] = np.abs(means)
    orders = np.arange(len(lines)) / revolutions
    keep = orders <= highest
    ends = np.minimum(starts + n, len(theta) - 1)
    speed = (theta[ends] - theta[starts]) / (times[ends] - times[starts])
    return OrderMap(
        times[starts + n // 2], speed, orders[keep], lines[keep], signal.name, signal.unit
    )
