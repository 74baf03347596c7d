"""Element matrices and their assembly into sparse storage.

    K_ab,ik = ∫ N_a,j C_ijkl N_b,l dV = C_ijkl G_ab,jl      with  G_ab,jl = ∫ N_a,j N_b,l dV
    m_ab    = ∫ ρ N_a N_b dV

G is independent of the material and costs nine products per pair of nodes and point; the material enters once per element.
Incompatible modes enter G like nodes and are condensed before assembly.
"""

from typing import Any

import numpy as np

from flexmbs._jit import called, kernel, part
from preprocess.elements.element import Array, Indices


@part
def jacobian(x: Array, dN: Array, q: int, J: Array) -> float:
    """J_ij = Σ_a x_ai ∂N_a/∂ξ_j at point q; returns det J, with the inverse in J."""
    J00 = J01 = J02 = J10 = J11 = J12 = J20 = J21 = J22 = 0.0
    for a in range(x.shape[0]):
        x0, x1, x2 = x[a, 0], x[a, 1], x[a, 2]
        d0, d1, d2 = dN[q, a, 0], dN[q, a, 1], dN[q, a, 2]
        J00 += x0 * d0
        J01 += x0 * d1
        J02 += x0 * d2
        J10 += x1 * d0
        J11 += x1 * d1
        J12 += x1 * d2
        J20 += x2 * d0
        J21 += x2 * d1
        J22 += x2 * d2
    c0, c1, c2 = J11 * J22 - J12 * J21, J12 * J20 - J10 * J22, J10 * J21 - J11 * J20
    det = J00 * c0 + J01 * c1 + J02 * c2
    J[0, 0], J[1, 0], J[2, 0] = c0 / det, c1 / det, c2 / det
    J[0, 1], J[1, 1], J[2, 1] = (J02 * J21 - J01 * J22) / det, (J00 * J22 - J02 * J20) / det, (J01 * J20 - J00 * J21) / det
    J[0, 2], J[1, 2], J[2, 2] = (J01 * J12 - J02 * J11) / det, (J02 * J10 - J00 * J12) / det, (J00 * J11 - J01 * J10) / det
    return det


@part
def function_gradients(x: Array, tables: Any, q: int, centre: Any, J: Array, g: Array) -> float:
    """Gradients g (3, nn + ni) of the shape functions and, behind them, of the incompatible modes at point q; returns det J.

    tables (dN, dP): ∂N/∂ξ and ∂P/∂ξ; centre: det J₀ and J₀⁻¹ there, needed by incompatible modes only: their gradients
    (det J₀ / det J) J₀⁻ᵀ ∂P/∂ξ have zero mean over the element.  J (3, 3): the inverse at q.
    """
    dN, dP = tables
    det_0, J_0 = centre
    nn = dN.shape[1]
    det = jacobian(x, dN, q, J)
    for a in range(nn):
        d0, d1, d2 = dN[q, a, 0], dN[q, a, 1], dN[q, a, 2]
        for j in range(3):
            g[j, a] = d0 * J[0, j] + d1 * J[1, j] + d2 * J[2, j]
    for a in range(dP.shape[1]):
        d0, d1, d2 = dP[q, a, 0], dP[q, a, 1], dP[q, a, 2]
        for j in range(3):
            g[j, nn + a] = det_0 / det * (d0 * J_0[0, j] + d1 * J_0[1, j] + d2 * J_0[2, j])
    return det


@called
def gradient_products(x: Array, rule: Any, work: Any, G: Array) -> None:
    """G (3, 3, n, n): G[j, l, a, b] = Σ_q w_q det J ∂N_a/∂x_j ∂N_b/∂x_l, n = nn + ni functions, the incompatible modes last.

    rule (dN, w, dP, dN_0): gradients of the shape functions, weights, gradients of the incompatible modes, and dN at the centre.
    work: J (3, 3), J_0 (3, 3), g (3, n), f (n).
    """
    dN, w, dP, dN_0 = rule
    ni = dP.shape[1]
    n = dN.shape[1] + ni
    J, J_0, g, f = work
    det_0 = jacobian(x, dN_0, 0, J_0) if ni else 0.0
    for j in range(3):
        for l in range(3):
            for a in range(n):
                for b in range(n):
                    G[j, l, a, b] = 0.0
    for q in range(dN.shape[0]):
        scale = w[q] * function_gradients(x, (dN, dP), q, (det_0, J_0), J, g)
        for j in range(3):
            for a in range(n):
                f[a] = scale * g[j, a]
            for l in range(j, 3):
                for a in range(n):
                    fa = f[a]
                    for b in range(n):
                        G[j, l, a, b] += fa * g[l, b]
    for j in range(1, 3):
        for l in range(j):
            for a in range(n):
                for b in range(n):
                    G[j, l, a, b] = G[l, j, b, a]


