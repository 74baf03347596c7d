"""Forward and backward substitution for blocks of loads.

The loads are stored column by column in elimination order: a panel is read once for all of them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import seldom
from flexmbs._jit.blas import PLAIN, TURNED, Block, add_product, divide_left

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@seldom
def gather(order: Indices, low: int, high: int, loads: Array, x: Array) -> None:
    """Columns of nodes low … high - 1 of x (k, 3N) in the order of elimination, from loads (n, k); zero where loads ends."""
    n, k = loads.shape
    for j in range(low, high):
        for component in range(3):
            row = 3 * order[j] + component
            for c in range(k):
                x[c, 3 * j + component] = loads[row, c] if row < n else 0.0


@seldom
def scatter(order: Indices, low: int, high: int, x: Array, loads: Array) -> None:
    """The inverse of `gather`."""
    n, k = loads.shape
    for j in range(low, high):
        for component in range(3):
            row = 3 * order[j] + component
            if row < n:
                for c in range(k):
                    loads[row, c] = x[c, 3 * j + component]


@seldom
def forward(tree: Any, low: int, high: int, L: Array, signs: Any, x: Array, outside: Array, work: Array) -> None:
    """x := S L⁻¹ x over supernodes low … high - 1, a subtree; contributions to rows beyond it are summed in ``outside`` (k, rows
    of its root).  work: 3 × longest rows × k."""
    k, n = x.shape
    X = x.reshape(x.size)
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
def backward(tree: Any, low: int, high: int, L: Array, x: Array, work: Array) -> None:
    """x := L⁻ᵀ x over supernodes high - 1 … low, after those above."""
    k, n = x.shape
    X = x.reshape(x.size)
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


@seldom
def pass_on(tree: Any, c: int, s: int, left: Array, x: Array, outside: Array) -> None:
    """Contributions of a subtree ending at supernode c (k, rows of c) to the rows beyond it: subtracted from the columns of its
    parent s, added to the contributions of s (k, rows of s) otherwise."""
    beyond, at, end = tree.first[s + 1], tree.start[s], tree.start[s + 1]
    for q in range(tree.start[c], tree.start[c + 1]):
        row, source = tree.rows[q], 3 * (q - tree.start[c])
        if row < beyond:
            for k in range(x.shape[0]):
                for component in range(3):
                    x[k, 3 * row + component] -= left[k, source + component]
        else:
            while at < end and tree.rows[at] != row:
                at += 1
            into = 3 * (at - tree.start[s])
            for k in range(x.shape[0]):
                for component in range(3):
                    outside[k, into + component] += left[k, source + component]
