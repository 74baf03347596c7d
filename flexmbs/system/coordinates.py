"""Coordinates of a joint seen from either side."""

import numpy as np

from flexmbs.algebra.so3 import rotation_matrix
from flexmbs.model.motions import Motion


def inverse_coordinates(
    motions: tuple[Motion, ...], q: tuple[float, ...] | np.ndarray, v: tuple[float, ...] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of the reversed chain: the same numbers in reverse order; balls and free motions inverted."""
    q_parts: list[np.ndarray] = []
    v_parts: list[np.ndarray] = []
    at = to = 0
    for motion in motions:
        a, b = np.array(q[at : at + motion.nq], float), np.array(v[to : to + motion.nv], float)
        if motion.nq > motion.nv:
            A = rotation_matrix(a[-4:])
            if motion.nv == 6:
                x = a[:3].copy()
                w = A @ b[3:]
                b = -np.concatenate([A @ b[:3] - np.cross(w, x), w])
                a[:3] = -A.T @ x
            else:
                b = -A @ b
            a[-3:] *= -1.0
        q_parts.insert(0, a)
        v_parts.insert(0, b)
        at, to = at + motion.nq, to + motion.nv
    return np.concatenate([np.zeros(0), *q_parts]), np.concatenate([np.zeros(0), *v_parts])
