"""Derivatives, identified parameters and optima against other methods: random models, trials with noise, a grid.

    python reports/optimisation/study.py derivatives [--models 20]    -> derivatives.jsonl
    python reports/optimisation/study.py trials [--trials 200]        -> trials.jsonl
    python reports/optimisation/study.py grid                         -> grid.json
    python reports/optimisation/study.py write                        -> the tables in README.md

Results of single models and trials are lines of a file: a part that is run again continues with the missing ones; ``--share 0/2``
and ``--share 1/2`` in two processes.
"""

import argparse
import functools
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import flexmbs as fm
from flexmbs.studies.fitting.outputs import values_at
from flexmbs.studies.fitting.runs import Runs
from flexmbs.studies.parameters import changed

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "contract"))
from any_models import any_model  # noqa: E402

T_END = 0.05  # s, of random models
MOST = 40  # parameters of a random model
STEP = 1e-3  # of the other method, over the size of the parameter
SMALL = 1e-3  # derivatives below this part of |y|/|p| are compared with it
OTHER = fm.Run(
    t_end=T_END, formalism="multiplier", coordinates="absolute", integrator="dormand-prince", stabilization="projection",
    rtol=1e-11, atol=1e-13,
)  # fmt: skip

TRUE = {"bodies.tool.mass": 0.8, "forces.friction.coulomb": 0.6, "forces.friction.viscous": 0.3}
NOISE = {"joint elbow.0 position": 5e-3, "joint shoulder.0 effort": 0.5}
TIMES = np.arange(0.012, 1.0, 0.012)
GRID = 21  # values of each gain


def smooth(model: fm.Model) -> bool:
    """Models without contacts, with few parameters."""
    return not model.contacts and len(fm.parameters(model)) <= MOST


def last(seed: int) -> Callable[[fm.Solution], float]:
    """A sum with random factors of positions and velocities of all bodies at the end."""

    def output(solution: fm.Solution) -> float:
        rng = np.random.default_rng(seed)
        views = [solution.frame(name) for name in solution.bodies]
        return float(sum(rng.normal(size=3) @ view.position[-1] + 0.1 * rng.normal(size=3) @ view.velocity[-1] for view in views))

    return output


def of_order_four(model: fm.Model, path: str, size: float, output: Callable[[fm.Solution], float]) -> float | None:
    """[8 (f₁ − f₋₁) − (f₂ − f₋₂)]/12h of runs in absolute coordinates; None where a value is not allowed."""
    value = fm.parameters(model)[path]
    found = {}
    for k in (-2, -1, 1, 2):
        try:
            other = changed(model, {path: value + k * STEP * size})
            found[k] = run_of(other, options(OTHER), output)
        except fm.InputError:
            return None
    return (8.0 * (found[1] - found[-1]) - (found[2] - found[-2])) / (12.0 * STEP * size)


def options(run: fm.Run) -> dict[str, Any]:
    """Options of `simulate`."""
    return {key: getattr(run, key) for key in run.field_names()}


def run_of(model: fm.Model, chosen: dict[str, Any], *outputs: Callable[[fm.Solution], float]) -> Any:
    """Outputs of a run without its audit."""
    found = Runs(model, {}, chosen, (), lambda solution: np.array([output(solution) for output in outputs]))({}).values
    return found if len(outputs) > 1 else float(found[0])


def derivatives_of(seed: int) -> dict[str, Any]:
    """All derivatives of a random model by `sensitivities` and by the other method."""
    model = any_model(seed, fits=smooth).model
    output = last(seed)
    found = fm.sensitivities(model, list(fm.parameters(model)), {"y": output}, run=fm.Run(t_end=T_END))
    rows = []
    for path, value, ours, error in zip(found.parameters, found.at, found.gradient[0], found.error[0]):
        size = abs(value) or 1.0
        other = of_order_four(model, path, size, output)
        rows.append({"path": path, "size": size, "ours": float(ours), "error": float(error), "other": other})
    return {"seed": seed, "model": repr(model), "y": float(found.values[0]), "runs": found.runs, "rows": rows}


