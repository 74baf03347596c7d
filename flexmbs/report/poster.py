"""Static picture of a motion on the page, and the block pattern of the equations."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.page.drawings import image, svg_url
from flexmbs.page.style import PALETTE
from flexmbs.report.pictures import motion_view
from flexmbs.results.block_system import ZERO

if TYPE_CHECKING:
    from flexmbs.flexible_body.components import FloatArray
    from flexmbs.results.block_system import BlockSystem
    from flexmbs.results.solution import SolutionData

SIZE = (1000, 510)
PATTERN, LEFT = 360, 110  # pixels: size of the pattern, margin for names


def motion_drawing(solution: SolutionData) -> str:
    """Picture of the motion at several times as a data URL."""
    view = motion_view(solution, SIZE)
    x, y = view.origin
    return svg_url(
        SIZE,
        [
            f'<rect width="{SIZE[0]}" height="{SIZE[1]}" rx="8" fill="#fff"/>',
            image(view.canvas),
            *(_frames(points, colour) for points, colour in view.frames),
            *(_path(points) for points in view.paths),
            f'<path d="M{x:.1f} {y - 7:.1f}l7 13h-14z" fill="#1d2733"/>',
            f'<text x="10" y="{SIZE[1] - 10}">{view.times}</text>',
        ],
    )


def _frames(points: FloatArray, colour: str) -> str:
    """SVG polyline through the frames of a rigid body."""
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points
    )
    return (
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="4" '
        f'stroke-linejoin="round"/>{dots}'
    )


def _path(points: FloatArray) -> str:
    """SVG polyline through at most 400 of the points."""
    pick = np.unique(np.linspace(0, len(points) - 1, min(len(points), 400)).astype(int))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points[pick])
    return f'<polyline points="{line}" fill="none" stroke="{PALETTE[1]}" stroke-width="1.4"/>'


def pattern_drawing(system: BlockSystem) -> str:
    """Picture of the nonzero entries of a block matrix, with block names, as a data URL."""
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
