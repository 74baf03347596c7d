"""Inverse kinematics: damped least squares with joint limits from several starts.

It is vectorized over poses.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from flexmbs.model.control.motion import jacobian, pose_of, poses
from flexmbs.model.control.tree import NodePose, RobotTree

FIRST_DAMPING, LEAST_DAMPING = 1e-2, 1e-13
LESS, MORE = 0.1, 4.0
LONGEST_STEP = 0.7  # rad, or fraction of the reach, of one iteration
FULL_TURN = 2.0 * np.pi
STUCK = 1e3  # damping at which the iteration stops: steps have become negligible


class Found(NamedTuple):
    """Joint coordinates for given poses.

    q (..., n).  success (...,): True if position and orientation agree within the tolerance and q
    is inside the limits.  error (..., 2): residual distance (m) and angle (rad).  starts (...,):
    number of starts tried.
    """

    q: np.ndarray
    success: np.ndarray
    error: np.ndarray
    starts: np.ndarray


class PoseTask(NamedTuple):
    """Target poses of a frame and the limits (n, 2) of the coordinates.

    Rotation matrices (B, 3, 3) and positions (B, 3).
    """

    tree: RobotTree
    place: NodePose
    R: np.ndarray
    x: np.ndarray
    limits: np.ndarray
    reach: float
    turned: bool  # False: only positions are matched

    def of(self, rows: np.ndarray) -> "PoseTask":
        """Task restricted to some of the poses."""
        return self._replace(R=self.R[rows], x=self.x[rows])

    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pose errors (B, 6) and their Jacobian (B, 6, n) at q (B, n).

        The errors are the distance divided by the reach and the rotation vector.
        """
        R, x = pose_of(poses(self.tree, q), self.place)
        angle = Rotation.from_matrix(self.R @ np.swapaxes(R, -1, -2)).as_rotvec()
        J = jacobian(self.tree, q, self.place) / np.repeat([self.reach, 1.0], 3)[:, None]
        if not self.turned:
            angle, J[:, 3:] = np.zeros_like(angle), 0.0
        return np.concatenate([(self.x - x) / self.reach, angle], axis=-1), J


def solve(task: PoseTask, starts: np.ndarray, tolerance: float, iterations: int) -> Found:
    """Joint coordinates for B poses from starts (m, B, n).

    A start is used only where the previous ones failed.
    """
    B = len(task.x)
    found = Found(starts[0].copy(), np.zeros(B, bool), np.full((B, 2), np.inf), np.zeros(B, int))
    for start in starts:
        rows = np.flatnonzero(~found.success)
        if len(rows) == 0:
            break
        q, error = _solved_within_limits(task.of(rows), start[rows], tolerance, iterations)
        distance = np.stack(
            [
                np.linalg.norm(error[:, :3], axis=1) * task.reach,
                np.linalg.norm(error[:, 3:], axis=1),
            ],
            axis=-1,
        )
        better = distance.max(axis=1) < found.error[rows].max(axis=1)
        found.q[rows[better]], found.error[rows[better]] = q[better], distance[better]
        found.success[rows] = found.error[rows].max(axis=1) <= tolerance
        found.starts[rows] += 1
    return found


def _solved_within_limits(
    task: PoseTask, q: np.ndarray, tolerance: float, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Inverse kinematics with coordinates inside the limits.

    First solved without limits and shifted by full turns, then with limits if necessary.
    """
    q, _ = _descend(
        task._replace(limits=np.full_like(task.limits, np.inf) * [-1.0, 1.0]),
        q,
        tolerance,
        iterations,
    )
    low, high = task.limits.T
    turns = (np.abs(task.tree.turn).max(axis=1) > 0.0) & (
        np.abs(task.tree.slide).max(axis=1) == 0.0
    )
    with np.errstate(invalid="ignore"):
        over = np.where(
            q > high,
            np.ceil((q - high) / FULL_TURN),
            np.where(q < low, -np.ceil((low - q) / FULL_TURN), 0.0),
        )
    return _descend(task, q - FULL_TURN * over * turns, tolerance, iterations)


def _descend(
    task: PoseTask, q: np.ndarray, tolerance: float, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Levenberg–Marquardt steps (JᵀJ + μ 1) δ = Jᵀe within the limits.

    Coordinates at an active limit are fixed.

    Nakamura, Hanafusa, J. Dyn. Sys. Meas. Control 108 (1986) 163; Levenberg's damping grows if a
    step fails.
    """
    low, high = task.limits.T
    q = np.clip(q, low, high)
    error, J = task.at(q)
    damping = np.full(len(q), FIRST_DAMPING)
    for _ in range(iterations):
        rows = np.flatnonzero((np.abs(error).max(axis=1) > 0.01 * tolerance) & (damping < STUCK))
        if len(rows) == 0:
            break
        trial = np.clip(
            q[rows] + _step(J[rows], error[rows], damping[rows], q[rows], task.limits), low, high
        )
        reached, slope = task.of(rows).at(trial)
        better = (reached**2).sum(axis=1) < (error[rows] ** 2).sum(axis=1)
        good = rows[better]
        q[good], error[good], J[good] = trial[better], reached[better], slope[better]
        damping[rows] = np.where(
            better, np.maximum(damping[rows] * LESS, LEAST_DAMPING), damping[rows] * MORE
        )
    return q, error


def _step(
    J: np.ndarray, error: np.ndarray, damping: np.ndarray, q: np.ndarray, limits: np.ndarray
) -> np.ndarray:
    """Damped least-squares step of inverse kinematics, within the joint limits."""
    slope = (np.swapaxes(J, -1, -2) @ error[..., None])[..., 0]
    free = ~(((q <= limits[:, 0]) & (slope < 0.0)) | ((q >= limits[:, 1]) & (slope > 0.0)))
    J, slope = J * free[:, None, :], slope * free
    A = np.swapaxes(J, -1, -2) @ J + damping[:, None, None] * np.eye(q.shape[1])
    step = np.linalg.solve(A, slope[..., None])[..., 0]
    return np.asarray(
        step
        * np.minimum(1.0, LONGEST_STEP / np.maximum(np.abs(step).max(axis=1, initial=0.0), 1e-300))[
            :, None
        ]
    )
