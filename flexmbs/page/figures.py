"""Solids in figures of matplotlib, drawn as pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.flexible_body.components import FloatArray, Surface
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.page.raster import Canvas
from flexmbs.page.solids import SIDES, both_sides, deformed, is_long
from flexmbs.page.style import INK, MUTED, STRESS, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FINE = 170  # pixels per inch of the drawn solids
BOX: Any = {
    "boxstyle": "round,pad=0.15",
    "facecolor": "white",
    "edgecolor": "none",
    "alpha": 0.75,
}


def empty_figure(width: float, height: float) -> Figure:
    """Figure without layout, size in inches."""
    from flexmbs.page.notebook_figure import NotebookFigure

    figure = NotebookFigure(figsize=(width, height))
    figure.set_layout_engine("none")
    return figure


def show(ax: Axes, canvas: Canvas) -> None:
    """Draw the pixels of a canvas; the units of the axes are its pixels."""
    ax.imshow(canvas.image(), extent=(0.0, canvas.width, canvas.height, 0.0))
    ax.set_axis_off()


def mode_picture(data: FlexibleBodyData, mode: int) -> Figure:
    """Shape of a mode (0 is the first), coloured by displacement, over the undeformed body."""
    surface = data.surface
    assert surface is not None
    u = surface.phi[:, :, mode]
    with house_style():
        figure = empty_figure(3.6, 2.3)
        size = round(3.6 * FINE), round(2.3 * FINE)
        canvas = deformed(surface, u, np.linalg.norm(u, axis=1), size=size)
        show(figure.add_axes((0.0, 0.0, 1.0, 1.0)), canvas)
    return figure


def field_picture(surface: Surface, values: FloatArray, label: str, marks: FloatArray) -> Figure:
    """Values (N,) at the nodes of the surface as colours from zero to the largest.

    Visible ``marks`` (m, 3) are numbered from 1.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    largest = max(float(values.max(initial=0.0)), 1e-300)
    rows, columns, height = (2, 1, 5.2) if is_long(surface) else (1, 2, 4.2)
    size = round(7.5 * FINE / columns), round(height * FINE / rows)
    with house_style():
        figure = empty_figure(8.6, height)
        axes = figure.subplots(rows, columns, squeeze=False)
        figure.subplots_adjust(0.0, 0.0, 0.88, 1.0, 0.0, 0.0)
        sides = both_sides(surface, values / largest, STRESS, marks, size)
        for ax, side, name in zip(axes.flat, sides, SIDES):
            show(ax, side.canvas)
            for k, (x, y) in side.marks:
                ax.plot(x, y, marker="o", markersize=3.5, color=INK)
                ax.annotate(
                    str(k),
                    (x, y),
                    (5, 5),
                    textcoords="offset points",
                    fontsize=9,
                    color=INK,
                    fontweight="bold",
                    bbox=BOX,
                )
            ax.text(0.01, 0.99, name, transform=ax.transAxes, color=MUTED, fontsize=9, va="top")
        colours = LinearSegmentedColormap.from_list("field", STRESS)
        bar = figure.colorbar(
            ScalarMappable(Normalize(0.0, largest), colours),
            cax=figure.add_axes((0.9, 0.14, 0.02, 0.66)),
        )
        bar.outline.set_visible(False)  # type: ignore[operator]
        bar.ax.set_title(label, fontsize=9, pad=10)
        bar.ax.grid(visible=False)
    return figure
