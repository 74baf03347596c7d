"""Elimination of a whole subtree, with its updates on two stacks at the ends of one array.

Supernodes use the lower and the upper end alternately down the tree, so that an update never
overlaps those of its children, which are released at the other end as soon as they are added.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import seldom
from flexmbs._jit.blas import PLAIN, Block
from preprocess.solve.cholesky.fronts import (
    STRIP,
    FrontColumns,
    PanelFactor,
    add_update,
    columns_within,
    factor_below,
    factor_corner,
    load_entries,
    negative_square,
    set_front_rows,
)

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.int64]


@seldom
def factor_subtree(
    tree: Any, span: tuple[int, int], matrix: Any, factor: PanelFactor, stack: Array, work: Any
) -> int:
    """Factor supernodes (from, end), a subtree, in order.

    Panels become L, the update of the root moves to the start of the stack. Returns 0, or one more
    than the degree of freedom (in elimination order) whose pivot fails. work: of `workspace`.
    """
    low, high = span
    L, signs, signed = factor.L, factor.signs, factor.signed
    front_rows, at, upper, spare, pivot = work
    for s in range(high - 2, low - 1, -1):
        upper[s - low] = 1 - upper[tree.parent[s] - low]
    bottom, top = 0, len(stack)
    for s in range(low, high):
        columns, below = (
            3 * (tree.first[s + 1] - tree.first[s]),
            3 * (tree.start[s + 1] - tree.start[s]),
        )
        height, f = columns + below, tree.panel[s]
        set_front_rows(tree, s, front_rows)
        panel, corner = FrontColumns(L, f, height, 0, 0), Block(L, f, height, PLAIN)
        load_entries(tree, s, (0, columns // 3), matrix, front_rows, panel)
        child = s - 1
        while child >= tree.least[s]:
            add_update(
                tree,
                child,
                (0, columns_within(tree, child)),
                front_rows,
                (stack, at[child - low]),
                panel,
            )
            child = tree.least[child] - 1
        own = signs[3 * tree.first[s] :]
        failed = factor_corner(columns, corner, signed, own, spare, pivot)
        if failed != 0:
            return 3 * tree.first[s] + failed
        if upper[s - low]:
            top -= below * below
            u = top
        else:
            u = bottom
            bottom += below * below
        if below > 0:
            factor_below(below, columns, corner, columns, own)
            negative_square(below, columns, corner, own, Block(stack, u, below, PLAIN))
        child = s - 1
        while child >= tree.least[s]:
            count = tree.start[child + 1] - tree.start[child]
            update = FrontColumns(stack, u, below, columns, columns)
            add_update(
                tree,
                child,
                (columns_within(tree, child), count),
                front_rows,
                (stack, at[child - low]),
                update,
            )
            if upper[s - low]:
                bottom -= 9 * count * count
            else:
                top += 9 * count * count
            child = tree.least[child] - 1
        at[s - low] = u
    return 0


def workspace(tree: Any, low: int, high: int, signed: bool, precision: Any) -> tuple[Any, ...]:
    """Allocate the workspace of `factor_subtree` for supernodes low … high − 1.

    Rows of the nodes in a front, place of each update and its end of the stack, `factor_corner`'s
    spare entries and pivot.
    """
    widest = 3 * int(np.diff(tree.first[low : high + 1]).max())
    spare = np.empty(widest * (widest + STRIP) if signed else 0, precision)
    at, upper = np.zeros(high - low, np.int64), np.zeros(high - low, np.int8)
    return np.empty(len(tree.order), np.int64), at, upper, spare, np.zeros(1, np.int32)
