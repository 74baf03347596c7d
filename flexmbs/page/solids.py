"""Pictures of a solid: surface triangles in orthographic projection, drawn from far to near."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from flexmbs.flexible_body.components import FloatArray, IntArray, Surface
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.page.style import INK, PALETTE, SHADES, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VIEW = (-0.62, -1.0, 0.55)  # direction of light, in body axes
LIGHT = (0.35, -0.6, 0.75)
EXAGGERATION = 0.12  # largest displacement drawn, relative to the body's size
TRIAD = 0.09  # length of the axes of frames, relative to the body's size


class MarkedFrame(NamedTuple):
    """Marked frame of a solid: rows of its nodes (n,), position (3,) and axes (3, 3) as columns."""

    nodes: IntArray
    position: FloatArray
    axes: FloatArray


def view_axes(direction: FloatArray, up: FloatArray) -> FloatArray:
    """Rows: right, up and towards the viewer, for a view from ``direction``."""
    eye = direction / np.linalg.norm(direction)
    right = np.cross(up, eye)
    right /= np.linalg.norm(right)
    return np.array([right, np.cross(eye, right), eye])


def mode_picture(data: FlexibleBodyData, mode: int) -> Figure:
    """Shape of a mode (0 is the first), coloured by displacement, over the undeformed body in
    grey."""
    from matplotlib.colors import LinearSegmentedColormap

    surface = data.surface
    assert surface is not None
    u = surface.phi[:, :, mode]
    value = np.linalg.norm(u, axis=1)
    body, largest = float(np.linalg.norm(np.ptp(surface.nodes, axis=0))), float(value.max())
    moved = surface.nodes + u * (EXAGGERATION * body / max(largest, 1e-300))
    axes = view_of(surface)
    with house_style():
        figure, ax = _canvas(3.6, 2.3)
        draw_triangles(
            ax,
            surface.nodes @ axes.T,
            surface,
            np.full((len(surface.triangles), 3), 0.90),
            shaded=False,
        )
        colours = LinearSegmentedColormap.from_list("value", SHADES)
        level = value[surface.triangles].mean(axis=1) / max(float(value.max()), 1e-300)
        draw_triangles(ax, moved @ axes.T, surface, colours(level)[:, :3], shaded=True)
        frame_all(ax, np.vstack([surface.nodes, moved]) @ axes.T)
    return figure


def places_picture(surface: Surface, places: Mapping[str, MarkedFrame]) -> Figure:
    """Surface in grey with coloured regions, the triads of their frames and their names."""
    from matplotlib.colors import to_rgb

    axes = view_of(surface)
    colour = np.full((len(surface.triangles), 3), 0.87)
    for k, place in enumerate(places.values()):
        own = np.isin(surface.triangles, place.nodes).all(axis=1)
        colour[own] = to_rgb(PALETTE[(k + 1) % len(PALETTE)])
    size = float(np.linalg.norm(np.ptp(surface.nodes, axis=0)))
    with house_style():
        figure, ax = _canvas(8.6, 3.6)
        draw_triangles(ax, surface.nodes @ axes.T, surface, colour, shaded=True)
        for k, (name, place) in enumerate(places.items()):
            _triad(ax, place, axes, TRIAD * size, name, PALETTE[(k + 1) % len(PALETTE)])
        frame_all(
            ax,
            np.vstack(
                [
                    surface.nodes,
                    *(place.position + TRIAD * size * np.eye(3) for place in places.values()),
                ]
            )
            @ axes.T,
        )
    return figure


def _triad(
    ax: Axes, place: MarkedFrame, axes: FloatArray, length: float, name: str, colour: str
) -> None:
    """Axes of a frame, their letters, and its name below."""
    start = axes[:2] @ place.position
    arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.0, "mutation_scale": 8}
    text: Any = {"color": INK, "ha": "center", "textcoords": "offset points"}
    for letter, axis in zip("xyz", place.axes.T):
        end = axes[:2] @ (place.position + length * axis)
        beyond = 6 * (end - start) / max(float(np.linalg.norm(end - start)), 1e-300)
        ax.annotate("", _point(end), _point(start), arrowprops=arrow, zorder=30)
        ax.annotate(letter, _point(end), _point(beyond), fontsize=8, va="center", zorder=31, **text)
    ax.plot(*start, "o", color=INK, markersize=3, zorder=30)
    label = {
        "boxstyle": "round,pad=0.3",
        "facecolor": "white",
        "edgecolor": colour,
        "linewidth": 1.2,
    }
    ax.annotate(
        name, _point(start), (0.0, -14.0), fontsize=9, va="top", zorder=40, bbox=label, **text
    )


def _point(v: FloatArray) -> tuple[float, float]:
    return float(v[0]), float(v[1])


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure filled by its axes, size in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")
    return figure, figure.add_axes((0.0, 0.0, 1.0, 1.0))


def view_of(surface: Surface) -> FloatArray:
    """View axes of a solid: obliquely onto its longest side, the middle side up."""
    return view_axes(_long_side_across(surface), up_of(surface))


def _long_side_across(surface: Surface) -> FloatArray:
    """View direction: obliquely onto the longest side of the body."""
    order = np.argsort(np.ptp(surface.nodes, axis=0))  # shortest, middle, longest
    direction = np.empty(3)
    direction[order] = -VIEW[1], VIEW[2], VIEW[0]
    return direction


def up_of(surface: Surface) -> FloatArray:
    """The middle side of the body points up."""
    return np.eye(3)[np.argsort(np.ptp(surface.nodes, axis=0))[1]]


def draw_triangles(
    ax: Axes, seen: FloatArray, surface: Surface, colour: FloatArray, *, shaded: bool
) -> None:
    """Triangles from far to near; those facing away are omitted."""
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
    # matplotlib takes an array without a loop over its rows
    shown, flat = colour[order], cast("Any", corners[order, :, :2])
    ax.add_collection(PolyCollection(flat, facecolors=shown, edgecolors=shown, linewidths=0.3))


def frame_all(ax: Axes, seen: FloatArray) -> None:
    low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
    margin = 0.06 * float((high - low).max() or 1.0)
    ax.set_xlim(low[0] - margin, high[0] + margin)
    ax.set_ylim(low[1] - margin, high[1] + margin)
    ax.set_aspect("equal")
    ax.set_axis_off()
