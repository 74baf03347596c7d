"""Directions of cut joints that do not depend on the joint's coordinates: found once, exactly, for
all evaluations.

A constant of this file is in machine code: it is one of the sources of `flexmbs._jit`.
"""

import numpy as np

from flexmbs.model.chain_twists import chain_twists
from flexmbs.model.motions import Motion
from flexmbs.system.records import OF_CHAIN, Cuts, Directions, Drives

# Remainders that differ by less are alike: the first unit vector is taken. Directions of machines
# often have equal ones; neither round-off nor a small change of a parameter may exchange the rows,
# whose multipliers are compared.
ALIKE = 0.05


def constant_rows(cuts: Cuts, drives: Drives, chains: list[tuple[Motion, ...]]) -> Directions:
    """Free directions C, their pseudo-inverse C⁺, and the covectors of closed and driven rows, zero
    elsewhere.
    """
    found = Directions(*(np.zeros((len(cuts.row), 36)) for _ in Directions._fields))
    for k, motions in enumerate(chains):
        if cuts.kernel[k] != OF_CHAIN or not cuts.constant[k]:
            continue
        C = chain_twists(
            motions, np.concatenate([np.zeros(0), *(motion.rest for motion in motions)])
        )
        inverse, n = np.linalg.pinv(C), C.shape[1]
        rows = complement(C)
        for d in np.flatnonzero(drives.cut == k):
            rows = np.vstack([rows, inverse[drives.v[d]]])
            assert len(rows) == drives.row[d] - cuts.row[k] + 1
        found.directions[k, : 6 * n] = C.T.ravel()
        found.inverse[k, : 6 * n] = inverse.ravel()
        found.covectors[k, : rows.size] = rows.ravel()
    return found


def complement(C: np.ndarray) -> np.ndarray:
    """T (6 − n, 6): an orthonormal basis orthogonal to the columns of C (6, n), from unit vectors
    of the largest remainders.
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
