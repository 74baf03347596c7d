"""Importer of the matrices that CalculiX stores by ``*FREQUENCY, SOLVER=MATRIXSTORAGE``.

The nodes are those of the input or the result file.

    job.sti, job.mas   rows "row column value", the upper triangle, 1-based
    job.dof            one line "node.direction" per row of the matrices
    job.inp, job.frd   nodes, sets and elements; the .frd gives positions with six digits only

Source: Dhondt, CalculiX CrunchiX User's Manual, *FREQUENCY.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flexmbs.errors import InputError
from preprocess.fe.fe_model import FEModel
from preprocess.formats.importers.base import Importer, ImportReport, ImportRequest
from preprocess.formats.importers.labelled import Entries, Indices, free_solid
from preprocess.formats.importers.node_files import node_table
from preprocess.inputs.number_parsing import content, integers, numbers, table


class CalculiXImporter(Importer):
    """Stored matrices of CalculiX, named by their stiffness file."""

    kind = "calculix"
    suffixes = (".sti",)

    def read(self, request: ImportRequest, report: ImportReport) -> FEModel:
        """Model from the .sti and .mas files of CalculiX."""
        mass = request.companion(request.mass, ".mas")
        labels = _dof_labels(request.companion(None, ".dof"))
        nodes = node_table(request.companion(request.nodes, ".inp", ".frd"))
        K = _entries(request.path).matrix(len(labels), "K", report)
        M = _entries(mass).matrix(len(labels), "M", report)
        return free_solid(K, M, labels, nodes, request.units, report)


def _entries(path: Path) -> Entries:
    """Matrix entries from rows of row, column and value."""
    rows = table(content(path, "rows of row, column, value"), 3, str(path))
    return Entries(
        integers(rows[:, 0], str(path), "row") - 1,
        integers(rows[:, 1], str(path), "column") - 1,
        rows[:, 2],
    )


def _dof_labels(path: Path) -> Indices:
    """Node number and direction of each row of the matrices."""
    words = content(path, "lines node.direction").split()
    if any(word.count(b".") != 1 for word in words):
        bad = next(word for word in words if word.count(b".") != 1).decode(
            "utf-8", errors="replace"
        )
        raise InputError(
            f"{path}: {bad[:30]!r} is not node.direction; it is not a CalculiX .dof file"
        )
    pairs = numbers(b" ".join(words).replace(b".", b" "), str(path))
    if pairs.size != 2 * len(words):
        raise InputError(
            f"{path}: has {pairs.size} numbers in {len(words)} lines of node.direction; "
            "it is damaged"
        )
    return np.asarray(integers(pairs, str(path), "node number").reshape(-1, 2))
