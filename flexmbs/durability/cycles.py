"""Rainflow cycles of a history, by the package `rainflow` (ASTM E1049-85, section 5.4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import MachineError
from flexmbs.signals.signal_arguments import FloatArray, number_list, whole_number


@dataclass(frozen=True, eq=False)
class Cycles:
    """Ranges (n,), means (n,) and counts (n,) of cycles: 1 for whole and ½ for half cycles.

    Ranges and means have the unit of the history.
    """

    range: FloatArray
    mean: FloatArray
    count: FloatArray

    @property
    def amplitude(self) -> FloatArray:
        """Half of the ranges (n,)."""
        return 0.5 * self.range

    def histogram(self, bins: int = 32) -> tuple[FloatArray, FloatArray]:
        """Counts (bins,) over equal classes of the range, and their edges (bins + 1,).

        Raises InputError.
        """
        count = whole_number(bins, "bins", least=1)
        counts, edges = np.histogram(
            self.range, count, (0.0, float(self.range.max(initial=0.0)) or 1.0), weights=self.count
        )
        return counts, edges


@checked_arguments
def rainflow(values: ArrayLike) -> Cycles:
    """Rainflow cycles of a history; the residue counts as half cycles.

    values (n,): the history, in any unit. Raises `InputError`, and `MachineError` without the
    package `rainflow`. Source: ASTM E1049-85 (2017), section 5.4.4.

    Examples
    --------
    >>> import flexmbs as fm
    >>> cycles = fm.rainflow([-2, 1, -3, 5, -1, 3, -4, 4, -2])  # the example of the standard
    >>> cycles.count.sum().item(), cycles.range.max().item()
    (4.0, 9.0)
    """
    return counted(number_list(values, "values"))


def counted(x: FloatArray) -> Cycles:
    """Rainflow cycles of x, from its turning points only.

    They are scaled by a power of two because the package multiplies ranges.
    """
    points = turning_points(x)
    exponent = int(np.frexp(np.abs(points).max())[1])
    found = list(_package().extract_cycles(np.ldexp(points, -exponent).tolist()))
    rows = np.array([cycle[:3] for cycle in found], float).reshape(-1, 3)
    return Cycles(np.ldexp(rows[:, 0], exponent), np.ldexp(rows[:, 1], exponent), rows[:, 2])


def turning_points(x: FloatArray) -> FloatArray:
    """Turning points of a history: first and last value and the extremes between them."""
    moves = x[np.concatenate([[True], np.diff(x) != 0.0])]
    if len(moves) < 3:
        return moves
    rises = np.diff(moves) > 0.0
    return moves[np.concatenate([[True], rises[:-1] != rises[1:], [True]])]


def _package() -> Any:
    """Import the package rainflow. Raises `MachineError` if it is missing."""
    try:
        import rainflow as package
    except ImportError:
        raise MachineError(
            'rainflow: needs the package rainflow; install it: pip install "flexmbs[durability]"'
        ) from None
    return package
