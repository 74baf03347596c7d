"""Closure of loops: joint coordinates with g(q, t) = 0 near the declared ones.

Declared coordinates are kept and the undeclared ones adjusted, by a Levenberg–Marquardt method on
the gaps with steps of least norm in the mass matrix, damping in proportion to the gap (Fan & Yuan,
Computing 74 (2005) 23) and bounded steps, from the declared position and then from others around
it. Declared coordinates change only if the loops do not close otherwise. The remaining freedom is
used in order of priority: g = 0, declared coordinates close to their values, strain energy (if
bodies may deform), least change of the undeclared ones; each step solves the linearized problem and
closes the loops again.
"""

from typing import NamedTuple

import numpy as np
import scipy

from flexmbs.dynamics.dense import Terms, terms
from flexmbs.dynamics.work import start_from
from flexmbs.flexible_body.free_body import skew
from flexmbs.initial.assembly import (
    Assemble,
    CutVelocities,
    DeclaredValues,
    cut_offsets,
    declared_values,
    displaced,
    holonomic_rows,
    offset,
)
from flexmbs.initial.hierarchical_least_squares import Condition, by_priority, root_of
from flexmbs.initial.row_sizes import relative_sizes
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Work, rows_of
from flexmbs.system.step_scales import coordinate_sizes, displacement_sizes, model_size

STEPS = 100
TRIALS = 12  # dampings tried in one step
LARGEST_STEP = 0.7  # rad, or relative to the size of the model
FIRST_DAMPING = 1e-2  # of the largest squared singular value, at a gap of the size of the model
STATIONARY = 1e-6  # slope of the gap over its upper bound
SLOW = 0.98  # of the gap: less progress in five steps is too slow
CLOSED = 1e-9  # gap, rad or relative to the size of the model, as all gaps here
ROUND_OFF = 1e-14  # relative gap at which Newton's method cannot improve in double precision
# gap due to rounding of declared values: no other position closes without changing them
ROUNDED = 1e-2
KEPT = 1e-12  # smaller changes are negligible
ROUNDS = 20  # largest number of metrics
CONTRACTING = 0.8  # ratio of the changes of position from one metric to the next
MOST_GROWTH = 1.1  # largest growth of the change of declared coordinates in a new metric
REFINEMENTS = 20  # steps of the refinement in one metric
SETTLED = 1e-11  # step at which the refinement has converged
HALF = 0.5  # of the previous step: criterion of convergence when costs differ by round-off
SHORTEST = 1 / 16  # shortest part of a step of the refinement
RESTARTS = 16
FEW = 60  # coordinates; larger models get only two restarts
SPREAD = 0.4  # rad, or relative to the size of the model, of the first restart
FAR = 0.6  # change of declared coordinates above which other positions are tried
FAR_DRIVE = 5.0  # sizes of the model: distance of a far drive
YIELDING = 1e-4  # weight of undeclared coordinates relative to declared ones, during the iteration
# inertia of a coordinate relative to the largest one, at least, during the iteration: damping by
# the coordinates of lighter bodies would stop those of heavy ones
LIGHTEST = 1e-4
STIFF = 1e4  # weight of deformation relative to all others, during the iteration


class ClosurePoint(NamedTuple):
    """A position in the search.

    Change d from the declared position, coordinates, those of the cut joints, and the residuals
    there.
    """

    d: np.ndarray
    q: np.ndarray
    beta: np.ndarray
    M: np.ndarray
    G: np.ndarray  # holonomic rows, over their sizes
    g: np.ndarray
    H: np.ndarray  # rows of the coordinates of the cut joints that take part
    off: np.ndarray  # their changes from the declared values

    @property
    def gap(self) -> float:
        """Largest absolute residual of the constraints; infinity if it is not finite."""
        size = float(np.abs(self.g).max(initial=0.0))
        return size if np.isfinite(size) else np.inf


class ClosureSearch(NamedTuple):
    """The variable coordinates, and the rows that must vanish."""

    free: np.ndarray  # (ns,) coordinates
    held: np.ndarray  # coordinates of cut joints that keep their declared values


