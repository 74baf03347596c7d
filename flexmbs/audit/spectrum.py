"""Spectrum of the loads on flexible bodies against the frequencies of their modes.

Loads faster than the highest retained mode excite no mode. The fraction of the variation of the
interface loads above that frequency is computed from their periodogram (Hann window, without mean
and trend) if the outputs are close enough and the run is long enough.
"""

import numpy as np

from flexmbs.results.body_loads import body_loads
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, Check, graded
from flexmbs.system.step_scales import model_size

ABOVE = (0.02, np.inf)  # of the variation of the loads
LEAST_OUTPUTS = 64
LEAST_PERIODS = 8.0  # of the highest mode within the run
INERTIAL = 12  # unit loads of a body before those of its interfaces
EQUAL = 1e-6  # of the output interval


def load_spectrum(solution: SolutionData) -> list[Check]:
    """Check that the loads of flexible bodies stay below the frequencies of their modes."""
    steps = np.diff(solution.t)
    if len(steps) < LEAST_OUTPUTS or np.ptp(steps) > EQUAL * steps[0]:
        return []
    found: dict[str, Check] = {}
    for name, data in solution.compiled.data.items():
        highest = float(data.modes.frequency.max()) if data.nf else 0.0
        if (
            data.stress is None
            or not LEAST_PERIODS / (solution.t[-1] - solution.t[0]) < highest < 0.25 / steps[0]
        ):
            continue
        loads = body_loads(solution, name, data.stress.interfaces).factors[:, INERTIAL:]
        loads = loads.reshape(len(loads), -1, 2, 3) / np.array(
            [[1.0], [model_size(solution.compiled)]]
        )
        share = variation_above(loads.reshape(len(loads), -1), float(steps[0]), highest)
        status = graded(share, ABOVE)
        if status != PASS:
            text = (
                f"{share:.0%} of the variation of its loads is above its highest mode, "
                f"{highest:.4g} Hz"
            )
            title = f"Load spectrum of {solution.compiled.whole_of(name)}"
            found.setdefault(title, Check(title, status, text, "reduce it with more modes"))
    return list(found.values())


def variation_above(signals: np.ndarray, dt: float, frequency: float) -> float:
    """Fraction of the variation of signals (nt, k) above a frequency (Hz)."""
    n = len(signals)
    line = np.column_stack([np.ones(n), np.arange(n)])
    rest = signals - line @ np.linalg.lstsq(line, signals, rcond=None)[0]
    power = (np.abs(np.fft.rfft(np.hanning(n)[:, None] * rest, axis=0)) ** 2).sum(axis=1)
    scale = np.abs(signals).max(initial=0.0)
    if power.sum() <= n * n * (1e-9 * scale) ** 2:  # constant loads
        return 0.0
    return float(power[np.fft.rfftfreq(n, dt) > frequency].sum() / power.sum())
