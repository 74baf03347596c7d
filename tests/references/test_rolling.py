"""Nonholonomic motions in closed form: Chaplygin's sleigh, a thin disc that rolls around a circle,
balls (Neimark & Fufaev 1972).

Sleigh: blade at the body's origin, centre of mass a ahead, J about it: u̇ = a ω², (J + m a²) ω̇ =
−m a ω u, so with E the energy u = A tanh(l (t + t₀)), ω = √(2E/(J + m a²)) / cosh(l (t + t₀)), l =
a A m/(J + m a²). Disc: steady lean α of a disc with radius r whose centre describes a circle of
radius c, Ω² = g tan α/(3c/2 + r sin α/4).
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS

EXPLICIT = fm.DormandPrince(rtol=1e-10, atol=1e-10)
LEAN, CIRCLE, RADIUS = np.radians(20.0), 2.0, 0.5
TURN = 1.08326353114


def sleigh() -> fm.Model:
    model = fm.Model("sleigh", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("sleigh", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.2, 0, 0)))
    model.add(fm.Planar("plane", model.ground, body, v0=(0.5, 0, 2.0)))
    model.add(fm.KnifeEdge("blade", model.ground, body))
    return model


def disc() -> fm.Model:
    """A thin disc leaning inwards on its circle about the origin; its axle is the body's y axis, x
    points along the track.
    """
    axle, track = np.array([np.cos(LEAN), 0.0, np.sin(LEAN)]), np.array([0.0, 1.0, 0.0])
    A = np.column_stack([track, axle, np.cross(track, axle)])
    spin = -TURN * (CIRCLE / RADIUS + np.sin(LEAN))
    omega = A.T @ (TURN * np.array([0, 0, 1.0]) + spin * axle)
    speed = A.T @ (TURN * CIRCLE * track)
    model = fm.Model("disc")
    inertia = (RADIUS**2 / 4, RADIUS**2 / 2, RADIUS**2 / 4)
    body = model.add(fm.RigidBody("disc", mass=1.0, inertia=inertia))
    q0 = (CIRCLE, 0.0, RADIUS * np.cos(LEAN), *Rotation.from_matrix(A).as_quat(scalar_first=True))
    model.add(fm.Free("motion", model.ground, body, q0=q0, v0=(*speed, *omega)))
    model.add(fm.RollingDisc("contact", model.ground, body, radius=RADIUS))
    return model


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_chaplygins_sleigh(formalism: str) -> None:
    found = fm.simulate(
        sleigh(), t_end=5.0, output_step=0.05, formalism=formalism, integrator=EXPLICIT
    )
    x, y, angle = found.joint("plane").position[-1]
    assert (
        np.abs(np.array([x, y, angle]) - (-0.0915911265, 4.0096277563, 1.8334852881)).max() < 2e-9
    )
    body = found.body("sleigh")
    forward = np.einsum("ta,ta->t", body.rotation[:, :, 0], body.velocity)
    grow = 1.2857142857142858 * (found.t + 0.4871855989)
    assert np.abs(forward - 0.9 * np.tanh(grow)).max() < 1e-9
    omega = np.sqrt(0.81 / 0.14) / np.cosh(grow)
    assert np.abs(body.angular_velocity[:, 2] - omega).max() < 1e-9
    across = np.einsum("ta,ta->t", body.rotation[:, :, 1], found.joint("blade").force)
    assert (
        np.abs(across - omega * forward - 0.2 * np.gradient(omega, found.t, edge_order=2)).max()
        < 5e-3
    )
    assert found.drift[:, 1].max() < 1e-8


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_disc_in_steady_motion(formalism: str) -> None:
    """One turn around the circle; the plane carries the weight and pulls inwards with m Ω² c."""
    found = fm.simulate(
        disc(), t_end=2.0 * np.pi / TURN, output_step=0.1, formalism=formalism, integrator=EXPLICIT
    )
    centre = found.body("disc").position
    assert np.abs(centre[:, 2] - RADIUS * np.cos(LEAN)).max() < 1e-7
    assert np.abs(np.hypot(centre[:, 0], centre[:, 1]) - CIRCLE).max() < 1e-7
    assert np.abs(centre[-1] - centre[0]).max() < 1e-6
    force = found.joint("contact").force
    assert np.abs(force[:, 2] - 9.81).max() < 1e-6
    inwards = -np.einsum("ta,ta->t", force[:, :2], centre[:, :2]) / CIRCLE
    assert np.abs(inwards - TURN**2 * CIRCLE).max() < 1e-6
    assert found.drift.max() < 1e-7
    assert np.abs(found.energy.balance).max() < 1e-7 * found.energy.scale


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_generalized_alpha_keeps_velocity_rows_to_second_order(coordinates: str) -> None:
    """Halving the step divides the error of motion and forces by four; G s + γ̄ = 0 of the velocity
    rows at every step.
    """
    exact = (-0.0915911265, 4.0096277563, 1.8334852881)
    errors, forces = [], []
    for step in (0.02, 0.01):
        method = fm.GeneralizedAlpha(step=step, newton_tolerance=1e-11)
        found = fm.simulate(sleigh(), t_end=5.0, integrator=method, coordinates=coordinates)
        place = found.body("sleigh").position[-1][:2]
        errors.append(np.abs(place - exact[:2]).max())
        forces.append(found.joint("blade").force[100 if step == 0.02 else 200])
        assert found.drift[:, 1].max() < 1e-8 if coordinates == "joint" else 1e-2
    assert 3.4 < errors[0] / errors[1] < 4.6
    grow = 1.2857142857142858 * (2.0 + 0.4871855989)
    u, omega = 0.9 * np.tanh(grow), np.sqrt(0.81 / 0.14) / np.cosh(grow)
    reaction = omega * u - 0.2 * 0.2 * omega * u / 0.14
    off = [abs(np.linalg.norm(force) - reaction) for force in forces]
    assert off[1] < 0.4 * off[0]


def ball(radius: float, **initial: tuple[float, ...]) -> fm.Model:
    """A free solid ball of 1 kg, and a slope on the ground."""
    inertia = 0.4 * radius**2
    model = fm.Model("ball", frames={"slope": fm.Frame(rotation=("y", 0.3))})
    model.add(fm.RigidBody("ball", mass=1.0, inertia=(inertia, inertia, inertia)))
    model.add(fm.Free("motion", "ground", "ball", **initial))
    return model


def test_ball_on_a_slope() -> None:
    """ẍ = (5/7) g sin β down the slope, the friction is (2/7) m g sin β."""
    radius, t = 0.2, 1.0
    up = np.array([np.sin(0.3), 0.0, np.cos(0.3)])
    model = ball(radius, q0=(*(radius * up), 1, 0, 0, 0))
    model.add(fm.RollingSphere("contact", "ground/slope", "ball", radius=radius))
    found = fm.simulate(model, t_end=t, output_step=0.5, integrator=EXPLICIT)
    down = np.array([np.cos(0.3), 0.0, -np.sin(0.3)])
    moved = found.body("ball").position[-1] - radius * up
    assert np.abs(moved - 0.5 * 5 / 7 * 9.81 * np.sin(0.3) * t**2 * down).max() < 1e-8
    force = found.joint("contact").force
    assert np.abs(force @ down + 2 / 7 * 9.81 * np.sin(0.3)).max() < 1e-8
    assert np.abs(force @ up - 9.81 * np.cos(0.3)).max() < 1e-8


def test_ball_on_a_turntable() -> None:
    """On a plane that turns with Ω a solid ball runs around a circle with (2/7) Ω (Milne 1948): v̇
    = (2/7) Ω ẑ × v.
    """
    radius, turning, speed = 0.1, 3.0, 0.4
    table = turning * np.array([0, 0, 1.0])
    place = np.array([0.5, 0.2, radius])
    slip = np.array([speed, 0, 0]) - np.cross(table, place)  # v − Ω × r = ω × r ẑ at the contact
    omega = np.array([-slip[1], slip[0], 0.0]) / radius
    model = ball(radius, q0=(*place, 1, 0, 0, 0), v0=(speed, 0, 0, *omega))
    model.add(fm.RigidBody("table", mass=5.0, inertia=(1, 1, 1)))
    model.add(fm.Revolute("axis", "ground", "table", axis="z", v0=turning))
    model.add(fm.Drive("motor", "axis", fm.Ramp(0.0, turning)))
    model.add(fm.RollingSphere("contact", "table", "ball", radius=radius))
    period = 2.0 * np.pi / (2 / 7 * turning)
    found = fm.simulate(model, t_end=period, output_step=period / 8, integrator=EXPLICIT)
    path = found.body("ball").position
    centre = place + np.array([0, speed / (2 / 7 * turning), 0])
    angle = 2 / 7 * turning * found.t
    circle = centre + speed / (2 / 7 * turning) * np.column_stack(
        [np.sin(angle), -np.cos(angle), 0 * angle]
    )
    assert np.abs(path - circle).max() < 1e-7
    assert found.run.moved == []