def arm() -> fm.Model:
    """Two links in the vertical plane: a driven shoulder, an elbow with friction, a tool of unknown mass."""
    model = fm.Model("arm")
    bar = {"inertia": (0.05, 0.05, 0.002), "com": (0, 0, -0.25), "frames": {"end": (0, 0, -0.5)}}
    upper = model.add(fm.RigidBody("upper", mass=2.5, **bar))
    fore = model.add(fm.RigidBody("fore", mass=1.5, **bar))
    tool = model.add(fm.PointMass("tool", mass=TRUE["bodies.tool.mass"]))
    shoulder = model.add(fm.Revolute("shoulder", model.ground, upper, axis="y", q0=0.0))
    elbow = model.add(fm.Revolute("elbow", upper["end"], fore, axis="y", q0=-0.8))
    model.add(fm.Fixed("wrist", fore["end"], tool))
    model.add(fm.JointTorque("motor", shoulder, fm.PD(kp=300.0, kd=30.0, reference=fm.Sine(0.6, frequency=1.1))))
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
        f"{name} [{units[name.rpartition(' ')[2]]}]": (TIMES, values + NOISE[name] * rng.normal(size=len(TIMES)))
        for name, values in exact().items()
    }
    start = {name: value * float(rng.uniform(0.6, 1.4)) for name, value in TRUE.items()}
    found = fm.identify(arm(), start, measured)
    result = {"values": found.values.tolist(), "interval": found.interval.tolist(), "noise": found.noise, "runs": found.runs}
    return {"trial": number, **result}


def servo() -> fm.Model:
    """A link that a motor with PD control moves through a right angle."""
    model = fm.Model("servo")
    link = model.add(fm.RigidBody("link", mass=3.0, inertia=(0.1, 0.1, 0.01), com=(0, 0, -0.3), frames={"tip": (0, 0, -0.6)}))
    joint = model.add(fm.Revolute("joint", model.ground, link, axis="y", q0=0.0))
    target = fm.SmoothStep(1.57, start=0.1, duration=0.4)
    model.add(fm.JointTorque("motor", joint, fm.PD(kp=60.0, kd=6.0, reference=target)))
    model.run = fm.Run(t_end=1.2, step=4e-3)
    return model


def deviation(solution: fm.Solution) -> float:
    """Root mean square of the error of the angle (rad)."""
    target = fm.SmoothStep(1.57, start=0.1, duration=0.4)
    error = solution.joint("joint").position[:, 0] - np.array([target(t) for t in solution.t])
    return float(np.sqrt(np.trapezoid(error**2, solution.t) / solution.t[-1]))


def effort(solution: fm.Solution) -> float:
    """Root mean square of the torque of the motor (N m)."""
    torque = solution.joint("joint").effort[:, 0]
    return float(np.sqrt(np.trapezoid(torque**2, solution.t) / solution.t[-1]))


def grid() -> dict[str, Any]:
    """The gains with the smallest error under a limit of the torque, by both methods and on a grid."""
    gains = {"forces.motor.law.kp": (20.0, 220.0), "forces.motor.law.kd": (1.0, 21.0)}
    limit, model = 13.6, servo()
    found = {}
    for method in ("gradient", "global"):
        best = fm.optimize(
            model, list(gains), "error", bounds=gains, limits={"torque": (None, limit)},
            outputs={"error": deviation, "torque": effort}, method=method, most=40,
        )  # fmt: skip
        found[method] = {
            "values": best.values.tolist(),
            "results": best.results.tolist(),
            "runs": best.runs,
            "message": best.message,
        }
    rows = []
    for kp in np.linspace(*gains["forces.motor.law.kp"], GRID):
        for kd in np.linspace(*gains["forces.motor.law.kd"], GRID):
            other = changed(model, dict(zip(gains, (float(kp), float(kd)))))
            rows.append([float(kp), float(kd), *run_of(other, options(model.run), deviation, effort).tolist()])
    return {"limit": limit, "found": found, "grid": rows}


