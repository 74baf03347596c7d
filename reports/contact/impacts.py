"""Fast balls, balls that touch, and a rod that jams: impacts with their energies, by both methods
and by a force law.

python reports/contact/impacts.py        -> impacts.png, impacts.json
"""

import json
import math
import time
import warnings
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import flexmbs as fm
from flexmbs.page.style import PALETTE, WIDTH, decades, house_style

HERE = Path(__file__).parent
RADIUS, MASS = 0.01, 0.1  # m, kg


def balls(speed: float, apart: float) -> fm.Model:
    """Two equal elastic balls on a rail, the second one at rest."""
    model = fm.Model("balls", gravity=(0, 0, 0))
    for i, x in enumerate((0.0, apart)):
        ball = model.add(fm.RigidBody(f"ball{i}", mass=MASS, inertia=(1e-5,) * 3))
        model.add(
            fm.Prismatic(
                f"rail{i}", model.ground, ball, axis="x", q0=x, v0=speed if i == 0 else 0.0
            )
        )
    model.add(
        fm.SphereSphere(
            "hit", "ball0", "ball1", radius_parent=RADIUS, radius_child=RADIUS, restitution=1.0
        )
    )
    return model


def fast_balls(axes: list[Axes]) -> dict[str, object]:
    """Positions at 20 m/s with steps of 1 ms, and errors of 56 meetings at 20 … 400 m/s at random
    phases of the step.
    """
    run = fm.simulate(
        balls(20.0, 0.5), t_end=0.05, integrator=fm.MoreauJean(step=1e-3), output_step=1e-4
    )
    meets = (0.5 - 2 * RADIUS) / 20.0
    exact = np.minimum(20.0 * run.t, 20.0 * meets), 0.5 + np.maximum(20.0 * (run.t - meets), 0.0)
    for i in range(2):
        axes[0].plot(
            1e3 * run.t, run.joint(f"rail{i}").position[:, 0], color=PALETTE[i], linewidth=2.0
        )
        axes[0].plot(1e3 * run.t, exact[i], "k--", linewidth=0.8)
    axes[0].set_title("Balls at 20 m/s, steps of 1 ms: place (m, ms)")
    rng, found = np.random.default_rng(1), []
    for speed in sorted(8 * [20.0, 40.0, 60.0, 100.0, 150.0, 250.0, 400.0]):
        model = balls(speed, speed * rng.uniform(0.05, 0.2))
        other = fm.simulate(model, t_end=0.3, integrator=fm.MoreauJean(step=1e-3), output_step=0.05)
        left = [float(other.joint(f"rail{i}").velocity[-1, 0]) / speed - i for i in range(2)]
        found.append((1e-3 * speed / RADIUS, max(map(abs, left)), str(other.verdict)))
    axes[1].semilogy(
        [x for x, *_ in found], [max(error, 1e-17) for _, error, _ in found], "o", markersize=4
    )
    axes[1].set_title("56 meetings: errors over radii a step")
    axes[1].set_ylim(1e-18, 1.0)
    decades(axes[1].yaxis)
    return {
        "meetings": len(found),
        "missed": sum(error > 0.5 for _, error, _ in found),
        "largest_error": max(error for _, error, _ in found),
        "verdicts": sorted({verdict for *_, verdict in found}),
        "position_error_m": float(
            max(np.abs(run.joint(f"rail{i}").position[:, 0] - exact[i]).max() for i in range(2))
        ),
    }


def cradle(law: fm.HuntCrossley | None = None) -> fm.Model:
    """Five balls of 0.1 kg and 20 mm that touch, the first of which arrives at 1 m/s."""
    model = fm.Model("cradle", gravity=(0, 0, 0))
    for i in range(5):
        ball = model.add(fm.RigidBody(f"ball{i}", mass=MASS, inertia=(1e-5,) * 3))
        place = 0.0 if i == 0 else 0.1 + 0.04 * (i - 1)
        model.add(
            fm.Prismatic(
                f"rail{i}", model.ground, ball, axis="x", q0=place, v0=1.0 if i == 0 else 0.0
            )
        )
    how = {"restitution": 1.0} if law is None else {"law": law}
    for i in range(4):
        model.add(
            fm.SphereSphere(
                f"pair{i}", f"ball{i}", f"ball{i + 1}", radius_parent=0.02, radius_child=0.02, **how
            )
        )
    return model


