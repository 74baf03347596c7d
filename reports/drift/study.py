"""Drift of the constraints of a flexible slider-crank over 60 s under the classical numerical
schemes of the multiplier form.

    python reports/drift/study.py        -> drift.png, drift.json

A crank turns freely at 20 rad/s, no gravity, no damping: the energy is constant. Position and velocity errors |g| and
|G s + γ̄| of: (1) index-1 equations integrated, (1b) with Baumgarte's stabilization, (2) coordinate partitioning, (3) projection
of positions and velocities after each step; all by Dormand–Prince with one fixed step; and generalized-α for comparison.
"""

import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import flexmbs as fm
from flexmbs.motions import Ball
from flexmbs.page.style import decades, house_style, panels

HERE = Path(__file__).parent
T_END, STEP, OUTPUT = 60.0, 5e-4, 0.05
CRANK, ROD, SIDE, E, RHO, SPEED = 0.15, 0.5, 0.004, 70e9, 2700.0, 20.0

SCHEMES: dict[str, dict[str, object]] = {
    "1  integrate everything": {"formalism": fm.Multiplier()},
    "1b Baumgarte, α = 50/s": {"formalism": fm.Multiplier(stabilization=fm.Baumgarte(50.0))},
    "2  coordinate partitioning": {"formalism": fm.Partitioning()},
    "3  projection": {"formalism": fm.Multiplier(stabilization=fm.Projection())},
    "generalized-α": {"integrator": fm.GeneralizedAlpha(step=STEP, rho_inf=0.9)},
}


def rod() -> fm.FlexibleBodyData:
    """A beam between its pins with the lateral shapes sin πξ, sin 2πξ; integrals of the shapes in
    closed form.
    """
    mass = RHO * SIDE**2 * ROD
    S_bar, xS, SS = np.zeros((3, 2)), np.zeros((3, 3, 2)), np.zeros((3, 3, 2, 2))
    S_bar[1] = mass * np.array([2.0 / np.pi, 0.0])
    xS[0, 1] = mass * ROD * np.array([1.0 / np.pi, -0.5 / np.pi])
    SS[1, 1] = mass / 2.0 * np.eye(2)
    bending = E * SIDE**4 / 12.0 * (np.pi / ROD) ** 4 * ROD / 2.0
    slopes = np.array([[0.0, 0.0], [0.0, 0.0], [-np.pi / ROD, 2.0 * np.pi / ROD]])
    across, along = mass * SIDE**2 / 12.0, mass * ROD**2 / 3.0
    return fm.FlexibleBodyData.from_integrals(
        "rod",
        mass=mass,
        first_moment=(mass * ROD / 2.0, 0.0, 0.0),
        second_moment=np.diag([along, across, across]),
        S_bar=S_bar,
        xS=xS,
        SS=SS,
        K_ff=bending * np.diag([1.0, 16.0]),
        frames={"end": fm.FlexibleFrame.at_node((ROD, 0.0, 0.0), np.zeros((3, 2)), psi=slopes)},
    )


def slider_crank() -> fm.Model:
    """Crank, flexible rod and slider in the plane of x and y."""
    model = fm.Model("flexible slider-crank", gravity=(0.0, 0.0, 0.0))
    half = {"com": (CRANK / 2.0, 0.0, 0.0), "frames": {"pin": (CRANK, 0.0, 0.0)}}
    crank = model.add(fm.RigidBody("crank", mass=0.4, inertia=(1e-5, 8e-4, 8e-4), **half))
    link = model.add(fm.FlexibleBody("rod", data=rod()))
    slider = model.add(fm.RigidBody("slider", mass=0.1, inertia=(1e-4, 1e-4, 1e-4)))
    model.add(fm.Revolute("shaft", model.ground, crank, v0=SPEED))
    model.add(fm.Revolute("crank pin", crank["pin"], link, v0=-SPEED * (1.0 + CRANK / ROD)))
    model.add(fm.Prismatic("guide", model.ground, slider, q0=CRANK + ROD))
    model.add(fm.Chain("piston pin", link["end"], slider, motions=(Ball(),)))
    return model


def run(scheme: str) -> fm.Solution:
    """60 s under one scheme."""
    options = {"integrator": fm.DormandPrince(step=STEP)} | SCHEMES[scheme]
    return fm.simulate(slider_crank(), t_end=T_END, output_step=OUTPUT, **options)


def draw(runs: dict[str, fm.Solution]) -> Figure:
    """|g|, |G s + γ̄| and the energy error over time."""
    figure, (g, gd, energy) = panels(3, height=2.4)
    for scheme, solution in runs.items():
        for axes, values in (
            (g, solution.drift[:, 0]),
            (gd, solution.drift[:, 1]),
            (energy, np.abs(solution.energy.balance)),
        ):
            axes.semilogy(
                solution.t[1:], np.maximum(values[1:], 1e-17), label=scheme, linewidth=1.2
            )
    for axes in (g, gd, energy):
        decades(axes.yaxis)
    g.set_title("Position error |g| (m, rad)")
    gd.set_title("Velocity error |Gs + γ̄| (m/s, rad/s)")
    energy.set_title("Missing energy (J)")
    energy.set_xlabel("time (s)")
    g.legend(loc="upper center", bbox_to_anchor=(0.5, 1.45), ncol=3)
    return figure


def main() -> None:
    runs = {}
    for scheme in SCHEMES:
        runs[scheme] = run(scheme)
        last = runs[scheme]
        print(
            f"{scheme:28s} |g| {last.drift[:, 0].max():.1e}  |Gs| {last.drift[:, 1].max():.1e}"
            f"  energy {np.abs(last.energy.balance).max():.1e} J  "
            f"{last.statistics['solve_seconds']:.1f} s"
        )
    with house_style():
        draw(runs).savefig(HERE / "drift.png", dpi=140)
    table = {
        scheme: {
            "largest_g": float(run.drift[:, 0].max()),
            "largest_velocity_error": float(run.drift[:, 1].max()),
            "energy_missing_J": float(np.abs(run.energy.balance).max()),
            "energy_J": float(run.energy.total[0]),
            "seconds": run.statistics["solve_seconds"],
        }
        for scheme, run in runs.items()
    }
    (HERE / "drift.json").write_text(
        json.dumps({"t_end": T_END, "step": STEP, "schemes": table}, indent=1, ensure_ascii=False)
    )


if __name__ == "__main__":
    main()
