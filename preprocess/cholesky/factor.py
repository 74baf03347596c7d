"""`Cholesky`: the factor of a matrix, computed and used by several threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from preprocess.cholesky.fronts import Matrix
from preprocess.cholesky.schedule import Step, children, peak_entries, steps
from preprocess.cholesky.shared import add_columns, column_shares, factor_panel, load_front, subtract_update
from preprocess.cholesky.solves import backward, forward, gather, scatter, subtract_outside
from preprocess.cholesky.subtree import factor_subtree
from preprocess.cholesky.symbolic import Tree

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class PivotError(Exception):
    """A pivot is not positive (or zero): ``dof`` whose elimination fails, where it is known."""

    def __init__(self, dof: int | None) -> None:
        super().__init__(f"pivot of degree of freedom {dof}")
        self.dof = dof


class Threads:
    """As many threads as the dense linear algebra would use, which is kept to one thread meanwhile: calls for small fronts that
    wait for other threads take several times as long."""

    def __init__(self) -> None:
        self._blas = ThreadpoolController().select(user_api="blas")
        self.count = max((library["num_threads"] for library in self._blas.info()), default=1)

    def __enter__(self) -> "Threads":
        self._limit = self._blas.limit(limits=1)
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None
        return self

    def __exit__(self, *failure: object) -> None:
        self._limit.restore_original_limits()
        if self._pool is not None:
            self._pool.shutdown()

    def together(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Results of the function for the arguments of each task, in order."""
        if self._pool is None:
            return [function(*task) for task in tasks]
        return list(self._pool.map(lambda task: function(*task), tasks))


@final
class Cholesky:
    """Factor of a symmetric matrix (n, n), three degrees of freedom to a node, in the order of a tree."""

    def __init__(self, K: sp.csr_matrix, tree: Tree, *, signed: bool = False) -> None:
        """Raises PivotError where a pivot is not positive, or with ``signed`` where it is zero."""
        self._tree, self._signed = tree, signed
        self._rounds = steps(tree)
        self._threads = Threads()
        self.signs = np.ones(3 * len(tree.order), np.int8)
        self._L = np.empty(tree.panel[-1])
        matrix = Matrix(K.indptr, K.indices, K.data)
        updates: dict[int, Array] = {}
        with self._threads as threads:
            for steps_ in self._rounds:
                if steps_[0].shared:
                    updates[steps_[0].low] = self._front(steps_[0].low, matrix, updates)
                else:
                    found = threads.together(self._subtree, ((step, matrix) for step in steps_))
                    updates |= {step.high - 1: update for step, update in zip(steps_, found)}

    def _subtree(self, step: Step, matrix: Matrix) -> Array:
        """Update of the root of a subtree, its panels being computed."""
        stack, places = np.empty(step.stack), np.empty(len(self._tree.order), np.int64)
        self._check(factor_subtree(self._tree, step.low, step.high, matrix, self._signed, self._L, self.signs, stack, places))
        return stack[: step.update].copy()

    def _front(self, s: int, matrix: Matrix, updates: dict[int, Array]) -> Array:
        """Update of a front that all threads share."""
        tree, L, together = self._tree, self._L, self._threads.together
        columns, below = 3 * int(tree.first[s + 1] - tree.first[s]), 3 * int(tree.start[s + 1] - tree.start[s])
        places, U, f = np.empty(len(tree.order), np.int64), np.zeros(below * below), int(tree.panel[s])
        load_front(tree, s, matrix, L, places)
        for c in children(tree, s):
            C = updates.pop(c)
            shares = column_shares(int(tree.start[c + 1] - tree.start[c]))
            together(add_columns, ((tree, c, low, high, places, C, L, U) for low, high in shares))
        first = 3 * int(tree.first[s])
        signs = self.signs[first : first + columns]
        failed = factor_panel(L, f, columns, below, self._signed, signs, together)
        self._check(first + failed if failed else 0)
        subtract_update(L, f, columns, below, signs, U, together)
        return U

    def _check(self, failed: int) -> None:
        if failed:
            raise PivotError(3 * int(self._tree.order[(failed - 1) // 3]) + (failed - 1) % 3)

    @staticmethod
    def bytes_needed(tree: Tree) -> int:
        """Bytes of the factor and of the work space."""
        return 8 * int(tree.panel[-1] + peak_entries(tree, steps(tree), Threads().count))

    def pivots(self) -> Array:
        """Sizes of the pivots (n,), in the order of the matrix."""
        tree, n = self._tree, 3 * len(self._tree.order)
        columns = 3 * np.diff(tree.first)
        height = columns + 3 * np.diff(tree.start)
        owner = np.repeat(np.arange(len(columns)), columns)
        diagonal = self._L[tree.panel[owner] + (np.arange(n) - 3 * tree.first[owner]) * (height[owner] + 1)]
        result = np.empty((n // 3, 3))
        result[tree.order] = (diagonal**2).reshape(-1, 3)
        return result.ravel()

    @property
    def nnz(self) -> int:
        """Entries of the panels."""
        return len(self._L)

    def solve(self, loads: Array) -> Array:
        """x = K⁻¹ b for loads b (n, k)."""
        tree = self._tree
        x, result = np.empty((loads.shape[1], 3 * len(tree.order))), np.empty(loads.shape)
        gather(tree.order, loads, x)
        with self._threads as threads:
            for each in self._rounds:
                found = threads.together(self._forward, ((step, x) for step in each))
                for step, outside in zip(each, found):
                    subtract_outside(tree, step.high - 1, outside, x)
            for each in reversed(self._rounds):
                threads.together(self._backward, ((step, x) for step in each))
        scatter(tree.order, x, result)
        return result

    def _forward(self, step: Step, x: Array) -> Array:
        """What the substitution in a subtree leaves for the rows beyond it."""
        outside = np.zeros((len(x), int(np.sqrt(step.update))))
        forward(self._tree, step.low, step.high, self._L, self.signs, x, outside, self._work(step, x))
        return outside

    def _backward(self, step: Step, x: Array) -> None:
        backward(self._tree, step.low, step.high, self._L, x, self._work(step, x))

    def _work(self, step: Step, x: Array) -> Array:
        return np.empty(3 * len(x) * int(np.diff(self._tree.start[step.low : step.high + 1]).max()))
