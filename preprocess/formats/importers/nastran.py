"""Importer of stiffness and mass of solids from Nastran.

Matrices as OUTPUT4 (.op4, ASCII), DMIG bulk data (.pch) or OP2, with the nodes of the bulk data,
which a DMIG file may contain itself. Matrices with rotations or scalar points are a superelement
(EXTSEOUT) and give a reduced body, with the damping B…

The matrices of OUTPUT4 and OP2 are those of the g-set (KGG, MGG; all six degrees of freedom of all
grid points, and the scalar points, in ascending order) or of displacements only. Binary OUTPUT4 and
OP2 are read by pyNastran, the extra ``nastran``. Source: MSC Nastran DMAP Programmer's Guide,
OUTPUT4; Quick Reference Guide, DMIG.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_text
from preprocess.formats.importers.base import ImportedPart, Importer, ImportReport, ImportRequest
from preprocess.formats.importers.labelled import Array, Entries, Indices, NodeTable, free_solid
from preprocess.formats.importers.nastran_text import read_dmig, read_op4
from preprocess.formats.importers.node_files import node_table
from preprocess.formats.importers.pynastran import pynastran, read_op2
from preprocess.formats.importers.superelement import (
    MAX_DOFS,
    Superelement,
    check_units,
    superelement_body,
)
from preprocess.inputs.number_parsing import content
from preprocess.inputs.reader_guard import guarded
from preprocess.mesh_files.nastran import read_points

BULK = (".bdf", ".dat", ".nas")


class _Points(NamedTuple):
    """Nodes, scalar points, displacement axes of grids with own ones, frame names by node.

    solids: True if the file of the nodes has solid elements, and so sets and a surface.
    """

    nodes: NodeTable
    scalars: Indices
    axes: Mapping[int, Array]
    names: Mapping[int, str]
    solids: bool


class NastranOp4Importer(Importer):
    """Matrices of OUTPUT4."""

    kind = "nastran-op4"
    suffixes = (".op4",)

    def read(self, request: ImportRequest, report: ImportReport) -> ImportedPart:
        """Part from the matrices in OUTPUT4 files of Nastran."""
        points = _points(request.companion(request.nodes, ".op4.bdf", *BULK), request)
        matrices = _op4(request.path)
        if request.mass is not None:
            matrices = {**matrices, **_op4(request.mass)}
        return _on_grid(matrices, points, request, report)


class NastranDmigImporter(Importer):
    """Matrices as DMIG cards."""

    kind = "nastran-dmig"
    suffixes = (".pch", ".dmig")

    def read(self, request: ImportRequest, report: ImportReport) -> ImportedPart:
        """Part from DMIG matrices of Nastran, with only the nodes in them."""
        own = request.nodes is None and _GRID.search(content(request.path, "DMIG cards"))
        points = _points(request.path if own else request.companion(request.nodes, *BULK), request)
        found = read_dmig(request.path)
        if request.mass is not None:
            found = {**found, **read_dmig(request.mass)}
        ends = np.concatenate([end for A in found.values() for end in (A.rows, A.columns)])
        labels, inverse = np.unique(ends, axis=0, return_inverse=True)
        sizes = np.cumsum([len(A.values) for A in found.values() for _ in (0, 1)])
        parts = np.split(inverse.ravel(), sizes[:-1])
        matrices = {
            name: Entries(rows, columns, A.values, None)
            for (name, A), rows, columns in zip(found.items(), parts[0::2], parts[1::2])
        }
        return _part(matrices, labels, points, request, report)


class NastranOp2Importer(Importer):
    """Matrices in an OP2 file."""

    kind = "nastran-op2"
    suffixes = (".op2",)

    def read(self, request: ImportRequest, report: ImportReport) -> ImportedPart:
        """Part from the matrices in an OP2 file of Nastran."""
        points = _points(request.companion(request.nodes, *BULK), request)
        content(request.path, "an OP2 file")
        matrices = {name: _entries(A) for name, A in _op2_matrices(request.path).items()}
        return _on_grid(matrices, points, request, report)


# at the start of a line; GRID* and free fields too
_GRID = re.compile(rb"^GRID[*, \t]", re.MULTILINE | re.IGNORECASE)
_FRAME = re.compile(r"^\$ frame (.+): grid (\d{1,9})\s*$", re.MULTILINE)


def _points(path: Path, request: ImportRequest) -> _Points:
    """Nodes of a file; scalar points and names of frames of bulk data. Raises InputError."""
    if path.suffix.lower() not in (*BULK, *NastranDmigImporter.suffixes):
        return _Points(node_table(path), np.zeros(0, np.int64), {}, {}, False)
    found = read_points(path)
    if not len(found.ids):
        raise InputError(f"{path}: has no GRID card; give the deck with the nodes of the matrices")
    nodes = NodeTable(found.ids, found.positions, {}, np.zeros((0, 3), np.int64), path)
    text = read_text(path)
    check_units(text, request)
    names = {int(node): name for name, node in _FRAME.findall(text)}
    return _Points(nodes, found.scalars, found.axes, names, found.solids)


def _on_grid(
    matrices: Mapping[str, Entries], points: _Points, request: ImportRequest, report: ImportReport
) -> ImportedPart:
    """Part of matrices whose rows are numbered along the grid and scalar points."""
    size = max(_size(matrices[_name_of(matrices, letter, report)]) for letter in "KM")
    return _part(matrices, _grid_labels(size, points, report), points, request, report)


def _part(
    matrices: Mapping[str, Entries],
    labels: Indices,
    points: _Points,
    request: ImportRequest,
    report: ImportReport,
) -> ImportedPart:
    """Solid, or with stiffness of rotations or scalar points a superelement."""
    names = [_name_of(matrices, letter, report) for letter in "KM"]
    names += [name for name, A in matrices.items() if name[:1] == "B" and len(A.values)][:1]
    report.found(f"matrices {', '.join(names)}")
    for name, A in matrices.items():
        if name.upper().startswith("K4") and A.values.any():
            report.check(False, f"structural damping {name} is omitted")
    K, M, *damping = (matrices[name].matrix(len(labels), name[0], report) for name in names)
    D = damping[0] if damping else None
    K, M, D = _in_basic_axes((K, M, D), labels, points, report)
    further = ~np.isin(labels[:, 1], (1, 2, 3))
    if not (further.any() and abs(K[further]).sum() > 0):
        nodes = node_table(points.nodes.source) if points.solids else points.nodes
        return free_solid(K, M, labels, nodes, request.units, report)
    if len(labels) > MAX_DOFS:
        raise InputError(
            f"{report.source}: has {len(labels)} degrees of freedom with rotations; a "
            f"superelement has at most {MAX_DOFS}"
        )
    known = {int(node) for node in labels[labels[:, 1] > 0, 0]}
    nodes = points.nodes
    places = {int(node): x for node, x in zip(nodes.ids, nodes.positions) if int(node) in known}
    element = Superelement(
        K.toarray(),
        M.toarray(),
        labels,
        places,
        None if D is None else D.toarray(),
        points.names,
    )
    return superelement_body(element, request, report)


def _in_basic_axes(
    matrices: tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix | None],
    labels: Indices,
    points: _Points,
    report: ImportReport,
) -> tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix | None]:
    """Matrices T A Tᵀ in the basic system, where u = T u' and u' are the displacements in CD."""
    turned = set(labels[labels[:, 1] > 0, 0].tolist()) & points.axes.keys()
    if not turned:
        return matrices
    T = sp.identity(len(labels), format="lil")
    row = {(int(node), int(k)): n for n, (node, k) in enumerate(labels)}
    for node in turned:
        for first in (1, 4):
            rows = [row.get((node, k), -1) for k in range(first, first + 3)]
            if max(rows) < 0:
                continue
            if min(rows) < 0:
                raise InputError(
                    f"{report.source}: grid {node} has displacements in a system of its own (CD), "
                    "and only some of its components; write all three"
                )
            T[np.ix_(rows, rows)] = points.axes[node]
    T = T.tocsr()
    report.found(f"{len(turned)} grids with own displacement systems (CD)")
    K, M, D = (None if A is None else (T @ A @ T.T).tocsr() for A in matrices)
    return K, M, D


def _op4(path: Path) -> dict[str, Entries]:
    """Matrices of an ASCII file by the package's reader, of a binary file by pyNastran."""
    data = content(path, "matrices of OUTPUT4")
    if b"\0" not in data[:4096]:
        return read_op4(path, data)
    return {name: _entries(A) for name, A in _op4_matrices(path).items()}


