"""Elimination of one large front by several threads: blocks of its columns, rows and update as separate tasks."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import seldom
from flexmbs._jit.blas import PLAIN, TURNED, add_product
from preprocess.solve.cholesky.fronts import (
    STRIP,
    add_update,
    columns_within,
    factor_below,
    factor_corner,
    load_entries,
    set_front_rows,
)

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
ParallelMap = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], list[Any]]

WIDTH = 192  # columns of a panel eliminated at once
TILE = 384  # rows and columns of the update in one task


@seldom
def locate_front_rows(tree: Any, s: int, front_rows: Any) -> None:
    """Row of each node of supernode s in its front."""
    set_front_rows(tree, s, front_rows)


@seldom
def load_columns(tree: Any, s: int, low: int, high: int, matrix: Any, L: Array, front_rows: Any) -> None:
    """Columns of nodes low … high - 1 of the panel of supernode s with the entries of the matrix."""
    height = 3 * (tree.first[s + 1] - tree.first[s] + tree.start[s + 1] - tree.start[s])
    load_entries(tree, s, low, high, matrix, front_rows, L, tree.panel[s], height)


@seldom
def own_columns(tree: Any, c: int) -> int:
    """Number of nodes in the rows of supernode c that its parent eliminates."""
    return int(columns_within(tree, c))


@seldom
def add_to_panel(tree: Any, c: int, low: int, high: int, front_rows: Any, C: Array, L: Array) -> None:
    """Add the columns of nodes low … high - 1 of the update C of child c to its parent's panel."""
    s = tree.parent[c]
    height = 3 * (tree.first[s + 1] - tree.first[s] + tree.start[s + 1] - tree.start[s])
    add_update(tree, c, low, high, front_rows, C, 0, L, tree.panel[s], height, 0, 0)


@seldom
def add_to_update(tree: Any, c: int, low: int, high: int, front_rows: Any, C: Array, U: Array) -> None:
    """Add the columns of nodes low … high - 1 of the update C of child c to its parent's update."""
    s = tree.parent[c]
    columns, below = 3 * (tree.first[s + 1] - tree.first[s]), 3 * (tree.start[s + 1] - tree.start[s])
    add_update(tree, c, low, high, front_rows, C, 0, U, 0, below, columns, columns)


@seldom
def factor_strip(L: Array, f: int, height: int, first: int, width: int, signed: bool, signs: Any) -> int:
    """Corner of a strip of columns; the number of the pivot that fails, or 0."""
    spare = np.empty(width * (width + STRIP) if signed else 0)
    failed = np.zeros(1, np.int32)
    return int(factor_corner(width, L, f + first * (height + 1), height, signed, signs[first:], spare, failed))


@seldom
def divide_rows(L: Array, f: int, height: int, first: int, width: int, row: int, count: int, signs: Any) -> None:
    """Rows row … row + count - 1 of a strip divided by its corner."""
    factor_below(count, width, L, f + first * (height + 1), height, row - first, signs[first:])


@seldom
def subtract_tile(
    L: Array, f: int, height: int, first: int, width: int, rows: Any, columns: Any, signs: Any, keep: float, U: Array, u: int,
    ldu: int,
) -> None:  # fmt: skip
    """U := keep U − A S Bᵀ for rows and columns (from, number) of the front as rows A, B of the strip; u: offset of the tile."""
    a, b = f + first * height + rows[0], f + first * height + columns[0]
    add_product(rows[1], columns[1], width, -1.0, L, a, height, PLAIN, TURNED, L, b, height, keep, U, u, ldu)
    for j in range(width):
        if signs[first + j] < 0:
            i = j * height
            add_product(rows[1], columns[1], 1, 2.0, L, a + i, height, PLAIN, TURNED, L, b + i, height, 1.0, U, u, ldu)


def factor_panel(L: Array, f: int, columns: int, below: int, signed: bool, signs: Any, parallel_map: ParallelMap) -> int:
    """Eliminate the columns of a panel strip by strip; the number of the pivot that fails, or 0."""
    height = columns + below
    for first in range(0, columns, WIDTH):
        width = min(WIDTH, columns - first)
        failed = factor_strip(L, f, height, first, width, signed, signs)
        if failed:
            return first + int(failed)
        end = first + width
        rows = _pieces(end, height, max(TILE, (height - end) // 8))
        parallel_map(divide_rows, ((L, f, height, first, width, row, count, signs) for row, count in rows))
        rest = _pieces(end, columns, WIDTH)
        parallel_map(
            subtract_tile,
            (
                (L, f, height, first, width, (at, height - at), (at, n), signs, 1.0, L, f + at * (height + 1), height)
                for at, n in rest
            ),
        )
    return 0


def negative_update(L: Array, f: int, columns: int, below: int, signs: Any, U: Array, parallel_map: ParallelMap) -> None:
    """U := − L21 S L21ᵀ, by tiles on and below the diagonal."""
    height = columns + below
    pieces = _pieces(0, below, TILE)
    parallel_map(
        subtract_tile,
        (
            (L, f, height, 0, columns, (columns + i, m), (columns + j, n), signs, 0.0, U, j * below + i, below)
            for j, n in pieces
            for i, m in pieces
            if i >= j
        ),
    )


def column_shares(low: int, high: int, count: int) -> list[tuple[int, int]]:
    """Ranges of the columns low … high - 1 of a lower triangle of ``count`` columns, of about equal area."""
    areas = np.linspace((count - low) ** 2, (count - high) ** 2, 5)
    edges = np.unique(np.rint(count - np.sqrt(areas)).astype(int))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist()))


def _pieces(low: int, high: int, size: int) -> list[tuple[int, int]]:
    """(from, number) of the pieces of low … high."""
    return [(at, min(size, high - at)) for at in range(low, high, size)]
