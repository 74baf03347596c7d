"""Node-to-node pattern of a mesh: which nodes share an element."""

import numpy as np

from flexmbs._jit import kernel
from preprocess.elements.element import Indices


@kernel
def elements_of_nodes(start: Indices, members: Indices, n_nodes: int) -> tuple[Indices, Indices]:
    """(indptr, elements) of each node, from element e having the nodes members[start[e]:start[e+1]]."""
    indptr = np.zeros(n_nodes + 1, np.int64)
    for node in members:
        indptr[node + 1] += 1
    for node in range(n_nodes):
        indptr[node + 1] += indptr[node]
    elements = np.empty(len(members), np.int64)
    fill = indptr[:-1].copy()
    for e in range(len(start) - 1):
        for p in range(start[e], start[e + 1]):
            elements[fill[members[p]]] = e
            fill[members[p]] += 1
    return indptr, elements


@kernel
def neighbour_counts(start: Indices, members: Indices, owners: Indices, elements: Indices) -> Indices:
    """Number of nodes that share an element with each node, itself included, as offsets (n_nodes + 1)."""
    n_nodes = len(owners) - 1
    indptr = np.zeros(n_nodes + 1, np.int64)
    seen = np.full(n_nodes, -1, np.int64)
    for node in range(n_nodes):
        count = 0
        for p in range(owners[node], owners[node + 1]):
            for r in range(start[elements[p]], start[elements[p] + 1]):
                if seen[members[r]] != node:
                    seen[members[r]] = node
                    count += 1
        indptr[node + 1] = indptr[node] + count
    return indptr


@kernel
def neighbours(start: Indices, members: Indices, owners: Indices, elements: Indices, indptr: Indices) -> Indices:
    """The neighbours of each node, ascending: visiting rows in order sorts every column of the symmetric pattern."""
    n_nodes = len(owners) - 1
    indices = np.empty(indptr[n_nodes], np.int32)
    fill = indptr[:-1].copy()
    seen = np.full(n_nodes, -1, np.int64)
    for node in range(n_nodes):
        for p in range(owners[node], owners[node + 1]):
            for r in range(start[elements[p]], start[elements[p] + 1]):
                other = members[r]
                if seen[other] != node:
                    seen[other] = node
                    indices[fill[other]] = node
                    fill[other] += 1
    return indices


@kernel
def block_columns(indptr: Indices, indices: Indices, rows: Indices, columns: Indices) -> None:
    """Row offsets and columns of the pattern with three components per node."""
    for node in range(len(indptr) - 1):
        low, high = indptr[node], indptr[node + 1]
        width = 3 * (high - low)
        for i in range(3):
            first = 9 * low + i * width
            rows[3 * node + i] = first
            for p in range(low, high):
                for k in range(3):
                    columns[first + 3 * (p - low) + k] = 3 * indices[p] + k
    rows[3 * (len(indptr) - 1)] = 9 * indptr[len(indptr) - 1]
