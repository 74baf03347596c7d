"""Singular positions along a motion, at which the constraints lose rank.

Examples are dead centres and aligned links. The measure is the smallest singular value σ of G for
its generic rank, with rows scaled by their largest length in the run. Outputs are sampled; around
each low minimum σ is followed between the outputs along q ⊕ (τ s + ½ τ² ṡ).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from flexmbs.diagnosis.rank import NEAR_STEP
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import follow, make_work
from flexmbs.initial.assembly import displaced
from flexmbs.initial.inconsistent_rates import row_owners
from flexmbs.initial.initial_state import InitialState
from flexmbs.system.compile import Compiled
from flexmbs.system.trajectory import Trajectory

SAMPLES = 200
OPERATIONS = 4e8  # for all singular values; large systems get fewer samples, or none
LOW = 0.25  # of the largest σ: lower minima are refined between the outputs
SINGULAR = 5e-3  # of the largest σ
MOST = 10  # positions listed individually
MOST_NAMES = 6
HUGE = 1e100  # rows beyond it have diverged
# times the distance of the comparison position of a singular start: within it a run has hardly left
# the start
BESIDE = 10.0
SHARE = 0.5  # of the largest share in the vanishing combination of rows: joints with more are named


class Passage(NamedTuple):
    """A singular position that the motion passes.

    Its time, the joints and drives whose rows are dependent there, and σ relative to its largest
    value.
    """

    t: float
    items: list[str]
    size: float

    @property
    def names(self) -> str:
        """The joints and drives, abbreviated if there are many."""
        rest = len(self.items) - MOST_NAMES
        return ", ".join(f"'{name}'" for name in self.items[:MOST_NAMES]) + (
            f" and {rest} more" if rest > 0 else ""
        )

    def __str__(self) -> str:
        return (
            f"passed a singular position at t = {self.t:.5g} s: rows of {self.names} are "
            "dependent there "
            f"(σ = {self.size:.1e} of its largest value); the motion may branch"
        )


class ConstraintRows:
    """G at states of a run, and its smallest singular value for a given rank.

    The rows are scaled by fixed lengths.
    """

    def __init__(self, compiled: Compiled, beta: np.ndarray, rank: int) -> None:
        self.compiled, self.rank = compiled, rank
        self.work = make_work(compiled.system, beta)
        self.scale = np.full(compiled.n_constraints, 1e-300)

    def at(self, t: float, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Constraint matrix G at time t and state (q, s)."""
        found = terms(self.compiled.system, self.work, t, q, s).G
        follow(self.work)
        return found

    def least(self, G: np.ndarray) -> float:
        """Smallest singular value σ of the constraint rows G; huge if G has diverged."""
        rows = G / self.scale[:, None]
        if not (np.abs(rows) < HUGE).all():
            return HUGE
        square = rows @ rows.T if G.shape[0] <= G.shape[1] else rows.T @ rows
        return float(np.sqrt(max(np.linalg.eigvalsh(square)[-self.rank], 0.0)))

    def ahead(
        self, t: float, q: np.ndarray, s: np.ndarray, sd: np.ndarray, step: float
    ) -> np.ndarray:
        """Constraint rows G at time t + step, extrapolated along the motion."""
        moved = q.copy()
        displaced(self.compiled.system, q, step * s + 0.5 * step**2 * sd, moved)
        return self.at(t + step, moved, s + step * sd)

    def items(self, G: np.ndarray) -> list[str]:
        """Joints and drives in the dependent combination of constraint rows."""
        u = np.linalg.svd(G / self.scale[:, None])[0][:, self.rank - 1]
        part = np.abs(u) / np.abs(u).max()
        return list(
            dict.fromkeys(
                name for name, size in zip(row_owners(self.compiled), part) if size >= SHARE
            )
        )


