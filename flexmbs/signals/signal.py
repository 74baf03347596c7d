"""`Signal`: quantity over time with its unit.

Spectra, filters, peaks and orders of rotation with SciPy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError
from flexmbs.signals.peaks import PeakTable, peak_table
from flexmbs.signals.signal_arguments import FloatArray, number_list, one_number, whole_number
from flexmbs.signals.spectra import OrderMap, Psd, Spectrogram, Spectrum

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNIFORM = 1e-6  # relative to the step: tolerance of equally spaced times
MOST_SAMPLES = 1e8  # 800 MB of numbers in each array
MOST_ORDER = 20  # largest order of a filter
KINDS = ("lowpass", "highpass", "bandpass", "bandstop")


@checked_arguments
@dataclass(frozen=True, eq=False)
class Signal:
    """Values x (nt,) at times t (nt,) [s], with a name and a unit.

    t (nt,): times [s], increasing.  values (nt,): in the unit.
    Raises InputError for lists that are not of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import flexmbs as fm
    >>> t = np.arange(1000) / 1000
    >>> tone = fm.Signal(t, 2.0 * np.sin(2 * np.pi * 50 * t), "tone", "V")
    >>> (peak,) = tone.fft().peaks(1)
    >>> round(peak.place), round(peak.value, 6)
    (50, 2.0)
    """

    t: FloatArray
    values: FloatArray
    name: str = "signal"
    unit: str = "1"

    def __post_init__(self) -> None:
        t, values = number_list(self.t, "t"), number_list(self.values, "values")
        if len(t) != len(values):
            raise InputError(f"values: has {len(values)} numbers for {len(t)} times")
        if len(t) < 2 or not (np.diff(t) > 0.0).all():
            raise InputError("t: must be two or more times, each later than the one before")
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "values", values)

    @cached_property
    def rate(self) -> float:
        """Sampling rate [Hz]. Raises InputError for times that are not equally spaced."""
        steps = np.diff(self.t)
        step = float((self.t[-1] - self.t[0]) / len(steps))
        if np.abs(steps - step).max() > UNIFORM * step + 1e-12 * np.abs(self.t).max():
            raise InputError(
                f"{self.name}: its times are not equally spaced; use .resampled(rate), "
                "or solution.at(times)"
            )
        return 1.0 / step

    @property
    def rms(self) -> float:
        """√(mean x²) over time, by the trapezoidal rule."""
        return float(np.sqrt(np.trapezoid(self.values**2, self.t) / (self.t[-1] - self.t[0])))

    @property
    def mean(self) -> float:
        """Mean over time, by the trapezoidal rule."""
        return float(np.trapezoid(self.values, self.t) / (self.t[-1] - self.t[0]))

    @property
    def statistics(self) -> dict[str, float]:
        """Mean, rms, standard deviation, extremes, range and crest factor of the signal.

        The crest factor is max|x|/rms.
        """
        x, rms = self.values, self.rms
        low, high, mean = float(x.min()), float(x.max()), self.mean
        crest = max(abs(low), abs(high)) / rms if rms > 0.0 else 0.0
        deviation = float(np.sqrt(max(rms**2 - mean**2, 0.0)))
        return {
            "mean": mean,
            "rms": rms,
            "std": deviation,
            "min": low,
            "max": high,
            "range": high - low,
            "crest": crest,
        }

    def between(self, start: float, end: float) -> Signal:
        """Signal from ``start`` to ``end`` [s].

        Raises InputError if it has fewer than two samples.
        """
        start, end = one_number(start, "start"), one_number(end, "end")
        keep = (self.t >= start) & (self.t <= end)
        if keep.sum() < 2:
            raise InputError(f"{self.name}: has fewer than two samples from {start:g} to {end:g} s")
        return replace(self, t=self.t[keep], values=self.values[keep])

    def resampled(self, rate: float) -> Signal:
        """Signal with ``rate`` samples per second, by a cubic spline.

        No filter is applied: filter first to lower the rate.
        """
        from scipy.interpolate import CubicSpline

        rate = one_number(rate, "rate")
        count = (self.t[-1] - self.t[0]) * rate * (1.0 + 1e-12) + 1.0
        if not 2.0 <= count <= MOST_SAMPLES:
            raise InputError(
                f"rate: must give 2 … {MOST_SAMPLES:.0e} samples, not {rate:g} per second"
            )
        t = self.t[0] + np.arange(int(count)) / rate
        return replace(self, t=t, values=CubicSpline(self.t, self.values)(t))

    def fft(self, window: str = "hann") -> Spectrum:
        """One-sided amplitude spectrum with a periodic window, 2/Σw · |Σ w x e^{−iωt}|.

        A sine on a spectral line has its amplitude.

        The mean is on the line 0 Hz. Raises InputError. Source: Harris, Proc. IEEE 66 (1978) 51.

        """
        from scipy.signal import get_window

        n = len(self.values)
        weights = _window(get_window, window, n)
        # removed first: the window would spread it over neighbouring lines
        mean = np.average(self.values, weights=weights)
        values = np.asarray(
            np.fft.rfft(weights * (self.values - mean)) * 2.0 / weights.sum(), complex
        )
        values[0] = mean
        if n % 2 == 0:
            values[-1] *= 0.5
        return Spectrum(np.arange(len(values)) * self.rate / n, values, self.name, self.unit)

    def psd(self, *, segment: int | None = None, window: str = "hann") -> Psd:
        """One-sided power spectral density [unit²/Hz] by Welch's method.

        It is the mean over half-overlapping segments with their means removed.

        segment: number of samples per segment, by default an eighth of the signal. Raises
        InputError. Source: Welch, IEEE Trans. Audio Electroacoust. 15 (1967) 70.

        """
        from scipy.signal import get_window, welch

        length = self._segment(segment, max(8, len(self.values) // 8))
        f, values = welch(
            self.values, self.rate, _window(get_window, window, length), nperseg=length
        )
        return Psd(f, values, self.name, self.unit)

    def spectrogram(self, *, segment: int | None = None, window: str = "hann") -> Spectrogram:
        """Amplitude spectra of successive segments with three quarters overlap, scaled as in `fft`.

        Raises InputError.
        """
        from scipy.signal import ShortTimeFFT, get_window

        length = self._segment(segment, max(16, len(self.values) // 16))
        weights = _window(get_window, window, length)
        short = ShortTimeFFT(
            weights, max(1, length // 4), self.rate, scale_to="magnitude", fft_mode="onesided2X"
        )
        first, last = short.lower_border_end[1], short.upper_border_begin(len(self.values))[1]
        values = np.abs(short.stft(self.values, p0=first, p1=max(last, first + 1)))
        t = self.t[0] + short.t(len(self.values), p0=first, p1=max(last, first + 1))
        return Spectrogram(t, short.f, values, self.name, self.unit)

    def filter(self, kind: str, f: ArrayLike, *, order: int = 4, zero_phase: bool = True) -> Signal:
        """Butterworth filter: "lowpass" or "highpass" at f.

        "bandpass" or "bandstop" between two f (Hz).

        zero_phase: forwards and backwards, without delay and with the squared gain, −6 dB at f;
        otherwise forwards only, −3 dB, starting from the steady state of the first value. The
        period of the lowest f must not exceed the length of the signal; longer periods are lost in
        end effects. Raises InputError.
        """
        from scipy.signal import butter, sosfilt, sosfilt_zi, sosfiltfilt

        corners = number_list(f, "f", least=0.0)
        if kind not in KINDS:
            raise InputError(f"kind: must be one of {', '.join(KINDS)}, not {kind!r}")
        if (
            len(corners) != (2 if kind.startswith("band") else 1)
            or not (np.diff(corners) > 0.0).all()
        ):
            raise InputError(
                f"f: a {kind} filter takes "
                f"{'two ascending frequencies' if kind.startswith('band') else 'one frequency'}"
            )
        lowest = self.rate / len(self.t)
        if not corners[0] >= lowest or not corners[-1] < 0.5 * self.rate:
            limits = (
                f"{lowest:.3g} … {0.5 * self.rate:g} Hz, a period of the signal's length and "
                "half of the sampling rate"
            )
            raise InputError(f"f: {corners} Hz are not within {limits}")
        order = whole_number(order, "order", least=1, most=MOST_ORDER)
        sections = butter(
            order, corners if len(corners) == 2 else corners[0], kind, fs=self.rate, output="sos"
        )
        if zero_phase:
            try:
                return replace(self, values=sosfiltfilt(sections, self.values))
            except ValueError:  # too short for the padding at its ends
                raise InputError(
                    f"filter: {len(self.t)} samples are too few for order {order} without delay"
                ) from None
        return replace(
            self, values=sosfilt(sections, self.values, zi=sosfilt_zi(sections) * self.values[0])[0]
        )

    def peaks(self, count: int = 10, *, prominence: float | None = None) -> PeakTable:
        """The ``count`` most prominent maxima, by time.

        ``prominence``: least prominence, in the unit of the signal. Raises InputError.
        """
        return peak_table(
            (self.t, self.values), ("t [s]", f"{self.name} [{self.unit}]"), count, prominence
        )

    def orders(self, angle: ArrayLike, *, revolutions: int = 8, highest: float = 10.0) -> OrderMap:
        """Amplitudes over the orders of a rotation, for run-ups.

        The signal is interpolated over the angle (nt,) [rad] by a cubic spline, and spectra are
        computed for half-overlapping blocks of ``revolutions`` with a Hann window.

        highest: largest order. Raises InputError for angles that are not monotonic or have fewer
        revolutions. Source: Fyfe and Munck, Mech. Syst. Signal Process. 11 (1997) 187 (computed
        order tracking).

        """
        from flexmbs.signals.order_tracking import order_map

        return order_map(self, angle, revolutions, highest)

    def plot(self) -> Figure:
        """Plot the signal over time."""
        from flexmbs.signals.signal_plots import line_figure

        return line_figure(self.t, self.values, f"{self.name}  [{self.unit}]", "t  [s]")

    def _segment(self, segment: int | None, usual: int) -> int:
        """Length of the segments of a spectrum. Raises `InputError`."""
        length = min(usual, len(self.values)) if segment is None else segment
        return whole_number(length, "segment", least=2, most=len(self.values))


def _window(make: Any, name: str, n: int) -> FloatArray:
    """Window function of n samples. Raises `InputError`."""
    try:
        return np.asarray(make(name, n))
    except ValueError as error:
        raise InputError(f"window: {error}") from None
