"""Friction by bristles against closed forms and an independent integration: presliding, hysteresis,
stick and slip.
"""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm
from flexmbs.results.joint_friction import joint_frictions

CURVE = {"coulomb": 1.0, "static": 1.5, "stribeck_velocity": 0.01}
BRISTLES = {**CURVE, "stiffness": 1e4, "damping": 100.0, "viscous": 0.4}
METHODS: list[dict[str, Any]] = [
    {"integrator": "esdirk"},
    {"integrator": "esdirk", "coordinates": "absolute"},
    {"integrator": "generalized-alpha", "step": 1e-3},
    {"integrator": "moreau-jean", "step": 1e-3},
    {"integrator": "dormand-prince", "formalism": "recursive"},
]


def block(load: Any, mass: float = 1.0, **friction: Any) -> fm.Model:
    model = fm.Model("block with bristles", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("block", mass=mass, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Prismatic("rail", model.ground, body, axis="x"))
    model.add(fm.JointTorque("load", "rail", load))
    model.add(fm.LuGreFriction("friction", "rail", **friction))
    return model


def reference(load: Any, t: np.ndarray) -> np.ndarray:
    """(x, v, z) of a unit mass by SciPy."""

    def rates(time: float, y: np.ndarray) -> tuple[float, ...]:
        x, v, z = y
        g = 1.0 + 0.5 * np.exp(-((v / 0.01) ** 2))
        zd = v - 1e4 * abs(v) * z / g
        return v, load(time, x, v) - (1e4 * z + 100.0 * zd + 0.4 * v), zd

    return solve_ivp(
        rates, (0.0, t[-1]), (0.0, 0.0, 0.0), method="Radau", rtol=1e-9, atol=1e-12, t_eval=t
    ).y


def pull(t: float, x: float, v: float) -> float:
    """A spring of 20 N/m that is drawn at 2 m/s"""
    return 20.0 * (2.0 * t - x)


@pytest.mark.parametrize(
    "how", METHODS, ids=[f"{how['integrator']} {k}" for k, how in enumerate(METHODS)]
)
def test_stick_and_slip_of_a_block_drawn_by_a_spring(how: dict[str, Any]) -> None:
    run = fm.simulate(block(pull, **BRISTLES), t_end=0.2, output_step=0.01, **how)
    x, v, _ = reference(pull, run.t)
    assert np.ptp(v) > 0.5
    rail = run.joint("rail")
    bound = 2e-3 if "step" in how else 2e-5
    assert np.abs(rail.position[:, 0] - x).max() < bound * np.ptp(x)
    assert np.abs(rail.velocity[:, 0] - v).max() < 5.0 * bound * np.ptp(v)
    assert np.abs(run.energy.balance).max() < (1e-4 if "step" in how else 1e-5) * run.energy.scale


def test_presliding_is_elastic() -> None:
    """Below the limit the block moves by Q/σ₀ at first, slowly forwards by x = −(F_c/σ₀) ln(1 −
    Q/F_c).
    """
    load = 0.4
    run = fm.simulate(
        block(fm.Ramp(0.0, load), coulomb=1.0, stiffness=1e4, damping=50.0),
        t_end=1.0,
        output_step=0.1,
    )
    q = load * (run.t[1:] - 50.0 / 1e4)  # its rate σ₁ z' is ahead by σ₁/σ₀
    assert run.joint("rail").position[1:, 0] == pytest.approx(-1e-4 * np.log(1.0 - q), rel=5e-3)


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")  # the rate of the drive jumps
def test_hysteresis_of_a_driven_joint() -> None:
    """Under a slow rate v the force rises as F_c (1 − exp(−σ₀ x/F_c)), and after a reversal as −F_c
    + 2 F_c exp(…).
    """
    model = block(0.0, coulomb=1.0, stiffness=1e4)
    way: Any = fm.Table((0.0, 1.0, 2.0), (0.0, 4e-4, 0.0), interpolation="linear")
    model.forces.pop("load")
    model.joints["rail"] = fm.Prismatic("rail", "ground", "block", axis="x", v0=4e-4)
    model.add(fm.Drive("motor", "rail", way))
    run = fm.simulate(model, t_end=2.0, output_step=0.05, integrator="esdirk")
    t = run.t[(run.t > 0.0) & (np.abs(run.t - 1.0) > 1e-6)]
    x = np.where(t < 1.0, 4e-4 * t, 4e-4 * (t - 1.0))
    peak = 1.0 - np.exp(-4.0)
    force = np.where(t < 1.0, 1.0 - np.exp(-1e4 * x), -1.0 + (1.0 + peak) * np.exp(-1e4 * x))
    friction = joint_frictions(run)[0][0].force
    assert np.interp(t, run.t, friction) == pytest.approx(-force, abs=1e-4)


def test_stiff_bristles_hold_and_slide_with_controlled_steps() -> None:
    """Bristles a thousand times stiffer: deflected by Q/σ₀ after damped oscillations, above F_c
    sliding with F_c.
    """
    bristles = {"coulomb": 1.0, "stiffness": 1e7, "damping": 5e3}
    held = fm.simulate(block(0.5, **bristles), t_end=0.1, output_step=0.05)
    assert held.joint("rail").position[-1, 0] == pytest.approx(0.5e-7, rel=0.5)
    slid = fm.simulate(block(1.6, **bristles), t_end=0.2, output_step=0.1)
    # but for the way to break away
    assert slid.joint("rail").position[-1, 0] == pytest.approx(0.5 * 0.6 * 0.2**2, rel=3e-3)
