"""Nonholonomic systems: shopping cart, rolling disc and bicycle, their steady motions and the
motions near them.

    python reports/nonholonomic/study.py        -> bicycle.png, cart.png, disc.png, study.json

Eigenvalues are those of `linearize` about steady motions of the models: of the bicycle over its
speed with the published points, of a rolling disc over its spin with the closed form, of a circling
shopping cart with the closed form; and runs that start near the steady motion.
"""

import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import flexmbs as fm
from flexmbs.motions import Rotate, Slide
from flexmbs.page.style import house_style

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "references"))
from bicycle import BENCHMARK, bicycle  # noqa: E402

TIGHT = fm.DormandPrince(rtol=1e-10, atol=1e-12)
M1, M2, L = 2.0, 3.0, 0.7
RADIUS, G = 0.5, 9.81


def cart(v: float, omega: float, push: float = 0.0) -> fm.Model:
    """Two masses on a rod, a wheel under the first, with the forces of the steady motion (v, ω);
    starts at v + push.
    """
    model = fm.Model("cart", gravity=(0.0, 0.0, 0.0))
    whole = M1 + M2
    about = M1 * M2 / whole * L**2
    frames = {"end": (L, 0, 0)}
    model.add(
        fm.RigidBody(
            "rod", mass=whole, com=(M2 * L / whole, 0, 0), inertia=(0, about, about), frames=frames
        )
    )
    model.add(fm.Planar("floor", "ground", "rod", v0=(v + push, 0.0, omega)))
    model.add(fm.KnifeEdge("wheel", "ground", "rod"))
    model.add(fm.FrameForce("along", "rod", force=(-M2 * L * omega**2, 0, 0), axes="follower"))
    model.add(fm.FrameForce("across", "rod/end", force=(0, M2 * v * omega, 0), axes="follower"))
    return model


def disc(spin: float, push: float = 0.0) -> fm.Model:
    """A thin disc that rolls upright along x; ``push`` is its first lean rate."""
    model = fm.Model("disc", gravity=(0.0, 0.0, -G))
    across = RADIUS**2 / 4.0
    model.add(fm.RigidBody("disc", mass=1.0, inertia=(across, 2.0 * across, across)))
    motions = [Slide(a) for a in "xyz"] + [Rotate(a) for a in "zxy"]
    start = {"q0": (0, 0, RADIUS, 0, 0, 0), "v0": (spin * RADIUS, 0, 0, 0, push, spin)}
    model.add(fm.Chain("place", "ground", "disc", motions=motions, **start))
    model.add(fm.RollingDisc("contact", "ground", "disc", radius=RADIUS))
    return model


def pushed(speed: float, push: float) -> fm.Model:
    """The bicycle with a lean rate at the start."""
    model = bicycle(speed)
    place = model.joints["frame"]
    start = {"q0": place.q0, "v0": (speed, 0, 0, 0, push, 0)}
    model.joints["frame"] = fm.Chain(
        "frame", place.parent, place.child, motions=place.motions, **start
    )
    return model


def bicycle_figure() -> tuple[Figure, dict[str, float]]:
    """Eigenvalues over speed with the published ones; lean and
    steer after a push at four speeds.
    """
    speeds = np.linspace(0.0, 10.0, 81)
    found = [np.linalg.eigvals(fm.linearize(bicycle(v)).A) for v in speeds]
    figure = Figure(figsize=(8.6, 7.4))
    figure.set_layout_engine("constrained")
    top, below = figure.subplots(2, 1)
    for v, values in zip(speeds, found):
        values = values[np.abs(values) > 1e-3]
        top.plot(np.full(len(values), v), values.real, ".", color="#1f5a94", markersize=3.5)
        swinging = values[values.imag > 1e-6]
        top.plot(np.full(len(swinging), v), swinging.imag, ".", color="#d07a36", markersize=3.5)
    largest = 0.0
    for v, pairs in BENCHMARK["eigenvalues"].items():
        published = np.array([complex(*pair) for pair in pairs])
        values = found[int(np.argmin(np.abs(speeds - float(v))))]
        largest = max(largest, float(np.abs(values[:, None] - published).min(axis=0).max()))
        top.plot(
            np.full(4, float(v)),
            published.real,
            "o",
            markerfacecolor="none",
            color="#1d2733",
            markersize=7,
        )
        swinging = published[published.imag > 0.0]
        top.plot(
            np.full(len(swinging), float(v)),
            swinging.imag,
            "o",
            markerfacecolor="none",
            color="#1d2733",
            markersize=7,
        )
    for key, name in (("weave speed", "weave"), ("capsize speed", "capsize")):
        top.axvline(BENCHMARK[key], color="#9a3f55", linewidth=1.0)
        top.text(
            BENCHMARK[key] + 0.06,
            8.6,
            f"{name} {BENCHMARK[key]:.4f} m/s",
            color="#9a3f55",
            fontsize=8.5,
        )
    top.set(ylim=(-10.0, 10.0), xlim=(-0.2, 10.2), xlabel="forward speed (m/s)")
    top.set_title(
        "Eigenvalues of the bicycle: real parts (blue), imaginary parts (orange), "
        "published (circles), 1/s"
    )
    for v in (3.5, 4.0, 5.0, 6.5):
        run = fm.simulate(pushed(v, 0.05), t_end=5.0, output_step=0.02, integrator=TIGHT)
        below.plot(run.t, np.degrees(run.joint("frame").position[:, 4]), label=f"{v:g} m/s")
    below.set(ylim=(-12.0, 12.0), xlabel="time (s)")
    below.set_title("Lean after a push of 0.05 rad/s (degrees), nonlinear run")
    below.legend(loc="lower left", ncol=4)
    return figure, {"largest difference of an eigenvalue from the published (1/s)": largest}


