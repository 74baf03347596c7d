"""Signed block Cholesky factorization of a symmetric quasi-definite matrix, K = L Σ Lᵀ.

The KKT matrix [[T, Gᵀ], [G, 0]] with T positive definite factors without pivoting in any order that
eliminates a constraint node after bodies that give its rows full rank; Σ is +1 on body nodes and −1
on constraint nodes (Vanderbei 1995). Every pivot block is then a small definite matrix. A
constraint row with a vanishing pivot depends on previous rows: the reciprocal of its pivot is set
to zero, which omits the row (its multiplier increment is 0). Within a constraint node, a row with a
small pivot is exchanged for the remaining row with the largest pivot relative to its stiffness: of
two dependent rows, the one with the larger independent part is kept.

Block-sparse storage: the diagonal block of node k (upper triangle, row major) starts at
``diagonal``; the blocks to the right of it, one per later node i that is coupled to k, hold n_k × n_i
numbers from ``place``. The interchanges of a constraint node are stored below its diagonal: row j
with row j + (number at (j + 1, j)).

Source: Golub and Van Loan, Matrix Computations (2013), section 4.2.8 (symmetric pivoting).
"""

import math
from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part

DEPENDENT = 1e-11  # a pivot below this fraction of its row's stiffness marks a dependent row
INDEFINITE = 1e-14  # fraction of the diagonal of a mass matrix; a smaller pivot is round-off
SMALL = 0.01  # fraction of a row's stiffness; if a pivot is smaller, a larger one is searched
ROUND_OFF = 1e-13  # fraction of the stiffness of a row of ones; smaller rows are round-off
LEFT_OUT = 1e200  # stiffness relative to which any pivot is small: the row counts as dependent


class Elimination(NamedTuple):
    """Symbolic factorization: order, sizes and offsets of all blocks; integers."""

    order: np.ndarray  # (nn,) k-th eliminated node
    position: np.ndarray  # (nn,) of a node in this order
    size: np.ndarray  # (nn,)
    sign: np.ndarray  # (nn,) +1 body, −1 constraint
    offset: np.ndarray  # (nn,) in the vector
    diagonal: np.ndarray  # (nn,) offset of the diagonal block
    # (nn+1,) first of a node's blocks, which are in elimination order; they end at the next one's
    column: np.ndarray
    neighbour: np.ndarray  # (nblocks,) later node
    place: np.ndarray  # (nblocks,) offset of a block
    n_values: np.ndarray  # (1,)


@part
def block_place(e, i, j):
    """Offset of block (i, j) of two different coupled nodes, and True if it is stored transposed.

    It is stored transposed if node j is eliminated first.
    """
    flip = e.position[j] < e.position[i]
    a, b = (j, i) if flip else (i, j)
    target = e.position[b]
    lo = e.column[a]
    hi = e.column[a + 1]
    while lo < hi:
        mid = (lo + hi) // 2
        if e.position[e.neighbour[mid]] < target:
            lo = mid + 1
        else:
            hi = mid
    return e.place[lo], flip


@part
def add_block(e, values, i, j, B, factor):
    """values[(i, j)] += factor B, B of shape (n_i, n_j) at least; for i = j the upper triangle."""
    ni = e.size[i]
    nj = e.size[j]
    if i == j:
        at = e.diagonal[i]
        for a in range(ni):
            for c in range(a, ni):
                values[at + a * ni + c] += factor * B[a, c]
        return
    at, flip = block_place(e, i, j)
    if flip:
        for c in range(nj):
            for a in range(ni):
                values[at + c * ni + a] += factor * B[a, c]
    else:
        for a in range(ni):
            for c in range(nj):
                values[at + a * nj + c] += factor * B[a, c]


