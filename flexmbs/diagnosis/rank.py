"""Rank of the constraints.

Rows that are redundant everywhere, and loss of rank at a single position (dead centre, end of
reach, aligned links).
"""

from typing import NamedTuple

import numpy as np
import scipy

from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work, start_from
from flexmbs.initial.assembly import displaced
from flexmbs.initial.inconsistent_rates import row_owners
from flexmbs.initial.initial_state import ACCEPTED_GAP, InitialState, settle
from flexmbs.system.compile import Compiled
from flexmbs.system.records import SPARE, Work, copied
from flexmbs.system.step_scales import displacement_sizes, model_size

# fraction of the largest pivot: above round-off, also that of derivatives by differences
DEPENDENT = 1e-9
NEARLY = 1e-6  # pivots below this at the start indicate a singular position
VANISHING = 1e-5  # fraction of the own size of a row
# user-defined rows below this, per comparable displacement, are not scaled to unit length because
# they may be round-off
SHORTEST = 1e-4
NEAR_STEP = 1e-2  # of comparable displacements: distance of the comparison position
# pivots below this fraction of the first ones indicate that a run stopped near a singular position
NEAR_END = 1 / 3


class Pivots(NamedTuple):
    """Rank-revealing QR factorization of the unit rows of G.

    size: |R_ii|, descending. owner: joint or drive of each row in that order.
    """

    size: np.ndarray
    owner: list[str]

    def rank(self, tolerance: float) -> int:
        """Number of independent rows."""
        return int((self.size > tolerance).sum())

    def dependent(self, tolerance: float) -> list[tuple[str, int]]:
        """(joint or drive, number of dependent rows) of all with dependent rows."""
        found: dict[str, int] = {}
        for name in self.owner[self.rank(tolerance) :]:
            found[name] = found.get(name, 0) + 1
        return list(found.items())


def pivots(compiled: Compiled, q: np.ndarray, s: np.ndarray, beta: np.ndarray) -> Pivots:
    """Pivots of the constraints at a state; ones if the rows are always independent."""
    if compiled.n_constraints == 0:
        return Pivots(np.zeros(0), [])
    if _of_tree_alone(compiled):
        return Pivots(np.ones(compiled.n_constraints), row_owners(compiled))
    return _factored(compiled, unit_rows(compiled, 0.0, q, s, beta).G)


def _of_tree_alone(compiled: Compiled) -> bool:
    """True if all constraint rows belong to joints of the spanning tree.

    Each of these constrains another body relative to those before it, so that the rows are
    independent.
    """
    shape, cuts = compiled.topology, compiled.system.cuts
    own = compiled.n_constraints == int(cuts.closed.sum())
    return own and set(shape.cuts) == set(shape.real_tree)


def redundant_rows(
    compiled: Compiled, q: np.ndarray, s: np.ndarray, beta: np.ndarray
) -> list[tuple[str, int]]:
    """(joint or drive, number of dependent rows) by rank-revealing QR of Gᵀ."""
    return pivots(compiled, q, s, beta).dependent(DEPENDENT)


class Singular(NamedTuple):
    """Position with dependent rows that are independent nearby.

    items: joints and drives of these rows. near: the nearby position.
    """

    items: list[str]
    near: InitialState

    @property
    def names(self) -> str:
        """The items, quoted."""
        return _names(self.items)

    def __str__(self) -> str:
        return (
            f"the initial position is singular: rows of {self.names} are dependent here "
            "only (dead centre, aligned "
            "links), and the motion may branch; start slightly away from it with q0"
        )


def singular_position(compiled: Compiled, start: InitialState) -> Singular | None:
    """Description of a loss of rank at the initial position; None if there is none.

    The nearby position is reached by a free motion.
    """
    if compiled.n_constraints == 0:
        return None
    G = unit_rows(compiled, 0.0, start.q, start.s, start.beta).G
    here = _factored(compiled, G)
    if here.rank(NEARLY) == min(G.shape):
        return None
    near = _nearby_position(compiled, start, G)
    if near is None:
        return None
    there = pivots(compiled, near.q, near.s, near.beta)
    if there.rank(NEARLY) <= here.rank(NEARLY):
        return None
    usual = dict(there.dependent(NEARLY))
    lost = [name for name, rows in here.dependent(NEARLY) if rows > usual.get(name, 0)]
    return Singular(lost or [name for name, _ in here.dependent(NEARLY)], near)


