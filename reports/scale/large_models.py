"""Cost of a run over the size of its model: preparation, one step, audit.

    python reports/scale/large_models.py [CURVE …]     -> large_models.json, large_models.png

Curves over the bodies of a chain, rigid and force-law contacts, modes of a body, and outputs of a
run. CPU seconds of one thread, kernels already compiled, the least of some repetitions. A
slope is the exponent of the number in the cost, from the last two sizes.
"""

import functools
import itertools
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import matplotlib as mpl  # noqa: E402

mpl.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

import flexmbs as fm  # noqa: E402
import preprocess as pp  # noqa: E402
from flexmbs.flexible_body.record import FlexibleBodyData  # noqa: E402

HERE = Path(__file__).parent
FILE = HERE / "large_models.json"
REPEAT = 2
LONG = 1.0  # s: longer runs are not repeated
PARTS = ("prepare", "step", "audit")
BODIES = (10, 30, 100, 300, 500, 1000, 2000)
CONTACTS = (10, 30, 100, 300, 1000, 2000)
MODES = (7, 16, 26)  # six of them are static shapes of the tip
OUTPUTS = (100, 1000, 10_000)
STEPS, STEP = 50, 1e-3
INERTIA = (1e-3, 1e-3, 1e-4)


def chain(n: int) -> fm.Model:
    """Rigid bars of 0.1 m on hinges, one below the other."""
    model = fm.Model("chain", gravity=(0, 0, -9.81))
    end: Any = model.ground
    for k in range(n):
        bar = model.add(
            fm.RigidBody(
                f"bar {k}",
                mass=1.0,
                com=(0, 0, -0.05),
                inertia=INERTIA,
                frames={"end": (0, 0, -0.1)},
            )
        )
        model.add(fm.Revolute(f"hinge {k}", end, bar, axis="y", q0=0.0 if k else 0.1))
        end = bar["end"]
    return model


@functools.cache
def beam(modes: int) -> FlexibleBodyData:
    """A steel beam of 1 m."""
    mesh = pp.box_mesh((1.0, 0.04, 0.04), (24, 2, 2), "hex27", origin=(0.0, -0.02, -0.02))
    return pp.reduce(
        pp.assemble(mesh, pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)),
        interfaces={"base": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
        method=pp.CraigBampton(modes=modes - 6),
        reference="base",
        name="beam",
    )


def flexible_chain(n: int, modes: int) -> fm.Model:
    """Flexible beams in series that fall from the horizontal."""
    model = fm.Model("flexible chain", gravity=(0, -9.81, 0))
    end: Any = model.ground
    for k in range(n):
        link = model.add(fm.FlexibleBody(f"beam {k}", data=beam(modes)))
        model.add(fm.Revolute(f"joint {k}", end, link["base"], axis="z"))
        end = link["tip"]
    return model


def balls(n: int, **law: Any) -> fm.Model:
    """Balls that fall toward a floor, each on a guide of its
    own; none reaches it within the run.
    """
    model = fm.Model("balls", gravity=(0, 0, -9.81))
    for k in range(n):
        ball = model.add(fm.RigidBody(f"ball {k}", mass=1.0, inertia=INERTIA))
        height = 0.2 + 0.001 * (k % 7)
        model.add(fm.Prismatic(f"guide {k}", model.ground, ball, axis="z", q0=height))
        model.add(fm.SpherePlane(f"floor {k}", model.ground, ball, radius=0.1, **law))
    return model


def measured(model: fm.Model, **options: Any) -> dict[str, float]:
    """Seconds of the preparation, of a step and of the audit."""
    begun, ends = time.process_time(), {}

    def progress(_: float, text: str) -> None:
        part = next((p for p in ("assembling", "compiling", "audit") if text.startswith(p)), "step")
        ends[part] = time.process_time()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = fm.simulate(model, progress=progress, **options)
    return {
        "prepare": ends["compiling"] - begun,
        "step": (ends["step"] - ends["compiling"]) / solution.statistics["steps"],
        "audit": ends["audit"] - ends["step"],
    }


