"""Inconsistent constraints: G s + γ̄ = 0 without a solution s, or G ṡ = γ without a solution ṡ."""

import numpy as np

from flexmbs.dynamics.dense import Terms
from flexmbs.initial.assembly import holonomic_rows
from flexmbs.system.compile import Compiled
from flexmbs.system.step_scales import displacement_sizes

KEPT = 1e-6  # of the largest velocity, at least 1 rad/s or the model's size per s
# rad/s² or sizes of the model per s²: smaller accelerations move nothing visible within minutes
LEAST = 1e-9
PART = 1e-3  # of a row that depends on others: share of one of them


def row_owners(compiled: Compiled) -> list[str]:
    """Name of the joint, drive or coupling of each constraint row."""
    return [name for _, name in row_items(compiled)]


def contradicting_rates(
    compiled: Compiled, rates: np.ndarray, shares: np.ndarray, G: np.ndarray, s: np.ndarray
) -> list[str]:  # fmt: skip
    """Messages on items whose velocity constraints contradict others.

    rates (nc,): residual ġ at the velocities s of least residual. shares: the same relative to the
    sizes of the rows. G (nc, ns): the rows. A line names the items on which the rows depend. For
    models with nonholonomic rows; inconsistent holonomic rows already show in the positions.
    """
    if holonomic_rows(compiled).all():
        return []
    wrong = np.abs(shares) > KEPT * max(
        1.0, float(np.abs(s / displacement_sizes(compiled)).max(initial=0.0))
    )
    return _contradictions(compiled, wrong, rates, G, "velocities", "m/s or rad/s")


def contradicting_accelerations(
    compiled: Compiled, here: Terms, sizes: np.ndarray, s: np.ndarray, sd: np.ndarray
) -> list[str]:  # fmt: skip
    """Messages on items whose constraints on accelerations contradict others.

    here: terms of a state whose positions and velocities s (ns,) are consistent; sizes (nc,): of
    the rows; sd (ns,): accelerations that satisfy the independent rows. Two drives of a loop with
    one degree of freedom may agree at an instant, but not afterwards. Residuals are compared with
    all accelerations that the rows balance, also those of the forces alone, which vanish where a
    model is locked.
    """
    rows = np.abs(here.G / sizes[:, None])
    free = np.linalg.solve(here.M, here.k)
    scale = rows @ (np.abs(sd) + np.abs(free)) + np.abs(here.gamma / sizes)
    rate = float(np.abs(s / displacement_sizes(compiled)).max(initial=0.0))
    left = here.G @ sd - here.gamma
    limit = max(KEPT * (float(scale.max(initial=0.0)) + rate**2), LEAST)
    wrong = np.abs(left / sizes) > limit
    return _contradictions(compiled, wrong, left, here.G, "accelerations", "m/s² or rad/s²")


def _contradictions(
    compiled: Compiled, wrong: np.ndarray, left: np.ndarray, G: np.ndarray, what: str, unit: str
) -> list[str]:  # fmt: skip
    """One line for each item with wrong rows (nc,), with its largest residual of ``left`` (nc,)."""
    found: dict[tuple[str, str], int] = {}
    owners, sizes = row_items(compiled), np.abs(left)
    for k in np.flatnonzero(wrong):
        found[owners[k]] = max(int(k), found.get(owners[k], int(k)), key=sizes.__getitem__)
    return [
        f"{section}.{name}: its {what} contradict the other constraints, residual "
        f"{sizes[k]:.4g} ({unit}){_depended_on(owners, G, k, wrong)}; correct the rows, "
        "the motion of a drive or the axes"
        for (section, name), k in found.items()
    ]


def _depended_on(owners: list[tuple[str, str]], G: np.ndarray, k: int, wrong: np.ndarray) -> str:
    """Names of the items whose rows combine linearly to row k.

    Of the rows that are satisfied; of the others if these do not combine to it.
    """
    for rows in (np.flatnonzero(~wrong), np.flatnonzero(np.arange(len(G)) != k)):
        share = np.linalg.lstsq(G[rows].T, G[k], rcond=None)[0] * np.linalg.norm(G[rows], axis=1)
        parts = rows[np.abs(share) > PART * np.linalg.norm(G[k])]
        names = dict.fromkeys(owners[each][1] for each in parts if owners[each] != owners[k])
        if names:
            return ", those of " + ", ".join(f"'{name}'" for name in names)
    return ""


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
