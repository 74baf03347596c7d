"""Initial-stress stiffness K0_kl = ∫ Σ_c ∇φ_ck · σ0 · ∇φ_cl dV of many stresses at once, element by element.

The products of the shape gradients are the same for all load cases: at each point they are computed once and contracted with the
stresses of all cases by one matrix product. Integration points and incompatible modes are those of K.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from flexmbs._jit import called, kernel, part
from flexmbs.flexible_body.parts import FloatArray
from preprocess.fe.element_groups import ElementGroup
from preprocess.fe.kernels import function_gradients, jacobian
from preprocess.fe.material import elasticity_tensor
from preprocess.fe.model import FEModel
from preprocess.fe.nodal_stress import internal_displacements
from preprocess.solve.threads import Threads

Array = Any
CHUNK = 2**21  # entries in one chunk of the products of shapes
BLOCKS = 8  # of the elements of a group, one task per block


def initial_stress_stiffness(fe: FEModel, displacements: FloatArray, shapes: FloatArray) -> FloatArray:
    """K0 (k, n, n) of the stresses under ``displacements`` (3N, k) for ``shapes`` (3N, n), both in mesh axes.

    Source: Bathe, Finite Element Procedures, section 6.2.
    """
    n = shapes.shape[1]
    fields = tuple(np.ascontiguousarray(fe.displacements(field)) for field in (displacements, shapes))
    lower = np.zeros((displacements.shape[1], n * (n + 1) // 2))
    with Threads() as threads:
        for group in fe.groups:
            edges = np.linspace(0, len(group.connectivity), BLOCKS + 1).astype(int).tolist()
            tasks = ((fe.nodes, group, group.connectivity[low:high], fields) for low, high in itertools.pairwise(edges))
            for part in threads.parallel_map(_sum_of_elements, tasks):
                lower += part
    K0 = np.zeros((len(lower), n, n))
    rows, columns = np.tril_indices(n)
    K0[:, rows, columns] = lower
    K0[:, columns, rows] = lower
    return K0


def _sum_of_elements(nodes: FloatArray, group: ElementGroup, elements: Any, fields: tuple[FloatArray, ...]) -> FloatArray:
    """σᵀ B (k, n (n+1)/2) over the points of some elements of a group, piece by piece."""
    n = fields[1].shape[2]
    lower = np.zeros((fields[0].shape[2], n * (n + 1) // 2))
    tables = group.element.stiffness_tables
    C = np.ascontiguousarray(group.material.elasticity, dtype=float)
    material = C, np.ascontiguousarray(elasticity_tensor(C))
    rows = 6 * len(group.element.stiffness_rule.weights)
    piece = max(1, CHUNK // (rows * max(1, lower.shape[1])))
    stress, products = np.empty((rows * piece, len(lower))), np.empty((rows * piece, lower.shape[1]))
    for first in range(0, len(elements), piece):
        table = elements[first : first + piece]
        stress_and_products(nodes, table, tables, material, fields, (stress, products))
        lower += stress[: rows * len(table)].T @ products[: rows * len(table)]
    return lower


@kernel
def stress_and_products(nodes: Array, table: Array, rule: Array, material: Array, fields: Array, out: Array) -> None:
    """Stresses and products of shape gradients at the points of the elements ``table`` (ne, nn), six rows to each point.

    rule (dN, w, dP, dN_0): as of the stiffness; material: C (6, 6) and C_ijkl; fields (u (N, 3, k), phi (N, 3, n))
    out (stress (6P, k), products (6P, n (n+1)/2)): w det J σ_ab, and Σ_c φ_ck,a φ_cl,b, both orders of a ≠ b; xx yy zz yz xz xy.
    """
    dN, w, dP, dN_0 = rule
    C, tensor = material
    u, phi = fields
    stress, products = out
    nn, ni, cases, n = table.shape[1], dP.shape[1], u.shape[2], phi.shape[2]
    x, g, J, J_0 = np.empty((nn, 3)), np.empty((3, nn + ni)), np.empty((3, 3)), np.empty((3, 3))
    d, D = np.empty((nn + ni, 3, cases)), np.empty((nn + ni, 3, n))
    h, H, strain = np.empty((3, 3, cases)), np.empty((3, 3, n)), np.empty((6, cases))
    row = 0
    for e in range(table.shape[0]):
        for a in range(nn):
            for i in range(3):
                x[a, i] = nodes[table[e, a], i]
                for c in range(cases):
                    d[a, i, c] = u[table[e, a], i, c]
                for k in range(n):
                    D[a, i, k] = phi[table[e, a], i, k]
        det_0 = 0.0
        if ni:
            internal_displacements(x, rule, tensor, d)
            internal_displacements(x, rule, tensor, D)
            det_0 = jacobian(x, dN_0, 0, J_0)
        for q in range(dN.shape[0]):
            det = function_gradients(x, (dN, dP), q, (det_0, J_0), J, g)
            field_gradient(d, g, h)
            field_gradient(D, g, H)
            for c in range(cases):
                for i in range(3):
                    strain[i, c] = h[i, i, c]
                strain[3, c] = h[1, 2, c] + h[2, 1, c]
                strain[4, c] = h[0, 2, c] + h[2, 0, c]
                strain[5, c] = h[0, 1, c] + h[1, 0, c]
            for i in range(6):
                for c in range(cases):
                    stress[row + i, c] = 0.0
                for j in range(6):
                    f = det * w[q] * C[i, j]
                    for c in range(cases):
                        stress[row + i, c] += f * strain[j, c]
            for i in range(3):
                gradient_products(H, i, i, 0.5, products[row + i])
            gradient_products(H, 1, 2, 1.0, products[row + 3])
            gradient_products(H, 0, 2, 1.0, products[row + 4])
            gradient_products(H, 0, 1, 1.0, products[row + 5])
            row += 6


@part
def field_gradient(field: Array, g: Array, out: Array) -> None:
    """out (3, 3, k): out[c, i] = Σ_a field[a, c] g[i, a]."""
    for c in range(3):
        for i in range(3):
            for k in range(out.shape[2]):
                out[c, i, k] = 0.0
        for a in range(g.shape[1]):
            g0, g1, g2 = g[0, a], g[1, a], g[2, a]
            for k in range(out.shape[2]):
                f = field[a, c, k]
                out[c, 0, k] += g0 * f
                out[c, 1, k] += g1 * f
                out[c, 2, k] += g2 * f


@called
def gradient_products(H: Array, a: int, b: int, factor: float, out: Array) -> None:
    """out[k (k+1)/2 + l] = factor Σ_c (H[c, a, k] H[c, b, l] + H[c, b, k] H[c, a, l]) for l ≤ k."""
    at = 0
    for k in range(H.shape[2]):
        a0, a1, a2 = factor * H[0, a, k], factor * H[1, a, k], factor * H[2, a, k]
        b0, b1, b2 = factor * H[0, b, k], factor * H[1, b, k], factor * H[2, b, k]
        for l in range(k + 1):
            out[at + l] = (
                a0 * H[0, b, l] + a1 * H[1, b, l] + a2 * H[2, b, l] + b0 * H[0, a, l] + b1 * H[1, a, l] + b2 * H[2, a, l]
            )
        at += k + 1
