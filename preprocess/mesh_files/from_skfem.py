"""Conversion of meshes of scikit-fem: `from_skfem`."""

from typing import TYPE_CHECKING

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS
from preprocess.inputs.argument_checks import node_indices
from preprocess.inputs.units import mesh_units
from preprocess.mesh.checks import reoriented
from preprocess.mesh.mesh import Mesh
from preprocess.mesh_files.raw_mesh import SOLIDS

if TYPE_CHECKING:
    import skfem


@checked_arguments
def from_skfem(mesh: "skfem.Mesh", *, unit: str = "m") -> Mesh:
    """Solid mesh from a mesh of scikit-fem.

    mesh: a ``MeshTet``, ``MeshTet2``, ``MeshHex``, ``MeshHex2`` or ``MeshWedge1``; its named
    boundaries become node sets, its named subdomains element sets. unit: its length unit, "m",
    "cm", "mm" or "in", or a system of units as in `read_mesh`. Raises InputError for other objects,
    elements and units, and for every defect found by `Mesh.check`.

    Examples
    --------
    >>> import preprocess as pp
    >>> import skfem
    >>> cube = skfem.MeshHex().refined(2).with_boundaries({"left": lambda x: x[0] == 0.0})
    >>> pp.from_skfem(cube)
    <Mesh of scikit-fem: 125 nodes, 64 hex8; sets: left>
    """
    import skfem
    from skfem.io.meshio import TYPE_MESH_MAPPING, to_meshio

    if not isinstance(mesh, skfem.Mesh):
        raise InputError(f"mesh: must be a mesh of scikit-fem, not {type(mesh).__name__}")
    kind = TYPE_MESH_MAPPING.get(type(mesh), type(mesh).__name__)
    if kind not in SOLIDS:
        raise InputError(
            f"mesh: {kind} elements are not supported; remesh with {', '.join(ELEMENTS)}"
        )
    nodes, table = (
        mesh.p.T * mesh_units(unit, "unit:").length,
        to_meshio(mesh, encode_cell_data=False).cells[0].data,
    )
    facets = {
        name: node_indices(rows, f"scikit-fem: boundary {name!r}", mesh.facets.shape[1], "facet")
        for name, rows in (mesh.boundaries or {}).items()
    }
    return Mesh.from_arrays(
        nodes,
        # scikit-fem takes either order
        {SOLIDS[kind]: reoriented(SOLIDS[kind], nodes, np.asarray(table, dtype=np.int64))},
        node_sets={name: mesh.dofs.get_facet_dofs(rows).flatten() for name, rows in facets.items()},
        element_sets={
            name: 1 + np.asarray(cells) for name, cells in (mesh.subdomains or {}).items()
        },
        source="scikit-fem",
    )
