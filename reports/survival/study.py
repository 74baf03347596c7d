"""Runs in folders that are killed: no row that was in the log is lost, and the resumed run is
bitwise the one without kills.

    python reports/survival/study.py [--kills 50]        -> survival.json, and a table with PASS or FAIL

A pendulum with a discrete controller, friction and a contact with a force law, by ESDIRK with error
control, started by ``flexmbs run -o folder/ --resume`` again and again: every process is killed by
SIGKILL after a random time, at its start, within steps, while it writes. After each kill the rows
of the log must begin with those that were there before, byte for byte. At the end every array of
the solution is compared with that of a run in one piece.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np

import flexmbs as fm
from flexmbs.results.output_log import read_rows

HERE = Path(__file__).parent
T_END, OUTPUT, CHECKPOINT = 5000.0, 0.1, 0.2


def pendulum() -> fm.Model:
    """It swings against a stop and is pushed by a sampled controller."""
    model = fm.Model("pendulum", gravity=(0.0, 0.0, -9.81), frames={"stop": (0.0, 0.0, -0.5)})
    bar = model.add(
        fm.RigidBody(
            "bar", mass=1.0, inertia=(0.02, 0.1, 0.1), com=(0.5, 0, 0), frames={"tip": (1.0, 0, 0)}
        )
    )
    hinge = model.add(fm.Revolute("hinge", model.ground, bar, axis="y", q0=0.2))
    model.add(
        fm.SpherePlane(
            "stop",
            "ground/stop",
            "bar/tip",
            normal="z",
            radius=0.02,
            law=fm.HuntCrossley(1e4, damping=0.2),
        )
    )
    model.add(
        fm.JointTorque(
            "push",
            hinge,
            fm.DigitalPID(
                12.0, 0.0, 1.5, sample_time=0.02, delay=0.03, reference=fm.Sine(0.5, 0.7)
            ),
        )
    )
    model.add(fm.JointFriction("rubbing", hinge, coulomb=0.05, regularization=0.05))
    model.run = fm.Run(t_end=T_END, output_step=OUTPUT, rtol=1e-7, atol=1e-9)
    return model


def command(model: Path, folder: Path) -> list[str]:
    """The command that starts or continues the run."""
    options = ["-o", f"{folder}/", "--resume", "--checkpoint", str(CHECKPOINT)]
    return [sys.executable, "-m", "flexmbs", "run", str(model), *options]


def killed(model: Path, folder: Path, seconds: float, *, running: bool) -> bool:
    """Whether the process was killed this time (s) after its start, or after its first new row if
    ``running``, before its end.
    """
    before = size(folder)
    process = subprocess.Popen(
        command(model, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while running and process.poll() is None and size(folder) <= before:
        time.sleep(0.005)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait() == -signal.SIGKILL
    return False


def size(folder: Path) -> int:
    """Bytes of the log."""
    log = folder / "outputs.log"
    return log.stat().st_size if log.exists() else 0


def logged(folder: Path) -> np.ndarray:
    """The rows that can be read from the log."""
    there = read_rows(folder / "outputs.log")
    return np.zeros((0, 0)) if there is None else there.values


def differing(one: Path, other: Path) -> list[str]:
    """Names of the arrays of two solutions that differ in any bit."""
    found: list[str] = []
    with h5py.File(one) as a, h5py.File(other) as b:
        names: list[str] = []
        a.visititems(
            lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None
        )
        for name in names:
            if name != "run" and a[name][()].tobytes() != b[name][()].tobytes():
                found.append(name)
    return found


def study(kills: int, seed: int) -> dict[str, object]:
    """Kills, rows lost, and the arrays that differ at the end."""
    place, draw = Path(tempfile.mkdtemp(prefix="flexmbs-survival-")), random.Random(seed)
    model, whole, folder = place / "pendulum.toml", place / "whole", place / "killed"
    pendulum().save(model)
    begun = time.perf_counter()
    subprocess.run(
        command(model, whole), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    seconds = time.perf_counter() - begun
    rows, lost, changed, done, with_rows = np.zeros((0, 0)), 0, 0, 0, 0
    while done < kills:
        # one of five at the start of the process; the others after a share of the run, so that it
        # lasts for all kills
        running = done % 5 > 0
        if not killed(
            model, folder, draw.uniform(0.0, seconds / kills if running else 4.0), running=running
        ):
            break
        done += 1
        now = logged(folder)
        lost += max(len(rows) - len(now), 0)
        changed += (
            int((now[: len(rows)].view(np.int64) != rows[: len(now)].view(np.int64)).any())
            if len(rows) and len(now)
            else 0
        )
        with_rows += int(len(now) > len(rows))
        rows = now
    subprocess.run(
        command(model, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    found = differing(whole / "solution.h5", folder / "solution.h5")
    shutil.rmtree(place)
    return {
        "kills": done,
        "kills_with_new_rows": with_rows,
        "rows_lost": lost,
        "logs_changed": changed,
        "rows": len(rows),
        "outputs": round(T_END / OUTPUT) + 1,
        "arrays_that_differ": found,
        "seconds_of_whole_run": round(seconds, 1),
        "seed": seed,
    }


def main() -> None:
    """Run, write, judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found = study(given.kills, given.seed)
    (HERE / "survival.json").write_text(json.dumps(found, indent=1) + "\n")
    good = found["kills"] == given.kills and not (
        found["rows_lost"] or found["logs_changed"] or found["arrays_that_differ"]
    )
    print(json.dumps(found, indent=1))
    print("PASS" if good else "FAIL")
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
