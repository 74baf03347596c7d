"""Envelope of the von Mises stress over a run, and its hot spots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.results.stress_values import FloatArray, IntArray, principal
from flexmbs.signals.signal_arguments import one_number, whole_number

if TYPE_CHECKING:
    from flexmbs.results.stress import StressView

SPACING = 0.05  # least distance of hot spots, relative to the body's size


@dataclass(frozen=True, eq=False)
class Envelope:
    """Largest von Mises stress (n,) [Pa] of each node over a run, and its time (n,) [s]."""

    node_ids: IntArray
    positions: FloatArray
    von_mises: FloatArray
    time: FloatArray


ROUND_OFF = 1e-12  # relative to the largest principal stress


@dataclass(frozen=True, eq=False)
class HotSpot:
    """Node of locally largest von Mises stress.

    position (3,): in the body frame [m]; time [s]; von_mises, principal (3,) in descending order,
    yield_stress: [Pa] (infinite if unknown); directions (3, 3): principal directions, columns in
    body axes.

    """

    node: int
    position: FloatArray
    time: float
    von_mises: float
    principal: FloatArray
    directions: FloatArray
    yield_stress: float

    @property
    def utilization(self) -> float:
        """Von Mises stress over yield stress; zero if the latter is unknown."""
        return self.von_mises / self.yield_stress

    @property
    def shown(self) -> tuple[float, ...]:
        """Principal stresses [MPa] for display, with round-off set to zero.

        A shell has none across its thickness.
        """
        least = ROUND_OFF * float(np.abs(self.principal).max(initial=0.0))
        return tuple(1e-6 * s if abs(s) > least else 0.0 for s in self.principal.tolist())


class HotSpots(list[HotSpot]):
    """Hot spots of one body, worst first; prints as a table."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """One line per hot spot above the yield stress, where linear stress is not valid."""
        return tuple(
            f"node {spot.node}: {1e-6 * spot.von_mises:.4g} MPa exceeds the yield stress "
            f"{1e-6 * spot.yield_stress:.4g} MPa "
            f"at t = {spot.time:.4g} s; the stress there assumes a linear elastic material"
            for spot in self
            if spot.utilization > 1.0
        )

    def __str__(self) -> str:
        titles = ("x", "y", "z [m]", "t [s]", " von Mises", "σ1", "σ2", "σ3 [MPa]")
        head = f"{'node':>8} {' '.join(f'{title:>9}' for title in titles)}  yield"
        rows = [
            f"{spot.node:8d} {' '.join(f'{x:9.4g}' for x in spot.position.round(9))} "
            f"{spot.time:9.4g} "
            f"{1e-6 * spot.von_mises:10.4g} {' '.join(f'{s:9.4g}' for s in spot.shown)}  "
            f"{_use(spot)}"
            for spot in self
        ]
        return "\n".join([head, *rows, *self.warnings])


def _use(spot: HotSpot) -> str:
    """Utilization of the yield stress as text."""
    if not np.isfinite(spot.yield_stress):
        return "not known"
    return f"{100 * spot.utilization:.3g} %" + (" EXCEEDED" if spot.utilization > 1.0 else "")


def hot_spots(stress: StressView, count: int, spacing: float | None) -> HotSpots:
    """Worst ``count`` nodes of the envelope at the minimum spacing.

    Raises InputError.
    """
    count = whole_number(count, "count", least=1)
    envelope = stress.envelope
    size = (
        float(np.linalg.norm(np.ptp(envelope.positions, axis=0)))
        if len(envelope.positions)
        else 0.0
    )
    distance = SPACING * size if spacing is None else one_number(spacing, "spacing", least=0.0)
    order = np.argsort(-envelope.von_mises, kind="stable")
    rows = np.array(spread(order, envelope.positions, envelope.node_ids, count, distance), np.int64)
    times = np.searchsorted(stress.t, envelope.time[rows])
    sizes, directions = principal(stress.at_times(rows, times))
    limits = stress.yield_stress[rows]
    return HotSpots(
        HotSpot(
            int(envelope.node_ids[row]),
            envelope.positions[row],
            float(envelope.time[row]),
            float(envelope.von_mises[row]),
            sizes[k],
            directions[k],
            float(limits[k]),
        )
        for k, row in enumerate(rows)
    )


def spread(
    order: IntArray, positions: FloatArray, node_ids: IntArray, count: int, distance: float
) -> list[int]:
    """First ``count`` rows of an order that keep a distance from the previous ones.

    Closer than ``distance``, or of the same node.
    """
    left = np.ones(len(positions), bool)
    taken: list[int] = []
    for row in order:
        if len(taken) == count:
            break
        if left[row]:
            taken.append(int(row))
            away = np.linalg.norm(positions - positions[row], axis=1)
            left &= (away > distance) & (node_ids != node_ids[row])
    return taken
