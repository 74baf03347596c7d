"""Figures of a frequency response show its values."""

import numpy as np
import pytest

from flexmbs.signals.frequency_response import FrequencyResponse

F = np.geomspace(0.1, 10.0, 200)


@pytest.fixture
def response() -> FrequencyResponse:
    """An open loop 4/(s(s + 1)(s + 2)) without unit, and a displacement per force."""
    s = 2j * np.pi * F
    values = np.stack([4.0 / (s * (s + 1.0) * (s + 2.0)), 1e-3 / (1.0 + 0.1 * s + s**2)], axis=1)[
        :, :, None
    ]
    return FrequencyResponse(F, values, ("force",), ("loop", "tip"), ("N",), ("N", "m"))


def test_bode_has_a_panel_for_each_unit_and_one_for_the_phase(response: FrequencyResponse) -> None:
    figure = response.plot.bode()
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "Magnitude  [1]",
        "Magnitude  [m/N]",
        "Phase  [deg]",
    ]
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), response.magnitude[:, 0, 0])
    phase = figure.axes[2].lines[0].get_ydata()
    w = 2.0 * np.pi * F
    np.testing.assert_allclose(
        phase, -90.0 - np.rad2deg(np.arctan(w) + np.arctan(w / 2.0)), atol=1e-9
    )


def test_nyquist_marks_the_critical_point_of_open_loops_only(response: FrequencyResponse) -> None:
    first, second = response.plot.nyquist().axes
    assert (first.get_legend_handles_labels()[1], second.get_legend_handles_labels()[1]) == (
        ["loop", "−1"],
        ["tip"],
    )
    np.testing.assert_allclose(
        first.lines[0].get_xdata() + 1j * first.lines[0].get_ydata(), response["loop", "force"]
    )


def test_contours_of_nichols_are_gains_of_the_closed_loop(response: FrequencyResponse) -> None:
    first, second = response.plot.nichols().axes
    assert len(second.lines) == 1
    gains = []
    for line in first.lines[1:]:
        H = 10.0 ** (line.get_ydata() / 20.0) * np.exp(1j * np.deg2rad(line.get_xdata()))
        closed = 20.0 * np.log10(np.abs(H / (1.0 + H)))
        assert np.ptp(closed) < 1e-6
        gains.append(round(float(closed[0]), 6))
    assert set(gains) == {6.0, 3.0, 1.0, 0.0, -1.0, -3.0, -6.0, -12.0, -20.0}


def test_pairs_that_are_not_drawn_are_counted() -> None:
    names = tuple(f"a{k}" for k in range(5))
    values = np.ones((len(F), 5, 2), complex) * (1.0 + 1j * F[:, None, None])
    many = FrequencyResponse(F, values, ("f", "g"), names, ("N", "N"), ("m",) * 5)
    for figure in (many.plot.bode(), many.plot.nyquist(), many.plot.nichols()):
        assert figure.axes[0].get_legend_handles_labels()[1][-1] == "and 2 more"
