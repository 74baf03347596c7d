"""Meshes of CAD models: `mesh_cad`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError, warn_caller
from flexmbs.files.paths import file_path
from preprocess.cad.faces import CadFace, CadSets, Face
from preprocess.cad.netgen import NetgenMesh, Request, run_netgen
from preprocess.cad.surfaces import Surface, fitted_surface
from preprocess.elements import ELEMENTS
from preprocess.inputs.argument_checks import checked_arguments, instance, positive
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.mesh import ElementBlock, Mesh

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))  # of a tetrahedron in VTK order
# rounds of straightening: each may invert neighbours, straight elements are never inverted
ROUNDS = 10
# of the largest Jacobian determinant of an element: curved elements below have large errors
WORST = 0.05


@checked_arguments
def mesh_cad(
    path: str | Path,
    *,
    size: float | None = None,
    sizes: Mapping[Face | int, float] | None = None,
    order: int = 2,
    curvature: float = 2.0,
    grading: float = 0.3,
    solid: int | str | None = None,
) -> Mesh:
    """Mesh of a STEP, IGES or BREP file by curved ten-node tetrahedra, or by four-node ones.

    size: largest elements [m]; by default a twentieth of the part's diagonal. sizes: of elements on
    faces, by descriptions (`face`) or numbers. order: 2 for ten nodes, 1 for four. curvature:
    elements per radius of curvature, at least. grading: growth of elements, 0 (slow) … 1. solid:
    number or name of the solid of a file with several, or "all": touching ones share nodes, and
    are element sets. Lengths of STEP and IGES files have units; those of BREP files are mm.

    The faces are node sets "face 1", …, and sets by their names in the file; `face` describes them.
    Elements that their curved sides would invert are straightened, with a warning. Netgen makes
    the mesh in a process of its own: ``pip install "flexmbs[cad]"``. Raises InputError for a file
    that cannot be read or meshed, MachineError without Netgen. Source: Schöberl, Computing and
    Visualization in Science 1 (1997) 41.

    Examples
    --------
    >>> import preprocess as pp
    >>> from netgen.occ import Box, Pnt
    >>> Box(Pnt(0, 0, 0), Pnt(100, 20, 10)).WriteStep("bar.step")  # mm
    >>> mesh = pp.mesh_cad("bar.step", size=8e-3)
    >>> tip = pp.face(plane=True, normal=(1, 0, 0)).rows(mesh.nodes, mesh.node_sets)
    >>> round(mesh.nodes[tip, 0].min().item(), 9)
    0.1
    """
    file = file_path(path, "CAD file")
    if size is not None:
        positive(size, "size", "give a length in m")
    positive(curvature, "curvature", "give a number of elements per radius")
    if order not in (1, 2):
        raise InputError(f"order: is {order}; give 2 for ten-node tetrahedra, 1 for four-node ones")
    if not 0.0 < grading <= 1.0:
        raise InputError(f"grading: is {grading:g}; give a number in 0 … 1")
    request = Request(
        str(file),
        size=0.0 if size is None else 1e3 * size,
        solid=solid,
        sizes=_sizes(str(file), sizes or {}, solid),
        grading=grading,
        curvature=curvature,
    )
    return _mesh(run_netgen(request), str(file), order)


def read_faces(path: str | Path, *, solid: int | str | None = None) -> tuple[list[CadFace], Array]:
    """Faces of a CAD model on a coarse mesh of its surface, and the nodes (N, 3) of this mesh.

    Raises InputError, MachineError.
    """
    file = str(file_path(path, "CAD file"))
    found = run_netgen(Request(file, solid=solid, surface=True))
    return cad_faces(found), found.nodes


def _sizes(
    file: str, sizes: Mapping[Face | int, float], solid: int | str | None
) -> dict[int, float]:
    """Sizes (mm) by numbers of faces."""
    for where, size in sizes.items():
        positive(size, f"sizes: {where}", "give a length in m")
    if not sizes:
        return {}
    faces, nodes = read_faces(file, solid=solid)
    found: dict[int, float] = {}
    for where, size in sizes.items():
        query = Face(number=where) if isinstance(where, int) else instance(
            where, Face, "sizes", "a face or its number"
        )  # fmt: skip
        for each in query.chosen(faces, nodes):
            found[each.number] = min(1e3 * size, found.get(each.number, np.inf))
    return found


def cad_faces(found: NetgenMesh) -> list[CadFace]:
    """Faces with their geometry."""
    faces = []
    for number, facts in enumerate(found.faces, 1):
        triangles = found.triangles[found.face_of == number]
        rows, local = np.unique(triangles, return_inverse=True)
        x, own = found.nodes[rows], local.reshape(triangles.shape)
        surface = fitted_surface(x, own) if len(rows) else Surface("other")
        faces.append(
            CadFace(
                number,
                surface,
                rows,
                triangles,
                facts["area"],
                facts["centre"],
                _hollow(surface, x, own),
                _arc(surface, x),
                facts["name"] or "",
                None if facts["colour"] is None else tuple(facts["colour"]),
            )
        )
    return faces


def _hollow(surface: Surface, x: Array, triangles: Indices) -> bool:
    """True if the outward normals of a round surface point to its axis or centre."""
    if surface.kind not in ("cylinder", "cone", "sphere"):
        return False
    corners = x[triangles[:, :3]]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return float(np.einsum("ij,ij->", normals, surface.radial(corners.mean(axis=1)))) < 0.0


def _arc(surface: Surface, x: Array) -> float:
    """Angle (rad) about the axis without the largest gap between points; 0 without an axis."""
    if surface.kind not in ("cylinder", "cone"):
        return 0.0
    off = surface.radial(x)
    first = off[np.argmax(np.linalg.norm(off, axis=1))]
    first /= np.linalg.norm(first)
    angle = np.sort(np.arctan2(off @ np.cross(surface.axis, first), off @ first))
    gaps = np.diff(np.append(angle, angle[0] + 2.0 * np.pi))
    # points all around have equal gaps
    return float(2.0 * np.pi - gaps.max()) if gaps.max() > 1.0 else 2.0 * np.pi


def _mesh(found: NetgenMesh, source: str, order: int) -> Mesh:
    """Checked mesh."""
    name, corners = ("tet10", 10) if order == 2 else ("tet4", 4)
    table, nodes = found.tetrahedra[:, :corners], found.nodes.copy()
    if not len(table):
        raise InputError(f"{source}: Netgen made no elements; give another size")
    if order == 2:
        off = straighten(nodes, table)
        if off.size:
            warn_caller(
                f"{source}: {off.size} curved elements were inverted and are straight now, up to "
                f"{1e3 * off.max():.2g} mm off the surface; give a smaller size, or a larger "
                "curvature",
                PreprocessWarning,
            )
    used = np.unique(table)
    index = np.full(len(nodes), -1)
    index[used] = np.arange(len(used))
    ids = np.arange(1, len(table) + 1)
    faces = [_kept(each, index, order) for each in cad_faces(found)]
    sets = {} if len(found.chosen) == 1 else {
        found.solids[k].name or f"solid {k + 1}": ids[found.solid_of == at]
        for at, k in enumerate(found.chosen)
    }  # fmt: skip
    mesh = Mesh(
        nodes[used],
        np.arange(1, len(used) + 1),
        {name: ElementBlock(index[table], ids)},
        CadSets(faces),
        sets,
        source,
        "mm",
    )
    mesh.check()
    return mesh


def _kept(face: CadFace, index: Indices, order: int) -> CadFace:
    """Face with the rows of the nodes that are used."""
    triangles = index[face.triangles[:, : 6 if order == 2 else 3]]
    return replace(face, triangles=triangles, nodes=np.unique(triangles))


def straighten(nodes: Array, table: Indices) -> Array:
    """Move middle nodes of inverted elements (ne, 10) to the middles of their edges, in place.

    Returns the distances moved, one for each element, m.
    """
    element, moved = ELEMENTS["tet10"], np.zeros(len(table))
    at = np.concatenate([element.nodes, element.stiffness_rule.points])
    for _ in range(ROUNDS):
        determinants = element.jacobian_determinants(nodes[table], at)
        bad = np.flatnonzero(determinants.min(axis=1) <= WORST * determinants.max(axis=1))
        if not len(bad):
            break
        for k, (a, b) in enumerate(EDGES):
            rows = table[bad, 4 + k]
            middle = 0.5 * (nodes[table[bad, a]] + nodes[table[bad, b]])
            moved[bad] = np.maximum(moved[bad], np.linalg.norm(nodes[rows] - middle, axis=1))
            nodes[rows] = middle
    return moved[moved > 0.0]
