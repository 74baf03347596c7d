"""Recursions of `sweeps` called from Python, for one state or many."""

import math
import threading
from typing import Any, NamedTuple

import numpy as np

from flexmbs._jit import as_part
from flexmbs._jit.address import NONE, Entry, Packed, entry
from flexmbs.algebra import vectors
from flexmbs.model.control import sweeps
from flexmbs.model.control.sweeps import WORK_NUMBERS, FlatTree

newton_euler, add_friction = as_part(sweeps.newton_euler), as_part(sweeps.add_friction)
mass_matrix, factor_definite = as_part(sweeps.mass_matrix), as_part(sweeps.factor_definite)
solve_factored = as_part(sweeps.solve_factored)
world_poses, point_jacobian = as_part(sweeps.world_poses), as_part(sweeps.point_jacobian)
load3, load9, mul, add = map(as_part, (vectors.load3, vectors.load9, vectors.mul, vectors.add))
link_motions, subtrees = as_part(sweeps.link_motions), as_part(sweeps.subtrees)

FLOAT = np.dtype(float)
SINGULAR = 1e-14  # smallest pivot relative to its diagonal element, below which D is singular


class TreeStates(NamedTuple):
    """m states of a tree, and what is computed from them."""

    q: np.ndarray  # (m, n)
    qd: np.ndarray  # (m, n) or (0, n)
    qdd: np.ndarray  # (m, n) or (0, n)
    g: np.ndarray  # (3) gravity
    tau: np.ndarray  # (m, n) or (0, n) joint forces
    D: np.ndarray  # (m, n²) or (0, n²) mass matrices
    R: np.ndarray  # (m, 9 n) or (0, 9 n) rotations of the links
    o: np.ndarray  # (m, 3 n) or (0, 3 n) their origins
    J: np.ndarray  # (m, 6 n) or (0, 6 n) Jacobians of a point
    x: np.ndarray  # (3) the point, in axes of its link
    work: np.ndarray  # (27 n)


def tree_states(
    n: int, m: int, *, motions: int = 0, matrices: int = 0, poses: int = 0
) -> TreeStates:
    """Arrays for m states, of which 0 or m motions, mass matrices and poses are computed."""
    q, qd, qdd, tau = np.empty((m, n)), *(np.empty((motions, n)) for _ in range(3))
    D, R, o = np.empty((matrices, n * n)), np.empty((poses, 9 * n)), np.empty((poses, 3 * n))
    J, work = np.empty((poses, 6 * n)), np.empty(WORK_NUMBERS * n)
    return TreeStates(q, qd, qdd, np.empty(3), tau, D, R, o, J, np.empty(3), work)


@entry
def joint_forces(tree, states, /, friction):
    """τ of each state by the recursive Newton–Euler algorithm, with friction unless 0."""
    links = link_motions(states.work, 0, len(tree.parent))
    for i in range(states.q.shape[0]):
        newton_euler(tree, states.q[i], states.qd[i], states.qdd[i], states.g, links, states.tau[i])
        if friction != 0.0:
            add_friction(tree, states.qd[i], states.tau[i])
    return 0


@entry
def accelerations(tree, states, /):
    """q̈ ← D⁻¹ (q̈ − C q̇ − g − friction) of each state, whose q̈ are joint forces before.

    Returns the number of states solved, up to the first singular D.
    """
    links, behind = (
        link_motions(states.work, 0, len(tree.parent)),
        subtrees(states.work, 0, len(tree.parent)),
    )
    for i in range(states.q.shape[0]):
        # zeros in place of accelerations: the poses are not needed here
        rest, tau, qdd = states.R[i], states.tau[i], states.qdd[i]
        for k in range(qdd.shape[0]):
            rest[k] = 0.0
        newton_euler(tree, states.q[i], states.qd[i], rest, states.g, links, tau)
        add_friction(tree, states.qd[i], tau)
        mass_matrix(tree, states.q[i], behind, states.D[i])
        for k in range(qdd.shape[0]):
            qdd[k] -= tau[k]
        if factor_definite(states.D[i], qdd.shape[0]) < SINGULAR:
            return i
        solve_factored(states.D[i], qdd.shape[0], qdd, 0)
    return states.q.shape[0]


@entry
def mass_matrices(tree, states, /):
    """D of each state."""
    links = subtrees(states.work, 0, len(tree.parent))
    for i in range(states.q.shape[0]):
        mass_matrix(tree, states.q[i], links, states.D[i])
    return 0


@entry
def link_poses(tree, states, /):
    """R and o of each state."""
    links = link_motions(states.work, 0, len(tree.parent))
    for i in range(states.q.shape[0]):
        world_poses(tree, states.q[i], links, states.R[i], states.o[i])
    return 0


