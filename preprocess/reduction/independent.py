"""Independent shapes: what is left of a basis without rigid-body motion and without shapes that others already hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body import FloatArray
from preprocess.reduction.statics import InterfaceStatics

DEPENDENT = 1e-6  # share of a shape, in the norm √(φᵀMφ), that others must leave of it for it to count


class ElasticShapes(NamedTuple):
    """M-orthonormal shapes (3N, n) with Rᵀ M Φ = 0, and the shapes left out, as "3 of 12 constraint modes"."""

    shapes: FloatArray
    dropped: tuple[str, ...]


def elastic_shapes(statics: InterfaceStatics, blocks: Mapping[str, FloatArray]) -> ElasticShapes:
    """Elastic part ``(1 − R Rᵀ M) φ`` of all shapes, M-orthonormal, those left out that depend on the ones before.

    A shape is dropped where less than ``DEPENDENT`` of its M-norm is left outside the span of the rigid-body motions and the
    shapes before it: such a remainder is dominated by round-off.  Raises InputError when nothing is left.
    """
    R, mass = statics.rigid_modes, statics.fe.mass_product
    given = np.hstack(list(blocks.values()))
    norms = np.sqrt(np.einsum("ik,ik->k", given, mass(given)))
    elastic = given - R @ (mass(R).T @ given)
    keep, shapes = orthonormal(elastic, mass, norms)
    if not shapes.shape[1]:
        raise InputError(f"method: its {given.shape[1]} shapes are rigid-body motions alone; give shapes that deform the body")
    shapes = statics.admissible(shapes)  # without what round-off has let in where shapes are nearly dependent
    shapes = shapes - R @ (mass(R).T @ shapes)
    shapes = orthonormal(shapes, mass, np.ones(shapes.shape[1]))[1]
    names = np.repeat(list(blocks), [block.shape[1] for block in blocks.values()])
    dropped = tuple(
        f"{np.sum(names[~keep] == name)} of {block.shape[1]} {name}" for name, block in blocks.items() if name in names[~keep]
    )
    return ElasticShapes(shapes, dropped)


def orthonormal(
    shapes: FloatArray, mass: Callable[[FloatArray], FloatArray], norms: FloatArray, tolerance: float = DEPENDENT
) -> tuple[np.ndarray, FloatArray]:
    """Which of the shapes (3N, n) are kept, and their M-orthonormal span (3N, rank), in order.

    A shape goes when its remainder outside the span of those before is below ``tolerance`` times its ``norms`` (n,).
    """
    scale = np.where(norms > 0, norms, 1.0)
    unit = shapes / scale
    keep = _kept(unit.T @ mass(unit), tolerance)
    unit = unit[:, keep]
    for _ in range(2 if unit.shape[1] else 0):
        gram = unit.T @ mass(unit)
        L = np.linalg.cholesky(0.5 * (gram + gram.T))
        unit = scipy.linalg.solve_triangular(L, unit.T, lower=True).T
    return keep, np.asarray(unit)


def _kept(gram: FloatArray, tolerance: float) -> np.ndarray:
    """Rows of a Gram matrix (n, n) that a Cholesky factorization keeps when it skips pivots below tolerance²."""
    n = len(gram)
    L, keep = np.zeros((n, n)), np.zeros(n, bool)
    for j in range(n):
        row = L[:j][keep[:j]][:, :j][:, keep[:j]]
        done = np.flatnonzero(keep[:j])
        if done.size:
            L[j, done] = scipy.linalg.solve_triangular(row, gram[done, j], lower=True)
        pivot = gram[j, j] - L[j, done] @ L[j, done]
        if pivot > tolerance**2:
            keep[j] = True
            L[j, j] = np.sqrt(pivot)
    return keep
