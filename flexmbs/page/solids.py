"""Pictures of a solid: surface triangles in orthographic projection, far ones first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flexmbs.flexible_body import FlexibleBodyData, FloatArray, Surface
from flexmbs.page.style import SHADES, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VIEW = (-0.62, -1.0, 0.55)  # from the eye's side, along body axes
LIGHT = (0.35, -0.6, 0.75)
EXAGGERATION = 0.12  # largest displacement drawn, of the body's size


def view_axes(direction: FloatArray, up: FloatArray) -> FloatArray:
    """Rows: right, up and towards the eye, for a look from ``direction``."""
    eye = direction / np.linalg.norm(direction)
    right = np.cross(up, eye)
    right /= np.linalg.norm(right)
    return np.array([right, np.cross(eye, right), eye])


def mode_picture(data: FlexibleBodyData, mode: int) -> Figure:
    """Shape of one mode (0 the first), coloured by displacement, over the undeformed body in grey."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    assert data.surface is not None
    surface = data.surface
    u = surface.phi[:, :, mode]
    size = np.linalg.norm(u, axis=1)
    body = float(np.linalg.norm(np.ptp(surface.nodes, axis=0)))
    moved = surface.nodes + u * (EXAGGERATION * body / max(float(size.max()), 1e-300))
    axes = view_axes(_long_side_across(surface), _up(surface))
    with house_style():
        figure = Figure(figsize=(3.6, 2.3))
        figure.set_layout_engine("none")
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        draw_triangles(ax, surface.nodes @ axes.T, surface, np.full((len(surface.triangles), 3), 0.90), shaded=False)
        colours = LinearSegmentedColormap.from_list("displacement", SHADES)
        level = size[surface.triangles].mean(axis=1) / max(float(size.max()), 1e-300)
        draw_triangles(ax, moved @ axes.T, surface, colours(level)[:, :3], shaded=True)
        frame_all(ax, np.vstack([surface.nodes, moved]) @ axes.T)
    return figure


def _long_side_across(surface: Surface) -> FloatArray:
    """Direction of the look: obliquely onto the longest side of the body."""
    order = np.argsort(np.ptp(surface.nodes, axis=0))  # shortest, middle, longest
    direction = np.empty(3)
    direction[order] = -VIEW[1], VIEW[2], VIEW[0]
    return direction


def _up(surface: Surface) -> FloatArray:
    """The middle side of the body points up."""
    return np.eye(3)[np.argsort(np.ptp(surface.nodes, axis=0))[1]]


def draw_triangles(ax: Axes, seen: FloatArray, surface: Surface, colour: FloatArray, *, shaded: bool) -> None:
    """Triangles from far to near; turned away ones are left out."""
    from matplotlib.collections import PolyCollection

    corners = seen[surface.triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1)
    facing = normal[:, 2] > 0.0
    order = np.flatnonzero(facing)[np.argsort(corners[facing, :, 2].mean(axis=1))]
    if shaded:
        light = np.asarray(LIGHT) / np.linalg.norm(LIGHT)
        bright = 0.72 + 0.33 * np.clip(normal @ light / np.maximum(length, 1e-300), 0.0, 1.0)
        colour = np.clip(colour * bright[:, None], 0.0, 1.0)
    shown = colour[order]
    ax.add_collection(PolyCollection(list(corners[order, :, :2]), facecolors=shown, edgecolors=shown, linewidths=0.3))


def frame_all(ax: Axes, seen: FloatArray) -> None:
    low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
    margin = 0.06 * float((high - low).max() or 1.0)
    ax.set_xlim(low[0] - margin, high[0] + margin)
    ax.set_ylim(low[1] - margin, high[1] + margin)
    ax.set_aspect("equal")
    ax.set_axis_off()
