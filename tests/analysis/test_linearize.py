"""Linearised motion against closed forms, differentiated equations of one freedom, and runs."""

import numpy as np
import pytest
from linkages import G, pendulum, rod_angle, slider_crank, slider_position

import flexmbs as fm
from flexmbs.analysis.state import State, settled_state

TWO_PI = 2.0 * np.pi


def derivative(function, h: float = 1e-3):
    """f'(0) by differences of fourth order."""
    return (8.0 * (function(h) - function(-h)) - (function(2 * h) - function(-2 * h))) / (12.0 * h)


def test_pendulum_and_its_ports() -> None:
    model = pendulum(-np.pi / 2)
    model.add(fm.JointSpring("damper", "hinge", c=0.3))
    inputs = [("effort", "hinge"), ("force", "bob", "x"), ("torque", "bob", "z")]
    outputs = [("coordinate", "hinge"), ("rate", "hinge"), ("position", "bob", "x")]
    found = fm.linearize(model, inputs=inputs, outputs=outputs)
    np.testing.assert_allclose((found.M[0, 0], found.D[0, 0], found.K[0, 0]), (1.1, 0.3, G), rtol=1e-9)
    np.testing.assert_allclose(found.B, [[0, 0, 0], [1 / 1.1] * 3], atol=1e-12)
    np.testing.assert_allclose(found.C, [[1, 0], [0, 1], [1, 0]], atol=1e-12)
    assert found.inputs == ("effort hinge", "force bob x", "torque bob z")
    assert found.outputs == ("coordinate hinge", "rate hinge", "position bob x")
    omega = np.sqrt(G / 1.1)
    assert found.modes.frequency[0] == pytest.approx(omega / TWO_PI, rel=1e-9)
    assert found.modes.damping[0] == pytest.approx(0.3 / 1.1 / (2.0 * omega), rel=1e-9)


def test_double_pendulum() -> None:
    """Equal masses and lengths: ω² = (2 ± √2) g/l."""
    model = fm.Model("double pendulum", gravity=(0.0, -G, 0.0))
    first, second = (model.add(fm.PointMass(name, mass=1.0)) for name in ("first", "second"))
    model.add(fm.Chain("upper", model.ground, first, motions=(fm.Rotate("z"), fm.Shift((0.0, -1.0, 0.0)))))
    model.add(fm.Chain("lower", first, second, motions=(fm.Rotate("z"), fm.Shift((0.0, -1.0, 0.0)))))
    found = fm.linearize(model, at=fm.statics(model)).modes.frequency * TWO_PI
    np.testing.assert_allclose(found**2, (2.0 + np.sqrt(2.0) * np.array([-1.0, 1.0])) * G, rtol=1e-9)


@pytest.mark.parametrize("axis", ["y", "z"])
def test_rigid_blade_on_a_turning_hub(axis: str) -> None:
    """Flapping Ω √(1 + a m r/I), lead-lag Ω √(a m r/I), with I about the hinge; at any angle of the hub."""
    offset, mass, r, inertia, speed = 0.3, 2.0, 0.5, 0.2, 7.0
    model = fm.Model("rotor", gravity=(0.0, 0.0, 0.0))
    hub = model.add(fm.RigidBody("hub", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"rim": (offset, 0.0, 0.0)}))
    blade = model.add(fm.RigidBody("blade", mass=mass, inertia=(0.0, inertia, inertia), com=(r, 0.0, 0.0)))
    model.add(fm.Revolute("shaft", model.ground, hub))
    model.add(fm.Revolute("blade hinge", hub["rim"], blade, axis=axis))
    model.add(fm.Drive("motor", "shaft", fm.Ramp(0.0, speed)))
    whole = inertia + mass * r**2
    expected = speed * np.sqrt((axis == "y") + offset * mass * r / whole)
    for t in (0.0, 0.37):
        steady = fm.statics(model, steady=True, t=t)
        found = fm.linearize(model, at=steady, inputs=[("drive", "motor")])
        assert found.coordinates == ("blade hinge",)
        assert found.modes.frequency[0] * TWO_PI == pytest.approx(expected, rel=1e-9)
    lag = -1.0 - mass * r * offset / whole if axis == "z" else 0.0  # the hub's acceleration on the blade
    np.testing.assert_allclose(found.B[1], (0.0, 0.0, lag), atol=1e-9)
    assert found.inputs == ("drive motor", "drive motor rate", "drive motor acceleration")


def test_sleeping_top() -> None:
    """A top on its point at the spin n: A z̈ − i C n ż − m g l z = 0 for its axis, seen from the body that turns with n."""
    mass, height, transverse, axial, spin = 2.0, 0.3, 0.05, 0.02, 200.0
    model = fm.Model("top", gravity=(0.0, 0.0, -G))
    inertia = (transverse, transverse, axial)
    top = model.add(fm.RigidBody("top", mass=mass, inertia=inertia, com=(0.0, 0.0, height)))
    model.add(fm.Spherical("point", model.ground, top, v0=(0.0, 0.0, spin)))
    whole = transverse + mass * height**2
    rates = np.roots([-whole, axial * spin, -mass * G * height])
    assert np.isreal(rates).all()
    found = fm.linearize(model).modes
    expected = np.sort(np.abs(rates - spin))
    np.testing.assert_allclose(found.frequency[found.frequency > 1e-3] * TWO_PI, expected, rtol=1e-7)


def test_controller_with_an_integral() -> None:
    """I s³ + kd s² + kp s + ki = 0 without gravity."""
    model = pendulum(0.3, gravity=0.0)
    model.add(fm.JointTorque("controller", "hinge", fm.PID(40.0, 30.0, 5.0, reference=0.3)))
    found = np.sort_complex(np.linalg.eigvals(fm.linearize(model).A))
    np.testing.assert_allclose(found, np.sort_complex(np.roots([1.1, 5.0, 40.0, 30.0])), rtol=1e-8)


