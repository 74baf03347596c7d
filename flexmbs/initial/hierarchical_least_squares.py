"""Hierarchical least squares: each condition is satisfied as well as the previous ones allow."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

RANK = 1e-11  # of the largest singular value of a condition's matrix


class Condition(NamedTuple):
    """A x = b, in the sense of least squares."""

    A: np.ndarray
    b: np.ndarray


def by_priority(conditions: Sequence[Condition], n: int) -> np.ndarray:
    """Least-squares solution x (n,) of conditions A x = b in order of priority.

    |A x − b| is least for the first condition, among the remaining x for the second, and so on;
    finally |x| is least.
    """
    x, N = np.zeros(n), np.eye(n)
    for A, b in conditions:
        if N.shape[1] == 0:
            break
        if len(b) == 0:
            continue
        if not (np.isfinite(A @ N).all() and np.isfinite(b).all()):  # a search that diverged
            break
        u, size, vt = np.linalg.svd(A @ N)
        rank = int(
            (
                size > RANK * max(float(size.max(initial=0.0)), float(np.abs(A).max(initial=0.0)))
            ).sum()
        )
        x = x + N @ (vt[:rank].T @ ((u[:, :rank].T @ (b - A @ x)) / size[:rank]))
        N = N @ vt[rank:].T
    return x


def root_of(W: np.ndarray) -> np.ndarray:
    """Cholesky root L, L Lᵀ = W, of a positive semidefinite matrix.

    W is slightly raised if it is singular.
    """
    top = float(np.abs(np.diagonal(W)).max(initial=0.0)) or 1.0
    for raised in (0.0, 1e-12, 1e-9, 1e-6):
        try:
            return np.asarray(scipy.linalg.cholesky(W + raised * top * np.eye(len(W)), lower=True))
        except scipy.linalg.LinAlgError:
            continue
    return np.sqrt(top) * np.eye(len(W))
