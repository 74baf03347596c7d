"""Stiffness and mass of a meshed solid."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from preprocess.elements import ELEMENTS, Quadrature
from preprocess.elements.element import Element
from preprocess.elements.kernels import add_elements
from preprocess.elements.pattern import block_columns, elements_of_nodes, neighbour_counts, neighbours
from preprocess.fe_model import FEModel
from preprocess.material import Material, elasticity_tensor
from preprocess.memory import check_memory
from preprocess.mesh import ElementBlock, Mesh

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

__all__ = ["FEModel", "assemble", "node_pattern"]


def assemble(mesh: Mesh, material: Material, *, lumped: bool = False, allow_large: bool = False) -> FEModel:
    """K_ab = ∫ B_aᵀ C B_b dV and m_ab = ∫ ρ N_a N_b dV of a mesh of one material.

    lumped: diagonal m, each element's consistent diagonal scaled to its mass (Hinton, Rock, Zienkiewicz 1976), always positive.
    Raises InputError when the estimated memory of assembly and factorization exceeds what is free, unless allow_large.
    """
    if not allow_large:
        check_memory(len(mesh.nodes), mesh.source)
    indptr, indices = node_pattern(mesh)
    C = np.ascontiguousarray(elasticity_tensor(np.asarray(material.elasticity, dtype=float)))
    K_values, m_values = np.zeros(9 * len(indices)), np.zeros(len(indices))
    for name, block in mesh.blocks.items():
        element = ELEMENTS[name]
        stiffness_rule, mass_rule = _tables(element, element.stiffness_rule)[1:], _tables(element, element.mass_rule)
        storage = indptr, indices, K_values, m_values
        add_elements(mesh.nodes, block.connectivity, stiffness_rule, mass_rule, (C, float(material.rho)), storage)
    n = len(mesh.nodes)
    width = np.int32 if 9 * len(indices) < 2**31 else np.int64
    rows: Any = np.empty(3 * n + 1, width)
    columns: Any = np.empty(9 * len(indices), width)
    block_columns(indptr, indices, rows, columns)
    return FEModel(
        K=_sorted_csr(K_values, columns, rows),
        m=_lumped_mass(mesh, material.rho) if lumped else _sorted_csr(m_values, indices, indptr.astype(width)),
        nodes=mesh.nodes,
        node_ids=mesh.node_ids,
        node_sets=mesh.node_sets,
        triangles=mesh.surface_triangles(),
        source=mesh.source,
        unit=mesh.unit,
        elements=", ".join(f"{len(block.ids)} {name}" for name, block in mesh.blocks.items()),
        material=repr(material),
    )


def node_pattern(mesh: Mesh) -> tuple[Indices, Indices]:
    """(indptr, indices) of the nodes that share an element, sorted."""
    tables = [block.connectivity for block in mesh.blocks.values()]
    sizes = np.concatenate([np.full(len(table), table.shape[1]) for table in tables])
    start = np.concatenate([[0], np.cumsum(sizes)])
    members = np.concatenate([table.ravel() for table in tables])
    owners, elements = elements_of_nodes(start, members, len(mesh.nodes))
    indptr = neighbour_counts(start, members, owners, elements)
    return indptr, neighbours(start, members, owners, elements, indptr)


def _tables(element: Element, rule: Quadrature) -> tuple[Array, Array, Array]:
    """(N, dN/dξ, w) at the points of a rule."""
    values, gradients = element.shape_functions(rule.points), element.gradients(rule.points)
    return np.ascontiguousarray(values), np.ascontiguousarray(gradients), rule.weights


def _sorted_csr(values: Array, columns: Any, rows: Any) -> sp.csr_matrix:
    n = len(rows) - 1
    matrix = sp.csr_matrix((values, columns, rows), shape=(n, n), copy=False)
    matrix.has_sorted_indices = True
    return matrix


def _lumped_mass(mesh: Mesh, rho: float) -> sp.csr_matrix:
    """Diagonal m: in each element m_a = M_e ∫N_a² / Σ_b ∫N_b²."""
    n = len(mesh.nodes)
    diagonal = np.zeros(n)
    for name, block in mesh.blocks.items():
        masses = _element_diagonals(mesh, name, block, rho)
        diagonal += np.bincount(block.connectivity.ravel(), masses.ravel(), minlength=n)
    return sp.diags(diagonal, format="csr")


def _element_diagonals(mesh: Mesh, name: str, block: ElementBlock, rho: float) -> Array:
    """Lumped masses (ne, nn) of each element."""
    element, rule = ELEMENTS[name], ELEMENTS[name].mass_rule
    weights = rho * rule.weights * element.jacobian_determinants(mesh.nodes[block.connectivity], rule.points)
    squares = weights @ element.shape_functions(rule.points) ** 2
    return squares * (weights.sum(axis=1) / squares.sum(axis=1))[:, None]
