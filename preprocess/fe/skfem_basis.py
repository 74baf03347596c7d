"""Nodes of a vector basis of scikit-fem: triples of degrees of freedom at one point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.inputs.argument_checks import node_indices
from preprocess.mesh.checks import reoriented
from preprocess.mesh.faces import surface_triangles

if TYPE_CHECKING:
    import skfem

Indices = NDArray[np.int64]


def basis_nodes(basis: skfem.Basis) -> Indices:
    """Degrees of freedom (N, 3) of the displacements x, y, z at each node.

    The nodes are the vertices, then those of edges, faces and interiors.

    Raises InputError unless the basis is that of an ``ElementVector`` of a Lagrange element in
    space, its boundaries of facets.
    """
    import skfem

    if not isinstance(basis, skfem.Basis):
        raise InputError(f"basis: must be a Basis of scikit-fem, not {type(basis).__name__}")
    if not isinstance(basis.elem, skfem.ElementVector) or basis.mesh.dim() != 3:
        raise InputError(
            f"basis: has {type(basis.elem).__name__} elements in {basis.mesh.dim()} "
            "dimensions; give displacements in space, "
            "skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetP2()))"
        )
    tables = (basis.nodal_dofs, basis.edge_dofs, basis.facet_dofs, basis.interior_dofs)
    triples = np.concatenate(
        [
            table.reshape(len(table) // 3, 3, table.shape[1]).transpose(0, 2, 1).reshape(-1, 3)
            for table in tables
        ]
    )
    places = basis.doflocs.T[triples]
    if not (places == places[:, :1]).all() or len(triples) * 3 != basis.N:
        raise InputError(
            f"basis: {type(basis.elem.elem).__name__} has degrees of freedom that are no "
            "displacements of a node"
        )
    for name, facets in (basis.mesh.boundaries or {}).items():
        node_indices(facets, f"scikit-fem: boundary {name!r}", basis.mesh.facets.shape[1], "facet")
    return np.asarray(triples, dtype=np.int64)


def outer_triangles(basis: skfem.Basis) -> Indices:
    """Outer faces between vertices as triangles (T, 3), counter-clockwise seen from outside."""
    import skfem
    from skfem.io.meshio import HEX_MAPPING

    vertices = np.asarray(basis.mesh.t, dtype=np.int64)
    kinds = {skfem.MeshTet1: "tet4", skfem.MeshHex1: "hex8", skfem.MeshWedge1: "wedge6"}
    kind = next(kind for made, kind in kinds.items() if isinstance(basis.mesh, made))
    table = (vertices[HEX_MAPPING[:8]] if kind == "hex8" else vertices).T
    return surface_triangles({kind: reoriented(kind, basis.mesh.p.T, table)})
