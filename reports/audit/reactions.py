"""Estimated against actual errors of reactions and accelerations of flexible models.

    python reports/audit/reactions.py --models 100 --minutes 30      -> reactions.json, reactions.png, reactions.md
    python reports/audit/reactions.py --only SEED
    python reports/audit/reactions.py --again --minutes 30      -> fixed steps again

Random arms of one or two flexible links with and without damping, reduced by every method with
exact static responses. Truncated modes: a controlled run against one whose links have 40
fixed-interface modes. Fixed steps: generalized-α of several steps against a controlled run of
tolerance 1e-7 of the same model. Reference of all errors: the largest joint force, or moment over
the size of the model, of the finer run. The actual error is that in joint forces and moments at
common outputs, the largest one and the lasting one, by root mean square; beside it that of
accelerations and positions.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import flexmbs as fm
import flexmbs.studies.run.simulate as simulation
import preprocess as pp
from flexmbs.audit.second_run import displacements
from flexmbs.audit.step_error import Measure
from flexmbs.system.step_scales import model_size

HERE = Path(__file__).parent
FOUND = HERE / "reactions.json"
MANY = 40
T_END = 0.03  # s
LIMITS = (0.02, 0.2)
STEPS = (1e-3, 2e-4, 4e-5)  # s, of every fourth model
TITLES = ("Truncated modes", "Forces of the second run", "Unresolved modes")


def methods(rng: np.random.Generator) -> Any:
    n = int(rng.integers(4, 17))
    choice = [
        pp.CraigBampton(modes=n),
        pp.CraigBampton(modes=n),
        pp.CraigBampton(modes=n, inertia_relief=True),
        pp.Guyan(),
        pp.Rubin(modes=n),
        pp.CraigChang(modes=n),
        pp.Krylov(moments=int(rng.integers(1, 3))),
    ]
    return choice[rng.integers(len(choice))]


def links(seed: int, method: Any, damping: float) -> list[Any]:
    rng = np.random.default_rng([seed, 1])
    found = []
    for _ in range(1 + (seed % 4 == 3)):
        length, b, h = rng.uniform(0.3, 0.6), rng.uniform(0.015, 0.04), rng.uniform(0.01, 0.03)
        mesh = pp.box_mesh((length, b, h), (10, 1, 1), "hex20", origin=(0, -b / 2, -h / 2))
        ends = {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
        found.append(
            pp.reduce(
                mesh,
                pp.Isotropic(E=3e9, nu=0.33, rho=1200.0),
                interfaces=ends,
                method=method,
                damping=damping,
                reference=("hub", "mean axes")[rng.integers(2)],
                stress=None,
            )
        )
    return found


def arm(seed: int, bodies: list[Any]) -> fm.Model:
    """Driven column and carrier with the links in series, each on a hinge or clamp, and a tool."""
    rng = np.random.default_rng([seed, 2])
    model = fm.Model("arm")
    inertia = (0.01, 0.01, 0.01)
    column = model.add(
        fm.RigidBody("column", mass=1.0, inertia=inertia, frames={"top": (0, 0, 0.3)})
    )
    model.add(fm.Revolute("yaw", model.ground, column, axis="z"))
    carrier = model.add(fm.RigidBody("carrier", mass=0.3, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Revolute("pitch", column["top"], carrier, axis="y"))
    T, A = float(10 ** rng.uniform(-2.7, -1.3)), float(10 ** rng.uniform(-3, -0.5))
    A = min(A, 10.0 * T**2 + 1e-4)  # within the linear range of the links
    model.add(fm.Drive("yaw motor", "yaw", fm.SmoothStep(A, start=0.0, duration=T)))
    model.add(fm.Drive("pitch motor", "pitch", fm.SmoothStep(-0.6 * A, start=0.0, duration=T)))
    end = carrier
    for k, data in enumerate(bodies):
        link = model.add(fm.FlexibleBody(f"link{k}", data=data))
        if k and rng.random() < 0.5:
            model.add(
                fm.Revolute(f"elbow{k}", end, link["hub"], axis="y", q0=float(rng.uniform(-1, 1)))
            )
            model.add(fm.JointSpring(f"spring{k}", f"elbow{k}", k=200.0, c=1.0))
        else:
            model.add(fm.Fixed(f"clamp{k}", end, link["hub"]))
        end = link["tip"]
    if rng.random() < 0.7:
        mass = float(rng.uniform(0.05, 0.6))
        tool = model.add(
            fm.RigidBody("tool", mass=mass, inertia=(2e-4, 3e-4, 3e-4), com=(0.04, 0, 0))
        )
        model.add(fm.Fixed("wrist", end, tool))
    return model


def unaudited(model: fm.Model, **options: Any) -> fm.Solution:
    """A reference: a run without checks."""
    with mock.patch.object(simulation, "audited", return_value=()):
        return fm.simulate(model, **options)


def loads(run: fm.Solution) -> np.ndarray:
    """(joints, nt, 2) forces and moments over the size of the model [N], each a vector."""
    size = model_size(run.compiled)
    return np.stack(
        [np.stack([at.force, at.torque / size], axis=1) for at in map(run.joint, run.joints)]
    )


def apart(run: fm.Solution, exact: fm.Solution) -> tuple[float, float]:
    """Largest difference of reactions over the largest one, and the largest one in root mean square
    times √2.
    """
    largest = float(np.linalg.norm(loads(exact), axis=3).max())
    differences = np.linalg.norm(loads(run) - loads(exact), axis=3)
    lasting = np.sqrt(2.0 * np.mean(differences**2, axis=1))
    return float(differences.max()) / largest, float(lasting.max()) / largest


def moving(run: fm.Solution, exact: fm.Solution) -> dict[str, float]:
    """Lasting and largest error of accelerations over the largest one, and largest one of positions
    over the motion, as the audit measures them.
    """
    refs = [ref for ref in exact.compiled.frames if ref.body in exact.compiled.bodies]
    a, b = (np.stack([each.frame(ref).acceleration for ref in refs]) for each in (run, exact))
    apart = np.linalg.norm(a - b, axis=2) / np.linalg.norm(b, axis=2).max()
    measure = Measure.of(run)
    off = np.abs(displacements(run.compiled, run.q, exact.q)) / measure.sizes / measure.motion
    lasting = float(np.sqrt(2.0 * np.mean(apart**2, axis=1)).max())
    return {
        "acceleration": lasting,
        "acceleration at worst": float(apart.max()),
        "position": float(off.max()),
    }


def told(run: fm.Solution) -> dict[str, Any]:
    found: dict[str, Any] = {
        "verdict": run.verdict,
        "bad": [c.title for c in run.audit if c.status != "PASS"],
    }
    for check in run.audit:
        if check.title in TITLES:
            number, there, _ = check.found.partition(" of the largest reaction")
            found[check.title] = float(number.split()[-1]) if there else 0.0
        if check.title in TITLES[1:]:
            number, there, _ = check.found.partition(" of the largest acceleration")
            shake = float(number.split()[-1]) if there else 0.0
            found["accelerations"] = max(found.get("accelerations", 0.0), shake)
    return found


class Drawn(NamedTuple):
    """Damping, reduction and bodies of a seed."""

    damping: float
    method: Any
    bodies: list[Any]

    @classmethod
    def of(cls, seed: int) -> "Drawn":
        rng = np.random.default_rng([seed, 3])
        damping, method = float(rng.choice([0.0, 0.0, 0.005, 0.02])), methods(rng)
        return cls(damping, method, links(seed, method, damping))

    def base(self, seed: int) -> dict[str, Any]:
        return {
            "seed": seed,
            "method": type(self.method).__name__,
            "damping": self.damping,
            "links": len(self.bodies),
            "modes": self.bodies[0].nf,
        }


def truncated(seed: int) -> Iterator[dict[str, Any]]:
    """The line of a controlled run against many modes."""
    drawn = Drawn.of(seed)
    options: dict[str, Any] = {
        "t_end": T_END,
        "output_step": 5e-5,
        "integrator": fm.DormandPrince(rtol=1e-6, atol=1e-10),
    }
    many = links(seed, pp.CraigBampton(modes=MANY), drawn.damping)
    exact = unaudited(arm(seed, many), **options)
    run = fm.simulate(arm(seed, drawn.bodies), **options)
    worst, lasting = apart(run, exact)
    linear = not any(c.title.startswith("Deflection") and c.status != "PASS" for c in run.audit)
    found = {"kind": "modes", "true": worst, "lasting": lasting, "linear": linear}
    yield drawn.base(seed) | found | told(run)


def stepped(seed: int) -> Iterator[dict[str, Any]]:
    """The lines of fixed steps against a fine run."""
    drawn = Drawn.of(seed)
    options: dict[str, Any] = {"t_end": T_END, "output_step": 2e-4}
    fine = fm.DormandPrince(rtol=1e-7, atol=1e-11)
    exact = unaudited(arm(seed, drawn.bodies), integrator=fine, **options)
    for step in STEPS:
        try:
            run = fm.simulate(arm(seed, drawn.bodies), step=step, **options)
        except fm.SolverError:
            continue
        worst, lasting = apart(run, exact)
        found = {"kind": "steps", "step": step, "true": worst, "lasting": lasting}
        yield drawn.base(seed) | found | moving(run, exact) | told(run)


def runs(seed: int) -> Iterator[dict[str, Any]]:
    warnings.simplefilter("ignore")
    yield from truncated(seed)
    if seed % 4 == 0:
        yield from stepped(seed)


def again(minutes: float) -> None:
    """The runs of fixed steps again, the others as they are known."""
    warnings.simplefilter("ignore")
    lines, ending = json.loads(FOUND.read_text()), time.monotonic() + 60.0 * minutes
    for seed in sorted({line["seed"] for line in lines if line["kind"] == "steps"}):
        if time.monotonic() > ending:
            break
        found = list(stepped(seed))
        lines = [x for x in lines if (x["kind"], x["seed"]) != ("steps", seed)] + found
        written(lines)


def written(lines: list[dict[str, Any]]) -> None:
    FOUND.write_text("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")


def study(models: int, minutes: float) -> None:
    lines = json.loads(FOUND.read_text()) if FOUND.is_file() else []
    done, ending = {line["seed"] for line in lines}, time.monotonic() + 60.0 * minutes
    for seed in sorted(range(models), key=lambda seed: (1, 0, 0, 2)[seed % 4]):  # cheap ones first
        if seed in done or time.monotonic() > ending:
            continue
        try:
            lines += list(runs(seed))
        except fm.FlexmbsError as error:
            print(seed, str(error)[:100])
            continue
        written(lines)


def report() -> None:
    lines = json.loads(FOUND.read_text())
    modes = [line for line in lines if line["kind"] == "modes"]
    steps = [line for line in lines if line["kind"] == "steps"]
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), constrained_layout=True)
    for damped, colour in ((False, "tab:red"), (True, "tab:blue")):
        own = [line for line in modes if (line["damping"] > 0) == damped and TITLES[0] in line]
        label = f"{'with' if damped else 'without'} damping, {len(own)} models"
        axes[0].loglog(
            [x["true"] for x in own],
            [x[TITLES[0]] for x in own],
            "o",
            ms=4,
            color=colour,
            label=label,
            alpha=0.7,
        )
        own = [line for line in steps if (line["damping"] > 0) == damped]
        found = [max(x.get(TITLES[1], 0.0), x.get(TITLES[2], 0.0), 1e-7) for x in own]
        label = f"{'with' if damped else 'without'} damping, {len(own)} runs"
        axes[1].loglog(
            [x["true"] for x in own], found, "o", ms=4, color=colour, label=label, alpha=0.7
        )
    for ax, title in zip(axes, ("truncated modes (largest error)", "fixed steps (largest error)")):
        ends = np.array([1e-5, 10.0])
        ax.plot(ends, ends, "k-", lw=1)
        ax.fill_between(ends, ends / 1.5, ends * 1.5, color="k", alpha=0.08, label="factor 1.5")
        for limit, style in zip(LIMITS, ("--", ":")):
            ax.axhline(limit, color="grey", ls=style, lw=0.8)
            ax.axvline(limit, color="grey", ls=style, lw=0.8)
        ax.set(
            xlabel="actual error of the largest reaction",
            ylabel="estimated error",
            title=title,
            xlim=ends,
            ylim=ends,
        )
        ax.legend(loc="upper left", fontsize=8)
        ax.set_aspect("equal")
    figure.savefig(HERE / "reactions.png", dpi=110)
    (HERE / "reactions.md").write_text("\n".join(_text(modes, steps)) + "\n")


def _estimate(line: dict[str, Any]) -> float:
    return max(line.get(title, 0.0) for title in TITLES[1:])


def _text(modes: list[Any], steps: list[Any]) -> list[str]:
    table = ["| actual error | models | PASS | WARN | FAIL |", "|---|---|---|---|---|"]
    for low, high in ((0.0, 0.02), (0.02, 0.2), (0.2, np.inf)):
        own = [x[TITLES[0]] for x in modes if low <= x["true"] < high and TITLES[0] in x]
        grades = [
            sum(e <= 0.02 for e in own),
            sum(0.02 < e <= 0.2 for e in own),
            sum(e > 0.2 for e in own),
        ]
        table.append(f"| {low:g} … {high:g} | {len(own)} | " + " | ".join(map(str, grades)) + " |")
    judged = [x for x in modes if TITLES[0] in x and x["true"] > 0.005]
    ratio = np.array([x[TITLES[0]] / x["true"] for x in judged])
    linear = np.array([x["linear"] for x in judged], bool)
    within = [f"{np.mean(np.abs(np.log(r)) < np.log(1.5)):.0%}" for r in (ratio, ratio[linear])]
    wide = f"{np.mean(np.abs(np.log(ratio[linear])) < np.log(3.0)):.0%}"
    silent = [x for x in modes if x["true"] > 0.03 and x["verdict"] == "PASS"]
    more = [
        "| largest error of reactions, fixed steps | runs | PASS | WARN | FAIL |",
        "|---|---|---|---|---|",
    ]
    for low, high in ((0.0, 0.01), (0.01, 0.02), (0.02, 0.04), (0.04, np.inf)):
        own = [x["verdict"] for x in steps if low <= x["true"] < high]
        more.append(
            f"| {low:g} … {high:g} | {len(own)} | "
            + " | ".join(str(own.count(v)) for v in ("PASS", "WARN", "FAIL"))
            + " |"
        )
    quiet = [x for x in steps if x["true"] > 0.02 and x["verdict"] == "PASS"]
    small = [x for x in steps if x["true"] < 0.01 and x["verdict"] != "PASS"]
    false = [x for x in small if _estimate(x) > LIMITS[0]]
    shaken = [x for x in small if x["acceleration"] > 0.035]
    moved = [x for x in small if x not in shaken and x["position"] > 0.01]
    lacking = [x for x in small if x not in shaken + moved and TITLES[0] in x["bad"]]
    ratios = [
        np.array([_estimate(x) / x[key] for x in steps if x[key] > least])
        for key, least in (("true", 3e-3), ("lasting", 2e-3))
    ]
    ratios.append(
        np.array(
            [x["accelerations"] / x["acceleration"] for x in steps if x["acceleration"] > 0.02]
        )
    )
    low, high = ratios[0].min(), ratios[0].max()
    usual = np.percentile(ratios[0], (5, 95))
    shake = ratios[2].min(), ratios[2].max()
    beyond = (
        " (seeds "
        + ", ".join(str(x["seed"]) for x in modes if not x["linear"] and x["true"] > 1.0)
        + ")"
    )
    pairs = sum(x["links"] == 2 for x in modes)
    return [
        "## Reactions\n",
        f"`reactions.py`: {len(modes)} random arms of one flexible link, {pairs} of two, "
        "half of them without damping, against",
        f"the same arms with {MANY} fixed-interface modes in each link; and {len(steps)} "
        "runs with fixed steps of "
        f"{', '.join(f'{1e3 * h:g}' for h in STEPS)} ms against runs of tolerance 1e-7.\n",
        'Check "Truncated modes" by the actual error of the largest reaction:\n',
        *table,
        f"\nOf {len(ratio)} estimates of errors above 0.005, {within[0]} are within a "
        "factor of 1.5; of those",
        f"in the linear range, {within[1]} within 1.5 and {wide} within 3. Verdict PASS "
        f"with an error above 0.03: {len(silent)}"
        f"{' (seeds ' + ', '.join(str(x['seed']) for x in silent) + ')' if silent else ''}.\n",
        *more,
        f"\nEstimates are {low:.2f} … {high:.2f} times largest errors above 0.003, nine of ten "
        f"{usual[0]:.2f} … {usual[1]:.2f}. Verdict",
        f"PASS with one above 0.02: {len(quiet)}. Of {len(small)} other verdicts with one below 0.01, "
        f"{len(false)} are due to",
        f"an estimate of reactions above 0.02; in {len(shaken)} the accelerations are wrong indeed, by "
        "more than 0.035 in root",
        f"mean square (their estimates are {shake[0]:.2f} … {shake[1]:.2f} times errors above 0.02), in "
        f"{len(moved)} the positions by more than",
        f"0.01 of the motion, and {len(lacking)} are due to truncated modes.\n",
        "Beyond the linear range reactions may be wrong by more than the largest one: "
        f"the deflection is reported{beyond}.\n",
        "![reactions](reactions.png)",
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    if given.only is not None:
        for line in runs(given.only):
            print(line)
        sys.exit()
    if given.again:
        again(given.minutes)
    else:
        study(given.models, given.minutes)
    report()
