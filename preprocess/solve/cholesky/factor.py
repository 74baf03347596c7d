"""Numeric Cholesky factorization by several threads.

`Cholesky`: stored factor and its application; `TransientFactor`: signs of the pivots.
"""

from abc import ABC, abstractmethod
from threading import Lock
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit.simd_rows import whole_eights
from flexmbs.errors import InputError
from preprocess.solve.cholesky.fronts import FrontMatrix, PanelFactor
from preprocess.solve.cholesky.parallel_front import (
    FrontPanel,
    add_to_panel,
    add_to_update,
    column_shares,
    factor_panel,
    load_columns,
    negative_update,
)
from preprocess.solve.cholesky.schedule import (
    EliminationStep,
    children,
    columns_in_parent,
    front_rows,
    peak_entries,
    runs,
    steps_of,
    substitution_steps,
)
from preprocess.solve.cholesky.substitution import (
    LoadRows,
    add_products,
    backward,
    forward,
    gather,
    pass_contributions,
    scatter,
)
from preprocess.solve.cholesky.subtree import factor_subtree, workspace
from preprocess.solve.cholesky.symbolic import EliminationTree
from preprocess.solve.threads import Threads

Array = NDArray[np.float64]
Entries = NDArray[np.floating[Any]]
Precision = type[np.float64] | type[np.float32]
Indices = NDArray[np.int64]

STREAMED = 1 / 64  # of all operations that a subtree may hold whose panels are dropped
# entries of arrays beyond which allocating them takes little of the time of the work in them
KEPT = 1e8
BLOCK = 8192  # number of nodes whose loads one task reorders: about a megabyte for eight loads


class PivotError(Exception):
    """Exception for a pivot that is not positive (or is zero).

    ``dof``: degree of freedom whose elimination fails, if known.
    """

    def __init__(self, dof: int | None) -> None:
        super().__init__(f"pivot of degree of freedom {dof}")
        self.dof = dof


class ArrayPool:
    """Pool of flat arrays of one precision for reuse.

    Allocating memory costs as much as the computation in it.
    """

    def __init__(self, precision: Precision) -> None:
        self._precision, self._lock, self._free = precision, Lock(), list[Entries]()

    def take(self, size: int) -> Entries:
        """Uninitialized array of at least the given size."""
        with self._lock:
            fitting = [k for k, each in enumerate(self._free) if size <= len(each) <= 2 * size]
            if fitting:
                return self._free.pop(min(fitting, key=lambda k: len(self._free[k])))
        return np.empty(size, self._precision)

    def give(self, array: Entries) -> None:
        """Return an array to the pool for reuse."""
        if len(array) <= KEPT:
            with self._lock:
                self._free.append(array)


