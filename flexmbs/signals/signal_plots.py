"""Figures of signals and spectra."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flexmbs.page.curve_panels import thinned
from flexmbs.page.style import MUTED, PALETTE, SHADES, decades, finish, house_style, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from flexmbs.signals.signal_arguments import FloatArray

RANGE = 60.0  # dB, range of the colours


def line_figure(
    x: FloatArray,
    y: FloatArray,
    title: str,
    xlabel: str,
    *,
    logarithmic: bool = False,
    wide: bool = False,
) -> Figure:
    """Figure of one curve.

    ``logarithmic``: logarithmic values, ``wide``: also logarithmic abscissa.
    """
    with house_style():
        figure, (ax,) = panels(1, height=2.8)
        ax.plot(*thinned(x, y), color=PALETTE[0], linewidth=1.3)
        ax.set_title(title)
        if logarithmic:
            ax.set_yscale("log")
        elif y.min() < 0.0 < y.max():
            ax.axhline(0.0, color=MUTED, linewidth=0.7, zorder=0)
        if wide:
            ax.set_xscale("log")
            decades(ax.xaxis)
        finish([ax], xlabel=xlabel)
    return figure


def map_figure(
    x: FloatArray, y: FloatArray, values: FloatArray, title: str, labels: tuple[str, str]
) -> Figure:
    """Figure of values (ny, nx) in dB relative to the largest as colours, with a scale."""
    from matplotlib.colors import LinearSegmentedColormap

    largest = float(values.max(initial=0.0)) or 1.0
    level = 20.0 * np.log10(np.maximum(values / largest, 10.0 ** (-RANGE / 20.0)))
    colours = LinearSegmentedColormap.from_list("level", ("#ffffff", *SHADES[1:]))
    with house_style():
        figure, (ax,) = panels(1, height=3.4)
        order = np.argsort(x)
        mesh = ax.pcolormesh(
            x[order],
            y,
            level[:, order],
            cmap=colours,
            vmin=-RANGE,
            vmax=0.0,
            shading="nearest",
            rasterized=True,
        )
        ax.grid(False)
        ax.set_title(title)
        ax.set_ylabel(labels[1])
        scale = figure.colorbar(mesh, ax=ax, pad=0.02, fraction=0.04)
        scale.outline.set_visible(False)
        finish([ax], xlabel=labels[0])
    return figure
