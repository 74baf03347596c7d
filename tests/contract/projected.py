"""The equations projected on the joint velocities without recursion: M̂ = Jᵀ M J, k̂ = Jᵀ(k − M J̇
s), in O(n³).

J maps s to the twists and modal velocities of all bodies. It is formed as a whole and M̂ factored
as a whole: the form against which the recursive formalism is measured. Loops by λ = (G M̂⁻¹ Gᵀ)⁻¹
(γ − G M̂⁻¹ k̂).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs.algebra.blocks import DEPENDENT
from flexmbs.dynamics.articulated import body_matrix
from flexmbs.dynamics.blocks import cut_rows, transmission
from flexmbs.dynamics.equations import body_forces, power_of_drives
from flexmbs.formalisms.formalism import Formalism
from flexmbs.system.compile import Compiled


class ProjectedWorkspace(NamedTuple):
    """Dense matrices of one run."""

    J: np.ndarray  # (nb, 6, ns) twists of the bodies
    M: np.ndarray  # (ns, ns) M̂, then its factor
    T: np.ndarray  # (6, ns)
    Y: np.ndarray  # (nc, ns) G, then G L⁻ᵀ
    S: np.ndarray  # (nc, nc)
    x: np.ndarray  # (ns,)
    y: np.ndarray  # (nc,)


@part
def jacobian(tree, E, X, J):
    """J_i = X_i (J_p, modes of p) + E_i of all bodies; columns of bodies behind i are zero."""
    for i in range(tree.parent.shape[0]):
        p = tree.parent[i]
        at = tree.s_at[i]
        for a in range(6):
            for c in range(J.shape[2]):
                J[i, a, c] = 0.0
            if p >= 0:
                for b in range(6):
                    f = X[i, a, b]
                    for c in range(at):
                        J[i, a, c] += f * J[p, b, c]
                for k in range(tree.nf[p]):
                    J[i, a, tree.sf_at[p] + k] += X[i, a, 6 + k]
            for c in range(tree.nv[i] + tree.nf[i]):
                if tree.plain[i] == 0:
                    J[i, a, at + c] = E[i, a, c]
                elif a == c:
                    J[i, a, at + c] = 1.0


@part
def projected_mass(tree, A, J, T, M):
    """M̂ = Σ_i J_iᵀ 𝓜_i J_i with the modes of each body below its twist (upper triangle)."""
    for a in range(M.shape[0]):
        for b in range(a, M.shape[0]):
            M[a, b] = 0.0
    for i in range(tree.parent.shape[0]):
        o = tree.sf_at[i]
        end = o + tree.nf[i]
        for a in range(6):
            for c in range(end):
                T[a, c] = 0.0
            for b in range(6):
                f = A[i, a, b]
                for c in range(end):
                    T[a, c] += f * J[i, b, c]
            for k in range(tree.nf[i]):
                T[a, o + k] += A[i, a, 6 + k]
        for b in range(6):
            for a in range(end):
                f = J[i, b, a]
                if f != 0.0:
                    for c in range(a, end):
                        M[a, c] += f * T[b, c]
        for k in range(tree.nf[i]):
            for b in range(6):
                f = A[i, b, 6 + k]
                for c in range(o + k, end):
                    M[o + k, c] += f * J[i, b, c]
            for l in range(k, tree.nf[i]):
                M[o + k, o + l] += A[i, 6 + k, 6 + l]


@part
def dense_cholesky(M):
    """M = L Lᵀ in place: Lᵀ above the diagonal, reciprocal pivots on it. Returns the first column
    without pivot or −1.
    """
    n = M.shape[0]
    for j in range(n):
        if not M[j, j] > 0.0:
            return j
        inverse = 1.0 / math.sqrt(M[j, j])
        M[j, j] = inverse
        for c in range(j + 1, n):
            M[j, c] *= inverse
        for r in range(j + 1, n):
            f = M[j, r]
            for c in range(r, n):
                M[r, c] -= f * M[j, c]
    return -1


@part
def forward(M, x):
    """x ← L⁻¹ x"""
    for j in range(M.shape[0]):
        f = x[j] * M[j, j]
        x[j] = f
        for c in range(j + 1, M.shape[0]):
            x[c] -= f * M[j, c]


@part
def backward(M, x):
    """x ← L⁻ᵀ x"""
    for back in range(M.shape[0]):
        r = M.shape[0] - 1 - back
        f = x[r]
        for c in range(r + 1, M.shape[0]):
            f -= M[r, c] * x[c]
        x[r] = f * M[r, r]


@part
def constraint_matrix(system, work, q, G):
    """G of cut joints and drives."""
    tree, cuts, drives = system.tree, system.cuts, system.drives
    for r in range(G.shape[0]):
        for c in range(G.shape[1]):
            G[r, c] = 0.0
    for k in range(cuts.row.shape[0]):
        cut_rows(system, work, k, q)
        for h in range(cuts.path[k], cuts.path_end[k]):
            i = system.paths[h]
            for c in range(tree.s_at[i], tree.s_at[i] + tree.nv[i] + tree.nf[i]):
                for r in range(cuts.rows[k]):
                    G[cuts.row[k] + r, c] = work.rows[r, c]
    for d in range(drives.row.shape[0]):
        i = drives.body[d]
        if i >= 0:
            G[drives.row[d], tree.s_at[i] + drives.v[d]] = 1.0


@part
def factor_schur(Y, S):
    """S = Y Yᵀ = L Lᵀ as `dense_cholesky`; rows that depend on those before get reciprocal pivots
    of 0. Returns their number.
    """
    dropped = 0
    n = Y.shape[0]
    for r in range(n):
        for c in range(r, n):
            S[r, c] = 0.0
            for a in range(Y.shape[1]):
                S[r, c] += Y[r, a] * Y[c, a]
    for j in range(n):
        size = 0.0
        for a in range(Y.shape[1]):
            size += Y[j, a] * Y[j, a]
        if S[j, j] > DEPENDENT * size:
            inverse = 1.0 / math.sqrt(S[j, j])
        else:
            inverse = 0.0
            dropped += 1
        S[j, j] = inverse
        for c in range(j + 1, n):
            S[j, c] *= inverse
        for r in range(j + 1, n):
            for c in range(r, n):
                S[r, c] -= S[j, r] * S[j, c]
    return dropped


@part
def projected_forces(tree, motion, J, r, x):
    """x = k̂ = −Jᵀ W, minus the forces r on the coordinates themselves."""
    for a in range(x.shape[0]):
        x[a] = -r[a]
    for i in range(tree.parent.shape[0]):
        for b in range(6):
            f = motion.wrench[i, b]
            for a in range(tree.sf_at[i] + tree.nf[i]):
                x[a] -= f * J[i, b, a]


@part
def accelerations(system, work, workspace, t, here):
    """ṡ and λ. Returns the number of dependent rows or −1 − body."""
    tree, q, sd, lam = system.tree, here.q, here.sd, here.lam
    x, y, Y, S, M = workspace.x, workspace.y, workspace.Y, workspace.S, workspace.M
    body_forces(system, work, t, q, here.s, here.z)
    transmission(system, work, q)
    jacobian(tree, work.E, work.X, workspace.J)
    for i in range(tree.parent.shape[0]):
        body_matrix(system, work.M, i, work.products[i], (1.0, -1.0), False)
    projected_mass(tree, work.M, workspace.J, workspace.T, M)
    projected_forces(tree, work.motion, workspace.J, work.r, x)
    bad = dense_cholesky(M)
    if bad >= 0:
        i = 0
        while i + 1 < tree.parent.shape[0] and tree.s_at[i + 1] <= bad:
            i += 1
        return -1 - i
    forward(M, x)
    nc = lam.shape[0]
    dropped = 0
    if nc > 0:
        constraint_matrix(system, work, q, Y)
        for r in range(nc):
            forward(M, Y[r])
        dropped = factor_schur(Y, S)
        for r in range(nc):
            y[r] = -work.gs.acceleration[r]
            for a in range(x.shape[0]):
                y[r] -= Y[r, a] * x[a]
        forward(S, y)
        backward(S, y)
        for r in range(nc):
            lam[r] = y[r]
            for a in range(x.shape[0]):
                x[a] += Y[r, a] * y[r]
    backward(M, x)
    for a in range(x.shape[0]):
        sd[a] = x[a]
    power_of_drives(system, work, t, here)
    return dropped


@dataclass(frozen=True)
class Projected(Formalism):
    """Dense projection M̂ = Jᵀ M J without recursion, O(n³): for comparison with `Recursive`."""

    name: ClassVar[str] = "projected"
    coordinates: ClassVar[tuple[str, ...]] = ("joint",)
    accelerations = staticmethod(accelerations)

    def workspace(self, compiled: Compiled) -> ProjectedWorkspace:
        nb, _, ns, nc, _ = (int(n) for n in compiled.system.layout)
        z = np.zeros
        return ProjectedWorkspace(
            z((nb, 6, ns)), z((ns, ns)), z((6, ns)), z((nc, ns)), z((nc, nc)), z(ns), z(nc),
        )  # fmt: skip
