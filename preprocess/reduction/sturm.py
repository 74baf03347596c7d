"""Sturm check for missing modes: the number of eigenvalues below a value, from the signs of pivots.

With the nodes of rigid interfaces eliminated, ``A = K − σ M`` of the other nodes, the coordinates q of rigid interfaces that
move, and the averages G that are held, the structure's eigenvalues below σ number

    ν(A) + ν(S) − rank G,    S = [A_qq 0; 0 0] − [A_qf; G] A⁻¹ [A_fq Gᵀ],

ν being the number of negative eigenvalues (Sylvester's law of inertia, twice).

Source: Parlett, The Symmetric Eigenvalue Problem (1998), section 3.3; Gould, Math. Programming 32 (1985) 90 (with constraints).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import final

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from flexmbs.errors import SolverError
from flexmbs.flexible_body.parts import FloatArray
from preprocess.fe.freedoms import dofs_of
from preprocess.reduction.statics import InterfaceStatics, factorize_free, free_blocks

CHEAP = 30_000  # degrees of freedom up to which the second factorization is negligible
_SEPARATE = 1e-6  # relative gap of eigenvalues in which a shift is safe


def modes_below(statics: InterfaceStatics, omega2: float, held: Sequence[int]) -> int:
    """Number of eigenvalues of K φ = ω² M φ below ``omega2`` [rad²/s²] with the interfaces numbered ``held`` held; including the
    six rigid-body modes of a free body.

    Raises InputError when ``omega2`` is an eigenvalue to working accuracy.
    """
    return SturmCounts(statics, omega2).below(held)


@final
class SturmCounts:
    """Numbers of eigenvalues below ``omega2`` [rad²/s²] under any support, by one factorization. Raises as `modes_below`."""

    def __init__(self, statics: InterfaceStatics, omega2: float) -> None:
        fe = statics.fe
        self._statics, self._dynamic = statics, (fe.K - omega2 * fe.M).tocsr()
        self._A, self._free = fe.constraints.matrix(self._dynamic), free_blocks(fe, statics.interfaces)
        self._factor = factorize_free(fe, self._A, self._free, definite=False)

    def below(self, held: Sequence[int]) -> int:
        """Number with the interfaces numbered ``held`` held; including the six rigid-body modes of a free body."""
        border, corner, constraints = _border(self._statics, self._dynamic, held)
        count = self._factor.negative_pivots() - constraints
        if border.shape[1]:
            S = corner - self._statics.fe.engine.inner(border, self._factor.solve(border))
            scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(S)), np.finfo(float).tiny))
            count += int((scipy.linalg.eigvalsh(0.5 * scale[:, None] * (S + S.T) * scale) < 0).sum())
        return count

    @functools.cached_property
    def backward_error(self) -> float:
        """Relative change of the matrix that explains the residual of a solution, ``|b − A x| / (|A| |x|)``; the counts are those
        of a matrix so near, since the factorization does not pivot."""
        rows = dofs_of(self._free)
        b = np.zeros(self._A.shape[0])
        b[rows] = np.random.default_rng(0).standard_normal(len(rows))
        x = self._factor.solve(b)
        residual = np.abs((self._A @ x - b)[rows])
        return float((residual / (abs(self._A) @ np.abs(x))[rows]).max())


def _border(statics: InterfaceStatics, dynamic: sp.csr_matrix, held: Sequence[int]) -> tuple[FloatArray, FloatArray, int]:
    """Columns [A_fq Gᵀ] on all nodes, the matrix [A_qq 0; 0 0], and the number of rows of G, connections eliminated."""
    fe = statics.fe
    moves, averages = [np.zeros((statics.size, 0))], [np.zeros((statics.size, 0))]
    for k, interface in enumerate(statics.interfaces):
        columns = np.zeros((statics.size, 6))
        rows = interface.dofs
        if interface.drives_nodes and k not in held:
            columns[rows] = interface.rigid_motion.reshape(-1, 6)
            moves.append(columns)
        elif not interface.drives_nodes and k in held:
            columns[rows] = interface.average.T
            averages.append(columns)
    T, G = fe.motion(np.hstack(moves)), fe.loads(np.hstack(averages))
    AT = fe.engine.assembled(dynamic @ T)
    corner = scipy.linalg.block_diag(fe.engine.inner(T, AT), np.zeros((G.shape[1],) * 2))
    return np.hstack([fe.loads(AT), G]), corner, G.shape[1]


def prove_complete(statics: InterfaceStatics, omega: FloatArray, held: Sequence[int]) -> None:
    """Raise SolverError unless the angular frequencies omega (n,) of elastic modes, ascending, are complete up to the last
    gap."""
    values = omega**2
    gaps = np.flatnonzero(np.diff(values) > _SEPARATE * values[-1])
    if not gaps.size:
        return
    found = int(gaps[-1]) + 1
    rigid = 0 if held else 6
    there = modes_below(statics, 0.5 * (values[found - 1] + values[found]), held) - rigid
    if there != found:
        frequency = np.sqrt(values[found - 1]) / (2 * np.pi)
        raise SolverError(f"modes: {found} found up to {frequency:.6g} Hz, {there} exist; request more modes")
