"""Model of ``flexmbs demo``.

Two flexible links in series with a tool, driven by controllers under gravity.

Its reference numbers come from ``reports/demo/reference.py``: the same arm on the mesh refined
twice (69 441 unknowns), with twice the modes and steps of 2e-5 s, in absolute coordinates.
"""

from pathlib import Path

import numpy as np

from flexmbs.api.model import Model
from flexmbs.api.solution import Solution
from flexmbs.model.bodies import FlexibleBody, RigidBody
from flexmbs.model.forces import JointTorque
from flexmbs.model.joints import Fixed, Revolute
from flexmbs.model.laws import PD, PID, SmoothStep
from flexmbs.model.run import Run
from flexmbs.system.check import FAIL, PASS, Check

T_END = 1.5  # s: the references move until 0.8 s, then vibrations decay
COMPARED_AT = (0.4, 0.8, 1.5)  # times of the comparison (s)
TOOL = "tool/point"

REFERENCE_POSITION = np.array(
    [
        [0.397642163, 0.0, -0.396331777],
        [0.542219264, 0.0, 0.239615294],
        [0.541542025, 0.0, 0.242163270],
    ]
)  # m
REFERENCE_TORQUE = 21.9416660  # N m
REFERENCE_DEFLECTION = 3.83345745e-05  # m
REFERENCE_FREQUENCY = 221.745436  # Hz

POSITION_TOLERANCE = 2e-5  # m
TORQUE_TOLERANCE = 5e-3  # relative
DEFLECTION_TOLERANCE = 0.03  # relative
FREQUENCY_TOLERANCE = 0.02  # relative: change by one refinement of the mesh


def demo_model(link: Path) -> Model:
    """Model of the demo: an arm with a flexible link from a file."""
    run = Run(t_end=T_END, step=5e-5, output_step=5e-3, formalism="multiplier")
    arm = Model("two-link arm", gravity=(0.0, 0.0, -9.81), run=run)
    upper = arm.add(FlexibleBody("upper", str(link)))
    fore = arm.add(FlexibleBody("fore", str(link)))
    tool = arm.add(
        RigidBody(
            "tool",
            mass=2.5,
            inertia=(4e-3, 6e-3, 4e-3),
            com=(0.05, 0.0, 0.0),
            frames={"flange": (0, 0, 0), "point": (0.1, 0, 0)},
        )
    )
    shoulder = arm.add(Revolute("shoulder", arm.ground, upper["hub"], axis="y", q0=0.9))
    elbow = arm.add(Revolute("elbow", upper["tip"], fore["hub"], axis="y", q0=0.8))
    arm.add(Fixed("wrist", fore["tip"], tool["flange"]))
    lift = SmoothStep(-0.6, start=0.1, duration=0.7, initial=0.9)
    stretch = SmoothStep(0.3, start=0.2, duration=0.7, initial=0.8)
    arm.add(JointTorque("shoulder controller", shoulder, PID(2500.0, 4000.0, 60.0, reference=lift)))
    arm.add(JointTorque("elbow controller", elbow, PD(1500.0, 25.0, reference=stretch)))
    return arm


def demo_numbers(solution: Solution) -> tuple[np.ndarray, float, float, float]:
    """Key numbers of the demo.

    Tool positions at the times of comparison (m), largest shoulder torque (N m), largest deflection
    of the upper link's tip in its body frame (m), first frequency of the link fixed at its hub
    (Hz).
    """
    at = [int(np.argmin(np.abs(solution.t - t))) for t in COMPARED_AT]
    position = solution.frame(TOOL).position[at]
    torque = float(np.abs(solution.joint("shoulder").effort[:, 0]).max())
    data = solution.compiled.data["upper"]
    deflection = solution.body("upper").elastic @ data.frames["tip"].phi.T
    return (
        position,
        torque,
        float(np.linalg.norm(deflection, axis=1).max()),
        float(data.modes.frequency[0]),
    )


def demo_checks(solution: Solution) -> list[Check]:
    """Checks of the demo against stored results of a finer run."""
    position, torque, deflection, frequency = demo_numbers(solution)
    error = float(np.abs(position - REFERENCE_POSITION).max())
    text = f"{error:.1e} m from the finer run, {POSITION_TOLERANCE:.0e} allowed"
    return [
        Check("Tool position", PASS if error <= POSITION_TOLERANCE else FAIL, text),
        _relative("Shoulder torque", torque, REFERENCE_TORQUE, TORQUE_TOLERANCE, "N m"),
        _relative(
            "Deflection of the upper link",
            deflection,
            REFERENCE_DEFLECTION,
            DEFLECTION_TOLERANCE,
            "m",
        ),
        _relative(
            "First frequency of the link", frequency, REFERENCE_FREQUENCY, FREQUENCY_TOLERANCE, "Hz"
        ),
    ]


def _relative(title: str, found: float, reference: float, tolerance: float, unit: str) -> Check:
    """Check of a relative error against a tolerance."""
    error = abs(found / reference - 1.0)
    text = (
        f"{found:.5g} {unit}, {100 * error:.2g} % from the finer run, {100 * tolerance:g} % allowed"
    )
    return Check(title, PASS if error <= tolerance else FAIL, text)
