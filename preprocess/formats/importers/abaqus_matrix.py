"""Importer of Abaqus matrices written by ``*MATRIX OUTPUT``, with the nodes of the input file.

    job_STIF1.mtx, job_MASS1.mtx   rows "row node, direction, column node, direction, value" (FORMAT=MATRIX INPUT), or
                                   "row, column, value" (FORMAT=COORDINATE), all displacements of
                                   all nodes in ascending order
    job.inp                        nodes, sets and elements

Boundary conditions appear in the matrices as penalty diagonals of 1e36; they are removed and
reported. Source: Abaqus Analysis User's Guide, "Generating matrices".
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from flexmbs.errors import InputError
from preprocess.fe.fe_model import FEModel
from preprocess.formats.importers.base import Importer, ImportReport, ImportRequest
from preprocess.formats.importers.labelled import Entries, Indices, free_solid
from preprocess.formats.importers.node_files import node_table
from preprocess.inputs.number_parsing import Array, content, integers, table

_NOTE = re.compile(rb"^[ \t]*[*%].*$", re.MULTILINE)
_STIFFNESS = re.compile(r"_STIF(\d*)$", re.IGNORECASE)


class AbaqusMatrixImporter(Importer):
    """Matrix files of Abaqus, named by the stiffness."""

    kind = "abaqus"
    suffixes = (".mtx",)

    def read(self, request: ImportRequest, report: ImportReport) -> FEModel:
        """Model from stiffness and mass matrices written by Abaqus."""
        mass, job = _companions(request)
        nodes = node_table(job)
        K, M = _rows(request.path), _rows(mass)
        if K.shape[1] == 5 and M.shape[1] == 5:
            labels, entries = _labels([K, M])
        elif K.shape[1] == 3 and M.shape[1] == 3:
            labels = np.stack(
                [np.repeat(np.sort(nodes.ids), 3), np.tile((1, 2, 3), len(nodes.ids))], axis=1
            )
            entries = [(_index(rows[:, 0]) - 1, _index(rows[:, 1]) - 1) for rows in (K, M)]
        else:
            raise InputError(
                f"{request.path} and {mass} are of different formats; write both with the "
                "same *MATRIX OUTPUT"
            )
        stiffness, inertia = (Entries(*ij, rows[:, -1], None) for ij, rows in zip(entries, (K, M)))
        return free_solid(
            stiffness.matrix(len(labels), "K", report),
            inertia.matrix(len(labels), "M", report),
            labels,
            nodes,
            request.units,
            report,
        )


def _companions(request: ImportRequest) -> tuple[Path, Path]:
    """Mass and node files: given, or with Abaqus's names job_STIF1, job_MASS1, job.inp."""
    path, stem = request.path, _STIFFNESS.sub("", request.path.stem)
    match = _STIFFNESS.search(path.stem)
    mass, nodes = request.mass, request.nodes
    if mass is None and match:
        mass = path.with_name(f"{stem}_MASS{match.group(1)}{path.suffix}")
    if mass is None or not mass.is_file():
        raise InputError(
            f"{path}: mass file not found ({mass or 'the name has no _STIF'}); give it as mass="
        )
    nodes = path.with_name(f"{stem}.inp") if nodes is None else nodes
    return mass, nodes


def _rows(path: Path) -> Array:
    """Table of the matrix file, with five or three numbers in a row."""
    text = _NOTE.sub(b"", content(path, "rows of matrix entries"))
    first = next((line for line in text.splitlines() if line.strip()), b"")
    columns = len(first.replace(b",", b" ").split())
    if columns not in (3, 5):
        raise InputError(
            f"{path}: {first[:40].decode(errors='replace')!r} is not a matrix entry; "
            "write FORMAT=MATRIX INPUT or COORDINATE"
        )
    return table(text, columns, str(path))


def _index(values: Array) -> Indices:
    """Integers of matrix entries. Raises `InputError`."""
    return integers(values, "matrix entries", "node number or direction")


def _labels(tables: list[Array]) -> tuple[Indices, list[tuple[Indices, Indices]]]:
    """Degrees of freedom (n, 2), and rows and columns of each table's entries among them."""
    pairs = np.concatenate([_index(rows[:, k : k + 2]) for rows in tables for k in (0, 2)])
    labels, inverse = np.unique(pairs, axis=0, return_inverse=True)
    ends = np.cumsum([len(rows) for rows in tables for _ in (0, 1)])[:-1]
    parts = np.split(inverse.ravel(), ends)
    return labels, list(zip(parts[0::2], parts[1::2]))
