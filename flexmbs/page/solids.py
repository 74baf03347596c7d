"""Views of a solid as pixels: deformed, or with values on its surface from two opposite sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray, IntArray, Surface
from flexmbs.page.raster import Canvas, flat, ramp, smooth
from flexmbs.page.style import SHADES

VIEW = (-0.62, -1.0, 0.55)  # view direction along the shortest, longest and middle side
EXAGGERATION = 0.12  # largest displacement drawn, relative to the body's size
# relative to the body's size: least depth step of an edge, and depth that hides a point
EDGE, HIDDEN = 0.01, 2e-3
SIDES = ("from above", "from below, the other side")
LONG = 1.6  # ratio of width to height above which the sides are drawn one above the other


class MarkedFrame(NamedTuple):
    """Marked frame of a solid: rows of its nodes (n,), position (3,) and axes (3, 3) as columns."""

    nodes: IntArray
    position: FloatArray
    axes: FloatArray


class SolidSide(NamedTuple):
    """Pixels of a solid from one side, and the numbers of the visible marks with their pixels."""

    canvas: Canvas
    marks: list[tuple[int, FloatArray]]


def view_axes(direction: FloatArray, up: FloatArray) -> FloatArray:
    """Rows: right, up and towards the viewer, for a view from ``direction``."""
    eye = direction / np.linalg.norm(direction)
    right = np.cross(up, eye)
    right /= np.linalg.norm(right)
    return np.array([right, np.cross(eye, right), eye])


def deformed(
    surface: Surface,
    u: FloatArray,
    value: FloatArray,
    scale: Sequence[str] = SHADES,
    size: tuple[int, int] = (400, 250),
) -> Canvas:
    """Picture of a surface displaced by u (N, 3), coloured by a value (N,) ≥ 0.

    The displacement is exaggerated, the undeformed body is grey; size in pixels.
    """
    extent, largest = body_size(surface), float(np.linalg.norm(u, axis=1).max())
    axes = view_of(surface)
    rest = surface.nodes @ axes.T
    moved = rest + u @ axes.T * (EXAGGERATION * extent / max(largest, 1e-300))
    canvas = Canvas(np.vstack([rest, moved]), *size)
    canvas.draw(rest[surface.triangles], flat(np.full((len(surface.triangles), 3), 0.80)))
    canvas.clear_depth()
    level = value[surface.triangles].mean(axis=1) / max(float(value.max()), 1e-300)
    table = ramp(scale)
    canvas.draw_shaded(moved[surface.triangles], table[(level * (len(table) - 1)).astype(int)])
    return canvas


def both_sides(
    surface: Surface,
    places: FloatArray,
    scale: Sequence[str],
    marks: FloatArray,
    size: tuple[int, int],
) -> list[SolidSide]:
    """Picture of a surface from two opposite sides in the colours of a scale.

    places (N,) in the scale at its nodes are 0 to 1, NaN is grey; ``marks`` (m, 3) are numbered
    from 1.

    Places (N,) in the scale at its nodes are 0 to 1, NaN is grey; ``marks`` (m, 3) are numbered
    from 1.
    """
    table, extent = ramp(scale), body_size(surface)
    right, up, eye = view_of(surface)
    sides = []
    for axes in (np.array([right, up, eye]), np.array([-right, up, -eye])):
        seen = surface.nodes @ axes.T
        canvas = Canvas(seen, *size)
        canvas.draw(seen[surface.triangles], smooth(places[surface.triangles], table))
        canvas.outline(EDGE * extent)
        numbered = [
            (k, canvas.place(mark))
            for k, mark in enumerate(marks @ axes.T, 1)
            if canvas.visible(mark, HIDDEN * extent)
        ]
        sides.append(SolidSide(canvas, numbered))
    return sides


def is_long(surface: Surface) -> bool:
    """True if two views of a solid fit better one above the other than side by side."""
    width, height = (np.ptp(surface.nodes @ axis) for axis in view_of(surface)[:2])
    return bool(width > LONG * height)


def body_size(surface: Surface) -> float:
    """Diagonal of the box around the nodes."""
    return float(np.linalg.norm(np.ptp(surface.nodes, axis=0)))


def view_of(surface: Surface) -> FloatArray:
    """View axes of a body: obliquely onto its longest side, the middle side up."""
    return view_axes(_long_side_across(surface), up_of(surface))


def _long_side_across(surface: Surface) -> FloatArray:
    """View direction: obliquely onto the longest side of the body."""
    order = np.argsort(np.ptp(surface.nodes, axis=0))  # shortest, middle, longest
    direction = np.empty(3)
    direction[order] = -VIEW[1], VIEW[2], VIEW[0]
    return direction


def up_of(surface: Surface) -> FloatArray:
    """Unit vector of the middle side of the body, which points up."""
    return np.eye(3)[np.argsort(np.ptp(surface.nodes, axis=0))[1]]
