"""Partition of a mesh for several processes, with few common nodes, by METIS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import InputError, MachineError
from preprocess.solve.ordering import pymetis

Indices = NDArray[np.int64]


def element_parts(tables: Sequence[Indices], n_nodes: int, parts: int) -> list[Indices]:
    """Part 0 … parts − 1 of each element of the connectivities (ne, nn).

    Elements are linked by their number of common nodes. Raises InputError for more parts than
    elements, MachineError without METIS.
    """
    count = sum(len(table) for table in tables)
    if parts == 1:
        return [np.zeros(len(table), np.int64) for table in tables]
    if parts > count:
        raise InputError(f"engine: {parts} processes for {count} elements; start fewer")
    if pymetis is None:
        raise MachineError(
            "engine: the mesh is divided by METIS, which is missing; pip install pymetis"
        )
    rows = np.concatenate(
        [[0], np.cumsum(np.concatenate([np.full(len(table), table.shape[1]) for table in tables]))]
    )
    members = np.concatenate([table.ravel() for table in tables])
    incidence = sp.csr_matrix(
        (np.ones(len(members), np.int32), members, rows), shape=(count, n_nodes)
    )
    links = (incidence @ incidence.T).tocsr()
    links.setdiag(0)
    links.eliminate_zeros()
    _, part = pymetis.part_graph(
        parts, pymetis.CSRAdjacency(links.indptr, links.indices), eweights=links.data
    )
    found = np.asarray(part, dtype=np.int64)
    empty = np.setdiff1d(np.arange(parts), found)
    found[: len(empty)] = empty  # of meshes with about as many elements as parts
    return np.split(found, np.cumsum([len(table) for table in tables])[:-1])
