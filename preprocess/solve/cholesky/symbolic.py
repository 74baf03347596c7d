"""Symbolic factorization of a symmetric matrix from its graph.

The elimination tree gives the dependencies between columns. Chains of columns with the same rows below are stored as one dense
panel, a supernode; nearly equal ones are merged, which stores some zeros and saves many small operations.

Sources: Liu, SIAM J. Matrix Anal. Appl. 11 (1990) 134 (elimination tree); Ashcraft, Grimes, ACM TOMS 15 (1989) 291 (merging);
Liu, ACM TOMS 12 (1986) 249 (order of the children for least storage); Davis, Direct Methods for Sparse Linear Systems, ch. 4.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import seldom

Indices = NDArray[np.int64]


class Tree(NamedTuple):
    """Supernodal elimination tree of N nodes with three degrees of freedom each; supernodes in postorder.

    order (N,): the node eliminated k-th; position: its inverse, for every node of the matrix, -1 where it is excluded
    first (S + 1,): supernode s eliminates the nodes order[first[s]:first[s+1]]
    start (S + 1,), rows: positions of the nodes below them, ascending, rows[start[s]:start[s+1]]
    parent (S,): supernode of the first row below, -1 at a root; least (S,): first supernode of the subtree that ends at s
    panel (S + 1,): where the panel of a supernode begins in the factor
    """

    order: Indices
    position: Indices
    first: Indices
    start: Indices
    rows: NDArray[np.int32]
    parent: Indices
    least: Indices
    panel: Indices

    def of_nodes(self, nodes: Indices, count: int) -> "Tree":
        """The same tree where the graph was that of ``nodes`` (N,), ascending, of a matrix of ``count`` nodes."""
        order, position = nodes[self.order], np.full(count, -1, np.int64)
        position[order] = np.arange(len(order))
        return self._replace(order=order, position=position)


def analyse(indptr: Indices, indices: Any, order: Indices) -> Tree:
    """Tree of a symmetric graph (indptr, indices) whose nodes are eliminated in the given order, up to equivalent reorderings."""
    n = len(order)
    order = np.ascontiguousarray(order, np.int64)
    position = np.empty(n, np.int64)
    position[order] = np.arange(n)
    parent = elimination_tree(indptr, indices, order, position)
    post = postorder(parent, np.arange(n))
    order, parent = order[post], _renumbered(parent, post)
    position[order] = np.arange(n)
    counts = column_counts(indptr, indices, order, position, parent)
    post = postorder(parent, np.argsort(stack_peaks(parent, counts), kind="stable"))
    order, parent, counts = order[post], _renumbered(parent, post), counts[post]
    position[order] = np.arange(n)
    first = supernodes(parent, counts)
    start, rows, above = panel_rows(indptr, indices, order, position, first)
    keys = np.sort(np.repeat(np.arange(len(above)) * n, np.diff(start)) + rows)
    rows = (keys % n).astype(np.int32)
    columns, below = 3 * np.diff(first), 3 * np.diff(start)
    panel = np.concatenate([[0], np.cumsum((columns + below) * columns)])
    return Tree(order, position, first, start, rows, above, _first_descendants(above), panel)


def _renumbered(parent: Indices, post: Indices) -> Indices:
    position = np.empty(len(post) + 1, np.int64)
    position[post], position[-1] = np.arange(len(post)), -1
    return position[parent[post]]


def _first_descendants(parent: Indices) -> Indices:
    size = [1] * len(parent)
    for s, above in enumerate(parent.tolist()):
        if above >= 0:
            size[above] += size[s]
    return np.arange(len(parent)) - np.array(size, np.int64) + 1


@seldom
def node_neighbours(indptr: Any, indices: Any, nodes: Indices, number: Indices, offsets: Indices, neighbours: Any) -> int:
    """Graph of some nodes, three rows each, of a matrix in row storage; ``number``: index of each node of the matrix among them,
    or -1.  Fills offsets (n + 1) and, unless it is empty, the neighbours, the node itself included.  Returns their number."""
    seen = np.full(len(nodes), -1, np.int32)
    count = 0
    size = len(indptr) - 1
    for node in range(len(nodes)):
        for row in range(3 * nodes[node], min(3 * nodes[node] + 3, size)):
            for q in range(indptr[row], indptr[row + 1]):
                other = number[indices[q] // 3]
                if other >= 0 and seen[other] != node:
                    seen[other] = node
                    if len(neighbours) > 0:
                        neighbours[count] = other
                    count += 1
        offsets[node + 1] = count
    return count


@seldom
def elimination_tree(indptr: Indices, indices: Any, order: Indices, position: Indices) -> Indices:
    """Parent of each column, -1 at roots: the first row below the diagonal of the factor."""
    n = len(order)
    parent = np.full(n, -1, np.int64)
    ancestor = np.full(n, -1, np.int64)
    for i in range(n):
        for q in range(indptr[order[i]], indptr[order[i] + 1]):
            k = position[indices[q]]
            while k != -1 and k < i:
                following = ancestor[k]
                ancestor[k] = i
                if following == -1:
                    parent[k] = i
                k = following
    return parent


@seldom
def postorder(parent: Indices, ascending: Indices) -> Indices:
    """Postorder: every subtree is contiguous and ends with its root; among children the last in ``ascending`` comes
    first."""
    n = len(parent)
    head = np.full(n, -1, np.int64)
    following = np.full(n, -1, np.int64)
    for i in ascending:
        if parent[i] >= 0:
            following[i] = head[parent[i]]
            head[parent[i]] = i
    post = np.empty(n, np.int64)
    stack = np.empty(n, np.int64)
    count = 0
    for root in range(n):
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
    return post


@seldom
def column_counts(indptr: Indices, indices: Any, order: Indices, position: Indices, parent: Indices) -> Indices:
    """Number of entries in each column of the factor, diagonal included, by walking the row subtrees."""
    n = len(order)
    counts = np.ones(n, np.int64)
    mark = np.full(n, -1, np.int64)
    for i in range(n):
        mark[i] = i
        for q in range(indptr[order[i]], indptr[order[i] + 1]):
            k = position[indices[q]]
            while k < i and mark[k] != i:
                mark[k] = i
                counts[k] += 1
                k = parent[k]
    return counts


@seldom
def stack_peaks(parent: Indices, counts: Indices) -> Any:
    """Peak minus remainder of the storage for eliminating each subtree, children in optimal order (up to a factor)."""
    n = len(parent)
    peak = np.zeros(n)
    kept = np.zeros(n)
    for i in range(n):
        update = float(counts[i] - 1) ** 2
        peak[i] = max(peak[i], kept[i] + update)
        p = parent[i]
        if p >= 0:
            peak[p] = max(peak[p], kept[p] + peak[i])
            kept[p] += update
        peak[i] -= update
    return peak


@seldom
def supernodes(parent: Indices, counts: Indices) -> Indices:
    """First columns (S + 1) of the supernodes: chains of equal structure, then merged with the parent while few zeros are
    added."""
    n = len(parent)
    children = np.zeros(n, np.int64)
    for i in range(n):
        if parent[i] >= 0:
            children[parent[i]] += 1
    begin = np.empty(n + 1, np.int64)
    groups = 0
    rows = np.empty(n, np.int64)
    zeros = np.zeros(n)
    for j in range(n):
        if j == 0 or parent[j - 1] != j or counts[j] != counts[j - 1] - 1 or children[j] != 1:
            groups = _merged(begin, groups, j, parent, rows, zeros) if groups > 0 else 0
            begin[groups] = j
            rows[groups] = counts[j]
            zeros[groups] = 0.0
            groups += 1
    groups = _merged(begin, groups, n, parent, rows, zeros)
    begin[groups] = n
    return begin[: groups + 1].copy()


@seldom
def _merged(begin: Indices, groups: int, end: int, parent: Indices, rows: Indices, zeros: Any) -> int:
    """Number of groups after merging the last one, which ends before ``end``, with its predecessors while profitable."""
    while groups > 1:
        last, child = groups - 1, groups - 2
        if not begin[last] <= parent[begin[last] - 1] < end:
            break
        upper, lower = end - begin[last], begin[last] - begin[child]
        columns, height = upper + lower, rows[last] + lower
        entries = _panel_entries(columns, height)
        extra = zeros[child] + zeros[last] + entries - _panel_entries(lower, rows[child]) - _panel_entries(upper, rows[last])
        share = extra / entries
        pays = columns <= 4 or share < 0.05 or (columns <= 16 and share < 0.5) or (columns <= 48 and share < 0.1)
        if not (pays or (height <= 21 and share < 0.7)):
            break
        rows[child] = height
        zeros[child] = extra
        groups -= 1
    return groups


@seldom
def _panel_entries(columns: int, rows: int) -> float:
    return columns * rows - 0.5 * columns * (columns - 1)


@seldom
def panel_rows(indptr: Indices, indices: Any, order: Indices, position: Indices, first: Indices) -> Any:
    """(start, rows, parent) of the supernodes: rows of the matrix and of the children, without the own columns, unordered."""
    n, count = len(order), len(first) - 1
    owner = np.empty(n, np.int64)
    for s in range(count):
        for j in range(first[s], first[s + 1]):
            owner[j] = s
    head = np.full(count, -1, np.int64)
    following = np.full(count, -1, np.int64)
    parent = np.full(count, -1, np.int64)
    mark = np.full(n, -1, np.int64)
    start = np.zeros(count + 1, np.int64)
    rows = np.empty(max(1024, 4 * n), np.int32)
    for s in range(count):
        end, k = first[s + 1], start[s]
        if k + n - end > len(rows):
            larger = np.empty(2 * len(rows) + n, np.int32)
            for q in range(k):
                larger[q] = rows[q]
            rows = larger
        for j in range(first[s], end):
            for q in range(indptr[order[j]], indptr[order[j] + 1]):
                i = position[indices[q]]
                if i >= end and mark[i] != s:
                    mark[i] = s
                    rows[k] = i
                    k += 1
        c = head[s]
        while c != -1:
            for q in range(start[c], start[c + 1]):
                i = rows[q]
                if i >= end and mark[i] != s:
                    mark[i] = s
                    rows[k] = i
                    k += 1
            c = following[c]
        start[s + 1] = k
        if k > start[s]:
            lowest = n
            for q in range(start[s], k):
                lowest = min(lowest, rows[q])
            parent[s] = owner[lowest]
            following[s] = head[parent[s]]
            head[parent[s]] = s
    return start, rows[: start[count]].copy(), parent