@part
def _cholesky(values, at, n, sign, stiffness, o):
    """Cholesky factor of a diagonal block in place; dependent rows get zero pivots.

    Returns the number of dependent constraint rows, or −1 if T is not definite. ``stiffness`` of a
    constraint row is replaced by its pivot, 0 for a dependent row; that of a coordinate of a body
    is what other nodes have taken from its diagonal entry.
    """
    dropped = 0
    for j in range(n):
        row = at + j * n
        if sign < 0 and j + 1 < n:
            other = best_row(values, at, n, j, stiffness, o)
            if other != j:
                interchange(values, at, n, j, other)
                stiffness[o + j], stiffness[o + other] = stiffness[o + other], stiffness[o + j]
            values[row + n + j] = other - j
        pivot = sign * values[row + j]
        if sign < 0:
            if pivot <= DEPENDENT * stiffness[o + j]:
                inverse = 0.0
                stiffness[o + j] = 0.0
                dropped += 1
            else:
                inverse = 1.0 / math.sqrt(pivot)
                stiffness[o + j] = pivot
        elif pivot > INDEFINITE * (taken(values, at, n, j) + stiffness[o + j]):
            inverse = 1.0 / math.sqrt(pivot)
        else:
            return -1
        values[row + j] = inverse
        for c in range(j + 1, n):
            values[row + c] *= sign * inverse
        for r in range(j + 1, n):
            f = sign * values[row + r]
            other = at + r * n
            for c in range(r, n):
                values[other + c] -= f * values[row + c]
    if sign < 0:
        for j in range(n - 2, -1, -1):
            other = o + j + int(values[at + (j + 1) * n + j])
            stiffness[o + j], stiffness[other] = stiffness[other], stiffness[o + j]
    return dropped


@part
def taken(values, at, n, j):
    """Sum already subtracted from the diagonal entry of row j by the rows above in its node.

    A pivot as small as the round-off of what its node and others have taken belongs to a direction
    without inertia.
    """
    total = 0.0
    for r in range(j):
        total += values[at + r * n + j] ** 2
    return total


@part
def best_row(values, at, n, j, stiffness, o):
    """Row with the largest pivot to eliminate as j-th of a constraint node.

    Row j itself or, if its pivot is small, the remaining row with the largest pivot relative to its
    stiffness.
    """
    best = j
    most = -values[at + j * (n + 1)]
    if most < SMALL * stiffness[o + j]:
        for r in range(j + 1, n):
            pivot = -values[at + r * (n + 1)]
            if pivot * stiffness[o + best] > most * stiffness[o + r]:
                best = r
                most = pivot
    return best


@part
def interchange(values, at, n, j, r):
    """Exchange rows and columns j < r of the upper triangle at ``at`` and of the factor above."""
    for c in range(j):
        a = at + c * n
        values[a + j], values[a + r] = values[a + r], values[a + j]
    x = at + j * n
    y = at + r * n
    values[x + j], values[y + r] = values[y + r], values[x + j]
    for c in range(j + 1, r):
        a = at + c * n + r
        values[x + c], values[a] = values[a], values[x + c]
    for c in range(r + 1, n):
        values[x + c], values[y + c] = values[y + c], values[x + c]


@part
def without_interchanges(e, values, step):
    """Reset the row interchanges of constraint nodes from ``step`` on."""
    for later in range(step, e.size.shape[0]):
        k = e.order[later]
        n = e.size[k]
        if e.sign[k] < 0:
            for j in range(n - 1):
                values[e.diagonal[k] + (j + 1) * n + j] = 0.0


@part
def _substitute(values, at, n, sign, to, m):
    """B ← sign L⁻¹ B for the n × m block at ``to``, with the diagonal block's interchanges."""
    if sign < 0:
        for j in range(n - 1):
            shift = m * int(values[at + (j + 1) * n + j])
            if shift > 0:
                for c in range(to + j * m, to + (j + 1) * m):
                    values[c], values[c + shift] = values[c + shift], values[c]
    for j in range(n):
        row = at + j * n
        x = to + j * m
        inverse = values[row + j]
        for c in range(m):
            values[x + c] *= inverse
        for r in range(j + 1, n):
            f = values[row + r]
            y = to + r * m
            for c in range(m):
                values[y + c] -= f * values[x + c]
    if sign < 0:
        for c in range(n * m):
            values[to + c] = -values[to + c]


@part
def _schur_update(values, target, left, ml, right, mr, n, sign):
    """C −= sign Lᵀ R: update of block C by blocks L and R of an eliminated node."""
    for a in range(n):
        x = left + a * ml
        y = right + a * mr
        for r in range(ml):
            f = sign * values[x + r]
            row = target + r * mr
            for c in range(mr):
                values[row + c] -= f * values[y + c]


@part
def factorize(e, values, stiffness, left_out):
    """Factor the block matrix in place: LDLᵀ with signs, dependent rows left out.

    Returns the number of dependent constraint rows, or −1 − node for a node at which T is
    indefinite.

    stiffness (n,): on return, the pivot of each constraint row, the square of its part orthogonal
    to the rows before it in the metric T⁻¹; 0 for a dependent row; entries of body coordinates are
    used inside. left_out (n,): 0, or `LEFT_OUT` for rows that count as dependent whatever their
    pivots are.
    """
    for r in range(stiffness.shape[0]):
        stiffness[r] = left_out[r]
    return eliminate(e, values, stiffness)


