"""Stiffness and mass with labelled degrees of freedom, combined into a model of a free solid."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.fe.fe_model import HELD, FEModel
from preprocess.formats.importers.base import ImportReport
from preprocess.inputs.units import Units

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# kg/m³ in the bounding box of a part, from foam or frames to solid metal; others give a warning
# about the units
USUAL_DENSITY = (1.0, 30_000.0)


class NodeTable(NamedTuple):
    """Nodes of a model in the file's unit.

    Numbers (N,), positions (N, 3), sets and outer triangles (T, 3) as node indices.
    """

    ids: Indices
    positions: Array
    sets: dict[str, Indices]
    triangles: Indices
    source: Path
    accuracy: float = 1e-6


class Entries(NamedTuple):
    """Entries of a symmetric matrix: rows, columns, values.

    ``triangle``: True if each pair is given once, None to detect it from the entries.
    """

    rows: Indices
    columns: Indices
    values: Array
    triangle: bool | None = True

    def matrix(self, size: int, name: str, report: ImportReport) -> sp.csr_matrix:
        """Sparse symmetric matrix (size, size) of the entries; its symmetry is reported.

        Raises InputError for indices out of range and for a matrix that is not symmetric.
        """
        low, high = self.rows.min(initial=0), self.rows.max(initial=-1)
        low, high = min(low, self.columns.min(initial=0)), max(high, self.columns.max(initial=-1))
        if low < 0 or high >= size:
            raise InputError(
                f"{report.source}: {name} has row or column "
                f"{high + 1 if high >= size else low + 1} of {size}"
            )
        given = sp.coo_matrix((self.values, (self.rows, self.columns)), shape=(size, size)).tocsr()
        if self.triangle or (self.triangle is None and _each_pair_once(given)):
            report.found(
                f"{name}: {len(self.values)} entries of one triangle, symmetric by storage"
            )
            return (given + given.T - sp.diags(given.diagonal())).tocsr()
        largest = float(np.abs(given.data).max(initial=0.0))
        difference = float(abs(given - given.T).max()) if given.nnz else 0.0
        report.check(
            difference <= 1e-9 * largest,
            f"{name}: {len(self.values)} entries, asymmetry {difference:.2g} of {largest:.2g}",
        )
        return given


def _each_pair_once(A: sp.csr_matrix) -> bool:
    """True if no off-diagonal entry is stored with its transpose."""
    pattern = sp.csr_matrix((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    return bool(pattern.multiply(pattern.T).tocsr().count_nonzero() == pattern.diagonal().sum())


def free_solid(
    K: sp.csr_matrix,
    M: sp.csr_matrix,
    labels: Indices,
    nodes: NodeTable,
    units: Units,
    report: ImportReport,
) -> FEModel:
    """Model in SI units from K and M with rows labelled by node and direction.

    labels (n, 2): node number, direction 1 … 3. Rotations without stiffness are dropped, penalty
    diagonals of supports removed, unused nodes omitted. Raises InputError unless the result is the
    K and M = m ⊗ 1₃ of a solid with six rigid-body modes.
    """
    order, ids = _node_by_node(K, M, labels, report)
    rows = _node_rows(ids, nodes, report)
    x = nodes.positions[rows] * units.length
    K, M = K[order][:, order].tocsr() * units.stiffness, M[order][:, order].tocsr() * units.mass
    K = _without_supports(K, x, report)
    used = np.full(len(nodes.ids), -1, dtype=np.int64)
    used[rows] = np.arange(len(rows))
    triangles = used[nodes.triangles]
    model = FEModel.from_matrices(
        K,
        M,
        x,
        node_ids=ids,
        node_sets={name: used[members][used[members] >= 0] for name, members in nodes.sets.items()},
        triangles=triangles[(triangles >= 0).all(axis=1)],
        source=report.source,
        accuracy=nodes.accuracy,
    )
    _summarize(model, units, nodes, report)
    return model


def _node_by_node(
    K: sp.csr_matrix, M: sp.csr_matrix, labels: Indices, report: ImportReport
) -> tuple[Indices, Indices]:
    """Rows reordered node by node, x y z, and node numbers, ascending.

    Raises InputError for missing or additional degrees of freedom.
    """
    kept = np.arange(len(labels))
    further = ~np.isin(labels[:, 1], (1, 2, 3))
    if further.any():
        empty = np.asarray(abs(K).sum(axis=1)).ravel() == 0
        stiff = labels[further & ~empty]
        if len(stiff):
            node, direction = stiff[0]
            raise InputError(
                f"{report.source}: node {node} has stiffness in direction {direction} "
                f"({len(stiff)} such); only solids "
                "are supported, export without shells, beams and rotations"
            )
        report.found(f"{int(further.sum())} rotations without stiffness dropped")
        kept = np.flatnonzero(~further)
    chosen = labels[kept]
    order = np.lexsort((chosen[:, 1], chosen[:, 0]))
    sorted_labels = chosen[order]
    ids, count = np.unique(sorted_labels[:, 0], return_counts=True)
    incomplete = np.flatnonzero(count != 3)
    if len(incomplete) or not len(ids):
        what = (
            f"node {ids[incomplete[0]]} has {count[incomplete[0]]} of 3 displacements"
            if len(ids)
            else "there are no displacements"
        )
        raise InputError(f"{report.source}: {what}; export without supports and couplings")
    if (sorted_labels[:, 1].reshape(-1, 3) != (1, 2, 3)).any():
        raise InputError(f"{report.source}: a displacement is given twice; export the file again")
    if ids[0] < 1:
        raise InputError(
            f"{report.source}: node number {ids[0]} is internal to the program; export "
            "without hybrid elements and ties"
        )
    return kept[order], ids


def _node_rows(ids: Indices, nodes: NodeTable, report: ImportReport) -> Indices:
    """Rows of the node table for the nodes of the matrices.

    Raises InputError for nodes without a position.
    """
    order = np.argsort(nodes.ids, kind="stable")
    at = np.searchsorted(nodes.ids[order], ids)
    rows = order[np.minimum(at, len(order) - 1)]
    missing = ids[nodes.ids[rows] != ids]
    if len(missing):
        raise InputError(
            f"{nodes.source}: has no node {missing[0]} of {report.source} ({len(missing)} "
            "missing); give the job's own nodes"
        )
    return rows


def _without_supports(K: sp.csr_matrix, x: Array, report: ImportReport) -> sp.csr_matrix:
    """Stiffness K with the stiffness of supports removed, so that the body is free.

    Penalty diagonals above `HELD` are replaced by the values for which rigid translations have no
    force, ``K t = 0``.
    """
    diagonal = K.diagonal()
    huge = np.abs(diagonal) > HELD
    held = np.flatnonzero(huge)
    if not len(held):
        return K
    K = (K - sp.diags(np.where(huge, diagonal, 0.0))).tocsr()
    empty = held[np.asarray(abs(K).sum(axis=1)).ravel()[held] == 0]
    if len(empty):
        raise InputError(
            f"{report.source}: row {empty[0] + 1} has only a penalty diagonal (a "
            "support); export without supports"
        )
    translation = np.tile(np.eye(3), (len(x), 1))
    lacking = -(K @ translation)[held, held % 3]
    K = K + sp.csr_matrix((lacking, (held, held)), shape=K.shape)
    report.check(
        True,
        f"{len(held)} diagonals above {HELD:g} (supports) replaced by the values for "
        "rigid translation",
    )
    return K.tocsr()


def _summarize(model: FEModel, units: Units, nodes: NodeTable, report: ImportReport) -> None:
    """Report size, mass, density and the passed checks."""
    size = np.ptp(model.nodes, axis=0)
    density = model.mass / max(float(np.prod(size)), 1e-300)
    report.found(
        f"{len(model.nodes)} nodes of {nodes.source}, "
        f"{' × '.join(f'{value:.4g}' for value in size)} m from units {units.name}"
    )
    report.found(
        f"mass {model.mass:.6g} kg, {len(model.node_sets)} node sets, "
        f"{len(model.triangles)} surface triangles"
    )
    report.check(
        True, "K and M are symmetric, M = m ⊗ 1₃ is positive, K is free of the six rigid-body modes"
    )
    usual = USUAL_DENSITY[0] <= density <= USUAL_DENSITY[1]
    report.check(
        usual,
        f"{density:.4g} kg/m³ in the bounding box" + ("" if usual else "; are the units right?"),
    )
