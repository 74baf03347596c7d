"""Pictures of solids for a page, drawn without a plotting program: pixels of the solid, overlaid
with texts and lines in SVG."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from flexmbs.flexible_body.components import FloatArray, Surface
from flexmbs.page.curve_panels import ticks
from flexmbs.page.fields import EDGE, HIDDEN, SCALE, SIDES, other_side
from flexmbs.page.html import number
from flexmbs.page.raster import Canvas, flat, ramp, smooth
from flexmbs.page.solids import EXAGGERATION, LIGHT, view_of
from flexmbs.page.style import FONTS, SHADES

T = TypeVar("T")
MODE = (400, 250)  # pixels
WIDE, TALL, BAR = (
    (820, 264),
    (410, 370),
    90,
)  # pixels: each side of a field; width of the colour bar
# characters not allowed in a data URL
QUOTED = {character: f"%{ord(character):02X}" for character in '%#"<>&\n'}
LOOK = (
    "text{font:12px " + FONTS + ";fill:#5d6b7a}.spot{font-weight:700;fill:#1d2733}"
    "@media(prefers-color-scheme:dark){text.on{fill:#9aa8b5}}@media print{text.on{fill:#5d6b7a}}"
)


def side_by_side(draw: Callable[..., T], *items: Iterable[object]) -> list[T]:
    """Apply ``draw`` to each item in threads: most of a picture is made by NumPy and zlib, which
    release the interpreter lock."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(draw, *items))


def deformed_drawing(
    surface: Surface, u: FloatArray, value: FloatArray, scale: Sequence[str] = SHADES
) -> str:
    """Surface displaced by u (N, 3), exaggerated, coloured by a value (N,) ≥ 0, over the undeformed
    body in grey, as a data URL."""
    size, largest = (
        float(np.linalg.norm(np.ptp(surface.nodes, axis=0))),
        float(np.linalg.norm(u, axis=1).max()),
    )
    axes = view_of(surface)
    rest = surface.nodes @ axes.T
    moved = rest + u @ axes.T * (EXAGGERATION * size / max(largest, 1e-300))
    canvas = Canvas(np.vstack([rest, moved]), *MODE)
    canvas.draw(rest[surface.triangles], flat(np.full((len(surface.triangles), 3), 0.80)))
    canvas.clear_depth()
    level = value[surface.triangles].mean(axis=1) / max(float(value.max()), 1e-300)
    table = ramp(scale)
    canvas.draw(
        moved[surface.triangles],
        flat(shaded(table[(level * (len(table) - 1)).astype(int)], moved[surface.triangles])),
    )
    return png_url(canvas)


class ColourBar(NamedTuple):
    """Colour bar: its label, texts with positions (0 to 1 upwards), and colours."""

    label: str
    texts: Sequence[tuple[float, str]]
    scale: Sequence[str] = SCALE


def linear_bar(largest: float, label: str) -> ColourBar:
    """Colour bar from zero to the largest value."""
    return ColourBar(
        label, [(value / largest, number(round(value, 12))) for value in ticks(0.0, largest, 6)]
    )


def field_drawing(surface: Surface, values: FloatArray, label: str, marks: FloatArray) -> str:
    """Values (N,) ≥ 0 at the nodes as colours from zero to the largest; otherwise as
    `places_drawing`."""
    largest = max(float(values.max(initial=0.0)), 1e-300)
    return places_drawing(surface, values / largest, linear_bar(largest, label), marks)


def places_drawing(surface: Surface, places: FloatArray, bar: ColourBar, marks: FloatArray) -> str:
    """Surface from two opposite sides, coloured by positions (N,) in a colour bar (0 to 1, NaN
    grey) at its nodes; visible ``marks`` (m, 3) are numbered from 1. Returns a data URL."""
    above = view_of(surface)
    size = float(np.linalg.norm(np.ptp(surface.nodes, axis=0)))
    long = bool(np.ptp(surface.nodes @ above[0]) > 1.6 * np.ptp(surface.nodes @ above[1]))
    width, height = WIDE if long else TALL
    parts, table = [], ramp(bar.scale)
    for k, axes in enumerate((above, other_side(above))):
        x, y = (0, k * height) if long else (k * width, 0)
        canvas, seen = Canvas(surface.nodes @ axes.T, width, height), surface.nodes @ axes.T
        canvas.draw(seen[surface.triangles], smooth(places[surface.triangles], table))
        canvas.outline(EDGE * size)
        parts.append(
            f'<g transform="translate({x} '
            f'{y})">{image(canvas)}{_numbers(canvas, marks @ axes.T, HIDDEN * size)}'
        )
        parts.append(f'<text class="on" x="6" y="16">{SIDES[k]}</text></g>')
    total = (width, 2 * height) if long else (2 * width, height)
    return svg_url((total[0] + BAR, total[1]), [*parts, _bar(total[0] + 12, total[1], bar)])


def _numbers(canvas: Canvas, marks: FloatArray, tolerance: float) -> str:
    """Number at each visible mark."""
    found = []
    for k, mark in enumerate(marks):
        if canvas.visible(mark, tolerance):
            x, y = canvas.place(mark)
            found.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#1d2733" stroke="#fff"/>')
            wide = 8 + 7 * len(str(k + 1))
            found.append(
                f'<rect x="{x + 4:.1f}" y="{y - 16:.1f}" width="{wide}" height="15" '
                'rx="3" fill="#fff" fill-opacity=".8"/>'
            )
            found.append(f'<text class="spot" x="{x + 8:.1f}" y="{y - 4:.1f}">{k + 1}</text>')
    return "".join(found)


def _bar(x: float, height: float, bar: ColourBar) -> str:
    """Colour bar with its texts."""
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


def shaded(colours: FloatArray, corners: FloatArray) -> FloatArray:
    """Colours (T, 3) of triangles (T, 3, 3), brighter towards the light."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    light = np.asarray(LIGHT) / np.linalg.norm(LIGHT)
    bright = 0.72 + 0.33 * np.clip(
        normal @ light / np.maximum(np.linalg.norm(normal, axis=1), 1e-300), 0.0, 1.0
    )
    return np.asarray(np.clip(colours * bright[:, None], 0.0, 1.0))


def image(canvas: Canvas) -> str:
    """Pixels as an SVG element."""
    return f'<image width="{canvas.width}" height="{canvas.height}" href="{png_url(canvas)}"/>'


def png_url(canvas: Canvas) -> str:
    """Pixels as a data URL."""
    return "data:image/png;base64," + base64.b64encode(canvas.png()).decode()


def svg_url(size: tuple[float, float], parts: Sequence[str]) -> str:
    """Data URL of an SVG with these elements and a size in pixels; as text, so that pixels are
    encoded in base64 only once.
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
