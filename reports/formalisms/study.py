"""Cost of recursive and non-recursive formalisms over the number of bodies, and agreement of all
formalisms.

    python reports/formalisms/study.py        -> cost.png, study.json

Chains of n = 1 … 200 links on revolute joints about alternating axes: rigid, flexible with 4 and
with 16 modes. The time is that of one evaluation of the accelerations inside compiled code, the
minimum of several batches. Slopes are those of log(time) over log(n).
"""

import functools
import json
import sys
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import flexmbs as fm
from flexmbs._jit.address import Entry, bound_entry
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.multiplier import accelerations
from flexmbs.page.style import WIDTH, decades, house_style
from flexmbs.studies.run.compare import compare
from flexmbs.studies.states.evaluate import Evaluator
from flexmbs.system.compile import Compiled, compile_model

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "contract"))
from projected import Projected  # noqa: E402

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 50, 70, 100, 140, 200)
MODES = (0, 4, 16)
COMPARED: dict[str, Formalism] = {
    "recursive": fm.Recursive(),
    "M̂ = JᵀMJ": Projected(),
    "multiplier": fm.Multiplier(),
}
BATCH_SECONDS, BATCHES, LONGEST = 0.05, 5, 0.2
LENGTH, SIDE, RHO, E = 1.0, 0.03, 2700.0, 70e9


def often(model, here, /, t, count):
    """``count`` evaluations; the velocities change a little with the result, so that none is
    optimized away.
    """
    for _ in range(int(count)):
        accelerations(model.system, model.work, model.workspace, t, here)
        here.s[0] += 1e-12 * here.sd[0]
    return 0


@functools.cache
def kernel(formalism: type[Formalism]) -> Entry:
    return bound_entry(often, formalism.name, accelerations=formalism.accelerations)


def seconds(compiled: Compiled, form: Formalism) -> float:
    """Minimum time of one evaluation."""
    _, nq, ns, *_ = (int(n) for n in compiled.system.layout)
    rng = np.random.default_rng(1)
    q, s = np.zeros(nq), 0.1 * rng.standard_normal(ns)
    joints = [int(at) for at in compiled.system.tree.q_at]
    q[joints] = rng.uniform(-1.0, 1.0, len(joints))
    evaluator = Evaluator(compiled, form)
    evaluator.point.q[:], evaluator.point.s[:] = q, s
    run = functools.partial(
        kernel(type(form)), evaluator.model, evaluator.packed, evaluator.packed, 0.0
    )
    run(1)
    count, best = 1, np.inf
    for _ in range(BATCHES + 12):
        start = time.process_time()
        run(count)
        spent = time.process_time() - start
        if spent < BATCH_SECONDS and count < 10**6:
            count = max(2 * count, int(count * BATCH_SECONDS / max(spent, 1e-6)))
            continue
        best = min(best, spent / count)
    return best if np.isfinite(best) else spent / count


