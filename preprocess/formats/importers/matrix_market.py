"""Importer of stiffness and mass in Matrix Market files.

Rows are node by node in the order of the node file, x y z each.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from flexmbs.errors import InputError
from preprocess.fe.fe_model import FEModel
from preprocess.formats.importers.base import Importer, ImportReport, ImportRequest
from preprocess.formats.importers.labelled import free_solid
from preprocess.formats.importers.node_files import node_table
from preprocess.formats.matrix_files import matrix_of_file


class MatrixMarketImporter(Importer):
    """Matrices in Matrix Market files, coordinate or array."""

    kind = "matrix-market"
    suffixes = (".mtx", ".mm")
    signature = b"%%MatrixMarket"

    def read(self, request: ImportRequest, report: ImportReport) -> FEModel:
        """Model from stiffness and mass in Matrix Market format and a node file."""
        if request.mass is None or request.nodes is None:
            raise InputError(
                f"{request.path}: Matrix Market has no nodes and no mass; give their "
                "files as mass and nodes"
            )
        nodes = node_table(request.nodes)
        labels = np.stack([np.repeat(nodes.ids, 3), np.tile((1, 2, 3), len(nodes.ids))], axis=1)
        K, M = (matrix_of_file(path, len(labels)) for path in (request.path, request.mass))
        M = sp.kron(M, sp.eye(3), format="csr") if M.shape[0] == len(nodes.ids) else M
        for name, matrix in (("K", K), ("M", M)):
            if matrix.shape != (len(labels), len(labels)):
                raise InputError(
                    f"{request.path}: {name} has shape {matrix.shape}; {len(nodes.ids)} "
                    f"nodes need {len(labels)} rows"
                )
            report.found(f"{name}: {matrix.nnz} entries")
        return free_solid(K, M, labels, nodes, request.units, report)
