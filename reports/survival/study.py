"""Runs and sweeps in folders that are killed: no row that was in a log is lost, and what is resumed
is bitwise what was not interrupted.

    python reports/survival/study.py [--kills 50]        -> survival.json, and a table with PASS or FAIL

A pendulum with a discrete controller, friction and a contact with a force law, by ESDIRK with error
control, started by ``flexmbs run -o folder/ --resume`` again and again: every process is killed by
SIGKILL after a random time, at its start, within steps, while it writes. After each kill the rows
of the log must begin with those that were there before, byte for byte. At the end every array of
the solution is compared with that of a run in one piece.

A sweep of the same pendulum by ``flexmbs sweep --resume`` with two workers is killed likewise, with
its workers. Cases that were in its logs must be there after each kill, and not run again; at the
end the table is compared with that of a sweep in one piece.
"""

import argparse
import json
import os
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
from flexmbs.errors import InputError
from flexmbs.results.output_log import read_rows

HERE = Path(__file__).parent
T_END, OUTPUT, CHECKPOINT = 5000.0, 0.1, 0.2
CASES, T_CASE = 2000, 20.0  # of the sweep; s of simulated time
STUDY = f"""
format = "flexmbs-sweep/1"
model = "pendulum.toml"
[parameters]
joints.hinge.q0 = {{ low = 0.1, high = 0.5, count = {CASES} }}
[outputs]
speed = "peak joint hinge.0 velocity"
[run]
t_end = {T_CASE}
step = 1e-3
audit = "none"
"""


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


def runs(place: Path, kills: int, draw: random.Random) -> dict[str, object]:
    """Kills of a run, rows lost, and the arrays that differ at the end."""
    model, whole, folder = place / "pendulum.toml", place / "whole", place / "killed"
    begun = time.perf_counter()
    finished(command(model, whole))
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
    finished(command(model, folder))
    found = differing(whole / "solution.h5", folder / "solution.h5")
    return {
        "kills": done,
        "kills_with_new_rows": with_rows,
        "rows_lost": lost,
        "logs_changed": changed,
        "rows": len(rows),
        "outputs": round(T_END / OUTPUT) + 1,
        "arrays_that_differ": found,
        "seconds_of_whole_run": round(seconds, 1),
    }


def finished(words: list[str]) -> None:
    """Run a command to its end; what it leaves is examined."""
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def sweep_command(study: Path, folder: Path) -> list[str]:
    """The command that starts or continues the sweep."""
    words = ["sweep", str(study), "-o", str(folder), "--resume", "--workers", "2"]
    return [sys.executable, "-m", "flexmbs", *words]


def cases(folder: Path) -> dict[str, tuple[float, float, float]]:
    """Finished cases by their names: parameter, output and seconds, as stored."""
    try:
        table = fm.SweepResult.load(folder)
    except InputError:  # killed before the folder was made
        return {}
    if not len(table):
        return {}
    values = (table.parameters["joints.hinge.q0"], table.outputs["speed"], table.seconds)
    return dict(zip(table.case, zip(*(np.asarray(each).tolist() for each in values))))


def sweeps(place: Path, kills: int, draw: random.Random) -> dict[str, object]:
    """Kills of a sweep with its workers, cases lost or run again, and values that differ at the
    end."""
    study, whole, folder = place / "study.toml", place / "whole sweep", place / "killed sweep"
    study.write_text(STUDY, encoding="utf-8")
    begun = time.perf_counter()
    finished(sweep_command(study, whole))
    seconds = time.perf_counter() - begun
    before: dict[str, tuple[float, float, float]] = {}
    done = lost = changed = with_cases = 0
    while done < kills:
        process = subprocess.Popen(
            sweep_command(study, folder),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            # from the first millisecond on; most within the first cases
            process.wait(draw.uniform(0.0, 0.3) if done % 5 == 0 else draw.uniform(0.5, 5.0))
            break
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        done += 1
        now = cases(folder)
        lost += sum(name not in now for name in before)
        changed += sum(now.get(name, values) != values for name, values in before.items())
        with_cases += int(len(now) > len(before))
        before = now
    finished(sweep_command(study, folder))
    ours, theirs = cases(folder), cases(whole)
    return {
        "kills": done,
        "kills_with_new_cases": with_cases,
        "cases_lost": lost,
        "cases_changed_or_repeated": changed,
        "cases_before_the_last_start": len(before),
        "cases": len(ours),
        "cases_that_differ": sum(
            ours.get(name, (0.0, 0.0))[:2] != values[:2] for name, values in theirs.items()
        )
        + abs(len(ours) - CASES)
        + abs(len(theirs) - CASES),
        "seconds_of_whole_sweep": round(seconds, 1),
    }


def main() -> None:
    """Run, write, judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    place, draw = Path(tempfile.mkdtemp(prefix="flexmbs-survival-")), random.Random(given.seed)
    pendulum().save(place / "pendulum.toml")
    found: dict[str, dict[str, object]] = {
        "runs": runs(place, given.kills, draw),
        "sweeps": sweeps(place, given.kills, draw),
    }
    shutil.rmtree(place)
    (HERE / "survival.json").write_text(json.dumps({"seed": given.seed, **found}, indent=1) + "\n")
    faults = ("rows_lost", "logs_changed", "arrays_that_differ")
    faults += ("cases_lost", "cases_changed_or_repeated", "cases_that_differ")
    good = all(
        each["kills"] == given.kills and not any(each.get(key) for key in faults)
        for each in found.values()
    )
    print(json.dumps(found, indent=1))
    print("PASS" if good else "FAIL")
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
