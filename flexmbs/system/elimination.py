"""Symbolic block factorization: coupling of nodes, elimination order, places of the blocks.

Nodes with the same neighbours are treated together, as one class: the bodies of an unbranched part
of a tree, whose blocks of the mass matrix are full, cost no more than one node.

Source: George and Liu, SIAM Review 31 (1989) 1 (indistinguishable nodes, minimum degree).
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from flexmbs.algebra.blocks import (
    Elimination,
)


def symbolic(
    sizes: np.ndarray,
    signs: np.ndarray,
    coupled: Iterable[Sequence[int]],
    after: Mapping[int, set[int]],
) -> Elimination:
    """Elimination order, fill and block places of a quasi-definite matrix.

    sizes, signs: by node, sign +1 for bodies, −1 for constraints. coupled: groups of mutually
    coupled nodes. after: after[k] are the nodes that must be eliminated before k. Among the
    admissible nodes the one with the smallest front goes first.
    """
    class_of, members, neighbours = _classes(len(sizes), coupled)
    width = [int(size) for size in sizes]
    left = [sum(width[k] for k in nodes) for nodes in members]  # not yet eliminated, by class
    count = [len(nodes) for nodes in members]
    # sizes of the nodes coupled to a class and of its own
    reach = [left[c] + sum(left[d] for d in around) for c, around in enumerate(neighbours)]
    waiting = {k: set(needed) for k, needed in after.items() if needed}
    followers: dict[int, list[int]] = {}
    for k, needed in waiting.items():
        for before in needed:
            followers.setdefault(before, []).append(k)
    # in a class, the widest node has the smallest front
    ready: list[list[tuple[int, int]]] = [[] for _ in members]
    best: list[tuple[int, int, int]] = []  # front, node and class; outdated entries are skipped

    def offer(c: int) -> None:
        """Offer the best pivot of column c to the queue."""
        if ready[c]:
            largest, k = ready[c][0]
            heapq.heappush(best, (reach[c] + largest, k, c))

    for k in range(len(sizes)):
        if k not in waiting:
            heapq.heappush(ready[class_of[k]], (-width[k], k))
    for c in range(len(members)):
        offer(c)
    order: list[int] = []
    fronts: list[list[int]] = [[] for _ in sizes]  # classes coupled to a node at its elimination
    while best:
        front, k, c = heapq.heappop(best)
        if not ready[c] or ready[c][0][1] != k or front != reach[c] - width[k]:
            continue
        heapq.heappop(ready[c])
        order.append(k)
        left[c] -= width[k]
        count[c] -= 1
        around = neighbours[c]
        for d in around:
            new = around - neighbours[d]
            new.discard(d)
            neighbours[d] |= new
            reach[d] += sum(left[e] for e in new) - width[k]
            if count[c] == 0:
                neighbours[d].discard(c)
        reach[c] -= width[k]
        fronts[k] = [*around, c] if count[c] else list(around)
        freed = [later for later in followers.get(k, ()) if _freed(waiting[later], k)]
        for later in freed:
            heapq.heappush(ready[class_of[later]], (-width[later], later))
        for d in {c, *around, *(class_of[later] for later in freed)}:
            offer(d)
    if len(order) != len(sizes):
        raise ValueError("elimination order: circular requirements")
    return _places(np.asarray(sizes), np.asarray(signs), order, members, fronts)


def _freed(waiting: set[int], k: int) -> bool:
    """Remove node k from a waiting set; True if the set becomes empty."""
    waiting.discard(k)
    return not waiting


def _classes(
    n: int, coupled: Iterable[Sequence[int]]
) -> tuple[list[int], list[list[int]], list[set[int]]]:
    """(class of each node, nodes of each class, coupled classes) of nodes in the same groups.

    The class of each node, the nodes of each class, and the classes coupled to each class.
    """
    groups = [set(group) for group in coupled]
    within: list[list[int]] = [[] for _ in range(n)]
    for g, group in enumerate(groups):
        if len(group) > 1:
            for k in group:
                within[k].append(g)
    numbers: dict[tuple[int, ...], int] = {}
    class_of: list[int] = []
    members: list[list[int]] = []
    for k, own in enumerate(within):
        # nodes without groups are not coupled to each other
        c = numbers.setdefault(tuple(own) or (-1 - k,), len(members))
        if c == len(members):
            members.append([])
        members[c].append(k)
        class_of.append(c)
    neighbours: list[set[int]] = [set() for _ in members]
    for group in groups:
        around = {class_of[k] for k in group}
        for c in around:
            neighbours[c] |= around
    for c, coupled_to in enumerate(neighbours):
        coupled_to.discard(c)
    return class_of, members, neighbours


def _places(
    sizes: np.ndarray,
    signs: np.ndarray,
    order: list[int],
    members: list[list[int]],
    fronts: list[list[int]],
) -> Elimination:
    """Offsets of diagonal and off-diagonal blocks in the flat value array."""
    n = len(order)
    ordered = np.array(order, np.int64)
    position = np.empty(n, np.int64)
    position[ordered] = np.arange(n)
    offset = np.zeros(n, np.int64)
    offset[1:] = np.cumsum(sizes)[:-1]
    places = [np.sort(position[nodes]) for nodes in members]
    columns = [
        np.sort(
            np.concatenate(
                [ordered[:0]]
                + [own[np.searchsorted(own, at, "right") :] for own in (places[c] for c in front)]
            )
        )
        for at, front in zip(position, fronts)
    ]
    neighbour = ordered[np.concatenate([ordered[:0], *columns])]
    column_at = np.concatenate(
        [[0], np.cumsum([len(column) for column in columns], dtype=np.int64)]
    )
    of_node = np.repeat(np.arange(n), np.diff(column_at))
    # the diagonal block of each node comes before its others
    numbers = np.zeros(len(neighbour) + n, np.int64)
    diagonal = column_at[:n] + np.arange(n)
    others = np.ones(len(numbers), bool)
    others[diagonal] = False
    numbers[diagonal] = sizes**2
    numbers[others] = sizes[of_node] * sizes[neighbour]
    ends = np.cumsum(numbers)
    begun = ends - numbers
    return Elimination(
        ordered,
        position,
        np.array(sizes, np.int64),
        np.array(signs, np.int64),
        offset,
        begun[diagonal],
        column_at,
        neighbour,
        begun[others],
        np.array(ends[-1:] if n else [0], np.int64),
    )
