"""Nodes, sets and surface for matrix files that do not contain them.

They come from a mesh file, a CalculiX result or a table.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS
from preprocess.formats.importers.ansys_archive import read_archive_nodes
from preprocess.formats.importers.frd import ACCURACY, known_elements, read_frd
from preprocess.formats.importers.labelled import Indices, NodeTable
from preprocess.inputs.number_parsing import content, integers, table
from preprocess.mesh.faces import surface_triangles
from preprocess.mesh_files.readers import READERS, raw_mesh

_NO_TRIANGLES = np.zeros((0, 3), dtype=np.int64)


def node_table(path: Path) -> NodeTable:
    """Nodes of a mesh file, of a .frd or .cdb, or of a table of number, x, y, z (.csv, .txt).

    Raises InputError.
    """
    nodes = _read(path)
    if not len(nodes.ids):
        raise InputError(f"{path}: has no nodes; give the file with the nodes of the job")
    return nodes


def _read(path: Path) -> NodeTable:
    """Node table of a file, by its suffix."""
    suffix = path.suffix.lower()
    if suffix == ".frd":
        return _from_frd(path)
    if suffix == ".cdb":
        ids, positions = read_archive_nodes(path)
        return NodeTable(ids, positions, {}, _NO_TRIANGLES, path)
    if suffix in (".csv", ".txt"):
        return _from_table(path)
    if suffix in READERS:
        mesh = raw_mesh(path)
        return NodeTable(mesh.node_ids, mesh.points, mesh.node_sets, _skin(mesh.connectivity), path)
    raise InputError(
        f"{path}: nodes can be read from {', '.join(READERS)}, .frd, .cdb, .csv and .txt"
    )


def _from_frd(path: Path) -> NodeTable:
    """Node table with outer triangles from an .frd file."""
    frd = read_frd(path)
    return NodeTable(frd.ids, frd.positions, {}, _skin(known_elements(frd)), path, ACCURACY)


def _from_table(path: Path) -> NodeTable:
    """Node table from rows of node number, x, y, z. Raises `InputError`."""
    rows = table(content(path, "rows of node number, x, y, z"), 4, str(path))
    ids = integers(rows[:, 0], str(path), "node number")
    if len(np.unique(ids)) != len(ids):
        raise InputError(f"{path}: a node number is given twice; the rows are number, x, y, z")
    return NodeTable(ids, rows[:, 1:], {}, _NO_TRIANGLES, path)


def _skin(connectivity: dict[str, Indices]) -> Indices:
    """Outer triangles, if there are elements."""
    known = {kind: rows for kind, rows in connectivity.items() if len(rows) and kind in ELEMENTS}
    return surface_triangles(known) if known else _NO_TRIANGLES
