"""Instants of a playback: the outputs of a run, or uniformly spaced times between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

MOST = 300
MOST_POSES = 60_000  # bodies times instants: limits the size of the page
FEWEST = 40
QUARTER_TURN = 0.5 * np.pi


def playback_solution(solution: SolutionData) -> tuple[SolutionData, list[str]]:
    """Solution at no more than `MOST` uniformly spaced times, and notes for the viewer."""
    t, n = solution.t, len(solution.t)
    most = int(np.clip(MOST_POSES // max(len(solution.bodies), 1), FEWEST, MOST)) + 1
    if n < 2 or not t[-1] > t[0]:
        return solution, []
    steps = np.diff(t)
    if n <= most and float(np.ptp(steps)) <= 1e-6 * float(steps.mean()):
        return solution, []
    times = np.linspace(t[0], t[-1], min(most, max(n, 2)))
    shown = solution.at(times)
    spacing = float(times[1] - times[0])
    notes = (
        [
            f"{len(times)} instants of {n} outputs, {spacing:.3g} s apart: faster motions "
            "between them are not shown"
        ]
        if n > most
        else []
    )
    return shown, notes


def turn_note(rates: dict[str, float], spacing: float) -> list[str]:
    """Warning if a body turns by more than a quarter turn between two instants.

    Largest angular velocities in rad/s.
    """
    name = max(rates, key=lambda each: rates[each], default="")
    angle = rates.get(name, 0.0) * spacing
    if angle <= QUARTER_TURN:
        return []
    return [
        f"body {name} turns by up to {np.degrees(angle):.0f}° between two instants: its "
        "sense of rotation may appear reversed"
    ]
