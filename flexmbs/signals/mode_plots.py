"""Figures of eigenvalues over a parameter: Campbell diagram and root locus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from flexmbs.page.style import GRID, INK, MUTED, PALETTE, finish, house_style, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from flexmbs.signals.signal_arguments import FloatArray
    from flexmbs.signals.tracking import ComplexArray

STRAIGHT = 0.05  # whirl below which an orbit counts as straight
SMALL = 1e-6  # smaller damping ratios are not drawn


class CriticalSpeedMark(Protocol):
    """Critical speed of a branch, which may rotate with the rotor."""

    @property
    def speed(self) -> float: ...
    @property
    def frequency(self) -> float: ...
    @property
    def turning(self) -> bool: ...


class CampbellData(Protocol):
    """Contents of a Campbell diagram."""

    @property
    def values(self) -> FloatArray: ...
    @property
    def frequency(self) -> FloatArray: ...
    @property
    def damping(self) -> FloatArray: ...
    @property
    def whirl(self) -> FloatArray: ...


def campbell_figure(
    diagram: CampbellData, orders: FloatArray, marks: Sequence[CriticalSpeedMark]
) -> Figure:
    """Frequencies and, if there are any, damping ratios over the speed.

    Lines of the orders, points at critical speeds.
    """
    damped = np.nanmax(np.abs(diagram.damping), initial=0.0) > SMALL
    with house_style():
        figure, axes = panels(1 + int(damped), height=3.4)
        frequencies = axes[0]
        for k in range(diagram.frequency.shape[1]):
            colour = PALETTE[k % len(PALETTE)]
            for style, part in _senses(diagram.whirl[:, k]):
                frequencies.plot(
                    diagram.values,
                    np.where(part, diagram.frequency[:, k], np.nan),
                    style,
                    color=colour,
                )
            frequencies.plot([], [], color=colour, label=f"mode {k}")
            if damped:
                axes[1].plot(diagram.values, diagram.damping[:, k], color=colour, label=f"mode {k}")
        top = 1.08 * float(np.nanmax(diagram.frequency, initial=0.0)) or 1.0
        frequencies.set_ylim(0.0, top)
        _orders(figure, diagram.values, orders, top)
        for turning, label in (
            (False, "critical speeds"),
            (True, "critical for stationary loads, seen from the rotor"),
        ):
            points = [(mark.speed, mark.frequency) for mark in marks if mark.turning == turning]
            if points:
                frequencies.plot(
                    *np.array(points).T,
                    "so"[not turning],
                    color=INK,
                    markersize=4.5,
                    label=label,
                    zorder=4,
                )
        if (np.abs(diagram.whirl) > STRAIGHT).any():
            frequencies.plot([], [], "-", color=MUTED, label="forward")
            frequencies.plot([], [], "--", color=MUTED, label="backward")
        frequencies.set_title("Natural frequencies  [Hz]")
        if damped:
            axes[1].axhline(0.0, color=MUTED, linewidth=0.7, zorder=0)
            axes[1].set_title("Damping ratios")
        finish(axes, xlabel="Ω  [rad/s]")
    return figure


def root_locus_figure(eigenvalue: ComplexArray) -> Figure:
    """Eigenvalues (n, m) of branches in the complex plane, with their conjugates."""
    with house_style():
        figure, (ax,) = panels(1, height=5.0)
        for k, values in enumerate(eigenvalue.T):
            colour = PALETTE[k % len(PALETTE)]
            there = values[np.isfinite(values.real)]
            for sign in (1.0, -1.0):
                ax.plot(
                    there.real,
                    sign * there.imag,
                    ".-",
                    color=colour,
                    markersize=3,
                    label=f"mode {k}" if sign > 0 else None,
                )
                ax.plot(there.real[0], sign * there.imag[0], "x", color=colour, markersize=7)
                ax.plot(there.real[-1], sign * there.imag[-1], "o", color=colour, markersize=5)
        ax.axhline(0.0, color=MUTED, linewidth=0.7, zorder=0)
        ax.axvline(0.0, color=MUTED, linewidth=0.7, zorder=0)
        ax.margins(0.06)
        ax.set_title("Eigenvalues  [1/s], crosses at the first value, dots at the last")
        ax.set_ylabel("Im λ  [rad/s]")
        finish([ax], xlabel="Re λ  [1/s]")
    return figure


def _senses(whirl: FloatArray) -> list[tuple[str, np.ndarray]]:
    """Line styles and the points that they join.

    Dashed for backward whirl, including the adjacent point.
    """
    backward = whirl < -STRAIGHT
    reach = ~backward
    reach[1:] |= ~backward[:-1]
    return [("-", reach if backward.any() else np.ones(len(whirl), bool)), ("--", backward)]


def _orders(figure: Figure, speeds: FloatArray, orders: FloatArray, top: float) -> None:
    """Draw the lines of engine orders into a Campbell diagram."""
    ax = figure.axes[0]
    for order in orders:
        line = order * np.abs(speeds) / (2.0 * np.pi)
        ax.plot(speeds, line, color="#aeb9c4", linewidth=1.0, zorder=1)
        inside = np.flatnonzero(line <= 0.94 * top)
        if len(inside):
            at = int(inside[-1])
            ax.annotate(
                f"{order:g}×",
                (speeds[at], line[at]),
                color=MUTED,
                fontsize=9,
                ha="right",
                va="bottom",
                bbox={"facecolor": "white", "edgecolor": GRID, "pad": 1.0},
            )