class LoopClosure:
    """Loop closure of one model from its declared state.

    loose: rows that constrain only velocities.
    """

    def __init__(
        self,
        compiled: Compiled,
        work: Work,
        t: float,
        q0: np.ndarray,
        s0: np.ndarray,
        how: Assemble,
        loose: np.ndarray,
    ) -> None:
        """Closure of loops from (q0, s0) at time t; rows ``loose`` constrain velocities only."""
        self.compiled, self.work, self.t, self.q0, self.s0, self.how = (
            compiled,
            work,
            t,
            q0,
            s0,
            how,
        )
        self.beta0 = work.path.beta.copy()
        self.holonomic = holonomic_rows(compiled)
        self.holonomic[loose] = False
        self.declared_values = declared_values(compiled, how, "q0")
        self.cut_velocities = CutVelocities(
            compiled.system, work, [cut.number for cut in self.declared_values.cuts]
        )
        self.size, self.reach = model_size(compiled), displacement_sizes(compiled)
        self.cost = float(compiled.system.bodies.mass.sum()) * self.size**2
        balls = enumerate(compiled.topology.tree)
        self.balls = [
            i for i, primary in balls if any(motion.nq > motion.nv for motion in primary.motions)
        ]
        self.rng = np.random.default_rng(0)
        self.sizes = np.ones(compiled.n_constraints)
        self.cut_sizes = self._cut_sizes(self.declared_values)
        self.sizes = relative_sizes(compiled, work, self._terms(q0, s0).G)

    def positions(self) -> ClosurePoint:
        """Closed position of least change; if none is found, the one with the smallest gap."""
        w, first = self.declared_values, self._place(self._far_drives())
        hard = ClosureSearch(w.undeclared, w.cut_locked | w.cut_declared)
        if max(first.gap, np.abs(first.off[hard.held]).max(initial=0.0)) <= ROUND_OFF:
            return self._taken(first)
        soft = ClosureSearch(w.movable, w.cut_locked)
        kept = self._kept(first, hard)
        found = kept if _missing(kept, hard) <= CLOSED else self._moved(first, kept, soft, hard)
        if found.gap > CLOSED and self.how.elastic and w.elastic.any():
            bent = self._bent(first, hard, soft)
            found = bent if bent.gap < found.gap else found
        return self._taken(found)

    def _far_drives(self) -> np.ndarray:
        """Displacement d of far driven translations, by which the search starts.

        Steps of bounded length would not reach them.
        """
        system, d = self.compiled.system, np.zeros(len(self.s0))
        g = self._terms(self.q0, self.s0).g
        for drive in rows_of(system.drives):
            if drive.body < 0:
                continue
            body, v = int(drive.body), int(drive.v)
            moving = [
                motion
                for motion in self.compiled.topology.tree[body].motions
                for _ in range(motion.nv)
            ]
            if moving[v].slides and np.abs(g[drive.row]) > FAR_DRIVE:
                d[system.tree.s_at[body] + v] = -g[drive.row] * self.size
        return d

    def velocities(self, q: np.ndarray) -> np.ndarray:
        """Velocities of least change that satisfy G s + γ̄ = 0.

        Locked ones and rates of bodies are as declared if possible, declared ones close to their
        values, the others close to zero.
        """
        w = declared_values(self.compiled, self.how, "v0")
        now = self._terms(q, self.s0)
        H, off = self._cut_rates(q, w)
        chosen = w.cut_locked | w.cut_declared
        if max(np.abs(now.gd).max(initial=0.0), np.abs(off[chosen]).max(initial=0.0)) <= ROUND_OFF:
            return self.s0.copy()
        e, ns = w.elastic, len(self.s0)
        declared, bodies, others = self._soft(
            w, now.M, H, off, np.zeros(ns), root_of(now.M[np.ix_(e, e)])
        )
        rows = np.vstack([np.eye(ns)[w.locked], H[w.cut_locked]])
        locked = Condition(
            rows, -np.concatenate([np.zeros(len(rows) - w.cut_locked.sum()), off[w.cut_locked]])
        )
        G = _without_rounding(now.G, self.reach)
        for free in (w.movable, w.movable | e, w.joint | e):
            x = _solved([Condition(G, -now.gd), locked, bodies, declared, others], free, self.reach)
            least = CLOSED * max(1.0, float(np.abs((self.s0 + x) / self.reach).max(initial=0.0)))
            if max(np.abs(A @ x - b).max(initial=0.0) for A, b in ((G, -now.gd), locked)) <= least:
                break
        return np.asarray(self.s0 + x)

    def _kept(self, first: ClosurePoint, search: ClosureSearch) -> ClosurePoint:
        """Search that keeps declared coordinates and closes loops by the others."""
        if not search.free.any():
            return first
        best = self._closed(first, search)
        if _missing(best, search) > ROUNDED and self.t == 0.0:
            best = self._elsewhere(best, search)
        return self._settled(best, search) if _missing(best, search) <= CLOSED else best

    def _moved(
        self, first: ClosurePoint, kept: ClosurePoint, search: ClosureSearch, hard: ClosureSearch
    ) -> ClosurePoint:
        """Search that also changes declared coordinates, as little as possible."""
        best = self._closed(kept if _missing(kept, hard) < _missing(first, hard) else first, search)
        if best.gap > CLOSED:
            best = min(best, self._closed(first, search), key=lambda place: _missing(place, search))
        if _missing(best, search) > ROUNDED:
            best = self._elsewhere(best, search)
        if _missing(best, search) > CLOSED:
            return best
        best = self._settled(best, search)
        if float(np.abs(best.d / self.reach)[self.declared_values.declared].max(initial=0.0)) > FAR:
            for _ in range(2):
                other = self._closed(self._scattered(FAR, search), search)
                if _missing(other, search) <= CLOSED:
                    best = min(best, self._settled(other, search), key=self._declared_change)
        return best

    def _bent(self, first: ClosurePoint, hard: ClosureSearch, soft: ClosureSearch) -> ClosurePoint:
        """Search that also deforms flexible bodies, keeping declared coordinates if possible."""
        found = first
        for search in (hard, soft):
            bending = ClosureSearch(search.free | self.declared_values.elastic, search.held)
            found = self._closed(first, bending)
            if _missing(found, bending) <= CLOSED:
                return self._settled(found, bending)
        return found

    def _elsewhere(self, best: ClosurePoint, search: ClosureSearch) -> ClosurePoint:
        """Search from increasingly distant random starts; the first closed position.

        If there is none, the position with the smallest gap.
        """
        for k in range(RESTARTS if np.count_nonzero(search.free) <= FEW else 2):
            place = self._closed(self._scattered((1 + k) * SPREAD, search), search)
            best = min(best, place, key=lambda place: _missing(place, search))
            if _missing(best, search) <= CLOSED:
                break
        return best

    def _scattered(self, spread: float, search: ClosureSearch) -> ClosurePoint:
        """Random starting position around the declared one."""
        moving = search.free & ~self.declared_values.elastic
        return self._place(
            spread * self.reach * self.rng.uniform(-1.0, 1.0, len(self.reach)) * moving
        )

    def _closed(self, place: ClosurePoint, search: ClosureSearch) -> ClosurePoint:
        """Minimize the gaps by damped, bounded Gauss–Newton steps."""
        free, factor, history = search.free, FIRST_DAMPING, [_missing(place, search)]
        for _ in range(STEPS):
            r, J = _rows(place, search)
            gap = float(np.linalg.norm(r))
            if gap <= ROUND_OFF or not np.isfinite(gap):
                break
            L = root_of(self._metric(place.M, free)[np.ix_(free, free)])
            u, size, vt = np.linalg.svd(
                scipy.linalg.solve_triangular(L, J[:, free].T, lower=True).T, full_matrices=False
            )
            part, top = u.T @ r, float(size.max(initial=0.0))
            if np.linalg.norm(size * part) <= STATIONARY * top * gap and gap > CLOSED:
                break
            better = None
            for _ in range(TRIALS):
                damping = factor * top**2 * min(1.0, gap)
                x = np.zeros(len(free))
                y = vt.T @ (part * size / np.maximum(size**2 + damping, 1e-24 * top**2 + 1e-300))
                x[free] = -scipy.linalg.solve_triangular(L.T, y)
                longest = float(np.abs(x / self.reach).max(initial=0.0))
                x *= min(1.0, LARGEST_STEP / max(longest, 1e-300))
                trial = self._place(place.d + x, place, x)
                promised = gap**2 - float(np.linalg.norm(r + J @ x)) ** 2
                gain = (gap**2 - float(np.linalg.norm(_rows(trial, search)[0])) ** 2) / max(
                    promised, 1e-300
                )
                if gain > 1e-3:
                    better = trial
                    factor = max(
                        factor * (0.2 if gain > 0.75 else 1.0 if gain > 0.25 else 3.0), 1e-8
                    )
                    break
                factor = min(6.0 * factor, 1e8)
            if better is None:
                break
            place = better
            history.append(_missing(place, search))
            if history[-1] > CLOSED and len(history) > 8 and history[-1] > SLOW * history[-6]:
                break
        return place

    def _settled(self, place: ClosurePoint, search: ClosureSearch) -> ClosurePoint:
        """Closed position of least change near a closed one, in order of priority.

        In the metric of that position if the iteration of the metric converges.
        """
        last = np.inf
        for _ in range(ROUNDS):
            found = self._least(place, search, place.M)
            step = float(np.abs((found.d - place.d) / self.reach).max(initial=0.0))
            if (
                step > CONTRACTING * last
                or self._declared_change(found)
                > MOST_GROWTH * self._declared_change(place) + KEPT * self.cost
            ):
                break
            place, last = found, step
            if step <= SETTLED:
                break
        return place

    def _least(self, place: ClosurePoint, search: ClosureSearch, M: np.ndarray) -> ClosurePoint:
        """Closed position of least change in a metric M, near a closed one."""
        w = self.declared_values
        root = root_of(self._strain_metric()) if search.free[w.elastic].any() else np.zeros((0, 0))
        last = np.inf
        for _ in range(REFINEMENTS):
            r, J = _rows(place, search)
            soft = self._soft(w, M, place.H, place.off, place.d, root)
            B = self._directions(place.d)
            x = _solved(
                [Condition(J, -r), *(Condition(A @ B, b) for A, b in soft)], search.free, self.reach
            )
            longest = float(np.abs(x / self.reach).max(initial=0.0))
            if not longest > SETTLED:
                break
            part, now, better = (
                min(1.0, LARGEST_STEP / longest),
                _costs(soft, np.zeros(len(x))),
                None,
            )
            while part >= SHORTEST and better is None:
                trial = self._closed(self._place(place.d + part * x, place, part * x), search)
                costs = _costs(soft, trial.d - place.d)
                lower = _lower(costs, now, self.cost) or (
                    longest < HALF * last and not _lower(now, costs, self.cost)
                )
                if lower and _missing(trial, search) <= CLOSED:
                    better = trial
                part *= 0.5
            if better is None:
                break
            place, last = better, longest
        return place

    def _soft(
        self,
        w: DeclaredValues,
        M: np.ndarray,
        H: np.ndarray,
        off: np.ndarray,
        d: np.ndarray,
        strain: np.ndarray,
    ) -> list[Condition]:
        """Least-squares conditions after the constraints, in order of priority.

        Declared values, no strain (by a root of its metric), no other change.
        """
        W = np.sqrt(np.outer(w.weight, w.weight)) * M
        e = np.flatnonzero(w.elastic)
        bodies = np.zeros((len(strain), len(d)))
        if len(strain):
            bodies[:, e] = strain.T
        declared = self._condition(
            w, W, w.declared & w.movable, H, off, w.cut_declared & ~w.cut_locked, d
        )
        others = self._condition(w, W, w.undeclared, H, off, ~w.cut_declared & ~w.cut_locked, d)
        return [declared, Condition(bodies, -bodies @ d), others]

    def _condition(
        self,
        w: DeclaredValues,
        W: np.ndarray,
        own: np.ndarray,
        H: np.ndarray,
        off: np.ndarray,
        cut: np.ndarray,
        d: np.ndarray,
    ) -> Condition:
        """Least-squares condition that coordinates do not change.

        The tree's coordinates ``own`` in the metric W, and the cut joints' ``cut`` with their
        apparent inertia 1/(h M⁻¹ hᵀ); those with h at round-off, which no motion of the tree
        changes, are omitted.
        """
        A = np.zeros((np.count_nonzero(own), len(d)))
        A[:, own] = root_of(W[np.ix_(own, own)]).T
        j = w.joint
        span = np.abs(H * self.reach)
        moves = span[:, j].max(axis=1, initial=0.0) > KEPT * max(1.0, float(span.max(initial=0.0)))
        cut = cut & moves
        rows = H[cut]
        if not len(rows):
            return Condition(A, -A @ d)
        compliance = np.einsum(
            "ij,ji->i", rows[:, j], np.linalg.lstsq(W[np.ix_(j, j)], rows[:, j].T, rcond=None)[0]
        )
        scale = np.sqrt(w.cut_weight[cut] / np.maximum(compliance, 1e-300))
        return Condition(
            np.vstack([A, scale[:, None] * rows]), -np.concatenate([A @ d, scale * off[cut]])
        )

    def _declared_change(self, place: ClosurePoint) -> float:
        """Weighted squared change of the declared coordinates."""
        w = self.declared_values
        return _costs(
            self._soft(w, place.M, place.H, place.off, place.d, np.zeros((0, 0))),
            np.zeros(len(place.d)),
        )[0]

    def _metric(self, M: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Matrix of weights of the free coordinates in the iteration.

        Low for undeclared ones, high for elastic ones.
        """
        w = self.declared_values
        root = np.sqrt(w.weight * np.where(w.declared, 1.0, YIELDING))
        heaviest = float((np.diagonal(M) * self.reach**2)[w.joint].max(initial=0.0))
        M = M + np.diag(np.maximum(LIGHTEST * heaviest / self.reach**2 - np.diagonal(M), 0.0))
        W = root[:, None] * M * root
        if free[w.elastic].any():
            e, top = (
                np.flatnonzero(w.elastic),
                float(np.abs(np.diagonal(M)[w.joint]).max(initial=0.0)) or 1.0,
            )
            K = self._strain_metric()
            W[e, :] = W[:, e] = 0.0
            W[np.ix_(e, e)] = K * (
                STIFF * top / (float((np.diagonal(K) * self.reach[e] ** 2).max(initial=0.0)) or 1.0)
            )
        return np.asarray(W)

    def _strain_metric(self) -> np.ndarray:
        """Stiffness matrix of all bodies."""
        tree, k_ff = self.compiled.system.tree, self.compiled.system.bodies.k_ff
        return np.asarray(
            scipy.linalg.block_diag(*(k_ff[i, :nf, :nf] for i, nf in enumerate(tree.nf) if nf))
        )

    def _cut_rates(self, q: np.ndarray, w: DeclaredValues) -> tuple[np.ndarray, np.ndarray]:
        """(H, H s⁰ − v⁰) of the cut joints that take part, scaled by their sizes."""
        H = CutVelocities(self.compiled.system, self.work, [cut.number for cut in w.cuts]).rows(q)
        off = H @ self.s0 - np.concatenate([np.zeros(0), *(cut.velocity for cut in w.cuts)])
        sizes = self._cut_sizes(w)
        return H / sizes[:, None], off / sizes

    def _cut_sizes(self, w: DeclaredValues) -> np.ndarray:
        """Scales of the coordinates of the cut joints with declared values."""
        return np.concatenate(
            [np.zeros(0), *(coordinate_sizes(cut.motions, self.size) for cut in w.cuts)]
        )

    def _place(
        self, d: np.ndarray, last: ClosurePoint | None = None, x: np.ndarray | None = None
    ) -> ClosurePoint:
        """Evaluated position q⁰ ⊕ d, or ``last`` displaced by x."""
        start_from(self.work, self.beta0 if last is None else last.beta)
        q, step = (self.q0, d) if last is None or x is None else (last.q, x)
        moved = q.copy()
        if step.any():
            displaced(self.compiled.system, q, step, moved)
        now = self._terms(moved, np.zeros(len(d)))
        cuts, system = self.declared_values.cuts, self.compiled.system
        H = self.cut_velocities.rows(moved) / self.cut_sizes[:, None]
        off = cut_offsets(system, cuts, self.work.beta) / self.cut_sizes
        d = self._turned(d, moved)
        beta = self.work.beta[: len(self.beta0)].copy()
        return ClosurePoint(
            d, moved, beta, now.M, now.G[self.holonomic], now.g[self.holonomic], H, off
        )

    def _turned(self, d: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Displacement d with the rotation vectors of ball joints from the positions q.

        Rotation steps about different axes do not add up.
        """
        d, tree = d.copy(), self.compiled.system.tree
        for i in self.balls:
            at, motions = int(tree.q_at[i]), self.compiled.topology.tree[i].motions
            change = offset(motions, self.q0[at:], q[at:])
            d[tree.s_at[i] : tree.s_at[i] + len(change)] = change
        return d

    def _directions(self, d: np.ndarray) -> np.ndarray:
        """Matrix B (ns, ns) of ḋ = B s.

        For a ball joint the derivative of its rotation vector by the angular velocity in moved
        axes.
        """
        B, tree = np.eye(len(d)), self.compiled.system.tree
        for i in self.balls:
            at = int(tree.s_at[i])
            for motion in self.compiled.topology.tree[i].motions:
                if motion.nq > motion.nv:
                    turn = slice(at + motion.nv - 3, at + motion.nv)
                    B[turn, turn] = turning(d[turn])
                    if motion.nv == 6:  # steps are in moved axes
                        B[at : at + 3, turn] = skew(d[at : at + 3])
                at += motion.nv
        return B

    def _taken(self, place: ClosurePoint) -> ClosurePoint:
        """Reset the angles of cut joints to those of a point; returns the point."""
        start_from(self.work, place.beta)
        return place

    def _terms(self, q: np.ndarray, s: np.ndarray) -> Terms:
        """Terms at (q, s) with the constraint rows scaled by the sizes."""
        found = terms(self.compiled.system, self.work, self.t, q, s)
        self.compiled.callbacks.raise_error()
        size = self.sizes
        return found._replace(G=found.G / size[:, None], g=found.g / size, gd=found.gd / size)


def _rows(place: ClosurePoint, search: ClosureSearch) -> tuple[np.ndarray, np.ndarray]:
    """(residuals, Jacobian) of the search at a position."""
    return np.concatenate([place.g, place.off[search.held]]), np.vstack(
        [place.G, place.H[search.held]]
    )


def _missing(place: ClosurePoint, search: ClosureSearch) -> float:
    """Largest residual of the search at a position."""
    size = float(np.abs(_rows(place, search)[0]).max(initial=0.0))
    return size if np.isfinite(size) else np.inf


def _solved(conditions: list[Condition], free: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Least-squares solution x of the conditions in the free coordinates."""
    x = np.zeros(len(free))
    x[free] = by_priority(
        [Condition((A * reach)[:, free], b) for A, b in conditions], int(np.count_nonzero(free))
    )
    return x * reach


def _costs(conditions: list[Condition], x: np.ndarray) -> list[float]:
    """Squared residuals |A x − b|² of least-squares conditions."""
    return [float(((A @ x - b) ** 2).sum()) for A, b in conditions]


def _lower(costs: list[float], than: list[float], whole: float) -> bool:
    """True if costs are lexicographically smaller than others.

    whole: cost of a displacement by the size of the model.
    """
    for cost, other in zip(costs, than):
        if abs(cost - other) > 1e-13 * other + KEPT**2 * whole:
            return cost < other
    return False


def turning(turn: np.ndarray) -> np.ndarray:
    """Matrix from angular velocity to the rate of a rotation vector.

    1 + ½ θ̃ + (1 − ½ θ cot ½θ) θ̃²/θ².
    """
    a, S = float(np.linalg.norm(turn)), skew(turn)
    return np.asarray(
        np.eye(3)
        + 0.5 * S
        + (1.0 / 12.0 if a < 1e-4 else (1.0 - 0.5 * a / np.tan(0.5 * a)) / a**2) * S @ S
    )


def _without_rounding(G: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Rows with entries at round-off set to zero, so that no velocity compensates them."""
    size = np.abs(G * reach)
    return np.where(size <= KEPT * np.maximum(1.0, size.max(axis=1, initial=0.0))[:, None], 0.0, G)
