"""Work and precision of the error-controlled integrators on ten models.

    python reports/integrators/study.py        -> study.json, precision.png, work.png, the table of README.md

Error: largest distance of a body's origin or of a direction of its axes from the reference, over
the largest distance moved; tolerances are rtol and atol = rtol/100. Time: seconds of the run, the
minimum of two. The reference is Dormand–Prince with rtol 1e-12, to which the other methods
converge.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from models import CASES, Case

import flexmbs as fm
from flexmbs.page.style import WIDTH, decades, house_style

HERE = Path(__file__).parent
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
OUTPUTS = 40
REPEATS = 2
ALLOWED = 30.0
SHOWN = 1e-6
MARKS = "<!-- table -->", "<!-- end -->"
METHODS: dict[str, dict[str, Any]] = {
    "dormand-prince": {"integrator": "dormand-prince"},
    "esdirk": {"integrator": "esdirk"},
    "esdirk, absolute": {"integrator": "esdirk", "coordinates": "absolute"},
    "generalized-alpha": {"integrator": "generalized-alpha"},
}


def places(solution: fm.Solution) -> np.ndarray:
    """Origins and axes of all bodies over time."""
    views = [solution.body(name) for name in solution.bodies]
    return np.stack(
        [np.concatenate([v.position[:, :, None], v.rotation], axis=2) for v in views], axis=1
    )


def run(case: Case, model: fm.Model, **options: Any) -> fm.Solution:
    """A run of the model; explicit methods project on constraints."""
    if case.constrained and options["integrator"] == "dormand-prince":
        options["stabilization"] = "projection"
    return fm.simulate(model, t_end=case.t_end, output_step=case.t_end / OUTPUTS, **options)


def measured(
    case: Case, model: fm.Model, exact: np.ndarray, options: dict[str, Any], tolerance: float
) -> dict[str, Any]:
    """Error, time and counts of one method with one tolerance."""
    seconds = []
    for _ in range(REPEATS):
        try:
            solution = run(case, model, rtol=tolerance, atol=tolerance / 100.0, **options)
        except (fm.InputError, fm.SolverError) as error:
            return {"rtol": tolerance, "outcome": str(error)}
        seconds.append(solution.statistics["solve_seconds"])
    error = np.abs(places(solution) - exact).max() / np.abs(exact - exact[0]).max()
    counts = {
        key: solution.statistics[key]
        for key in ("steps", "rejected", "iterations", "factorizations")
    }
    return {
        "rtol": tolerance,
        "error": float(error),
        "seconds": min(seconds),
        "verdict": solution.verdict,
        **counts,
    }


def study(names: list[str]) -> dict[str, Any]:
    """All methods with all tolerances on the named models."""
    table: dict[str, Any] = {}
    for name in names:
        case = CASES[name]
        model = case.make()
        exact = places(run(case, model, integrator="dormand-prince", rtol=1e-12, atol=1e-14))
        rows = {}
        for method, options in METHODS.items():
            rows[method] = [
                measured(case, model, exact, options, tolerance) for tolerance in TOLERANCES
            ]
            shown = " ".join(
                f"{row.get('error', np.nan) / row['rtol']:8.2g}" for row in rows[method]
            )
            times = " ".join(f"{1e3 * row.get('seconds', np.nan):8.2f}" for row in rows[method])
            steps = " ".join(f"{row.get('steps', 0):7d}" for row in rows[method])
            print(
                f"{name:18s} {method:18s} error/rtol {shown}\n{'':38s}        ms "
                f"{times}\n{'':42s} steps {steps}",
                flush=True,
            )
        table[name] = rows
    return table


def draw(table: dict[str, Any], across: str) -> Figure:
    """One panel per model: error over the tolerance, or over the time."""
    figure = Figure(figsize=(WIDTH, 11.0))
    panels = figure.subplots(5, 2, sharex=across == "rtol").ravel()
    for axes, (name, rows) in zip(panels, table.items()):
        for method, found in rows.items():
            good = [row for row in found if "error" in row]
            x = [row[across] * (1e3 if across == "seconds" else 1.0) for row in good]
            axes.loglog(
                x,
                [max(row["error"], 1e-14) for row in good],
                marker="o",
                markersize=3,
                linewidth=1.2,
                label=method,
            )
        if across == "rtol":
            axes.fill_between(
                TOLERANCES, TOLERANCES, ALLOWED * np.array(TOLERANCES), color="#e4e9ee", zorder=0
            )
        axes.set_title(name)
        axes.minorticks_off()
        decades(axes.xaxis)
        decades(axes.yaxis)
    for axes in panels[-2:]:
        axes.set_xlabel("rtol" if across == "rtol" else "time of the run (ms)")
    for axes in panels[::2]:
        axes.set_ylabel("error")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncol=4)
    return figure


def tabulate(table: dict[str, Any]) -> None:
    """Error over rtol and milliseconds at `SHOWN` into README.md, and the largest error over rtol
    of each method.
    """
    lines = [f"| model | {' | '.join(METHODS)} |", "|---|" + "---|" * len(METHODS)]
    for name, rows in table.items():
        cells = []
        for found in rows.values():
            row = found[TOLERANCES.index(SHOWN)]
            cells.append(f"{row['error'] / row['rtol']:.1g} / {1e3 * row['seconds']:.2g}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    worst = [
        max(
            row["error"] / row["rtol"]
            for rows in table.values()
            for row in rows[method]
            if "error" in row
        )
        for method in METHODS
    ]
    lines.append(
        "| *largest error over rtol, all tolerances* | "
        f"{' | '.join(f'*{each:.2g}*' for each in worst)} |"
    )
    page = HERE / "README.md"
    head, _, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    tail = rest.partition(MARKS[1])[2]
    page.write_text(
        f"{head}{MARKS[0]}\n\n" + "\n".join(lines) + f"\n\n{MARKS[1]}{tail}", encoding="utf-8"
    )
    print(
        f"{'PASS' if max(worst) <= ALLOWED else 'FAIL'}: largest error over rtol "
        f"{max(worst):.3g}, allowed {ALLOWED:g}"
    )


def main() -> None:
    warnings.simplefilter("ignore", fm.AuditWarning)
    table = study(sys.argv[1:] or list(CASES))
    if sys.argv[1:]:
        return
    (HERE / "study.json").write_text(json.dumps(table, indent=1, ensure_ascii=False))
    tabulate(table)
    with house_style():
        for across, file in (("rtol", "precision.png"), ("seconds", "work.png")):
            draw(table, across).savefig(HERE / file, dpi=130)


if __name__ == "__main__":
    main()
