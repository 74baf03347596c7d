"""URDF files of real robots: what is read, and the equations of motion compared with Pinocchio
(Carpentier et al., SII 2019).

    pip install --no-deps --target robots example-robot-data pin
    python reports/robots/real_robots.py robots        -> real_robots.json, table on the screen      (needs the package `pin`)

Every *.urdf file below the folder, with the base fixed. <mimic> is in no term of the tree, and
Pinocchio ignores it by default. Largest differences over random states, relative to the largest
value of each quantity. Pinocchio leaves bodies with a floating joint to other coordinates: such
files are read, not compared.
"""

import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

import flexmbs as fm
from flexmbs.robots import model_from_urdf

HERE = Path(__file__).parent
STATES = 20


def facts_of(file: Path) -> dict[str, Any]:
    """What became of a file."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", fm.ModelWarning)
            model = model_from_urdf(file, base="floating", allow_outside=True)
            facts = {
                "bodies": len(model.bodies),
                "mimic": len(model.couplings),
                "unphysical": bool(caught),
            }
            return facts | compared(file)
    except fm.InputError as error:
        return {"refused": re.sub(r"^\S+?\.urdf:", "", error.problems[0])}


def compared(file: Path) -> dict[str, Any]:
    """Largest relative differences of M, C q̇ + g and inverse dynamics."""
    try:
        robot = fm.Robot.from_urdf(file, allow_outside=True)
    except fm.InputError as error:
        return {"not compared": error.problems[0]}
    model = pinocchio.buildModelFromUrdf(str(file))
    if robot.n == 0 or model.nv != robot.n:
        return {"not compared": f"{robot.n} coordinates, Pinocchio {model.nv}"}
    data = model.createData()
    rng = np.random.default_rng(0)
    joints = [
        model.joints[model.getJointId(name.rpartition(".")[0].replace("%2F", "/"))]
        for name in robot.coordinates
    ]
    order = [joint.idx_v for joint in joints]
    largest: dict[str, tuple[float, float]] = {}

    def compare(name: str, ours: np.ndarray, theirs: np.ndarray) -> None:
        difference, size = largest.get(name, (0.0, 0.0))
        largest[name] = (
            max(difference, float(np.abs(ours - theirs).max())),
            max(size, float(np.abs(theirs).max())),
        )

    for q, qd, qdd in rng.uniform(-1.5, 1.5, (STATES, 3, robot.n)):
        position, velocity, acceleration = (
            np.zeros(model.nq),
            np.zeros(model.nv),
            np.zeros(model.nv),
        )
        velocity[order], acceleration[order] = qd, qdd
        for joint, value in zip(joints, q):
            # continuous joints have the coordinates (cos, sin)
            position[joint.idx_q : joint.idx_q + joint.nq] = (
                value if joint.nq == 1 else (np.cos(value), np.sin(value))
            )
        M = pinocchio.crba(model, data, position)
        M = np.triu(M) + np.triu(M, 1).T
        bias = pinocchio.nonLinearEffects(model, data, position, velocity)
        tau = pinocchio.rnea(model, data, position, velocity, acceleration)
        compare("M", robot.mass_matrix(q), M[np.ix_(order, order)])
        compare("bias", robot.inverse_dynamics(q, qd, 0.0 * q) - robot.friction(qd), bias[order])
        compare(
            "inverse dynamics", robot.inverse_dynamics(q, qd, qdd) - robot.friction(qd), tau[order]
        )
    differences = {
        name: difference / size if size else difference
        for name, (difference, size) in largest.items()
    }
    return {"coordinates": robot.n, "visuals": len(robot.visuals), "differences": differences}


def main() -> None:
    files = sorted(file for folder in sys.argv[1:] for file in Path(folder).rglob("*.urdf"))
    table = {f"{file.parent.name}/{file.name}": facts_of(file) for file in files}
    for name, facts in table.items():
        worst = max(facts.get("differences", {"": np.nan}).values())
        note = (
            facts.get("refused")
            or facts.get("not compared")
            or f"{facts['coordinates']} coordinates, {worst:.0e}"
        )
        marks = [mark for mark in ("mimic", "unphysical") if facts.get(mark)]
        print(f"{name:55} {note}{'  (' + ', '.join(marks) + ')' if marks else ''}")
    read = [facts for facts in table.values() if "refused" not in facts]
    summary = {
        "files": len(table),
        "read": len(read),
        "with <mimic>": sum(facts["mimic"] > 0 for facts in read),
        "with inertias that are not physical": sum(facts["unphysical"] for facts in read),
        "compared": sum("differences" in facts for facts in read),
        "largest difference": max(
            max(facts["differences"].values()) for facts in read if "differences" in facts
        ),
    }
    print(json.dumps(summary, indent=1))
    result = {
        "pinocchio": pinocchio.__version__,
        "states": STATES,
        "summary": summary,
        "robots": table,
    }
    (HERE / "real_robots.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