def disc_figure() -> tuple[Figure, dict[str, float]]:
    """Square of the lean's eigenvalue over spin; lean after a push below and above the critical
    spin.
    """
    spins = np.linspace(0.0, 5.0, 41)
    expected = 12.0 / 5.0 * spins**2 - 4.0 * G / (5.0 * RADIUS)
    found = []
    for spin in spins:
        values = np.linalg.eigvals(fm.linearize(disc(spin)).A)
        found.append(-(values[np.argmax(np.abs(values))] ** 2).real)
    figure = Figure(figsize=(8.6, 5.6))
    figure.set_layout_engine("constrained")
    top, below = figure.subplots(2, 1)
    top.plot(spins, expected, label="12/5 ω² − 4g/5r")
    top.plot(spins, found, "o", markersize=4, label="linearize")
    top.axhline(0.0, color="#5d6b7a", linewidth=0.8)
    top.set(xlabel="spin ω (rad/s)")
    top.set_title("Rolling disc: −λ² of its lean (1/s²)")
    top.legend()
    critical = float(np.sqrt(G / (3.0 * RADIUS)))
    for factor in (0.95, 1.1, 1.5):
        run = fm.simulate(
            disc(factor * critical, 0.01), t_end=4.0, output_step=0.02, integrator=TIGHT
        )
        below.plot(
            run.t,
            np.degrees(run.joint("place").position[:, 4]),
            label=f"{factor:g} of the critical spin",
        )
    below.set(xlabel="time (s)", ylim=(-0.5, 4.0))
    below.set_title("Lean after a push of 0.01 rad/s (degrees)")
    below.legend()
    return figure, {
        "critical spin (rad/s)": critical,
        "largest difference of the squared eigenvalue (1/s²)": float(
            np.abs(np.array(found) - expected).max()
        ),
    }


def cart_figure() -> tuple[Figure, dict[str, float]]:
    """Path of the wheel near a steady circle; forward speed and yaw rate at v = 0, a centre, and at
    v > 0, a focus.
    """
    figure = Figure(figsize=(8.6, 4.0))
    figure.set_layout_engine("constrained")
    path, plane = figure.subplots(1, 2)
    omega, worst = 0.9, 0.0
    for v, push, t_end in ((0.0, 0.15, 60.0), (0.15, 0.15, 25.0)):
        model = cart(v, omega, push)
        linear = np.linalg.eigvals(fm.linearize(cart(v, omega)).A)
        roots = np.roots([1.0, v / L, 2.0 * M2 * omega**2 / (M1 + M2)])
        worst = max(worst, float(np.abs(linear[:, None] - roots).min(axis=0).max()))
        run = fm.simulate(model, t_end=t_end, output_step=0.02, integrator=TIGHT)
        q, s = run.joint("floor").position, run.joint("floor").velocity
        forward = s[:, 0] * np.cos(q[:, 2]) + s[:, 1] * np.sin(q[:, 2])
        path.plot(q[:, 0], q[:, 1], linewidth=1.0, label=f"v = {v:g} m/s")
        plane.plot(forward, s[:, 2], linewidth=1.0, label=f"v = {v:g} m/s")
    path.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
    path.set_title("Path of the wheel")
    plane.set(xlabel="forward speed (m/s)", ylabel="yaw rate (rad/s)")
    plane.set_title("Quasi-velocities σ₁, σ₂")
    plane.margins(0.05)
    plane.legend()
    return figure, {"largest difference of an eigenvalue (1/s)": worst}


def main() -> None:
    numbers = {}
    with house_style():
        for name, make in (
            ("bicycle", bicycle_figure),
            ("disc", disc_figure),
            ("cart", cart_figure),
        ):
            figure, numbers[name] = make()
            figure.savefig(HERE / f"{name}.png", dpi=110)
            print(name, numbers[name])
    (HERE / "study.json").write_text(json.dumps(numbers, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
