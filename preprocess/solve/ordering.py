"""Nested dissection: a fill-reducing elimination order for matrices of meshes.

By METIS if pymetis is installed; otherwise the graph is cut by planes through its nodes, with 15 to
20 % more fill.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, connected_components

from preprocess.solve.sparse_products import whole_blocks

try:
    import pymetis
except ImportError:  # no wheel for this platform
    pymetis = None  # type: ignore[assignment]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# quantiles at which a piece is cut on trial; the smallest separator is taken, and sides stay of
# similar size
CUTS = (0.42, 0.46, 0.5, 0.54, 0.58)
# number of nodes below which no cut is made, since cuts then save hardly any fill
LEAF = 64
# number of nodes from which coarse ones alone are ordered; below, ordering all of them takes little
# time
MANY = 5000


def node_graph(K: sp.csr_matrix, nodes: Indices) -> sp.csr_matrix:
    """Graph (N, N) of some nodes, three rows of K (n, n) each, the last perhaps fewer.

    Nodes are linked if K couples them.
    """
    count = -(-K.shape[0] // 3)
    starts, columns = whole_blocks(K) or _partial_blocks(K, count)
    graph = sp.csr_matrix((np.ones(len(columns), np.int8), columns, starts), shape=(count, count))
    return graph if len(nodes) == count else graph[nodes][:, nodes]


def _partial_blocks(K: sp.csr_matrix, count: int) -> tuple[Indices, Indices]:
    """Blocks as of `whole_blocks`, if some entries of blocks are not stored."""
    offsets = np.pad(K.indptr, (0, 3 * count - K.shape[0]), mode="edge")
    entries = sp.csr_matrix(
        (np.ones(K.nnz, np.int8), K.indices, offsets), shape=(3 * count, 3 * count)
    )
    blocks = entries.tobsr((3, 3))
    return blocks.indptr, blocks.indices


def node_order(
    graph: sp.csr_matrix,
    coordinates: Array | None = None,
    interpolation: sp.csr_matrix | None = None,
) -> Indices:
    """Elimination order of the nodes of a symmetric graph (n, n).

    order[k] is the node eliminated k-th.

    coordinates (n, 3): positions for the plane cuts; distances in the graph are used when not
    given. interpolation (n, n): of all nodes from coarse ones, one for these. If there are many,
    METIS orders the coarse nodes alone: a tenth of the time, for up to a tenth more operations in
    the factorization.
    """
    if pymetis is None:
        return plane_dissection(
            graph, graph_coordinates(graph) if coordinates is None else coordinates
        )
    return (
        _metis_order(graph)
        if interpolation is None or graph.shape[0] < MANY
        else _order_by_coarse_nodes(graph, interpolation)
    )


def _order_by_coarse_nodes(graph: sp.csr_matrix, interpolation: sp.csr_matrix) -> Indices:
    """Order of all nodes, each after the first of the coarse nodes around it.

    It is on the same side of every separator as this node. Nodes between coarse nodes that are not
    in the graph come last, since they may link both sides.
    """
    coarse = np.flatnonzero(interpolation.diagonal() == 1.0)
    dissected = _metis_order(graph[coarse][:, coarse])
    position = np.zeros(graph.shape[0], dtype=np.int64)
    position[coarse[dissected]] = np.arange(len(coarse))
    leader = np.full(graph.shape[0], len(coarse))
    filled = np.flatnonzero(np.diff(interpolation.indptr))
    leader[filled] = np.minimum.reduceat(
        position[interpolation.indices], interpolation.indptr[filled]
    )
    behind = np.ones(graph.shape[0], dtype=np.int64)
    behind[coarse] = 0
    return np.argsort(2 * leader + behind, kind="stable")


def _metis_order(graph: sp.csr_matrix) -> Indices:
    """Nested-dissection order by METIS."""
    links = graph.copy()
    links.setdiag(0)
    links.eliminate_zeros()
    if links.nnz == 0:
        return np.arange(graph.shape[0])
    order, _ = pymetis.nested_dissection(pymetis.CSRAdjacency(links.indptr, links.indices))
    return np.asarray(order, dtype=np.int64)


def plane_dissection(graph: sp.csr_matrix, coordinates: Array) -> Indices:
    """Nested dissection by planes across the principal axes of each piece.

    A piece is cut near its middle where the fewest nodes of one side touch the other; these form
    the separator, eliminated last. Source: George, SIAM J. Numer. Anal. 10 (1973) 345.
    """
    n = graph.shape[0]
    links = sp.csr_matrix(
        (np.ones(graph.nnz, dtype=np.int32), graph.indices, graph.indptr), shape=graph.shape
    )
    order = np.empty(n, dtype=np.int64)
    pieces = [(np.arange(n), n)]
    while pieces:
        nodes, end = pieces.pop()
        if len(nodes) <= LEAF:
            order[end - len(nodes) : end] = nodes
            continue
        first, second, separator = _cut(links, coordinates, nodes)
        order[end - len(separator) : end] = separator
        pieces += [(first, end - len(separator) - len(second)), (second, end - len(separator))]
    return order


def _cut(
    links: sp.csr_matrix, coordinates: Array, nodes: Indices
) -> tuple[Indices, Indices, Indices]:
    """(one side, other side, separator) of a piece of the graph, for nested dissection."""
    rows = links[nodes]
    best, smallest = (nodes[: len(nodes) // 2], nodes[:0], nodes[len(nodes) // 2 :]), len(nodes)
    for low in _trial_cuts(coordinates[nodes]):
        side = np.zeros((links.shape[0], 2), dtype=np.int32)
        side[nodes[low], 0] = 1
        side[nodes[~low], 1] = 1
        touched = (rows @ side) > 0
        from_low, from_high = low & touched[:, 1], ~low & touched[:, 0]
        separator = from_low if from_low.sum() <= from_high.sum() else from_high
        if separator.sum() < smallest and low.any() and not low.all():
            best, smallest = (
                (nodes[low & ~separator], nodes[~low & ~separator], nodes[separator]),
                separator.sum(),
            )
    return best


def _trial_cuts(points: Array) -> Iterator[NDArray[np.bool_]]:
    """Masks of the points below several planes.

    Planes near the median of each principal axis that is not short.
    """
    centred = points - points.mean(axis=0)
    spread, axes = np.linalg.eigh(centred.T @ centred)
    for axis in np.flatnonzero(spread >= 0.3 * spread[-1])[::-1]:
        along = centred @ axes[:, axis]
        for plane in np.unique(np.quantile(along, CUTS)):
            yield along < plane - 1e-9 * np.ptp(along)


def graph_coordinates(graph: sp.csr_matrix) -> Array:
    """Distances in the graph (n, 3) from three nodes far apart, used as positions.

    Components are placed side by side.
    """
    n_parts, part = connected_components(graph, directed=False)
    result = np.zeros((graph.shape[0], 3))
    for number in range(n_parts):
        members = np.flatnonzero(part == number)
        start = members[0]
        for axis in range(3):
            distance = _distances(graph, int(start))
            result[members, axis] = distance[members]
            start = members[np.argmax(result[members, : axis + 1].min(axis=1))]
    result[:, 0] += part * (1.0 + result.max())
    return result


def _distances(graph: sp.csr_matrix, start: int) -> Array:
    """Number of links (n,) from node ``start`` to each node of the graph."""
    order, previous = breadth_first_order(graph, start, directed=False)
    distance = np.zeros(graph.shape[0])
    for node in order[1:]:
        distance[node] = distance[previous[node]] + 1
    return distance
