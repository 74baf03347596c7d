"""Friction whose slip is prescribed by drives: no impulse of the contact changes it."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm

G, MU, MASS = 10.0, 0.5, 1.0
METHODS = ["event-driven", fm.MoreauJean(step=1e-3)]
COORDINATES = ["joint", "absolute"]
every_way = [
    pytest.mark.parametrize("method", METHODS, ids=["event-driven", "moreau-jean"]),
    pytest.mark.parametrize("coordinates", COORDINATES),
]


def in_every_way(test):
    for each in every_way:
        test = each(test)
    return test


def body(name: str) -> fm.RigidBody:
    return fm.RigidBody(
        name, mass=MASS, inertia=(1, 1, 1), frames={"l": (-0.1, 0, 0), "r": (0.1, 0, 0)}
    )


@in_every_way
@pytest.mark.parametrize("feet", [("block",), ("block/l", "block/r")])
def test_a_pushed_block(feet, method, coordinates):
    """The drive overcomes inertia and friction, F = m a + μ m g, on one foot or two."""
    model = fm.Model("pushed", gravity=(0, 0, -G))
    block = model.add(body("block"))
    motions = (fm.motions.Slide("x"), fm.motions.Slide("z"))
    model.add(fm.Chain("guide", model.ground, block, motions=motions))
    law = fm.SmoothStep(0.1, duration=0.1)
    model.add(fm.Drive("push", "guide", law))
    for foot in feet:
        model.add(fm.SpherePlane(f"floor {len(foot)}{foot[-1]}", model.ground, foot, friction=MU))
    options = {"t_end": 0.1, "output_step": 0.01, "integrator": method, "coordinates": coordinates}
    run = fm.simulate(model, **options)
    k = [2, 8]
    exact = [MASS * law.state(t)[2] + MU * MASS * G for t in run.t[k]]
    assert run.joint("guide").effort[k, 0] == pytest.approx(exact, 1e-6)
    total = sum(run.contact(name).force for name in model.contacts)
    np.testing.assert_allclose(total[k, 0], -MU * MASS * G, rtol=1e-9)
    np.testing.assert_allclose(total[k, 1], 0.0, atol=1e-9)


def across(feet: tuple[str, ...], height: float, fall: float, method: object) -> fm.Model:
    """A block that a drive moves along x at 0.5 m/s, and that is free along y and z."""
    model = fm.Model("across", gravity=(0, 0, -G if height == 0.0 else 0.0))
    block = model.add(body("block"))
    motions = tuple(fm.motions.Slide(axis) for axis in "xyz")
    start = {"q0": (0, 0, height), "v0": (0.5, 0.3, -fall)}
    model.add(fm.Chain("guide", model.ground, block, motions=motions, **start))
    model.add(fm.Drive("push", "guide", fm.Ramp(0.0, rate=0.5)))
    for foot in feet:
        model.add(fm.SpherePlane(f"floor {len(foot)}{foot[-1]}", model.ground, foot, friction=MU))
    return model


@in_every_way
@pytest.mark.parametrize("feet", [("block",), ("block/l", "block/r")])
def test_slip_is_given_along_one_tangent_alone(feet, method, coordinates):
    """v̇ = −μ g v/√(v² + u²) across the given slip u: it decays slowly and never sticks."""
    options = {"t_end": 0.1, "output_step": 0.01, "integrator": method, "coordinates": coordinates}
    run = fm.simulate(across(feet, 0.0, 0.0, method), **options)

    def rate(t, y):
        return [y[1], -MU * G * y[1] / np.hypot(0.5, y[1])]

    y, v = solve_ivp(rate, (0, 0.1), [0, 0.3], rtol=1e-10, atol=1e-12).y[:, -1]
    share = 1e-6 if method == "event-driven" else 5e-3
    assert run.body("block").position[-1, 1] == pytest.approx(y, share)
    assert run.body("block").velocity[-1, 1] == pytest.approx(v, share)
    drive = MU * MASS * G * 0.5 / np.hypot(0.5, v)
    assert run.joint("guide").effort[-1, 0] == pytest.approx(drive, share)


@in_every_way
def test_impact_with_slip_given_along_one_tangent(method, coordinates):
    """p_T = −μ p_N ξ_T/|ξ_T| with the given slip in ξ_T: m (v − v₀) = −μ p_N v/√(v² + u²)."""
    options = {"t_end": 0.1, "output_step": 0.01, "integrator": method, "coordinates": coordinates}
    run = fm.simulate(across(("block",), 0.05, 1.0, method), **options)
    v = run.body("block").velocity[-1, 1]
    assert 0.3 - v == pytest.approx(MU * 1.0 * v / np.hypot(0.5, v), 1e-9)


@in_every_way
@pytest.mark.parametrize("kind", ["carriage", "belt"])
def test_the_drive_pays_for_the_friction(kind, method, coordinates):
    """A block on a driven carriage that slides on a floor, or at rest on a driven belt."""
    model = fm.Model(kind, gravity=(0, 0, -G))
    driven, block = model.add(body("driven")), model.add(body("block"))
    carries = kind == "carriage"
    model.add(fm.Prismatic("x", model.ground, driven, axis="x"))
    model.add(fm.Prismatic("z", driven if carries else model.ground, block, axis="z"))
    model.add(fm.Drive("push", "x", fm.Ramp(0.0, rate=0.5)))
    model.add(fm.SpherePlane("floor", model.ground if carries else driven, block, friction=MU))
    options = {"t_end": 0.1, "output_step": 0.01, "integrator": method, "coordinates": coordinates}
    run = fm.simulate(model, **options)
    exact = MU * MASS * G * 0.5 * 0.1
    assert run.verdict == "PASS"
    assert run.energy.dissipated[-1] == pytest.approx(exact)
    assert run.energy.work_of_drives[-1] == pytest.approx(exact)
    np.testing.assert_allclose(run.joint("x").effort[:, 0], MU * MASS * G)


@in_every_way
@pytest.mark.parametrize("joint, turns", [("A", 1.0), ("B", 0.5)])
def test_dry_friction_of_a_driven_gear(joint, turns, method, coordinates):
    """It begins and ends at rest, where the friction torque is not determined."""
    model = fm.Model("gear", gravity=(0, 0, 0), frames={"g": (0.3, 0, 0)})
    model.add(fm.RigidBody("a", mass=1, inertia=(0.01,) * 3))
    model.add(fm.RigidBody("b", mass=1, inertia=(0.04,) * 3))
    model.add(fm.Revolute("A", model.ground, "a", axis="z"))
    model.add(fm.Revolute("B", model.ground["g"], "b", axis="z"))
    model.add(fm.Gear("G", "A", "B", ratio=2.0))
    model.add(fm.DryFriction("brake", joint, coulomb=1.0))
    model.add(fm.Drive("motor", "A", fm.SmoothStep(1.0, duration=0.2)))
    options = {"t_end": 0.3, "output_step": 0.01, "integrator": method, "coordinates": coordinates}
    run = fm.simulate(model, **options)
    assert run.energy.dissipated[-1] == pytest.approx(turns, 1e-5)
