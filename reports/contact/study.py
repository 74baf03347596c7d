"""Rigid contacts by Moreau's and Jean's time stepping: Glocker's woodpecker, a bouncing ball, a
flexible arm on a stop.

python reports/contact/study.py        -> woodpecker.png, ball.png, arm.png, study.json
"""

import json
import math
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

import flexmbs as fm
import preprocess as pp
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.motions import Rotate, Slide
from flexmbs.page.style import PALETTE, WIDTH, decades, house_style, panels

HERE = Path(__file__).parent
REFERENCE = HERE.parents[1] / "tests" / "references" / "data" / "woodpecker.json"
G = 9.81

# the woodpecker of Glocker (1995), lengths in m: radii of pole and sleeve, half height of the
# sleeve, lever of the spring at the sleeve and at the woodpecker, height of the beak over and its
# distance from the woodpecker's centre of mass
R_POLE, R_SLEEVE, H_SLEEVE, L_SLEEVE, L_BIRD, H_BEAK, L_BEAK = (
    0.0025,
    0.0031,
    0.0058,
    0.010,
    0.015,
    0.02,
    0.0201,
)
SMALL = 1e-4  # angles of the linear toy over those of the real one


def woodpecker(small: float, sleeve: float, bird: float) -> fm.Model:
    """Rigid sleeve and woodpecker on the pole; with levers 1/small times as long, kinematics become
    linear.
    """
    k, beak, play = 1.0 / small, L_SLEEVE + L_BIRD - L_BEAK - R_POLE, R_SLEEVE - R_POLE
    sides = {
        "side": (R_SLEEVE * k - play, 0, 0),
        "bark": ((L_SLEEVE + L_BIRD - L_BEAK) * k - beak, 0, 0),
    }
    model = fm.Model("woodpecker", gravity=(0, -G, 0), frames=sides)
    places = {
        "spring": (L_SLEEVE * k, 0, 0),
        "low": (R_SLEEVE * k, -H_SLEEVE * k, 0),
        "high": (R_SLEEVE * k, H_SLEEVE * k, 0),
    }
    holder = model.add(
        fm.RigidBody("sleeve", mass=0.0003, inertia=(5e-9 * k * k,) * 3, frames=places)
    )
    places = {"spring": (-L_BIRD * k, 0, 0), "beak": (-L_BEAK * k, H_BEAK * k, 0)}
    pecker = model.add(
        fm.RigidBody("bird", mass=0.0045, inertia=(7e-7 * k * k,) * 3, frames=places)
    )
    motions = (Slide("y"), Rotate("z"))
    model.add(
        fm.Chain(
            "pole", model.ground, holder, motions=motions, q0=(0, sleeve * small), v0=(-0.3411, 0)
        )
    )
    spring = model.add(
        fm.Revolute(
            "spring",
            holder["spring"],
            pecker["spring"],
            q0=(bird - sleeve) * small,
            v0=-7.4583 * small,
        )
    )
    model.add(fm.JointSpring("leaf", spring, k=0.0056 * k * k))
    model.add(
        fm.SpherePlane(
            "beak", "ground/bark", pecker["beak"], normal="x", restitution=0.5, friction=0.3
        )
    )
    for place in ("low", "high"):
        model.add(fm.SpherePlane(place, "ground/side", holder[place], normal="x", friction=0.3))
    return model


class Peck(NamedTuple):
    """Descent, angles and rates of sleeve and woodpecker, times of the beak's impacts, seconds of
    the run.
    """

    t: np.ndarray
    y: np.ndarray
    sleeve: np.ndarray
    bird: np.ndarray
    sleeve_rate: np.ndarray
    bird_rate: np.ndarray
    pecks: list[float]
    seconds: float


def pecking(
    small: float, sleeve: float = -0.1036, bird: float = -0.2788, t_end: float = 0.3
) -> Peck:
    """A run with the step of the reference, 2e-5 s."""
    run = fm.simulate(
        woodpecker(small, sleeve, bird),
        t_end=t_end,
        step=2e-5,
        output_step=2e-4,
        integrator="moreau-jean",
    )
    pole, spring = run.joint("pole"), run.joint("spring")
    angle, rate = pole.position[:, 1] / small, pole.velocity[:, 1] / small
    bird_angle, bird_rate = (
        angle + spring.position[:, 0] / small,
        rate + spring.velocity[:, 0] / small,
    )
    pecks = [impact.t for impact in run.run.impacts if impact.contact == "beak"]
    return Peck(
        run.t,
        pole.position[:, 0],
        angle,
        bird_angle,
        rate,
        bird_rate,
        pecks,
        float(run.statistics["solve_seconds"]),
    )


def tilt_at_contact() -> float:
    """Angle of the real sleeve whose lower edge touches the pole: r cos φ + h sin φ = r_pole for φ
    < 0.
    """
    size, phase = math.hypot(R_SLEEVE, H_SLEEVE), math.atan2(H_SLEEVE, R_SLEEVE)
    return phase - math.acos(R_POLE / size)