def beam(modes: int) -> fm.FlexibleBodyData:
    """A clamped–free beam with the shapes (1 − cos((k − ½)πξ)) alternately in two planes; integrals
    by Gauss's rule.
    """
    x, w = np.polynomial.legendre.leggauss(60)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    mass = RHO * SIDE**2 * LENGTH
    k = (np.arange(modes) // 2 + 0.5) * np.pi
    shape, curvature = 1.0 - np.cos(np.outer(x, k)), k**2 * np.cos(np.outer(x, k))
    plane = 1 + np.arange(modes) % 2
    same = (plane[:, None] == plane[None, :]).astype(float)
    m = mass * np.einsum("g,ga,gb->ab", w, shape, shape) * same
    K = E * SIDE**4 / 12.0 / LENGTH**3 * np.einsum("g,ga,gb->ab", w, curvature, curvature) * same
    value, V = np.linalg.eigh(
        np.linalg.solve(np.linalg.cholesky(m), np.linalg.solve(np.linalg.cholesky(m), K).T)
    )
    V = np.linalg.solve(np.linalg.cholesky(m).T, V)  # mass-normalised modes
    phi = np.zeros((len(x), 3, modes))
    phi[:, plane, np.arange(modes)] = shape
    phi = phi @ V
    S_bar, xS = mass * np.einsum("g,gak->ak", w, phi), np.zeros((3, 3, modes))
    xS[0] = mass * LENGTH * np.einsum("g,g,gak->ak", w, x, phi)
    SS = mass * np.einsum("g,gak,gbl->abkl", w, phi, phi)
    tip, turn = np.zeros((3, modes)), np.zeros((3, modes))
    tip[plane, np.arange(modes)] = 1.0 - np.cos(k)
    turn[2, plane == 1], turn[1, plane == 2] = (
        (k * np.sin(k) / LENGTH)[plane == 1],
        -(k * np.sin(k) / LENGTH)[plane == 2],
    )
    across, along = mass * SIDE**2 / 12.0, mass * LENGTH**2 / 3.0
    return fm.FlexibleBodyData.from_integrals(
        "beam",
        mass=mass,
        first_moment=(mass * LENGTH / 2.0, 0.0, 0.0),
        second_moment=np.diag([along, across, across]),
        S_bar=S_bar,
        xS=xS,
        SS=SS,
        K_ff=np.diag(value),
        frames={"tip": fm.FlexibleFrame.at_node((LENGTH, 0.0, 0.0), tip @ V, psi=turn @ V)},
    )


def chain(n: int, modes: int) -> fm.Model:
    """n links in series, revolute alternately about z and y."""
    model = fm.Model(f"chain of {n}")
    data = beam(modes) if modes else None
    mass = RHO * SIDE**2 * LENGTH
    inertia = (mass * SIDE**2 / 6.0, mass * LENGTH**2 / 12.0, mass * LENGTH**2 / 12.0)
    end = model.ground
    for i in range(n):
        if data:
            link = model.add(fm.FlexibleBody(f"link {i}", data=data))
        else:
            rigid = {"com": (LENGTH / 2.0, 0.0, 0.0), "frames": {"tip": (LENGTH, 0.0, 0.0)}}
            link = model.add(fm.RigidBody(f"link {i}", mass=mass, inertia=inertia, **rigid))
        model.add(fm.Revolute(f"joint {i}", end, link, axis="zy"[i % 2]))
        end = link["tip"]
    return model


def measure() -> dict[str, dict[str, list[list[float]]]]:
    """seconds[modes][formalism] = [[n, seconds], …]; a curve ends where an evaluation takes longer
    than LONGEST.
    """
    found: dict[str, dict[str, list[list[float]]]] = {}
    for modes in MODES:
        curves: dict[str, list[list[float]]] = {name: [] for name in COMPARED}
        for n in SIZES:
            compiled = compile_model(chain(n, modes), "joint")
            for name, curve in curves.items():
                if curve and curve[-1][1] > LONGEST:
                    continue
                curve.append([n, seconds(compiled, COMPARED[name])])
            print(
                modes,
                n,
                {
                    name: f"{1e6 * c[-1][1]:.2f} µs"
                    for name, c in curves.items()
                    if c and c[-1][0] == n
                },
                flush=True,
            )
        found[str(modes)] = curves
    return found


def slope(curve: list[list[float]]) -> float:
    """Slope of log(time) over log(n) for n ≥ 24."""
    n, t = np.array([point for point in curve if point[0] >= 24]).T
    return float(np.polyfit(np.log(n), np.log(t), 1)[0]) if len(n) > 1 else float("nan")


def crossover(fast: list[list[float]], slow: list[list[float]]) -> float | None:
    """Smallest measured n from which the first is always faster."""
    common = [(a[0], a[1] < b[1]) for a, b in zip(fast, slow)]
    lost = [n for n, faster in common if not faster]
    after = [n for n, faster in common if faster and n > max(lost, default=0)]
    return after[0] if after else None


def draw(
    found: dict[str, dict[str, list[list[float]]]], slopes: dict[str, dict[str, float]]
) -> Figure:
    """Time over n on log axes, one panel per number of modes."""
    figure = Figure(figsize=(WIDTH, 3.9))
    figure.set_layout_engine("constrained")
    for axes, modes in zip(figure.subplots(1, len(MODES), sharey=True), found):
        for name, curve in found[modes].items():
            n, t = np.array(curve).T
            axes.loglog(
                n, 1e6 * t, "o-", markersize=3, label=f"{name}  n^{slopes[modes][name]:.2f}"
            )
        axes.set_title("rigid" if modes == "0" else f"{modes} modes per link")
        decades(axes.xaxis)
        decades(axes.yaxis)
        axes.set_xlabel("number of links n")
        axes.legend(loc="upper left", fontsize=8)
    figure.axes[0].set_ylabel("one evaluation (µs)")
    return figure


def agreement() -> list[dict[str, object]]:
    """All formalisms on a flexible two-link arm over half a second."""
    rows = compare(chain(2, 4), t_end=0.5, rtol=1e-8, atol=1e-10).rows
    keys = (
        "formalism",
        "coordinates",
        "integrator",
        "accelerations",
        "reactions",
        "positions",
        "energy",
        "drift",
        "steps",
    )
    return [{key: getattr(row, key) for key in keys} for row in rows]


def main() -> None:
    found = measure()
    slopes = {
        modes: {name: slope(curve) for name, curve in curves.items()}
        for modes, curves in found.items()
    }
    crossings = {
        modes: crossover(curves["recursive"], curves["M̂ = JᵀMJ"]) for modes, curves in found.items()
    }
    with house_style():
        draw(found, slopes).savefig(HERE / "cost.png", dpi=140)
    table = agreement()
    for row in table:
        print(row)
    print("slopes", slopes, "crossover", crossings)
    result = {
        "seconds": found,
        "slopes": slopes,
        "recursive_faster_from": crossings,
        "agreement": table,
    }
    (HERE / "study.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
