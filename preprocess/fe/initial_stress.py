"""Initial-stress stiffness K0_kl = ∫ Σ_c ∇φ_ck · σ0 · ∇φ_cl dV for many stresses at once.

A stress is the sum Σ_m s_m v_m v_mᵀ over six fixed directions, so that the squares of the shapes'
derivatives along these are the same for all load cases: at each point they are computed once and
contracted with the factors s_m of all cases by one matrix product. Integration points and
incompatible modes are those of K.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from flexmbs._jit import kernel
from flexmbs.flexible_body.components import FloatArray
from preprocess.fe.element_groups import ElementGroup
from preprocess.fe.element_matrices import function_gradients
from preprocess.fe.fe_model import FEModel
from preprocess.fe.material import Material
from preprocess.fe.nodal_stress import displacement_gradients
from preprocess.solve.threads import Threads

PAIRS = ((1, 2), (0, 2), (0, 1))  # of the components yz, xz, xy
# number of entries of the squares computed at once: 8 MB, which stay in the cache of most
# processors
CHUNK = 2**20
# number of blocks of a group's elements, one task per block, enough for the threads of a
# workstation
BLOCKS = 8


def initial_stress_stiffness(
    fe: FEModel, displacements: FloatArray, shapes: FloatArray
) -> FloatArray:
    """Initial-stress stiffness K0 (k, n, n) of the stresses under ``displacements`` (3N, k).

    For ``shapes`` (3N, n), both in mesh axes. Source: Bathe, Finite Element Procedures, section
    6.2.
    """
    n = shapes.shape[1]
    fields = tuple(
        np.ascontiguousarray(fe.displacements(field)) for field in (displacements, shapes)
    )
    lower = np.zeros((displacements.shape[1], n * (n + 1) // 2))
    with Threads() as threads:
        for group in fe.groups:
            edges = np.linspace(0, len(group.connectivity), BLOCKS + 1).astype(int).tolist()
            tasks = (
                (fe.nodes, group, group.connectivity[low:high], fields)
                for low, high in itertools.pairwise(edges)
            )
            for part in threads.parallel_map(_sum_of_elements, tasks):
                lower += part
    K0 = np.empty((len(lower), n, n))
    rows, columns = np.tril_indices(n)
    K0[:, rows, columns] = lower
    K0[:, columns, rows] = lower
    return K0


def _sum_of_elements(
    nodes: FloatArray, group: ElementGroup, elements: Any, fields: tuple[FloatArray, ...]
) -> FloatArray:
    """Lower triangle of K0 (k, n (n+1)/2) of some elements of a group, block by block."""
    displacements, shapes = fields
    cases, n = displacements.shape[2], shapes.shape[2]
    lower = np.zeros((cases, n * (n + 1) // 2))
    rule = group.element.stiffness_tables
    dN, w, dP, dN_0 = rule
    piece = max(1, CHUNK // (6 * len(w) * max(1, lower.shape[1])))
    for first in range(0, len(elements), piece):
        table = elements[first : first + piece]
        x = nodes[table]
        det, g = function_gradients(x, (dN, dP), dN_0)
        h, H = (displacement_gradients(group, x, field[table], g) for field in fields)
        factors = _stress_factors(group.material, h) * (det * w)[:, :, None, None]
        lower += factors.reshape(-1, cases).T @ _squares(H)
    return lower


def _stress_factors(material: Material, h: FloatArray) -> FloatArray:
    """Factors s (ne, nq, 6, k) of σ = Σ_m s_m v_m v_mᵀ, from displacement gradients h.

    The directions v_m are those of `_squares`.
    """
    strain = [h[:, :, 0, 0], h[:, :, 1, 1], h[:, :, 2, 2]] + [
        h[:, :, a, b] + h[:, :, b, a] for a, b in PAIRS
    ]
    s = np.asarray(material.elasticity, dtype=float) @ np.stack(strain, axis=2)
    for m, (a, b) in enumerate(PAIRS):
        s[:, :, a] -= s[:, :, 3 + m]
        s[:, :, b] -= s[:, :, 3 + m]
    return np.asarray(s)


def _squares(H: FloatArray) -> FloatArray:
    """Products Σ_c (v·∇φ_ck) (v·∇φ_cl) (6P, n (n+1)/2) for l ≤ k.

    For the directions v = e_x, e_y, e_z, e_y + e_z, e_x + e_z, e_x + e_y at P points, from
    gradients H (ne, nq, 3, 3 (c), n).
    """
    along = np.stack(
        [*np.moveaxis(H, 2, 0), *(H[:, :, a] + H[:, :, b] for a, b in PAIRS)], axis=2
    ).reshape(-1, 3, H.shape[-1])
    out = np.empty((len(along), H.shape[-1] * (H.shape[-1] + 1) // 2))
    sums_of_squares(along, out)
    return out


@kernel
def sums_of_squares(v: Any, out: Any) -> None:
    """out[p, k (k+1)/2 + l] = Σ_c v[p, c, k] v[p, c, l] for l ≤ k."""
    for p in range(v.shape[0]):
        at = 0
        for k in range(v.shape[2]):
            x, y, z = v[p, 0, k], v[p, 1, k], v[p, 2, k]
            for l in range(k + 1):
                out[p, at + l] = x * v[p, 0, l] + y * v[p, 1, l] + z * v[p, 2, l]
            at += k + 1
