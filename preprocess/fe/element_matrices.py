"""Matrices of many elements at once, and their assembly into sparse storage.

    K_ab,ik = ∫ N_a,j C_ijkl N_b,l dV = C_ijkl G_ab,jl      with  G_ab,jl = ∫ N_a,j N_b,l dV
    m_ab    = ∫ ρ N_a N_b dV

G is independent of the material: one small matrix product for each element, after which the
material is one product for all. Incompatible modes enter G like nodes and are condensed before
assembly.
"""

from typing import Any, cast

import numpy as np

from flexmbs._jit import seldom
from preprocess.elements.element import Array, Indices


def jacobians(x: Array, dN: Array) -> tuple[Array, Array]:
    """Determinants det J (ne, nq) and inverse Jacobians ∂ξ_m/∂x_i (nq, ne, 3 (i), 3 (m)).

    J_im = Σ_a x_ai ∂N_a/∂ξ_m. For node positions x (ne, nn, 3) and gradients dN (nq, nn, 3).
    """
    ne, nn, _ = x.shape
    J = x.transpose(2, 0, 1).reshape(3 * ne, nn) @ dN.transpose(1, 2, 0).reshape(nn, -1)
    rows = J.reshape(3, ne, 3, len(dN))
    cofactors = np.stack([np.cross(rows[i - 2], rows[i - 1], axis=1) for i in range(3)])
    det = (rows[0] * cofactors[0]).sum(axis=1)
    return det, (cofactors / det[:, None]).transpose(3, 1, 0, 2)


def function_gradients(x: Array, tables: tuple[Array, Array], dN_0: Array) -> tuple[Array, Array]:
    """Determinants det J (ne, nq), and gradients g (ne, nq, 3, nn + ni).

    The gradients are those of the shape functions, followed by those of the incompatible modes.
    tables (dN, dP): ∂N/∂ξ and ∂P/∂ξ at the points; dN_0: ∂N/∂ξ at the centre, for incompatible
    modes only: their gradients (det J₀ / det J) J₀⁻ᵀ ∂P/∂ξ have zero mean over the element.
    """
    (dN, dP), ne = tables, len(x)
    nq, nn, _ = dN.shape
    det, inverse = jacobians(x, dN)
    g = np.empty((ne, nq, 3, nn + dP.shape[1]))
    g[..., :nn] = (
        (inverse.reshape(nq, 3 * ne, 3) @ dN.transpose(0, 2, 1))
        .reshape(nq, ne, 3, nn)
        .transpose(1, 0, 2, 3)
    )
    if dP.shape[1]:
        det_0, inverse_0 = jacobians(x, dN_0)
        at_centre = (inverse_0.reshape(3 * ne, 3) @ dP.transpose(0, 2, 1)).reshape(nq, ne, 3, -1)
        g[..., nn:] = (det_0 / det)[:, :, None, None] * at_centre.transpose(1, 0, 2, 3)
    return det, g


def element_stiffness(x: Array, rule: tuple[Array, Array, Array, Array], C: Array) -> Array:
    """Stiffness K (ne, n, n, 3, 3), [a, b, i, k], of elements with node positions x (ne, nn, 3).

    n = nn + ni functions, the incompatible modes last; rule (dN, w, dP, dN_0); C_ijkl (3, 3, 3, 3).
    """
    dN, w, dP, dN_0 = rule
    det, g = function_gradients(x, (dN, dP), dN_0)
    ne, nq, _, n = g.shape
    flat = g.reshape(ne, nq, 3 * n)
    G = flat.transpose(0, 2, 1) @ ((det * w)[:, :, None] * flat)
    pairs = G.reshape(ne, 3, n, 3, n).transpose(0, 2, 4, 1, 3).reshape(-1, 9)
    return cast(Array, (pairs @ C.transpose(1, 3, 0, 2).reshape(9, 9)).reshape(ne, n, n, 3, 3))


def internal_response(K: Array, nn: int) -> tuple[Array, Array]:
    """Matrices K_pu (ne, 3 ni, 3 nn), and K_pp⁻¹ K_pu, from K (ne, n, n, 3, 3).

    The second gives the amplitudes of the incompatible modes from the nodal displacements.
    """
    ne, n = K.shape[:2]
    square = K.transpose(0, 1, 3, 2, 4).reshape(ne, 3 * n, 3 * n)
    K_pu = square[:, 3 * nn :, : 3 * nn]
    return K_pu, cast(Array, np.linalg.solve(square[:, 3 * nn :, 3 * nn :], K_pu))


def condensed(K: Array, nn: int) -> Array:
    """Stiffness K (ne, nn, nn, 3, 3) after static condensation of the incompatible modes.

    K_uu - K_puᵀ K_pp⁻¹ K_pu.
    """
    ne, n = K.shape[:2]
    if n == nn:
        return K
    K_pu, response = internal_response(K, nn)
    taken = (K_pu.transpose(0, 2, 1) @ response).reshape(ne, nn, 3, nn, 3).transpose(0, 1, 3, 2, 4)
    return cast(Array, K[:, :nn, :nn] - taken)


def internal_displacements(K: Array, u: Array) -> Array:
    """Displacements u (ne, nn, 3, k), followed by the amplitudes α of the incompatible modes.

    They are statically condensed: ``α = −K_pp⁻¹ K_pu u``.
    """
    ne, nn, _, k = u.shape
    _, response = internal_response(K, nn)
    follow = response @ u.reshape(ne, 3 * nn, k)
    return np.concatenate([u, -follow.reshape(ne, -1, 3, k)], axis=1)


def element_mass(x: Array, rule: tuple[Array, Array, Array], rho: float) -> Array:
    """Mass m (ne, nn, nn): Σ_q ρ w_q det J N_a N_b of the rule (N, dN, w)."""
    N, dN, w = rule
    det, _ = jacobians(x, dN)
    products = N[:, :, None] * N[:, None, :]
    return cast(Array, (rho * det * w) @ products.reshape(len(w), -1)).reshape(
        len(x), N.shape[1], -1
    )


@seldom
def add_elements(table: Indices, element_matrices: Any, storage: Any) -> None:
    """Add element matrices to the values of K and m.

    table (ne, nn): nodes; element_matrices: K (ne, nn, nn, 3, 3) and m (ne, nn, nn), of which the
    blocks with a ≤ b are used; storage (indptr, indices, K, m): sorted pattern of the nodes, and
    values; row 3a+i of K has three columns for each node.
    """
    Ke, me = element_matrices
    indptr, indices, K, m = storage
    n = table.shape[1]
    for e in range(table.shape[0]):
        for a in range(n):
            for b in range(a, n):
                for turned in range(1 if a == b else 2):
                    row, column = (
                        (table[e, b], table[e, a]) if turned else (table[e, a], table[e, b])
                    )
                    first = low = indptr[row]
                    end = high = indptr[row + 1]
                    while low < high:
                        middle = (low + high) >> 1
                        if indices[middle] < column:
                            low = middle + 1
                        else:
                            high = middle
                    m[low] += me[e, a, b]
                    width = 3 * (end - first)
                    entry = 9 * first + 3 * (low - first)
                    for i in range(3):
                        for k in range(3):
                            r, c = (k, i) if turned or (a == b and i > k) else (i, k)
                            K[entry + i * width + k] += Ke[e, a, b, r, c]