class Elimination(ABC):
    """Elimination of a symmetric matrix (n, n) in the order of a tree.

    Three degrees of freedom per node.
    """

    AHEAD = True  # whether subtrees are eliminated ahead of fronts, which takes memory

    def __init__(
        self, size: int, tree: EliminationTree, signed: bool, precision: Precision
    ) -> None:
        self._tree, self._signed, self._size, self._precision = tree, signed, size, precision
        self._threads = Threads()
        self.signs = np.ones(3 * len(tree.order), np.int8)

    @abstractmethod
    def _room(self, step: EliminationStep, pool: ArrayPool) -> tuple[EliminationTree, Entries]:
        """Storage for the panels of a step, and the tree with their offsets there."""

    @abstractmethod
    def _finished(
        self, step: EliminationStep, tree: EliminationTree, L: Entries, pool: ArrayPool
    ) -> None:
        """Hook called when the panels of a step, and those below them, are complete."""

    def _eliminate(self, K: sp.csr_matrix, steps: list[EliminationStep]) -> None:
        """Factor the matrix by running the steps in order, partly in parallel.

        Subsequent subtrees fill the threads that a front leaves idle, unless `AHEAD` is False.

        Subsequent subtrees fill the threads that a front leaves idle, unless `AHEAD` is False.
        Raises PivotError.
        """
        matrix, pool = FrontMatrix(K.indptr, K.indices, K.data), ArrayPool(self._precision)
        updates: dict[int, Entries] = {}
        with self._threads as threads:
            for run in runs(steps, self.AHEAD):
                subtrees = threads.ahead(
                    self._subtree, ((step, matrix, pool) for step in run if not step.shared)
                )
                for step in run:
                    updates[step.high - 1] = (
                        self._front(step, matrix, updates, pool) if step.shared else next(subtrees)
                    )

    def _subtree(self, step: EliminationStep, matrix: FrontMatrix, pool: ArrayPool) -> Entries:
        """Factor a subtree; returns the update of its root."""
        tree, L = self._room(step, pool)
        stack, work = (
            pool.take(step.stack),
            workspace(tree, step.low, step.high, self._signed, L.dtype),
        )
        factor = PanelFactor(L, self.signs, self._signed)
        self._check(factor_subtree(tree, (step.low, step.high), matrix, factor, stack, work))
        self._finished(step, tree, L, pool)
        # a copy in its own size, so that the much larger stack is free for the next subtree
        update = pool.take(step.update)
        update[: step.update] = stack[: step.update]
        pool.give(stack)
        return update

    def _front(
        self,
        step: EliminationStep,
        matrix: FrontMatrix,
        updates: dict[int, Entries],
        pool: ArrayPool,
    ) -> Entries:
        """Factor one front on all threads; returns its update."""
        (tree, L), s, parallel_map = self._room(step, pool), step.low, self._threads.parallel_map
        own, below, f = (
            int(tree.first[s + 1] - tree.first[s]),
            3 * int(tree.start[s + 1] - tree.start[s]),
            int(tree.panel[s]),
        )
        places, parts = front_rows(tree, s), []
        parallel_map(
            load_columns,
            (
                (tree, s, nodes, matrix, L, places)
                for nodes in column_shares(0, own, own + below // 3)
            ),
        )
        for c in children(tree, s):
            C, count, split = (
                updates.pop(c),
                int(tree.start[c + 1] - tree.start[c]),
                columns_in_parent(tree, c),
            )
            parallel_map(
                add_to_panel,
                ((tree, c, nodes, places, C, L) for nodes in column_shares(0, split, count)),
            )
            parts.append((c, C, column_shares(split, count, count)))
        first = 3 * int(tree.first[s])
        panel = FrontPanel(L, f, 3 * own, 3 * own + below, self.signs[first : first + 3 * own])
        failed = factor_panel(panel, self._signed, parallel_map)
        self._check(first + failed if failed else 0)
        U = pool.take(below * below)
        negative_update(panel, U, parallel_map)
        # the rest of the children's updates only now: `negative_update` overwrites U
        for c, C, shares in parts:
            parallel_map(add_to_update, ((tree, c, nodes, places, C, U) for nodes in shares))
            pool.give(C)
        self._finished(step, tree, L, pool)
        return U

    def _check(self, failed: int) -> None:
        """Raise `PivotError` with the degree of freedom of a failed pivot."""
        if failed:
            raise PivotError(3 * int(self._tree.order[(failed - 1) // 3]) + (failed - 1) % 3)


@final
class Cholesky(Elimination):
    """Factor of a symmetric matrix."""

    def __init__(
        self,
        K: sp.csr_matrix,
        tree: EliminationTree,
        *,
        signed: bool = False,
        panels: Entries | None = None,
        precision: Precision = np.float64,
    ) -> None:
        """Factor a symmetric matrix along an elimination tree.

        panels: of the same positive definite matrix and tree, computed before. precision: of the
        factor and of all operations on it. Raises PivotError if a pivot is not positive, or with
        ``signed`` if it is zero; InputError if the panels do not fit.
        """
        super().__init__(K.shape[0], tree, signed, precision)
        self._plan = substitution_steps(tree)
        self._L = np.empty(tree.panel[-1], precision) if panels is None else _fitting(panels, tree)
        if panels is None:
            self._eliminate(K, steps_of(tree))

    def _room(self, step: EliminationStep, pool: ArrayPool) -> tuple[EliminationTree, Entries]:
        """Elimination tree and memory for a step: that of the whole factor."""
        return self._tree, self._L

    def _finished(
        self, step: EliminationStep, tree: EliminationTree, L: Entries, pool: ArrayPool
    ) -> None:
        """Keep the finished panels."""

    @staticmethod
    def bytes_needed(tree: EliminationTree, precision: Precision = np.float64) -> int:
        """Bytes of the factor and of the workspace."""
        return np.dtype(precision).itemsize * int(
            tree.panel[-1] + peak_entries(tree, steps_of(tree), Threads().count, Cholesky.AHEAD)
        )

    def pivots(self) -> Array:
        """Sizes of the pivots (n,) in the order of the matrix; infinite outside the tree."""
        tree, n = self._tree, 3 * len(self._tree.order)
        columns = 3 * np.diff(tree.first)
        height = columns + 3 * np.diff(tree.start)
        owner = np.repeat(np.arange(len(columns)), columns)
        diagonal = self._L[
            tree.panel[owner] + (np.arange(n) - 3 * tree.first[owner]) * (height[owner] + 1)
        ]
        result = np.full((len(tree.position), 3), np.inf)
        result[tree.order] = (diagonal**2).reshape(-1, 3)
        return result.ravel()[: self._size]

    @property
    def panels(self) -> Entries:
        """Entries of all panels, by supernode."""
        return self._L

    @property
    def nnz(self) -> int:
        """Entries of the panels."""
        return len(self._L)

    def solve(self, loads: Array) -> Array:
        """Solution x = K⁻¹ b for loads b (n, k), zero at nodes outside the tree."""
        tree, plan, n, k = self._tree, self._plan, *loads.shape
        count, width, precision = len(tree.position), whole_eights(k), self._L.dtype
        given = loads if n == 3 * count else np.vstack([loads, np.zeros((3 * count - n, k))])
        result = np.zeros((3 * count, k))
        x = np.zeros((len(tree.order), 3, width), precision)
        flat = LoadRows(x.reshape(-1), width)
        outside = [np.empty(0, precision)] * len(plan.steps)

        def forwards(at: int) -> None:
            """Forward substitution of the step ``at`` with the sums of its children."""
            step = plan.steps[at]
            outside[at] = np.zeros(int(np.sqrt(step.update)) * width, precision)
            for child in plan.children[at]:
                pass_contributions(
                    tree,
                    plan.steps[child].high - 1,
                    step.high - 1,
                    outside[child],
                    x,
                    outside[at],
                )
            forward(
                tree,
                (step.low, step.high),
                self._L,
                self.signs,
                flat,
                outside[at],
                self._work(step, width),
            )

        def backwards(at: int) -> None:
            """Backward substitution of the step ``at``."""
            step = plan.steps[at]
            backward(tree, (step.low, step.high), self._L, flat, self._work(step, width))

        blocks = [
            (low, min(low + BLOCK, len(tree.order))) for low in range(0, len(tree.order), BLOCK)
        ]
        with self._threads as threads:
            threads.parallel_map(
                gather, ((tree.order, *block, given.reshape(count, 3, k), x) for block in blocks)
            )
            threads.in_dependency_order(forwards, plan.children)
            threads.in_dependency_order(backwards, plan.parents)
            threads.parallel_map(
                scatter, ((tree.order, *block, x, result.reshape(count, 3, k)) for block in blocks)
            )
        return result[:n]

    def _work(self, step: EliminationStep, width: int) -> Entries:
        """Work array for a substitution step."""
        return np.empty(
            3 * width * int(np.diff(self._tree.start[step.low : step.high + 1]).max()),
            self._L.dtype,
        )


@final
class TransientFactor(Elimination):
    """Negative pivots of a symmetric matrix A (n, n), and F = BᵀA⁻¹B for columns B (n, k).

    Each panel is discarded after its use. With ``L S Lᵀ = A`` and ``Z = L⁻¹ B``, F = ZᵀSZ; a column
    of L is needed for the forward substitution only. backward_error: the largest ``|(A − L S Lᵀ) v|
    / (|A| |v|)`` of a random v, by row.
    """

    AHEAD = False

    def __init__(self, A: sp.csr_matrix, tree: EliminationTree, B: Array) -> None:
        """Factor a matrix without storing the factor. Raises PivotError for a zero pivot."""
        super().__init__(A.shape[0], tree, True, np.float64)
        self._steps, self._lock = steps_of(tree, STREAMED), Lock()
        self._width, self._outside = whole_eights(B.shape[1]), dict[int, Array]()
        self._x = np.zeros((len(tree.order), 3, self._width))
        self._x[:, :, : B.shape[1]] = self._ordered(B)
        v = np.random.default_rng(0).standard_normal((A.shape[0], 1))
        self._v, self._product = self._ordered(v).ravel(), np.zeros(3 * len(tree.order))
        self._room_of = _rooms(tree, self._steps)
        self._eliminate(A, self._steps)
        x = self._x.reshape(-1, self._width)[:, : B.shape[1]]
        self.form = np.asarray((x * self.signs[:, None]).T @ x)
        inside = np.zeros(A.shape[0])
        inside[self._rows] = v[self._rows, 0]
        error = np.abs((A @ inside)[self._rows] - self._product[self._places])
        self.backward_error = float((error / (abs(A) @ np.abs(inside))[self._rows]).max())

    @property
    def negative(self) -> int:
        """Number of negative eigenvalues of A (Sylvester's law of inertia)."""
        return int((self.signs < 0).sum())

    @property
    def _places(self) -> NDArray[np.bool_]:
        """Mask of the rows in elimination order that are rows of A."""
        return np.asarray((3 * self._tree.order[:, None] + np.arange(3)).ravel() < self._size)

    @property
    def _rows(self) -> Indices:
        """Rows of A in the order of elimination."""
        return np.asarray((3 * self._tree.order[:, None] + np.arange(3)).ravel()[self._places])

    def _ordered(self, B: Array) -> Array:
        """Rows of the nodes (N, 3, k) in the order of elimination."""
        found = np.zeros((3 * len(self._tree.order), B.shape[1]))
        found[self._places] = B[self._rows]
        return found.reshape(len(self._tree.order), 3, B.shape[1])

    def _room(self, step: EliminationStep, pool: ArrayPool) -> tuple[EliminationTree, Entries]:
        """Elimination tree and memory for a step, taken from the pool."""
        tree = self._tree
        return tree._replace(panel=tree.panel - tree.panel[step.low]), pool.take(
            self._room_of[step.shared]
        )

    def _finished(
        self, step: EliminationStep, tree: EliminationTree, L: Entries, pool: ArrayPool
    ) -> None:
        """Overwrite x by S L⁻¹ B in the rows of a step, and add its part of L S Lᵀ v."""
        root, span = step.high - 1, (step.low, step.high)
        work = np.empty(3 * self._width * int(np.diff(tree.start[step.low : step.high + 1]).max()))
        outside, product = (
            np.zeros(int(np.sqrt(step.update)) * self._width),
            np.zeros(len(self._product)),
        )
        for child in children(tree, root) if step.shared else ():
            pass_contributions(tree, child, root, self._outside.pop(child), self._x, outside)
        forward(
            tree, span, L, self.signs, LoadRows(self._x.reshape(-1), self._width), outside, work
        )
        add_products(tree, span, L, self.signs, self._v, product)
        pool.give(L)
        with self._lock:
            self._outside[root] = outside
            self._product += product

    @staticmethod
    def bytes_needed(tree: EliminationTree, columns: int) -> int:
        """Bytes of the workspace with the solutions for ``columns`` of B, which is copied."""
        steps, threads = steps_of(tree, STREAMED), Threads().count
        of_subtree, of_front = _rooms(tree, steps)
        solutions = 2 * 3 * len(tree.order) * whole_eights(columns)
        work = peak_entries(tree, steps, threads, TransientFactor.AHEAD) + max(
            threads * of_subtree, of_front
        )
        return 8 * (work + solutions)


def _rooms(tree: EliminationTree, steps: list[EliminationStep]) -> tuple[int, int]:
    """Sizes of the panels of the largest subtree and of the largest front."""
    subtree, front = (
        max((_span(tree, step) for step in steps if step.shared == shared), default=0)
        for shared in (False, True)
    )
    return subtree, front


def _span(tree: EliminationTree, step: EliminationStep) -> int:
    """Number of entries in the panels of a step."""
    return int(tree.panel[step.high] - tree.panel[step.low])


def _fitting(panels: Entries, tree: EliminationTree) -> Entries:
    """Validate stored panels of the factor. Raises `InputError` if they are damaged."""
    if len(panels) != tree.panel[-1] or not np.isfinite(panels).all():
        raise InputError(
            f"factor: has {len(panels)} finite entries instead of {tree.panel[-1]}, it is "
            "damaged; remove its file"
        )
    return panels
