"""Twists of the child frame of a joint for the motions of its declared chain."""

from collections.abc import Sequence

import numpy as np

from flexmbs.model.frames import axis_angle_matrix, quaternion_matrix
from flexmbs.model.motions import Motion

Pose = tuple[np.ndarray, np.ndarray]
GENERIC = 0.7  # rad and m: a position that is generic for every joint


def chain_twists(
    motions: Sequence[Motion], q: Sequence[float] | np.ndarray, after: int | None = None
) -> np.ndarray:
    """Jacobian (6, nv) of a chain: twist (v, ω) of the child frame per velocity.

    The twist is relative to the parent frame.

    It is expressed at the origin and in the axes of the frame after the first ``after`` motions, or
    of the child frame if ``after`` is None.

    """
    q = np.asarray(q, float)
    poses: list[Pose] = [(np.eye(3), np.zeros(3))]
    own: list[np.ndarray] = []
    at = 0
    for motion in motions:
        R, x = poses[-1]
        dR, dx = _pose(motion, q[at : at + motion.nq])
        poses.append((R @ dR, x + R @ dx))
        own.append(_directions(motion))
        at += motion.nq
    columns = [
        _carried(poses[k + 1], poses[-1 if after is None else after], C) for k, C in enumerate(own)
    ]
    return np.hstack([np.zeros((6, 0)), *columns])


def chain_pose(motions: Sequence[Motion], q: Sequence[float]) -> Pose:
    """Rotation (3, 3) and position (3,) of the child frame in the parent frame at coordinates q."""
    R, x, at = np.eye(3), np.zeros(3), 0
    for motion in motions:
        dR, dx = _pose(motion, np.asarray(q, float)[at : at + motion.nq])
        R, x, at = R @ dR, x + R @ dx, at + motion.nq
    return R, x


def translations(motions: Sequence[Motion]) -> int:
    """Number of directions in which the chain can move the origin of the child frame.

    In generic positions.
    """
    values = [
        x for motion in motions for x in (motion.rest if motion.nq > 1 else (GENERIC,) * motion.nq)
    ]
    return int(np.linalg.matrix_rank(chain_twists(motions, values)[:3], tol=1e-9))


def _pose(motion: Motion, q: np.ndarray) -> Pose:
    """Rotation and position contributed by one motion of a chain."""
    if motion.nv == 0:
        return np.asarray(motion.rotation), np.asarray(motion.translation)
    if motion.nv == 1:
        v, w = np.split(np.asarray(motion.unit_twist), 2)
        return np.asarray(axis_angle_matrix(tuple(w), float(q[0]))) if motion.turns else np.eye(
            3
        ), q[0] * v
    return np.asarray(quaternion_matrix(tuple(q[-4:]))), q[:-4] if len(q) > 4 else np.zeros(3)


def _directions(motion: Motion) -> np.ndarray:
    """Twist (6, nv) of one motion, in the axes after it."""
    return (
        np.asarray(motion.unit_twist)[:, None] if motion.nv == 1 else np.eye(6)[:, 6 - motion.nv :]
    )


def _carried(source: Pose, target: Pose, C: np.ndarray) -> np.ndarray:
    """Twists (6, n) transformed from one frame to another."""
    (R, x), (S, y) = source, target
    v, w = R @ C[:3], R @ C[3:]
    return np.vstack([S.T @ (v + np.cross(w.T, y - x).T), S.T @ w])
