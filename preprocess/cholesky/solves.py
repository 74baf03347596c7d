"""Substitution with the panels of the factor for blocks of loads.

The k loads of a node's degree of freedom stand side by side, so that a panel is read once for all of them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel
from flexmbs._jit.blas import PLAIN, TURNED, add_product, divide_right

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@kernel
def gather(order: Indices, loads: Array, x: Array) -> None:
    """x (3N, k) in the order of elimination from loads (n, k), n ≤ 3N; zero where loads ends."""
    n, k = loads.shape
    for j in range(len(order)):
        for component in range(3):
            row = 3 * order[j] + component
            for c in range(k):
                x[3 * j + component, c] = loads[row, c] if row < n else 0.0


@kernel
def scatter(order: Indices, x: Array, loads: Array) -> None:
    """The inverse of `gather`."""
    n, k = loads.shape
    for j in range(len(order)):
        for component in range(3):
            row = 3 * order[j] + component
            if row < n:
                for c in range(k):
                    loads[row, c] = x[3 * j + component, c]


@kernel
def forward(tree: Any, low: int, high: int, L: Array, signs: Any, x: Array, outside: Array, work: Array) -> None:
    """x := S L⁻¹ x over supernodes low … high - 1, a subtree; what falls on rows beyond it is summed in ``outside``, in the order
    of the rows of its root.  work: 3 × longest rows × k."""
    k = x.shape[1]
    X = x.reshape(x.size)
    beyond = tree.first[high]
    begin, end = tree.start[high - 1], tree.start[high]
    for s in range(low, high):
        columns, below = 3 * (tree.first[s + 1] - tree.first[s]), 3 * (tree.start[s + 1] - tree.start[s])
        height, f, at = columns + below, tree.panel[s], 3 * tree.first[s] * k
        divide_right(k, columns, L, f, height, TURNED, X, at, k)
        if below > 0:
            add_product(k, below, columns, 1.0, X, at, k, TURNED, L, f + columns, height, 0.0, work, 0, k)
            hint = begin
            for q in range(tree.start[s], tree.start[s + 1]):
                row, source = tree.rows[q], 3 * (q - tree.start[s]) * k
                if row < beyond:
                    into = 3 * row * k
                    for c in range(3 * k):
                        X[into + c] -= work[source + c]
                else:
                    while hint < end and tree.rows[hint] != row:
                        hint += 1
                    into = 3 * (hint - begin) * k
                    for c in range(3 * k):
                        outside[into + c] += work[source + c]
        for j in range(columns):
            if signs[3 * tree.first[s] + j] < 0:
                for c in range(k):
                    X[at + j * k + c] = -X[at + j * k + c]


@kernel
def backward(tree: Any, low: int, high: int, L: Array, x: Array, work: Array) -> None:
    """x := L⁻ᵀ x over supernodes high - 1 … low, those above being done."""
    k = x.shape[1]
    X = x.reshape(x.size)
    for s in range(high - 1, low - 1, -1):
        columns, below = 3 * (tree.first[s + 1] - tree.first[s]), 3 * (tree.start[s + 1] - tree.start[s])
        height, f, at = columns + below, tree.panel[s], 3 * tree.first[s] * k
        if below > 0:
            for q in range(tree.start[s], tree.start[s + 1]):
                source, into = 3 * tree.rows[q] * k, 3 * (q - tree.start[s]) * k
                for c in range(3 * k):
                    work[into + c] = X[source + c]
            add_product(k, columns, below, -1.0, work, 0, k, PLAIN, L, f + columns, height, 1.0, X, at, k)
        divide_right(k, columns, L, f, height, PLAIN, X, at, k)


@kernel
def apply_outside(tree: Any, s: int, outside: Array, x: Array) -> None:
    """Subtract what a subtree ending at supernode s left for the rows beyond it."""
    k = x.shape[1]
    for q in range(tree.start[s], tree.start[s + 1]):
        for component in range(3):
            for c in range(k):
                x[3 * tree.rows[q] + component, c] -= outside[(3 * (q - tree.start[s]) + component) * k + c]
