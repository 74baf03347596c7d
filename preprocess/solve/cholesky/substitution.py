"""Forward and backward substitution for blocks of loads.

The loads are stored row by row in elimination order, with row lengths padded to a multiple of
eight: the panels are read once for all of them, in strips of six columns, or three.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import part, seldom
from flexmbs._jit.simd_rows import (
    EIGHT,
    Eights,
    Lines,
    subtract_one,
    subtract_six,
    subtract_three,
    subtract_turned_one,
    subtract_turned_six,
    subtract_turned_three,
)

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.int64]

STRIP = 6  # number of columns solved at once; their factors stay in registers


class LoadRows(NamedTuple):
    """Loads row by row, (3N k,), and the row length k, a multiple of eight."""

    x: Array
    k: int


def gather(nodes: Indices, low: int, high: int, loads: Array, x: Array) -> None:
    """Copy nodal loads (N, 3, k) to rows low … high − 1 of x in elimination order.

    x: (N, 3, k or more).
    """
    x[low:high, :, : loads.shape[2]] = loads[nodes[low:high]]


def scatter(nodes: Indices, low: int, high: int, x: Array, loads: Array) -> None:
    """Copy rows low … high − 1 of x in elimination order back to nodal arrays (N, 3, k)."""
    loads[nodes[low:high]] = x[low:high, :, : loads.shape[2]]


@part
def solve_lower(width: int, corner: Lines, own: Eights) -> None:
    """Compute x := L⁻¹ x for the rows of a strip, L its lower triangle."""
    L, x = corner.entries, own.entries
    for j in range(width):
        diagonal, row = corner.at + j * (corner.height + 1), own.at + j * own.width
        for q in range(row, row + EIGHT):
            x[q] /= L[diagonal]
        below = Lines(L, diagonal + 1, corner.height)
        subtract_one(
            below, width - 1 - j, Eights(x, row, own.width), Eights(x, row + own.width, own.width)
        )


@part
def solve_lower_transposed(width: int, corner: Lines, own: Eights) -> None:
    """Compute x := L⁻ᵀ x for the rows of a strip."""
    L, x = corner.entries, own.entries
    for j in range(width - 1, -1, -1):
        diagonal, row = corner.at + j * (corner.height + 1), own.at + j * own.width
        below = Lines(L, diagonal + 1, corner.height)
        subtract_turned_one(
            below, width - 1 - j, Eights(x, row + own.width, own.width), Eights(x, row, own.width)
        )
        for q in range(row, row + EIGHT):
            x[q] /= L[diagonal]


@seldom
def forward(
    tree: Any,
    span: tuple[int, int],
    L: Array,
    signs: Any,
    loads: tuple[Array, int],
    outside: Array,
    work: Array,
) -> None:
    """Compute x := S L⁻¹ x over supernodes (from, end), a subtree.

    Contributions to rows beyond it are summed in ``outside``, rows of its root. loads: x (3N k,)
    and the row length k; work: 3 × longest rows × k.
    """
    x, k = loads
    low, high = span
    beyond, begin, end = tree.first[high], tree.start[high - 1], tree.start[high]
    for s in range(low, high):
        columns, below = (
            3 * (tree.first[s + 1] - tree.first[s]),
            3 * (tree.start[s + 1] - tree.start[s]),
        )
        height, f, at = columns + below, tree.panel[s], 3 * tree.first[s]
        for q in range(below * k):
            work[q] = 0.0
        j = 0
        while j < columns:
            width = STRIP if columns - j >= STRIP else 3
            after = j + width
            corner, rest = (
                Lines(L, f + j * (height + 1), height),
                Lines(L, f + j * (height + 1) + width, height),
            )
            last = Lines(L, f + j * height + columns, height)
            for g in range(0, k, EIGHT):
                own, others, left = (
                    Eights(x, k * (at + j) + g, k),
                    Eights(x, k * (at + after) + g, k),
                    Eights(work, g, k),
                )
                solve_lower(width, corner, own)
                if width == STRIP:
                    subtract_six(rest, columns - after, own, others)
                    subtract_six(last, below, own, left)
                else:
                    subtract_three(rest, columns - after, own, others)
                    subtract_three(last, below, own, left)
            j = after
        hint = begin
        for q in range(tree.start[s], tree.start[s + 1]):
            row, source = tree.rows[q], 3 * k * (q - tree.start[s])
            if row < beyond:
                into = 3 * k * row
                for c in range(3 * k):
                    x[into + c] += work[source + c]
            else:
                while hint < end and tree.rows[hint] != row:
                    hint += 1
                into = 3 * k * (hint - begin)
                for c in range(3 * k):
                    outside[into + c] += work[source + c]
        for j in range(at, at + columns):
            if signs[j] < 0:
                for c in range(k * j, k * j + k):
                    x[c] = -x[c]


@seldom
def backward(tree: Any, span: tuple[int, int], L: Array, loads: LoadRows, work: Array) -> None:
    """Compute x := L⁻ᵀ x over supernodes, from the end of the span down.

    The supernodes above come first; work: as in `forward`.
    """
    x, k = loads
    low, high = span
    for s in range(high - 1, low - 1, -1):
        columns, below = (
            3 * (tree.first[s + 1] - tree.first[s]),
            3 * (tree.start[s + 1] - tree.start[s]),
        )
        height, f, at = columns + below, tree.panel[s], 3 * tree.first[s]
        for q in range(tree.start[s], tree.start[s + 1]):
            source, into = 3 * k * tree.rows[q], 3 * k * (q - tree.start[s])
            for c in range(3 * k):
                work[into + c] = x[source + c]
        j = columns
        while j > 0:
            after = j
            width = STRIP if j >= STRIP else 3
            j -= width
            corner, rest = (
                Lines(L, f + j * (height + 1), height),
                Lines(L, f + j * (height + 1) + width, height),
            )
            last = Lines(L, f + j * height + columns, height)
            for g in range(0, k, EIGHT):
                own, others, left = (
                    Eights(x, k * (at + j) + g, k),
                    Eights(x, k * (at + after) + g, k),
                    Eights(work, g, k),
                )
                if width == STRIP:
                    subtract_turned_six(last, below, left, own)
                    subtract_turned_six(rest, columns - after, others, own)
                else:
                    subtract_turned_three(last, below, left, own)
                    subtract_turned_three(rest, columns - after, others, own)
                solve_lower_transposed(width, corner, own)


@seldom
def add_products(
    tree: Any, span: tuple[int, int], L: Array, signs: Any, v: Array, out: Array
) -> None:
    """Compute out := out + L S Lᵀ v for the columns of supernodes (from, end).

    v, out (3N,) in elimination order.
    """
    low, high = span
    for s in range(low, high):
        columns, begin, end = (
            3 * (tree.first[s + 1] - tree.first[s]),
            tree.start[s],
            tree.start[s + 1],
        )
        height, at = columns + 3 * (end - begin), 3 * tree.first[s]
        for j in range(columns):
            top, total = tree.panel[s] + j * height, 0.0
            for i in range(j, columns):
                total += L[top + i] * v[at + i]
            for q in range(begin, end):
                i, row = top + columns + 3 * (q - begin), 3 * tree.rows[q]
                total += L[i] * v[row] + L[i + 1] * v[row + 1] + L[i + 2] * v[row + 2]
            if signs[at + j] < 0:
                total = -total
            for i in range(j, columns):
                out[at + i] += L[top + i] * total
            for q in range(begin, end):
                i, row = top + columns + 3 * (q - begin), 3 * tree.rows[q]
                for c in range(3):
                    out[row + c] += L[i + c] * total


def pass_contributions(tree: Any, c: int, s: int, left: Array, x: Array, outside: Array) -> None:
    """Pass contributions of a subtree ending at supernode c to the rows beyond it.

    They are added to the columns of its parent s in x (N, 3, k) and to the contributions of s.
    """
    rows, above = (
        tree.rows[tree.start[c] : tree.start[c + 1]],
        tree.rows[tree.start[s] : tree.start[s + 1]],
    )
    own = int(np.searchsorted(rows, tree.first[s + 1]))
    parts = left.reshape(-1, *x.shape[1:])
    x[rows[:own]] += parts[:own]
    outside.reshape(-1, *x.shape[1:])[np.searchsorted(above, rows[own:])] += parts[own:]