def _op4_matrices(path: Path) -> dict[str, Any]:
    """Matrices by name of a binary OUTPUT4 file, by pyNastran."""
    read_binary = pynastran("op4", "read_op4", f"{path}: binary OUTPUT4", _AS_TEXT)
    with guarded(f"{path}: cannot be read by pyNastran"):
        found: Mapping[str, Any] = read_binary(str(path), debug=None)
    return {
        name: value[1] if isinstance(value, tuple) else value.data for name, value in found.items()
    }


def _op2_matrices(path: Path) -> dict[str, Any]:
    """Matrices by name of an OP2 file, by pyNastran."""
    return {name: matrix.data for name, matrix in read_op2(path, _AS_TEXT).matrices.items()}


_AS_TEXT = ", or write OUTPUT4 as ASCII"


def _entries(A: Any) -> Entries:
    """Row, column and value of the entries of a real matrix. Raises `InputError`."""
    coo = sp.coo_matrix(A)
    if np.iscomplexobj(coo.data):
        raise InputError("a matrix is complex; only real stiffness and mass are supported")
    return Entries(
        coo.row.astype(np.int64), coo.col.astype(np.int64), coo.data.astype(np.float64), None
    )


def _name_of(matrices: Mapping[str, Entries], letter: str, report: ImportReport) -> str:
    """Name of the stiffness K… or mass M…: a usual one, or the first. Raises InputError."""
    names = [name for name in matrices if re.match(f"{letter}(?!4)", name, re.IGNORECASE)]
    usual = [name for name in names if name[1:].upper() in ("AAX", "AA", "GG", "GGX", "XX")]
    if not names:
        raise InputError(
            f"{report.source}: has no matrix {letter}… (found "
            f"{', '.join(matrices) or 'none'}); write KGG and MGG"
        )
    return (usual or names)[0]


def _size(entries: Entries) -> int:
    """Size of the matrix: largest row or column, plus one."""
    return int(max(entries.rows.max(initial=-1), entries.columns.max(initial=-1))) + 1


def _grid_labels(size: int, points: _Points, report: ImportReport) -> Indices:
    """Labels of the g-set: six or three degrees of freedom per grid, one per scalar point.

    Without scalar points the last rows may be empty. Raises InputError if nothing fits.
    """
    n, m = len(points.nodes.ids), len(points.scalars)
    each = 6 if m or size > 3 * n else 3
    if size != 6 * n + m if m else not each * (n - 1) < size <= each * n:
        fits = f"{6 * n + m}" if m else f"{3 * n} or {6 * n}"
        raise InputError(
            f"{report.source}: has {size} rows; {n} nodes and {m} scalar points of "
            f"{points.nodes.source} give {fits} (write KGG and MGG)"
        )
    grids = np.stack(
        [np.repeat(points.nodes.ids, each), np.tile(np.arange(1, each + 1), n)], axis=1
    )
    scalars = np.stack([points.scalars, np.zeros(m, np.int64)], axis=1)
    labels = np.concatenate([grids, scalars])
    return labels[np.lexsort((labels[:, 1], labels[:, 0]))]
