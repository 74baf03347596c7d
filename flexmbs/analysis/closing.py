"""Closing of loops from afar: damped Newton for the least weighted change of all declared joint coordinates, cut joints included.

min ½ dᵀ W d + ½ Σ w_c (β_c − β_c⁰)²  subject to  g(q⁰ ⊕ d, t) = 0 and locked coordinates unchanged, with W = D M D of the mass
matrix and the square roots D of the weights; a cut joint's coordinate counts with its apparent inertia 1/(h M⁻¹ hᵀ), β̇_c = h s.
Each step solves the linearized problem (Nocedal & Wright, Numerical Optimization, 2006, eq. 18.11) and is shortened until the
gaps shrink.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from flexmbs._jit.address import packed
from flexmbs.analysis.arguments import by_joint, names, numbers
from flexmbs.dynamics.dense import Terms, terms
from flexmbs.dynamics.kinematics import displace
from flexmbs.dynamics.work import follow
from flexmbs.errors import InputError
from flexmbs.model.joints import Joint
from flexmbs.model.model import Model
from flexmbs.system.compile import Compiled
from flexmbs.system.records import CUT_BETA, CUT_CLOSED, CUT_POSITIONS, CUT_ROW, ETA, NV, S_AT, Work

STEPS = 80
LARGEST_STEP = 0.7  # rad or m
SHORTEST = 1 / 512  # of a Newton step
NEARLY_CLOSED = 1e-2  # m or rad, of a declared state that is next to the position of least change
CLOSED = 1e-9  # of g, where the refinement of the least change begins
REFINEMENTS = 4
SETTLED = 1e-12  # last step of the refinement
RESTARTS = 12  # until a loop closes; all where coordinates of cut joints choose between positions
FEW = 60  # velocities; with more of them only two restarts
SPREAD = 0.3  # rad or m, of the first restart
AT_REST = 1e-3  # weight of a joint without initial values where a cut joint has some: it yields to those that are declared
STRESSED = 100.0  # weight of cut joints' coordinates in the second trial
Weight = float | Sequence[float]


@dataclass(frozen=True)
class Assemble:
    """How to make initial values consistent.

    locked: joints whose coordinates and velocities are held exactly. weights: resistance of a joint's coordinates against change,
    by joint, one number or one per freedom; 1 where none is given. Raises `InputError` for what cannot be read.
    """

    locked: str | Sequence[str] = ()
    weights: Mapping[str, Weight] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "locked", names(self.locked, "initial.locked"))
        object.__setattr__(self, "weights", by_joint(self.weights, "initial.weights"))
        for name, weight in self.weights.items():
            if not (numbers(weight, np.size(weight), f"initial.weights.{name}") > 0.0).all():
                raise InputError(f"initial.weights.{name}: {weight!r} is not positive; to hold a joint lock it")

    def check(self, model: Model) -> None:
        """Raise `InputError` for joints that the model does not have and for weights that do not fit theirs."""
        for key, given in (("locked", self.locked), ("weights", tuple(self.weights))):
            unknown = [name for name in given if name not in model.joints]
            if unknown:
                raise InputError(*(f"initial.{key}: no joint '{name}'; there are {', '.join(model.joints)}" for name in unknown))
        for name, weight in self.weights.items():
            count, nv = np.size(weight), model.joints[name].nv
            if np.ndim(weight) and count != nv:
                raise InputError(f"initial.weights.{name}: {count} numbers for {nv} freedoms; give one or {nv}")

    def of(self, joint: Joint) -> np.ndarray:
        """(nv,) weights of a joint's freedoms."""
        return np.broadcast_to(np.asarray(self.weights.get(joint.name, 1.0), float), (joint.nv,)).copy()

    @property
    def is_default(self) -> bool:
        return not self.locked and not self.weights


@dataclass(frozen=True)
class CutTarget:
    """Declared coordinates of a cut joint that take part."""

    number: int
    joint: Joint
    weight: np.ndarray
    locked: bool


class Trial(NamedTuple):
    """Where the steps from one start ended: gap left, positions, cut joints' coordinates, change d, its weighted square."""

    gap: float
    q: np.ndarray
    beta: np.ndarray
    d: np.ndarray
    change: float


