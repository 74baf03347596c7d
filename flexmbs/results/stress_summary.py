"""Stress of the flexible bodies of a solution for the summary, the report and the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.results.bodies import flexible_bodies
from flexmbs.results.hot_spots import HotSpot, HotSpots
from flexmbs.results.stress_values import FloatArray

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData
    from flexmbs.results.stress import StressView

PASCALS = 1e-6  # MPa


@dataclass(frozen=True)
class StressReport:
    """Stress section of one body.

    Its hot spots, warnings repeated from the audit, remarks, the caption of the picture.
    """

    body: str
    spots: HotSpots
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    caption: str


def stress_reports(solution: SolutionData) -> list[StressReport]:
    """Stress report of each body with stress modes."""
    return [_report(solution, name) for name in stressed_bodies(solution)]


def stressed_bodies(solution: SolutionData) -> tuple[str, ...]:
    """Names of the bodies that have stress modes."""
    return tuple(name for name in flexible_bodies(solution) if solution.body(name).has_stress)


def _report(solution: SolutionData, name: str) -> StressReport:
    """Summary of the stress of a body: hot spots, warnings and notes."""
    view = solution.body(name).stress.glance
    spots = view.hot_spots()
    warnings: tuple[str, ...] = spots.warnings
    notes: tuple[str, ...] = ()
    # a weaker material may yield at a node that is not a hot spot
    if not warnings and view.utilization.max(initial=0.0) > 1.0:
        warnings += (most_used(view),)
    if view.has_strengths and view.plies.envelope.tsai_wu.max() > 1.0:
        warnings += (f"{worst_ply(view)}; the stress there assumes intact plies",)
    if view.uncorrected:
        notes += (
            f"loads on {', '.join(view.uncorrected)} are represented by the modes only; "
            "define an interface there",
        )
    if len(view.t) < len(solution.t):
        notes += (
            f"evaluated at {len(view.t)} of {len(solution.t)} output times; the envelope "
            "of the body's stress uses all of them",
        )
    if view.open_joints:
        notes += (
            f"reactions of {', '.join(view.open_joints)} are not unique; nor is the "
            "stress near them",
        )
    caption = (
        f"Von Mises stress at t = {spots[0].time:.4g} s, the time of its maximum; numbers "
        "mark the hot spots."
    )
    return StressReport(name, spots, warnings, notes, caption if spots else "")


def most_used(view: StressView) -> str:
    """Text on the node with the largest utilization of the yield stress."""
    worst, envelope = int(np.argmax(view.utilization)), view.envelope
    return (
        f"{PASCALS * envelope.von_mises[worst]:.4g} MPa at node "
        f"{envelope.node_ids[worst]}, t = {envelope.time[worst]:.4g} s; "
        f"{100 * view.utilization[worst]:.3g} % of the yield stress "
        f"{PASCALS * view.yield_stress[worst]:.4g} MPa"
    )


def worst_ply(view: StressView) -> str:
    """Text on the ply with the largest failure index."""
    envelope = view.plies.envelope
    k = envelope.worst
    return (
        f"Tsai–Wu index {envelope.tsai_wu[k]:.3g} at the {envelope.place[k]} of ply "
        f"{envelope.ply[k]}, "
        f"node {envelope.node_ids[k]}, t = {envelope.time[k]:.4g} s"
    )


def stress_numbers(solution: SolutionData) -> dict[str, Any]:
    """Worst node of each body, as plain values."""
    return {
        each.body: _numbers(each.spots[0]) | {"notes": [*each.warnings, *each.notes]}
        for each in stress_reports(solution)
        if each.spots
    }


def _numbers(spot: HotSpot) -> dict[str, Any]:
    """Node, time, stresses and yield stress of a hot spot, by name."""
    limit = spot.yield_stress if np.isfinite(spot.yield_stress) else None
    return {
        "node": spot.node,
        "position": spot.position.tolist(),
        "time": spot.time,
        "von_mises": spot.von_mises,
        "principal": spot.principal.tolist(),
        "yield_stress": limit,
    }


def table_columns(spots: HotSpots) -> Mapping[str, FloatArray]:
    """(heading, values) of the columns of the table of hot spots."""
    rows = [
        (
            s.node,
            *s.position,
            s.time,
            s.von_mises,
            *s.principal,
            s.yield_stress,
            *s.directions.T.ravel(),
        )
        for s in spots
    ]  # directions one after the other
    names = [
        "node",
        "x [m]",
        "y [m]",
        "z [m]",
        "t [s]",
        "von Mises [Pa]",
        "sigma 1 [Pa]",
        "sigma 2 [Pa]",
        "sigma 3 [Pa]",
    ]
    names += ["yield [Pa]", *(f"direction {k + 1} {axis}" for k in range(3) for axis in "xyz")]
    return dict(zip(names, np.array(rows).reshape(len(spots), len(names)).T))
