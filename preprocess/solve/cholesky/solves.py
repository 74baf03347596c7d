"""Forward and backward substitution for blocks of loads.

The loads are stored column by column in elimination order: a panel is read once for all of them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import seldom
from flexmbs._jit.blas import PLAIN, TURNED, Block, add_product, divide_left

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.int64]


def gather(nodes: Indices, low: int, high: int, loads: Array, x: Array) -> None:
    """Columns of nodes low … high - 1 of x (k, N, 3) in the order of elimination, from loads (N, 3, k) of all nodes."""
    x[:, low:high] = loads[nodes[low:high]].transpose(2, 0, 1)


def scatter(nodes: Indices, low: int, high: int, x: Array, loads: Array) -> None:
    """The inverse of `gather`."""
    loads[nodes[low:high]] = x[:, low:high].transpose(1, 2, 0)


@seldom
def forward(tree: Any, span: tuple[int, int], L: Array, signs: Any, x: Array, X: Array, outside: Array, work: Array) -> None:
    """x := S L⁻¹ x over supernodes (from, end), a subtree; contributions to rows beyond it are summed in ``outside`` (k, rows
    of its root).  X: x (k, 3N) in one row; work: 3 × longest rows × k."""
    low, high = span
    k, n = x.shape
    beyond = tree.first[high]
    begin, end = tree.start[high - 1], tree.start[high]
    for s in range(low, high):
        columns, below = 3 * (tree.first[s + 1] - tree.first[s]), 3 * (tree.start[s + 1] - tree.start[s])
        height, f, at = columns + below, tree.panel[s], 3 * tree.first[s]
        own = Block(X, at, n, PLAIN)
        divide_left(columns, k, Block(L, f, height, PLAIN), own)
        add_product((below, k, columns), 1.0, Block(L, f + columns, height, PLAIN), own, 0.0, Block(work, 0, below, PLAIN))
        hint = begin
        for q in range(tree.start[s], tree.start[s + 1]):
            row, source = tree.rows[q], 3 * (q - tree.start[s])
            if row < beyond:
                for c in range(k):
                    for component in range(3):
                        x[c, 3 * row + component] -= work[c * below + source + component]
            else:
                while hint < end and tree.rows[hint] != row:
                    hint += 1
                into = 3 * (hint - begin)
                for c in range(k):
                    for component in range(3):
                        outside[c, into + component] += work[c * below + source + component]
        for j in range(3 * tree.first[s], 3 * tree.first[s + 1]):
            if signs[j] < 0:
                for c in range(k):
                    x[c, j] = -x[c, j]


@seldom
def backward(tree: Any, span: tuple[int, int], L: Array, x: Array, X: Array, work: Array) -> None:
    """x := L⁻ᵀ x over supernodes from the end of the span down, after those above; X: x (k, 3N) in one row."""
    low, high = span
    k, n = x.shape
    for s in range(high - 1, low - 1, -1):
        columns, below = 3 * (tree.first[s + 1] - tree.first[s]), 3 * (tree.start[s + 1] - tree.start[s])
        height, f, at = columns + below, tree.panel[s], 3 * tree.first[s]
        for q in range(tree.start[s], tree.start[s + 1]):
            source, into = 3 * tree.rows[q], 3 * (q - tree.start[s])
            for c in range(k):
                for component in range(3):
                    work[c * below + into + component] = x[c, source + component]
        own = Block(X, at, n, PLAIN)
        add_product((columns, k, below), -1.0, Block(L, f + columns, height, TURNED), Block(work, 0, below, PLAIN), 1.0, own)
        divide_left(columns, k, Block(L, f, height, TURNED), own)


def pass_on(tree: Any, c: int, s: int, left: Array, x: Array, outside: Array) -> None:
    """Contributions of a subtree ending at supernode c (k, rows of c) to the rows beyond it: subtracted from the columns of its
    parent s in x (k, N, 3), added to the contributions of s (k, rows of s) otherwise."""
    rows, above = tree.rows[tree.start[c] : tree.start[c + 1]], tree.rows[tree.start[s] : tree.start[s + 1]]
    own = int(np.searchsorted(rows, tree.first[s + 1]))
    parts = left.reshape(len(x), -1, 3)
    x[:, rows[:own]] -= parts[:, :own]
    outside.reshape(len(x), -1, 3)[:, np.searchsorted(above, rows[own:])] += parts[:, own:]
