"""Figures of a frequency response.

Bode, Nyquist and Nichols diagrams, with one curve per pair of input and output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.page.style import (
    MUTED,
    PALETTE,
    decades,
    finish,
    house_style,
    label,
    outer_legend,
    panels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from flexmbs.signals.frequency_response import ComplexArray, FrequencyResponse

MOST_CURVES = 8
# dB, closed-loop gains drawn in a Nichols diagram
GAINS = (6.0, 3.0, 1.0, 0.0, -1.0, -3.0, -6.0, -12.0, -20.0)


class FrequencyPlots:
    """Figures of one frequency response; at most eight pairs of input and output are drawn."""

    def __init__(self, response: FrequencyResponse) -> None:
        self.response = response

    def bode(self) -> Figure:
        """Bode diagram: magnitude on logarithmic axes and phase in degrees over the frequency.

        One panel per unit.
        """
        units = sorted({unit for _, unit, _ in self._curves()})
        logarithmic = self.response.f.min() > 0.0
        with house_style():
            figure, axes = panels(len(units) + 1, height=2.3)
            for k, (name, unit, values) in enumerate(self._curves()):
                for ax, curve in (
                    (axes[units.index(unit)], np.abs(values)),
                    (axes[-1], np.rad2deg(np.unwrap(np.angle(values)))),
                ):
                    ax.plot(self.response.f, curve, color=PALETTE[k % len(PALETTE)], label=name)
            self._note_more(axes[0])
            for ax, unit in zip(axes, units):
                ax.set_title(f"Magnitude  [{unit}]")
                ax.set_yscale("log")
            axes[-1].set_title("Phase  [deg]")
            axes[-1].yaxis.set_major_locator(_degrees())
            if logarithmic:
                axes[-1].set_xscale("log")
                decades(axes[-1].xaxis)
            finish(axes, xlabel="f  [Hz]")
        return figure

    def nyquist(self) -> Figure:
        """Nyquist diagram: imaginary over real part, with equal scales.

        It shows the point −1 if units cancel (open loops). One panel per unit.
        """
        return self._planes(_nyquist_plane)

    def nichols(self) -> Figure:
        """Nichols diagram: magnitude in dB over the phase in degrees.

        With contours of the closed-loop gain H/(1 + H) if units cancel.
        """
        return self._planes(_nichols_plane)

    def _planes(
        self, draw: Callable[[Axes, str, list[tuple[str, ComplexArray, str]]], None]
    ) -> Figure:
        """Figure with one complex plane for each unit, drawn by ``draw``."""
        curves = [
            (name, unit, values, PALETTE[k % len(PALETTE)])
            for k, (name, unit, values) in enumerate(self._curves())
        ]
        units = sorted({unit for _, unit, _, _ in curves})
        with house_style():
            figure, axes = panels(len(units), height=4.6, share=False)
            for ax, unit in zip(axes, units):
                draw(
                    ax,
                    unit,
                    [(name, values, colour) for name, own, values, colour in curves if own == unit],
                )
                self._note_more(ax)
                outer_legend(ax, 1.02)
        return figure

    def _note_more(self, ax: Axes) -> None:
        """Add a legend entry about pairs that are not drawn."""
        more = len(self.response.outputs) * len(self.response.inputs) - MOST_CURVES
        if more > 0:
            ax.plot([], [], " ", label=f"and {more} more")

    def _curves(self) -> Iterator[tuple[str, str, ComplexArray]]:
        """Tuples (name, unit, values) of the drawn pairs."""
        now = self.response
        pairs = [(o, i) for o in now.outputs for i in now.inputs][:MOST_CURVES]
        for output, input in pairs:
            name = (
                output
                if len(now.inputs) == 1
                else input
                if len(now.outputs) == 1
                else f"{label(output)}\n / {input}"
            )
            yield (
                label(name) if "\n" not in name else name,
                now.unit(output, input),
                now[output, input],
            )


def _nyquist_plane(ax: Axes, unit: str, curves: list[tuple[str, ComplexArray, str]]) -> None:
    """Draw curves in the Nyquist plane, with the critical point −1."""
    for name, values, colour in curves:
        ax.plot(values.real, values.imag, color=colour, label=name)
        ax.plot(values.real[0], values.imag[0], "o", color=colour, markersize=4)
    ax.axhline(0.0, color=MUTED, linewidth=0.7, zorder=0)
    ax.axvline(0.0, color=MUTED, linewidth=0.7, zorder=0)
    if unit == "1":
        ax.plot(-1.0, 0.0, "+", color=PALETTE[3], markersize=10, label="−1")
    ax.margins(0.06)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_title(f"H  [{unit}], dots at the lowest frequency")
    ax.set_xlabel("Re H")
    ax.set_ylabel("Im H")


def _nichols_plane(ax: Axes, unit: str, curves: list[tuple[str, ComplexArray, str]]) -> None:
    """Draw curves in the Nichols plane: phase and gain in dB."""
    for name, values, colour in curves:
        with np.errstate(divide="ignore"):
            ax.plot(
                np.rad2deg(np.unwrap(np.angle(values))),
                20.0 * np.log10(np.abs(values)),
                color=colour,
                label=name,
            )
    if unit == "1":
        low, high = ax.get_xlim()
        for turn in range(int(np.floor(low / 360.0)), int(np.ceil(high / 360.0)) + 1):
            _closed_loop_gains(ax, 360.0 * turn - 180.0)
        ax.set_xlim(min(low, -225.0), max(high, 10.0))
    ax.margins(y=0.06)
    ax.xaxis.set_major_locator(_degrees())
    ax.set_title(
        f"|H|  [dB of {unit}]" + (", grey: gain of H/(1 + H) in dB" if unit == "1" else "")
    )
    ax.set_xlabel("phase  [deg]")


def _closed_loop_gains(ax: Axes, centre: float) -> None:
    """Contours |H/(1 + H)| = M in a Nichols diagram around the phase ``centre``.

    H = T/(1 − T), T = M e^{iθ}
    """
    theta = np.linspace(0.002, 2.0 * np.pi - 0.002, 400)
    for gain in GAINS:
        T = 10.0 ** (gain / 20.0) * np.exp(1j * theta)
        H = T / (1.0 - T)
        x = centre + np.rad2deg(np.angle(-H))
        order = np.argsort(x) if gain <= 0.0 else np.arange(len(x))
        level = 20.0 * np.log10(np.abs(H[order]))
        ax.plot(x[order], level, color="#c9d2da", linewidth=0.8, zorder=0)
        top = int(np.argmax(level))
        place = (x[order][top], level[top]) if gain != 0.0 else (centre + 97.0, 24.0)
        ax.annotate(
            f"{gain:g}", place, color=MUTED, fontsize=8, ha="center", va="bottom", clip_on=True
        )


def _degrees():  # type: ignore[no-untyped-def]
    """Locator of ticks at divisors of 90°."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=7, steps=[1, 1.5, 3, 4.5, 9])