def has_usual_rank(compiled: Compiled, start: InitialState, singular: Singular | None) -> bool:
    """True if the rank of G is known to be that of other positions too.

    G is that at ``singular.near`` or, if nothing is singular, at the start. The rank is not known
    if rows are dependent and no position near the start was found for comparison.
    """
    if singular is not None or compiled.n_constraints == 0:
        return True
    G = unit_rows(compiled, 0.0, start.q, start.s, start.beta).G
    return (
        _factored(compiled, G).rank(NEARLY) == min(G.shape)
        or _nearby_position(compiled, start, G) is not None
    )


def lost_on_the_way(first: Pivots, last: Pivots) -> str:
    """Joint or drive whose rows became nearly dependent between two states, or ""."""
    rank = first.rank(NEARLY)
    if rank == 0 or last.size[rank - 1] > NEAR_END * first.size[rank - 1]:
        return ""
    return _names(last.owner[rank - 1 : rank])


class UnitRows(NamedTuple):
    """G (nc, ns) per comparable displacement, with rows of unit length.

    lengths (nc,): those of the rows before. Nearly vanishing rows remain small. gap: largest |g|
    over these lengths, a displacement like those of G.
    """

    G: np.ndarray
    lengths: np.ndarray
    gap: float


class UnitRowsOfModel:
    """Unit rows of G at states of one model.

    The workspace and the scales are prepared once: they take ten times as long as one evaluation.
    beta: coordinates (m, rad) of the cut joints at any state.
    """

    def __init__(self, compiled: Compiled, beta: np.ndarray) -> None:
        self.compiled, self.work = compiled, make_work(compiled.system, beta)
        self.sizes, self.length = displacement_sizes(compiled), model_size(compiled)

    def __call__(self, t: float, q: np.ndarray, s: np.ndarray, beta: np.ndarray) -> UnitRows:
        start_from(self.work, beta)
        here = terms(self.compiled.system, self.work, t, q, s)
        G = here.G * self.sizes
        own = own_sizes(self.compiled, self.work, len(G), self.length)
        least = np.where(own > 0.0, VANISHING * own, SHORTEST * min(1.0, self.length))
        lengths = np.maximum(np.linalg.norm(G, axis=1), least)
        measured = lengths > 0.0  # not the rows of a body without size
        gap = float(np.abs(here.g[measured] / lengths[measured]).max(initial=0.0))
        return UnitRows(G / lengths[:, None], lengths, gap)


def unit_rows(
    compiled: Compiled, t: float, q: np.ndarray, s: np.ndarray, beta: np.ndarray
) -> UnitRows:  # fmt: skip
    """Unit rows of G at a state, whose rank and self-stresses do not depend on units."""
    return UnitRowsOfModel(compiled, beta)(t, q, s, beta)


def own_sizes(
    compiled: Compiled, work: Work, count: int, length: float | None = None
) -> np.ndarray:  # fmt: skip
    """Sizes (nc,) of the covectors (f, n) of rows between frames, max(L |f|, |n|).

    length: L, the size of the model, if it is known. 0 for other rows.
    """
    found, cuts = np.zeros(count), compiled.system.cuts
    length = model_size(compiled) if length is None else length
    for k, (row, rows) in enumerate(zip(cuts.row, cuts.rows)):
        f, n = np.linalg.norm(work.cut.covectors[k].reshape(6, 2, 3)[:rows], axis=2).T
        found[row : row + rows] = np.maximum(length * f, n)
    return found


def _factored(compiled: Compiled, G: np.ndarray) -> Pivots:
    """Pivots of the constraint rows G by QR factorization, with their owners."""
    owner = row_owners(compiled)
    R, order = scipy.linalg.qr(G.T, mode="r", pivoting=True)
    size = np.zeros(len(owner))
    size[: min(R.shape)] = np.abs(np.diagonal(R))
    return Pivots(size, [owner[row] for row in order])


def _nearby_position(compiled: Compiled, start: InitialState, G: np.ndarray) -> InitialState | None:
    """Position near the start that satisfies the same constraints; None if it does not close."""
    free = scipy.linalg.null_space(G, rcond=NEARLY)
    step = displacement_sizes(compiled) * (
        free @ np.random.default_rng(0).standard_normal(free.shape[1])
    )
    q, s = start.q.copy(), start.s.copy()
    size = float(np.abs(step / displacement_sizes(compiled)).max(initial=0.0))
    displaced(compiled.system, start.q, step * (NEAR_STEP / (size or 1.0)), q)
    work = make_work(compiled.system, start.beta)
    if not settle(compiled, work, 0.0, q, s).left <= ACCEPTED_GAP:
        return None
    return InitialState(
        q, s, work.beta[:-SPARE].copy(), (), copied(work.motion), work.cut.eta.copy()
    )


def _names(items: list[str]) -> str:
    """Names in quotes, separated by commas."""
    return ", ".join(f"'{name}'" for name in items)
