"""Sweeps that are killed, what they cost beside their runs, and 2000 flexible arms.

    python reports/sweeps/study.py [--kills 50] [--arms 2000] [--failing 10000] [--rounds 12]
    [--only kills|overhead|arms|threads]

-> sweeps.json, arms.html

Kills: a sweep in processes, in turns a worker, the process that started them, and everything is
killed by SIGKILL after a random time and the sweep resumed. After each kill every result that was
in the folder before is there, bit for bit, and so is everything that was told; at the end all
outputs equal those of single runs. Overhead: cases that fail at once, so that nothing is left but
the sweep; memory of its processes. Arms: processor time of a sweep and of a loop over `simulate`,
also in threads. Threads: rounds of a loop, two threads and two forked processes, which are what the
machine has, for two tolerances.
"""

import argparse
import dataclasses
import functools
import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from machines import arm, pendulum, refused

import flexmbs as fm
import preprocess as pp

HERE = Path(__file__).resolve().parent
WORKERS = 2
SPEED = {"speed": "last joint hinge.0 velocity"}
ANGLES = np.linspace(0.05, 0.5, 150).tolist()
RANGES = {"joints.elbow.q0": fm.Range(0.95, 1.05), "bodies.tool.mass": fm.Range(0.1, 2.0, log=True),
          "forces.shoulder drive.law.kp": fm.Range(200.0, 1600.0)}  # fmt: skip
OUTPUTS = {"sag": "last frame fore/tip position z", "torque": "peak joint shoulder.0 effort"}


