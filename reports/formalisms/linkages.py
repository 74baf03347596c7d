"""Overconstrained linkages and a parallelogram through full turns, by every formalism, coordinates
and integrator.

    python reports/formalisms/linkages.py        -> linkages.png, linkages.json, the table of README.md

Errors are those of the closure of the joint angles by Denavit–Hartenberg matrices, as in
tests/formalisms/overconstrained.py, and of the energy balance over the largest energy or work.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.page.style import WIDTH, house_style

HERE = Path(__file__).parent
TESTS = HERE.parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "formalisms")]
from closed_loops import parallelograms  # noqa: E402
from overconstrained import LOOPS, closure, linkage  # noqa: E402

RATE, CYCLE = 2.0 * np.pi, 16.0  # rad/s, one turn in a second; s of the loop that is not driven
PROJECTED = {
    "multiplier": fm.Multiplier(stabilization=fm.Projection()),
    "recursive": fm.Recursive(stabilization=fm.Projection()),
    "embedding": fm.Embedding(stabilization=fm.Projection()),
    "partitioning": fm.Partitioning(),
}
INTEGRATORS = (
    fm.DormandPrince(rtol=1e-8, atol=1e-9),
    fm.ESDIRK(rtol=1e-7, atol=1e-8),
    fm.GeneralizedAlpha(step=5e-4),
    fm.Rattle(step=5e-4),
    fm.MoreauJean(step=5e-4),
    fm.EventDriven(rtol=1e-8, atol=1e-9),
)
README = "<!-- linkages -->"


def combinations() -> list[dict[str, Any]]:
    """Options of all runs of one linkage."""
    return [
        {
            "formalism": PROJECTED[name] if method.needs == "accelerations" else name,
            "coordinates": coordinates, "integrator": method,
        }
        for name, form in FORMALISMS.items()
        for coordinates in form.coordinates
        for method in INTEGRATORS
        if method.needs in form.provides
        and (coordinates != "rheonomic" or method.takes_time)
    ]  # fmt: skip


def measured(name: str, how: dict[str, Any]) -> tuple[dict[str, object], np.ndarray | None]:
    """What a run of a linkage gave, and its joint angles (nt, n)."""
    loop = LOOPS.get(name)
    model = parallelograms(1, -4.0) if loop is None else linkage(loop, RATE if loop.turns else 2.0)
    # the parallelogram needs 1.06 s for a turn
    end = CYCLE if loop and not loop.turns else 1.0 if loop else 1.2
    form, method = how["formalism"], how["integrator"]
    key = f"{getattr(form, 'name', form)} {how['coordinates']} {method.name}"
    try:
        run = fm.simulate(model, t_end=end, output_step=end / 200, **how)
    except fm.SolverError as error:
        return {"how": key, "outcome": str(error)}, None
    angles = np.concatenate([run.joint(joint).position for joint in model.joints], axis=1)
    closed = (
        0.0
        if loop is None
        else max(float(np.abs(closure(loop.table, each)[0]).max()) for each in angles)
    )
    energy = float(np.abs(run.energy.balance).max() / run.energy.scale)
    failed = [check.title for check in run.audit if check.status == "FAIL"]
    passed = sum(note.startswith("passed a singular position") for note in run.run.notes)
    found = {
        "how": key,
        "outcome": "finished",
        "closure": closed,
        "energy": energy,
        "fail": failed,
        "singular": passed,
    }
    return found, angles


def draw(angles: dict[str, np.ndarray]) -> Figure:
    """Joint angles over the output, of one run of each linkage."""
    figure = Figure(figsize=(WIDTH, 4.6))
    figure.set_layout_engine("constrained")
    for axes, (name, values) in zip(figure.subplots(2, 4, sharex=True).flat, angles.items()):
        for k, angle in enumerate(np.degrees(values - values[0]).T, 1):
            axes.plot(np.linspace(0.0, 1.0, len(values)), angle, label=f"joint {k}")
        axes.set_title(name, fontsize=8)
        axes.tick_params(labelsize=7)
    most = max(figure.axes, key=lambda axes: len(axes.lines))
    figure.legend(
        *most.get_legend_handles_labels(), loc="outside upper center", ncols=6, fontsize=7
    )
    figure.supxlabel("part of the cycle", fontsize=8)
    figure.supylabel("turn of the joints (°)", fontsize=8)
    return figure


def lines(found: dict[str, list[dict[str, object]]]) -> list[str]:
    """The table: worst of all runs of each linkage."""
    out = [
        "| linkage | runs | finished | closure (m, rad) | energy | FAIL | singular "
        "positions noted |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, runs in found.items():
        good = [run for run in runs if run["outcome"] == "finished"]
        closed, energy = (
            max((float(str(run[key])) for run in good), default=0.0)
            for key in ("closure", "energy")
        )
        fails, noted = (
            sum(bool(run["fail"]) for run in good),
            sum(bool(run["singular"]) for run in good),
        )
        closure = f"{closed:.0e}" if name in LOOPS else "–"
        out.append(
            f"| {name} | {len(runs)} | {len(good)} | {closure} | {energy:.0e} | {fails} | {noted} |"
        )
    return out


def main() -> None:
    warnings.simplefilter("ignore")
    found: dict[str, list[dict[str, object]]] = {}
    shown: dict[str, np.ndarray] = {}
    for name in (*LOOPS, "parallelogram"):
        found[name] = []
        for how in combinations():
            row, angles = measured(name, how)
            found[name].append(row)
            print(name, row, flush=True)
            if angles is not None and name in LOOPS:
                shown.setdefault(name, angles)
        written(found, shown)


def written(found: dict[str, list[dict[str, object]]], shown: dict[str, np.ndarray]) -> None:
    """Figure, numbers and table of the linkages so far."""
    with house_style():
        draw(shown).savefig(HERE / "linkages.png", dpi=140)
    (HERE / "linkages.json").write_text(json.dumps(found, indent=1, ensure_ascii=False))
    before = (HERE / "README.md").read_text().split(README)[0]
    (HERE / "README.md").write_text("\n".join([before + README, "", *lines(found), ""]))


if __name__ == "__main__":
    main()
