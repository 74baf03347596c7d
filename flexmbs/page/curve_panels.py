"""Panels of curves over time as data, independent of the drawing program."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
MOST_POINTS = 1200
MOST_CURVES = 8
FLOOR = 1e-18  # least value on a logarithmic axis
# an axis cuts peaks beyond CLIPPED times the range of all but a fraction of the values
CLIPPED, TAIL = 5.0, 0.01
MARGIN = 0.06  # fraction of the range by which the axis extends beyond the curves
MOST_QUIET = 3  # largest number of negligible curves named in a note


class PlotCurve(NamedTuple):
    """Line: name, times (n,), values (n,).

    stepped: constant after each time; dashed: belongs to the other run; colour: its number, by
    default its position.
    """

    name: str
    t: FloatArray
    y: FloatArray
    stepped: bool = False
    dashed: bool = False
    colour: int | None = None


class StateInterval(NamedTuple):
    """State from one time to another: "open", "closed", "stick", "slip"."""

    start: float
    end: float
    kind: str


class StateBar(NamedTuple):
    """States of one item over time, with marked instants."""

    name: str
    states: tuple[StateInterval, ...]
    marks: tuple[float, ...] = ()


class PlotPanel(NamedTuple):
    """Curves of one unit, or bars.

    more: number of curves left out; quiet: names of curves that are only noise, drawn as zero.
    """

    title: str
    unit: str
    curves: tuple[PlotCurve, ...] = ()
    bars: tuple[StateBar, ...] = ()
    logarithmic: bool = False
    more: int = 0
    quiet: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """Notes in the legend on curves that are left out or drawn as zero."""
        some = ", ".join(self.quiet[:MOST_QUIET]) + (
            f" and {len(self.quiet) - MOST_QUIET} more" if len(self.quiet) > MOST_QUIET else ""
        )
        return ([f"and {self.more} more"] if self.more else []) + (
            [f"zero except for round-off: {some}"] if some else []
        )

    @property
    def heading(self) -> str:
        """Title with its unit."""
        return f"{self.title}  [{self.unit}]" if self.unit else self.title


def panel(
    title: str,
    unit: str,
    t: FloatArray,
    values: Mapping[str, FloatArray],
    *,
    logarithmic: bool = False,
    floor: float = 0.0,
) -> PlotPanel:
    """Panel of values (nt,) by name, with long curves thinned but their peaks kept.

    Values never above ``floor`` are zero.
    """
    quiet = tuple(
        name for name, y in values.items() if 0.0 < float(np.abs(y).max(initial=0.0)) < floor
    )
    shown = [
        (name, np.maximum(y, FLOOR) if logarithmic else y * (name not in quiet))
        for name, y in values.items()
    ]
    return PlotPanel(
        title,
        unit,
        tuple(PlotCurve(name, *thinned(t, y)) for name, y in shown),
        logarithmic=logarithmic,
        quiet=quiet,
    )


def readable(panels: Iterable[PlotPanel], most: int = MOST_CURVES) -> list[PlotPanel]:
    """Panels restricted to their first curves, as many as can be distinguished."""
    return [
        each._replace(curves=each.curves[:most], more=each.more + max(len(each.curves) - most, 0))
        for each in panels
    ]


def thinned(t: FloatArray, y: FloatArray, most: int = MOST_POINTS) -> tuple[FloatArray, FloatArray]:
    """Curve reduced to about ``most`` points including its peaks.

    It contains the smallest and largest value of every bin.
    """
    if len(t) <= most:
        return t, y
    edges = np.linspace(0, len(t), most // 2 + 1).astype(int)
    picks = [
        np.sort([a + np.argmin(y[a:b]), a + np.argmax(y[a:b])])
        for a, b in itertools.pairwise(edges)
    ]
    pick = np.unique(np.concatenate([[0], *picks, [len(t) - 1]]))
    return t[pick], y[pick]


def span_of(panels: Iterable[PlotPanel]) -> tuple[float, float]:
    """First and last time of all curves of the panels."""
    found = [curve.t[[0, -1]] for each in panels for curve in each.curves if len(curve.t)]
    found += [
        np.array([bar.states[0].start, bar.states[-1].end])
        for each in panels
        for bar in each.bars
        if bar.states
    ]
    return (float(np.min(found)), float(np.max(found))) if found else (0.0, 1.0)


def limits(values: Iterable[FloatArray]) -> tuple[float, float]:
    """Ends of an axis for curves; short peaks are cut off.

    All values are within, except short peaks beyond `CLIPPED` times the range of the others.

    Same as ``limits`` in ``ticks.js``.
    """
    y = np.concatenate([np.zeros(0), *values])
    y = np.sort(y[np.isfinite(y)])
    if not len(y):
        return 0.0, 1.0
    low, high = float(y[0]), float(y[-1])
    inner = float(y[int(TAIL * (len(y) - 1))]), float(y[int(np.ceil((1.0 - TAIL) * (len(y) - 1)))])
    spread = inner[1] - inner[0]
    if spread > 0.0 and high - low > CLIPPED * spread:
        low, high = max(low, inner[0] - 0.5 * spread), min(high, inner[1] + 0.5 * spread)
    if high == low:
        return low - (0.4 * abs(low) or 1.0), high + (0.4 * abs(high) or 1.0)
    return low - MARGIN * (high - low), high + MARGIN * (high - low)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten within an axis, at most ``most`` intervals."""
    raw = (high - low) / most
    if not raw > 0.0:
        return [low]
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= raw * (1.0 - 1e-9))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [k * step for k in range(first, last + 1)]
