"""`Cholesky`: the factor of a matrix, computed by subtrees on several threads."""

from typing import final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from preprocess.cholesky.fronts import Matrix
from preprocess.cholesky.solves import backward, forward, gather, scatter
from preprocess.cholesky.subtree import factor_subtree, subtree_stack
from preprocess.cholesky.symbolic import Tree

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class PivotError(Exception):
    """A pivot is not positive (or zero): ``dof`` whose elimination fails, where it is known."""

    def __init__(self, dof: int | None) -> None:
        super().__init__(f"pivot of degree of freedom {dof}")
        self.dof = dof


@final
class Cholesky:
    """Factor of a symmetric matrix (n, n), three degrees of freedom to a node, in the order of a tree."""

    def __init__(self, K: sp.csr_matrix, tree: Tree, *, signed: bool = False) -> None:
        """Raises PivotError where a pivot is not positive, or with ``signed`` where it is zero."""
        self._tree = tree
        n_nodes, supernodes = len(tree.order), len(tree.first) - 1
        self.signs = np.ones(3 * n_nodes, np.int8)
        self._L = np.empty(tree.panel[-1])
        stack = np.empty(subtree_stack(tree, 0, supernodes))
        matrix = Matrix(K.indptr, K.indices, K.data)
        failed = factor_subtree(tree, 0, supernodes, matrix, signed, self._L, self.signs, stack, np.empty(n_nodes, np.int64))
        if failed:
            raise PivotError(3 * int(tree.order[(failed - 1) // 3]) + (failed - 1) % 3)

    @staticmethod
    def bytes_needed(tree: Tree) -> int:
        """Bytes of the factor and of the stack."""
        return 8 * int(tree.panel[-1] + subtree_stack(tree, 0, len(tree.first) - 1))

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
        tree, k = self._tree, loads.shape[1]
        x = np.empty((3 * len(tree.order), k))
        gather(tree.order, loads, x)
        work = np.empty(3 * k * int(np.diff(tree.start).max(initial=0)))
        count = len(tree.first) - 1
        forward(tree, 0, count, self._L, self.signs, x, np.empty(0), work)
        backward(tree, 0, count, self._L, x, work)
        result = np.empty(loads.shape)
        scatter(tree.order, x, result)
        return result
