"""Dense M, G and k of a state: for diagnosis, for views, and as the oracle of the block-sparse solver."""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import packed
from flexmbs.algebra.blocks import COLUMN, DIAGONAL, NEIGHBOUR, OFFSET, PLACE, SIGN, SIZE
from flexmbs.dynamics.blocks import cut_rows, mass_blocks, transmission
from flexmbs.dynamics.equations import residual
from flexmbs.system.records import (
    CUT_PATH, CUT_PATH_END, CUT_ROW, CUT_ROWS, DRIVE_BODY, DRIVE_ROW, DRIVE_V, G_ACCELERATION, G_POSITION, G_VELOCITY, NF,
    S_AT, SF_AT, System, Work,
)  # fmt: skip


@called
def dense_constraints(system, work, q, G):
    """All constraint rows into a zeroed G (nc, ns); the transmission of the bodies stands."""
    cuts = system.cuts
    tree = system.tree
    e = system.elimination
    for k in range(cuts.shape[0]):
        cut_rows(tree, work.frames, e, cuts, system.paths, work.cut, k, q, work.E, work.X, work.B, work.rows)
        for h in range(cuts[k, CUT_PATH], cuts[k, CUT_PATH_END]):
            i = system.paths[h]
            for c in range(tree[i, S_AT], tree[i, S_AT] + e.node[i, SIZE]):
                for r in range(cuts[k, CUT_ROWS]):
                    G[cuts[k, CUT_ROW] + r, c] = work.rows[r, c]
    for d in range(system.drives.shape[0]):
        i = system.drives[d, DRIVE_BODY]
        if i >= 0:
            G[system.drives[d, DRIVE_ROW], tree[i, S_AT] + system.drives[d, DRIVE_V]] = 1.0


@called
def dense_mass(system, work, q, M):
    """The mass blocks into a zeroed M (ns, ns); the transmission of the bodies stands."""
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


@packed()
def dense_terms(system, work, t, q, s, z, zero, lam0, M, G):
    """`dense_equations` for Python."""
    dense_equations(system, work, t, q, s, z, zero, lam0, M, G)


@part
def dense_equations(system, work, t, q, s, z, zero, lam0, M, G):
    """M and G into zeroed arrays, −k into work.r, constraint values of ṡ = 0 into work.gs."""
    residual(system, work, t, q, s, zero, lam0, z, False, work.r)
    transmission(system.tree, work.frames, work.motion, q, work.E, work.X, work.B)
    dense_constraints(system, work, q, G)
    dense_mass(system, work, q, M)


class Terms(NamedTuple):
    """M ṡ = k + Gᵀλ, G ṡ = γ, with g and ġ = G s + γ̄ of a state."""

    M: np.ndarray  # (ns, ns) symmetric positive definite
    k: np.ndarray  # (ns,) applied, elastic, damping and quadratic velocity forces
    G: np.ndarray  # (nc, ns)
    gamma: np.ndarray  # (nc,)
    g: np.ndarray  # (nc,)
    gd: np.ndarray  # (nc,)


def terms(system: System, work: Work, t: float, q: np.ndarray, s: np.ndarray, z: np.ndarray | None = None) -> Terms:
    """The equations of motion of a state (t, q, s, force states z) in dense form."""
    ns, nc, nz = (int(n) for n in system.layout[2:])
    M, G = np.zeros((ns, ns)), np.zeros((nc, ns))
    dense_terms(system, work, t, q, s, np.zeros(nz) if z is None else z, np.zeros(ns), np.zeros(nc), M, G)
    return Terms(M, -work.r, G, -work.gs[G_ACCELERATION], work.gs[G_POSITION].copy(), work.gs[G_VELOCITY].copy())


def row_rank(size: np.ndarray) -> int:
    """Number of singular values of G (descending; m or rad per unit of a coordinate) that are not zero up to round-off."""
    return int((size > max(1e-10 * float(size.max(initial=0.0)), 1e-12)).sum())


class Partitioned(NamedTuple):
    """M = [[M_rr, M_rf], [M_rfᵀ, M_ff]] and G = [G_r, G_f] of a state by reference (r) and elastic (f) velocity coordinates."""

    reference: np.ndarray  # places of the velocities of joints and bodies in s
    elastic: np.ndarray  # places of the elastic velocities in s
    M_rr: np.ndarray
    M_rf: np.ndarray
    M_ff: np.ndarray
    G_r: np.ndarray
    G_f: np.ndarray


def elastic_velocities(system: System) -> np.ndarray:
    """Places of the elastic velocity coordinates of all bodies in s."""
    return np.concatenate([np.zeros(0, np.int64), *(np.arange(row[SF_AT], row[SF_AT] + row[NF]) for row in system.tree)])


def partitioned_terms(system: System, work: Work, t: float, q: np.ndarray, s: np.ndarray) -> Partitioned:
    """The blocks of M and G of a state by reference and elastic coordinates (Shabana, Dynamics of Multibody Systems, ch. 5)."""
    M, _, G, *_ = terms(system, work, t, q, s)
    f = elastic_velocities(system)
    r = np.setdiff1d(np.arange(len(M)), f)
    return Partitioned(r, f, M[np.ix_(r, r)], M[np.ix_(r, f)], M[np.ix_(f, f)], G[:, r], G[:, f])


def multipliers_of_least_norm(G: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """The smallest λ with the same constraint forces Gᵀλ: its projection on the range of G."""
    u, size, _ = np.linalg.svd(G, full_matrices=False)
    u = u[:, : row_rank(size)]
    return np.asarray(u @ (u.T @ lam))
