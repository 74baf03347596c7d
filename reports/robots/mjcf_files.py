"""MJCF files of a folder, here and in MuJoCo: mass matrices and accelerations at a random state.

    python reports/robots/mjcf_files.py FOLDER        -> mjcf_files.json

Files that MuJoCo does not load by themselves, as parts that other files include, are counted apart;
so are those whose inertia comes from meshes.
"""

import argparse
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "robots"))
from test_mujoco import Both, random_state  # noqa: E402

from flexmbs.errors import FlexmbsError  # noqa: E402
from flexmbs.studies.states.tangent import dense  # noqa: E402
from flexmbs.system.names import velocity_names  # noqa: E402


def compared(file: Path) -> dict[str, Any]:
    """Outcome of a file, and the largest relative differences."""
    try:
        model = mujoco.MjModel.from_xml_path(str(file))
    except ValueError:
        return {"outcome": "not loaded by MuJoCo"}
    if not model.nv:
        return {"outcome": "without coordinates"}
    try:
        both = Both(file, allow_outside=True)
    except FlexmbsError as error:
        return {"outcome": "refused", "reason": error.problems[0][-300:]}
    found: dict[str, Any] = {"outcome": "read", "nv": int(model.nv)}
    found["notes"] = len(both.found.notes)
    both.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    both.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    _without_equalities(both)
    if any(
        mujoco.mj_id2name(both.model, mujoco.mjtObj.mjOBJ_JOINT, j) is None
        for j in range(both.model.njnt)
    ):
        return found | {"outcome": "not compared", "reason": "joints without names"}
    random_state(both, np.random.default_rng(0))
    mujoco.mj_forward(both.model, both.data)
    try:
        here = both.state()
        known = dense(here)
        T, _ = both.velocity_map(list(velocity_names(here.compiled)))
    except (FlexmbsError, ValueError, KeyError) as error:
        return found | {"outcome": "not compared", "reason": f"{error}"[-300:]}
    M = both.mass_matrix()
    found["mass matrix"] = float(np.abs(T.T @ known.M @ T - M).max() / np.abs(M).max())
    return found


def _without_equalities(both: Both) -> None:
    """Remove loops and couplings, which would move a random state to one that satisfies them."""
    model = both.found.model
    model.couplings.clear()
    equalities, model.cuts = model.cuts, ()
    for name in equalities:
        del model.joints[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    warnings.simplefilter("ignore")
    found = {}
    for file in sorted(folder.rglob("*.xml")):
        text = file.read_text(encoding="utf-8", errors="replace")
        if "<mujoco" not in text:
            continue
        row = compared(file)
        # in the file itself or those that it includes
        row["meshes"] = bool(re.search(r"<mesh\b|<include\b", text))
        found[str(file.relative_to(folder))] = row
        print(str(file.relative_to(folder)), row, flush=True)
    outcomes = [row["outcome"] for row in found.values()]
    largest = max((row.get("mass matrix", 0.0) for row in found.values()), default=0.0)
    print({each: outcomes.count(each) for each in dict.fromkeys(outcomes)}, f"{largest:.1e}")
    (HERE / "mjcf_files.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