def started(folder: Path) -> "subprocess.Popen[str]":
    """The sweep of the kills as a program in a session of its own, which tells how many cases are
    done.
    """
    command = [sys.executable, str(HERE / "study.py"), "--sweep", str(folder)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def sweep_in(folder: Path) -> None:
    """What `started` runs."""
    fm.sweep(pendulum, {"q0": ANGLES}, outputs=SPEED, folder=folder, resume=True, workers=WORKERS,
             progress=lambda part, text: print(round(part * len(ANGLES)), flush=True))  # fmt: skip


def workers_of(process: int) -> list[int]:
    """The processes of a sweep that run batches."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process and b"spawn_main" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def killed(folder: Path, whom: str, rng: random.Random) -> bool:
    """Kill after some results and a random time; whether the sweep was still running."""
    process = started(folder)
    assert process.stdout
    line = process.stdout.readline()
    time.sleep(rng.uniform(0.0, 1.5))
    alive = process.poll() is None
    try:
        match whom:
            case "worker":
                os.kill(rng.choice(workers_of(process.pid) or [process.pid]), signal.SIGKILL)
                time.sleep(rng.uniform(0.5, 4.0))
                os.killpg(process.pid, signal.SIGKILL)
            case "scheduler":
                os.kill(process.pid, signal.SIGKILL)
            case _:
                os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        alive = False
    told = [line, *process.stdout.readlines()]
    process.wait()
    there = fm.SweepResult.load(folder)
    assert len(there) >= max((int(each) for each in told if each.strip()), default=0), (
        "a case that was told is lost"
    )
    return alive


def kills(n: int) -> dict[str, Any]:
    """Kill, compare and resume; then all outputs against those of single runs."""
    rng, lost, alive = random.Random(1), 0, 0
    with tempfile.TemporaryDirectory() as place:
        folder, before, turn = Path(place) / "0", {}, 0
        for k in range(n):
            whom = ("worker", "scheduler", "everything")[k % 3]
            alive += killed(folder, whom, rng)
            there = fm.SweepResult.load(folder)
            now = dict(zip(there.case, zip(there.seconds, there.outputs["speed"])))
            lost += sum(now.get(case) != values for case, values in before.items())
            before = now
            print(f"kill {k + 1}, {whom}: {len(now)} of {len(ANGLES)} cases", flush=True)
            if len(now) == len(ANGLES):
                turn += 1
                folder, before = Path(place) / str(turn), {}
        sweep_in(folder)
        found = fm.SweepResult.load(folder)
        sample = range(0, len(ANGLES), 10)
        same = all(speed_at(found.parameters["q0"][k]) == found.outputs["speed"][k] for k in sample)
    return {
        "kills": n,
        "while it ran": alive,
        "results lost": lost,
        "cases": len(found),
        "compared": len(sample),
        "bitwise": same,
    }


def speed_at(q0: float) -> float:
    """The output of a single run."""
    return float(fm.simulate(pendulum(q0)).joint("hinge").velocity[-1, 0])


def outputs_of(model: fm.Model) -> tuple[float, float]:
    """The outputs of a single arm, NaN where it cannot be run."""
    try:
        solution = fm.simulate(model)
    except fm.SolverError:
        return float("nan"), float("nan")
    effort = solution.joint("shoulder").effort[:, 0]
    return float(solution.frame("fore/tip").position[-1, 2]), float(np.abs(effort).max())


def link(place: str) -> str:
    """File of the links' part."""
    path = Path(place) / "link.h5"
    mesh = pp.read_mesh(str(HERE.parents[1] / "meshes" / "link.msh"), unit="mm")
    interfaces = {"hub": pp.Rigid("hub_face"), "tip": pp.Rigid("tip_face")}
    pp.reduce(
        mesh,
        pp.Isotropic(E=70e9, nu=0.33, rho=2700.0),
        interfaces=interfaces,
        method=pp.CraigBampton(modes=6),
        reference="hub",
        damping=0.01,
        inertia_loads=True,
    ).save(path)
    return str(path)


def drawn(n: int) -> dict[str, list[float]]:
    """Values of the arms' parameters."""
    points = fm.LatinHypercube(count=n, seed=1).points(RANGES)
    return {name: [float(point[k]) for point in points] for k, name in enumerate(RANGES)}


def variants(model: fm.Model, values: dict[str, list[float]]) -> list[fm.Model]:
    """The model with each of the values."""
    from flexmbs.studies.parameters.parameter_paths import changed

    return [changed(model, dict(zip(values, case))) for case in zip(*values.values())]


def cpu() -> float:
    """Processor time (s) of this process and of those that have ended."""
    return sum(
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """A result with wall and processor time (s)."""
    wall, used = time.perf_counter(), cpu()
    result = call()
    return result, {"wall": time.perf_counter() - wall, "cpu": cpu() - used}


def overhead(n: int) -> dict[str, Any]:
    """Cases that fail at once, in two sizes: time of each, and the largest memory of all processes
    (MB).
    """
    found: dict[str, Any] = {}
    for count in (n // 10, n):
        with tempfile.TemporaryDirectory() as place:
            given = {"q0": np.linspace(0.0, 1.0, count).tolist()}
            _, times = timed(
                functools.partial(
                    fm.sweep,
                    refused,
                    given,
                    outputs=SPEED,
                    folder=Path(place) / "s",
                    workers=WORKERS,
                )
            )
        memory = {
            name: resource.getrusage(who).ru_maxrss / 1e3
            for name, who in (
                ("scheduler", resource.RUSAGE_SELF),
                ("workers", resource.RUSAGE_CHILDREN),
            )
        }
        found[str(count)] = times | {"MB": memory}
    # starting included
    found["ms a case"] = {key: 1e3 * found[str(n)][key] / n for key in ("wall", "cpu")}
    return found


def arms(n: int) -> dict[str, Any]:
    """Times of a loop over a part of the cases, of the sweep of all in processes, of a part in
    threads; and the page.
    """
    with tempfile.TemporaryDirectory() as place:
        model, few = arm(link(place)), max(n // 20, 2)
        values = drawn(n)
        first = {name: each[:few] for name, each in values.items()}
        fm.simulate(model)  # compiled
        alone, of_loop = timed(lambda: [outputs_of(each) for each in variants(model, first)])
        threads, of_threads = timed(
            lambda: fm.sweep(
                model, first, design="list", outputs=OUTPUTS, executor="threads", workers=WORKERS
            )
        )
        result, of_sweep = timed(
            lambda: fm.sweep(
                model,
                values,
                design="list",
                outputs=OUTPUTS,
                folder=Path(place) / "s",
                workers=WORKERS,
            )
        )
        result.report(HERE / "arms.html", name=f"{n} flexible arms")
    for found in (threads.outputs["sag"], result.outputs["sag"][:few]):
        np.testing.assert_array_equal(found, [sag for sag, _ in alone])
    all_times = (("loop", of_loop, few), ("threads", of_threads, few), ("processes", of_sweep, n))
    each = {
        name: {key: 1e3 * value / count for key, value in times.items()}
        for name, times, count in all_times
    }
    return {
        "cases": n,
        "of the loop and threads": few,
        "verdicts": result.counts(),
        "ms a case": each,
        "bitwise equal to the loop": True,
    }


def threads(rounds: int, n: int = 16) -> dict[str, Any]:
    """Time of an arm (ms) in a loop, in two threads and in two forked processes, by turns, for two
    tolerances.
    """
    found: dict[str, Any] = {"arms": n, "rounds": rounds}
    with tempfile.TemporaryDirectory() as place:
        model, values = arm(link(place)), drawn(n)
        for rtol in (1e-4, 1e-6):
            model.run = dataclasses.replace(model.run, rtol=rtol, atol=1e-3 * rtol)
            fm.simulate(model)  # compiled
            ways = {
                "loop": lambda: [outputs_of(each) for each in variants(model, values)],
                "threads": lambda: fm.sweep(
                    model,
                    values,
                    design="list",
                    outputs=OUTPUTS,
                    executor="threads",
                    workers=WORKERS,
                ),
                "processes": lambda: forked(model, values),
            }
            each = {name: [] for name in ways}
            for _ in range(rounds):
                for name, way in ways.items():
                    start = time.perf_counter()
                    way()
                    each[name].append(1e3 * (time.perf_counter() - start) / n)
            found[f"rtol {rtol:g}"] = {
                name: {"least": min(times), "median": float(np.median(times)),
                       "over the loop": min(each["loop"]) / min(times),
                       "median over the loop": float(np.median(np.divide(each["loop"], times)))}
                for name, times in each.items()
            }  # fmt: skip
    return found


def forked(model: fm.Model, values: dict[str, list[float]]) -> list[tuple[float, float]]:
    """Outputs of the variants from processes that are copies of this one, each with its share:
    nothing is waited for or sent.
    """
    context = multiprocessing.get_context("fork")
    shares = [{name: each[k::WORKERS] for name, each in values.items()} for k in range(WORKERS)]
    with ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        jobs = [pool.submit(share_of, model, share) for share in shares]
        return [each for job in jobs for each in job.result()]


def share_of(model: fm.Model, values: dict[str, list[float]]) -> list[tuple[float, float]]:
    return [outputs_of(each) for each in variants(model, values)]


def main() -> None:
    options = argparse.ArgumentParser()
    for name, default in (("kills", 50), ("failing", 10000), ("arms", 2000), ("rounds", 12)):
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--only", choices=("kills", "overhead", "arms", "threads"))
    options.add_argument("--sweep", type=Path)
    given = options.parse_args()
    warnings.simplefilter("ignore", fm.AuditWarning)  # verdicts are counted
    if given.sweep:
        return sweep_in(given.sweep)
    path = HERE / "sweeps.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    parts = {
        "kills": lambda: kills(given.kills),
        "overhead": lambda: overhead(given.failing),
        "arms": lambda: arms(given.arms),
        "threads": lambda: threads(given.rounds),
    }
    for name, part in parts.items():
        if given.only in (None, name):
            found[name] = part() | {
                "load": round(os.getloadavg()[0], 1),
                "processors": os.cpu_count(),
            }
            path.write_text(json.dumps(found, indent=1) + "\n")
            print(json.dumps({name: found[name]}, indent=1))


if __name__ == "__main__":
    main()
