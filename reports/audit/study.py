"""Verdicts of the audit against actual errors: random models, all methods, coarse and fine steps.

    python reports/audit/study.py --models 200 --minutes 30 --jobs 2     -> found.jsonl.gz, README.md, verdicts.png
    python reports/audit/study.py --only SEED                            one model, a line for each run

Models draw from every registry (`tests/contract/any_models.py`). Each run is compared with one of
tolerance 1e-10 that passes its own audit: the largest difference of the bodies' positions over the
largest displacement of any of them, and of their rotations likewise. A study that is run again
continues with the missing seeds.
"""

import argparse
import gzip
import json
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
FOUND = HERE / "found.jsonl"  # of this call; packed at its end
PACKED = HERE / "found.jsonl.gz"
COST = HERE / "cost.json"
REACTIONS = HERE / "reactions.md"  # by reactions.py
sys.path.insert(0, str(HERE.parents[1] / "tests" / "contract"))
import differential  # noqa: E402
from any_models import any_model  # noqa: E402

import flexmbs as fm  # noqa: E402

T_END = 0.2
BROKEN = """## Manipulated runs

`tests/audit/test_broken_runs.py` uses equations with wrong records (rotated gravity, a missing force, a mass with an error of
3 % …) under three pairs, unsuitable steps, wrong units, aliased forces and wrong path variables, and modifies results: each is
detected. `tests/audit/test_audit.py` contains the cases detected by a single check.
"""
GOOD, BAD = differential.GOOD, differential.BAD
FIXED = (5e-3, 1e-3, 2e-4)
CONTROLLED = (1e-3, 1e-5, 1e-7)
STATUS = ("PASS", "WARN", "FAIL")


def simulated(model: fm.Model, pair: differential.Pair, **given: Any) -> fm.Solution | None:
    """A run, or None if it is rejected or stops."""
    method = differential.INTEGRATORS[pair.integrator](**given)
    try:
        return fm.simulate(
            model, t_end=T_END, output_step=T_END / 40, **differential.options(pair, method)
        )
    except fm.FlexmbsError:
        return None


def levels(pair: differential.Pair) -> list[dict[str, float]]:
    """Options from coarse to fine."""
    if pair.integrator in ("generalized-alpha", "moreau-jean", "rattle"):
        return [{"step": step} for step in FIXED]
    return [{"rtol": rtol, "atol": rtol * 1e-2} for rtol in CONTROLLED]


def runs(seed: int) -> Iterator[dict[str, Any]]:
    """Error of each run of a model, its verdict and the checks that are not PASS; empty without a
    reference.
    """
    warnings.simplefilter("ignore")
    try:
        model = any_model(seed).model
    except ValueError:
        return
    rigid = any(contact.rigid for contact in model.contacts.values())
    first = differential.Pair("multiplier", "joint", "event-driven" if rigid else "dormand-prince")
    exact = simulated(model, first, rtol=1e-10, atol=1e-12)
    if exact is None or exact.verdict == "FAIL":
        return
    for pair in differential.pairs():
        for level, given in enumerate(levels(pair)):
            found = simulated(model, pair, **given)
            if found is not None:
                told = {
                    check.title: check.status for check in found.audit if check.status != "PASS"
                }
                yield {
                    "pair": str(pair),
                    "level": level,
                    "off": differential.of_motion(found, exact),
                    "verdict": found.verdict,
                    "told": told,
                }


def one(seed: int) -> dict[str, Any]:
    return {"seed": seed, "runs": list(runs(seed))}


def known() -> dict[int, Any]:
    """The lines of `PACKED` and `FOUND`, the last one of each seed."""
    lines = gzip.decompress(PACKED.read_bytes()).decode().splitlines() if PACKED.is_file() else []
    lines += FOUND.read_text().splitlines() if FOUND.is_file() else []
    return {each["seed"]: each for each in map(json.loads, lines)}


def pack() -> None:
    """All lines into one packed file."""
    text = "\n".join(json.dumps(line) for _, line in sorted(known().items()))
    PACKED.write_bytes(gzip.compress(text.encode(), mtime=0))
    FOUND.unlink(missing_ok=True)


def study(models: int, minutes: float, jobs: int) -> None:
    """The seeds that are missing, within the time."""
    seeds = iter([seed for seed in range(models) if seed not in known()])
    ending = time.monotonic() + 60.0 * minutes
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True
    ).stdout.strip()
    with ProcessPoolExecutor(jobs) as pool, FOUND.open("a") as file:
        pending = {pool.submit(one, seed) for seed, _ in zip(seeds, range(jobs))}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                file.write(json.dumps(future.result() | {"commit": commit}) + "\n")
                file.flush()
                seed = next(seeds, None) if time.monotonic() < ending else None
                if seed is not None:
                    pending.add(pool.submit(one, seed))