@called
def element_stiffness(G: Array, C: Array, Ke: Array) -> None:
    """Ke (3, 3, n, n): Ke[i, k, a, b] = C_ijkl G[j, l, a, b], the zeros of C skipped; the blocks with i ≤ k only."""
    n = G.shape[2]
    for i in range(3):
        for k in range(i, 3):
            for a in range(n):
                for b in range(n):
                    Ke[i, k, a, b] = 0.0
            for j in range(3):
                for l in range(3):
                    c = C[i, j, k, l]
                    if c != 0.0:
                        for a in range(n):
                            for b in range(n):
                                Ke[i, k, a, b] += c * G[j, l, a, b]


@called
def internal_elimination(Ke: Array, nn: int, L: Array, A: Array) -> None:
    """A (3 ni, 3 nn) = L⁻¹ K_pu, so that K_puᵀ K_pp⁻¹ K_pu = AᵀA, with K_pp = L Lᵀ of the functions from index nn in Ke."""
    ni = Ke.shape[2] - nn
    for k in range(3):
        for b in range(ni):
            for i in range(3):
                for a in range(ni):
                    L[3 * a + i, 3 * b + k] = Ke[i, k, nn + a, nn + b] if i <= k else Ke[k, i, nn + b, nn + a]
        for b in range(nn):
            for i in range(3):
                for a in range(ni):
                    A[3 * a + i, 3 * b + k] = Ke[i, k, nn + a, b] if i <= k else Ke[k, i, b, nn + a]
    for r in range(3 * ni):
        for c in range(r + 1):
            rest = L[r, c]
            for s in range(c):
                rest -= L[r, s] * L[c, s]
            L[r, c] = np.sqrt(rest) if r == c else rest / L[c, c]
        for c in range(3 * nn):
            rest = A[r, c]
            for s in range(r):
                rest -= L[r, s] * A[s, c]
            A[r, c] = rest / L[r, r]


@called
def condense(Ke: Array, nn: int, L: Array, A: Array) -> None:
    """Ke[:, :, :nn, :nn] after static condensation of the incompatible modes: K_uu - K_puᵀ K_pp⁻¹ K_pu; the blocks with i ≤ k
    only."""
    internal_elimination(Ke, nn, L, A)
    for i in range(3):
        for k in range(i, 3):
            for a in range(nn):
                for b in range(nn):
                    taken = 0.0
                    for r in range(A.shape[0]):
                        taken += A[r, 3 * a + i] * A[r, 3 * b + k]
                    Ke[i, k, a, b] -= taken


@part
def element_mass(x: Array, rule: Any, rho: float, J: Array, me: Array) -> None:
    """me (nn, nn): Σ_q ρ w_q det J N_a N_b of the rule (N, dN, w); J: workspace."""
    N, dN, w = rule
    n = x.shape[0]
    for a in range(n):
        for b in range(n):
            me[a, b] = 0.0
    for q in range(N.shape[0]):
        scale = rho * jacobian(x, dN, q, J) * w[q]
        for a in range(n):
            fa = scale * N[q, a]
            for b in range(n):
                me[a, b] += fa * N[q, b]


@part
def index_of(columns: Indices, low: int, high: int, column: int) -> int:
    """Index of a column in the sorted range columns[low:high]."""
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def add_elements(nodes: Array, table: Indices, stiffness_rule: Any, mass_rule: Any, material: Any, storage: Any) -> None:
    """Add the elements of one block to the values of K and m.

    stiffness_rule (dN, w, dP, dN_0), mass_rule (N, dN, w): shape tables; material: (C_ijkl, ρ)
    storage (indptr, indices, K, m): sorted pattern of the nodes, and values; row 3a+i of K has three columns for each node
    """
    C, rho = material
    indptr, indices, K, m = storage
    n = table.shape[1]
    ni = stiffness_rule[2].shape[1]
    x = np.empty((n, 3))
    J = np.empty((3, 3))
    work = J, np.empty((3, 3)), np.empty((3, n + ni)), np.empty(n + ni)
    G = np.empty((3, 3, n + ni, n + ni))
    Ke = np.empty((3, 3, n + ni, n + ni))
    L = np.empty((3 * ni, 3 * ni))
    A = np.empty((3 * ni, 3 * n))
    me = np.empty((n, n))
    for e in range(table.shape[0]):
        for a in range(n):
            for i in range(3):
                x[a, i] = nodes[table[e, a], i]
        gradient_products(x, stiffness_rule, work, G)
        element_stiffness(G, C, Ke)
        if ni:
            condense(Ke, n, L, A)
        element_mass(x, mass_rule, rho, J, me)
        for a in range(n):
            low, high = indptr[table[e, a]], indptr[table[e, a] + 1]
            width = 3 * (high - low)
            for b in range(n):
                index = index_of(indices, low, high, table[e, b])
                m[index] += me[a, b]
                entry = 9 * low + 3 * (index - low)
                for i in range(3):
                    for k in range(i, 3):
                        K[entry + i * width + k] += Ke[i, k, a, b]
                    for k in range(i):
                        K[entry + i * width + k] += Ke[k, i, b, a]
