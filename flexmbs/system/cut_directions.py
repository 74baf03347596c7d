"""Directions of cut joints that do not depend on the joint's coordinates: found once, exactly, for all evaluations."""

import numpy as np

from flexmbs.model.chain_twists import chain_twists
from flexmbs.model.motions import Motion
from flexmbs.system.records import (
    CLOSED_ROWS,
    CUT_CONSTANT,
    CUT_KERNEL,
    CUT_ROW,
    DIRECTIONS,
    DRIVE_CUT,
    DRIVE_ROW,
    DRIVE_V,
    INVERSE,
    OF_CHAIN,
)  # fmt: skip

WIDTH = CLOSED_ROWS + 36 - DIRECTIONS
ALIKE = 1e-9  # of remainders: then the first unit vector is taken


def constant_rows(cuts: np.ndarray, drives: np.ndarray, chains: list[tuple[Motion, ...]]) -> np.ndarray:
    """(ncut, 108): free directions C, their pseudo-inverse C⁺, and the covectors of closed and driven rows, zero elsewhere."""
    found = np.zeros((len(cuts), WIDTH))
    for k, motions in enumerate(chains):
        if cuts[k, CUT_KERNEL] != OF_CHAIN or not cuts[k, CUT_CONSTANT]:
            continue
        C = chain_twists(motions, np.concatenate([np.zeros(0), *(motion.rest for motion in motions)]))
        inverse, n = np.linalg.pinv(C), C.shape[1]
        rows = complement(C)
        for drive in drives[drives[:, DRIVE_CUT] == k]:
            rows = np.vstack([rows, inverse[drive[DRIVE_V]]])
            assert len(rows) == drive[DRIVE_ROW] - cuts[k, CUT_ROW] + 1
        found[k, : 6 * n] = C.T.ravel()
        found[k, INVERSE - DIRECTIONS :][: 6 * n] = inverse.ravel()
        found[k, CLOSED_ROWS - DIRECTIONS :][: rows.size] = rows.ravel()
    return found


def complement(C: np.ndarray) -> np.ndarray:
    """T (6 − n, 6): an orthonormal basis orthogonal to the columns of C (6, n), from unit vectors of the largest remainder."""
    basis = np.linalg.qr(C)[0].T if C.shape[1] else np.zeros((0, 6))
    n = len(basis)
    while len(basis) < 6:
        left = 1.0 - (basis**2).sum(axis=0)
        e = np.eye(6)[int(np.argmax(left > left.max() - ALIKE))]
        for _ in range(2):
            e = e - basis.T @ (basis @ e)
        basis = np.vstack([basis, e / np.linalg.norm(e)])
    return basis[n:]