class Closing:
    """The minimization for one model: declared state, weights, locked coordinates."""

    def __init__(self, compiled: Compiled, work: Work, t: float, q0: np.ndarray, s0: np.ndarray, how: Assemble) -> None:
        self.compiled, self.work, self.t, self.q0, self.s0 = compiled, work, t, q0, s0
        self.beta0 = work.path.beta.copy()
        ns = len(s0)
        self.holonomic = holonomic_rows(compiled)
        self.root, self.free = np.ones(ns), np.ones(ns, bool)
        model, tree = compiled.model, compiled.system.tree
        yielding = AT_REST if any(is_declared(model.joints[name]) for name in compiled.topology.cuts) else 1.0
        for i, primary in enumerate(compiled.topology.tree):
            if primary.joint is None:
                continue
            at = slice(int(tree[i, S_AT]), int(tree[i, S_AT] + tree[i, NV]))
            joint = model.joints[primary.joint]
            self.root[at] = np.sqrt(_in_tree_order(joint, how, primary.reversed))
            if not is_declared(joint) and primary.joint not in how.weights:
                self.root[at] *= np.sqrt(yielding)
            self.free[at] = primary.joint not in how.locked
        self.cuts = [
            CutTarget(k, model.joints[name], how.of(model.joints[name]), name in how.locked)
            for k, name in enumerate(compiled.topology.cuts)
            if name in how.locked or name in how.weights or is_declared(model.joints[name])
        ]

    def positions(self) -> Trial:
        """The positions of least change; where loops do not close, those with the smallest gap found."""
        zero = np.zeros(len(self.s0))
        near = self._is_near()
        found = [self._trial(zero, 1.0)]
        if near and found[0].gap <= CLOSED:
            self._start_at(found[0].beta)
            return found[0]
        wanted = any(not cut.locked for cut in self.cuts)
        if wanted:
            found.append(self._trial(self._trial(zero, STRESSED).d, 1.0))
        rng = np.random.default_rng(0)
        for k in range(RESTARTS if len(zero) <= FEW else 2):
            if not wanted and min(trial.gap for trial in found) <= CLOSED:
                break
            found.append(self._trial((1 + k) * SPREAD * rng.uniform(-1.0, 1.0, len(zero)) * self.free, 1.0))
        closed = [trial for trial in found if trial.gap <= CLOSED]
        best = min(closed, key=lambda trial: trial.change) if closed else min(found, key=lambda trial: trial.gap)
        self._start_at(best.beta)
        return best

    def _is_near(self) -> bool:
        """Whether loops all but close as declared, with the coordinates of cut joints: then no other position changes less."""
        now, off = self._terms(self.q0, np.zeros(len(self.s0))), self._offsets()
        return max(np.abs(now.g).max(initial=0.0), np.abs(off).max(initial=0.0)) <= NEARLY_CLOSED

    def velocities(self, q: np.ndarray) -> np.ndarray:
        """Velocities with G s + γ̄ = 0 of least change from the declared ones."""
        now = self._terms(q, self.s0)
        H, weight, hard = self._cut_rows(q)
        off = H @ self.s0 - np.concatenate([np.zeros(0), *(cut.joint.v0 for cut in self.cuts)])
        return np.asarray(self.s0 + self._step(now.M, now.G, now.gd, H, off, weight, hard, np.zeros(len(self.s0))))

    def _trial(self, d: np.ndarray, stress: float) -> Trial:
        """Steps from q⁰ ⊕ d, with ``stress`` on the coordinates of cut joints."""
        self._start_at(self.beta0)
        q, zero = self._moved(self.q0, d), np.zeros(len(d))
        for _ in range(STEPS):
            now, off = self._terms(q, zero), self._offsets()
            H, weight, hard = self._cut_rows(q)
            gap = self._gap(now.g, off, hard)
            G, g = now.G[self.holonomic], now.g[self.holonomic]
            x = self._step(now.M, G, g, H, off, np.where(hard, weight, stress * weight), hard, d)
            length = float(np.abs(x).max(initial=0.0))
            if not np.isfinite(length) or (gap <= CLOSED and length <= SETTLED):
                break
            part = self._part(q, x, min(1.0, LARGEST_STEP / max(length, 1e-300)), gap, hard)
            if part == 0.0:
                break
            q, d = self._moved(q, part * x), d + part * x
        q, d = self._refined(q, d)
        now, off = self._terms(q, zero), self._offsets()
        _, weight, hard = self._cut_rows(q)
        change = self.root * d
        cost = float(change @ now.M @ change + (weight * off**2)[~hard].sum())
        return Trial(self._gap(now.g, off, hard), q, self.work.path.beta.copy(), d, cost)

    def _refined(self, q: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of a position that is closed but for the curvature of the constraints, the one next to it that is closed."""
        zero = np.zeros(len(d))
        for _ in range(REFINEMENTS):
            now, off = self._terms(q, zero), self._offsets()
            H, weight, hard = self._cut_rows(q)
            if not CLOSED < self._gap(now.g, off, hard) < NEARLY_CLOSED**2:
                break
            G, g = now.G[self.holonomic], now.g[self.holonomic]
            x = self._step(now.M, G, g, H, np.where(hard, off, 0.0), weight, hard, zero)
            q, d = self._moved(q, x), d + x
        return q, d

    def _part(self, q: np.ndarray, x: np.ndarray, part: float, gap: float, hard: np.ndarray) -> float:
        """The part of a step that brings the gap down; 0 where none does. Close to the constraints the whole step will do."""
        beta = self.work.path.beta.copy()
        while part >= SHORTEST:
            left = self._gap(self._terms(self._moved(q, part * x), np.zeros(len(x))).g, self._offsets(), hard)
            self._start_at(beta)
            if left <= (1.0 - 0.2 * part) * gap or left <= CLOSED or (gap <= CLOSED and left <= np.abs(x).max()):
                return part
            part *= 0.5
        return 0.0

    def _step(
        self, M: np.ndarray, G: np.ndarray, g: np.ndarray, H: np.ndarray, off: np.ndarray, weight: np.ndarray, hard: np.ndarray,
        d: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """The next change of the free coordinates: minimum of the linearized problem."""
        W = self.root[:, None] * M * self.root
        soft = H[~hard]
        A = W + soft.T @ (weight[~hard, None] * soft)
        b = -W @ d - soft.T @ (weight * off)[~hard]
        C, c = np.vstack([G, H[hard]]), -np.concatenate([g, off[hard]])
        A, b, C = A[np.ix_(self.free, self.free)], b[self.free], C[:, self.free]
        n, m = C.shape[1], C.shape[0]
        scale = np.sqrt(np.abs(np.diagonal(A)).max(initial=1e-300))
        K = np.block([[A / scale**2, C.T], [C, np.zeros((m, m))]])
        x = np.zeros(len(d))
        x[self.free] = np.linalg.lstsq(K, np.concatenate([b / scale**2, c]), rcond=1e-11)[0][:n]
        return x

    def _terms(self, q: np.ndarray, s: np.ndarray) -> Terms:
        found = terms(self.compiled.system, self.work, self.t, q, s)
        follow(self.work)
        self.compiled.callbacks.raise_error()
        return found

    def _start_at(self, beta: np.ndarray) -> None:
        """Evaluations start from these coordinates of the cut joints."""
        self.work.path.beta[:] = self.work.beta[: len(beta)] = beta

    def _moved(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        moved = q.copy()
        displaced(self.compiled.system.tree, self.compiled.system.joints, q, x, moved)
        return moved

    def _gap(self, g: np.ndarray, off: np.ndarray, hard: np.ndarray) -> float:
        left = np.linalg.norm(np.concatenate([g, off[hard]]))
        return float(left) if np.isfinite(left) else np.inf

    def _offsets(self) -> np.ndarray:
        """β_c − β_c⁰ of the cut joints that take part, at the last evaluation."""
        found = [np.zeros(0)]
        for cut in self.cuts:
            at = int(self.compiled.system.cuts[cut.number, CUT_BETA])
            found.append(_change(cut.joint, self.work.beta[at : at + cut.joint.nq]))
        return np.concatenate(found)

    def _cut_rows(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(H, weights, locked) of the cut joints' coordinates that take part: β̇_c = H s."""
        ns = len(self.s0)
        if not self.cuts:
            return np.zeros((0, ns)), np.zeros(0), np.zeros(0, bool)
        ends = [(cut.number, ETA + cut.joint.nv) for cut in self.cuts]
        H = np.zeros((sum(end - ETA for _, end in ends), ns))
        for i in range(ns):
            M = self._terms(q, np.eye(ns)[i]).M
            H[:, i] = np.concatenate([self.work.cut[k, ETA:end] for k, end in ends])
        compliance = np.einsum("ij,ji->i", H, np.linalg.solve(M, H.T))
        weight = np.concatenate([cut.weight for cut in self.cuts]) / np.maximum(compliance, 1e-300)
        return H, weight, np.concatenate([np.full(cut.joint.nv, cut.locked) for cut in self.cuts])


def holonomic_rows(compiled: Compiled) -> np.ndarray:
    """(nc,) True for the rows that constrain positions, False for those that constrain velocities alone."""
    found = np.ones(compiled.n_constraints, bool)
    for cut in compiled.system.cuts:
        found[cut[CUT_ROW] + cut[CUT_POSITIONS] : cut[CUT_ROW] + cut[CUT_CLOSED]] = False
    return found


@packed()
def displaced(tree, joints, q0, d, q):
    """q = q0 ⊕ d"""
    displace(tree, joints, q0, d, q)


def _in_tree_order(joint: Joint, how: Assemble, is_reversed: bool) -> np.ndarray:
    """Weights of a joint's freedoms in the order of its chain in the tree."""
    ends = np.cumsum([motion.nv for motion in joint.motions])
    blocks = np.split(how.of(joint), ends[:-1]) if len(ends) else []
    return np.concatenate([np.zeros(0), *(reversed(blocks) if is_reversed else blocks)])


def is_declared(joint: Joint) -> bool:
    """True if the initial coordinates are others than those of rest."""
    rest = sum((motion.rest for motion in joint.motions), ())
    return tuple(joint.q0) != rest or any(joint.v0)


def _change(joint: Joint, beta: np.ndarray) -> np.ndarray:
    """(nv,) change of a joint's coordinates from the declared ones; of a rotation the vector 2 q⁰⁻¹q of its quaternions."""
    parts = [np.zeros(0)]
    at = 0
    for motion in joint.motions:
        now, then = beta[at : at + motion.nq], np.asarray(joint.q0[at : at + motion.nq])
        if motion.nq == motion.nv:
            parts.append(now - then)
        else:
            turn = 2.0 * (then[-4] * now[-3:] - now[-4] * then[-3:] - np.cross(then[-3:], now[-3:]))
            turn *= np.sign(now[-4:] @ then[-4:]) or 1.0
            parts += [now[:-4] - then[:-4], turn]
        at += motion.nq
    return np.concatenate(parts)
