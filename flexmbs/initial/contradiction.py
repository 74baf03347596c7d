"""Inconsistent constraints on velocities: rates ġ = G s + γ̄ that no velocities make zero."""

import numpy as np

from flexmbs.initial.assembly import holonomic_rows
from flexmbs.system.compile import Compiled

KEPT = 1e-6  # of the largest velocity, in m/s or rad/s


def row_owners(compiled: Compiled) -> list[str]:
    """The joint, drive or coupling of each constraint row."""
    return [name for _, name in row_items(compiled)]


def contradicting_rates(compiled: Compiled, rates: np.ndarray, s: np.ndarray) -> list[str]:
    """One line per joint, drive or coupling with residual rates ġ (nc,) at the velocities s of least residual.

    For models with nonholonomic rows; inconsistent holonomic rows already show in the positions.
    """
    if holonomic_rows(compiled).all():
        return []
    found: dict[tuple[str, str], float] = {}
    for owner, rate in zip(row_items(compiled), np.abs(rates)):
        if rate > KEPT * max(1.0, float(np.abs(s).max(initial=0.0))):
            found[owner] = max(rate, found.get(owner, 0.0))
    return [
        f"{section}.{name}: its velocities contradict the other constraints, residual "
        f"{rate:.4g} (m/s or rad/s); correct the rows, "
        "the motion of a drive or the axes"
        for (section, name), rate in found.items()
    ]


def row_items(compiled: Compiled) -> list[tuple[str, str]]:
    """(section, name) of each constraint row."""
    cuts = compiled.system.cuts
    owner = [("", "")] * compiled.n_constraints
    for k, name in enumerate(compiled.topology.cuts):
        for a in range(int(cuts.rows[k])):
            owner[int(cuts.row[k]) + a] = ("joints", name)
    for name, row in zip(compiled.model.couplings, compiled.system.couplers.row):
        owner[int(row)] = ("couplings", name)
    for name, row in zip(compiled.model.drives, compiled.system.drives.row):
        owner[int(row)] = ("drives", name)
    return owner