@entry
def jacobians(tree, states, /, node):
    """J of each state for the point x of a link."""
    links, k = link_motions(states.work, 0, len(tree.parent)), int(node)
    for i in range(states.q.shape[0]):
        R, o = states.R[i], states.o[i]
        world_poses(tree, states.q[i], links, R, o)
        x = (0.0, 0.0, 0.0)
        if k >= 0:
            x = add(load3(o, 3 * k), mul(load9(R, 9 * k), load3(states.x, 0)))
        point_jacobian(tree, R, o, k, x, 6, states.J[i])
    return 0


class _OneState(threading.local):
    """Arrays of one state with bound kernels, for each thread; no allocation per call."""

    def __init__(self, tree: Packed) -> None:
        self.tree = tree
        self.states = tree_states(len(tree.record.parent), 1, motions=1, matrices=1, poses=1)
        self.packed, self._bound = Packed(self.states), {}  # type: ignore[var-annotated]
        self.rows = self.states.q[0], self.states.qd[0], self.states.qdd[0]

    def call(self, kernel: Entry, number: float) -> int:
        """Call a kernel for the state."""
        bound = self._bound.get(kernel)
        if bound is None:
            bound = self._bound[kernel] = kernel.bound(self.tree, self.packed, NONE)
        return bound(number, 0.0, 0.0)  # type: ignore[no-any-return]


class TreeKernels:
    """Joint forces, mass matrices, accelerations and poses of a tree at coordinates q (..., n).

    Arrays of one state are passed to the kernels in arrays of the thread.
    """

    def __init__(self, flat: FlatTree) -> None:
        self.flat, self.n = flat, len(flat.parent)
        self._shape = (self.n,)
        self._tree = Packed(flat)
        self._one = _OneState(self._tree)

    def __reduce__(self) -> Any:
        return TreeKernels, (self.flat,)

    def is_state(self, *given: Any) -> bool:
        """True if all are arrays (n,) of finite floats."""
        for each in given:
            if each.__class__ is not np.ndarray or each.dtype is not FLOAT:
                return False
            if each.shape != self._shape or not math.isfinite(each @ each):
                return False
        return True

    def joint_forces(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, g: np.ndarray, *, friction: bool
    ) -> np.ndarray:
        """Joint forces τ (..., n) of motions under gravity g (3)."""
        states = self._filled(g, q, qd, qdd, motions=True)
        self._run(joint_forces, states, float(friction))
        return states.tau[0].copy() if q.ndim == 1 else states.tau.reshape(q.shape)

    def accelerations(
        self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, g: np.ndarray
    ) -> np.ndarray | None:
        """Accelerations q̈ (..., n) under joint forces, friction, gravity; None if D is singular."""
        states = self._filled(g, q, qd, tau, motions=True, matrices=True, poses=True)
        if self._run(accelerations, states) < len(states.q):
            return None
        return states.qdd[0].copy() if q.ndim == 1 else states.qdd.reshape(q.shape)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Mass matrices (..., n, n)."""
        states = self._filled(None, q, matrices=True)
        self._run(mass_matrices, states)
        D = states.D.reshape(*q.shape, self.n)
        return D.copy() if q.ndim == 1 else D

    def poses(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rotation matrices (..., n, 3, 3) and origins (..., n, 3) of the links in the world."""
        states = self._filled(None, q, poses=True)
        self._run(link_poses, states)
        R, o = states.R.reshape(*q.shape, 3, 3), states.o.reshape(*q.shape, 3)
        return (R.copy(), o.copy()) if q.ndim == 1 else (R, o)

    def jacobian(self, q: np.ndarray, link: int, x: np.ndarray) -> np.ndarray:
        """Jacobian (..., 6, n) of the point x (3) of a link, −1 for the ground."""
        states = self._filled(None, q, poses=True)
        states.x[:] = x
        self._run(jacobians, states, float(link))
        J = states.J.reshape(*q.shape[:-1], 6, self.n)
        return J.copy() if q.ndim == 1 else J

    def _filled(self, g: np.ndarray | None, *given: np.ndarray, **kinds: bool) -> TreeStates:
        """Arrays with q, and q̇ and q̈ if given: those of this thread for one state."""
        shape = given[0].shape
        if len(shape) == 1:
            one = self._one
            states = one.states
            for row, values in zip(one.rows, given):
                row[:] = values
        else:
            m = math.prod(shape[:-1])
            states = tree_states(self.n, m, **{kind: m for kind in kinds})
            for rows, values in zip(states, given):
                rows.reshape(shape)[:] = values
        if g is not None:
            states.g[:] = g
        return states

    def _run(self, kernel: Entry, states: TreeStates, number: float = 0.0) -> int:
        """Call a kernel for states."""
        one = self._one
        if states is one.states:
            return one.call(kernel, number)
        return kernel(self._tree, Packed(states), NONE, number)
