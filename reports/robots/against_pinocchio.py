"""Kinematics and dynamics of one URDF file in flexmbs and Pinocchio (Carpentier et al., IEEE SII
2019).

    python reports/robots/against_pinocchio.py        -> pinocchio.json        (needs the package `pin`)

Largest differences over random states of the KUKA LBR iiwa, relative to the largest value of each
quantity.
"""

import json
from pathlib import Path

import numpy as np
import pinocchio

import flexmbs as fm

HERE = Path(__file__).parent
FILE = HERE.parents[1] / "tests" / "robots" / "data" / "iiwa.urdf"
STATES = 1000


def main() -> None:
    robot, model = fm.Robot.from_urdf(FILE), pinocchio.buildModelFromUrdf(str(FILE))
    data, tool = model.createData(), model.getFrameId("tool0")
    largest: dict[str, tuple[float, float]] = {}

    def compare(name: str, ours: np.ndarray, theirs: np.ndarray) -> None:
        difference, size = largest.get(name, (0.0, 0.0))
        largest[name] = (
            max(difference, float(np.abs(ours - theirs).max())),
            max(size, float(np.abs(theirs).max())),
        )

    for q, qd, qdd in np.random.default_rng(0).uniform(-2.0, 2.0, (STATES, 3, 7)):
        pinocchio.forwardKinematics(model, data, q)
        pinocchio.updateFramePlacements(model, data)
        J = pinocchio.computeFrameJacobian(
            model, data, q, tool, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        tau = pinocchio.rnea(model, data, q, qd, qdd)
        D = pinocchio.crba(model, data, q)
        compare("pose of the tool", robot.pose(q), data.oMf[tool].homogeneous)
        compare("Jacobian", robot.jacobian(q), J)
        compare("D", robot.mass_matrix(q), np.triu(D) + np.triu(D, 1).T)
        compare(
            "C", robot.coriolis_matrix(q, qd), pinocchio.computeCoriolisMatrix(model, data, q, qd)
        )
        compare("g", robot.gravity_forces(q), pinocchio.computeGeneralizedGravity(model, data, q))
        compare("inverse dynamics", robot.inverse_dynamics(q, qd, qdd), tau)
        compare(
            "forward dynamics",
            robot.forward_dynamics(q, qd, tau),
            pinocchio.aba(model, data, q, qd, tau),
        )
    facts = {name: difference / size for name, (difference, size) in largest.items()}
    print(json.dumps(facts, indent=1))
    table = {"pinocchio": pinocchio.__version__, "states": STATES, "relative_differences": facts}
    (HERE / "pinocchio.json").write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
