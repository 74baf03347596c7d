"""Importer of stiffness and mass of solids from Nastran.

Matrices as OUTPUT4 (.op4, ASCII), DMIG bulk data (.pch) or OP2, with the nodes of the bulk data;
DMIG with rotations or scalar points is a superelement (EXTSEOUT) and gives a reduced body.

The matrices are those of the g-set (KGG, MGG; all six degrees of freedom of all grid points in
ascending order) or of displacements only. Binary OUTPUT4 and OP2 are read by pyNastran, the extra
``nastran``. Source: MSC Nastran DMAP Programmer's Guide, OUTPUT4; Quick Reference Guide, DMIG.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from flexmbs.errors import InputError, MachineError
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.fe.fe_model import FEModel
from preprocess.formats.importers.base import ImportedPart, Importer, ImportReport, ImportRequest
from preprocess.formats.importers.labelled import Entries, Indices, NodeTable, free_solid
from preprocess.formats.importers.nastran_text import read_dmig, read_op4
from preprocess.formats.importers.node_files import node_table
from preprocess.formats.importers.superelement import MAX_DOFS, Superelement, superelement_body
from preprocess.inputs.number_parsing import content
from preprocess.inputs.reader_guard import guarded

T = TypeVar("T")

BULK = (".bdf", ".dat", ".nas")


class NastranOp4Importer(Importer):
    """Matrices of OUTPUT4."""

    kind = "nastran-op4"
    suffixes = (".op4",)

    def read(self, request: ImportRequest, report: ImportReport) -> FEModel:
        """Model from stiffness and mass in OUTPUT4 files of Nastran."""
        nodes = node_table(request.companion(request.nodes, *BULK))
        matrices = _op4(request.path)
        if request.mass is not None:
            matrices = {**matrices, **_op4(request.mass)}
        K, M = (_first_matrix(matrices, letter, report) for letter in "KM")
        return _solid_on_grid(K, M, nodes, request, report)


class NastranDmigImporter(Importer):
    """Matrices as DMIG cards."""

    kind = "nastran-dmig"
    suffixes = (".pch", ".dmig")

    def read(self, request: ImportRequest, report: ImportReport) -> ImportedPart:
        """Part from DMIG matrices of Nastran, with only the nodes in them."""
        nodes = node_table(request.companion(request.nodes, *BULK))
        matrices = read_dmig(request.path)
        if request.mass is not None:
            matrices = {**matrices, **read_dmig(request.mass)}
        K, M = (_first_matrix(matrices, letter, report) for letter in "KM")
        labels, inverse = np.unique(
            np.concatenate([K.rows, K.columns, M.rows, M.columns]), axis=0, return_inverse=True
        )
        parts = np.split(inverse.ravel(), np.cumsum([len(K.rows), len(K.rows), len(M.rows)]))
        stiffness = Entries(parts[0], parts[1], K.values, None).matrix(len(labels), "K", report)
        mass = Entries(parts[2], parts[3], M.values, None).matrix(len(labels), "M", report)
        further = ~np.isin(labels[:, 1], (1, 2, 3))
        if further.any() and abs(stiffness[further]).sum() > 0:
            return _superelement(stiffness, mass, labels, nodes, request, report)
        return free_solid(stiffness, mass, labels, nodes, request.units, report)


class NastranOp2Importer(Importer):
    """Matrices in an OP2 file."""

    kind = "nastran-op2"
    suffixes = (".op2",)

    def read(self, request: ImportRequest, report: ImportReport) -> FEModel:
        """Model from stiffness and mass in an OP2 file of Nastran."""
        nodes = node_table(request.companion(request.nodes, *BULK))
        content(request.path, "an OP2 file")
        found = _op2_matrices(request.path)
        K, M = (
            _first_matrix({name: _entries(A) for name, A in found.items()}, letter, report)
            for letter in "KM"
        )
        return _solid_on_grid(K, M, nodes, request, report)


def _solid_on_grid(
    K: Entries, M: Entries, nodes: NodeTable, request: ImportRequest, report: ImportReport
) -> FEModel:
    """Model of matrices whose rows are numbered along the grid points."""
    labels = _grid_labels(max(_size(K), _size(M)), nodes, report)
    return free_solid(
        K.matrix(len(labels), "K", report),
        M.matrix(len(labels), "M", report),
        labels,
        nodes,
        request.units,
        report,
    )


def _superelement(
    K: sp.csr_matrix,
    M: sp.csr_matrix,
    labels: Indices,
    nodes: NodeTable,
    request: ImportRequest,
    report: ImportReport,
) -> FlexibleBodyData:
    """Body of boundary nodes with six degrees of freedom and modes on scalar points.

    Scalar points have direction 0.
    """
    if len(labels) > MAX_DOFS:
        raise InputError(
            f"{report.source}: has {len(labels)} degrees of freedom with rotations; a "
            f"superelement has at most {MAX_DOFS}"
        )
    row = {int(node): k for k, node in enumerate(nodes.ids)}
    known = {int(node) for node, direction in labels.tolist() if direction and int(node) in row}
    positions = {node: nodes.positions[row[node]] for node in sorted(known)}
    return superelement_body(
        Superelement(K.toarray(), M.toarray(), labels, positions), request, report
    )


def _op4(path: Path) -> dict[str, Entries]:
    """Matrices of an ASCII file by the package's reader, of a binary file by pyNastran."""
    data = content(path, "matrices of OUTPUT4")
    if b"\0" not in data[:4096]:
        return read_op4(path, data)
    return {name: _entries(A) for name, A in _op4_matrices(path).items()}


