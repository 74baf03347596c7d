"""Spectra, filters, peaks and orders of signals in closed form."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import flexmbs as fm
from flexmbs.signals.spectra import Psd

RATE = 1000.0
T = np.arange(4000) / RATE


def tone(f: float, amplitude: float = 1.0, phase: float = 0.0) -> np.ndarray:
    return amplitude * np.cos(2.0 * np.pi * f * T + phase)


@pytest.mark.parametrize("window", ["boxcar", "hann", "flattop"])
def test_amplitudes_and_phases_of_tones(window: str) -> None:
    signal = fm.Signal(T, 0.7 + tone(50.0, 3.0, 0.4) + tone(120.0, 0.2, -1.0), "a", "m/s²")
    found = signal.fft(window)
    lines = [round(f / (found.f[1] - found.f[0])) for f in (0.0, 50.0, 120.0)]
    np.testing.assert_allclose(found.f[lines], (0.0, 50.0, 120.0))
    np.testing.assert_allclose(
        found.values[lines], [0.7, 3.0 * np.exp(0.4j), 0.2 * np.exp(-1j)], atol=1e-3
    )
    assert found.unit == "m/s²"
    first = fm.Signal(T, signal.values - 0.7).fft(window).peaks(2)
    np.testing.assert_allclose([each.place for each in first], [50.0, 120.0], atol=1e-2)


@pytest.mark.parametrize("window", ["boxcar", "hann", "flattop"])
def test_a_mean_is_on_the_line_0_alone(window: str) -> None:
    """A window spreads a large mean over the lines beside,
    where it looked like a slow oscillation.
    """
    found = fm.Signal(T, np.full(len(T), 5.0)).fft(window)
    np.testing.assert_allclose(
        found.amplitude, np.append(5.0, np.zeros(len(found.f) - 1)), atol=1e-12
    )
    orders = fm.Signal(T, np.full(len(T), -5.0)).orders(20.0 * T)
    np.testing.assert_allclose(orders.amplitude[0], 5.0)
    np.testing.assert_allclose(orders.amplitude[1:], 0.0, atol=1e-12)


def test_density_has_the_power_of_a_tone_and_the_level_of_noise() -> None:
    tones = fm.Signal(T, tone(80.0, 2.0), "a", "m").psd(segment=1000)
    assert tones.rms == pytest.approx(np.sqrt(2.0), rel=1e-3)
    assert tones.f[np.argmax(tones.values)] == pytest.approx(80.0)
    noise = np.random.default_rng(5).normal(0.0, 3.0, 200_000)
    found = fm.Signal(np.arange(200_000) / RATE, noise).psd(segment=1000)
    # σ² over half of the rate
    assert np.mean(found.values[5:-5]) == pytest.approx(2.0 * 9.0 / RATE, rel=0.01)


def test_statistics() -> None:
    found = fm.Signal(np.append(T, 4.0), np.append(1.0 + tone(5.0, 2.0), 3.0)).statistics
    expected = {
        "mean": 1.0,
        "rms": np.sqrt(3.0),
        "std": np.sqrt(2.0),
        "min": -1.0,
        "max": 3.0,
        "range": 4.0,
        "crest": np.sqrt(3.0),
    }
    assert found == pytest.approx(expected | {"crest": np.sqrt(3.0)}, rel=1e-3)


@pytest.mark.parametrize("zero_phase", [True, False])
def test_filters_have_the_gain_of_butterworth(zero_phase: bool) -> None:
    """|H|² = 1/(1 + (f/f_c)^2n) after the bilinear transformation tan(π f/f_s)."""
    for f in (20.0, 50.0, 100.0):
        ratio = np.tan(np.pi * f / RATE) / np.tan(np.pi * 50.0 / RATE)
        gain = 1.0 / np.sqrt(1.0 + ratio**8)
        found = (
            fm.Signal(T, tone(f)).filter("lowpass", 50.0, zero_phase=zero_phase).between(1.0, 3.0)
        )
        assert found.rms * np.sqrt(2.0) == pytest.approx(
            gain**2 if zero_phase else gain, rel=2e-3, abs=1e-5
        )
    mixed = fm.Signal(T, tone(5.0) + tone(100.0))
    np.testing.assert_allclose(
        mixed.filter("lowpass", 30.0).between(1, 3).values, tone(5.0)[1000:3001], atol=5e-3
    )
    np.testing.assert_allclose(
        mixed.filter("bandpass", [60.0, 160.0]).between(1, 3).values,
        tone(100.0)[1000:3001],
        atol=0.03,
    )


def test_spectrogram_of_two_tones_after_each_other() -> None:
    found = fm.Signal(T, np.where(T < 2.0, tone(50.0, 2.0), tone(200.0, 0.5))).spectrogram(
        segment=400
    )
    early, late = found.t < 1.7, found.t > 2.3
    for part, f, amplitude in ((early, 50.0, 2.0), (late, 200.0, 0.5)):
        row = int(np.argmin(np.abs(found.f - f)))
        np.testing.assert_allclose(found.amplitude[row, part], amplitude, rtol=1e-3)
        assert (found.amplitude[:, part].argmax(axis=0) == row).all()


def test_orders_of_a_run_up() -> None:
    """x = 2 cos(3θ) + 0.5 cos(5.5θ) of a shaft that accelerates: its orders have constant
    amplitudes, whatever the speed.
    """
    theta = 20.0 * T + 0.5 * 30.0 * T**2
    for sign in (1.0, -1.0):
        signal = fm.Signal(T, 2.0 * np.cos(3.0 * theta + 0.3) + 0.5 * np.cos(5.5 * theta), "a", "m")
        found = signal.orders(sign * theta, revolutions=4)
        np.testing.assert_allclose(found.order(3.0), 2.0, rtol=2e-3)
        np.testing.assert_allclose(found.order(5.5), 0.5, rtol=5e-3)
        assert found.order(4.25).max() < 1e-2
        middle = np.sqrt(20.0**2 + 2.0 * 30.0 * np.interp(found.t, T, theta))
        np.testing.assert_allclose(found.speed[2:], middle[2:], rtol=5e-2)


def test_peaks_are_the_tops_of_parabolas() -> None:
    found = fm.Signal(T, tone(2.0, 3.0, 0.3) * np.exp(-0.2 * T)).peaks(3, prominence=0.5)
    shift = np.arctan(0.2 / (4.0 * np.pi))
    expected = [(k * 2.0 * np.pi - 0.3 - shift) / (4.0 * np.pi) for k in (1, 2, 3)]
    np.testing.assert_allclose([each.place for each in found], expected, atol=1e-6)
    np.testing.assert_allclose(
        [each.value for each in found],
        3.0 * np.exp(-0.2 * np.array(expected)) * np.cos(shift),
        rtol=1e-6,
    )
    assert str(found).splitlines()[0].split() == ["t", "[s]", "signal", "[1]", "prominence"]


def test_specifications_are_straight_on_logarithmic_axes() -> None:
    """20 Hz … 2000 Hz with +3 dB/oct, flat, −6 dB/oct: areas in closed form."""
    psd = Psd(
        [20.0, 80.0, 350.0, 2000.0],
        [0.01, 0.04, 0.04, 0.04 * (350.0 / 2000.0) ** 2],
        "spec",
        "m/s²",
        logarithmic=True,
    )
    area = (
        0.01 / 20.0 * (80.0**2 - 20.0**2) / 2.0
        + 0.04 * 270.0
        + 0.04 * 350.0**2 * (1.0 / 350.0 - 1.0 / 2000.0)
    )
    assert psd.rms == pytest.approx(np.sqrt(area), rel=1e-12)
    np.testing.assert_allclose(
        psd.at(np.array([10.0, 40.0, 700.0, 3000.0])), [0.0, 0.02, 0.01, 0.0], rtol=1e-12
    )


def test_resampling_and_unequal_times() -> None:
    uneven = np.sort(np.random.default_rng(1).uniform(0.0, 4.0, 4000))
    signal = fm.Signal(uneven, np.sin(uneven))
    with pytest.raises(
        fm.InputError, match=r"its times are not equally spaced; use .resampled\(rate\)"
    ):
        signal.fft()
    again = signal.resampled(100.0)
    assert again.rate == pytest.approx(100.0)
    np.testing.assert_allclose(again.values, np.sin(again.t), atol=1e-6)


def test_figures() -> None:
    signal = fm.Signal(T, tone(50.0), "tip", "m")
    assert signal.plot().axes[0].get_title(loc="left") == "tip  [m]"
    assert signal.psd().plot().axes[0].get_title(loc="left") == "PSD of tip  [(m)²/Hz]"
    assert len(signal.spectrogram().plot().axes) == 2
    assert signal.fft().plot().axes[0].get_yscale() == "log"
    assert signal.orders(60.0 * T).plot().axes[0].get_xlabel() == "Ω  [rad/s]"


BAD = {
    "values: has 2": lambda: fm.Signal(T, [1.0, 2.0]),
    "t: must be two or more times": lambda: fm.Signal([0.0, 0.0], [1.0, 2.0]),
    "window: ": lambda: fm.Signal(T, T).fft("house"),
    "kind: must be one of": lambda: fm.Signal(T, T).filter("low", 3.0),
    "f: a lowpass filter takes one frequency": lambda: fm.Signal(T, T).filter(
        "lowpass", [3.0, 4.0]
    ),
    "half of the sampling rate": lambda: fm.Signal(T, T).filter("lowpass", 500.0),
    "segment: must be a whole number within 2 … 4000": lambda: fm.Signal(T, T).psd(segment=5000),
    "angle: must be monotonic": lambda: fm.Signal(T, T).orders(np.sin(T)),
    "revolutions: the signal has": lambda: fm.Signal(T, T).orders(T),
    "highest: must be within": lambda: fm.Signal(T, T).orders(60.0 * T, highest=60.0),
    "rate: must give 2 …": lambda: fm.Signal(T, T).resampled(-1.0),
    "psd: on logarithmic axes": lambda: Psd([0.0, 1.0], [1.0, 1.0], logarithmic=True),
    "as many as values": lambda: Psd([2.0, 1.0], [1.0, 1.0]),
    "order: must be a whole number within 1 … 20": lambda: fm.Signal(T, T).filter(
        "lowpass", 5.0, order=2.5
    ),
    "filter: 10 samples are too few": lambda: fm.Signal(T[:10], T[:10]).filter("lowpass", 200.0),
    r"not within 0\.25 …": lambda: fm.Signal(T, T).filter("lowpass", 1e-3),
    r"rate: must give 2 … 1e\+08 samples": lambda: fm.Signal(T, T).resampled(1e12),
    "start: must be a list of numbers": lambda: fm.Signal(T, T).between("a", 2.0),
    "prominence: nan is not allowed": lambda: fm.Signal(T, T).peaks(prominence=np.nan),
    "values: 1e.308 is not allowed": lambda: fm.Signal(T, np.full(len(T), 1e308)),
    "order: must be a whole number from 0": lambda: Psd([1.0, 2.0], [1.0, 1.0]).moment(-1),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_arguments(message: str) -> None:
    with pytest.raises(fm.InputError, match=message):
        BAD[message]()


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize("order", [0, 1, 2, 4])
def test_moments_of_specifications(order: int, logarithmic: bool) -> None:
    """Few points far apart: the curve between them is integrated, not its values at them."""
    psd = fm.Psd([20.0, 80.0, 350.0, 2000.0], [0.01, 0.04, 0.04, 0.007], logarithmic=logarithmic)
    expected = sum(
        quad(lambda f: f**order * float(psd.at(f)), low, high, epsabs=0.0, epsrel=1e-12)[0]
        for low, high in pairwise(psd.f)
    )
    assert psd.moment(order) == pytest.approx(expected, rel=1e-10)


def test_crossing_rate_of_band_limited_noise() -> None:
    """f/√3 of a constant density up to f; none without power."""
    assert fm.Psd([0.0, 60.0], [0.3, 0.3]).crossing_rate == pytest.approx(60.0 / np.sqrt(3.0))
    assert fm.Psd([0.0, 60.0], [0.0, 0.0]).crossing_rate == 0.0
