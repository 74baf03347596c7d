"""Dense M, G and k of a state: for diagnosis, for views, and as the oracle of the block-sparse solver."""

import numpy as np

from flexmbs._jit import kernel
from flexmbs.algebra.blocks import COLUMN, DIAGONAL, NEIGHBOUR, OFFSET, PLACE, SIGN, SIZE
from flexmbs.dynamics.blocks import cut_rows, mass_blocks, transmission
from flexmbs.dynamics.equations import residual
from flexmbs.system.records import CUT_PATH, CUT_PATH_END, CUT_ROW, CUT_ROWS, DRIVE_BODY, DRIVE_ROW, DRIVE_V, S_AT, System, Work


@kernel
def _rows(system, work, q, G):
    """All constraint rows into a zeroed G (nc, ns)."""
    cuts = system.cuts
    tree = system.tree
    e = system.elimination
    for k in range(cuts.shape[0]):
        cut_rows(tree, system.frames, e, cuts, system.paths, work.cut, k, q, work.E, work.X, work.B, work.rows)
        for h in range(cuts[k, CUT_PATH], cuts[k, CUT_PATH_END]):
            i = system.paths[h]
            for c in range(tree[i, S_AT], tree[i, S_AT] + e.node[i, SIZE]):
                for r in range(cuts[k, CUT_ROWS]):
                    G[cuts[k, CUT_ROW] + r, c] = work.rows[r, c]
    for d in range(system.drives.shape[0]):
        i = system.drives[d, DRIVE_BODY]
        if i >= 0:
            G[system.drives[d, DRIVE_ROW], tree[i, S_AT] + system.drives[d, DRIVE_V]] = 1.0


@kernel
def _mass(system, work, q, M):
    """The mass blocks into a zeroed M (ns, ns)."""
    e = system.elimination
    values = work.values
    for a in range(values.shape[0]):
        values[a] = 0.0
    mass_blocks(system.bodies, system.tree, e, q, work.E, work.X, work.M, work.B, work.U, values, 1.0)
    for i in range(system.tree.shape[0]):
        n = e.node[i, SIZE]
        o = e.node[i, OFFSET]
        at = e.node[i, DIAGONAL]
        for a in range(n):
            for c in range(a, n):
                M[o + a, o + c] = values[at + a * n + c]
                M[o + c, o + a] = values[at + a * n + c]
        for p in range(e.node[i, COLUMN], e.node[i + 1, COLUMN]):
            j = e.block[p, NEIGHBOUR]
            if e.node[j, SIGN] > 0:
                m = e.node[j, SIZE]
                to = e.node[j, OFFSET]
                for a in range(n):
                    for c in range(m):
                        M[o + a, to + c] = values[e.block[p, PLACE] + a * m + c]
                        M[to + c, o + a] = M[o + a, to + c]


@kernel
def evaluate(system, work, t, q, s, z, zero, lam0):
    """Kinematics, constraint values and −k of a state with ṡ = 0 and λ = 0; returns −k in work.r."""
    residual(system, work, t, q, s, zero, lam0, z, False, work.r)
    transmission(system.tree, system.frames, work.motion, q, work.E, work.X, work.B)


def mass_matrix(system: System, work: Work, q: np.ndarray, s: np.ndarray, *, t: float = 0.0) -> np.ndarray:
    """M(q), (ns, ns) symmetric positive definite."""
    _evaluate(system, work, t, q, s)
    M = np.zeros((len(s), len(s)))
    _mass(system, work, q, M)
    return M


def constraint_jacobian(system: System, work: Work, q: np.ndarray, s: np.ndarray, *, t: float = 0.0) -> np.ndarray:
    """G(q), (nc, ns), of the velocity constraints G s + γ̄ = 0."""
    _evaluate(system, work, t, q, s)
    G = np.zeros((int(system.layout[3]), len(s)))
    _rows(system, work, q, G)
    return G


def generalized_forces(system: System, work: Work, q: np.ndarray, s: np.ndarray, *, t: float = 0.0, z: np.ndarray | None = None) -> np.ndarray:
    """k(q, s, t), (ns,): applied, elastic, damping and quadratic velocity forces, M ṡ = k + Gᵀλ."""
    _evaluate(system, work, t, q, s, z)
    return -np.asarray(work.r)


def _evaluate(system: System, work: Work, t: float, q: np.ndarray, s: np.ndarray, z: np.ndarray | None = None) -> None:
    states = np.zeros(int(system.layout[4])) if z is None else z
    evaluate(system, work, t, q, s, states, np.zeros(len(s)), np.zeros(int(system.layout[3])))


def multipliers_of_least_norm(G: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """The smallest λ with the same constraint forces Gᵀλ."""
    return np.asarray(np.linalg.lstsq(G.T, G.T @ lam, rcond=1e-10)[0])
