"""Tables of the peaks of a curve."""

from typing import NamedTuple

import numpy as np

from flexmbs.signals.signal_arguments import FloatArray, one_number, whole_number


class Peak(NamedTuple):
    """Maximum: its location (s, Hz or order), value, and prominence.

    Prominence: the height above the higher of the two adjacent valleys.
    """

    place: float
    value: float
    prominence: float


class PeakTable(list[Peak]):
    """Peaks in the order of their locations; prints as a table."""

    headings: tuple[str, str] = ("", "")

    def __str__(self) -> str:
        lines = [f"{self.headings[0]:>14}  {self.headings[1]:>20}  prominence"]
        return "\n".join(
            [
                *lines,
                *(
                    f"{each.place:14.6g}  {each.value:20.6g}  {each.prominence:10.4g}"
                    for each in self
                ),
            ]
        )


def peak_table(
    curve: tuple[FloatArray, FloatArray],
    headings: tuple[str, str],
    count: int,
    prominence: float | None,
) -> PeakTable:
    """The ``count`` most prominent maxima of a curve (x, y).

    Locations and values are from a parabola through three points.
    """
    from scipy.signal import find_peaks

    count = whole_number(count, "count", least=1)
    x, y = curve
    at, found = find_peaks(
        y, prominence=0.0 if prominence is None else one_number(prominence, "prominence", least=0.0)
    )
    order = np.sort(np.argsort(-found["prominences"], kind="stable")[:count])
    table = PeakTable(
        Peak(*_top(x, y, int(k)), float(height))
        for k, height in zip(at[order], found["prominences"][order])
    )
    table.headings = headings
    return table


def _top(x: FloatArray, y: FloatArray, k: int) -> tuple[float, float]:
    """(location, value) of the vertex of a parabola through points k − 1, k, k + 1."""
    a, b, c = y[k - 1 : k + 2]
    bend = a - 2.0 * b + c
    even = abs((x[k + 1] - x[k]) - (x[k] - x[k - 1])) < 1e-6 * (x[k + 1] - x[k - 1])
    if not even or bend >= 0.0:
        return float(x[k]), float(b)
    shift = 0.5 * (a - c) / bend
    return float(x[k] + shift * (x[k + 1] - x[k])), float(b - 0.25 * (a - c) * shift)
