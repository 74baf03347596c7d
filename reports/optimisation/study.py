"""Trials of identification: parameters of an arm from signals with noise, and whether the true ones
are in their intervals.

    python reports/optimisation/study.py trials [--trials 200]        -> trials.jsonl
    python reports/optimisation/study.py write                        -> the table in README.md

Results of single trials are lines of a file: a study that is run again continues with the missing
ones; ``--share 0/2`` and ``--share 1/2`` in two processes.
"""

import argparse
import functools
import json
import re
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import flexmbs as fm
from flexmbs.studies.parameters.outputs import values_at

HERE = Path(__file__).parent
TRUE = {"bodies.tool.mass": 0.8, "forces.friction.coulomb": 0.6, "forces.friction.viscous": 0.3}
NOISE = {"joint elbow.0 position": 5e-3, "joint shoulder.0 effort": 0.5}
TIMES = np.arange(0.012, 1.0, 0.012)


def arm() -> fm.Model:
    """Two links in the vertical plane: a driven shoulder, an elbow with friction, a tool of unknown
    mass.
    """
    model = fm.Model("arm")
    bar = {"inertia": (0.05, 0.05, 0.002), "com": (0, 0, -0.25), "frames": {"end": (0, 0, -0.5)}}
    upper = model.add(fm.RigidBody("upper", mass=2.5, **bar))
    fore = model.add(fm.RigidBody("fore", mass=1.5, **bar))
    tool = model.add(fm.PointMass("tool", mass=TRUE["bodies.tool.mass"]))
    shoulder = model.add(fm.Revolute("shoulder", model.ground, upper, axis="y", q0=0.0))
    elbow = model.add(fm.Revolute("elbow", upper["end"], fore, axis="y", q0=-0.8))
    model.add(fm.Fixed("wrist", fore["end"], tool))
    model.add(
        fm.JointTorque(
            "motor", shoulder, fm.PD(kp=300.0, kd=30.0, reference=fm.Sine(0.6, frequency=1.1))
        )
    )
    rubbing = {name: TRUE[f"forces.friction.{name}"] for name in ("coulomb", "viscous")}
    model.add(fm.JointFriction("friction", elbow, regularization=0.2, **rubbing))
    model.run = fm.Run(t_end=1.0, step=5e-3)
    return model


@functools.cache
def exact() -> dict[str, np.ndarray]:
    """The true signals at `TIMES`."""
    solution = fm.simulate(arm())
    return {name: values_at(solution.t, solution.signal(name).values, TIMES) for name in NOISE}


def trial(number: int) -> dict[str, Any]:
    """One identification from signals with noise, begun at values that are wrong by up to half."""
    rng = np.random.default_rng(number)
    units = {"position": "rad", "effort": "N m"}
    measured = {
        f"{name} [{units[name.rpartition(' ')[2]]}]": (
            TIMES,
            values + NOISE[name] * rng.normal(size=len(TIMES)),
        )
        for name, values in exact().items()
    }
    start = {name: value * float(rng.uniform(0.6, 1.4)) for name, value in TRUE.items()}
    found = fm.identify(arm(), start, measured)
    result = {
        "values": found.values.tolist(),
        "interval": found.interval.tolist(),
        "noise": found.noise,
        "runs": found.runs,
    }
    return {"trial": number, **result}


def stored(path: Path) -> list[dict[str, Any]]:
    """Results in the lines of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def continued(
    path: Path, key: str, numbers: Iterable[int], of: Callable[[int], dict[str, Any]]
) -> None:
    """The results of all numbers as lines of a file; those that are there are kept."""
    known = {each[key] for each in stored(path)}
    for number in numbers:
        if number not in known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                line = json.dumps(of(number))
            with path.open("a") as file:
                file.write(f"{line}\n")
            print(path.name, number, flush=True)


def text_of_trials(trials: list[dict[str, Any]]) -> str:
    intervals, values = (
        np.array([each["interval"] for each in trials]),
        np.array([each["values"] for each in trials]),
    )
    inside = np.array(
        [
            (low <= true) & (true <= high)
            for (low, high), true in zip(np.moveaxis(intervals, 0, 2), TRUE.values())
        ]
    )
    rows = [
        f"| `{name}` | {true:g} | {values[:, k].mean():.4g} | "
        f"{values[:, k].std(ddof=1):.2g} | {100.0 * inside[k].mean():.1f} % |"
        for k, (name, true) in enumerate(TRUE.items())
    ]
    head = (
        "| parameter | true | mean | standard deviation | inside its 95 % interval |\n| --- | "
        "--- | --- | --- | --- |"
    )
    runs = np.mean([each["runs"] for each in trials])
    return "\n".join([f"{len(trials)} trials, {runs:.0f} runs each on average.\n", head, *rows])


def write() -> None:
    """The table into README.md."""
    page = (HERE / "README.md").read_text(encoding="utf-8")
    body = text_of_trials(stored(HERE / "trials.jsonl"))
    page = re.sub(
        r"(<!-- trials -->\n).*?(\n<!-- end -->)",
        lambda match: f"{match[1]}{body}\n{match[2]}",
        page,
        flags=re.S,
    )
    (HERE / "README.md").write_text(page, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=["trials", "write"])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--share", default="0/1")
    chosen = parser.parse_args()
    first, every = map(int, chosen.share.split("/"))
    if chosen.part == "write":
        write()
    else:
        continued(HERE / "trials.jsonl", "trial", range(first, chosen.trials, every), trial)


if __name__ == "__main__":
    main()
