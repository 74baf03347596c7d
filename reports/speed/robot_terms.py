"""Terms of a robot called from Python against Pinocchio, and a controller in the compiled loop.

    pip install -e . pin
    python reports/speed/robot_terms.py        -> robot_terms.json, and a table with PASS or FAIL for every limit

The KUKA LBR iiwa (7 axes). Both programs are called from Python with arrays of one state, in turns
in one process; their results agree (`reports/robots/against_pinocchio.py`). The time of a
controller is that of `simulate` with computed torque less that without a controller, per step of
1 ms of generalized-α, without audit; each step evaluates it several times. CPU seconds of one
thread, minimum of repetitions.
"""

import json
import os
import pathlib
import time
from collections.abc import Callable

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
import pinocchio as pin  # noqa: E402

import flexmbs as fm  # noqa: E402
from flexmbs.robots import ComputedTorque, Quintic, controlled  # noqa: E402

HERE = pathlib.Path(__file__).parent
FILE = HERE.parents[1] / "tests" / "robots" / "data" / "iiwa.urdf"
COUNT, REPEAT, STEPS = 5000, 9, 1000
RATIO, CONTROLLER = 2.5, 20e-6  # of Pinocchio's time; s per step


def alternating(*works: Callable[[], object]) -> list[float]:
    """CPU time of one call of each function, the minimum of alternating repetitions."""
    found: list[list[float]] = [[] for _ in works]
    for _ in range(REPEAT):
        for work, times in zip(works, found):
            start = time.process_time()
            for _ in range(COUNT):
                work()
            times.append((time.process_time() - start) / COUNT)
    return [min(times) for times in found]


def of_run(model: fm.Model) -> float:
    """CPU time of a step, the minimum of repetitions."""
    found = []
    for _ in range(REPEAT):
        start = time.process_time()
        fm.simulate(
            model, t_end=1e-3 * STEPS, step=1e-3, integrator="generalized-alpha", audit="none"
        )
        found.append((time.process_time() - start) / STEPS)
    return min(found)


def main() -> None:
    """Measure, write, judge."""
    robot, model = fm.Robot.from_urdf(FILE), pin.buildModelFromUrdf(str(FILE))
    data, tool = model.createData(), model.getFrameId("tool0")
    q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 7))
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "inverse dynamics": (
            lambda: robot.inverse_dynamics(q, qd, qdd),
            lambda: pin.rnea(model, data, q, qd, qdd),
        ),
        "mass matrix": (lambda: robot.mass_matrix(q), lambda: pin.crba(model, data, q)),
        "forward dynamics": (
            lambda: robot.forward_dynamics(q, qd, qdd),
            lambda: pin.aba(model, data, q, qd, qdd),
        ),
        "Jacobian": (
            lambda: robot.jacobian(q),
            lambda: pin.computeFrameJacobian(model, data, q, tool, axes),
        ),
    }
    found: dict[str, dict[str, float]] = {}
    good = True
    for name, works in pairs.items():
        ours, theirs = alternating(*works)
        found[name] = {"flexmbs": ours, "Pinocchio": theirs, "ratio": ours / theirs}
        good &= ours <= RATIO * theirs
        print(f"{name:17s} {1e6 * ours:6.2f} {1e6 * theirs:6.2f} µs  ratio {ours / theirs:.2f}")
    start = np.full(7, 0.2)
    path = Quintic(start, -start, 1.0)
    follower = controlled(robot.started(start), ComputedTorque(robot, path, kp=400.0, kd=40.0))
    with_it, alone = of_run(follower), of_run(robot.started(start).model)
    found["computed torque"] = {"step": with_it, "step without": alone}
    good &= with_it - alone <= CONTROLLER
    print(f"computed torque   {1e6 * with_it:6.2f} {1e6 * alone:6.2f} µs a step with and without")
    (HERE / "robot_terms.json").write_text(json.dumps(found, indent=1) + "\n")
    text = f"calls at most {RATIO} of Pinocchio's time, controller {1e6 * CONTROLLER:g} µs a step"
    print("PASS" if good else "FAIL", text)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
