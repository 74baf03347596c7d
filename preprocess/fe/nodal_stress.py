"""Stress at the nodes of a mesh under displacement fields.

In each element the stress C ε(u) is sampled at the superconvergent points and extrapolated to the
nodes (`elements.recovery`); at a node it is the mean over the elements of one material, with equal
weights, as in most finite-element programs. At material boundaries the stress jumps: a node there
has one value for each material. All fields are processed in one pass over the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from flexmbs.flexible_body.components import FloatArray, IntArray
from preprocess.elements.recovery import stress_points
from preprocess.fe.element_groups import ElementGroup
from preprocess.fe.element_matrices import (
    element_stiffness,
    function_gradients,
    internal_displacements,
)
from preprocess.fe.material import Material, elasticity_tensor
from preprocess.fe.plane_states import stress_matrix

CHUNK = 2**21  # number of entries of the displacement gradients computed at once: 16 MB
_ORDER = (0, 1, 2, 5, 3, 4)  # xx, yy, zz, xy, yz, zx of this module in the order of `material`


class StressRows(NamedTuple):
    """One row for each node and material.

    Node indices and material numbers (n,), the row (m, N) of each node, −1 for none, and the m
    materials.
    """

    nodes: IntArray
    material: IntArray
    row_of: IntArray
    materials: tuple[Material, ...]


def stress_rows(groups: Sequence[ElementGroup], chosen: IntArray, n: int) -> StressRows:
    """Numbering of nodal stresses: a row for each chosen node and each material there."""
    materials = tuple({id(group.material): group.material for group in groups}.values())
    row_of = np.full((len(materials), n), -1, dtype=np.int64)
    wanted = np.zeros(n, bool)
    wanted[chosen] = True
    for group in groups:
        used = np.unique(group.connectivity)
        row_of[_place(materials, group), used[wanted[used]]] = 0
    material, nodes = np.nonzero(row_of == 0)
    row_of[material, nodes] = np.arange(len(nodes))
    return StressRows(nodes, material, row_of, materials)


def _place(materials: Sequence[Material], group: ElementGroup) -> int:
    """Index of the material of an element group."""
    return next(k for k, material in enumerate(materials) if material is group.material)


def elasticity(material: Material) -> FloatArray:
    """Elasticity matrix C (6, 6) with σ = C ε in mesh axes, components xx, yy, zz, xy, yz, zx."""
    return np.asarray(stress_matrix(material), dtype=float)[np.ix_(_ORDER, _ORDER)]


def nodal_stress(
    groups: Sequence[ElementGroup], x: FloatArray, u: FloatArray, rows: StressRows
) -> FloatArray:
    """Stress (n, 6, k) at the rows' nodes under k displacement fields u (3N or more, k).

    x (N, 3): the nodes.
    """
    out, count = np.zeros((len(rows.nodes), 6 * u.shape[1])), np.zeros(len(rows.nodes))
    fields = np.ascontiguousarray(u[: 3 * len(x)]).reshape(len(x), 3, -1)
    for group in groups:
        row_of = rows.row_of[_place(rows.materials, group)]
        table = group.connectivity[(row_of[group.connectivity] >= 0).any(axis=1)]
        piece = max(1, CHUNK // (9 * len(group.element.nodes) * max(1, u.shape[1])))
        for first in range(0, len(table), piece):
            some = table[first : first + piece]
            found, values, hits = _mean_shares(group, x[some], fields[some], row_of[some])
            out[found] += values
            count[found] += hits
    return np.asarray(out / np.maximum(count, 1.0)[:, None]).reshape(-1, 6, u.shape[1])


def _mean_shares(
    group: ElementGroup, x: FloatArray, u: FloatArray, rows: IntArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Rows (r,) of some elements, the sum (r, 6 k) of their stresses in each, and their number."""
    E, stress = sampled_stress(group, x, u)
    element, node = np.nonzero(rows >= 0)
    found, place = np.unique(rows[element, node], return_inverse=True)
    points = E.shape[1]
    columns = points * element[:, None] + np.arange(points)
    sums = sp.csr_matrix(
        (E[node].ravel(), (np.repeat(place, points), columns.ravel())),
        shape=(len(found), len(x) * points),
    )
    return (
        found,
        np.asarray(sums @ stress.reshape(len(x) * points, -1)),
        np.bincount(place).astype(float),
    )


def sampled_stress(
    group: ElementGroup, x: FloatArray, u: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Extrapolation E (nn, np) to the nodes, and stress (ne, np, 6, k) at the sampling points.

    For elements with node positions x (ne, nn, 3) and displacements u (ne, nn, 3, k).
    """
    points, E = stress_points(group.element)
    tables = group.element.gradients(points), group.element.internal_gradients(points)
    H = displacement_gradients(
        group, x, u, function_gradients(x, tables, group.element.stiffness_tables[3])[1]
    )
    strain = np.stack(
        [
            H[:, :, 0, 0],
            H[:, :, 1, 1],
            H[:, :, 2, 2],
            H[:, :, 0, 1] + H[:, :, 1, 0],
            H[:, :, 1, 2] + H[:, :, 2, 1],
            H[:, :, 2, 0] + H[:, :, 0, 2],
        ],
        axis=2,
    )
    return E, elasticity(group.material) @ strain


def displacement_gradients(
    group: ElementGroup, x: FloatArray, u: FloatArray, g: FloatArray
) -> FloatArray:
    """Gradients ∂u_c/∂x_i (ne, np, 3 (i), 3 (c), k) of displacements u (ne, nn, 3, k).

    x (ne, nn, 3): node positions; g (ne, np, 3, n): gradients of their functions; incompatible
    modes are eliminated.
    """
    ne, np_, _, n = g.shape
    if n > u.shape[1]:
        C = elasticity_tensor(np.asarray(group.material.elasticity, dtype=float))
        u = internal_displacements(element_stiffness(x, group.element.stiffness_tables, C), u)
    return np.asarray(g.reshape(ne, 3 * np_, n) @ u.reshape(ne, n, -1)).reshape(ne, np_, 3, 3, -1)
