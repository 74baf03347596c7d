"""Basis of linearly independent elastic shapes without rigid-body modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.file import MAX_MODES
from preprocess.fe.fe_model import FEModel
from preprocess.reduction.interface_statics import InterfaceStatics

# remainder of a shape relative to its norm √(φᵀMφ), below which round-off dominates
DEPENDENT = 1e-6
# relative remainder of a clearly independent shape: orthogonalization loses at most three digits
_CLEAR = 1e-3
# round-off of a pivot in a Gram matrix per squared coefficient: sums of many terms, hence a
# thousand machine precisions
_ROUND_OFF = 1e3 * np.finfo(float).eps


class ElasticShapes(NamedTuple):
    """M-orthonormal shapes (3N, n) with Rᵀ M Φ = 0.

    The dropped shapes are described in words, such as "3 of 12 constraint modes".
    """

    shapes: FloatArray
    dropped: tuple[str, ...]


def elastic_shapes(statics: InterfaceStatics, blocks: Mapping[str, FloatArray]) -> ElasticShapes:
    """Elastic part ``(1 − R Rᵀ M) φ`` of all linearly independent shapes, M-orthonormal.

    A shape is dropped if its remainder outside the span of the rigid-body modes and the previous
    shapes is below ``DEPENDENT`` of its M-norm, where round-off dominates. Raises InputError for
    too many shapes, and if none is left.
    """
    R, mass, engine = statics.rigid_modes, statics.fe.mass_product, statics.fe.engine
    given = np.hstack(list(blocks.values()))
    if given.shape[1] > MAX_MODES:
        raise InputError(
            f"method: gives {given.shape[1]} shapes; a flexible body has at most {MAX_MODES}"
        )
    norms = np.sqrt(engine.squares(given, mass(given)))
    MR = mass(R)
    given -= R @ engine.inner(MR, given)
    keep, shapes = orthonormal(given, statics.fe, norms)
    if not shapes.shape[1]:
        raise InputError(
            f"method: its {given.shape[1]} shapes are rigid-body modes only; give shapes "
            "that deform the body"
        )
    shapes = statics.admissible(shapes)  # removes round-off of nearly dependent shapes
    shapes -= R @ engine.inner(MR, shapes)
    shapes = _polished(shapes, statics.fe)
    names = np.repeat(list(blocks), [block.shape[1] for block in blocks.values()])
    dropped = tuple(
        f"{np.sum(names[~keep] == name)} of {block.shape[1]} {name}"
        for name, block in blocks.items()
        if name in names[~keep]
    )
    return ElasticShapes(shapes, dropped)


def orthonormal(
    shapes: FloatArray, fe: FEModel, norms: FloatArray, tolerance: float = DEPENDENT
) -> tuple[np.ndarray, FloatArray]:
    """Mask of the shapes (3N, n) kept, and their M-orthonormal span (3N, rank).

    A shape is dropped if its remainder outside the span of the others is below ``tolerance`` times
    its ``norms`` (n,). Shapes with large remainders are orthonormalized at once, by Cholesky
    factors of their Gram matrix; the others are orthogonalized against them and treated in the next
    pass.
    """
    mass, engine = fe.mass_product, fe.engine
    keep, left, found = (
        np.zeros(len(norms), bool),
        np.arange(len(norms)),
        np.zeros((len(shapes), 0)),
    )
    rest, share = shapes / np.where(norms > 0, norms, 1.0), np.ones(len(norms))
    while left.size:
        product = mass(rest)
        size = np.sqrt(np.maximum(engine.squares(rest, product), 0.0))
        share = share * size
        large = share > tolerance
        left, share = left[large], share[large]
        rest, product, size = _columns(rest, large), _columns(product, large), size[large]
        gram = engine.inner(rest, product) / np.outer(size, size)
        rest = rest / size
        chosen = _independent(gram)
        added = _orthonormal(_columns(rest, chosen), gram[np.ix_(chosen, chosen)], fe)
        found = np.hstack([found, added]) if found.size else added
        keep[left[chosen]] = True
        left, rest, share = left[~chosen], rest[:, ~chosen], share[~chosen]
        for _ in range(2 if left.size else 0):
            rest = rest - found @ engine.inner(found, mass(rest))
    return keep, found


def _columns(A: FloatArray, chosen: np.ndarray) -> FloatArray:
    """Columns of a tall matrix, without a copy if all are chosen."""
    return A if chosen.all() else A[:, chosen]


def _polished(shapes: FloatArray, fe: FEModel) -> FloatArray:
    """Re-orthonormalized shapes (3N, n) that are nearly orthonormal."""
    gram = fe.engine.inner(shapes, fe.mass_product(shapes))
    if np.abs(gram - np.eye(len(gram))).max() < _CLEAR:
        return _divided(shapes, gram)
    return orthonormal(shapes, fe, np.ones(len(gram)))[1]


def _orthonormal(shapes: FloatArray, gram: FloatArray, fe: FEModel) -> FloatArray:
    """Orthonormal span of shapes (3N, k) with known Gram matrix (k, k).

    It is computed by the Cholesky factor of this matrix and that of the result.
    """
    if not shapes.shape[1]:
        return shapes
    shapes = _divided(shapes, gram)
    return _divided(shapes, fe.engine.inner(shapes, fe.mass_product(shapes)))


def _divided(shapes: FloatArray, gram: FloatArray) -> FloatArray:
    """Orthonormal shapes Φ L⁻ᵀ from the Cholesky factor of the Gram matrix.

    Raises InputError if it is not positive definite.
    """
    try:
        L = np.linalg.cholesky(0.5 * (gram + gram.T))
    except np.linalg.LinAlgError:
        raise InputError(
            "mass: round-off exceeds the mass of elastic shapes; check point masses, "
            "densities and their units"
        ) from None
    return np.asarray(shapes @ scipy.linalg.solve_triangular(L, np.eye(len(L)), lower=True).T)


def _independent(gram: FloatArray) -> np.ndarray:
    """Mask of the independent rows of a Gram matrix (n, n) of unit vectors.

    A Cholesky factorization skips pivots below _CLEAR², and pivots below their round-off, which
    grows with the coefficients c of the others in the remainder.
    """
    n = len(gram)
    L, keep = np.zeros((n, n)), np.zeros(n, bool)
    for j in range(n):
        done = np.flatnonzero(keep[:j])
        if done.size:
            L[j, done] = scipy.linalg.solve_triangular(
                L[np.ix_(done, done)], gram[done, j], lower=True
            )
        pivot, c = gram[j, j] - L[j, done] @ L[j, done], np.zeros(0)
        if done.size:
            c = scipy.linalg.solve_triangular(
                L[np.ix_(done, done)], L[j, done], lower=True, trans="T"
            )
        if pivot > max(_CLEAR**2, _ROUND_OFF * (c @ c)):
            keep[j] = True
            L[j, j] = np.sqrt(pivot)
    return keep