def _op4_matrices(path: Path) -> dict[str, Any]:
    """Matrices by name of a binary OUTPUT4 file, by pyNastran."""
    try:
        from pyNastran.op4.op4 import read_op4 as read_binary
    except ImportError as error:
        raise MachineError(_MISSING.format(path=path, what="binary OUTPUT4")) from error
    with guarded(f"{path}: cannot be read by pyNastran"):
        found: Mapping[str, Any] = read_binary(str(path), debug=None)
    return {
        name: value[1] if isinstance(value, tuple) else value.data for name, value in found.items()
    }


def _op2_matrices(path: Path) -> dict[str, Any]:
    """Matrices by name of an OP2 file, by pyNastran."""
    try:
        from pyNastran.op2.op2 import read_op2
    except ImportError as error:
        raise MachineError(_MISSING.format(path=path, what="OP2")) from error
    with guarded(f"{path}: cannot be read by pyNastran"):
        model = read_op2(str(path), debug=None, mode="msc", build_dataframe=False)
    return {name: matrix.data for name, matrix in model.matrices.items()}


_MISSING = (
    "{path}: {what} is read by pyNastran, which is not installed; run pip install "
    '"flexmbs[nastran]", or write OUTPUT4 as ASCII'
)


def _entries(A: Any) -> Entries:
    """Row, column and value of the entries of a real matrix. Raises `InputError`."""
    coo = sp.coo_matrix(A)
    if np.iscomplexobj(coo.data):
        raise InputError("a matrix is complex; only real stiffness and mass are supported")
    return Entries(
        coo.row.astype(np.int64), coo.col.astype(np.int64), coo.data.astype(np.float64), None
    )


def _first_matrix(matrices: Mapping[str, T], letter: str, report: ImportReport) -> T:
    """The first matrix whose name starts with the letter. Raises InputError."""
    names = [name for name in matrices if name.upper().startswith(letter)]
    if not names:
        raise InputError(
            f"{report.source}: has no matrix {letter}… (found "
            f"{', '.join(matrices) or 'none'}); write KGG and MGG"
        )
    report.found(f"matrix {names[0]}")
    return matrices[names[0]]


def _size(entries: Entries) -> int:
    """Size of the matrix: largest row or column, plus one."""
    return int(max(entries.rows.max(initial=-1), entries.columns.max(initial=-1))) + 1


def _grid_labels(size: int, nodes: NodeTable, report: ImportReport) -> Indices:
    """Labels of the g-set, six or three degrees of freedom per grid point.

    Raises InputError if neither fits.
    """
    n = len(nodes.ids)
    each = 6 if size > 3 * n else 3
    if not each * (n - 1) < size <= each * n:
        raise InputError(
            f"{report.source}: has {size} rows; {n} nodes of {nodes.source} give {3 * n} "
            f"or {6 * n} (write KGG and MGG)"
        )
    return np.stack(
        [np.repeat(np.sort(nodes.ids), each), np.tile(np.arange(1, each + 1), n)], axis=1
    )