def report() -> None:
    """Write README.md and the picture from the results."""
    lines = [line for line in known().values() if line["runs"]]
    found = [run | {"seed": line["seed"]} for line in lines for run in line["runs"]]
    classes = {
        f"below {GOOD:g}": (0.0, GOOD),
        f"{GOOD:g} … {BAD:g}": (GOOD, BAD),
        f"above {BAD:g}": (BAD, np.inf),
    }
    table = [
        "| error, relative to the motion | runs | " + " | ".join(STATUS) + " |",
        "|---|---|---|---|---|",
    ]
    for name, (low, high) in classes.items():
        inside = [
            run["verdict"]
            for run in found
            if low <= run["off"] < high or (run["off"] == high == np.inf)
        ]
        table.append(
            f"| {name} | {len(inside)} | "
            + " | ".join(str(inside.count(status)) for status in STATUS)
            + " |"
        )
    wrong = [run for run in found if run["off"] >= BAD and run["verdict"] == "PASS"]
    false = [run for run in found if run["off"] < GOOD and run["verdict"] == "FAIL"]
    causes = Counter(
        title.split(" of ")[0]
        for run in false
        for title, status in run["told"].items()
        if status == "FAIL"
    )
    sees = Counter(
        title.split(" of ")[0] for run in found if run["off"] >= BAD for title in run["told"]
    )
    seen = ", ".join(f"{name} {n}" for name, n in sees.most_common())
    commits = Counter(line["commit"] for line in lines)
    levels_text = (
        f"{', '.join(f'{1e3 * h:g}' for h in FIXED)} ms or tolerances "
        f"{', '.join(f'{r:g}' for r in CONTROLLED)}"
    )
    by = f" (by {', '.join(f'{name} {n}' for name, n in causes.most_common())})" if false else ""
    text = [
        "# Verdicts of the audit against actual errors\n",
        f"`study.py`: {len(lines)} random models, {len(found)} runs of {T_END:g} s under "
        "all combinations with",
        f"steps of {levels_text}, against runs of tolerance 1e-10.",
        f"Commits (models): {', '.join(f'{name} ({n})' for name, n in commits.items())}.\n",
        *table,
        f"\nPASS with an error above {BAD:g}: **{len(wrong)}**.",
        f"FAIL with an error below {GOOD:g}: **{len(false)}**{by}.\n",
        f"Findings in runs with errors above {BAD:g}: {seen or 'no run has such an error'}.\n",
        "![verdicts](verdicts.png)\n",
        BROKEN,
    ]
    if wrong:
        text += ["| seed | run | level | error |", "|---|---|---|---|"]
        text += [
            f"| {run['seed']} | {run['pair']} | {run['level']} | {run['off']:.2g} |"
            for run in wrong
        ]
    reactions = REACTIONS.read_text(encoding="utf-8").splitlines() if REACTIONS.is_file() else []
    lines_ = [*text, *reactions, *cost()]
    (HERE / "README.md").write_text("\n".join(lines_) + "\n", encoding="utf-8")
    picture(found)


def cost() -> list[str]:
    """The table of `cost.py`, if it was run."""
    if not COST.is_file():
        return []
    head = [
        "\n## Cost\n",
        "`cost.py`: milliseconds of a run, of its audit, and of two parts of that: the "
        "second opinion, whose limit is 20 ms or",
        "5 % of the run, and the second run.\n",
    ]
    rows = [
        "| model, length of the run | steps | run | audit | second opinion | second run |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, row in json.loads(COST.read_text(encoding="utf-8")).items():
        times = " | ".join(
            f"{1e3 * row[f'{key} [s]']:.1f}"
            for key in ("run", "audit", "second opinion", "second run")
        )
        rows.append(f"| {name} | {row['steps']} | {times} |")
    return head + rows


def picture(found: list[dict[str, Any]]) -> None:
    """Shares of the verdicts over the errors."""
    import matplotlib.pyplot as plt

    edges = np.logspace(-8, 1, 19)
    values = {
        status: np.clip([run["off"] for run in found if run["verdict"] == status], 1.1e-8, 9.0)
        for status in STATUS
    }
    figure, axes = plt.subplots(figsize=(7, 3.2), constrained_layout=True)
    colours = ["#4477aa", "#ccbb44", "#cc6677"]
    axes.hist(
        [values[status] for status in STATUS], bins=edges, stacked=True, label=STATUS, color=colours
    )  # type: ignore[arg-type]
    axes.set(xscale="log", xlabel="error, relative to the motion", ylabel="runs")
    for limit in (GOOD, BAD):
        axes.axvline(limit, color="0.4", lw=0.8, ls=":")
    axes.legend(frameon=False)
    figure.savefig(HERE / "verdicts.png", dpi=150)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--models", type=int, default=200)
    arguments.add_argument("--minutes", type=float, default=30.0)
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--only", type=int)
    chosen = arguments.parse_args()
    if chosen.only is not None:
        for each in runs(chosen.only):
            print(
                f"{each['pair']:45} level {each['level']}  off {each['off']:.1e}  "
                f"{each['verdict']}  {each['told']}"
            )
    else:
        study(chosen.models, chosen.minutes, chosen.jobs)
        pack()
        report()
