"""Robots: a SCARA with flexible links under a rigid robot's controller, a PUMA 560 with a payload,
inverse kinematics.

    python reports/robots/study.py        -> scara.png, puma.png, study.json

The SCARA's arms are solid aluminium bars, meshed and reduced here; its controller adds the inverse
dynamics of the rigid robot. The PUMA follows a Cartesian line with a payload that is known or
unknown to its controllers. Inverse kinematics: 1000 random poses of each.
"""

import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

import flexmbs as fm
import preprocess as pp
from flexmbs.page.style import decades, house_style, panels
from flexmbs.robots import (
    ComputedTorque,
    Controller,
    FlexibleLink,
    Line,
    Link,
    PDFeedforward,
    PDGravity,
    Shaped,
    Trapezoid,
    controlled,
    puma560,
    zero_vibration,
    zero_vibration_derivative,
)
from flexmbs.robots import Path as JointPath

HERE = Path(__file__).parent
IIWA = HERE.parents[1] / "tests" / "robots" / "data" / "iiwa.urdf"

UPPER, FORE = (0.45, 0.016, 0.06), (0.40, 0.012, 0.05)  # length, width, height of the bars in m
ALUMINIUM = pp.Isotropic(E=70e9, nu=0.33, rho=2700.0)
DAMPING, MODES = 0.005, 6
START, GOAL = np.array([-0.9, 1.3, 0.05, 0.0]), np.array([0.6, 0.7, 0.10, 1.0])
STEP, AFTER = 1e-3, 0.8
BANDWIDTH = 100.0  # rad/s


def bar(size: tuple[float, float, float], root: str, end: str) -> fm.FlexibleBodyData:
    """A reduced bar along x between the interfaces of two joints."""
    mesh = pp.box_mesh(size, (12, 1, 2), "hex20", origin=(0.0, -size[1] / 2.0, -size[2] / 2.0))
    faces = {root: pp.Rigid("x0"), end: pp.Rigid("x1")}
    method = pp.CraigBampton(modes=MODES)
    return pp.reduce(
        mesh, ALUMINIUM, interfaces=faces, method=method, reference=root, damping=DAMPING, name=root
    )


def bar_link(size: tuple[float, float, float], alpha: float = 0.0) -> Link:
    """The same bar as a rigid link."""
    a, b, c = size
    m = ALUMINIUM.rho * a * b * c
    moments = np.array([b * b + c * c, a * a + c * c, a * a + b * b]) * m / 12.0
    return Link(a=a, alpha=alpha, mass=m, com=(-a / 2.0, 0.0, 0.0), inertia=moments)


def scara(flexible: bool) -> fm.Robot:
    """Shoulder, elbow, spindle with translation and rotation; 1.5 kg at the tool."""
    spindle = Link(joint="prismatic", mass=0.4, com=(0.0, 0.0, -0.05), inertia=(4e-4, 4e-4, 4e-5))
    wrist = Link(mass=0.1, inertia=(2e-5, 2e-5, 2e-5))
    links = {
        "link1": FlexibleLink(bar(UPPER, "joint1", "joint2"), pose=(-UPPER[0], 0.0, 0.0)),
        "link2": FlexibleLink(bar(FORE, "joint2", "joint3"), pose=(-FORE[0], 0.0, 0.0)),
    }
    payload = fm.RigidBody("load", mass=1.5, inertia=(1e-3, 1e-3, 1e-3))
    rows = [bar_link(UPPER), bar_link(FORE, np.pi), spindle, wrist]
    return fm.Robot.from_dh(rows, name="SCARA", payload=payload, links=links if flexible else None)


class Run(NamedTuple):
    """Times and distances (m) of the tool from its reference and from its final position."""

    t: np.ndarray
    error: np.ndarray
    goal: np.ndarray
    seconds: float


def at_rest(robot: fm.Robot, controller: Controller, q: np.ndarray) -> np.ndarray:
    """Equilibrium position of the tool under control and weight."""
    found: np.ndarray = (
        fm.statics(controlled(robot.started(q), controller)).solution.frame(robot.tool).position[0]
    )
    return found


def moved(
    robot: fm.Robot, controller: Controller, path: JointPath, t_end: float, goal: np.ndarray
) -> Run:
    """A run from static equilibrium; ``goal``: final position of the tool."""
    model = controlled(robot.started(path.at(0.0).q), controller)
    begun = time.perf_counter()
    run = fm.simulate(model, t_end=t_end, step=STEP, start=fm.statics(model))
    tool = run.frame(robot.tool).position
    reference = robot.pose(path.table(run.t).q)[:, :3, 3]
    sag = tool[0] - reference[0]  # at the start, not counted
    error, left = (
        np.linalg.norm(tool - sag - reference, axis=1),
        np.linalg.norm(tool - goal, axis=1),
    )
    return Run(run.t, error, left, time.perf_counter() - begun)


def vibrations(robot: fm.Robot, controller: Controller, q: np.ndarray) -> list[tuple[float, float]]:
    """Frequencies (Hz) and damping ratios of the two lowest slightly damped modes under control at
    rest in q.
    """
    model = controlled(robot.started(q), controller)
    modes = fm.linearize(model, start=fm.statics(model)).modes
    return [
        (float(f), float(z))
        for f, z in zip(modes.frequency, modes.damping)
        if 0.1 < f < 60.0 and z < 0.4
    ][:2]


