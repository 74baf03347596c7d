"""Division of the elimination into tasks for several threads: whole subtrees below, single large fronts above.

The division depends on the tree alone, so that the factor is the same to the last bit on any number of threads.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preprocess.cholesky.subtree import subtree_stack
from preprocess.cholesky.symbolic import Tree

Indices = NDArray[np.int64]
Array = NDArray[np.float64]

SHARE = 1 / 24  # of all operations that a subtree may hold
LEAST = 3e7  # operations below which dividing does not pay


class Step(NamedTuple):
    """Supernodes low … high - 1: a subtree that one thread eliminates, or one front that all threads share; entries of the
    subtree's stack and of its root's update."""

    low: int
    high: int
    shared: bool
    stack: int
    update: int


def operations(tree: Tree) -> Array:
    """Multiplications and additions that each supernode takes."""
    n, m = 3.0 * np.diff(tree.first), 3.0 * np.diff(tree.start)
    return np.asarray(n**3 / 3 + n * n * m + n * m * m)


def steps(tree: Tree) -> list[list[Step]]:
    """Rounds of steps in the order of elimination: the subtrees of one round go at the same time, a shared front goes alone."""
    own = operations(tree)
    done = np.concatenate([[0.0], np.cumsum(own)])
    whole = done[1:] - done[tree.least]
    limit = max(SHARE * done[-1], LEAST)
    rounds: list[list[Step]] = [[]]
    s = len(own) - 1
    found: list[Step] = []
    while s >= 0:
        shared = bool(whole[s] > limit)
        low = s if shared else int(tree.least[s])
        update = 9 * int(tree.start[s + 1] - tree.start[s]) ** 2
        found.append(Step(low, s + 1, shared, update if shared else int(subtree_stack(tree, low, s + 1)), update))
        s = low - 1
    for step in reversed(found):
        if step.shared:
            rounds += [[step], []]
        else:
            rounds[-1].append(step)
    return [each for each in rounds if each]


def peak_entries(tree: Tree, rounds: list[list[Step]], threads: int) -> int:
    """Entries of updates and stacks in use at the worst moment, besides the factor."""
    held: dict[int, int] = {}
    peak = 0
    for each in rounds:
        running = sorted((step.stack for step in each), reverse=True)[:threads]
        finished = sum(step.update for step in each)
        peak = max(peak, sum(held.values()) + sum(running) + (0 if each[0].shared else finished))
        for step in each:
            if step.shared:
                for child in children(tree, step.high - 1):
                    del held[child]
            held[step.high - 1] = step.update
    return peak


def children(tree: Tree, s: int) -> list[int]:
    """Children of supernode s, the last first."""
    found = []
    child = s - 1
    while child >= tree.least[s]:
        found.append(child)
        child = int(tree.least[child]) - 1
    return found
