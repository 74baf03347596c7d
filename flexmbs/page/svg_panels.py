"""Panels as page markup: an SVG drawing in the colours of the page, replaced by an interactive one
where scripts run."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexmbs.page.curve_panels import (
    FloatArray,
    PlotCurve,
    PlotPanel,
    limits,
    span_of,
    thinned,
    ticks,
)
from flexmbs.page.html import number, power

WIDTH, HEIGHT = 1000, 190  # user units: size of a panel
LEFT, RIGHT, TOP, BOTTOM = 64, 8, 8, 24
ROW = 26  # user units: height of a bar
LETTER, CAPITAL = 7, 0.6  # user units: width of most letters; relative extra width of capitals
POINTS = 400
COLOURS = 8
MOST_MARKS = 60  # largest number of marked peaks of a curve beyond the axis


class SvgAxes(NamedTuple):
    """Ranges of the time axis and of the value axis, and the size of the drawing."""

    span: tuple[float, float]
    ends: tuple[float, float]
    height: float = HEIGHT
    width: float = WIDTH

    def x(self, t: FloatArray) -> FloatArray:
        """User units from times."""
        return LEFT + (t - self.span[0]) / (self.span[1] - self.span[0] or 1.0) * (
            self.width - LEFT - RIGHT
        )

    def y(self, value: FloatArray) -> FloatArray:
        """User units of values; those beyond the axis are placed just outside."""
        u = np.clip((value - self.ends[0]) / (self.ends[1] - self.ends[0] or 1.0), -0.02, 1.02)
        return self.height - BOTTOM - u * (self.height - TOP - BOTTOM)


def chart(panels: Sequence[PlotPanel], span: tuple[float, float] | None = None) -> str:
    """Stacked panels with a common time axis, over their range or ``span``; all names are
    escaped."""
    common = span or span_of(panels)
    return "".join(_panel(each, common) for each in panels)


def _panel(panel: PlotPanel, span: tuple[float, float]) -> str:
    keys = "".join(
        f'<span class="key {curve_classes(curve, k)}">{html.escape(curve.name)}</span>'
        for k, curve in enumerate(panel.curves)
    )
    notes = "".join(f'<span class="note">{html.escape(note)}</span>' for note in panel_notes(panel))
    head = f'<div class="panel-head"><b>{html.escape(panel.heading)}</b>{keys}{notes}</div>'
    return f'<div class="panel">{head}{drawing(panel, span)}</div>'


def panel_notes(panel: PlotPanel) -> list[str]:
    """Notes of a panel in addition to its curves, with the values of peaks beyond the axis; not
    escaped."""
    values = _values(panel)
    ends, every = limits(values), np.concatenate([np.zeros(0), *values])
    beyond = every[(every > ends[1]) | (every < ends[0])]
    peak = float(beyond[np.argmax(np.abs(beyond))]) if len(beyond) else None
    found = (
        []
        if peak is None
        else [f"▲ peaks to {number(10.0**peak if panel.logarithmic else peak, 3)}"]
    )
    return [*panel.notes, *found]


def drawing(
    panel: PlotPanel, span: tuple[float, float], width: float = WIDTH, height: float = HEIGHT
) -> str:
    """Panel as SVG with the classes of the page; ``height``: of the curves."""
    return (
        _bars(panel, span, width)
        if panel.bars
        else _curves(panel, SvgAxes(span, limits(_values(panel)), height, width))
    )


def _values(panel: PlotPanel) -> list[FloatArray]:
    """Values of the drawn curves."""
    return [np.log10(curve.y) if panel.logarithmic else curve.y for curve in panel.curves]


def _curves(panel: PlotPanel, axes: SvgAxes) -> str:
    values = _values(panel)
    scale = common_power(axes.ends)
    marks = ticks(*axes.ends, 4)
    if panel.logarithmic:
        texts = [number(10.0**value, 1) for value in marks]
    else:
        texts = [number(round(value / scale, 12)) for value in marks]
    note = (
        []
        if scale == 1.0 or panel.logarithmic
        else [
            f'<text class="tick" x="{LEFT}" y="{TOP + 2}">·{power(round(math.log10(scale)))}</text>'
        ]
    )
    lines = [_line(curve, y, axes, k) for k, (curve, y) in enumerate(zip(panel.curves, values))]
    peaks = [_peaks(curve, y, axes, k) for k, (curve, y) in enumerate(zip(panel.curves, values))]
    return _drawing(
        panel.heading, axes, [*_grid(axes, list(zip(marks, texts))), *lines, *peaks, *note]
    )


def _line(curve: PlotCurve, y: FloatArray, axes: SvgAxes, k: int) -> str:
    good = np.isfinite(y)
    t, y = thinned(curve.t[good], y[good], POINTS)
    if curve.stepped:
        t, y = np.repeat(t, 2)[1:], np.repeat(y, 2)[:-1]
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(axes.x(t), axes.y(y)))
    return f'<polyline class="line {curve_classes(curve, k)}" points="{points}"/>'


def _peaks(curve: PlotCurve, y: FloatArray, axes: SvgAxes, k: int) -> str:
    """Triangle at the extreme of each part of a curve beyond the axis, pointing there."""
    found = []
    for end, side, beyond in (
        (TOP, -1, y > axes.ends[1]),
        (axes.height - BOTTOM, 1, y < axes.ends[0]),
    ):
        rows = np.flatnonzero(beyond)
        parts = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else []
        tops = [part[np.argmax(-side * y[part])] for part in parts[:MOST_MARKS]]
        found += [
            f"M{x:.1f} {end + 3 * side:.1f}l4 {-7 * side}h-8z"
            for x in axes.x(curve.t[np.array(tops, int)])
        ]
    return (
        f'<path class="clipped {curve_classes(curve, k)}" d="{"".join(found)}"/>' if found else ""
    )


def curve_classes(curve: PlotCurve, k: int) -> str:
    """CSS classes of curve number k."""
    return f"c{(k if curve.colour is None else curve.colour) % COLOURS}{' dashed' if curve.dashed else ''}"


def _bars(panel: PlotPanel, span: tuple[float, float], width: float) -> str:
    axes = SvgAxes(span, (0.0, 1.0), TOP + ROW * len(panel.bars) + BOTTOM, width)
    found = _grid(axes, [])
    for k, bar in enumerate(panel.bars):
        top = TOP + ROW * k
        for state in bar.states:
            a, b = axes.x(np.array([state.start, state.end]))
            found.append(
                f'<rect class="state {state.kind}" x="{a:.1f}" y="{top + 4}" '
                f'width="{b - a:.1f}" height="{ROW - 8}"/>'
            )
        found += [
            f'<circle class="mark" cx="{x:.1f}" cy="{top + ROW / 2}" r="3"/>'
            for x in axes.x(np.array(bar.marks))
        ]
        found.append(
            f'<text class="row" x="{LEFT + 6}" '
            f'y="{top + ROW / 2 + 4}">{_within(bar.name, axes)}</text>'
        )
    return _drawing(panel.heading, axes, found)


def _within(name: str, axes: SvgAxes) -> str:
    """Name on a bar, with its middle left out if it is longer than the bar and the full name as
    tooltip."""
    letter = LETTER * (1.0 + CAPITAL * sum(map(str.isupper, name)) / len(name))
    room = int((axes.width - LEFT - RIGHT - 12) / letter)
    short = name if len(name) <= room else f"{name[: room - room // 3 - 1]}…{name[-(room // 3) :]}"
    return (
        html.escape(short)
        if short == name
        else f"<title>{html.escape(name)}</title>{html.escape(short)}"
    )


def _grid(axes: SvgAxes, marks: list[tuple[float, str]]) -> list[str]:
    bottom = axes.height - BOTTOM
    found = [f'<text class="tick end" x="{LEFT - 16}" y="{bottom + 17}">t [s]</text>']
    for value, text in marks:
        y = float(axes.y(np.array(value)))
        found.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{axes.width - RIGHT:g}"/>')
        found.append(f'<text class="tick end" x="{LEFT - 7}" y="{y + 4:.1f}">{text}</text>')
    for value in ticks(*axes.span, max(int(axes.width / 120), 4)):
        x = float(axes.x(np.array(value)))
        found.append(f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}"/>')
        text = number(round(value, 12))
        place = min(x, axes.width - 0.5 * LETTER * len(text))
        found.append(f'<text class="tick middle" x="{place:.1f}" y="{bottom + 17}">{text}</text>')
    return found


def _drawing(title: str, axes: SvgAxes, parts: list[str]) -> str:
    head = (
        f'<svg viewBox="0 0 {axes.width:g} {axes.height:g}" role="img" '
        f'aria-label="{html.escape(title)}">'
    )
    return head + "".join(parts) + "</svg>"


def common_power(ends: tuple[float, float]) -> float:
    """Power of ten (a multiple of three) omitted from the labels of an axis; 1 for common
    magnitudes."""
    largest = max(abs(end) for end in ends)
    if largest == 0.0 or 1e-2 <= largest < 1e5:
        return 1.0
    return float(10.0 ** (3 * math.floor(math.log10(largest) / 3)))