def scara_study() -> tuple[dict[str, Run], dict[str, object]]:
    """The same motion with the rigid and the flexible arm, unshaped and shaped."""
    rigid, soft = scara(False), scara(True)
    plain = Trapezoid(START, GOAL, rate=(4.0, 4.0, 0.5, 8.0), acceleration=(20.0, 20.0, 4.0, 60.0))

    inertia = np.diag(rigid.mass_matrix(GOAL))

    def by(path: JointPath) -> Controller:
        return PDFeedforward(rigid, path, kp=BANDWIDTH**2 * inertia, kd=2.0 * BANDWIDTH * inertia)

    still = by(Trapezoid(GOAL, GOAL, rate=1.0, acceleration=1.0))
    modes, rest = vibrations(soft, still, GOAL), at_rest(soft, still, GOAL)
    print("SCARA modes under control (Hz, damping):", modes)
    paths = {
        "trapezoid": plain,
        "ZV": Shaped(plain, *(zero_vibration(f, z) for f, z in modes)),
        "ZVD": Shaped(plain, *(zero_vibration_derivative(f, z) for f, z in modes)),
    }
    runs = {
        "rigid arm, trapezoid": moved(
            rigid, by(plain), plain, plain.end + AFTER, at_rest(rigid, still, GOAL)
        )
    }
    for name, path in paths.items():
        runs[f"flexible arm, {name}"] = moved(soft, by(path), path, path.end + AFTER, rest)
    facts = {
        "modes_Hz_damping": modes,
        "runs": {
            name: {
                "end_of_path_s": float(run.t[-1] - AFTER),
                "largest_error_mm": 1e3 * float(run.error.max()),
                "residual_mm": 1e3 * float(run.goal[run.t > run.t[-1] - AFTER + 0.1].max()),
                "seconds": run.seconds,
            }
            for name, run in runs.items()
        },
    }
    return runs, facts


def puma_study() -> tuple[dict[str, Run], dict[str, object]]:
    """A line of 0.5 m in 0.8 s with 2.5 kg at the flange."""
    load = fm.RigidBody("load", mass=2.5, inertia=(5e-3, 5e-3, 5e-3), com=(0.0, 0.0, 0.1))
    bare, loaded = puma560(motors=False), puma560(motors=False, payload=load)
    q0 = np.radians([-30.0, 40.0, -140.0, 20.0, 60.0, 0.0])
    last = bare.pose(np.radians([20.0, 25.0, -125.0, -10.0, 50.0, 30.0]))
    path = Line(bare, q0, last, 0.8)
    kp, kd = (
        np.array([4e3, 4e3, 2e3, 200.0, 200.0, 100.0]),
        np.array([300.0, 300.0, 150.0, 8.0, 8.0, 4.0]),
    )
    controllers = {
        "computed torque, load known": ComputedTorque(loaded, path, 900.0, 60.0),
        "computed torque, load unknown": ComputedTorque(bare, path, 900.0, 60.0),
        "PD + gravity, load known": PDGravity(loaded, path, kp, kd),
    }
    runs = {
        name: moved(loaded, controller, path, 1.2, last[:3, 3])
        for name, controller in controllers.items()
    }
    return runs, {
        name: {"largest_error_mm": 1e3 * float(run.error.max()), "seconds": run.seconds}
        for name, run in runs.items()
    }


def inverse_study(robot: fm.Robot) -> dict[str, object]:
    """1000 poses of random coordinates within the limits."""
    low, high = robot.limits.T
    wanted = robot.pose(np.random.default_rng(2024).uniform(low, high, (1000, robot.n)))
    begun = time.process_time()
    found = robot.inverse_kinematics(wanted)
    seconds = time.process_time() - begun
    inside = bool(((found.q >= low) & (found.q <= high)).all())
    error = float(np.abs(robot.pose(found.q) - wanted)[found.success].max())
    return {
        "poses": 1000,
        "success_rate": float(found.success.mean()),
        "at_the_first_start": float((found.starts == 1).mean()),
        "most_starts": int(found.starts.max()),
        "largest_error": error,
        "inside_limits": inside,
        "cpu_seconds": seconds,
    }


def draw(runs: dict[str, Run], *, goal: bool) -> Figure:
    """Tracking error and, optionally, the distance from the goal."""
    figure, axes = panels(2 if goal else 1, height=2.6, share=False)
    for name, run in runs.items():
        axes[0].plot(run.t, 1e3 * run.error, label=name, linewidth=1.2)
        if goal:
            axes[1].semilogy(
                run.t - (run.t[-1] - AFTER),
                np.maximum(1e3 * run.goal, 1e-5),
                label=name,
                linewidth=1.2,
            )
    axes[0].set_title("Distance of the tool from its reference (mm)")
    axes[0].set_xlabel("time (s)")
    axes[0].legend(loc="upper right")
    if goal:
        axes[1].set_title("Distance of the tool from its final position (mm)")
        axes[1].set_xlabel("time after the end of the path (s)")
        axes[1].set_xlim(-0.1, AFTER)
        axes[1].set_ylim(1e-4, 1e2)
        decades(axes[1].yaxis)
    return figure


def main() -> None:
    inverse = {
        "PUMA 560": inverse_study(puma560()),
        "iiwa": inverse_study(fm.Robot.from_urdf(IIWA)),
    }
    print(json.dumps(inverse, indent=1))
    puma_runs, puma_facts = puma_study()
    print(json.dumps(puma_facts, indent=1))
    scara_runs, scara_facts = scara_study()
    print(json.dumps(scara_facts, indent=1))
    with house_style():
        draw(puma_runs, goal=False).savefig(HERE / "puma.png", dpi=140)
        draw(scara_runs, goal=True).savefig(HERE / "scara.png", dpi=140)
    facts = {"inverse_kinematics": inverse, "puma": puma_facts, "scara": scara_facts}
    (HERE / "study.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