def woodpecker_study() -> tuple[Figure, dict[str, object]]:
    """The linear toy against the reference, and the real one with its large angles."""
    reference = json.loads(REFERENCE.read_text())
    samples = np.array(reference["samples"])
    linear, real = pecking(SMALL), pecking(1.0, tilt_at_contact())
    at = np.round(samples[:, 0] / 2e-4).astype(int)
    found = np.column_stack([linear.y, linear.sleeve, linear.bird])[at]
    errors = np.abs(found - samples[:, 1::2]).max(axis=0)
    figure = Figure(figsize=(WIDTH, 6.4))
    axes = figure.subplots(2, 2)
    axes[0, 0].plot(linear.bird, linear.bird_rate, linewidth=1.0, label="linear kinematics")
    axes[0, 0].plot(
        real.bird, real.bird_rate, linewidth=0.8, label="real geometry", color=PALETTE[1]
    )
    axes[0, 0].plot(
        samples[:, 5], samples[:, 6], "o", markersize=3, label="Siconos", color=PALETTE[3]
    )
    axes[0, 0].set_title("Woodpecker: rate (rad/s) over angle (rad)")
    axes[0, 0].legend()
    axes[0, 1].plot(linear.sleeve, linear.sleeve_rate, linewidth=0.8)
    axes[0, 1].plot(real.sleeve, real.sleeve_rate, linewidth=0.6, color=PALETTE[1])
    axes[0, 1].plot(samples[:, 3], samples[:, 4], "o", markersize=3, color=PALETTE[3])
    axes[0, 1].set_xticks([-0.1, -0.05, 0.0, 0.05, 0.1])
    for ax in axes[0]:
        ax.margins(x=0.03)
    axes[0, 1].set_title("Sleeve: rate (rad/s) over angle (rad)")
    for ax, values, column, title in (
        (
            axes[1, 0],
            (1e3 * linear.y, 1e3 * real.y),
            1e3 * samples[:, 1],
            "Descent (mm) over time (s)",
        ),
        (
            axes[1, 1],
            (linear.sleeve, real.sleeve),
            samples[:, 3],
            "Angle of the sleeve (rad) over time (s)",
        ),
    ):
        ax.plot(linear.t, values[0], linewidth=1.0)
        ax.plot(real.t, values[1], linewidth=0.9, color=PALETTE[1])
        ax.plot(samples[:, 0], column, "o", markersize=3, color=PALETTE[3])
        ax.set_title(title)
    facts = {
        "largest_difference": dict(zip(("y_m", "sleeve_rad", "bird_rad"), map(float, errors))),
        "beak_impacts": {
            "linear": linear.pecks,
            "real": real.pecks,
            "siconos": reference["beak_impacts"]["ref"][0],
        },
        "seconds": linear.seconds,
        "steps": round(linear.t[-1] / 2e-5),
    }
    return figure, facts


def bounce(step: float, t_end: float = 10.0) -> fm.Solution:
    """Ball from 1 m, e = 0.9."""
    model = fm.Model("ball", gravity=(0, 0, -G))
    ball = model.add(fm.PointMass("ball", mass=1.0))
    model.add(fm.Prismatic("fall", model.ground, ball, axis="z", q0=1.0))
    model.add(fm.SpherePlane("floor", model.ground, ball, restitution=0.9))
    return fm.simulate(
        model, t_end=t_end, step=step, output_step=max(step, 5e-3), integrator="moreau-jean"
    )


def ball_study() -> tuple[Figure, dict[str, object]]:
    """Heights over time, and errors of the first ten impact times over the step."""
    exact = math.sqrt(2.0 / G) * (
        1.0 + 2.0 * np.concatenate([[0.0], np.cumsum(0.9 ** np.arange(1, 10))])
    )
    steps = [4e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4]
    runs = [bounce(step) for step in steps]
    errors = [float(np.abs([hit.t for hit in run.run.impacts[:10]] - exact).max()) for run in runs]
    figure, axes = panels(2, height=2.4, share=False)
    axes[0].plot(runs[2].t, runs[2].q[:, 0], linewidth=1.0)
    axes[0].axvline(8.578949178729, color=PALETTE[1], linewidth=1.0, linestyle="--")
    axes[0].set_title(
        "Height of the ball (m) over time (s), step 1 ms; dashed: accumulation of the "
        "impacts, 8.5789 s"
    )
    axes[1].loglog(steps, errors, "o-")
    axes[1].loglog(steps, [6.0 * step for step in steps], linewidth=0.8, color=PALETTE[6])
    axes[1].set_title(
        "Largest error of the first ten impact times (s) over the step (s); grey: six steps"
    )
    decades(axes[1].xaxis)
    decades(axes[1].yaxis)
    last = runs[-1]
    facts = {
        "steps": steps,
        "errors": errors,
        "impacts": [len(run.run.impacts) for run in runs],
        "last_impact": last.run.impacts[-1].t,
        "height_at_rest": float(last.q[-1, 0]),
        "speed_at_rest": float(last.s[-1, 0]),
        "energy_balance": float(np.abs(last.energy.balance).max()),
        "seconds": float(last.statistics["solve_seconds"]),
    }
    return figure, facts


