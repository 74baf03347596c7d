"""Model of ``flexmbs demo robot``.

Arm of six axes from a URDF file with one flexible link, under computed torque of the rigid arm:
the tool follows its path but for the deflection of the link.

Its reference numbers come from ``reports/demo/reference_robot.py``: the mesh of the link refined
once, twice the modes, error control with a relative tolerance of 1e-9.
"""

from pathlib import Path

import numpy as np

from flexmbs.api.model import Model
from flexmbs.api.solution import Solution
from flexmbs.model.bodies import RigidBody
from flexmbs.model.run import Run
from flexmbs.robots import ComputedTorque, FlexibleLink, Quintic, Robot, controlled
from flexmbs.system.check import FAIL, PASS, Check

START = (0.0, -1.2, 1.6, -0.4, 0.0, 0.0)  # rad
GOAL = (1.5, -0.7, 1.0, -0.3, 0.5, 1.0)
T_MOVE, T_END = 0.6, 0.9  # s: the motion, then vibrations decay
COMPARED_AT = (0.2, 0.4, 0.6)  # s
LINK = "upper_arm"
PAYLOAD = 1.0  # kg

REFERENCE_DEVIATION = np.array([1.47325635e-3, 1.32571665e-3, 2.94727256e-4])  # m
REFERENCE_TORQUE = 21.7217758  # N m
DEVIATION_TOLERANCE = 0.05  # relative to the largest deviation
TORQUE_TOLERANCE = 5e-3  # relative


def robots(urdf: Path, link: Path) -> tuple[Robot, Robot]:
    """The rigid arm, and the same with a flexible upper arm; both carry the payload."""
    payload = RigidBody("payload", mass=PAYLOAD, inertia=(1e-3, 1e-3, 1e-3))
    flexible = {LINK: FlexibleLink(str(link), frames={"lift": "hub", "elbow": "tip"}, offset=1e-4)}
    rigid, bending = (
        Robot.from_urdf(urdf, payload=payload, links=links) for links in (None, flexible)
    )
    return rigid, bending


def robot_model(urdf: Path, link: Path) -> Model:
    """Model of the demo."""
    rigid, bending = robots(urdf, link)
    path = Quintic(START, GOAL, T_MOVE)
    model = controlled(bending.started(START), ComputedTorque(rigid, path, kp=900.0, kd=60.0))
    model.run = Run(t_end=T_END, step=1e-4, output_step=5e-3)
    return model


def robot_numbers(solution: Solution, urdf: Path, link: Path) -> tuple[np.ndarray, float]:
    """Distances (m) of the tool from the path of the rigid arm, and the largest torque (N m)."""
    rigid, _ = robots(urdf, link)
    at = [int(np.argmin(np.abs(solution.t - t))) for t in COMPARED_AT]
    wanted = rigid.pose(Quintic(START, GOAL, T_MOVE).table(solution.t[at]).q)[:, :3, 3]
    found = solution.frame("payload").position[at]
    torque = float(np.abs(solution.joint("lift").effort[:, 0]).max())
    return np.linalg.norm(found - wanted, axis=1), torque


def robot_checks(solution: Solution, urdf: Path, link: Path) -> list[Check]:
    """Checks of the demo against stored results of a finer run."""
    deviation, torque = robot_numbers(solution, urdf, link)
    apart = float(np.abs(deviation - REFERENCE_DEVIATION).max() / REFERENCE_DEVIATION.max())
    largest = 1e3 * float(deviation.max())
    error = abs(torque / REFERENCE_TORQUE - 1.0)
    return [
        Check(
            "Deviation of the tool",
            PASS if apart <= DEVIATION_TOLERANCE else FAIL,
            f"up to {largest:.3g} mm from the path of the rigid arm, {100 * apart:.2g} % from the "
            f"finer run, {100 * DEVIATION_TOLERANCE:g} % allowed",
        ),
        Check(
            "Torque of the lift",
            PASS if error <= TORQUE_TOLERANCE else FAIL,
            f"{torque:.5g} N m, {100 * error:.2g} % from the finer run, "
            f"{100 * TORQUE_TOLERANCE:g} % allowed",
        ),
    ]
