"""Directions of cut joints that do not depend on the joint coordinates.

They are computed once for all evaluations.
"""

import numpy as np

from flexmbs.model.chain_twists import chain_twists
from flexmbs.model.motions import Motion
from flexmbs.system.records import OF_CHAIN, Cuts, Directions, Drives

# Remainders that differ by less count as equal, and the first unit vector is taken. Joint axes of
# machines often have equal remainders; neither round-off nor a small change of a parameter may
# exchange the rows, whose multipliers are compared.
ALIKE = 0.05
# Remainder of a unit axis above which it is independent of the others: above the round-off of axes,
# far below intended angles between axes.
PARALLEL = 1e-9


def constant_rows(cuts: Cuts, drives: Drives, chains: list[tuple[Motion, ...]]) -> Directions:
    """Free directions C, their left inverse C⁺, and the covectors of constrained and driven rows.

    The entries of other cut joints are zero.
    """
    found = Directions(*(np.zeros((len(cuts.row), 36)) for _ in Directions._fields))
    for k, motions in enumerate(chains):
        if cuts.kernel[k] != OF_CHAIN or not cuts.constant[k]:
            continue
        C = chain_twists(
            motions, np.concatenate([np.zeros(0), *(motion.rest for motion in motions)])
        )
        inverse, n = left_inverse(C), C.shape[1]
        rows = complement(C)
        for d in np.flatnonzero(drives.cut == k):
            rows = np.vstack([rows, inverse[drives.v[d]]])
            assert len(rows) == drives.row[d] - cuts.row[k] + 1
        found.directions[k, : 6 * n] = C.T.ravel()
        found.inverse[k, : 6 * n] = inverse.ravel()
        found.covectors[k, : rows.size] = rows.ravel()
    return found


def left_inverse(C: np.ndarray) -> np.ndarray:
    """C⁺ (n, 6), C⁺ C = 1, of directions C (6, n).

    Each row is the wrench with the least |f|, and among these the least |n|.
    """
    axes, size, mixed = np.linalg.svd(C[3:])
    rank = int((size > PARALLEL).sum())
    forces = mixed[rank:] @ C[:3].T
    L = np.zeros((C.shape[1], 6))
    L[:rank, 3:], L[rank:, :3] = axes[:, :rank].T, forces
    return np.asarray(np.linalg.solve(L @ C, L))


def complement(C: np.ndarray) -> np.ndarray:
    """T (6 − n, 6): an orthonormal basis of the complement of the columns of C (6, n).

    Built from the unit vectors with the largest remainders.
    """
    basis = np.linalg.qr(C)[0].T if C.shape[1] else np.zeros((0, 6))
    n = len(basis)
    while len(basis) < 6:
        left = 1.0 - (basis**2).sum(axis=0)
        e = np.eye(6)[int(np.argmax(left > left.max() - ALIKE))]
        for _ in range(2):
            e = e - basis.T @ (basis @ e)
        basis = np.vstack([basis, e / np.linalg.norm(e)])
    return basis[n:]