def arm_study() -> tuple[Figure, dict[str, object]]:
    """A steel arm, 1 m × 20 mm × 20 mm, falls from the horizontal onto a stop under its tip, 0.2
    rad lower.
    """
    mesh = pp.box_mesh((1.0, 0.02, 0.02), (20, 1, 1), "hex20", origin=(0.0, -0.01, -0.01))
    steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    faces = {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    data = pp.reduce(
        mesh,
        steel,
        interfaces=faces,
        method=pp.CraigBampton(modes=6),
        reference="hub",
        damping=0.01,
        name="arm",
    )
    depth = -math.sin(0.2)
    model = fm.Model("arm on a stop", gravity=(0, -G, 0), frames={"stop": (0, depth, 0)})
    arm = model.add(fm.FlexibleBody("arm", data=data))
    model.add(fm.Revolute("hinge", model.ground, arm["hub"], axis="z"))
    model.add(
        fm.SpherePlane("stop", "ground/stop", arm["tip"], normal="y", restitution=0.5, friction=0.2)
    )
    step, every = 2e-5, 5
    run = fm.simulate(model, t_end=0.8, step=step, integrator="moreau-jean")
    energy, stop = run.energy, run.contact("stop")
    work = make_work(run.compiled.system)
    pick = slice(None, None, 20 * every)
    momentum = np.array(
        [
            (terms(run.compiled.system, work, 0.0, q, s).M @ s)[0]
            for q, s in zip(run.q[pick], run.s[pick])
        ]
    )
    tip = run.frame("arm/tip").position
    weight = -G * data.mass * _centre(run, data)
    moment = tip[:, 0] * stop.force[:, 1] - (tip[:, 1]) * stop.force[:, 0] + weight
    gained = step * (np.cumsum(moment) - moment[0])
    figure, axes = panels(4, height=1.9)
    axes[0].plot(run.t[::every], 1e3 * (tip[::every, 1] - depth))
    axes[0].set_title("Tip over the stop (mm)")
    peaks = np.maximum.reduceat(stop.normal, np.arange(0, len(run.t), every))
    axes[1].semilogy(run.t[::every], np.where(peaks > 0.0, peaks, np.nan), linewidth=1.0)
    decades(axes[1].yaxis)
    axes[1].set_title("Impulse of a step over its length (N)")
    axes[2].plot(
        run.t[::every], (energy.kinetic + energy.strain)[::every], label="kinetic + strain"
    )
    axes[2].plot(run.t[::every], energy.strain[::every], label="strain", linewidth=0.8)
    axes[2].plot(run.t[::every], energy.dissipated[::every], label="dissipated, impacts included")
    axes[2].legend(loc="center right")
    axes[2].set_title("Energies (J)")
    axes[3].plot(run.t[pick], momentum, label="angular momentum about the hinge")
    axes[3].plot(
        run.t[::every],
        gained[::every],
        "--",
        linewidth=1.0,
        label="impulses of stop and weight about it",
    )
    axes[3].legend(loc="lower right")
    axes[3].set_title("Angular momentum (kg m²/s)")
    axes[3].set_xlabel("time (s)")
    facts = {
        "modes": data.nf,
        "impacts": len(stop.impacts),
        "first_impact": stop.impacts[0].t,
        "lost_at_impacts": float(sum(hit.lost for hit in stop.impacts)),
        "dissipated": float(energy.dissipated[-1]),
        "energy_balance_over_scale": float(np.abs(energy.balance).max() / energy.scale),
        "momentum_error_over_largest": float(
            np.abs(gained[pick] - momentum).max() / np.abs(momentum).max()
        ),
        "deepest_overlap_mm": float(-1e3 * stop.gap.min()),
        "bound_mm": float(1e3 * step * np.abs(stop.rate).max()),
        "seconds": float(run.statistics["solve_seconds"]),
        "steps": int(run.statistics["steps"]),
    }
    return figure, facts


def _centre(run: fm.Solution, data: fm.FlexibleBodyData) -> np.ndarray:
    """World x of the arm's centre of mass (nt,)."""
    body = run.body("arm")
    local = (data.first_moment + body.elastic @ data.S_bar.T) / data.mass
    return np.asarray(body.position[:, 0] + np.einsum("ta,ta->t", body.rotation[:, 0], local))


def main() -> None:
    facts: dict[str, object] = {}
    for name, study in (("ball", ball_study), ("woodpecker", woodpecker_study), ("arm", arm_study)):
        begun = time.perf_counter()
        with house_style():
            figure, facts[name] = study()
            figure.savefig(HERE / f"{name}.png", dpi=130)
        print(name, f"{time.perf_counter() - begun:.1f} s", json.dumps(facts[name], indent=1))
    (HERE / "study.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
