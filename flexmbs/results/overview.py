"""Text of ``print(solution)``: what was run and how it went, in about ten lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.dynamics.dense import elastic_velocities
from flexmbs.system.check import FAIL, STATUSES, WARN

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

LISTED = 3
SHOWN = 8


def overview(solution: SolutionData) -> str:
    """Text overview of a solution: verdict, run, sizes, energy, checks, names."""
    compiled, run = solution.compiled, solution.run
    ns, nc, elastic = (
        int(compiled.system.layout[2]),
        compiled.n_constraints,
        len(elastic_velocities(compiled.system)),
    )
    lines = [
        f"{solution!r}"[1:-1],
        f"verdict   {solution.verdict}: "
        + ", ".join(f"{n} {status}" for status, n in _counts(solution)),
        f"outcome   {run.outcome}",
        f"size      {len(solution.bodies)} bodies, {ns} velocities, {elastic} of them "
        f"elastic, {nc} constraint rows",
        f"steps     {_steps(solution)}",
    ]
    if len(solution.t):
        energy = solution.energy
        missing = float(np.abs(energy.balance).max())
        lines.append(
            f"energy    balance error {missing:.2g} J, largest energy or work {energy.scale:.3g} J"
        )
        lines.append(
            "drift     {:.1e} m or rad, {:.1e} m/s or rad/s".format(*solution.drift.max(axis=0))
        )
    worst = [check for status in (FAIL, WARN) for check in solution.audit if check.status == status]
    lines += [f"{check.status:<9} {check}" for check in worst[:LISTED]]
    lines += [f"          and {len(worst) - LISTED} more in .audit"] if len(worst) > LISTED else []
    lines += [f"bodies    {_names(solution.bodies)}", f"joints    {_names(tuple(solution.joints))}"]
    return "\n".join(lines + ([f"notes     {len(run.notes)} in .run.notes"] if run.notes else []))


def _counts(solution: SolutionData) -> list[tuple[str, int]]:
    """Numbers of checks by status."""
    found = Counter(check.status for check in solution.audit)
    return [(status, found[status]) for status in STATUSES if found[status]]


def _steps(solution: SolutionData) -> str:
    """Text with the counts of steps, iterations and evaluations and the time."""
    counts = solution.statistics
    parts = [
        f"{counts[key]} {key}"
        for key in ("steps", "rejected", "iterations", "factorizations", "evaluations")
        if counts.get(key)
    ]
    seconds = counts.get("solve_seconds")
    return ", ".join(parts).replace(" steps", "", 1) + (
        f"; {float(seconds):.3g} s" if seconds is not None else ""
    )


def _names(names: tuple[str, ...]) -> str:
    """Comma-separated names, shortened; "none" if there are none."""
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(names[:SHOWN]) + more) or "none"
