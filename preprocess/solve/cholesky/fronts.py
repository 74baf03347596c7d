"""Elimination of one supernode.

Its front assembles matrix entries and the children's updates, is factored, and leaves an update:

    front = [A11  ·  ]      A11 = L11 S L11ᵀ,  L21 = A21 L11⁻ᵀ S,  update = A22 − L21 S L21ᵀ
            [A21  A22]

S = diag(±1) holds the signs of the pivots, all +1 for a positive definite matrix; [L11; L21] is the
supernode's panel. Source: Duff, Reid, ACM TOMS 9 (1983) 302 (multifrontal method).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import part
from flexmbs._jit.blas import (
    PLAIN,
    TURNED,
    Block,
    add_product,
    add_square,
    cholesky_in_place,
    divide_right,
)

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.int64]
STRIP = 64  # number of columns eliminated at once if pivots of both signs occur
TINY = 1e-300  # pivots below it are zero; guards against division by zero and denormal numbers


class FrontMatrix(NamedTuple):
    """Symmetric matrix in CSR storage, both triangles."""

    indptr: Any
    indices: Any
    values: Array


class PanelFactor(NamedTuple):
    """Factor under construction: its panels one after the other, and the signs of its pivots."""

    L: Array
    signs: Any  # (3N,) int8
    signed: bool  # pivots of both signs are allowed


class FrontColumns(NamedTuple):
    """Columns of a front in a flat array, column by column."""

    entries: Array
    at: int  # place of the first entry
    height: int  # leading dimension
    top: int  # row and column of the front that the first entry has
    left: int


@part
def set_front_rows(tree: Any, s: int, front_rows: Any) -> None:
    """Row of each node of supernode s in its front."""
    columns = tree.first[s + 1] - tree.first[s]
    for j in range(columns):
        front_rows[tree.first[s] + j] = 3 * j
    low = tree.start[s]
    for q in range(low, tree.start[s + 1]):
        front_rows[tree.rows[q]] = 3 * (columns + q - low)


@part
def load_entries(
    tree: Any, s: int, nodes: tuple[int, int], matrix: Any, front_rows: Any, panel: FrontColumns
) -> None:
    """Load the matrix entries into the panel of supernode s, columns of its nodes (from, end).

    Zero, then the matrix's entries on and below its diagonal; ones if a third row is missing. Nodes
    outside the tree have position −1.
    """
    low, high = nodes
    F, f, height = panel.entries, panel.at, panel.height
    size = len(matrix.indptr) - 1
    first = tree.first[s]
    for k in range(f + 3 * low * height, f + 3 * high * height):
        F[k] = 0.0
    for j in range(first + low, first + high):
        for component in range(3):
            row, column = 3 * tree.order[j] + component, 3 * (j - first) + component
            top = f + column * height
            if row >= size:
                F[top + column] = 1.0
                continue
            for q in range(matrix.indptr[row], matrix.indptr[row + 1]):
                node = matrix.indices[q] // 3
                i = tree.position[node]
                if i >= j:
                    F[top + front_rows[i] + matrix.indices[q] - 3 * node] += matrix.values[q]


@part
def columns_within(tree: Any, c: int) -> int:
    """Number of nodes in the rows of supernode c that its parent eliminates."""
    low, high, beyond = tree.start[c], tree.start[c + 1], tree.first[tree.parent[c] + 1]
    count = 0
    while low + count < high and tree.rows[low + count] < beyond:
        count += 1
    return count


@part
def add_update(
    tree: Any,
    c: int,
    nodes: tuple[int, int],
    front_rows: Any,
    update: tuple[Array, int],
    front: FrontColumns,
) -> None:
    """Add columns of the update of child c to the lower triangle of its parent's front.

    Those of the nodes (from, end) of its rows; update: flat array and place of its first entry, its
    upper triangle is not set.
    """
    low, high = nodes
    C, at = update
    F, f, height, top, left = front.entries, front.at, front.height, front.top, front.left
    begin = tree.start[c]
    count = tree.start[c + 1] - begin
    for b in range(low, high):
        target = front_rows[tree.rows[begin + b]] - left
        for k in range(3):
            source, into = at + (3 * b + k) * 3 * count, f + (target + k) * height - top
            for component in range(k, 3):
                F[into + target + left + component] += C[source + 3 * b + component]
            for a in range(b + 1, count):
                i, e = into + front_rows[tree.rows[begin + a]], source + 3 * a
                F[i] += C[e]
                F[i + 1] += C[e + 1]
                F[i + 2] += C[e + 2]


@part
def signed_cholesky(n: int, corner: Block, signs: Any, W: Array) -> int:
    """Factor A = L S Lᵀ of the corner (n, n) without pivoting, strip by strip.

    Returns the number of the first zero pivot, or 0. W: STRIP × n.
    """
    A, a, lda = corner.entries, corner.at, corner.height
    for first in range(0, n, STRIP):
        end = min(first + STRIP, n)
        for j in range(first, end):
            for k in range(first, j):
                scaled = signs[k] * A[a + k * lda + j]
                for i in range(j, n):
                    A[a + j * lda + i] -= scaled * A[a + k * lda + i]
            pivot = A[a + j * lda + j]
            if not abs(pivot) > TINY:
                return j + 1
            signs[j] = 1 if pivot > 0.0 else -1
            root = np.sqrt(abs(pivot))
            A[a + j * lda + j] = root
            for i in range(j + 1, n):
                A[a + j * lda + i] *= signs[j] / root
        rest = n - end
        for k in range(first, end):
            for i in range(rest):
                W[(k - first) * rest + i] = signs[k] * A[a + k * lda + end + i]
        for low in range(0, rest, STRIP):  # by strips of columns: half the work of the full square
            width, height = min(STRIP, rest - low), rest - low
            below = Block(A, a + first * lda + end + low, lda, PLAIN)
            target = Block(A, a + (end + low) * (lda + 1), lda, PLAIN)
            add_product(
                (height, width, end - first), -1.0, below, Block(W, low, rest, TURNED), 1.0, target
            )
    return 0


@part
def factor_corner(
    n: int, corner: Block, signed: bool, signs: Any, spare: Array, failed: Any
) -> int:
    """Factor A11 = L11 S L11ᵀ of the corner (n, n) in place; signs (n,) of the pivots.

    Positive pivots are tried first; with ``signed``, ``spare`` of n (n + STRIP) entries saves A11.
    """
    F, f, height = corner.entries, corner.at, corner.height
    for j in range(n):
        signs[j] = 1
        if signed:
            for i in range(j, n):
                spare[j * n + i] = F[f + j * height + i]
    cholesky_in_place(n, corner, failed)
    if failed[0] == 0 or not signed:
        return failed[0]
    for j in range(n):
        for i in range(j, n):
            F[f + j * height + i] = spare[j * n + i]
    return signed_cholesky(n, corner, signs, spare[n * n :])


@part
def factor_below(m: int, n: int, corner: Block, at: int, signs: Any) -> None:
    """Solve L21 = A21 L11⁻ᵀ S for m rows of the panel from row ``at``.

    Below the factored corner (n, n).
    """
    F, f, height = corner.entries, corner.at, corner.height
    divide_right(m, n, Block(F, f, height, TURNED), Block(F, f + at, height, PLAIN))
    for j in range(n):
        if signs[j] < 0:
            for i in range(m):
                F[f + j * height + at + i] = -F[f + j * height + at + i]


@part
def negative_square(m: int, n: int, corner: Block, signs: Any, U: Block) -> None:
    """Compute U := − L21 S L21ᵀ (m, m), lower triangle.

    First as if all pivots were positive, then twice the negative ones are added back. L21 (m, n) is
    below the corner (n, n).
    """
    F, f, height = corner.entries, corner.at, corner.height
    add_square(m, n, -1.0, Block(F, f + n, height, PLAIN), 0.0, U)
    for j in range(n):
        if signs[j] < 0:
            add_square(m, 1, 2.0, Block(F, f + j * height + n, height, PLAIN), 1.0, U)
