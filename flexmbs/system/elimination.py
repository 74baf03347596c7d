"""Symbolic block factorization: which nodes couple, in which order they are eliminated, where
blocks lie.
"""

import numpy as np

from flexmbs.algebra.blocks import (
    COLUMN,
    DIAGONAL,
    OFFSET,
    ORDER,
    POSITION,
    SIGN,
    SIZE,
    UPDATE,
    Elimination,
)


def symbolic(
    sizes: np.ndarray,
    signs: np.ndarray,
    couplings: list[tuple[int, int]],
    after: dict[int, set[int]],
) -> Elimination:
    """Elimination order, fill and block places of a quasi-definite matrix.

    ``sizes``, ``signs`` (+1 bodies, −1 constraints) by node; ``couplings`` the pairs of coupled
    nodes; ``after[k]`` the nodes that must be eliminated before k. Among the admissible nodes the
    one with the smallest front goes first.
    """
    n = len(sizes)
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for i, j in couplings:
        if i != j:
            neighbours[i].add(j)
            neighbours[j].add(i)
    waiting = {k: set(after.get(k, ())) for k in range(n)}
    blocks: dict[int, set[int]] = {}
    for k, needed in waiting.items():
        for before in needed:
            blocks.setdefault(before, set()).add(k)
    ready = {k for k in range(n) if not waiting[k]}
    order: list[int] = []
    columns: list[set[int]] = [set() for _ in range(n)]
    width = [int(size) for size in sizes]
    fronts = [sum(width[i] for i in around) for around in neighbours]
    while ready:
        k = min(ready, key=lambda node: (fronts[node], node))
        ready.remove(k)
        order.append(k)
        front = neighbours[k]
        columns[k] = set(front)
        for i in front:
            neighbours[i].discard(k)
            new = front - neighbours[i]
            new.discard(i)
            neighbours[i] |= new
            fronts[i] += sum(width[j] for j in new) - width[k]
        for later in blocks.get(k, ()):
            waiting[later].discard(k)
            if not waiting[later] and later not in order:
                ready.add(later)
    if len(order) != n:
        raise ValueError("elimination order: circular requirements")
    return _places(np.asarray(sizes), np.asarray(signs), order, columns)


def _places(
    sizes: np.ndarray, signs: np.ndarray, order: list[int], columns: list[set[int]]
) -> Elimination:
    """Offsets of diagonal, off-diagonal and update blocks in the flat value array."""
    n = len(order)
    position = np.empty(n, np.int64)
    position[order] = np.arange(n)
    offset = np.zeros(n, np.int64)
    offset[1:] = np.cumsum(sizes)[:-1]
    diagonal_at = np.zeros(n, np.int64)
    column_at = np.zeros(n + 1, np.int64)
    neighbour: list[int] = []
    block_at: list[int] = []
    place: dict[tuple[int, int], int] = {}
    used = 0
    for k in range(n):
        diagonal_at[k] = used
        place[k, k] = used
        used += int(sizes[k]) ** 2
        for i in sorted(columns[k], key=lambda node: position[node]):
            neighbour.append(i)
            block_at.append(used)
            place[k, i] = used
            used += int(sizes[k] * sizes[i])
        column_at[k + 1] = len(neighbour)
    update_at = np.zeros(n + 1, np.int64)
    targets: list[int] = []
    for k in range(n):
        front = neighbour[column_at[k] : column_at[k + 1]]
        for a, i in enumerate(front):
            targets.extend(place[i, j] for j in front[a:])
        update_at[k + 1] = len(targets)
    node = np.zeros((n + 1, 8), np.int64)
    for column, values in (
        (ORDER, order),
        (POSITION, position),
        (SIZE, sizes),
        (SIGN, signs),
        (OFFSET, offset),
        (DIAGONAL, diagonal_at),
    ):
        node[:n, column] = values
    node[:, COLUMN], node[:, UPDATE] = column_at, update_at
    block = np.array([neighbour, block_at], np.int64).reshape(2, -1).T.copy()
    return Elimination(node, block, np.array(targets, np.int64), np.array([used], np.int64))
