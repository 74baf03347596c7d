"""Coordinates of a joint seen from either side."""

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.algebra.so3 import rotation_matrix
from flexmbs.model.motions import Motion


def inverse_coordinates(
    motions: tuple[Motion, ...], q: ArrayLike, v: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (…, nq) and velocities (…, nv) of a joint with parent and child swapped.

    The same numbers in reverse order; balls and free motions are inverted: A⁻¹, −A ω, −Aᵀ x and −(A
    v − A ω × x).
    """
    q, v = np.asarray(q, float), np.asarray(v, float)
    parts = [(np.zeros((*q.shape[:-1], 0)), np.zeros((*v.shape[:-1], 0)))]
    at = to = 0
    for motion in motions:
        a, b = q[..., at : at + motion.nq], v[..., to : to + motion.nv]
        parts.append(_inverted(a, b) if motion.nq > motion.nv else (a, b))
        at, to = at + motion.nq, to + motion.nv
    positions, velocities = zip(*reversed(parts))
    return np.concatenate(positions, -1), np.concatenate(velocities, -1)


def _inverted(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of a reversed ball or free motion."""
    A = np.moveaxis(rotation_matrix(np.moveaxis(q[..., -4:], -1, 0)), (0, 1), (-2, -1))
    w = -np.einsum("...ij,...j", A, v[..., -3:])
    if v.shape[-1] == 3:
        return q * (1.0, -1.0, -1.0, -1.0), w
    x = q[..., :3]
    back = np.cross(w, np.broadcast_to(x, w.shape))
    position = -np.einsum("...ji,...j", A, x)
    return (
        np.concatenate([position, q[..., 3:] * (1.0, -1.0, -1.0, -1.0)], -1),
        np.concatenate([-np.einsum("...ij,...j", A, v[..., :3]) - back, w], -1),
    )
