"""Dry friction that sticks, against closed forms: holding, sliding to rest, forced oscillation, a
block on a belt.
"""

from typing import Any

import numpy as np
import pytest
from draws import drawn

import flexmbs as fm

METHODS: list[dict[str, Any]] = [
    {"integrator": "moreau-jean", "step": 1e-3, "formalism": "multiplier", "coordinates": "joint"},
    {
        "integrator": "moreau-jean",
        "step": 1e-3,
        "formalism": "multiplier",
        "coordinates": "absolute",
    },
    {"integrator": "event-driven", "formalism": "multiplier", "coordinates": "absolute"},
    {"integrator": "event-driven", "formalism": "recursive", "coordinates": "joint"},
    {"integrator": "event-driven", "formalism": "embedding", "coordinates": "absolute"},
    {"integrator": "event-driven", "formalism": "partitioning", "coordinates": "joint"},
]
NAMES = [f"{how['integrator']} {how['formalism']} {how['coordinates']}" for how in METHODS]
EVENTS, STEPS = METHODS[3], METHODS[0]


def arm(limit: float) -> fm.Model:
    """A horizontal arm, 4.905 N m at its hinge."""
    model = fm.Model("arm on a stiff hinge")
    body = model.add(fm.RigidBody("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.08, 0.08)))
    model.add(fm.Revolute("hinge", model.ground, body, axis="y"))
    model.add(fm.DryFriction("friction", "hinge", coulomb=limit))
    return model


def block(speed: float, *, mass: float = 2.0, **friction: Any) -> fm.Model:
    model = fm.Model("block on a rail", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("block", mass=mass, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Prismatic("rail", model.ground, body, axis="x", v0=speed))
    model.add(fm.DryFriction("friction", "rail", **friction))
    return model


@pytest.mark.parametrize("how", METHODS, ids=NAMES)
def test_an_arm_is_held_for_a_minute(how: dict[str, Any]) -> None:
    """8 N m of friction hold 4.905 N m up to round-off."""
    step = {"step": 0.05} if "step" in how else {}
    run = fm.simulate(arm(8.0), t_end=60.0, output_step=1.0, **(how | step))
    assert np.abs(run.joint("hinge").position).max() < 1e-11
    assert run.contact("friction").friction[1:, 0] == pytest.approx(-4.905, abs=1e-9)
    assert run.joint("hinge").effort[1:, 0] == pytest.approx(-4.905, abs=1e-9)
    assert np.abs(run.energy.balance).max() < 1e-12


@pytest.mark.parametrize("seed", drawn(2, 20))
def test_it_moves_where_the_load_is_above_the_limit_alone(seed: int) -> None:
    """Released with a random limit the arm stays or falls; where it falls, it ends on the level
    that friction leaves.
    """
    rng = np.random.default_rng(seed)
    limit = 4.905 * rng.uniform(0.3, 1.7)
    run = fm.simulate(arm(limit), t_end=0.05, output_step=0.01, **[EVENTS, STEPS][seed % 2])
    sag = run.joint("hinge").position[-1, 0]
    expected = max(4.905 - limit, 0.0) / (0.08 + 0.25) * 0.05**2 / 2
    assert sag == pytest.approx(expected, rel=2e-2, abs=1e-14)


@pytest.mark.parametrize("how", METHODS, ids=NAMES)
def test_a_block_slides_to_rest(how: dict[str, Any]) -> None:
    """v²/(2 a) with a = F/m, and then it stays; friction takes the kinetic energy."""
    run = fm.simulate(block(1.3, coulomb=4.0), t_end=1.0, output_step=0.05, **how)
    error = 1e-10 if how["integrator"] == "event-driven" else 1e-3 * 1.3
    rail = run.joint("rail")
    assert rail.position[-1, 0] == pytest.approx(1.3**2 / (2 * 4.0 / 2.0), abs=error)
    assert abs(rail.velocity[-1, 0]) < 1e-13
    assert run.energy.dissipated[-1] == pytest.approx(1.3**2, rel=1e-9)


def test_forced_oscillation_with_dry_friction() -> None:
    """m ẍ + k x + F sgn ẋ = P cos ωt without stops: amplitude a √(V² − (x_f/a)² U²), a = P/k, x_f =
    F/k, β = ω/ω_n, V = 1/(1 − β²), U = sin(π/β)/(β (1 + cos(π/β))): Den Hartog, Trans. ASME 53
    (1931) 107."""
    k, P, F, beta = 100.0, 10.0, 4.0, 0.8
    model = block(0.0, mass=1.0, coulomb=F)
    model.add(fm.JointSpring("spring", "rail", k=k))
    model.add(
        fm.JointTorque("load", "rail", fm.Sine(P, beta * 10.0 / (2 * np.pi), phase=np.pi / 2))
    )
    run = fm.simulate(model, t_end=20.0, output_step=2e-3, **EVENTS)
    x = run.joint("rail").position[run.t > 14.0, 0]
    a, xf, V = P / k, F / k, 1.0 / (1.0 - beta**2)
    U = np.sin(np.pi / beta) / (beta * (1.0 + np.cos(np.pi / beta)))
    assert 0.5 * np.ptp(x) == pytest.approx(a * np.sqrt(V**2 - (xf / a) ** 2 * U**2), rel=1e-4)


def belt(speed: float, k: float, mass: float, **friction: Any) -> fm.Model:
    """A block on a driven belt, held by a spring to the ground."""
    model = fm.Model("block on a belt", gravity=(0, 0, 0))
    band = model.add(fm.RigidBody("belt", mass=5.0, inertia=(0.1, 0.1, 0.1)))
    body = model.add(fm.RigidBody("block", mass=mass, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Prismatic("drum", model.ground, band, axis="x", v0=speed))
    model.add(fm.Drive("motor", "drum", fm.Ramp(0.0, speed)))
    model.add(fm.Prismatic("slip", band, body, axis="x"))
    model.add(fm.Transmission("spring", {"drum": 1.0, "slip": 1.0}, fm.SpringDamper(k=k)))
    model.add(fm.DryFriction("friction", "slip", **friction))
    return model


@pytest.mark.parametrize(
    "how", [STEPS, EVENTS, METHODS[2]], ids=["moreau-jean", "recursive", "multiplier"]
)
def test_stick_and_slip_on_a_belt(how: dict[str, Any]) -> None:
    """Sticking for 2 (F_s − F_c)/(k V), slipping for (2/ω)(π − atan((F_s − F_c) ω/(k V))), between
    F_s/k and its mirror image about F_c/k."""
    V, k, m, Fs, Fc = 0.1, 100.0, 1.0, 3.0, 2.0
    run = fm.simulate(belt(V, k, m, coulomb=Fc, static=Fs), t_end=1.8, output_step=1e-3, **how)
    w = np.sqrt(k / m)
    period = 2 * (Fs - Fc) / (k * V) + 2 / w * (np.pi - np.arctan((Fs - Fc) * w / (k * V)))
    slip = np.abs(run.joint("slip").velocity[:, 0]) > 1e-3 * V
    starts = run.t[1:][slip[1:] & ~slip[:-1]]
    assert starts[0] == pytest.approx(Fs / (k * V), abs=4e-3)
    assert np.diff(starts) == pytest.approx(period, abs=5e-3)
    x = run.joint("slip").position[:, 0] + run.joint("drum").position[:, 0]
    top = Fc / k + np.hypot((Fs - Fc) / k, V / w)
    assert x.max() == pytest.approx(top, abs=1e-3 * top if "step" not in how else 2e-2 * top)


@pytest.mark.parametrize("how", [STEPS, EVENTS], ids=["moreau-jean", "event-driven"])
def test_friction_of_a_driven_joint_loads_its_drive(how: dict[str, Any]) -> None:
    model = block(0.7, coulomb=4.0)
    model.add(fm.Drive("motor", "rail", fm.Ramp(0.0, 0.7)))
    run = fm.simulate(model, t_end=0.1, output_step=0.02, **how)
    assert run.energy.work_of_drives[-1] == pytest.approx(4.0 * 0.7 * 0.1, rel=1e-6)
    assert run.energy.dissipated[-1] == pytest.approx(4.0 * 0.7 * 0.1, rel=1e-6)


def test_integrators_without_it_name_those_that_have_it() -> None:
    for integrator in ("esdirk", "generalized-alpha", "dormand-prince", "rattle"):
        with pytest.raises(
            fm.InputError,
            match="does not support dry friction; use 'moreau-jean' or 'event-driven'",
        ):
            fm.simulate(
                arm(8.0),
                t_end=0.1,
                step=1e-2 if integrator != "dormand-prince" else None,
                integrator=integrator,
            )
    with pytest.raises(fm.InputError, match="statics does not support dry friction"):
        fm.statics(arm(8.0))
