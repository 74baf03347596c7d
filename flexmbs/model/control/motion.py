"""Poses and Jacobians of a tree for many coordinate vectors at once.

The arrays q are (..., n).
"""

from typing import NamedTuple

import numpy as np

from flexmbs.model.control.tree import NodePose, RobotTree


class NodePoses(NamedTuple):
    """Rotation matrices (..., n, 3, 3) and origins (..., n, 3) of all nodes in the world."""

    R: np.ndarray
    o: np.ndarray


def poses(tree: RobotTree, q: np.ndarray) -> NodePoses:
    """World poses of all links: A_k = A_p · [R, x] · [exp(q ñ), q d]."""
    return NodePoses(*tree.kernels.poses(q))


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


def jacobian(tree: RobotTree, q: np.ndarray, place: NodePose) -> np.ndarray:
    """Jacobian J (..., 6, n): velocity and angular velocity of a frame in world axes are J q̇."""
    return tree.kernels.jacobian(q, place.node, place.x)
