"""Pictures of a scalar field on the surface of a solid, from two opposite sides, with numbered points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flexmbs.flexible_body.parts import FloatArray, Surface
from flexmbs.page.solids import draw_triangles, frame_all, view_of
from flexmbs.page.style import INK, MUTED, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

SCALE = ("#eef1f4", "#f8dcab", "#f2ab62", "#dc662f", "#a5241f", "#4f0f14")
SIDES = ("from above", "from below, the other side")
PLACES = ((0.0, 0.5, 0.88, 0.5), (0.0, 0.0, 0.88, 0.5))
TALL = ((0.0, 0.0, 0.44, 1.0), (0.44, 0.0, 0.44, 1.0))


def field_picture(surface: Surface, values: FloatArray, label: str, marks: FloatArray) -> Figure:
    """Values (N,) at the surface's nodes as colours from zero to the largest; visible ``marks`` (m, 3) are numbered from 1."""
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
        for place, axes, side in zip(PLACES if wide else TALL, (above, _other_side(above)), SIDES):
            ax = figure.add_axes(place)
            _side(ax, surface, values / largest, axes, colours)
            _numbers(ax, surface, marks, axes)
            ax.text(0.01, 0.99, side, transform=ax.transAxes, color=MUTED, fontsize=9, va="top")
        bar = figure.colorbar(ScalarMappable(Normalize(0.0, largest), colours), cax=figure.add_axes((0.9, 0.14, 0.02, 0.66)))
        bar.outline.set_visible(False)  # type: ignore[operator]
        bar.ax.set_title(label, fontsize=9, pad=10)
        bar.ax.grid(visible=False)
    return figure


def _other_side(axes: FloatArray) -> FloatArray:
    """The view along the same line from the opposite side, with the same direction up."""
    right, up, eye = axes
    return np.array([-right, up, -eye])


def _side(ax: Axes, surface: Surface, level: FloatArray, axes: FloatArray, colours: Colormap) -> None:
    seen = surface.nodes @ axes.T
    draw_triangles(ax, seen, surface, colours(level[surface.triangles].mean(axis=1))[:, :3], shaded=True)
    frame_all(ax, seen[np.unique(surface.triangles)])


def _numbers(ax: Axes, surface: Surface, marks: FloatArray, axes: FloatArray) -> None:
    """A number at each visible mark."""
    corners = surface.nodes[surface.triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    centres = corners.mean(axis=1)
    for k, mark in enumerate(marks):
        near = np.argsort(np.linalg.norm(centres - mark, axis=1))[:6]
        if (normal[near] @ axes[2]).max() > 0.0:
            x, y = (axes @ mark)[:2]
            ax.plot(x, y, marker="o", markersize=3.5, color=INK, zorder=60)
            ax.annotate(
                str(k + 1), (x, y), (5, 5), textcoords="offset points", fontsize=9, color=INK, fontweight="bold", zorder=61,
                bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
            )  # fmt: skip
