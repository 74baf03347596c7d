"""Drawings of a sweep in SVG: parallel coordinates, scatter plots, maps of response surfaces.

Lines and points of a case have its number as ``data-k``, by which the script of the page finds
them; colours are classes h0 … h7 from the smallest value to the largest.

"""

import html
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexmbs.page.curve_panels import ticks
from flexmbs.page.html import number
from flexmbs.report.response_surface import FloatArray, ResponseSurface

WIDTH, HEIGHT = 1000, 330  # user units: size of the parallel coordinates
SIDE, TOP, BOTTOM = 70, 34, 14
SMALL, MARGIN_LEFT, MARGIN_BOTTOM = 240, 52, 34  # user units of a scatter plot or map
SHADES = 8
CELLS = 24  # cells along each side of a map
LABELS = 6
LETTER = 6.5  # user units: width of most letters


class ChartColumn(NamedTuple):
    """Axis: name, unit and values of the cases.

    For non-numeric values their texts, with positions as values.
    """

    name: str
    unit: str
    values: FloatArray
    texts: tuple[str, ...] = ()
    log: bool = False

    @property
    def heading(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def place(self, values: FloatArray) -> FloatArray:
        """Relative positions 0 … 1 of values on the axis."""
        a, b = self.ends
        given, low, high = (np.log(each) if self.log else each for each in (values, a, b))
        return np.asarray((given - low) / ((high - low) or 1.0))

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest value; widened for a single value."""
        good = self.values[np.isfinite(self.values)]
        a, b = (float(good.min()), float(good.max())) if len(good) else (0.0, 1.0)
        return (a, b) if b > a else (a - 0.5, b + 0.5)

    def marks(self) -> list[tuple[float, str]]:
        """(relative position, text) of the ticks of the axis."""
        if self.texts:
            return [
                (float(self.place(np.array(float(k)))), text) for k, text in enumerate(self.texts)
            ]
        a, b = self.ends
        if self.log:
            decades = range(int(np.floor(np.log10(a))), int(np.ceil(np.log10(b))) + 1)
            nice = [
                digit * 10.0**k
                for k in decades
                for digit in ((1.0, 2.0, 5.0) if len(decades) <= 4 else (1.0,))
            ]
        else:
            nice = ticks(a, b, LABELS)
        shown = [value for value in nice if a <= value <= b]
        shown = shown if len(shown) > 1 else [a, b]
        return [
            (float(self.place(np.array(value))), number(float(f"{value:.3g}"))) for value in shown
        ]


def column(name: str, unit: str, values: np.ndarray) -> ChartColumn:
    """Axis of a parameter or output.

    Logarithmic for parameters with equal ratios over more than a decade.
    """
    if values.dtype == object:
        texts = tuple(dict.fromkeys(map(str, values)))
        return ChartColumn(
            name, unit, np.array([texts.index(str(value)) for value in values], float), texts
        )
    levels = np.unique(values[np.isfinite(values)])
    decades = len(levels) > 2 and levels[0] > 0.0 and levels[-1] > 10.0 * levels[0]
    middle = np.median(levels) if decades else 0.0
    log = decades and abs(np.log(middle) - 0.5 * np.log(levels[0] * levels[-1])) < abs(
        np.log(middle / levels.mean())
    )
    return ChartColumn(name, unit, values, log=bool(log))


def shades(values: FloatArray) -> list[str]:
    """Colour of each case by its relative value."""
    low, high = np.nanmin(values), np.nanmax(values)
    parts = (values - low) / ((high - low) or 1.0)
    return [
        f"h{min(int(part * SHADES), SHADES - 1)}" if np.isfinite(part) else "none" for part in parts
    ]


def parallel(columns: Sequence[ChartColumn], cases: Sequence[int], colours: Sequence[str]) -> str:
    """SVG parallel-coordinates plot of the cases.

    Cases without a value on an axis are left out.
    """
    gap = (WIDTH - 2 * SIDE) / max(len(columns) - 1, 1)
    x = [SIDE + gap * k for k in range(len(columns))]
    y = [TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - each.place(each.values)) for each in columns]
    parts = []
    for k in cases:
        if all(np.isfinite(places[k]) for places in y):
            points = " ".join(f"{a:.1f},{places[k]:.1f}" for a, places in zip(x, y))
            parts.append(f'<polyline class="case {colours[k]}" data-k="{k}" points="{points}"/>')
    for a, each in zip(x, columns):
        parts.append(f'<path class="axis" d="M{a:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        for place, text in each.marks():
            at = TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - place)
            parts.append(
                f'<text class="tick" x="{a + 6:.1f}" y="{at + 4:.1f}">{html.escape(text)}</text>'
            )
        parts.append(
            f'<text class="head middle" x="{a:.1f}" '
            f'y="14">{html.escape(_short(each.heading, gap))}</text>'
        )
        parts.append(
            f'<rect class="band" data-axis="{html.escape(each.name)}" x="{a - 12:.1f}" '
            f'y="{TOP}" width="24" '
            f'height="{HEIGHT - TOP - BOTTOM}"/>'
        )
    return _svg(WIDTH, HEIGHT, "Parallel coordinates of all cases", parts, kind="parallel")


def scatter(
    across: ChartColumn, up: ChartColumn, cases: Sequence[int], colours: Sequence[str]
) -> str:
    """SVG scatter plot of one output over one parameter."""
    parts = _frame(across, up)
    x, y = _x(across.place(across.values)), _y(up.place(up.values))
    for k in cases:
        if np.isfinite(x[k]) and np.isfinite(y[k]):
            parts.append(
                f'<circle class="case {colours[k]}" data-k="{k}" cx="{x[k]:.1f}" '
                f'cy="{y[k]:.1f}" r="2.6"/>'
            )
    return _svg(SMALL, SMALL, f"{up.name} over {across.name}", parts)


def surface_map(
    surface: ResponseSurface,
    axes: tuple[int, int],
    columns: Sequence[ChartColumn],
    output: ChartColumn,
) -> str:
    """Map of a response surface over two parameters, the others at their centres.

    It has the colours of the output's values, and shows the cases.
    """
    across, up = columns[axes[0]], columns[axes[1]]
    u = (np.arange(CELLS) + 0.5) / CELLS
    points = np.tile(surface.centre, (CELLS * CELLS, 1))
    grid = np.meshgrid(u, u, indexing="xy")
    for axis, part in zip(axes, grid):
        points[:, axis] = part.ravel()
    values = surface(points)
    # only within the range of the cases that have the output
    fit = (np.abs(points - surface.centre) <= surface.half + 0.5 / CELLS).all(axis=1)
    low, high = output.ends
    side = (SMALL - MARGIN_LEFT - 8) / CELLS
    parts = []
    for a, b, value in zip(grid[0].ravel()[fit], grid[1].ravel()[fit], values[fit]):
        shade = min(max(int((value - low) / (high - low) * SHADES), 0), SHADES - 1)
        x, y = _x(np.array(a - 0.5 / CELLS)), _y(np.array(b + 0.5 / CELLS))
        parts.append(
            f'<rect class="cell h{shade}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{side + 0.3:.1f}" height="{side + 0.3:.1f}"/>'
        )
    parts += _frame(across, up)
    for x, y in zip(_x(across.place(across.values)), _y(up.place(up.values))):
        parts.append(f'<circle class="spot" cx="{x:.1f}" cy="{y:.1f}" r="1.6"/>')
    return _svg(SMALL, SMALL, f"{output.name} over {across.name} and {up.name}", parts)


def scale(output: ChartColumn) -> str:
    """SVG colour scale of an output from its smallest to its largest value."""
    a, b = output.ends
    cells = "".join(
        f'<rect class="cell h{k}" x="{k * 20}" y="0" width="20.3" height="10"/>'
        for k in range(SHADES)
    )
    ends = (
        f'<text x="0" y="24">{number(a)}</text><text class="end" x="{20 * SHADES}" '
        f'y="24">{number(b)}</text>'
    )
    return _svg(20 * SHADES, 28, f"Colours of {output.name}", [cells, ends], kind="scale")


def _frame(across: ChartColumn, up: ChartColumn) -> list[str]:
    """SVG grid, ticks and names of a small plot.

    Texts that would touch the previous one are omitted.

    Texts that would touch the previous one are omitted.
    """
    parts, free = [], -np.inf
    for place, text in across.marks():
        x, shown = float(_x(np.array(place))), _short(text, 50)
        parts.append(f'<path class="grid" d="M{x:.1f} 8V{SMALL - MARGIN_BOTTOM}"/>')
        if x - 0.5 * LETTER * len(shown) > free:
            parts.append(
                f'<text class="middle" x="{x:.1f}" '
                f'y="{SMALL - MARGIN_BOTTOM + 13}">{html.escape(shown)}</text>'
            )
            free = x + 0.5 * LETTER * (len(shown) + 1)
    for place, text in up.marks():
        y = float(_y(np.array(place)))
        parts.append(f'<path class="grid" d="M{MARGIN_LEFT} {y:.1f}H{SMALL - 8}"/>')
        parts.append(
            f'<text class="end" x="{MARGIN_LEFT - 5}" '
            f'y="{y + 4:.1f}">{html.escape(_short(text, 48))}</text>'
        )
    name = html.escape(_short(across.heading, 190))
    parts.append(
        f'<text class="head middle" x="{(SMALL + MARGIN_LEFT) / 2}" y="{SMALL - 4}">{name}</text>'
    )
    return parts


def _x(place: FloatArray) -> FloatArray:
    """Horizontal pixel of a relative place, 0 … 1."""
    return MARGIN_LEFT + 6 + place * (SMALL - MARGIN_LEFT - 20)


def _y(place: FloatArray) -> FloatArray:
    """Vertical pixel of a relative place, 0 … 1."""
    return SMALL - MARGIN_BOTTOM - 6 - place * (SMALL - MARGIN_BOTTOM - 20)


def _short(text: str, width: float) -> str:
    """Text shortened to a width in user units; its end is kept."""
    most = max(int(width / LETTER), 4)
    return text if len(text) <= most else f"…{text[-most + 1 :]}"


def _svg(width: float, height: float, label: str, parts: Sequence[str], kind: str = "small") -> str:
    """SVG element with a size, label and content."""
    head = (
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{html.escape(label)}">'
    )
    return f"{head}{''.join(parts)}</svg>"
