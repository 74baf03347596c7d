"""Elimination of a whole subtree, with its updates on a stack."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel
from preprocess.cholesky.fronts import STRIP, add_update, factor_below, factor_corner, load_entries, set_places, subtract_square

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@kernel
def subtree_stack(tree: Any, low: int, high: int) -> int:
    """Entries of the stack that the supernodes low … high - 1, one subtree or several, need."""
    top = peak = 0
    ends = np.zeros(high - low + 1, np.int64)
    for s in range(low, high):
        update = 9 * (tree.start[s + 1] - tree.start[s]) ** 2
        peak = max(peak, top + update)
        top = ends[tree.least[s] - low] + update
        ends[s + 1 - low] = top
    return peak


@kernel
def factor_subtree(
    tree: Any, low: int, high: int, matrix: Any, signed: bool, L: Array, signs: Any, stack: Array, places: Any
) -> int:
    """Factor supernodes low … high - 1 in order; their panels go to L, the updates of the roots stay on the stack.

    Returns 0, or one more than the degree of freedom (in elimination order) whose pivot fails.
    """
    ends = np.zeros(high - low + 1, np.int64)
    widest = 0
    for s in range(low, high):
        widest = max(widest, 3 * (tree.first[s + 1] - tree.first[s]))
    spare = np.empty(widest * (widest + STRIP) if signed else 0)
    pivot = np.zeros(1, np.int32)
    top = 0
    for s in range(low, high):
        columns, below = 3 * (tree.first[s + 1] - tree.first[s]), 3 * (tree.start[s + 1] - tree.start[s])
        height, f, u = columns + below, tree.panel[s], top
        set_places(tree, s, places)
        load_entries(tree, s, matrix, places, L, f, height)
        for k in range(u, u + below * below):
            stack[k] = 0.0
        child = s - 1
        while child >= tree.least[s]:
            begin = ends[tree.least[child] - low]
            add_update(tree, child, 0, tree.start[child + 1] - tree.start[child], places, stack, begin, L, f, stack, u, columns)
            child = tree.least[child] - 1
        own = signs[3 * tree.first[s] :]
        failed = factor_corner(columns, L, f, height, signed, own, spare, pivot)
        if failed != 0:
            return 3 * tree.first[s] + failed
        if below > 0:
            factor_below(below, columns, L, f, height, columns, own)
            subtract_square(below, columns, L, f, height, own, stack, u)
        base = ends[tree.least[s] - low]
        if base < u:
            for k in range(below * below):
                stack[base + k] = stack[u + k]
        top = base + below * below
        ends[s + 1 - low] = top
    return 0
