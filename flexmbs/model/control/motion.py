"""Positions, velocities and accelerations of a tree for many coordinate vectors at once.

The arrays q are (..., n).
"""

from typing import NamedTuple

import numpy as np

from flexmbs.model.control.tree import NodePose, RobotTree

NEXT, AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])


class NodePoses(NamedTuple):
    """Rotation matrices (..., n, 3, 3) and origins (..., n, 3) of all nodes in the world."""

    R: np.ndarray
    o: np.ndarray


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross product a × b over the last axis.

    `numpy.cross` is several times slower for few vectors.
    """
    return a.take(NEXT, -1) * b.take(AFTER, -1) - a.take(AFTER, -1) * b.take(NEXT, -1)


def poses(tree: RobotTree, q: np.ndarray) -> NodePoses:
    """World poses of all links: A_k = A_p · [R, x] · [exp(q ñ), q d]."""
    angle = q[..., None, None]
    relative = tree.R + np.sin(angle) * tree.RK + 2.0 * np.sin(0.5 * angle) ** 2 * tree.RKK
    displaced = tree.x + q[..., None] * tree.Rd
    R, o = np.empty(relative.shape), np.empty(displaced.shape)
    for k, p in enumerate(tree.parent):
        if p < 0:
            R[..., k, :, :], o[..., k, :] = relative[..., k, :, :], displaced[..., k, :]
        else:
            R[..., k, :, :] = R[..., p, :, :] @ relative[..., k, :, :]
            o[..., k, :] = o[..., p, :] + (R[..., p, :, :] @ displaced[..., k, :, None])[..., 0]
    return NodePoses(R, o)


def homogeneous(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Homogeneous matrices (..., 4, 4) of rotations and positions."""
    result = np.zeros((*x.shape[:-1], 4, 4))
    result[..., :3, :3], result[..., :3, 3], result[..., 3, 3] = R, x, 1.0
    return result


def pose_of(pose: NodePoses, place: NodePose) -> tuple[np.ndarray, np.ndarray]:
    """World rotation (..., 3, 3) and position (..., 3) of a frame."""
    if place.node < 0:
        shape = pose.o.shape[:-2]
        return np.broadcast_to(place.R, (*shape, 3, 3)), np.broadcast_to(place.x, (*shape, 3))
    R = pose.R[..., place.node, :, :]
    return R @ place.R, pose.o[..., place.node, :] + R @ place.x


def axes(tree: RobotTree, pose: NodePoses) -> tuple[np.ndarray, np.ndarray]:
    """Joint axes in the world (..., n, 3): angular and linear velocity per unit rate.

    In world axes.
    """
    return (pose.R @ tree.turn[:, :, None])[..., 0], (pose.R @ tree.slide[:, :, None])[..., 0]


def jacobian(tree: RobotTree, pose: NodePoses, place: NodePose) -> np.ndarray:
    """Jacobian J (..., 6, n): velocity and angular velocity of a frame in world axes are J q̇."""
    z, d = axes(tree, pose)
    moves = tree.above[place.node] if place.node >= 0 else np.zeros(len(tree.parent))
    arm = pose_of(pose, place)[1][..., None, :] - pose.o
    rows = np.concatenate([cross(z, arm) + d, z], axis=-1) * moves[:, None]
    return np.asarray(np.swapaxes(rows, -1, -2))