def least(make: Callable[[], fm.Model], **options: Any) -> dict[str, float]:
    """The least of repetitions, with a new model each."""
    found = [measured(make(), **options)]
    while len(found) < REPEAT and found[0]["prepare"] + found[0]["audit"] < LONG:
        found.append(measured(make(), **options))
    return {part: min(each[part] for each in found) for part in PARTS}


SHORT = {"t_end": STEPS * STEP, "step": STEP}
RIGID = SHORT | {"integrator": "moreau-jean"}
LAW = {"law": fm.HuntCrossley(stiffness=1e5, damping=0.2)}
ABSOLUTE = {"coordinates": "absolute"}


def curves() -> dict[str, Callable[[], Iterator[tuple[int, dict[str, float]]]]]:
    """The points of each curve, by its name."""

    def points(sizes: tuple[int, ...], run: Callable[[int], dict[str, float]]) -> Any:
        run(sizes[0])  # compiles
        return ((n, run(n)) for n in sizes)

    def many(n: int) -> dict[str, float]:
        options = {"t_end": 1.0, "step": 1.0 / max(n, 1000), "output_step": 1.0 / n}
        return least(lambda: chain(10), **options)

    return {
        "bodies, joint": lambda: points(BODIES, lambda n: least(lambda: chain(n), **SHORT)),
        "bodies, absolute": lambda: points(
            BODIES[:4], lambda n: least(lambda: chain(n), **SHORT, **ABSOLUTE)
        ),
        "contacts, rigid": lambda: points(CONTACTS, lambda n: least(lambda: balls(n), **RIGID)),
        "contacts, law": lambda: points(
            CONTACTS, lambda n: least(lambda: balls(n, **LAW), **SHORT)
        ),
        **{
            f"modes, {n} bodies, {kind}": lambda n=n, way=way: points(
                MODES if n == 10 else MODES[:2],
                lambda modes: least(lambda: flexible_chain(n, modes), **SHORT, **way),
            )
            for n, (kind, way) in itertools.product(
                (10, 100), (("joint", {}), ("absolute", ABSOLUTE))
            )
        },
        "outputs": lambda: points(OUTPUTS, many),
    }


def slope(points: dict[str, dict[str, float]], part: str) -> float:
    """Exponent of the size in the cost, from the last two sizes."""
    (a, first), (b, last) = list(points.items())[-2:]
    return math.log(max(last[part], 1e-9) / max(first[part], 1e-9)) / math.log(int(b) / int(a))


def plot(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """One row of panels by what grows, one column by part of the run."""
    rows = ("bodies", "contacts", "modes", "outputs")
    figure, axes = plt.subplots(len(rows), len(PARTS), figsize=(11, 13), layout="constrained")
    for line, kind in zip(axes, rows):
        for axis, part in zip(line, PARTS):
            for name, points in found.items():
                if name.startswith(kind):
                    label = name.partition(", ")[2] or "10 bodies"
                    axis.loglog(
                        [int(n) for n in points], [each[part] for each in points.values()], "o-",
                        label=label, markersize=3,
                    )  # fmt: skip
            low, high = axis.get_ylim()
            if high < 10.0 * low:  # noise is no trend
                middle = math.sqrt(low * high)
                axis.set_ylim(middle / 4.0, 4.0 * middle)
            if kind == "modes":
                axis.set_xticks(MODES, map(str, MODES))
                axis.minorticks_off()
            axis.grid(which="major", alpha=0.3)
            axis.set_xlabel(kind)
            axis.set_ylabel(f"{part} [s]")
        line[0].legend(fontsize=8)
    figure.savefig(HERE / "large_models.png", dpi=110)


def main() -> None:
    """Measure, write, plot."""
    found = json.loads(FILE.read_text()) if FILE.exists() else {}
    chosen = curves()
    for name in sys.argv[1:] or chosen:
        found[name] = {}
        for n, cost in chosen[name]():
            found[name][str(n)] = {part: float(f"{cost[part]:.3g}") for part in PARTS}
            print(name, n, found[name][str(n)], flush=True)
            kept = {key: found[key] for key in chosen if key in found}
            FILE.write_text(json.dumps(kept, indent=1) + "\n")
    for name, points in found.items():
        print(f"{name:28s}", *(f"{part} n^{slope(points, part):.2f}" for part in PARTS))
    plot(found)


if __name__ == "__main__":
    main()