@called
def eliminate(e, values, stiffness):
    """Factor the remaining nodes in place, as `factorize`, after eliminations elsewhere.

    stiffness (n,): contributions of those bodies to the stiffness of constraint rows; zero if none.
    """
    dropped = 0
    for step in range(e.size.shape[0]):
        k = e.order[step]
        n = e.size[k]
        sign = e.sign[k]
        at = e.diagonal[k]
        count = _cholesky(values, at, n, sign, stiffness, e.offset[k])
        if count < 0:
            without_interchanges(e, values, step)
            return -1 - k
        dropped += count
        lo = e.column[k]
        hi = e.column[k + 1]
        for p in range(lo, hi):
            i = e.neighbour[p]
            ni = e.size[i]
            bi = e.place[p]
            _substitute(values, at, n, sign, bi, ni)
            if sign > 0 and e.sign[i] < 0:
                o = e.offset[i]
                for a in range(n):
                    least = ROUND_OFF * values[at + a * n + a] ** 2
                    for c in range(ni):
                        stiffness[o + c] += values[bi + a * ni + c] ** 2 + least
            elif sign > 0:
                o = e.offset[i]
                for a in range(n):
                    for c in range(ni):
                        stiffness[o + c] += values[bi + a * ni + c] ** 2
        for p in range(lo, hi):
            i = e.neighbour[p]
            ni = e.size[i]
            bi = e.place[p]
            _schur_update(values, e.diagonal[i], bi, ni, bi, ni, n, sign)
            # the later nodes of this front are among those of node i, in the same order
            w = e.column[i]
            if ni == 1 and n == 1 and p + 1 < hi and hi - p - 1 == e.column[i + 1] - w:
                # the nodes are the same: one contiguous row of values
                row = e.place[p + 1]
                width = e.place[hi - 1] + e.size[e.neighbour[hi - 1]] - row
                _schur_update(values, e.place[w], bi, 1, row, width, 1, sign)
                continue
            for r in range(p + 1, hi):
                j = e.neighbour[r]
                while e.neighbour[w] != j:
                    w += 1
                to = e.place[w]
                _schur_update(values, to, bi, ni, e.place[r], e.size[j], n, sign)
    return dropped


@called
def solve(e, values, x):
    """x ← K⁻¹ x by forward and backward substitution."""
    nn = e.size.shape[0]
    for step in range(nn):
        k = e.order[step]
        n = e.size[k]
        at = e.diagonal[k]
        o = e.offset[k]
        if e.sign[k] < 0:
            for j in range(n - 1):
                other = o + j + int(values[at + (j + 1) * n + j])
                x[o + j], x[other] = x[other], x[o + j]
        for j in range(n):
            row = at + j * n
            f = x[o + j] * values[row + j]
            x[o + j] = f
            for c in range(j + 1, n):
                x[o + c] -= values[row + c] * f
        for p in range(e.column[k], e.column[k + 1]):
            i = e.neighbour[p]
            ni = e.size[i]
            to = e.offset[i]
            b = e.place[p]
            for a in range(n):
                f = x[o + a]
                for c in range(ni):
                    x[to + c] -= values[b + a * ni + c] * f
    for step in range(nn - 1, -1, -1):
        k = e.order[step]
        n = e.size[k]
        at = e.diagonal[k]
        o = e.offset[k]
        if e.sign[k] < 0:
            for a in range(n):
                x[o + a] = -x[o + a]
        for p in range(e.column[k], e.column[k + 1]):
            i = e.neighbour[p]
            ni = e.size[i]
            to = e.offset[i]
            b = e.place[p]
            for a in range(n):
                f = 0.0
                for c in range(ni):
                    f += values[b + a * ni + c] * x[to + c]
                x[o + a] -= f
        for j in range(n - 1, -1, -1):
            row = at + j * n
            f = x[o + j]
            for c in range(j + 1, n):
                f -= values[row + c] * x[o + c]
            x[o + j] = f * values[row + j]
        if e.sign[k] < 0:
            for j in range(n - 2, -1, -1):
                other = o + j + int(values[at + (j + 1) * n + j])
                x[o + j], x[other] = x[other], x[o + j]
