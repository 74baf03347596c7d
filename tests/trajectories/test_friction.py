"""Friction in joints: motions with closed forms, and one stick-slip motion by every formalism."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm

MASS, FORCE, SPEED = 2.0, 4.0, 1.0
ALPHA = fm.GeneralizedAlpha(step=1e-3, newton_tolerance=1e-12)


def block(**friction: float) -> fm.Model:
    model = fm.Model("block on a rail", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("block", mass=MASS, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Prismatic("rail", model.ground, body, axis="x", v0=SPEED))
    model.add(fm.JointFriction("rub", "rail", coulomb=FORCE, **friction))
    return model


def test_block_comes_to_rest():
    """m v̇ = −F tanh(v/v_r): sinh(v/v_r) = sinh(v₀/v_r) exp(−F t/m v_r), and all the way x = m
    (v₀²/2 + π² v_r²/12)/F.
    """
    vr = 0.05
    how = {"integrator": fm.DormandPrince(rtol=1e-11, atol=1e-13)}
    solution = fm.simulate(block(regularization=vr), t_end=1.2, output_step=0.05, **how)
    exact = vr * np.arcsinh(np.sinh(SPEED / vr) * np.exp(-FORCE * solution.t / (MASS * vr)))
    rail = solution.joint("rail")
    assert np.abs(rail.velocity[:, 0] - exact).max() < 1e-9
    assert rail.position[-1, 0] == pytest.approx(
        MASS / FORCE * (SPEED**2 / 2 + np.pi**2 * vr**2 / 12), abs=1e-9
    )
    assert solution.energy.dissipated[-1] == pytest.approx(0.5 * MASS * SPEED**2, abs=1e-9)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_coulomb_in_the_limit(coordinates):
    """The block stops after m v₀/F and m v₀²/2F, and under a load Q < F it creeps at v_r
    artanh(Q/F).
    """
    vr, load = 1e-4, 0.6 * FORCE
    model = block(regularization=vr)
    model.add(fm.JointTorque("load", "rail", lambda t, x, v: load if t > 0.65 else 0.0))
    solution = fm.simulate(
        model, t_end=0.8, output_step=0.1, coordinates=coordinates, integrator=ALPHA
    )
    rail = solution.joint("rail")
    stopped = int(np.searchsorted(solution.t, MASS * SPEED / FORCE + 0.05))
    assert rail.position[stopped, 0] == pytest.approx(MASS * SPEED**2 / (2 * FORCE), abs=2e-6)
    assert abs(rail.velocity[stopped, 0]) < 1e-9
    assert rail.velocity[-1, 0] == pytest.approx(vr * np.arctanh(load / FORCE), rel=1e-6)


def chattering() -> fm.Model:
    """A block on a moving table, held by a spring to the ground; the joint on the table closes a
    loop.
    """
    model = fm.Model("stick and slip", gravity=(0, 0, 0))
    table = model.add(fm.RigidBody("table", mass=5.0, inertia=(0.1, 0.1, 0.1)))
    body = model.add(fm.RigidBody("block", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Prismatic("drum", model.ground, table, axis="x", v0=0.1))
    model.add(fm.Drive("motor", "drum", fm.Ramp(0.0, 0.1)))
    model.add(fm.Prismatic("guide", model.ground, body, axis="x"))
    model.add(fm.Prismatic("contact", table, body, axis="x", v0=-0.1))
    model.add(fm.JointSpring("spring", "guide", k=100.0))
    model.add(
        fm.JointFriction(
            "rub", "contact", coulomb=2.0, static=3.0, stribeck_velocity=0.05, regularization=1e-4
        )
    )
    return model


@pytest.mark.parametrize(
    "how",
    [{}, {"coordinates": "absolute"}, {"formalism": "recursive"}],
    ids=["joint", "absolute", "recursive"],
)
def test_stick_and_slip(how):
    """m ẍ = τ(ẋ − u) − k x on a table of speed u, by SciPy's Radau."""

    def rate(t, y):
        slip = y[1] - 0.1
        return y[1], -(2.0 + np.exp(-((slip / 0.05) ** 2))) * np.tanh(slip / 1e-4) - 100.0 * y[0]

    exact = solve_ivp(
        rate,
        (0.0, 0.8),
        (0.0, 0.0),
        method="Radau",
        rtol=1e-9,
        atol=1e-12,
        t_eval=np.linspace(0.0, 0.8, 81),
    )
    solution = fm.simulate(chattering(), t_end=0.8, output_step=0.01, integrator=ALPHA, **how)
    x = solution.joint("guide").position[:, 0]
    assert np.ptp(exact.y[0]) > 0.03
    assert np.abs(x - exact.y[0]).max() < 2e-6
    assert np.abs(solution.energy.balance).max() < 1e-5
    assert (np.diff(solution.energy.dissipated) > -1e-12).all()