def slider_crank_state(angle: float, speed: float) -> State:
    """The slider-crank at a crank angle and speed, its other velocities by the closing conditions."""
    rest = fm.state(slider_crank(angle))
    s = fm.matrices(rest.compiled.model, at=rest, independent=["main"]).J_loop[:, 0] * speed
    return settled_state(rest.compiled, 0.0, rest.q, s, rest.beta)


@pytest.mark.parametrize("speed", [0.0, 4.0])
def test_slider_crank_against_its_reduced_equation(speed: float) -> None:
    """φ̈ = f(φ, φ̇) of the crank, differentiated, at rest and moving."""
    here = slider_crank_state(0.5, speed)
    found = fm.linearize(here.compiled.model, at=here, independent=["main"])
    stiffness = derivative(lambda d: slider_crank_state(0.5 + d, speed).sd[0])
    damping = derivative(lambda d: slider_crank_state(0.5, speed + d).sd[0])
    np.testing.assert_allclose((-found.K / found.M)[0, 0], stiffness, rtol=1e-7)
    np.testing.assert_allclose((-found.D / found.M)[0, 0], damping, rtol=1e-7, atol=1e-9)


def test_outputs_of_a_cut_joint() -> None:
    """The slider follows the crank by dx/dφ, whichever joint is cut."""
    angle = 0.8
    model = slider_crank(angle)
    names = [("coordinate", "main"), ("coordinate", "guide"), ("coordinate", "crank pin"), ("coordinate", "wrist pin")]
    found = fm.linearize(model, independent=["main"], inputs=[("effort", "guide"), ("effort", "wrist pin")], outputs=names)
    slope = derivative(lambda d: slider_position(angle + d))
    tilt = derivative(lambda d: rod_angle(angle + d))
    np.testing.assert_allclose(found.C[:, 0], (1.0, slope, tilt - 1.0, -tilt), atol=1e-9)
    np.testing.assert_allclose(found.B[1] * found.M[0, 0], (slope, -tilt), atol=1e-9)


def test_drive_of_a_support() -> None:
    """A pendulum on a driven carriage: θ̈ = −(g/l) θ − ẍ/l; its bob is at x + l θ."""
    model = fm.Model("carriage", gravity=(0.0, -G, 0.0))
    carriage, bob = (model.add(fm.PointMass(name, mass=1.0)) for name in ("carriage", "bob"))
    model.add(fm.Prismatic("rail", model.ground, carriage))
    model.add(fm.Chain("rod", carriage, bob, motions=(fm.Rotate("z"), fm.Shift((0.0, -2.0, 0.0)))))
    model.add(fm.Drive("motor", "rail", 0.0))
    found = fm.linearize(model, inputs=[("drive", "motor")], outputs=[("position", "bob", "x"), ("rate", "rod")])
    np.testing.assert_allclose(found.A, [[0, 1], [-G / 2, 0]], atol=1e-9)
    np.testing.assert_allclose(found.B, [[0, 0, 0], [0, 0, -0.5]], atol=1e-9)
    np.testing.assert_allclose(found.C, [[2, 0], [0, 1]], atol=1e-9)
    np.testing.assert_allclose(found.feedthrough, [[1, 0, 0], [0, 0, 0]], atol=1e-9)


def test_motion_of_a_mode() -> None:
    found = fm.linearize(pendulum(-np.pi / 2)).modes
    motion = found.motion(0, amplitude=0.2)
    period = 1.0 / found.frequency[0]
    expected = 0.2 * np.cos(TWO_PI * motion.t / period)
    np.testing.assert_allclose(motion.joint("hinge").position[:, 0] + np.pi / 2, expected, atol=1e-9)
    assert motion.t[-1] == pytest.approx(period)
    np.testing.assert_allclose(motion.joint("hinge").velocity[0], 0.0, atol=1e-9)


def test_state_of_a_solution() -> None:
    """About the moving pendulum the stiffness is m g l cos of its angle from the vertical."""
    run = fm.simulate(pendulum(-1.0), t_end=0.5, step=1e-3)
    found = fm.linearize(run.compiled.model, at=fm.state_of(run, 0.3))
    np.testing.assert_allclose(found.K[0, 0], -G * np.sin(run.joint("hinge").position[300, 0]), rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"inputs": [("push", "main")]}, "inputs: ('push', 'main') is no input"),
        ({"inputs": [("effort", "mian")]}, "joint 'mian' is not in the model"),
        ({"inputs": [("force", "crank/c", "x")]}, "frame 'crank/c' is not in the model"),
        ({"inputs": [("force", "crank/b", "w")]}, "one of the world axes"),
        ({"inputs": [("drive", "motor")]}, "drive 'motor' is not in the model"),
        ({"outputs": [("rate", "main", 1)]}, "joint 'main': no freedom 1, it has 1"),
        ({"independent": ["main", "guide"]}, "independent: the 1 freedoms do not follow from main, guide"),
        ({"independent": ["mian"]}, "independent: no coordinate 'mian'"),
    ],
)
def test_bad_choices(options: dict, text: str) -> None:
    with pytest.raises(fm.InputError) as error:
        fm.linearize(slider_crank(), **options)
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_time_outside_a_solution() -> None:
    run = fm.simulate(pendulum(-1.0), t_end=0.1, step=1e-2)
    with pytest.raises(fm.InputError, match=r"at: t = 0\.5 s is not within the solution, 0 … 0\.1 s"):
        fm.state_of(run, 0.5)