def touching_balls(axes: list[Axes]) -> dict[str, object]:
    """Velocities after the impact by both laws and by Hertz' contacts of steel, kinetic energies of
    the balls by these.
    """
    steel = fm.HuntCrossley(fm.HuntCrossley.hertz(2.1e11, 0.3, 2.1e11, 0.3, 0.01), restitution=1.0)
    laws = {
        "simultaneous": (cradle(), fm.EventDriven()),
        "sequential": (cradle(), fm.EventDriven(multiple_impacts="sequential")),
        "sequential, Moreau–Jean": (
            cradle(),
            fm.MoreauJean(step=1e-3, multiple_impacts="sequential"),
        ),
        "Hertz": (cradle(steel), fm.DormandPrince(rtol=1e-9, atol=1e-12)),
    }
    facts: dict[str, object] = {}
    for k, (name, (model, method)) in enumerate(laws.items()):
        run = fm.simulate(model, t_end=0.1, integrator=method, output_step=1e-3)
        after = [float(run.joint(f"rail{i}").velocity[-1, 0]) for i in range(5)]
        axes[0].plot(
            range(1, 6), after, "o-", color=PALETTE[k], linewidth=1.0, markersize=7 - k, label=name
        )
        told = [check.found for check in run.audit if check.title == "Impacts at once"]
        facts[name] = {
            "velocities": after,
            "verdict": str(run.verdict),
            "audit": told,
            "energy": float(run.energy.total[-1]),
        }
    axes[0].set_title("Velocity (m/s) of five balls after the impact")
    axes[0].legend()
    close = fm.simulate(cradle(steel), t_end=0.0604, integrator=laws["Hertz"][1], output_step=1e-6)
    late = close.t > 0.0599
    for i in range(5):
        energy = 0.5 * MASS * close.joint(f"rail{i}").velocity[late, 0] ** 2
        axes[1].plot(
            1e6 * (close.t[late] - 0.06), 1e3 * energy, color=PALETTE[i], label=f"ball {i + 1}"
        )
    axes[1].plot(
        1e6 * (close.t[late] - 0.06),
        1e3 * close.energy.total[late],
        "k--",
        linewidth=0.8,
        label="all balls",
    )
    axes[1].set_title("Hertz' contacts: energies (mJ, µs)")
    axes[1].legend()
    return facts


def rod() -> fm.Model:
    """Painlevé's rod of 1 kg and 2 m, 0.25 rad from the upright, whose end slides at 3 m/s with μ =
    2.
    """
    model = fm.Model("rod", gravity=(0, -9.81, 0))
    s, c = math.sin(0.25), math.cos(0.25)
    body = model.add(
        fm.RigidBody("rod", mass=1.0, inertia=(1 / 3,) * 3, frames={"tip": (0, -1.0, 0)})
    )
    model.add(
        fm.Planar("plane", model.ground, body, axis="z", q0=(s, c, -0.25), v0=(-3.0, 0.0, 0.0))
    )
    model.add(fm.CornerLine("tip", model.ground, body["tip"], friction=2.0))
    return model


def jammed_rod(axes: list[Axes]) -> dict[str, object]:
    """Energies and the velocity of the lower end by both methods."""
    facts: dict[str, object] = {}
    for k, method in enumerate((fm.EventDriven(), fm.MoreauJean(step=1e-4))):
        run = fm.simulate(rod(), t_end=0.3, integrator=method, output_step=1e-3)
        axes[0].plot(
            run.t,
            run.frame("rod/tip").velocity[:, 0],
            color=PALETTE[k],
            linewidth=2.0 - k,
            label=method.name,
        )
        axes[1].plot(
            run.t,
            run.energy.total,
            color=PALETTE[k],
            linewidth=2.0 - k,
            label=f"total, {method.name}",
        )
        axes[1].plot(
            run.t,
            run.energy.kinetic,
            "--",
            color=PALETTE[k],
            linewidth=0.8,
            label=f"kinetic, {method.name}",
        )
        hit = run.run.impacts[0]
        facts[method.name] = {
            "t": hit.t,
            "impulse": list(hit.impulse[:2]),
            "lost": hit.lost,
            "impacts": len(run.run.impacts),
            "energy": float(run.energy.total[-1]),
            "verdict": str(run.verdict),
        }
    axes[0].set_title("Rod that jams: velocity of its end (m/s)")
    axes[1].set_title("Energies of the rod (J)")
    for ax in axes:
        ax.legend()
    return facts


def main() -> None:
    warnings.simplefilter("ignore", fm.AuditWarning)
    facts: dict[str, object] = {}
    with house_style():
        figure = Figure(figsize=(WIDTH, 8.4), layout="constrained")
        rows = figure.subplots(3, 2)
        for row, study in zip(rows, (fast_balls, touching_balls, jammed_rod)):
            begun = time.perf_counter()
            facts[study.__name__] = study(list(row))
            print(
                study.__name__,
                f"{time.perf_counter() - begun:.1f} s",
                json.dumps(facts[study.__name__], indent=1),
                flush=True,
            )
        figure.savefig(HERE / "impacts.png", dpi=130)
    (HERE / "impacts.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
