"""Geometric stiffness: what the stress of a load adds to the stiffness, projected on the shapes of a reduced body.

A load case with the stress σ0 does work on the second-order strain ½ ∇uᵀ∇u,

    K0_kl = ∫ Σ_c ∇φ_ck · σ0 · ∇φ_cl dV,     u = Σ_k φ_k q_k   (components c = x, y, z)

at the quadrature points of the stiffness. By virtual work −½ qᵀ K0 q is the second-order displacement conjugate to the load,
the shortening of a bent beam for the force along it.

A rigid interface that turns by θ = ψ q moves its nodes by θ × r + ½ θ × (θ × r); the second part is not among the linear shapes
and does the work ½ θᵀ W θ with the forces p between interface and body, W = ½ Σ (r pᵀ + p rᵀ) − Σ (r·p) 1. With it K0 + ψᵀ W ψ
belongs to a face that turns without stretching. For an averaged interface the same term, with its weights for p, makes the frame
turn with its nodes to second order.
Source: Wallrapp and Schwertassek, Archive of Applied Mechanics 61 (1991) 428; Bathe, Finite Element Procedures, section 6.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs._jit import kernel
from flexmbs.flexible_body import FloatArray, GeometricStiffness
from preprocess.elements.kernels import jacobian
from preprocess.fe_model import FEModel
from preprocess.interfaces import BoundInterface
from preprocess.reduction.statics import InterfaceStatics
from preprocess.regions import ElementGroup
from preprocess.unit_loads import INERTIAL, UnitLoads

Array = Any
CHUNK = 2**22  # numbers in one piece of the products of shapes


@kernel
def prestress_terms(nodes: Array, table: Array, rule: Any, C: Array, fields: Any, out: Any) -> None:
    """Stresses and products of shape gradients at the points of the elements ``table`` (ne, nn), six rows to each point.

    rule (dN, w): shape table; C (6, 6); fields (u (N, 3, k), phi (N, 3, n)): displacements of the load cases, shapes
    out (stress (6P, k), products (6P, n (n+1)/2)): w det J σ_ab, and Σ_c φ_ck,a φ_cl,b, both orders of a ≠ b; xx yy zz yz xz xy.
    """
    dN, w = rule
    u, phi = fields
    stress, products = out
    nn, cases, n = table.shape[1], u.shape[2], phi.shape[2]
    x, g, J = np.empty((nn, 3)), np.empty((nn, 3)), np.empty((3, 3))
    h, H, strain = np.empty((3, 3, cases)), np.empty((3, 3, n)), np.empty((6, cases))
    row = 0
    for e in range(table.shape[0]):
        for a in range(nn):
            for i in range(3):
                x[a, i] = nodes[table[e, a], i]
        for q in range(dN.shape[0]):
            scale = jacobian(x, dN, q, J) * w[q]
            for a in range(nn):
                for i in range(3):
                    g[a, i] = dN[q, a, 0] * J[0, i] + dN[q, a, 1] * J[1, i] + dN[q, a, 2] * J[2, i]
            field_gradient(u, table, e, g, h)
            field_gradient(phi, table, e, g, H)
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
                    f = scale * C[i, j]
                    for c in range(cases):
                        stress[row + i, c] += f * strain[j, c]
            for i in range(3):
                gradient_products(H, i, i, 0.5, products[row + i])
            gradient_products(H, 1, 2, 1.0, products[row + 3])
            gradient_products(H, 0, 2, 1.0, products[row + 4])
            gradient_products(H, 0, 1, 1.0, products[row + 5])
            row += 6


@kernel
def field_gradient(field: Array, table: Array, e: int, g: Array, out: Array) -> None:
    """out (3, 3, k): out[c, i] = Σ_a field[a, c] ∂N_a/∂x_i in element e."""
    for c in range(3):
        for i in range(3):
            for k in range(out.shape[2]):
                out[c, i, k] = 0.0
        for a in range(g.shape[0]):
            node = table[e, a]
            g0, g1, g2 = g[a, 0], g[a, 1], g[a, 2]
            for k in range(out.shape[2]):
                f = field[node, c, k]
                out[c, 0, k] += g0 * f
                out[c, 1, k] += g1 * f
                out[c, 2, k] += g2 * f


@kernel
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


def initial_stress_stiffness(fe: FEModel, displacements: FloatArray, shapes: FloatArray) -> FloatArray:
    """K0 (k, n, n) of the stresses under ``displacements`` (3N, k) for ``shapes`` (3N, n), by ∫ Σ_c ∇φ_ck · σ0 · ∇φ_cl dV."""
    n = shapes.shape[1]
    fields = tuple(np.ascontiguousarray(field).reshape(len(fe.nodes), 3, -1) for field in (displacements, shapes))
    lower = np.zeros((displacements.shape[1], n * (n + 1) // 2))
    for group in fe.groups:
        _add_group(fe.nodes, group, fields, lower)
    K0 = np.zeros((len(lower), n, n))
    rows, columns = np.tril_indices(n)
    K0[:, rows, columns] = lower
    K0[:, columns, rows] = lower
    return K0


def _add_group(nodes: FloatArray, group: ElementGroup, fields: tuple[FloatArray, ...], lower: FloatArray) -> None:
    """lower += σᵀ B over the points of the elements of one group, piece by piece."""
    rule = group.element.stiffness_rule
    tables = np.ascontiguousarray(group.element.gradients(rule.points)), rule.weights
    C = np.ascontiguousarray(group.material.elasticity, dtype=float)
    rows = 6 * len(rule.weights)
    piece = max(1, CHUNK // (rows * max(1, lower.shape[1])))
    stress, products = np.empty((rows * piece, len(lower))), np.empty((rows * piece, lower.shape[1]))
    for first in range(0, len(group.connectivity), piece):
        table = group.connectivity[first : first + piece]
        prestress_terms(nodes, table, tables, C, fields, (stress, products))
        lower += stress[: rows * len(table)].T @ products[: rows * len(table)]


def geometric_stiffness(statics: InterfaceStatics, cases: UnitLoads, shapes: FloatArray, turns: FloatArray) -> FloatArray:
    """K0 + ψᵀ W ψ (k, n, n) of all unit loads for ``shapes`` (3N, n); ``turns`` (interfaces, 3, n): ψ in mesh axes."""
    K0 = initial_stress_stiffness(statics.fe, cases.displacements, shapes)
    forces = _forces_between(statics, cases)
    loaded = np.abs(cases.displacements).max(axis=0) > 0.0  # else the reference condition takes up the load
    for interface, psi, p in zip(statics.interfaces, turns, forces):
        W = _turning_work(interface, p) * loaded[:, None, None]
        K0 += psi.T @ W @ psi
    return K0


def _forces_between(statics: InterfaceStatics, cases: UnitLoads) -> list[FloatArray]:
    """Forces p (n, 3, k) on the nodes of each interface: K u less the inertia forces where it drives them, its weights else."""
    left = statics.fe.K @ cases.displacements
    left[:, :INERTIAL] -= cases.loads[:, :INERTIAL]
    if cases.balance is not None:
        left -= cases.balance
    found = []
    for j, interface in enumerate(statics.interfaces):
        own = np.zeros_like(left)
        own[:, INERTIAL + 6 * j :][:, :6] = cases.loads[:, INERTIAL + 6 * j :][:, :6]
        p = left if interface.drives_nodes else own
        found.append(p.reshape(-1, 3, p.shape[1])[interface.nodes])
    return found


def _turning_work(interface: BoundInterface, p: FloatArray) -> FloatArray:
    """W (k, 3, 3) = ½ Σ (r pᵀ + p rᵀ) − Σ (r·p) 1 over the nodes of an interface, p (n, 3, k)."""
    r = interface.rigid_motion[:, :, 3:]  # columns e × r
    arm = np.stack([r[:, 1, 2], r[:, 2, 0], r[:, 0, 1]], axis=1)
    W = np.einsum("na,nbk->kab", arm, p)
    W = 0.5 * (W + W.transpose(0, 2, 1))
    return np.asarray(W - np.trace(W, axis1=1, axis2=2)[:, None, None] * np.eye(3))


def reduced_geometric_stiffness(
    statics: InterfaceStatics, cases: UnitLoads, shapes: FloatArray, motion: FloatArray
) -> GeometricStiffness:
    """Geometric stiffness of all unit loads on the modes (3N, nf) of a reduced body, with the ``motion`` (interfaces, 6, nf) of
    its interfaces; both in mesh axes."""
    K0 = geometric_stiffness(statics, cases, shapes, motion[:, 3:])
    frames = {each.name: K0[INERTIAL + 6 * j :][:6] for j, each in enumerate(statics.interfaces)}
    return GeometricStiffness(K0[:3], K0[3:6], K0[6:INERTIAL], frames)
