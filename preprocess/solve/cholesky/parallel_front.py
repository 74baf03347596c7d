"""Elimination of one large front by several threads.

Blocks of its columns, rows and update are separate tasks.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import seldom
from flexmbs._jit.blas import PLAIN, TURNED, Block, add_product
from preprocess.solve.cholesky.fronts import (
    STRIP,
    FrontColumns,
    add_update,
    factor_below,
    factor_corner,
    load_entries,
)

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.int64]
ParallelMap = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], list[Any]]

WIDTH = 192  # number of columns of a panel eliminated at once; the corner is factored by one thread
# rows and columns of the update in one task, large enough for efficient matrix products
TILE = 384
Span = tuple[int, int]  # (from, number)


class FrontPanel(NamedTuple):
    """The panel of a large front."""

    L: Array  # the factor
    f: int  # place of its first entry
    columns: int
    height: int
    signs: Any  # (columns,) int8 of its pivots


@seldom
def load_columns(
    tree: Any, s: int, nodes: tuple[int, int], matrix: Any, L: Array, front_rows: Any
) -> None:
    """Load the matrix entries of the nodes (from, end) into the panel of supernode s."""
    height = 3 * (tree.first[s + 1] - tree.first[s] + tree.start[s + 1] - tree.start[s])
    load_entries(tree, s, nodes, matrix, front_rows, FrontColumns(L, tree.panel[s], height, 0, 0))


@seldom
def add_to_panel(
    tree: Any, c: int, nodes: tuple[int, int], front_rows: Any, C: Array, L: Array
) -> None:
    """Add the columns of the nodes (from, end) of the update C of child c to its parent's panel."""
    s = tree.parent[c]
    height = 3 * (tree.first[s + 1] - tree.first[s] + tree.start[s + 1] - tree.start[s])
    add_update(tree, c, nodes, front_rows, (C, 0), FrontColumns(L, tree.panel[s], height, 0, 0))


@seldom
def add_to_update(
    tree: Any, c: int, nodes: tuple[int, int], front_rows: Any, C: Array, U: Array
) -> None:
    """Add the columns of nodes (from, end) of child c's update C to its parent's update."""
    s = tree.parent[c]
    columns, below = (
        3 * (tree.first[s + 1] - tree.first[s]),
        3 * (tree.start[s + 1] - tree.start[s]),
    )
    add_update(tree, c, nodes, front_rows, (C, 0), FrontColumns(U, 0, below, columns, columns))


@seldom
def factor_strip(
    panel: FrontPanel, first: int, width: int, signed: bool, spare: Array, failed: Any
) -> int:
    """Factor the corner of a strip of columns; returns the number of the failing pivot, or 0.

    spare, failed: as in `factor_corner`.
    """
    corner = Block(panel.L, panel.f + first * (panel.height + 1), panel.height, PLAIN)
    return int(factor_corner(width, corner, signed, panel.signs[first:], spare, failed))


@seldom
def divide_rows(panel: FrontPanel, first: int, width: int, row: int, count: int) -> None:
    """Solve rows row … row + count − 1 of a strip with its factored corner."""
    corner = Block(panel.L, panel.f + first * (panel.height + 1), panel.height, PLAIN)
    factor_below(count, width, corner, row - first, panel.signs[first:])


@seldom
def subtract_tile(
    panel: FrontPanel, strip: Span, rows: Span, columns: Span, keep: float, U: Block
) -> None:
    """Compute U := keep U − A S Bᵀ for rows and columns (from, number) of the front.

    A, B are rows of the strip (from, number).
    """
    L, height, signs = panel.L, panel.height, panel.signs
    first, width = strip
    a, b = panel.f + first * height + rows[0], panel.f + first * height + columns[0]
    sizes = rows[1], columns[1], width
    add_product(sizes, -1.0, Block(L, a, height, PLAIN), Block(L, b, height, TURNED), keep, U)
    for j in range(width):
        if signs[first + j] < 0:
            i = j * height
            sizes = rows[1], columns[1], 1
            add_product(
                sizes, 2.0, Block(L, a + i, height, PLAIN), Block(L, b + i, height, TURNED), 1.0, U
            )


def factor_panel(panel: FrontPanel, signed: bool, parallel_map: ParallelMap) -> int:
    """Eliminate the columns of a panel strip by strip.

    Returns the number of the failing pivot, or 0.
    """
    L, f, columns, height = panel.L, panel.f, panel.columns, panel.height
    for first in range(0, columns, WIDTH):
        width = min(WIDTH, columns - first)
        spare = np.empty(width * (width + STRIP) if signed else 0, L.dtype)
        failed = factor_strip(panel, first, width, signed, spare, np.zeros(1, np.int32))
        if failed:
            return first + int(failed)
        end = first + width
        rows = _pieces(end, height, max(TILE, (height - end) // 8))
        parallel_map(divide_rows, ((panel, first, width, row, count) for row, count in rows))
        rest = _pieces(end, columns, WIDTH)
        strip = first, width
        parallel_map(
            subtract_tile,
            (
                (
                    panel,
                    strip,
                    (at, height - at),
                    (at, n),
                    1.0,
                    Block(L, f + at * (height + 1), height, PLAIN),
                )
                for at, n in rest
            ),
        )
    return 0


def negative_update(panel: FrontPanel, U: Array, parallel_map: ParallelMap) -> None:
    """Compute U := − L21 S L21ᵀ, by tiles on and below the diagonal."""
    columns, below = panel.columns, panel.height - panel.columns
    pieces = _pieces(0, below, TILE)
    parallel_map(
        subtract_tile,
        (
            (
                panel,
                (0, columns),
                (columns + i, m),
                (columns + j, n),
                0.0,
                Block(U, j * below + i, below, PLAIN),
            )
            for j, n in pieces
            for i, m in pieces
            if i >= j
        ),
    )


def column_shares(low: int, high: int, count: int) -> list[tuple[int, int]]:
    """Ranges of the columns low … high − 1 of a lower triangle of ``count`` columns.

    All have about the same area.
    """
    areas = np.linspace((count - low) ** 2, (count - high) ** 2, 5)
    edges = np.unique(np.rint(count - np.sqrt(areas)).astype(int))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist()))


def _pieces(low: int, high: int, size: int) -> list[tuple[int, int]]:
    """Ranges (from, number) that cover low … high."""
    return [(at, min(size, high - at)) for at in range(low, high, size)]
