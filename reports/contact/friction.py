"""Friction that must hold: an arm on a stiff hinge and a block on a belt, with their energies.

python reports/contact/friction.py        -> held.png, belt.png, friction.json
"""

import json
import math
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import flexmbs as fm
from flexmbs.page.style import PALETTE, decades, house_style, panels

HERE = Path(__file__).parent
LIMIT = 8.0  # N m of friction on the hinge, against m g l/2 = 4.905 N m
# of the belt (m/s), N/m, N, N; the block has 1 kg
SPEED, STIFFNESS, STATIC, SLIDING = 0.1, 100.0, 3.0, 2.0


def arm(friction: str) -> fm.Model:
    """A horizontal arm that its hinge holds by one of three frictions."""
    model = fm.Model("arm on a stiff hinge")
    body = model.add(fm.RigidBody("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.08, 0.08)))
    model.add(fm.Revolute("hinge", model.ground, body, axis="y"))
    match friction:
        case "smooth":
            model.add(fm.JointFriction("friction", "hinge", coulomb=LIMIT))
        case "bristles":
            model.add(
                fm.LuGreFriction("friction", "hinge", coulomb=LIMIT, stiffness=1e5, damping=200.0)
            )
        case _:
            model.add(fm.DryFriction("friction", "hinge", coulomb=LIMIT))
    return model


def held_study() -> tuple[Figure, dict[str, object]]:
    """The angle over a minute, and the weight's work that friction takes."""
    figure, axes = panels(2, height=2.2)
    facts = {}
    for k, friction in enumerate(("smooth", "bristles", "dry")):
        how = {"integrator": "event-driven"} if friction == "dry" else {}
        run = fm.simulate(arm(friction), t_end=60.0, output_step=0.5, **how)
        angle = np.abs(run.joint("hinge").position[:, 0])
        axes[0].semilogy(run.t[1:], np.maximum(angle[1:], 1e-16), color=PALETTE[k], label=friction)
        axes[1].semilogy(
            run.t[1:],
            np.maximum(np.abs(run.energy.dissipated[1:]), 1e-16),
            color=PALETTE[k],
            label=friction,
        )
        facts[friction] = {
            "sag_rad": float(angle[-1]),
            "verdict": run.verdict,
            "dissipated_J": float(run.energy.dissipated[-1]),
            "balance_J": float(np.abs(run.energy.balance).max()),
            "sticking": [str(check) for check in run.audit if check.title == "Sticking"],
        }
    for ax, title in zip(axes, ("Sag of the arm (rad)", "Energy taken by friction (J)")):
        ax.set_title(title)
        decades(ax.yaxis)
        ax.legend(loc="center right")
    axes[1].set_xlabel("time (s)")
    return figure, facts


def belt() -> fm.Model:
    """A block on a driven belt, held by a spring to the ground."""
    model = fm.Model("block on a belt", gravity=(0, 0, 0))
    band = model.add(fm.RigidBody("belt", mass=5.0, inertia=(0.1, 0.1, 0.1)))
    block = model.add(fm.RigidBody("block", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Prismatic("drum", model.ground, band, axis="x", v0=SPEED))
    model.add(fm.Drive("motor", "drum", fm.Ramp(0.0, SPEED)))
    model.add(fm.Prismatic("slip", band, block, axis="x"))
    model.add(fm.Transmission("spring", {"drum": 1.0, "slip": 1.0}, fm.SpringDamper(k=STIFFNESS)))
    model.add(fm.DryFriction("friction", "slip", coulomb=SLIDING, static=STATIC))
    return model


def belt_study() -> tuple[Figure, dict[str, object]]:
    """The way of the block against its closed form, friction and energies of both methods."""
    w = math.sqrt(STIFFNESS)
    jump = (STATIC - SLIDING) / STIFFNESS
    period = 2.0 * jump / SPEED + 2.0 / w * (math.pi - math.atan(jump * w / SPEED))
    figure, axes = panels(3, height=2.0)
    facts: dict[str, object] = {
        "period_s": period,
        "top_m": SLIDING / STIFFNESS + math.hypot(jump, SPEED / w),
    }
    for k, how in enumerate(
        ({"integrator": "event-driven"}, {"integrator": "moreau-jean", "step": 1e-3})
    ):
        run = fm.simulate(belt(), t_end=3.0, output_step=1e-3, **how)
        name, x = (
            how["integrator"],
            run.joint("slip").position[:, 0] + run.joint("drum").position[:, 0],
        )
        slips = np.abs(run.joint("slip").velocity[:, 0]) > 1e-3 * SPEED
        starts = run.t[1:][slips[1:] & ~slips[:-1]]
        axes[0].plot(run.t, 1e3 * x, color=PALETTE[k], linewidth=1.2 - 0.5 * k, label=name)
        axes[1].plot(
            run.t, run.contact("friction").friction[:, 0], color=PALETTE[k], linewidth=1.2 - 0.5 * k
        )
        if not k:
            energy = run.energy
            axes[2].plot(run.t, energy.work_of_drives, label="work of the motor")
            axes[2].plot(run.t, energy.dissipated, label="dissipated by friction")
            axes[2].plot(
                run.t,
                energy.kinetic - energy.kinetic[0] - energy.work_of_forces,
                label="kinetic + spring",
            )
            axes[2].plot(run.t, energy.balance, label="balance error", color=PALETTE[6])
        facts[name] = {
            "periods_s": np.diff(starts).tolist(),
            "top_m": float(x.max()),
            "verdict": run.verdict,
            "balance_J": float(np.abs(run.energy.balance).max()),
            "dissipated_J": float(run.energy.dissipated[-1]),
        }
    for ax, title in zip(
        axes, ("Way of the block (mm)", "Friction on the block (N)", "Energies, event-driven (J)")
    ):
        ax.set_title(title)
    axes[0].legend(loc="lower right")
    axes[2].legend(loc="upper left")
    axes[2].set_xlabel("time (s)")
    return figure, facts


def main() -> None:
    facts: dict[str, object] = {}
    for name, study in (("held", held_study), ("belt", belt_study)):
        with house_style():
            figure, facts[name] = study()
            figure.savefig(HERE / f"{name}.png", dpi=130)
        print(name, json.dumps(facts[name], indent=1))
    (HERE / "friction.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
