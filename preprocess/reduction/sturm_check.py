"""Sturm check for missing modes: the number of eigenvalues below a value, from the signs of pivots.

With the nodes of rigid interfaces eliminated, ``A = K − σ M`` of the other nodes, the coordinates q
of rigid interfaces that move, and the averages G that are held, the number of the structure's
eigenvalues below σ is

    ν(A) + ν(S) − rank G,    S = [A_qq 0; 0 0] − [A_qf; G] A⁻¹ [A_fq Gᵀ],

ν being the number of negative eigenvalues (Sylvester's law of inertia, twice).

Source: Parlett, The Symmetric Eigenvalue Problem (1998), section 3.3; Gould, Math. Programming 32
(1985) 90 (with constraints).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from flexmbs.errors import SolverError
from flexmbs.flexible_body.components import FloatArray
from preprocess.reduction.interface_statics import InterfaceStatics, free_blocks, free_matrix

CHEAP = 30_000  # number of degrees of freedom up to which the second factorization is negligible
# relative gap of eigenvalues in which a shift is safe from their errors of about 1e-8
_SEPARATE = 1e-6


def modes_below(statics: InterfaceStatics, omega2: float, held: Sequence[int]) -> int:
    """Number of eigenvalues of K φ = ω² M φ below ``omega2`` [rad²/s²].

    With the interfaces numbered ``held`` held; including the six rigid-body modes of a free body.
    Raises InputError if ``omega2`` is an eigenvalue to working accuracy.
    """
    return SturmCounts(statics, omega2, [held]).below(held)


@final
class SturmCounts:
    """Numbers of eigenvalues below ``omega2`` [rad²/s²] under any support, by one factorization.

    Raises as `modes_below`. backward_error: relative change of the matrix that explains the
    residual of the factorization, which does not pivot; the counts are those of such a nearby
    matrix.
    """

    def __init__(
        self, statics: InterfaceStatics, omega2: float, supports: Sequence[Sequence[int]]
    ) -> None:
        """Factor the shifted stiffness, for counts of modes under several supports."""
        fe = statics.fe
        dynamic = (fe.K - omega2 * fe.M).tocsr()
        self._border = border = _Border(statics, dynamic, supports)
        self._inertia = fe.engine.inertia(
            free_matrix(
                fe,
                fe.constraints.matrix(dynamic),
                free_blocks(fe, statics.interfaces),
                definite=False,
            ),
            border.columns,
        )
        self.backward_error = self._inertia.backward_error

    def below(self, held: Sequence[int]) -> int:
        """Number of eigenvalues with the interfaces numbered ``held`` held.

        Including the six rigid-body modes of a free body.
        """
        chosen, constraints = self._border.chosen(held)
        count = self._inertia.negative - constraints
        if chosen.size:
            S = (self._border.corner - self._inertia.form)[np.ix_(chosen, chosen)]
            scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(S)), np.finfo(float).tiny))
            count += int(
                (scipy.linalg.eigvalsh(0.5 * scale[:, None] * (S + S.T) * scale) < 0).sum()
            )
        return count


class _Border:
    """Columns [A_fq Gᵀ] on all nodes, connections eliminated, and the matrix [A_qq 0; 0 0].

    They cover all interfaces that some support lets move or holds on average.
    """

    def __init__(
        self, statics: InterfaceStatics, dynamic: sp.csr_matrix, supports: Sequence[Sequence[int]]
    ) -> None:
        """Rows by which interfaces are held or released in counts of modes."""
        fe, held = statics.fe, [set(each) for each in supports]
        rigid = [each.drives_nodes for each in statics.interfaces]
        self._moving = [
            k for k, drives in enumerate(rigid) if drives and any(k not in each for each in held)
        ]
        self._average = [
            k for k, drives in enumerate(rigid) if not drives and any(k in each for each in held)
        ]
        columns = np.zeros((statics.size, 6 * len(rigid)))
        for k, interface in enumerate(statics.interfaces):
            motion = interface.rigid_motion.reshape(-1, 6) if rigid[k] else interface.average.T
            columns[interface.dofs, 6 * k : 6 * k + 6] = motion
        T, G = fe.motion(columns[:, _six(self._moving)]), fe.loads(columns[:, _six(self._average)])
        AT = fe.engine.assembled(dynamic @ T)
        self.corner = scipy.linalg.block_diag(fe.engine.inner(T, AT), np.zeros((G.shape[1],) * 2))
        self.columns = np.hstack([fe.loads(AT), G])

    def chosen(self, held: Sequence[int]) -> tuple[np.ndarray, int]:
        """Columns of a support, and the number of rows of G among them."""
        moving = [k not in held for k in self._moving]
        average = [k in held for k in self._average]
        return np.flatnonzero(np.repeat(moving + average, 6)), 6 * sum(average)


def _six(interfaces: Sequence[int]) -> np.ndarray:
    """Six coordinates of each interface."""
    return np.asarray((6 * np.array(interfaces, dtype=np.int64)[:, None] + np.arange(6)).ravel())


def prove_complete(statics: InterfaceStatics, omega: FloatArray, held: Sequence[int]) -> None:
    """Raise SolverError unless the angular frequencies omega (n,) are complete up to the last gap.

    The frequencies are those of elastic modes, ascending.
    """
    values = omega**2
    gaps = np.flatnonzero(np.diff(values) > _SEPARATE * values[-1])
    if not gaps.size:
        return
    found = int(gaps[-1]) + 1
    rigid = 0 if held else 6
    there = modes_below(statics, 0.5 * (values[found - 1] + values[found]), held) - rigid
    if there != found:
        frequency = np.sqrt(values[found - 1]) / (2 * np.pi)
        raise SolverError(
            f"modes: {found} found up to {frequency:.6g} Hz, {there} exist; request more modes"
        )
