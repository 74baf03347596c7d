"""MJCF files of installed packages: which are read, and their equations of motion compared with
MuJoCo's.

    pip install --no-deps --target assets dm_control gymnasium && pip install mujoco
    python reports/fmi/mujoco_models.py assets        -> mujoco_models.json, table on the screen

Every *.xml file below the folder whose root is <mujoco>. Largest differences over random states,
relative to the largest value, of the mass matrix and of M q̈, the forces without contacts, limits,
dry friction and fluids, which are left out, or are soft constraints in MuJoCo.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import flexmbs as fm
from flexmbs.robots.mjcf.build import from_mujoco_coordinates
from flexmbs.robots.mjcf.values import quaternion_rotation
from flexmbs.studies.states.tangent import dense
from flexmbs.system.names import velocity_names

HERE = Path(__file__).parent
STATES = 5
KINDS = ("free", "ball", "slide", "hinge")
FREEDOMS = {"free": (7, 6), "ball": (4, 3)}


def facts_of(file: Path) -> dict[str, Any]:
    """What became of a file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fm.ModelWarning)
            found = fm.from_mujoco(file, allow_outside=True)
    except fm.InputError as error:
        return {"refused": error.problems[0].rpartition(".xml:")[2]}
    model = found.model
    facts = {
        "bodies": len(model.bodies),
        "coordinates": sum(joint.nv for joint in model.joints.values()),
    }
    facts |= {"forces": len(model.forces), "left out": list(found.notes)}
    try:
        theirs = mujoco.MjModel.from_xml_path(str(file))
    except ValueError as error:
        return facts | {"not compared": f"MuJoCo: {str(error).splitlines()[0]}"}
    return facts | (
        compared(found, theirs) if model.bodies else {"not compared": "has no moving body"}
    )


def compared(found: Any, theirs: Any) -> dict[str, Any]:
    """Largest relative differences of M and M q̈, of the tree without its constraints."""
    model = found.model
    model.couplings.clear()
    for name in model.cuts:
        del model.joints[name]
    model.cuts = ()
    for name in [name for name, force in model.forces.items() if force.kind == "joint-friction"]:
        del model.forces[name]
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    theirs.opt.density = theirs.opt.viscosity = 0.0
    data, rng, largest = mujoco.MjData(theirs), np.random.default_rng(0), {"M": 0.0, "forces": 0.0}
    for _ in range(STATES):
        data.qpos[:] = theirs.qpos0
        mujoco.mj_integratePos(theirs, data.qpos, 0.5 * rng.normal(size=theirs.nv), 1.0)
        data.qvel[:] = rng.normal(size=theirs.nv)
        mujoco.mj_forward(theirs, data)
        known, T, rate = here(found, theirs, data)
        M = np.zeros((theirs.nv, theirs.nv))
        for k, unit in enumerate(np.eye(theirs.nv)):
            mujoco.mj_mulM(theirs, data, M[k], unit)
        force = data.qfrc_passive + data.qfrc_actuator - data.qfrc_bias
        sizes = (
            np.abs(M).max(),
            max(
                np.abs(part).max()
                for part in (data.qfrc_passive, data.qfrc_actuator, data.qfrc_bias)
            ),
        )
        gaps = T.T @ known.M @ T - M, T.T @ (known.k - known.M @ rate) - force
        for key, gap, size in zip(largest, gaps, sizes):
            largest[key] = max(
                largest[key],
                float(np.abs(gap).max() / max(size, 1e-300)) if np.abs(gap).max() else 0.0,
            )
    return {"differences": largest}


def here(found: Any, theirs: Any, data: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Terms at the state of MuJoCo, T and Ṫ q̇ of s = T q̇: free joints have their velocity in
    world axes there.
    """
    position: dict[str, list[float]] = {}
    velocity: dict[str, list[float]] = {}
    places = []
    for j in range(theirs.njnt):
        kind, a, d = KINDS[theirs.jnt_type[j]], theirs.jnt_qposadr[j], theirs.jnt_dofadr[j]
        nq, nv = FREEDOMS.get(kind, (1, 1))
        name = mujoco.mj_id2name(theirs, mujoco.mjtObj.mjOBJ_JOINT, j) or f"joint {j + 1}"
        use = found.joints[name]
        ref = theirs.qpos0[a] if nq == 1 else 0.0
        q, v = from_mujoco_coordinates(kind, ref, data.qpos[a : a + nq], data.qvel[d : d + nv])
        position.setdefault(use.joint, []).extend(q)
        velocity.setdefault(use.joint, []).extend(v)
        places.append(
            (
                kind,
                d,
                [f"{use.joint}.{use.coordinate + k}" for k in range(nv)],
                data.qpos[a : a + nq],
            )
        )
    state = fm.state(found.model, position=position, velocity=velocity)
    names = list(velocity_names(state.compiled))
    T, rate = np.zeros((theirs.nv, theirs.nv)), np.zeros(theirs.nv)
    for kind, d, own, q in places:
        rows = [names.index(name) for name in own]
        T[rows, range(d, d + len(rows))] = 1.0
        if kind == "free":
            R = quaternion_rotation(q[3:])
            T[np.ix_(rows[:3], range(d, d + 3))] = R.T
            rate[rows[:3]] = -np.cross(data.qvel[d + 3 : d + 6], R.T @ data.qvel[d : d + 3])
    return dense(state), T, rate


def main() -> None:
    table: dict[str, Any] = {}
    for folder in sys.argv[1:]:
        for file in sorted(Path(folder).rglob("*.xml")):
            if "<mujoco" in file.read_text(encoding="utf-8", errors="replace"):
                table[file.relative_to(folder).as_posix()] = facts_of(file)
    for name, facts in table.items():
        rest = (
            facts.get("refused")
            or facts.get("not compared")
            or "; ".join(facts.get("left out", []))
        )
        print(
            f"{name:70} {max(facts.get('differences', {'': np.nan}).values()):8.1e}  {rest[:100]}"
        )
    compared_ = [facts for facts in table.values() if "differences" in facts]
    exact = [facts for facts in compared_ if max(facts["differences"].values()) < 1e-9]
    counts = {
        "files": len(table),
        "refused": sum("refused" in facts for facts in table.values()),
        "not compared": sum("not compared" in facts for facts in table.values()),
        "compared": len(compared_),
        "equal to 1e-9": len(exact),
    }
    print(counts, "mujoco", mujoco.mj_versionString())
    report = {"mujoco": mujoco.mj_versionString(), "counts": counts, "models": table}
    (HERE / "mujoco_models.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
