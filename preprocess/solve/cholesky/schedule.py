"""Division of the elimination into tasks for several threads.

Whole subtrees are tasks of one thread; large fronts above them are shared by all threads.

The division depends only on the tree, so that the factor is bitwise identical for any number of
threads.
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preprocess.solve.cholesky.symbolic import EliminationTree

Indices = NDArray[np.int64]
Array = NDArray[np.float64]

# largest fraction of all operations in one subtree, small enough to balance the threads of a
# workstation
SHARE = 1 / 6
# number of operations below which there is no division: a hundredth of a second of work
LEAST = 3e7
PART, LEAST_ENTRIES = 1 / 8, 1e6  # the same for substitutions: entries of the factor


class EliminationStep(NamedTuple):
    """Supernodes low … high − 1: a subtree for one thread, or one front shared by all threads.

    Entries of the subtree's stack and of its root's update.
    """

    low: int
    high: int
    shared: bool
    stack: int
    update: int


def operations(tree: EliminationTree) -> Array:
    """Number of floating-point operations of each supernode."""
    n, m = 3.0 * np.diff(tree.first), 3.0 * np.diff(tree.start)
    return np.asarray(n**3 / 3 + n * n * m + n * m * m)


def division(tree: EliminationTree, work: Array, limit: float) -> list[EliminationStep]:
    """Divide the elimination into steps: subtrees and single fronts, in order.

    Subtrees whose work is at most the limit, and the fronts above them.
    """
    done = np.concatenate([[0.0], np.cumsum(work)])
    whole = done[1:] - done[tree.least]
    in_use, kept = _updates_in_use(tree)
    s = len(work) - 1
    found: list[EliminationStep] = []
    while s >= 0:
        shared = bool(whole[s] > limit)
        low = s if shared else int(tree.least[s])
        update = 9 * int(tree.start[s + 1] - tree.start[s]) ** 2
        found.append(
            EliminationStep(
                low,
                s + 1,
                shared,
                update if shared else int(in_use[low : s + 1].max() - kept[low]),
                update,
            )
        )
        s = low - 1
    return found[::-1]


def _updates_in_use(tree: EliminationTree) -> tuple[Indices, Indices]:
    """Entries of the updates in use during and before the elimination of each supernode.

    The supernodes are in order; the updates of the children are released after it.
    """
    own: Indices = 9 * np.diff(tree.start) ** 2
    child = np.flatnonzero(tree.parent >= 0)
    released = np.zeros(len(own), np.int64)
    np.add.at(released, tree.parent[child], own[child])
    kept: Indices = np.cumsum(own - released) - (own - released)
    return kept + own, kept


def steps_of(tree: EliminationTree, share: float = SHARE) -> list[EliminationStep]:
    """Steps of the factorization: subtrees for one thread each, then fronts.

    share: largest fraction of all operations in a subtree.
    """
    own = operations(tree)
    return division(tree, own, max(share * own.sum(), LEAST))


class SubstitutionSteps(NamedTuple):
    """Steps of a substitution, the steps each depends on (children), and its dependents."""

    steps: list[EliminationStep]
    children: list[list[int]]
    parents: list[list[int]]


def substitution_steps(tree: EliminationTree) -> SubstitutionSteps:
    """Steps of a substitution, one thread each."""
    entries = np.diff(tree.panel).astype(float)
    found = division(tree, entries, max(PART * entries.sum(), LEAST_ENTRIES))
    number = {step.high - 1: k for k, step in enumerate(found)}
    below = [
        [number[c] for c in reversed(children(tree, step.high - 1))] if step.shared else []
        for step in found
    ]
    above = [
        [number[int(tree.parent[step.high - 1])]] if tree.parent[step.high - 1] >= 0 else []
        for step in found
    ]
    return SubstitutionSteps(found, below, above)


def runs(steps: list[EliminationStep], ahead: bool) -> list[list[EliminationStep]]:
    """Groups of successive steps whose subtrees may be eliminated ahead of the fronts among them.

    All steps, or groups without fronts.
    """
    return (
        [steps]
        if ahead
        else [list(each) for _, each in itertools.groupby(steps, key=lambda step: step.shared)]
    )


def peak_entries(
    tree: EliminationTree, steps: list[EliminationStep], threads: int, ahead: bool
) -> int:
    """Peak number of entries of updates and stacks in use, besides the factor.

    One subtree per thread runs at a time.
    """
    held: dict[int, int] = {}
    peak = 0
    for run in runs(steps, ahead):
        left = [step for step in run if not step.shared]
        for step in run:
            own, others = (step.update, threads - 1) if step.shared else (0, threads)
            peak = max(
                peak,
                sum(held.values()) + own + sum(each.stack + each.update for each in left[:others]),
            )
            if step.shared:
                for child in children(tree, step.high - 1):
                    del held[child]
            else:
                del left[0]
            held[step.high - 1] = step.update
    return peak


def columns_in_parent(tree: EliminationTree, c: int) -> int:
    """Number of nodes in the rows of supernode c that its parent eliminates."""
    beyond = tree.first[tree.parent[c] + 1]
    return int(np.searchsorted(tree.rows[tree.start[c] : tree.start[c + 1]], beyond))


def front_rows(tree: EliminationTree, s: int) -> Indices:
    """Row of each node (N,) in the front of supernode s, by position; arbitrary outside it."""
    result = np.empty(len(tree.order), np.int64)
    columns = tree.first[s + 1] - tree.first[s]
    below = tree.rows[tree.start[s] : tree.start[s + 1]]
    result[tree.first[s] : tree.first[s + 1]] = 3 * np.arange(columns)
    result[below] = 3 * (columns + np.arange(len(below)))
    return result


def children(tree: EliminationTree, s: int) -> list[int]:
    """Children of supernode s, the last first."""
    found = []
    child = s - 1
    while child >= tree.least[s]:
        found.append(child)
        child = int(tree.least[child]) - 1
    return found
