"""Panels of curves as data for the page, which draws them, by figure name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexmbs.page.curve_panels import PlotPanel, span_of
from flexmbs.player.arrays import Buffer


def plots(figures: Mapping[str, Sequence[PlotPanel]]) -> dict[str, Any]:
    """Record of plot panels by figure, their common time range, and their arrays as text."""
    stored = _StoredArrays()
    found = {name: [_panel(stored, panel) for panel in panels] for name, panels in figures.items()}
    span = span_of(panel for panels in figures.values() for panel in panels)
    return {"figures": found, "span": list(span), "data": stored.buffer.text()}


class _StoredArrays:
    """Arrays of curves; equal times are stored once."""

    def __init__(self) -> None:
        self.buffer = Buffer()
        self.known: dict[bytes, dict[str, Any]] = {}

    def add(self, values: Any) -> dict[str, Any]:
        """Store an array once; equal arrays share the reference."""
        plain = np.asarray(values, "<f4")
        key = plain.tobytes()
        if key not in self.known:
            self.known[key] = self.buffer.add(plain, "f4")
        return self.known[key]


def _panel(stored: _StoredArrays, panel: PlotPanel) -> dict[str, Any]:
    """Record of a plot panel with references to its stored curves."""
    curves = [
        {
            "name": curve.name,
            "t": stored.add(curve.t),
            "y": stored.add(curve.y),
            "stepped": curve.stepped,
            "dashed": curve.dashed,
            "colour": k if curve.colour is None else curve.colour,
        }
        for k, curve in enumerate(panel.curves)
    ]
    bars = [
        {
            "name": bar.name,
            "states": [[each.start, each.end, each.kind] for each in bar.states],
            "marks": list(bar.marks),
        }
        for bar in panel.bars
    ]
    return {
        "title": panel.heading,
        "logarithmic": panel.logarithmic,
        "notes": panel.notes,
        "curves": curves,
        "bars": bars,
    }
