"""Stress at the nodes of a mesh under displacement fields.

In each element the stress C ε(u) is sampled at the superconvergent points and extrapolated to the nodes (`elements.recovery`); at
a node it is the mean over the elements of one material, with equal weights, as in most finite-element programs. At material
boundaries the stress jumps: a node there has one value for each material. All fields are processed in one pass over the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from flexmbs._jit import part, seldom
from flexmbs.flexible_body.parts import FloatArray, IntArray
from preprocess.elements.element import Element
from preprocess.elements.recovery import stress_points
from preprocess.fe.element_groups import ElementGroup
from preprocess.fe.kernels import element_stiffness, function_gradients, gradient_products, internal_elimination, jacobian
from preprocess.fe.material import Material, elasticity_tensor

_ORDER = (0, 1, 2, 5, 3, 4)  # xx, yy, zz, xy, yz, zx of this module in the order of `material`


class StressRows(NamedTuple):
    """One row for each node and material: node indices and material numbers (n,), the row (m, N) of each node, −1 for none, and
    the m materials."""

    nodes: IntArray
    material: IntArray
    row_of: IntArray
    materials: tuple[Material, ...]


def stress_rows(groups: Sequence[ElementGroup], chosen: IntArray, n: int) -> StressRows:
    """Rows for the chosen ones of ``n`` nodes, material by material."""
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
    return next(k for k, material in enumerate(materials) if material is group.material)


def elasticity(material: Material) -> FloatArray:
    """C (6, 6) with σ = C ε in mesh axes, components xx, yy, zz, xy, yz, zx."""
    return np.asarray(material.elasticity, dtype=float)[np.ix_(_ORDER, _ORDER)]


def nodal_stress(groups: Sequence[ElementGroup], x: FloatArray, u: FloatArray, rows: StressRows) -> FloatArray:
    """Stress (n, 6, k) at the rows' nodes under k displacement fields u (3N or more, k) of the nodes x (N, 3)."""
    out, count = np.zeros((len(rows.nodes), 6, u.shape[1])), np.zeros(len(rows.nodes))
    fields = np.ascontiguousarray(u[: 3 * len(x)]).reshape(len(x), 3, -1)
    for group in groups:
        row_of = rows.row_of[_place(rows.materials, group)]
        add_stress(x, group.connectivity, _tables(group.element), _constants(group.material), fields, row_of, out, count)
    return np.asarray(out / np.maximum(count, 1.0)[:, None, None])


def _tables(element: Element) -> tuple[Any, ...]:
    """Data of an element type for `add_stress`: sampling, and the rule of the stiffness for its incompatible modes."""
    points, extrapolation = stress_points(element)
    sampling = element.gradients(points), element.internal_gradients(points), extrapolation
    return tuple(map(np.ascontiguousarray, sampling)), element.stiffness_tables


def _constants(material: Material) -> tuple[FloatArray, FloatArray]:
    """C (6, 6) in the order of components here, and C_ijkl."""
    C = np.asarray(material.elasticity, dtype=float)
    return np.ascontiguousarray(elasticity(material)), np.ascontiguousarray(elasticity_tensor(C))


@seldom
def add_stress(x: Any, table: Any, tables: Any, material: Any, u: Any, row_of: Any, out: Any, count: Any) -> None:
    """Add to out (n, 6, k) the stress C ε(u) of each element at its nodes, and to count (n,) one for each element of a node.

    tables: (∂N/∂ξ, ∂P/∂ξ of incompatible modes, extrapolation to the nodes) at the sampling points, and the stiffness rule;
    material: C (6, 6) and C_ijkl; u (N, 3, k): displacements of the nodes x (N, 3); row_of (N,): rows in out, −1 for none.
    """
    (dN, dP, E), rule = tables
    C, tensor = material
    nn, ni, k = table.shape[1], dP.shape[1], u.shape[2]
    xe, d, J, J_0, g = np.empty((nn, 3)), np.empty((nn + ni, 3, k)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, nn + ni))
    strain, stress = np.empty((6, k)), np.empty((6, k))
    for e in range(table.shape[0]):
        wanted = False
        for a in range(nn):
            row = row_of[table[e, a]]
            if row >= 0:
                wanted = True
                count[row] += 1.0
        if not wanted:
            continue
        for a in range(nn):
            for i in range(3):
                xe[a, i] = x[table[e, a], i]
                for s in range(k):
                    d[a, i, s] = u[table[e, a], i, s]
        det_0 = 0.0
        if ni:
            internal_displacements(xe, rule, tensor, d)
            det_0 = jacobian(xe, rule[3], 0, J_0)
        for p in range(dN.shape[0]):
            function_gradients(xe, (dN, dP), p, (det_0, J_0), J, g)
            for c in range(6):
                for s in range(k):
                    strain[c, s] = 0.0
            for a in range(nn + ni):
                add_strain(d, a, g, strain)
            for c in range(6):
                for s in range(k):
                    stress[c, s] = 0.0
                for i in range(6):
                    if C[c, i] != 0.0:
                        for s in range(k):
                            stress[c, s] += C[c, i] * strain[i, s]
            for a in range(nn):
                row = row_of[table[e, a]]
                if row >= 0:
                    for c in range(6):
                        for s in range(k):
                            out[row, c, s] += E[a, p] * stress[c, s]


@part
def add_strain(d: Any, a: int, g: Any, strain: Any) -> None:
    """strain (6, k) += that of function a with gradient g[:, a] and displacements d[a] (3, k)."""
    gx, gy, gz = g[0, a], g[1, a], g[2, a]
    for k in range(d.shape[2]):
        ux, uy, uz = d[a, 0, k], d[a, 1, k], d[a, 2, k]
        strain[0, k] += ux * gx
        strain[1, k] += uy * gy
        strain[2, k] += uz * gz
        strain[3, k] += ux * gy + uy * gx
        strain[4, k] += uy * gz + uz * gy
        strain[5, k] += uz * gx + ux * gz


@seldom
def internal_displacements(x: Any, rule: Any, tensor: Any, d: Any) -> None:
    """Amplitudes of incompatible modes that follow the nodes, ``α = −K_pp⁻¹ K_pu u``, behind the nodes' in d (nn + ni, 3, k)."""
    nn, n = x.shape[0], d.shape[0]
    rows = 3 * (n - nn)
    G, Ke = np.empty((3, 3, n, n)), np.empty((3, 3, n, n))
    L, A = np.empty((rows, rows)), np.empty((rows, 3 * nn))
    gradient_products(x, rule, (np.empty((3, 3)), np.empty((3, 3)), np.empty((3, n)), np.empty(n)), G)
    element_stiffness(G, tensor, Ke)
    internal_elimination(Ke, nn, L, A)
    for k in range(d.shape[2]):
        for r in range(rows):
            value = 0.0
            for c in range(3 * nn):
                value -= A[r, c] * d[c // 3, c % 3, k]
            d[nn + r // 3, r % 3, k] = value
        for r in range(rows - 1, -1, -1):
            value = d[nn + r // 3, r % 3, k]
            for c in range(r + 1, rows):
                value -= L[c, r] * d[nn + c // 3, c % 3, k]
            d[nn + r // 3, r % 3, k] = value / L[r, r]
