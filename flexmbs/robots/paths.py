"""Straight line of a frame as a path of the joint coordinates."""

from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from flexmbs.errors import InputError, SolverError
from flexmbs.model.argument_checks import checked, checked_count, checked_kind, real_array
from flexmbs.model.control.paths import QUINTIC, ComputedPath, SplinePath
from flexmbs.model.fields import number, positive
from flexmbs.model.frames import FrameRef
from flexmbs.robots.robot import Robot
from flexmbs.robots.robot_arguments import given_poses


@final
class Line(ComputedPath):
    """Straight line of a frame with rotation about one axis (slerp).

    From rest to rest with a quintic profile.

    robot; q0 (n,): coordinates at the start; pose (4, 4): final pose of the frame; ``duration``
    (s); frame: by default the tool. The coordinates follow by inverse kinematics at ``points``
    poses, each started from the previous one, and are interpolated by a quintic spline. Raises
    `SolverError` if the line leaves the workspace or the limits of the robot.

    """

    def __init__(
        self,
        robot: Robot,
        q0: ArrayLike,
        pose: ArrayLike,
        duration: float,
        *,
        frame: str | FrameRef | None = None,
        start: float = 0.0,
        points: int = 61,
    ) -> None:
        """Joint path of a straight line of the tool to a pose, by inverse kinematics."""
        begin, T = checked("start", number, start), checked("duration", positive, duration)
        tau = np.linspace(0.0, 1.0, checked_count("points", points, 7))
        s = tau**3 * (10.0 - 15.0 * tau + 6.0 * tau**2)
        first, last = checked_kind("robot", Robot, robot).pose(q0, frame), given_poses(pose)
        if first.ndim != 2 or last.ndim != 2:
            raise InputError(
                f"q0 and pose: must be one state and one matrix, not {first.shape[:-2]} "
                f"and {last.shape[:-2]} of them"
            )
        turn = Rotation.from_matrix(first[:3, :3].T @ last[:3, :3]).as_rotvec()
        q = [real_array("q0", q0)]
        for k in range(1, len(s)):
            wanted = np.eye(4)
            wanted[:3, :3] = first[:3, :3] @ Rotation.from_rotvec(s[k] * turn).as_matrix()
            wanted[:3, 3] = first[:3, 3] + s[k] * (last[:3, 3] - first[:3, 3])
            found = robot.inverse_kinematics(
                wanted, frame, start=q[-1] + (q[-1] - q[-2] if k > 1 else 0.0), starts=1
            )
            if not found.success or np.abs(found.q - q[-1]).max() > 1.0:
                raise SolverError(
                    f"line: the robot cannot follow it beyond {100.0 * s[k - 1]:.3g} %; check "
                    f"reach, limits and singular positions"
                )
            q.append(found.q)
        rest = [(d, np.zeros(robot.n)) for d in (1, 2)]
        spline = make_interp_spline(begin + T * tau, np.array(q), k=QUINTIC, bc_type=(rest, rest))
        self.made = SplinePath(spline.t, spline.c)
