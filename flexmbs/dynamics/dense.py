"""Dense M, G and k of a state, M ṡ = k + Gᵀ λ, G ṡ = γ.

    k = −residual at ṡ = 0, λ = 0,   γ = −(G ṡ − γ) at ṡ = 0,   [[M_rr, M_rf], [M_rfᵀ, M_ff]],   [G_r, G_f].

For diagnosis, for views of the equations, and as a reference for the block-sparse solver.

Theory: docs/theory.md, sections 13, 22, 24 and 31. Shabana, Dynamics of Multibody Systems (2020),
chapter 5, for the partition by reference and elastic coordinates.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import packed
from flexmbs.dynamics.equations import residual
from flexmbs.dynamics.joint_loads import UNKNOWN
from flexmbs.dynamics.kkt import kkt_blocks
from flexmbs.system.records import Evaluation, Loads, System, Work


@called
def dense_constraints(e, values, G):
    """G (nc, ns) ← dense constraint matrix from unfactored blocks."""
    ns = G.shape[1]
    for r in range(G.shape[0]):
        for c in range(ns):
            G[r, c] = 0.0
    for i in range(e.size.shape[0]):
        n, o, sign = e.size[i], e.offset[i], e.sign[i]
        for p in range(e.column[i], e.column[i + 1]):
            j, at = e.neighbour[p], e.place[p]
            m, to = e.size[j], e.offset[j]
            if sign > 0 and e.sign[j] < 0:
                for a in range(n):
                    for c in range(m):
                        G[to + c - ns, o + a] = values[at + a * m + c]
            elif sign < 0 and e.sign[j] > 0:
                for a in range(n):
                    for c in range(m):
                        G[o + a - ns, to + c] = values[at + a * m + c]


@called
def dense_mass(e, values, M):
    """M (ns, ns) ← dense mass matrix from unfactored blocks."""
    for a in range(M.shape[0]):
        for c in range(M.shape[1]):
            M[a, c] = 0.0
    for i in range(e.size.shape[0]):
        if e.sign[i] < 0:
            continue
        n, o, at = e.size[i], e.offset[i], e.diagonal[i]
        for a in range(n):
            for c in range(a, n):
                M[o + a, o + c] = values[at + a * n + c]
                M[o + c, o + a] = values[at + a * n + c]
        for p in range(e.column[i], e.column[i + 1]):
            j, at = e.neighbour[p], e.place[p]
            if e.sign[j] > 0:
                m, to = e.size[j], e.offset[j]
                for a in range(n):
                    for c in range(m):
                        M[o + a, to + c] = values[at + a * m + c]
                        M[to + c, o + a] = values[at + a * m + c]


@packed()
def dense_terms(system, work, t, here, M, G):
    """Entry point of `dense_equations` from Python."""
    dense_equations(system, work, t, here, M, G)


@part
def dense_equations(system, work, t, here, M, G):
    """M (ns, ns) and G (nc, ns), −k into work.r, constraint values for ṡ = 0 into work.gs.

    At q, s and z of the state ``here``. No matrices if M is empty. Theory, section 23.
    """
    residual(
        system, work, t, Evaluation(here.q, here.s, work.zero, work.zero, here.z, work.r), False
    )
    if M.shape[0] == 0:
        return
    kkt_blocks(system, work, here.q, 1.0)
    dense_mass(system.elimination, work.values, M)
    dense_constraints(system.elimination, work.values, G)


class Terms(NamedTuple):
    """M ṡ = k + Gᵀ λ, G ṡ = γ, with g and ġ = G s + γ̄ of a state (theory, sections 13 and 23)."""

    M: np.ndarray  # (ns, ns) symmetric positive definite
    k: np.ndarray  # (ns,) applied, elastic, damping and quadratic velocity forces
    G: np.ndarray  # (nc, ns)
    gamma: np.ndarray  # (nc,)
    g: np.ndarray  # (nc,)
    gd: np.ndarray  # (nc,)


def terms(
    system: System, work: Work, t: float, q: np.ndarray, s: np.ndarray, z: np.ndarray | None = None,
    loads: Loads | None = None, *, matrices: bool = True,
) -> Terms:  # fmt: skip
    """Equations of motion M ṡ = k + Gᵀ λ, G ṡ = γ of a state in dense form.

    t, q, s, and the force states z (nz,), or empty for zeros. loads: those of forces that depend on
    reactions (`flexmbs.dynamics.joint_loads`); none by default. matrices: False for empty M and G,
    in a time proportional to the number of bodies. Theory, section 23.
    """
    if loads is not None:
        work.loads.joint[:, :4], work.loads.read[:, :6] = loads.joint[:, :4], loads.read[:, :6]
    ns, nc, nz = (int(n) for n in system.layout[2:])
    M, G = (np.zeros((ns, ns)), np.zeros((nc, ns))) if matrices else np.zeros((2, 0, 0))
    # kernels do not check indices: an empty z (states start at zero) would be read out of bounds
    states = np.zeros(nz) if z is None or not len(z) else z
    if len(states) != nz:
        raise ValueError(f"z has {len(states)} force states instead of {nz}")
    here = Evaluation(q, s, work.zero, work.zero, states, work.r)
    dense_terms(system, work, t, here, M, G)
    work.loads.joint[:], work.loads.read[:] = 0.0, 0.0
    # reactions are unknown to the next evaluation too, unless it is given them
    work.loads.read[:, 0] = UNKNOWN
    return Terms(
        M, -work.r, G, -work.gs.acceleration, work.gs.position.copy(), work.gs.velocity.copy()
    )


def row_rank(size: np.ndarray) -> int:
    """Numerical rank of G from its singular values, in descending order.

    They are in m or rad per unit of a coordinate. Those above max(1e-10 σ_max, 1e-12) count
    (theory, section 31).
    """
    return int((size > max(1e-10 * float(size.max(initial=0.0)), 1e-12)).sum())


class Partitioned(NamedTuple):
    """M = [[M_rr, M_rf], [M_rfᵀ, M_ff]] and G = [G_r, G_f] of a state.

    Partitioned by reference (r) and elastic (f) velocities. Theory, section 24.
    """

    reference: np.ndarray  # indices of the velocities of joints and bodies in s
    elastic: np.ndarray  # indices of the elastic velocities in s
    M_rr: np.ndarray
    M_rf: np.ndarray
    M_ff: np.ndarray
    G_r: np.ndarray
    G_f: np.ndarray


def elastic_velocities(system: System) -> np.ndarray:
    """Indices of the elastic velocities q̇_f of all bodies in s."""
    return np.concatenate(
        [
            np.zeros(0, np.int64),
            *(np.arange(at, at + nf) for at, nf in zip(system.tree.sf_at, system.tree.nf)),
        ]
    )


def partitioned_terms(
    system: System, work: Work, t: float, q: np.ndarray, s: np.ndarray
) -> Partitioned:
    """Blocks of M and G of a state by reference and elastic coordinates.

    Theory, section 24; Shabana 2020, chapter 5.
    """
    M, _, G, *_ = terms(system, work, t, q, s)
    f = elastic_velocities(system)
    r = np.setdiff1d(np.arange(len(M)), f)
    return Partitioned(r, f, M[np.ix_(r, r)], M[np.ix_(r, f)], M[np.ix_(f, f)], G[:, r], G[:, f])


def multipliers_of_least_norm(G: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """Multipliers λ of least norm with the same constraint forces Gᵀ λ.

    λ ← U_r U_rᵀ λ with the left singular vectors U_r of G. Theory, section 31.
    """
    u, size, _ = np.linalg.svd(G, full_matrices=False)
    u = u[:, : row_rank(size)]
    return np.asarray(u @ (u.T @ lam))
