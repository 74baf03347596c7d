"""Results of spectral analyses.

Amplitude spectra, power spectral densities, spectrograms, order maps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError
from flexmbs.signals.peaks import PeakTable, peak_table
from flexmbs.signals.signal_arguments import (
    FloatArray,
    number_list,
    numbers_of_any_shape,
    one_number,
    whole_number,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ComplexArray = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """One-sided amplitude spectrum.

    f (n,) [Hz], values (n,), complex amplitudes of cosines, in the unit of the signal.
    """

    f: FloatArray
    values: ComplexArray
    name: str
    unit: str

    @property
    def amplitude(self) -> FloatArray:
        """|values| (n,)."""
        return np.abs(self.values)

    def peaks(self, count: int = 10, *, prominence: float | None = None) -> PeakTable:
        """Most prominent lines, by frequency."""
        return peak_table(
            (self.f, self.amplitude), ("f [Hz]", f"{self.name} [{self.unit}]"), count, prominence
        )

    def plot(self) -> Figure:
        """Plot the amplitudes over the frequency, on a logarithmic axis."""
        from flexmbs.signals.signal_plots import line_figure

        return line_figure(
            self.f[1:],
            self.amplitude[1:],
            f"Amplitude of {self.name}  [{self.unit}]",
            "f  [Hz]",
            logarithmic=True,
        )


@checked_arguments
@dataclass(frozen=True, eq=False)
class Psd:
    """One-sided power spectral density, zero outside f.

    f (n,): frequencies [Hz], ascending.  values (n,): at f, ≥ 0 [unit²/Hz].  unit: of the signal.
    logarithmic: True if straight between the points on logarithmic axes, as in specifications; by
    default linear. Raises InputError.


    Examples
    --------
    >>> import flexmbs as fm
    >>> fm.Psd([1.0, 101.0], [0.04, 0.04], unit="m/s²").rms
    2.0
    """

    f: FloatArray
    values: FloatArray
    name: str = "psd"
    unit: str = "1"
    logarithmic: bool = False

    def __post_init__(self) -> None:
        f, values = (
            number_list(self.f, "f", least=0.0),
            number_list(self.values, "values", least=0.0),
        )
        if len(f) != len(values) or len(f) < 2 or not (np.diff(f) > 0.0).all():
            raise InputError(
                f"f: must be two or more ascending frequencies, as many as values, {len(values)}"
            )
        if self.logarithmic and not (f[0] > 0.0 and values.min() > 0.0):
            raise InputError("psd: on logarithmic axes frequencies and values must be positive")
        object.__setattr__(self, "f", f)
        object.__setattr__(self, "values", values)

    def at(self, f: ArrayLike) -> FloatArray:
        """Power spectral density interpolated at other frequencies, zero outside."""
        f = numbers_of_any_shape(f, "f")
        if self.logarithmic:
            inside = (f >= self.f[0]) & (f <= self.f[-1])
            logs = np.interp(
                np.log(np.where(inside, f, self.f[0])), np.log(self.f), np.log(self.values)
            )
            return np.where(inside, np.exp(logs), 0.0)
        return np.asarray(np.interp(f, self.f, self.values, left=0.0, right=0.0))

    @property
    def rms(self) -> float:
        """√(∫ G df)."""
        return float(np.sqrt(self.moment(0)))

    def moment(self, order: int) -> float:
        """Spectral moment ∫ fⁿ G df, n ≥ 0, exact for the piecewise curve.

        For linear pieces by Gauss quadrature.
        """
        order = whole_number(order, "order", least=0)
        if not self.logarithmic:
            x, weights = np.polynomial.legendre.leggauss(order // 2 + 2)
            half, part = 0.5 * np.diff(self.f)[:, None], 0.5 * (1.0 + x)
            f = self.f[:-1, None] + 2.0 * half * part
            values = self.values[:-1, None] + np.diff(self.values)[:, None] * part
            return float((half * weights * f**order * values).sum())
        slope = np.diff(np.log(self.values)) / np.diff(np.log(self.f)) + order + 1.0
        first = self.f[:-1] ** (order + 1) * self.values[:-1]
        flat = np.abs(slope) < 1e-9
        powers = (self.f[1:] / self.f[:-1]) ** slope - 1.0
        pieces = np.where(
            flat, np.log(self.f[1:] / self.f[:-1]), powers / np.where(flat, 1.0, slope)
        )
        return float((first * pieces).sum())

    @property
    def crossing_rate(self) -> float:
        """Mean rate of upward mean crossings of a Gaussian process, √(m₂/m₀) [Hz].

        Rice 1944; 0 without power.
        """
        power = self.moment(0)
        return float(np.sqrt(self.moment(2) / power)) if power > 0.0 else 0.0

    def peaks(self, count: int = 10, *, prominence: float | None = None) -> PeakTable:
        """Most prominent maxima, by frequency."""
        return peak_table(
            (self.f, self.values), ("f [Hz]", f"{self.name} [({self.unit})²/Hz]"), count, prominence
        )

    def plot(self) -> Figure:
        """Plot the density over the frequency, on logarithmic axes."""
        from flexmbs.signals.signal_plots import line_figure

        use = (self.f > 0.0) & (self.values > 0.0)
        return line_figure(
            self.f[use],
            self.values[use],
            f"PSD of {self.name}  [({self.unit})²/Hz]",
            "f  [Hz]",
            logarithmic=True,
            wide=True,
        )


@dataclass(frozen=True, eq=False)
class Spectrogram:
    """Amplitudes (nf, nt) of a signal over frequency and time.

    f (nf,) [Hz], midpoints t (nt,) [s] of the segments, amplitudes in the unit of the signal.
    """

    t: FloatArray
    f: FloatArray
    amplitude: FloatArray
    name: str
    unit: str

    def plot(self) -> Figure:
        """Plot the amplitudes in dB relative to the largest as colours over time and frequency."""
        from flexmbs.signals.signal_plots import map_figure

        return map_figure(
            self.t,
            self.f,
            self.amplitude,
            f"{self.name}: amplitude in dB relative to the largest",
            ("t  [s]", "f  [Hz]"),
        )


@dataclass(frozen=True, eq=False)
class OrderMap:
    """Amplitudes (no, nt) of orders (no,) of a rotation at the midpoints t (nt,) [s] of blocks.

    Speed (nt,) [rad/s].
    """

    t: FloatArray
    speed: FloatArray
    orders: FloatArray
    amplitude: FloatArray
    name: str
    unit: str

    def order(self, order: float) -> FloatArray:
        """Amplitude (nt,) of the order nearest to ``order``.

        Raises InputError for orders outside the map.
        """
        order = one_number(order, "order")
        if not self.orders[0] <= order <= self.orders[-1]:
            raise InputError(
                f"order: {order:g} is outside the map, {self.orders[0]:g} … {self.orders[-1]:g}"
            )
        return self.amplitude[int(np.argmin(np.abs(self.orders - order)))]

    def plot(self) -> Figure:
        """Plot the amplitudes in dB relative to the largest as colours over speed and order."""
        from flexmbs.signals.signal_plots import map_figure

        title = f"{self.name}: amplitude in dB relative to the largest"
        return map_figure(self.speed, self.orders, self.amplitude, title, ("Ω  [rad/s]", "order"))
