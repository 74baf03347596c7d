"""A table in each of its uses: drive, force, reference of a controller, characteristic of a spring;
compared with SciPy's curves."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PchipInterpolator, PPoly

import flexmbs as fm
from flexmbs.dynamics.laws import law_of_time
from flexmbs.system.callbacks import Callbacks
from flexmbs.system.compile_laws import LawTable

TIMES, VALUES = (0.0, 0.02, 0.03, 0.07, 0.1), (0.1, 0.3, 0.9, 0.8, 0.8)
MASS, STEP = 2.0, 1e-3
EXACT = {
    "integrator": "dormand-prince",
    "rtol": 1e-10,
    "atol": 1e-12,
    "stabilization": "projection",
}


def lines(t, x):
    slopes = np.diff(x) / np.diff(t)
    return PPoly(np.array([slopes, x[:-1]]), np.asarray(t))


ORACLES = {"monotone": PchipInterpolator, "spline": CubicSpline, "linear": lines}


@pytest.fixture(params=list(ORACLES))
def curve(request):
    """The table, and the same curve by SciPy."""
    return fm.Table(TIMES, VALUES, interpolation=request.param), ORACLES[request.param](
        np.array(TIMES), np.array(VALUES)
    )


@pytest.fixture(params=["multiplier", "recursive"])
def formalism(request) -> str:
    return str(request.param)


def slider(*items: object) -> fm.Model:
    """A mass on a straight guide along x, without weight."""
    model = fm.Model("slider", gravity=(0.0, 0.0, 0.0))
    model.add(fm.RigidBody("mass", mass=MASS, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Prismatic("guide", "ground", "mass", axis="x"))
    for item in items:
        model.add(item)
    return model


def run(formalism: str, *items: object) -> fm.Solution:
    return fm.simulate(slider(*items), t_end=0.1, output_step=STEP, formalism=formalism, **EXACT)


def test_compiled_table_is_the_declared_one(curve) -> None:
    """Value, rate, acceleration at the points, between them and outside."""
    law, scipy = curve
    table = LawTable(Callbacks())
    number = table.number("law", law)
    record, io = table.record(), np.zeros((2, 48))
    for t in (-0.1, *TIMES, 0.01, 0.025, 0.05, 0.0999, 0.2):
        inside = TIMES[0] <= t <= TIMES[-1]
        held = VALUES[0] if t < TIMES[0] else VALUES[-1]
        expected = [float(scipy(t, nu)) for nu in range(3)] if inside else [held, 0.0, 0.0]
        np.testing.assert_allclose(
            law_of_time(record, number, t, io), expected, rtol=1e-12, atol=1e-9
        )
        np.testing.assert_allclose(law.state(t), expected, rtol=1e-12, atol=1e-9)


def test_drive(curve, formalism) -> None:
    """q = x(t), and its force is m ẍ between the points; the rate at the start is that of the
    table.
    """
    law, scipy = curve
    solution = run(formalism, fm.Drive("motor", "guide", law))
    guide = solution.joint("guide")
    np.testing.assert_allclose(guide.position[:, 0], scipy(solution.t), atol=1e-9)
    between = np.abs(solution.t[:, None] - np.array(TIMES)).min(axis=1) > 0.5 * STEP
    between[[0, -1]] = True
    for found, nu, scale in (
        (guide.velocity[:, 0], 1, 1.0),
        (solution.drive("motor").torque, 2, MASS),
    ):
        expected = scale * scipy(solution.t, nu)
        np.testing.assert_allclose(
            found[between], expected[between], atol=1e-7 * np.abs(expected).max()
        )


@pytest.mark.parametrize("kind", ["joint", "frame"])
def test_force(curve, formalism, kind) -> None:
    """Momentum m v = ∫F dt, by SciPy's antiderivative."""
    law, scipy = curve
    item = (
        fm.JointTorque("push", "guide", law)
        if kind == "joint"
        else fm.FrameForce("push", "mass", force=(law, 0.0, 0.0))
    )
    guide = run(formalism, item).joint("guide")
    momentum = scipy.antiderivative()
    t = np.arange(len(guide.velocity)) * STEP
    np.testing.assert_allclose(
        MASS * guide.velocity[:, 0], momentum(t) - momentum(0.0), atol=1e-6 * float(momentum(0.1))
    )
    np.testing.assert_allclose(MASS * guide.acceleration[0, 0], VALUES[0], rtol=1e-9)


@pytest.mark.parametrize("integral", [False, True])
def test_reference_of_a_controller(curve, formalism, integral) -> None:
    """The joint's force is kp (r − x) + kd (ṙ − v), with ki ∫(r − x)dt for PID, of the motion
    found.
    """
    law, scipy = curve
    kp, kd, ki = 200.0, 4.0, 30.0 if integral else 0.0
    control = fm.PID(kp, ki, kd, reference=law) if integral else fm.PD(kp, kd, reference=law)
    solution = run(formalism, fm.JointTorque("control", "guide", control))
    t, guide = solution.t, solution.joint("guide")
    x, v = guide.position[:, 0], guide.velocity[:, 0]
    lag = np.concatenate(
        [[0.0], np.cumsum(0.5 * STEP * ((scipy(t) - x)[1:] + (scipy(t) - x)[:-1]))]
    )
    expected = kp * (scipy(t) - x) + kd * (scipy(t, 1) - v) + ki * lag
    np.testing.assert_allclose(guide.effort[:, 0], expected, atol=1e-4 * np.abs(expected).max())


def test_characteristic_of_a_spring(curve, formalism) -> None:
    """A table is a law of time; as tension over elongation it is part of a user function."""
    law, scipy = curve
    with pytest.raises(
        fm.InputError, match=r"forces.rubber.law: the function must be f\(t, elongation, rate\)"
    ):
        fm.PointSpring("rubber", "ground", "mass", law=law)
    spring = fm.PointSpring("rubber", "ground", "mass", length=1.0, law=lambda t, x, v: law(x))
    model = slider(spring)
    model.joints["guide"] = fm.Prismatic("guide", "ground", "mass", axis="x", q0=1.05)
    solution = fm.simulate(model, t_end=0.1, output_step=STEP, formalism=formalism, **EXACT)
    guide = solution.joint("guide")
    tension = scipy(guide.position[:, 0] - 1.0)
    np.testing.assert_allclose(MASS * guide.acceleration[0, 0], -tension[0], rtol=1e-9)
    np.testing.assert_allclose(MASS * guide.acceleration[:, 0], -tension, atol=1e-7 * tension.max())
