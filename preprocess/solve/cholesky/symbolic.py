"""Symbolic factorization of a symmetric matrix from its graph.

The elimination tree gives the dependencies between columns. Chains of columns with the same rows
below are stored as one dense panel, a supernode; nearly equal ones are merged, which stores some
zeros and saves many small operations.

Sources: Liu, SIAM J. Matrix Anal. Appl. 11 (1990) 134 (elimination tree); Ashcraft, Grimes, ACM
TOMS 15 (1989) 291 (merging); Liu, ACM TOMS 12 (1986) 249 (order of the children for least storage);
Davis, Direct Methods for Sparse Linear Systems, ch. 4.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import part, seldom

Indices = NDArray[np.int64]


class EliminationTree(NamedTuple):
    """Supernodal elimination tree of N nodes with three degrees of freedom each.

    The supernodes are in postorder.

    order (N,): the node eliminated k-th; position: its inverse, for every node of the matrix, −1
    for excluded nodes; first (S + 1,): supernode s eliminates the nodes order[first[s]:first[s+1]];
    start (S + 1,), rows: positions of the nodes below them, ascending, rows[start[s]:start[s+1]];
    parent (S,): supernode of the first row below, -1 at a root; least (S,): first supernode of the
    subtree that ends at s; panel (S + 1,): where the panel of a supernode begins in the factor
    """

    order: Indices
    position: Indices
    first: Indices
    start: Indices
    rows: NDArray[np.int32]
    parent: Indices
    least: Indices
    panel: Indices

    def of_nodes(self, nodes: Indices, count: int) -> "EliminationTree":
        """Tree in the numbering of a matrix of ``count`` nodes.

        The tree was built for the graph of ``nodes`` (N,), ascending.
        """
        order, position = nodes[self.order], np.full(count, -1, np.int64)
        position[order] = np.arange(len(order))
        return self._replace(order=order, position=position)


def analyse(indptr: Indices, indices: Any, order: Indices) -> EliminationTree:
    """Symbolic factorization: elimination tree with supernodes of a symmetric graph.

    Up to equivalent reorderings.
    """
    n = len(order)
    order = np.ascontiguousarray(order, np.int64)
    graph = Graph(indptr, indices, order, np.empty(n, np.int64))
    graph.position[order] = np.arange(n)
    parent = minus_ones(n)
    elimination_tree(graph, parent, minus_ones(n))
    post = _postorder(parent, np.arange(n))
    graph, parent = _reordered(graph, post), _renumbered(parent, post)
    counts = np.ones(n, np.int64)
    column_counts(graph, parent, minus_ones(n), counts)
    peak = np.zeros(n)
    stack_peaks(parent, counts, peak, np.zeros(n))
    post = _postorder(parent, np.argsort(peak, kind="stable"))
    graph, parent, counts = _reordered(graph, post), _renumbered(parent, post), counts[post]
    begin, height = np.empty(n + 1, np.int64), np.empty(n, np.int64)
    children = np.bincount(parent[parent >= 0], minlength=n)
    groups = supernodes(parent, counts, children, begin, height, np.zeros(n))
    first, columns = begin[: groups + 1].copy(), np.diff(begin[: groups + 1])
    below = height[:groups] - columns
    start, owner, above = (
        np.concatenate([[0], np.cumsum(below)]),
        np.repeat(np.arange(groups), columns),
        minus_ones(groups),
    )
    rows = np.empty(start[-1], np.int32)
    panel_rows(
        graph,
        first,
        start,
        owner,
        rows,
        above,
        (minus_ones(groups), minus_ones(groups), minus_ones(n)),
    )
    keys = np.sort(np.repeat(np.arange(groups) * n, below) + rows)
    rows = (keys % n).astype(np.int32)
    panel = np.concatenate([[0], np.cumsum(9 * height[:groups] * columns)])
    return EliminationTree(
        graph.order, graph.position, first, start, rows, above, _first_descendants(above), panel
    )


class Graph(NamedTuple):
    """Symmetric graph in row storage, the elimination order of its nodes, and its inverse."""

    indptr: Any
    indices: Any
    order: Indices
    position: Indices


def minus_ones(n: int) -> Indices:
    """Array of n entries −1."""
    return np.full(n, -1, np.int64)


def _reordered(graph: Graph, post: Indices) -> Graph:
    """Graph with its order composed with another one."""
    order, position = graph.order[post], np.empty(len(post), np.int64)
    position[order] = np.arange(len(post))
    return graph._replace(order=order, position=position)


def _postorder(parent: Indices, ascending: Indices) -> Indices:
    """Postorder of the elimination tree."""
    post = np.empty(len(parent), np.int64)
    postorder(
        parent,
        ascending,
        post,
        (minus_ones(len(parent)), minus_ones(len(parent)), np.empty(len(parent), np.int64)),
    )
    return post


def _renumbered(parent: Indices, post: Indices) -> Indices:
    """Parents in the elimination tree, numbered in postorder."""
    position = np.empty(len(post) + 1, np.int64)
    position[post], position[-1] = np.arange(len(post)), -1
    return position[parent[post]]


def _first_descendants(parent: Indices) -> Indices:
    """First descendant of each node of a postordered tree."""
    size = [1] * len(parent)
    for s, above in enumerate(parent.tolist()):
        if above >= 0:
            size[above] += size[s]
    return np.arange(len(parent)) - np.array(size, np.int64) + 1


@seldom
def elimination_tree(graph: Any, parent: Indices, ancestor: Indices) -> None:
    """parent ← parent of each column in the elimination tree, −1 at roots.

    The first row below the diagonal of the factor. parent, ancestor: −1.
    """
    indptr, indices, order, position = graph
    for i in range(len(order)):
        for q in range(indptr[order[i]], indptr[order[i] + 1]):
            k = position[indices[q]]
            while k != -1 and k < i:
                following = ancestor[k]
                ancestor[k] = i
                if following == -1:
                    parent[k] = i
                k = following


@seldom
def postorder(parent: Indices, ascending: Indices, post: Indices, work: Any) -> None:
    """Write the postorder of the elimination tree to ``post``.

    Every subtree is contiguous and ends with its root; among children the last in ``ascending``
    comes first. work: first child and next sibling (−1), stack.
    """
    head, following, stack = work
    for i in ascending:
        if parent[i] >= 0:
            following[i] = head[parent[i]]
            head[parent[i]] = i
    count = 0
    for root in range(len(parent)):
        if parent[root] != -1:
            continue
        top = 0
        stack[0] = root
        while top >= 0:
            child = head[stack[top]]
            if child == -1:
                post[count] = stack[top]
                count += 1
                top -= 1
            else:
                head[stack[top]] = following[child]
                top += 1
                stack[top] = child


@seldom
def column_counts(graph: Any, parent: Indices, mark: Indices, counts: Indices) -> None:
    """Number of entries in each column of the factor, diagonal included.

    Found by traversing the row subtrees. mark: −1, counts: 1.
    """
    indptr, indices, order, position = graph
    for i in range(len(order)):
        mark[i] = i
        for q in range(indptr[order[i]], indptr[order[i] + 1]):
            k = position[indices[q]]
            while k < i and mark[k] != i:
                mark[k] = i
                counts[k] += 1
                k = parent[k]


@seldom
def stack_peaks(parent: Indices, counts: Indices, peak: Any, kept: Any) -> None:
    """Compute peak minus remaining storage of update matrices for eliminating each subtree.

    Children in optimal order (up to a factor). peak, kept: zero.
    """
    for i in range(len(parent)):
        update = float(counts[i] - 1) * float(counts[i] - 1)
        peak[i] = max(peak[i], kept[i] + update)
        p = parent[i]
        if p >= 0:
            peak[p] = max(peak[p], kept[p] + peak[i])
            kept[p] += update
        peak[i] -= update


@seldom
def supernodes(
    parent: Indices, counts: Indices, children: Indices, begin: Indices, rows: Indices, zeros: Any
) -> int:
    """Group columns into supernodes; their number.

    Chains of columns of equal structure, then merged with the parent while few zeros are added.
    children: number for each column; begin: first column of each supernode and finally one past the
    last; rows: own and below.
    """
    n = len(parent)
    groups = 0
    for j in range(n + 1):
        if (
            j == 0
            or j == n
            or parent[j - 1] != j
            or counts[j] != counts[j - 1] - 1
            or children[j] != 1
        ):
            groups = _merged(begin, groups, j, parent, rows, zeros) if groups > 0 else 0
            begin[groups] = j
            if j < n:
                rows[groups] = counts[j]
                zeros[groups] = 0.0
                groups += 1
    return groups


@part
def _merged(
    begin: Indices, groups: int, end: int, parent: Indices, rows: Indices, zeros: Any
) -> int:
    """Merge the last supernode with its predecessors while profitable; number of groups.

    It ends before ``end``.
    """
    while groups > 1:
        last, child = groups - 1, groups - 2
        if not begin[last] <= parent[begin[last] - 1] < end:
            break
        upper, lower = end - begin[last], begin[last] - begin[child]
        columns, height = upper + lower, rows[last] + lower
        entries = _panel_entries(columns, height)
        extra = (
            zeros[child]
            + zeros[last]
            + entries
            - _panel_entries(lower, rows[child])
            - _panel_entries(upper, rows[last])
        )
        share = extra / entries
        pays = (
            columns <= 4
            or share < 0.05
            or (columns <= 16 and share < 0.5)
            or (columns <= 48 and share < 0.1)
        )
        if not (pays or (height <= 21 and share < 0.7)):
            break
        rows[child] = height
        zeros[child] = extra
        groups -= 1
    return groups


@part
def _panel_entries(columns: int, rows: int) -> float:
    """Number of entries of a trapezoidal panel."""
    return columns * rows - 0.5 * columns * (columns - 1)


@seldom
def panel_rows(
    graph: Any,
    first: Indices,
    start: Indices,
    owner: Indices,
    rows: Any,
    parent: Indices,
    work: Any,
) -> None:
    """Compute the row indices of each supernode's panel, and its parent (−1 at roots).

    The rows exclude its own columns and are unordered.

    owner: supernode of each column; work: first child and next sibling of each supernode, mark of
    each column (−1).
    """
    indptr, indices, order, position = graph
    head, following, mark = work
    for s in range(len(parent)):
        end, k, lowest = first[s + 1], start[s], len(order)
        for j in range(first[s], end):
            for q in range(indptr[order[j]], indptr[order[j] + 1]):
                i = position[indices[q]]
                if i >= end and mark[i] != s:
                    mark[i] = s
                    rows[k] = i
                    k += 1
                    lowest = min(lowest, i)
        c = head[s]
        while c != -1:
            for q in range(start[c], start[c + 1]):
                i = int(rows[q])
                if i >= end and mark[i] != s:
                    mark[i] = s
                    rows[k] = i
                    k += 1
                    lowest = min(lowest, i)
            c = following[c]
        if k > start[s]:
            parent[s] = owner[lowest]
            following[s] = head[parent[s]]
            head[parent[s]] = s
