"""Time-independent values on surfaces as colours of a legend.

Largest stress of a run, fatigue damage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.page.curve_panels import ticks
from flexmbs.page.html import number, power
from flexmbs.player.arrays import Buffer

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# integers for the upper end of the legend, and for vertices without a value
FINE, UNKNOWN = 32000, -32768
MOST_DECADES = 6


class Field(NamedTuple):
    """Values ≥ 0 (N,) at the nodes of a surface, NaN where unknown, possibly infinite.

    Fields with the same key share a legend.

    key: identifier in the page; title: title and unit of the legend; scale: "stress" or "damage";
    logarithmic: by decades, with smaller values and zero at the lower end; inverse: the legend
    shows 1/value, with the largest value at its lower end.

    """

    key: str
    title: str
    values: FloatArray
    scale: str = "stress"
    logarithmic: bool = False
    inverse: bool = False


class SurfaceMark(NamedTuple):
    """Numbered point of a surface: row of its node, keys of its fields.

    It is shown with these fields.
    """

    name: str
    node: int
    fields: tuple[str, ...]


def stored_fields(
    buffer: Buffer, given: Mapping[str, Sequence[Field]], rows: Mapping[str, IntArray]
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """(legends of all keys, arrays by body and key at the vertices) stored in the buffer.

    ``rows``: nodes of the vertices.
    """
    kinds = {field.key: field for fields in given.values() for field in fields}
    legends, arrays = [], {name: {} for name in given}  # type: ignore[var-annotated]
    for key, kind in kinds.items():
        own = {
            name: field.values
            for name, fields in given.items()
            for field in fields
            if field.key == key
        }
        everything = kind._replace(values=np.concatenate(list(own.values())))
        low, high = ends(everything)
        legends.append(legend(everything))
        for name, values in own.items():
            places = fractions(values[rows[name]], low, high, kind.logarithmic)
            arrays[name][key] = buffer.add(
                np.where(np.isnan(places), UNKNOWN, np.rint(FINE * places)),
                "i2",
                delta=True,
                step=1.0 / FINE,
            )
    return legends, arrays


def ends(field: Field) -> tuple[float, float]:
    """Smallest and largest value of the legend: from zero, or whole decades."""
    known = field.values[np.isfinite(field.values)]
    largest = float(known.max(initial=0.0))
    if not field.logarithmic or largest <= 0.0:
        return 0.0, largest or 1.0
    high = int(np.ceil(np.log10(largest) - 1e-9))
    low = int(np.floor(np.log10(known[known > 0.0].min()) + 1e-9))
    return 10.0 ** min(max(low, high - MOST_DECADES), high - 1), 10.0**high


def fractions(values: FloatArray, low: float, high: float, logarithmic: bool) -> FloatArray:
    """Positions (n,) between the ends of the legend, 0 to 1; NaN for NaN."""
    if logarithmic and low > 0.0:
        place = np.log10(np.maximum(values, low) / low) / np.log10(high / low)
    else:
        place = (values - low) / (high - low)
    return np.asarray(np.clip(place, 0.0, 1.0))


def legend(field: Field) -> dict[str, Any]:
    """Legend with title, colour scale, and texts with positions, 0 to 1 upwards."""
    low, high = ends(field)
    logarithmic, infinite = field.logarithmic and low > 0.0, bool(np.isinf(field.values).any())
    if logarithmic:
        texts = _decades(round(np.log10(low)), round(np.log10(high)), field.inverse, infinite)
    elif field.logarithmic:  # only zero or infinite values
        texts = [
            [0.0, "∞" if field.inverse else "0"],
            *([[1.0, "0" if field.inverse else "∞"]] if infinite else []),
        ]
    else:
        texts = [[value / high, number(round(value, 12))] for value in ticks(0.0, high, 5)]
    return {
        "key": field.key, "title": field.title, "scale": field.scale, "ticks": texts,
        "low": low, "high": high, "logarithmic": logarithmic,
    }  # fmt: skip


def _decades(first: int, last: int, inverse: bool, infinite: bool) -> list[list[Any]]:
    """(relative position, text) of the powers of ten on a logarithmic legend."""
    below, above = ("≥ ", "≤ ") if inverse else ("≤ ", "≥ ")
    texts = [power(-k if inverse else k) for k in range(first, last + 1)]
    texts[0] = below + texts[0]
    texts[-1] = above + texts[-1] if infinite else texts[-1]
    return [[k / (last - first), text] for k, text in enumerate(texts)]
