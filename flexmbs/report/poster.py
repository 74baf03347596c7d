"""Static picture of a motion on the page, and the block pattern of the equations."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.page.drawings import flat, image, shaded, svg_url
from flexmbs.page.raster import Canvas
from flexmbs.page.style import PALETTE
from flexmbs.report.pictures import INSTANTS, body_points, free_paths, plane_of
from flexmbs.results.block_system import ZERO

if TYPE_CHECKING:
    from flexmbs.flexible_body.components import FloatArray
    from flexmbs.results.block_system import BlockSystem
    from flexmbs.results.solution import SolutionData

SIZE = (1000, 510)
PATTERN, LEFT = 360, 110  # pixels: size of the pattern, margin for names
BLUE = np.array([0.12, 0.35, 0.58])


def motion_drawing(solution: SolutionData) -> str:
    """Bodies at a few instants, later ones darker, with the paths of free frames, viewed normal to
    the plane of motion, as a data URL."""
    pick = np.unique(np.linspace(0, len(solution.t) - 1, INSTANTS).astype(int))
    points = {name: body_points(solution, name, pick) for name in solution.bodies}
    everything = np.concatenate(
        [values.reshape(-1, 3) for values in points.values()] + [np.zeros((1, 3))]
    )
    axes = plane_of(everything, np.asarray(solution.compiled.model.gravity))
    canvas, lines = Canvas(everything @ axes.T, *SIZE, margin=0.07), []
    for k in range(len(pick)):
        shade = 0.86 - 0.62 * (k / max(len(pick) - 1, 1)) ** 1.4
        tone = shade + (1.0 - shade) * 0.9 * BLUE
        for name, values in points.items():
            shape, seen = solution.shape(name), values[k] @ axes.T
            if shape is not None and len(shape.surface.triangles):
                corners = seen[shape.surface.triangles]
                canvas.draw(corners, flat(shaded(np.tile(tone, (len(corners), 1)), corners)))
            else:
                lines.append(_polyline(canvas, seen, tone))
        canvas.clear_depth()
    paths = [_path(canvas, path @ axes.T) for path in free_paths(solution)]
    x, y = canvas.place(np.zeros(3))
    ground = f'<path d="M{x:.1f} {y - 7:.1f}l7 13h-14z" fill="#1d2733"/>'
    times = ", ".join(f"{solution.t[i]:.3g}" for i in pick)
    paper = f'<rect width="{SIZE[0]}" height="{SIZE[1]}" rx="8" fill="#fff"/>'
    return svg_url(
        SIZE,
        [
            paper,
            image(canvas),
            *lines,
            *paths,
            ground,
            f'<text x="10" y="{SIZE[1] - 10}">t = {times} s</text>',
        ],
    )


def _polyline(canvas: Canvas, seen: FloatArray, tone: FloatArray) -> str:
    """Frames of a rigid body as a polyline with points."""
    colour = "#" + "".join(f"{round(255 * c):02x}" for c in tone)
    at = canvas.place(seen)
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in at)
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="4" '
        f'stroke-linejoin="round"/>{dots}'
    )


def _path(canvas: Canvas, seen: FloatArray) -> str:
    pick = np.unique(np.linspace(0, len(seen) - 1, min(len(seen), 400)).astype(int))
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in canvas.place(seen[pick]))
    return f'<polyline points="{points}" fill="none" stroke="{PALETTE[1]}" stroke-width="1.4"/>'


def pattern_drawing(system: BlockSystem) -> str:
    """Nonzero entries of the matrix, with lines between the blocks and their names, as a data
    URL."""
    full = np.abs(system.matrix) > ZERO * float(np.abs(system.matrix).max(initial=0.0))
    cell = PATTERN / max(full.shape)
    side = 0.86 * cell if cell > 2.0 else cell
    width, height = (
        LEFT + PATTERN * full.shape[1] / max(full.shape),
        LEFT + PATTERN * full.shape[0] / max(full.shape),
    )
    squares = "".join(
        f"M{LEFT + cell * j:.2f} {LEFT + cell * i:.2f}h{side:.2f}v{side:.2f}h{-side:.2f}z"
        for i, j in np.argwhere(full)
    )
    parts = [f'<path d="{squares}" fill="#3f7fbf"/>']
    for groups, down in ((system.equations, True), (system.unknowns, False)):
        at = 0
        for name, size in groups:
            middle, at = LEFT + cell * (at + 0.5 * size), at + size
            text = html.escape(name if len(name) <= 15 else f"{name[:14]}…")
            place = (
                f'x="{LEFT - 6}" y="{middle + 4:.1f}"'
                if down
                else f'transform="translate({middle + 4:.1f} {LEFT - 6}) rotate(-90)"'
            )
            end = LEFT + cell * at
            line = f"M{LEFT} {end:.1f}H{width:.1f}" if down else f"M{end:.1f} {LEFT}V{height:.1f}"
            if size:
                parts.append(
                    f'<text class="on" {place} '
                    f'text-anchor="{"end" if down else "start"}">{text}</text>'
                )
                parts.append(f'<path d="{line}" stroke="#8a97a3" stroke-opacity=".5" fill="none"/>')
    return svg_url((width + 4, height + 4), parts)
