"""Rolling and torsional friction of contacts with a force law, against closed forms."""

import math
from typing import Any

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.motions import Rotate, Slide

MASS, RADIUS, INERTIA, STIFFNESS, G = 0.5, 0.1, 0.4 * 0.5 * 0.1**2, 1e5, 9.81
SUNK = MASS * G / STIFFNESS


def ball(law: dict[str, float] | None = None, slope: float = 0.0, **given: Any) -> fm.Model:
    """A ball on a plane that slopes down along x, in balance with its normal force; it slides,
    rolls about y, turns about z.
    """
    model = fm.Model("ball", gravity=(G * math.sin(slope), 0.0, -G * math.cos(slope)))
    body = model.add(fm.RigidBody("ball", mass=MASS, inertia=(INERTIA,) * 3))
    start = {key: given.pop(key) for key in ("v0",) if key in given}
    height = RADIUS - SUNK * math.cos(slope)
    motions = (Slide("x"), Slide("z"), Rotate("z"), Rotate("y"))
    model.add(
        fm.Chain("way", model.ground, body, motions=motions, q0=(0.0, height, 0.0, 0.0), **start)
    )
    contact_law = fm.HuntCrossley(STIFFNESS, exponent=1.0, damping=1.0, **(law or {}))
    model.add(fm.SpherePlane("floor", model.ground, body, radius=RADIUS, law=contact_law, **given))
    return model


def check(run: fm.Solution, title: str) -> Any:
    return next(each for each in run.audit if each.title == title)


@pytest.mark.parametrize("integrator", ["generalized-alpha", "esdirk"])
def test_a_rolling_ball_slows_down_and_stays(integrator: str) -> None:
    """v̇ = −ρ g/(R (1 + J/(m R²))), up to the creep of the slip that the friction needs, v_r
    artanh(T/(μ N)).
    """
    arm, speed = 2e-3, 0.1
    model = ball(v0=(speed, 0.0, 0.0, speed / RADIUS), friction=0.8, rolling_friction=arm)
    rate = arm * G / (RADIUS * (1.0 + INERTIA / (MASS * RADIUS**2)))
    run = fm.simulate(model, t_end=2.0 * speed / rate, output_step=0.01, integrator=integrator)
    moves = run.t < 0.8 * speed / rate
    np.testing.assert_allclose(
        run.joint("way").velocity[moves, 0], speed - rate * run.t[moves], atol=5e-3 * speed
    )
    assert run.joint("way").position[-1, 0] == pytest.approx(0.5 * speed**2 / rate, rel=0.02)
    still = run.t > 1.5 * speed / rate
    crept = np.ptp(run.joint("way").position[still, 3])
    assert crept < 1e-6
    np.testing.assert_allclose(
        np.abs(run.contact("floor").moment[moves]).max(axis=0),
        [0.0, 0.0, arm * MASS * G],
        rtol=1e-3,
    )
    assert np.abs(run.energy.balance).max() < 1e-4 * run.energy.scale
    assert run.energy.dissipated[-1] == pytest.approx(0.7 * MASS * speed**2, rel=1e-3)
    assert check(run, "Sticking").status == "PASS"


def test_a_spinning_ball_stops() -> None:
    """T = J ω₀/(ρ_t m g), and without rolling friction the arm of the other has no effect."""
    arm, rate = 3e-3, 6.0
    run = fm.simulate(
        ball(v0=(0.0, 0.0, rate, 0.0), torsional_friction=arm), t_end=1.5, output_step=0.01
    )
    time = INERTIA * rate / (arm * MASS * G)
    moves = run.t < 0.95 * time
    np.testing.assert_allclose(
        run.joint("way").velocity[moves, 2], rate * (1.0 - run.t[moves] / time), atol=1e-3 * rate
    )
    assert np.abs(run.joint("way").velocity[run.t > 1.1 * time, 2]).max() < 1e-4
    assert run.energy.dissipated[-1] == pytest.approx(0.5 * INERTIA * rate**2, rel=1e-4)


def test_creep_of_rolling_on_a_slope_is_stated() -> None:
    """A ball that its rolling friction should hold rolls on at ω_r artanh(tan α R/ρ)."""
    slope, arm, turn = 0.01, 2e-3, 0.05
    run = fm.simulate(
        ball({"turn_velocity": turn}, slope, friction=0.8, rolling_friction=arm),
        t_end=4.0,
        output_step=0.01,
    )
    expected = turn * math.atanh(math.tan(slope) * RADIUS / arm)
    assert run.joint("way").velocity[-1, 3] == pytest.approx(expected, rel=0.01)
    sticking = check(run, "Sticking")
    assert sticking.status == "WARN"
    assert (
        f"rolling friction of contacts.floor moved {run.joint('way').position[-1, 3]:.2e} rad"
        in sticking.found
    )


def test_slopes_of_friction_at_rest() -> None:
    """μ N/v_r of the slip and ρ N/ω_r of both moments in
    `linearize`, also where they are narrow.
    """
    friction, rolling, torsional, slip, turn = 0.5, 2e-3, 3e-3, 1e-4, 2e-3
    given = {"friction": friction, "rolling_friction": rolling, "torsional_friction": torsional}
    A = fm.linearize(ball({"slip_velocity": slip, "turn_velocity": turn}, **given)).A[4:, 4:]
    weight, arm = MASS * G, RADIUS
    slides, turns = friction * weight / slip, np.array([torsional, rolling]) * weight / turn
    assert A[0, 0] == pytest.approx(-slides / MASS, rel=1e-5)
    assert A[2, 2] == pytest.approx(-turns[0] / INERTIA, rel=1e-5)
    assert A[3, 3] == pytest.approx(-(turns[1] + slides * arm**2) / INERTIA, rel=1e-5)
    assert A[0, 3] == pytest.approx(slides * arm / MASS, rel=1e-5)


def test_rigid_contacts_have_no_rolling_friction() -> None:
    with pytest.raises(
        fm.InputError, match="rolling_friction: applies to contacts with a force law"
    ):
        fm.SpherePlane("floor", "ground", "ball", rolling_friction=1e-3)