def passages(compiled: Compiled, found: Trajectory, beta: np.ndarray, rank: int) -> list[Passage]:
    """Singular positions that a run passed.

    rank: the generic one. beta: coordinates of the cut joints at the start.
    """
    n = min(found.lam.shape[1], found.s.shape[1])
    count = int(min(SAMPLES, len(found.t), OPERATIONS / max(n, 1) ** 3))
    if rank == 0 or count < 3:
        return []
    rows = ConstraintRows(compiled, beta, rank)
    pick = np.unique(np.linspace(0, len(found.t) - 1, count).astype(int))
    sampled = [rows.at(float(found.t[i]), found.q[i], found.s[i]) for i in pick]
    rows.scale = np.maximum(np.max([np.linalg.norm(G, axis=1) for G in sampled], axis=0), 1e-300)
    size = np.array([rows.least(G) for G in sampled])
    top = size.max()
    around = np.concatenate([[np.inf], size, [np.inf]])
    low = (size <= around[:-2]) & (size < around[2:]) & (size < LOW * top)
    low[0] = False  # the initial position is judged separately
    followed = (_followed(rows, found, pick, k, top) for k in map(int, np.flatnonzero(low)))
    return [passage for passage in followed if passage.size < SINGULAR]


def _followed(
    rows: ConstraintRows, found: Trajectory, pick: np.ndarray, k: int, top: float
) -> Passage:
    """Minimum of σ near output k, along the motion from the adjacent output."""
    first, last = pick[k - 1], pick[min(k + 1, len(pick) - 1)]
    near = range(first, last + 1)
    if len(near) > 2 and len(near) < SAMPLES:
        i = min(near, key=lambda j: rows.least(rows.at(float(found.t[j]), found.q[j], found.s[j])))
    else:
        i = int(pick[k])
    state = float(found.t[i]), found.q[i], found.s[i], found.sd[i]
    lower, upper = (
        found.t[max(i - 1, 0)] - found.t[i],
        found.t[min(i + 1, len(found.t) - 1)] - found.t[i],
    )
    best = _minimized(
        lambda step: rows.least(rows.ahead(*state, step)),
        (lower, upper),
        {"xatol": 1e-7 * (upper - lower)},
    )
    G = rows.ahead(*state, best.x)
    return Passage(float(found.t[i] + best.x), rows.items(G), float(best.fun) / top)


def _minimized(
    value: Callable[[float], float], bounds: tuple[float, float], options: dict[str, float]
) -> Any:
    """SciPy result of the minimization of a function between bounds, by Brent's method."""
    from scipy.optimize import minimize_scalar  # imported on demand, since it takes 0.2 s

    return minimize_scalar(value, bounds=bounds, method="bounded", options=options)


def passage_notes(found: list[Passage]) -> list[str]:
    """Notes on singular positions, only the first ones if there are many."""
    more = (
        [f"{len(found) - MOST} more singular positions up to t = {found[-1].t:.5g} s"]
        if len(found) > MOST
        else []
    )
    return [str(passage) for passage in found[:MOST]] + more


def ahead_of(
    compiled: Compiled,
    beta: np.ndarray,
    rank: int,
    t: float,
    q: np.ndarray,
    s: np.ndarray,
    sd: np.ndarray,
    reach: float,
) -> Passage | None:
    """Singular position within the time ``reach`` after a state, or None."""
    rows = ConstraintRows(compiled, beta, rank)
    G = rows.at(t, q, s)
    rows.scale = np.maximum(np.linalg.norm(G, axis=1), 1e-300)
    now = rows.least(G)
    best = _minimized(lambda step: rows.least(rows.ahead(t, q, s, sd, step)), (0.0, reach), {})
    if not best.fun < 0.05 * now:
        return None
    return Passage(t + best.x, rows.items(rows.ahead(t, q, s, sd, best.x)), float(best.fun) / now)


def is_beside(
    compiled: Compiled,
    near: InitialState,
    rank: int,
    t: float,
    q: np.ndarray,
    s: np.ndarray,
    beta: np.ndarray,
) -> bool:
    """True if a state is hardly farther from a singular start than ``near``.

    near: the comparison position. Both the coordinates and σ, which grows along the motion, are
    compared.
    """
    if not np.abs(q - near.q).max() <= BESIDE * NEAR_STEP:
        return False
    rows = ConstraintRows(compiled, beta, rank)
    here, there = (
        rows.at(t, q, s),
        ConstraintRows(compiled, near.beta, rank).at(0.0, near.q, near.s),
    )
    rows.scale = np.maximum(np.linalg.norm(here, axis=1), np.linalg.norm(there, axis=1)).clip(
        1e-300
    )
    return rows.least(here) <= BESIDE * rows.least(there)
