"""Importer of the assembled matrices of a modal analysis of Ansys (.full).

The nodes are those of an archive (.cdb, CDWRITE). The binary file is read by ansys-mapdl-reader,
the extra ``ansys``. Ansys omits rows with supports, so the analysis must be run without any.
Source: Ansys Mechanical APDL Programmer's Reference, "Format of the full file"; CDWRITE.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from flexmbs.errors import InputError, MachineError
from preprocess.fe.fe_model import FEModel
from preprocess.formats.importers.base import Importer, ImportReport, ImportRequest
from preprocess.formats.importers.labelled import Entries, Indices, free_solid
from preprocess.formats.importers.node_files import node_table
from preprocess.inputs.number_parsing import content
from preprocess.inputs.reader_guard import guarded


class AnsysFullImporter(Importer):
    """Matrices of a .full file."""

    kind = "ansys-full"
    suffixes = (".full",)

    def read(self, request: ImportRequest, report: ImportReport) -> FEModel:
        """Model from a .full file of Ansys and its nodes."""
        nodes = node_table(request.companion(request.nodes, ".cdb", ".csv"))
        content(request.path, "a .full file of Ansys")
        full = _full(request.path)
        if len(full.held):
            node, direction = full.held[0]
            raise InputError(
                f"{request.path}: {len(full.held)} displacements are fixed, first node "
                f"{node} direction {direction + 1}; "
                "run the modal analysis without supports (D, DSYM) and couplings (CE)"
            )
        K, M = (
            Entries(A.row, A.col, A.data, None)
            for A in (sp.coo_matrix(full.K), sp.coo_matrix(full.M))
        )
        size = len(full.labels)
        labels = full.labels + (0, 1)
        return free_solid(
            K.matrix(size, "K", report),
            M.matrix(size, "M", report),
            labels,
            nodes,
            request.units,
            report,
        )


class _Full(NamedTuple):
    """Content of a .full file.

    Node and direction (from 0) of each row, upper triangles of K and M, fixed degrees of freedom.
    """

    labels: Indices
    K: sp.csc_matrix
    M: sp.csc_matrix
    held: Indices


def _full(path: Path) -> _Full:
    """Content of a .full file. Raises `MachineError` without its reader."""
    try:
        from ansys.mapdl.reader import read_binary
    except ImportError as error:
        raise MachineError(
            f"{path}: .full files are read by ansys-mapdl-reader, which is not installed; "
            'run pip install "flexmbs[ansys]"'
        ) from error
    with guarded(f"{path}: cannot be read by ansys-mapdl-reader"):
        result: Any = read_binary(str(path))
        labels, K, M = result.load_km(sort=True)
        held = np.asarray(result.const, dtype=np.int64).reshape(-1, 2)
    if K is None or M is None:
        raise InputError(
            f"{path}: has no {'stiffness' if K is None else 'mass'}; write it by a modal "
            "analysis (WRFULL)"
        )
    return _Full(np.asarray(labels, dtype=np.int64), K, M, held)
