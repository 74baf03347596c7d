"""Branches of modes over a parameter.

Modes at successive values are paired by the modal assurance criterion.

    MAC(φ, ψ) = |φᴴψ|² / (φᴴφ ψᴴψ),    pairs: max Σ MAC (Hungarian method)

For modes with equal eigenvalues, the shapes are arbitrary vectors of a subspace: the MAC is then
evaluated with the subspace, and the branch continues with the projection of its last shape onto it.
Sources: Allemang and Brown, Proc. IMAC 1 (1982) 110; Kuhn, Nav. Res. Logist. Q. 2 (1955) 83.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.signals.signal_arguments import FloatArray

ComplexArray = NDArray[np.complex128]
EQUAL = 1e-6  # relative difference of eigenvalues below which their modes share a subspace
# weight of the distance of eigenvalues relative to the MAC: decides between modes with similar
# shapes
NEARNESS = 1e-2


class Branches(NamedTuple):
    """Branches over n values: eigenvalue (n, m), NaN where a branch does not exist.

    Shape (n, ns, m), of unit length; mac (n − 1, m) of the shapes at successive values, NaN where a
    branch begins or ends.
    """

    eigenvalue: ComplexArray
    shape: ComplexArray
    mac: FloatArray


def modal_assurance(a: ComplexArray, b: ComplexArray) -> FloatArray:
    """MAC (na, nb) of the columns of a (ns, na) and b (ns, nb)."""
    inner = np.abs(a.conj().T @ b) ** 2
    sizes = np.outer((np.abs(a) ** 2).sum(axis=0), (np.abs(b) ** 2).sum(axis=0))
    return np.divide(inner, sizes, out=np.zeros_like(inner), where=sizes > 0.0)


def track(
    eigenvalues: Sequence[ComplexArray],
    shapes: Sequence[ComplexArray],
    compared: Sequence[ComplexArray] | None = None,
) -> Branches:
    """Branches of modes over successive values of a parameter.

    Modes have eigenvalues (mₖ,) and shapes (ns, mₖ).

    compared: columns (n, mₖ), linear in the shapes, that are compared instead of the shapes.
    """
    from scipy.optimize import linear_sum_assignment

    seen = shapes if compared is None else compared
    now = _unit(seen[0])
    last, values = list(range(len(eigenvalues[0]))), eigenvalues[0]  # branch of each mode
    steps = [(last, values, _unit(shapes[0]), np.full(len(last), np.nan))]
    count = len(last)
    for value, shape, own in zip(eigenvalues[1:], shapes[1:], seen[1:]):
        unit = _unit(own)
        groups = _groups(value)
        alike = np.maximum(
            _mac_with_subspaces(now, unit, groups),
            _mac_with_subspaces(unit, now, _groups(values)).T,
        )
        apart = np.abs(values[:, None] - value) / np.maximum(
            np.abs(values[:, None]) + np.abs(value), np.finfo(float).tiny
        )
        old, new = linear_sum_assignment(NEARNESS * apart - alike)
        branch, mac = np.full(len(value), -1), np.full(len(value), np.nan)
        branch[new], mac[new] = np.array(last)[old], alike[old, new]
        born = np.flatnonzero(branch < 0)
        branch[born] = count + np.arange(len(born))
        count += len(born)
        turn = _continued(now[:, old], unit, new, groups)
        now, last, values = unit @ turn, branch.tolist(), value
        size = np.linalg.norm(own, axis=0)
        steps.append((last, values, _unit((shape / np.where(size > 0.0, size, 1.0)) @ turn), mac))
    return _collected(steps, count)


def _unit(shape: ComplexArray) -> ComplexArray:
    """Columns normalized to unit length.

    Columns of modes without displacement (e.g. of a current) stay zero.
    """
    size = np.linalg.norm(shape, axis=0)
    return np.asarray(shape / np.where(size > 0.0, size, 1.0), complex)


def _groups(value: ComplexArray) -> NDArray[np.bool_]:
    """Mask (m, m) of pairs of equal eigenvalues."""
    size = np.maximum(np.abs(value[:, None]), np.abs(value))
    return np.abs(value[:, None] - value) <= EQUAL * size


def _mac_with_subspaces(a: ComplexArray, b: ComplexArray, groups: NDArray[np.bool_]) -> FloatArray:
    """MAC (na, nb) of unit columns a with the subspaces spanned by the groups of columns of b."""
    found = np.zeros((a.shape[1], b.shape[1]))
    for k, group in enumerate(groups):
        basis = np.linalg.qr(b[:, group])[0]
        found[:, k] = (np.abs(basis.conj().T @ a) ** 2).sum(axis=0)
    return found * b.any(axis=0)


def _continued(
    old: ComplexArray, new: ComplexArray, at: NDArray[np.int64], groups: NDArray[np.bool_]
) -> ComplexArray:
    """Matrix T (m, m) such that the new shapes times T continue the branches.

    In subspaces of equal eigenvalues with the projections of the old shapes, column k at ``at[k]``.
    """
    turn = np.eye(new.shape[1], dtype=complex)
    for k, column in zip(at, old.T):
        if groups[k].sum() > 1:
            factors = np.linalg.lstsq(new[:, groups[k]], column, rcond=None)[0]
            size = float(np.linalg.norm(new[:, groups[k]] @ factors))
            if size > 0.0:
                turn[:, k] = 0.0
                turn[groups[k], k] = factors / size
    return turn


def _collected(
    steps: list[tuple[list[int], ComplexArray, ComplexArray, FloatArray]], count: int
) -> Branches:
    """Eigenvalues, shapes and MAC values of each branch over all steps."""
    n, ns = len(steps), steps[0][2].shape[0]
    eigenvalue = np.full((n, count), np.nan + 0j)
    shape, mac = np.full((n, ns, count), np.nan + 0j), np.full((n, count), np.nan)
    for k, (branch, value, vector, alike) in enumerate(steps):
        eigenvalue[k, branch], shape[k][:, branch], mac[k, branch] = value, vector, alike
    return Branches(eigenvalue, shape, mac[1:])
