"""Pictures of solids for a page, drawn without a plotting program.

Pixels of the solid, overlaid with texts and lines in SVG.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from flexmbs.flexible_body.components import FloatArray, Surface
from flexmbs.page.curve_panels import ticks
from flexmbs.page.html import number
from flexmbs.page.raster import Canvas, ramp
from flexmbs.page.solids import (
    SIDES,
    MarkedFrame,
    body_size,
    both_sides,
    deformed,
    is_long,
    view_of,
)
from flexmbs.page.style import FONTS, INK, PALETTE, SHADES, STRESS

T = TypeVar("T")
FRAMES = (1000, 420)  # pixels
TRIAD = 0.09  # length of the axes of frames, relative to the body's size
WIDE, TALL, BAR = (
    (820, 264),
    (410, 370),
    90,
)  # pixels: each side of a field; width of the colour bar
# characters not allowed in a data URL
QUOTED = {character: f"%{ord(character):02X}" for character in '%#"<>&\n'}
LOOK = (
    "text{font:12px " + FONTS + ";fill:#5d6b7a}.spot{font-weight:700;fill:#1d2733}"
    ".ink{fill:#1d2733;text-anchor:middle}"
    "@media(prefers-color-scheme:dark){text.on{fill:#9aa8b5}}@media print{text.on{fill:#5d6b7a}}"
)


def side_by_side(draw: Callable[..., T], *items: Iterable[object]) -> list[T]:
    """Apply ``draw`` to each item in threads.

    Most of a picture is made by NumPy and zlib, which release the interpreter lock.
    """
    with ThreadPoolExecutor() as pool:
        return list(pool.map(draw, *items))


def deformed_drawing(
    surface: Surface, u: FloatArray, value: FloatArray, scale: Sequence[str] = SHADES
) -> str:
    """Data URL of `deformed`."""
    return png_url(deformed(surface, u, value, scale))


class ColourBar(NamedTuple):
    """Colour bar: its label, texts with positions (0 to 1 upwards), and colours."""

    label: str
    texts: Sequence[tuple[float, str]]
    scale: Sequence[str] = STRESS


def linear_bar(largest: float, label: str) -> ColourBar:
    """Record of a colour bar from zero to the largest value."""
    return ColourBar(
        label, [(value / largest, number(round(value, 12))) for value in ticks(0.0, largest, 6)]
    )


def field_drawing(surface: Surface, values: FloatArray, label: str, marks: FloatArray) -> str:
    """Values (N,) ≥ 0 at the nodes as colours from zero to the largest.

    Otherwise as `places_drawing`.
    """
    largest = max(float(values.max(initial=0.0)), 1e-300)
    return places_drawing(surface, values / largest, linear_bar(largest, label), marks)


def places_drawing(surface: Surface, places: FloatArray, bar: ColourBar, marks: FloatArray) -> str:
    """Data URL of `both_sides` with a colour bar."""
    long = is_long(surface)
    width, height = WIDE if long else TALL
    parts = []
    for k, side in enumerate(both_sides(surface, places, bar.scale, marks, (width, height))):
        x, y = (0, k * height) if long else (k * width, 0)
        parts.append(
            f'<g transform="translate({x} {y})">{image(side.canvas)}'
            f"{''.join(_number(*mark) for mark in side.marks)}"
            f'<text class="on" x="6" y="16">{SIDES[k]}</text></g>'
        )
    total = (width, 2 * height) if long else (2 * width, height)
    return svg_url((total[0] + BAR, total[1]), [*parts, _bar(total[0] + 12, total[1], bar)])


def _number(k: int, place: FloatArray) -> str:
    """SVG elements of a mark with its number k at a place."""
    x, y = place
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{INK}" stroke="#fff"/>'
        f'<rect x="{x + 4:.1f}" y="{y - 16:.1f}" width="{8 + 7 * len(str(k))}" height="15" '
        'rx="3" fill="#fff" fill-opacity=".8"/>'
        f'<text class="spot" x="{x + 8:.1f}" y="{y - 4:.1f}">{k}</text>'
    )


def frames_drawing(surface: Surface, places: Mapping[str, MarkedFrame]) -> str:
    """Data URL of a surface with coloured regions, and the triads and names of their frames.

    The surface is grey.
    """
    axes, length = view_of(surface), TRIAD * body_size(surface)
    palette, colours = ramp(PALETTE, len(PALETTE)), np.full((len(surface.triangles), 3), 0.87)
    for k, place in enumerate(places.values(), 1):
        colours[np.isin(surface.triangles, place.nodes).all(axis=1)] = palette[k % len(palette)]
    seen = surface.nodes @ axes.T
    triads = [
        (place.position + length * np.vstack([np.zeros(3), place.axes.T])) @ axes.T
        for place in places.values()
    ]
    canvas = Canvas(np.vstack([seen, *triads]), *FRAMES, margin=0.08)
    canvas.draw_shaded(seen[surface.triangles], colours)
    parts = [
        _triad(canvas.place(triad), name, PALETTE[k % len(PALETTE)])
        for k, (name, triad) in enumerate(zip(places, triads), 1)
    ]
    return svg_url(FRAMES, [image(canvas), *parts])


def _triad(points: FloatArray, name: str, colour: str) -> str:
    """Axes of a frame from its origin to the other points, their letters, and its name below."""
    start, ends = points[0], points[1:]
    beyond = ends - start
    beyond *= 9.0 / np.maximum(np.linalg.norm(beyond, axis=1, keepdims=True), 1e-300)
    (x, y), width = start, 12 + 7 * len(name)
    lines = "".join(f"M{x:.1f} {y:.1f}L{a:.1f} {b:.1f}" for a, b in ends)
    letters = "".join(
        f'<text class="ink" x="{a:.1f}" y="{b + 4:.1f}">{letter}</text>'
        for letter, (a, b) in zip("xyz", ends + beyond)
    )
    return (
        f'<path d="{lines}" stroke="{INK}" fill="none"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{INK}"/>{letters}'
        f'<rect x="{x - width / 2:.1f}" y="{y + 14:.1f}" width="{width}" height="19" rx="4" '
        f'fill="#fff" stroke="{colour}"/>'
        f'<text class="ink" x="{x:.1f}" y="{y + 28:.1f}">{html.escape(name)}</text>'
    )


def _bar(x: float, height: float, bar: ColourBar) -> str:
    """SVG elements of a colour bar with its texts."""
    top, tall = 46, height - 76
    steps = [
        f'<stop offset="{k / (len(bar.scale) - 1):.3f}" stop-color="{colour}"/>'
        for k, colour in enumerate(reversed(bar.scale))
    ]
    texts = [
        f'<text class="on" x="{x + 22}" '
        f'y="{top + tall * (1 - place) + 4:.1f}">{html.escape(text)}</text>'
        for place, text in bar.texts
    ]
    return (
        '<defs><linearGradient id="bar" x1="0" y1="0" x2="0" '
        f'y2="1">{"".join(steps)}</linearGradient></defs>'
        f'<rect x="{x}" y="{top}" width="14" height="{tall}" rx="2" fill="url(#bar)"/>'
        f'<text class="on" x="{x}" y="{top - 14}">{html.escape(bar.label)}</text>{"".join(texts)}'
    )


def image(canvas: Canvas) -> str:
    """SVG image element with the pixels of a canvas."""
    return f'<image width="{canvas.width}" height="{canvas.height}" href="{png_url(canvas)}"/>'


def png_url(canvas: Canvas) -> str:
    """Data URL of the pixels of a canvas as PNG."""
    return "data:image/png;base64," + base64.b64encode(canvas.png()).decode()


def svg_url(size: tuple[float, float], parts: Sequence[str]) -> str:
    """Data URL of an SVG with these elements and a size in pixels.

    As text, so that pixels are encoded in base64 only once.
    """
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]:g}" height="{size[1]:g}" '
        f'viewBox="0 0 {size[0]:g} {size[1]:g}">'
    )
    text = f"{head}<style>{LOOK}</style>{''.join(parts)}</svg>"
    # twenty times faster than one translation table; "%" comes first
    for character, code in QUOTED.items():
        text = text.replace(character, code)
    return "data:image/svg+xml," + text
