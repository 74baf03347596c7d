"""States: the model they belong to, accelerations that satisfy
loop closure, changes by assembly.
"""

import warnings

import linkages
import numpy as np
import pytest

import flexmbs as fm

SPEED, ACCELERATION = 2.0, 3.0


def stiffened(stiffness: float) -> fm.Model:
    model = linkages.pendulum(-0.5 * np.pi)
    if stiffness:
        model.add(fm.JointSpring("spring", "hinge", k=stiffness, x0=-0.5 * np.pi))
    return model


def test_the_model_asked_for_counts_and_not_that_of_the_state() -> None:
    """K = m g l + k of the stiffened pendulum, about the equilibrium of the plain one."""
    model = stiffened(0.0)
    rest = fm.statics(model)
    for other in (stiffened(100.0), model):
        if other is model:
            model.add(fm.JointSpring("spring", "hinge", k=100.0, x0=-0.5 * np.pi))
        assert fm.linearize(other, start=rest).K.item() == pytest.approx(linkages.G + 100.0)
        moved = fm.state(stiffened(0.0), position={"hinge": -0.5 * np.pi + 0.1})
        assert fm.matrices(other, start=moved).k.item() == pytest.approx(
            -linkages.G * np.sin(0.1) - 100.0 * 0.1
        )


def test_accelerations_close_the_loop() -> None:
    """Slider: x(φ) in closed form, ẍ = x″ φ̇² + x′ φ̈ from one acceleration given."""
    model = linkages.slider_crank()
    given = {"velocity": fm.state(model, velocity={"main": SPEED}).s[0]}
    state = fm.state(model, velocity={"main": SPEED}, acceleration={"main": ACCELERATION})
    speed, h = float(given["velocity"]), 1e-4
    x = [linkages.slider_position(0.5 + k * h) for k in (-1, 0, 1)]
    expected = (x[2] - 2.0 * x[1] + x[0]) / h**2 * speed**2 + (x[2] - x[0]) / (
        2.0 * h
    ) * ACCELERATION
    names = fm.matrices(model, start=state).velocities
    assert state.sd[names.index("main.0")] == ACCELERATION
    assert state.sd[names.index("guide.0")] == pytest.approx(expected, abs=1e-6)
    needed = fm.inverse_dynamics(state, actuators=["main"])
    assert needed.unique
    assert np.abs(needed.remainder).max() < 1e-12


def test_a_start_that_the_drives_move_is_reported() -> None:
    model = linkages.pendulum(0.1)
    model.add(fm.Drive("motor", "hinge", fm.Ramp(0.1, 1.0)))
    solution = fm.simulate(model, t_end=0.02, step=0.01, start=fm.state(model, t=1.0))
    assert solution.run.moved == ["hinge by 1 in position, 0 in velocity"]
    assert fm.simulate(model, t_end=0.02, step=0.01, start=fm.state(model)).run.moved == []


def test_springs_without_length_are_unloaded_where_the_model_is_at_the_start() -> None:
    """A carriage driven from 0.1 m at 1 m/s stretches the spring by 1 m in 1 s, for any initial
    time.
    """
    model = fm.Model("carriage", gravity=(0.0, 0.0, 0.0))
    carriage = model.add(fm.PointMass("carriage", mass=1.0))
    model.add(fm.Prismatic("rail", model.ground, carriage, q0=0.1))
    model.add(fm.Drive("motor", "rail", fm.Ramp(0.1, 1.0)))
    model.add(fm.PointSpring("spring", model.ground, carriage, k=10.0))
    later = fm.state(model, t=1.0)
    forces = [
        fm.statics(model, t=1.0).solution.drive("motor").torque[-1],
        fm.quasi_static(model, [1.0]).drive("motor").torque[-1],
        fm.quasi_static(model, [0.0, 1.0]).drive("motor").torque[-1],
        fm.inverse_dynamics(fm.kinematics(model, [1.0])).effort["motor"][-1, 0],
        fm.inverse_dynamics(later).effort["motor"][-1, 0],
        -fm.matrices(model, start=later).k[0],
    ]
    np.testing.assert_allclose(forces, 10.0, rtol=1e-9)


def test_a_model_without_degrees_of_freedom() -> None:
    model = fm.Model("block")
    block = model.add(fm.RigidBody("block", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Fixed("weld", model.ground, block))
    found = fm.linearize(model, outputs=[("position", "block", "x")])
    assert found.A.shape == (0, 0)
    assert found.C.shape == (1, 0)
    assert len(found.modes.frequency) == 0
    np.testing.assert_allclose(fm.statics(model).reactions["weld"].force[0], (0.0, 0.0, 9.81))


def test_a_state_at_given_positions_feels_the_contacts() -> None:
    """A ball 1 mm deep in a floor by the law of Hertz, k d^(3/2), from initial values and from
    given ones.
    """
    accelerations = []
    for q0, position in (((0, 0, 0.099), None), ((0, 0, 0.5), {"free": (0, 0, 0.099)})):
        model = fm.Model("ball", gravity=(0.0, 0.0, 0.0))
        model.add(fm.PointMass("ball", mass=2.0))
        model.add(fm.Translation("free", "ground", "ball", q0=q0))
        law = fm.HuntCrossley(1e5, restitution=1.0, speed=1.0)
        model.add(fm.SpherePlane("floor", "ground", "ball", normal="z", radius=0.1, law=law))
        accelerations.append(float(fm.state(model, position=position).sd[2]))
    np.testing.assert_allclose(accelerations, 1e5 * 1e-3**1.5 / 2.0, rtol=1e-9)


def test_a_start_of_another_time_is_reported_where_laws_of_time_restart() -> None:
    model = linkages.pendulum(0.1)
    run = fm.simulate(model, t_end=0.02, step=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fm.AssemblyWarning)
        fm.simulate(model, t_end=0.02, step=0.01, start=fm.state_of(run, 0.02))
    model.add(fm.JointTorque("motor", "hinge", fm.PD(1.0, 0.1, reference=fm.Sine(0.5, 1.3))))
    with pytest.warns(
        fm.AssemblyWarning,
        match=r"its time t = 0\.02 s becomes t = 0; laws of time restart \(forces\.motor\)",
    ):
        fm.simulate(model, t_end=0.02, step=0.01, start=fm.state_of(run, 0.02))


def test_accelerations_of_rigid_contacts_are_not_taken_for_efforts() -> None:
    model = linkages.pendulum(0.1)
    model.add(fm.JointLimit("stop", "hinge", lower=0.0))
    with pytest.raises(
        fm.InputError, match=r"contacts\.stop: inverse_dynamics does not support rigid contacts"
    ):
        fm.inverse_dynamics(fm.state(model))