def stored(path: Path) -> list[dict[str, Any]]:
    """Results in the lines of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def continued(path: Path, key: str, numbers: Iterable[int], of: Callable[[int], dict[str, Any]]) -> None:
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


def differences(models: list[dict[str, Any]]) -> list[tuple[float, float, dict[str, Any]]]:
    """(relative difference, the same over the estimated errors) of all derivatives that both methods have, largest first."""
    found = []
    for model in models:
        for row in model["rows"]:
            if row["other"] is None or not np.isfinite(row["ours"]):
                continue
            floor = SMALL * max(abs(model["y"]), 0.1) / row["size"]
            apart = abs(row["ours"] - row["other"])
            found.append(
                (apart / max(abs(row["other"]), floor), apart / (row["error"] + 1e-8 * max(abs(row["other"]), floor)), row)
            )
    return sorted(found, key=lambda each: -each[0])


def text_of_derivatives(models: list[dict[str, Any]]) -> str:
    apart = [each[0] for each in differences(models)]
    several = sum(len(model["rows"]) for model in models)
    lost = [row for model in models for row in model["rows"] if not np.isfinite(row["ours"])]
    worst = differences(models)[0][2]
    quantiles = " | ".join(f"{np.quantile(apart, q):.1e}" for q in (0.5, 0.9, 0.99, 1.0))
    return (
        f"{len(models)} models, {several} parameters, {sum(model['runs'] for model in models)} runs by `sensitivities`; "
        f"{len(apart)} derivatives by both methods, {len(lost)} reported as not existing, "
        f"{several - len(apart) - len(lost)} at bounds, where differences to both sides do not exist.\n\n"
        "| relative difference | median | 90 % | 99 % | largest |\n| --- | --- | --- | --- | --- |\n"
        f"| | {quantiles} |\n\n"
        f"The largest is that of `{worst['path']}`: {worst['ours']:.8g} ± {worst['error']:.1e}, by the other method "
        f"{worst['other']:.8g}."
    )


def text_of_trials(trials: list[dict[str, Any]]) -> str:
    intervals, values = np.array([each["interval"] for each in trials]), np.array([each["values"] for each in trials])
    inside = np.array([(low <= true) & (true <= high) for (low, high), true in zip(np.moveaxis(intervals, 0, 2), TRUE.values())])
    rows = [
        f"| `{name}` | {true:g} | {values[:, k].mean():.4g} | {values[:, k].std(ddof=1):.2g} | {100.0 * inside[k].mean():.1f} % |"
        for k, (name, true) in enumerate(TRUE.items())
    ]
    head = "| parameter | true | mean | standard deviation | inside its 95 % interval |\n| --- | --- | --- | --- | --- |"
    runs = np.mean([each["runs"] for each in trials])
    return "\n".join([f"{len(trials)} trials, {runs:.0f} runs each on average.\n", head, *rows])


def text_of_grid(found: dict[str, Any]) -> str:
    allowed = [row for row in found["grid"] if row[3] <= found["limit"]]
    best = min(allowed, key=lambda row: row[2])
    rows = [("best of the grid", *best, len(found["grid"]))]
    rows += [(f'`method="{name}"`', *each["values"], *each["results"], each["runs"]) for name, each in found["found"].items()]
    head = (
        "| | kp (N m/rad) | kd (N m s/rad) | RMS error (rad) | RMS torque (N m) | runs |\n| --- | --- | --- | --- | --- | --- |"
    )
    return "\n".join([head, *(f"| {a} | {b:.2f} | {c:.3f} | {d:.6f} | {e:.4f} | {n} |" for a, b, c, d, e, n in rows)])


def write() -> None:
    """The tables into README.md, with the commit of the code."""
    page = (HERE / "README.md").read_text(encoding="utf-8")
    texts = {"derivatives": text_of_derivatives, "trials": text_of_trials, "grid": text_of_grid}
    for name, text in texts.items():
        body = text(json.loads((HERE / "grid.json").read_text()) if name == "grid" else stored(HERE / f"{name}.jsonl"))  # type: ignore[operator]
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", lambda match, body=body: match[1] + body + match[2], page, flags=re.S
        )
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE).stdout.strip()
    (HERE / "README.md").write_text(re.sub(r"commit `\w*`", f"commit `{commit}`", page), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=["derivatives", "trials", "grid", "write"])
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--share", default="0/1")
    chosen = parser.parse_args()
    first, every = map(int, chosen.share.split("/"))
    if chosen.part == "derivatives":
        continued(HERE / "derivatives.jsonl", "seed", range(first, chosen.models, every), derivatives_of)
    elif chosen.part == "trials":
        continued(HERE / "trials.jsonl", "trial", range(first, chosen.trials, every), trial)
    elif chosen.part == "grid":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (HERE / "grid.json").write_text(json.dumps(grid()) + "\n")
    else:
        write()


if __name__ == "__main__":
    main()
