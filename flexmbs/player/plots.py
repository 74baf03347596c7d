"""Panels of curves as data for the page, which draws them, by figure name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.page.curve_panels import PlotPanel, span_of
from flexmbs.player.arrays import Buffer


class QuantitySignals(NamedTuple):
    """Quantity of an item: unit, components, full names of the signals, values (nt, n)."""

    name: str
    unit: str
    parts: Sequence[str]
    names: Sequence[str]
    values: NDArray[np.float64]


class ItemSignals(NamedTuple):
    """Item, such as ``joint hinge``, with its quantities."""

    name: str
    quantities: Sequence[QuantitySignals]


class SignalTable(NamedTuple):
    """Signals at times (nt,), of which the outputs ``pick`` are stored, and notes."""

    t: NDArray[np.float64]
    pick: NDArray[np.int64]
    items: Sequence[ItemSignals]
    notes: Sequence[str]


def plots(
    figures: Mapping[str, Sequence[PlotPanel]], signals: SignalTable | None = None
) -> dict[str, Any]:
    """Record of plot panels by figure, their common time range, and their arrays as text.

    ``signals``: those from which the reader chooses curves.
    """
    stored = _StoredArrays()
    found = {name: [_panel(stored, panel) for panel in panels] for name, panels in figures.items()}
    span = span_of(panel for panels in figures.values() for panel in panels)
    record: dict[str, Any] = {"figures": found, "span": list(span)}
    if signals is not None and signals.items:
        record["signals"] = _signals(stored, signals)
        record["span"] = [float(signals.t[0]), float(signals.t[-1])] if not found else list(span)
    return record | {"data": stored.buffer.text()}


def _signals(stored: _StoredArrays, signals: SignalTable) -> dict[str, Any]:
    """Record of signals with their arrays: steps of a 65 000th of the range of each."""
    items = []
    for item in signals.items:
        quantities = []
        for each in item.quantities:
            columns = []
            for values in np.asarray(each.values[signals.pick], float).T:
                low, high = float(values.min()), float(values.max())
                step = (high - low) / 65000.0
                rows = stored.buffer.steps(
                    values[:, None], step, offset=[0.5 * (low + high)], delta=True
                )
                columns.append(rows)
            quantities.append(
                {
                    "name": each.name,
                    "unit": each.unit,
                    "parts": list(each.parts),
                    "names": list(each.names),
                    "values": columns,
                }
            )
        items.append({"name": item.name, "quantities": quantities})
    return {"t": stored.add(signals.t[signals.pick]), "items": items}


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
