"""Pictures of a scalar field on the surface of a solid, from two opposite sides, with numbered
points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flexmbs.flexible_body.components import FloatArray, Surface
from flexmbs.page.raster import Canvas, ramp, smooth
from flexmbs.page.solids import frame_all, view_of
from flexmbs.page.style import INK, MUTED, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCALE = ("#eef1f4", "#f8dcab", "#f2ab62", "#dc662f", "#a5241f", "#4f0f14")
DAMAGE = ("#eef1f4", "#cfd6ea", "#aba4d4", "#9466b5", "#7a2286", "#3f0a4f")
SIDES = ("from above", "from below, the other side")
PLACES = ((0.0, 0.5, 0.88, 0.5), (0.0, 0.0, 0.88, 0.5))
PIXELS = (1400, 800)
# relative to the body's size: least depth step of an edge, and depth that hides a point
EDGE, HIDDEN = 0.01, 2e-3
TALL = ((0.0, 0.0, 0.44, 1.0), (0.44, 0.0, 0.44, 1.0))


def field_picture(surface: Surface, values: FloatArray, label: str, marks: FloatArray) -> Figure:
    """Values (N,) at the nodes of the surface as colours from zero to the largest; visible
    ``marks`` (m, 3) are numbered from 1."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure

    colours = LinearSegmentedColormap.from_list("field", SCALE)
    largest = max(float(values.max(initial=0.0)), 1e-300)
    above = view_of(surface)
    wide = bool(np.ptp(surface.nodes @ above[0]) > 1.6 * np.ptp(surface.nodes @ above[1]))
    with house_style():
        figure = Figure(figsize=(8.6, 5.2 if wide else 4.2))
        figure.set_layout_engine("none")
        for place, axes, side in zip(PLACES if wide else TALL, (above, other_side(above)), SIDES):
            ax = figure.add_axes(place)
            canvas = _side(ax, surface, values / largest, axes)
            _numbers(
                ax,
                canvas,
                marks @ axes.T,
                HIDDEN * float(np.linalg.norm(np.ptp(surface.nodes, axis=0))),
            )
            ax.text(0.01, 0.99, side, transform=ax.transAxes, color=MUTED, fontsize=9, va="top")
        bar = figure.colorbar(
            ScalarMappable(Normalize(0.0, largest), colours),
            cax=figure.add_axes((0.9, 0.14, 0.02, 0.66)),
        )
        bar.outline.set_visible(False)  # type: ignore[operator]
        bar.ax.set_title(label, fontsize=9, pad=10)
        bar.ax.grid(visible=False)
    return figure


def other_side(axes: FloatArray) -> FloatArray:
    """View from the opposite side along the same line, with the same upward direction."""
    right, up, eye = axes
    return np.array([-right, up, -eye])


def _side(ax: Axes, surface: Surface, level: FloatArray, axes: FloatArray) -> Canvas:
    """Draw the surface in the pure colours of the bar, with its edges."""
    seen = surface.nodes @ axes.T
    canvas = Canvas(seen, *PIXELS)
    canvas.draw(seen[surface.triangles], smooth(level[surface.triangles], ramp(SCALE)))
    canvas.outline(EDGE * float(np.linalg.norm(np.ptp(seen, axis=0))))
    half = 0.5 * np.array(PIXELS) / canvas.scale
    (left, low), (right, high) = canvas.centre - half, canvas.centre + half
    ax.imshow(canvas.image(), extent=(left, right, low, high), interpolation="antialiased")
    frame_all(ax, seen[np.unique(surface.triangles)])
    return canvas


def _numbers(ax: Axes, canvas: Canvas, marks: FloatArray, tolerance: float) -> None:
    """Draw the number of each visible mark (m, 3)."""
    for k, mark in enumerate(marks):
        if canvas.visible(mark, tolerance):
            ax.plot(*mark[:2], marker="o", markersize=3.5, color=INK, zorder=60)
            ax.annotate(
                str(k + 1),
                (mark[0], mark[1]),
                (5, 5),
                textcoords="offset points",
                fontsize=9,
                color=INK,
                fontweight="bold",
                zorder=61,
                bbox={
                    "boxstyle": "round,pad=0.15",
                    "facecolor": "white",
                    "edgecolor": "none",
                    "alpha": 0.75,
                },
            )
