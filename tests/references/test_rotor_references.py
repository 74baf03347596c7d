"""Rotors: MuJoCo's armature on the same chain, closed forms of a geared rotor on a free carrier,
analyses of models with them.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.results.body_loads import frame_wrenches
from flexmbs.robots import PDGravity, Quintic, controlled, model_from_urdf, puma560

UNIT = (1.0, 1.0, 1.0)


def chain(**rotor: Any) -> fm.Model:
    """Two links with skew hinges, a rotor on each."""
    model = fm.Model("chain", frames={"foot": (0.1, 0.2, 0.3)})
    one = model.add(
        fm.RigidBody(
            "one",
            mass=1.2,
            inertia=(0.05, 0.06, 0.04),
            com=(0.2, 0.0, 0.1),
            frames={"end": (0.4, 0.1, 0.0)},
        )
    )
    two = model.add(fm.RigidBody("two", mass=0.8, inertia=(0.02, 0.03, 0.01), com=(0.1, 0.1, 0.0)))
    model.add(fm.Revolute("hinge", model.ground["foot"], one, axis="y", q0=0.3, v0=1.1))
    model.add(fm.Revolute("elbow", one["end"], two, axis="x", q0=-0.5, v0=2.0))
    model.add(fm.RotorInertia("first", "hinge", inertia=2e-4, ratio=30.0, **rotor))
    model.add(fm.RotorInertia("second", "elbow", inertia=1e-4, ratio=-20.0, **rotor))
    return model


SCENE = """
<mujoco><option gravity="0 0 -9.81"/><worldbody>
<body pos="0.1 0.2 0.3"><joint type="hinge" axis="0 1 0" armature="0.18"/>
<inertial pos="0.2 0 0.1" mass="1.2" diaginertia="0.05 0.06 0.04"/>
<body pos="0.4 0.1 0"><joint type="hinge" axis="1 0 0" armature="0.04"/>
<inertial pos="0.1 0.1 0" mass="0.8" diaginertia="0.02 0.03 0.01"/></body></body>
</worldbody></mujoco>"""


def test_without_gyroscopic_part_it_is_an_armature_of_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco")
    scene = mujoco.MjModel.from_xml_string(SCENE)
    state = mujoco.MjData(scene)
    model = chain(gyroscopic=False)
    robot = fm.Robot(model)
    for q, qd in np.random.default_rng(1).uniform(-2.0, 2.0, (5, 2, 2)):
        state.qpos[:], state.qvel[:] = q, qd
        mujoco.mj_forward(scene, state)
        terms = fm.matrices(model, start=robot.state(q, qd))
        np.testing.assert_allclose(np.linalg.solve(terms.M, terms.k), state.qacc, rtol=1e-9)
        np.testing.assert_allclose(
            robot.forward_dynamics(q, qd, np.zeros(2)), state.qacc, rtol=1e-9
        )


def test_a_robot_of_a_file_with_rotors(tmp_path: Path) -> None:
    """Terms of the robot are those of its model: M, C q̇ + g, Ṁ − 2C skew, inverse dynamics."""
    inertia = '<inertia ixx=".1" iyy=".2" izz=".15" ixy="0" ixz="0" iyz="0"/>'
    inertial = f'<inertial><origin xyz="0.1 0.2 0"/><mass value="2"/>{inertia}</inertial>'
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in "abc")
    hinges = "".join(
        f'<joint name="{p}{c}" type="continuous"><parent link="{p}"/><child '
        f'link="{c}"/><axis xyz="{axis}"/>'
        '<origin xyz="0.3 0 0.1" rpy="0.2 0.7 0"/></joint>'
        for p, c, axis in (("w", "a", "0 0 1"), ("a", "b", "0 1 0"), ("b", "c", "1 0 0"))
    )
    file = tmp_path / "arm.urdf"
    file.write_text(f'<robot name="arm"><link name="w"/>{links}{hinges}</robot>')
    model = model_from_urdf(file)
    for k, joint in enumerate(model.joints):
        model.add(
            fm.RotorInertia(f"rotor {joint}", joint, inertia=1e-3 * (k + 1), ratio=10.0 * (-1) ** k)
        )
    model.add(fm.RotorInertia("belt", "bc", inertia=2e-3, ratio=5.0, axis="y"))
    robot = fm.Robot(model)
    q, qd, qdd = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 3))
    found = fm.matrices(model, start=robot.state(q, qd))
    np.testing.assert_allclose(robot.mass_matrix(q), found.M, atol=1e-13)
    np.testing.assert_allclose(
        robot.coriolis_matrix(q, qd) @ qd + robot.gravity_forces(q), -found.k, atol=1e-12
    )
    rate = (robot.mass_matrix(q + 1e-6 * qd) - robot.mass_matrix(q - 1e-6 * qd)) / 2e-6
    skew = rate - 2.0 * robot.coriolis_matrix(q, qd)
    np.testing.assert_allclose(skew, -skew.T, atol=1e-8)
    efforts = fm.inverse_dynamics(robot.state(q, qd, qdd)).effort
    np.testing.assert_allclose(
        robot.inverse_dynamics(q, qd, qdd),
        [efforts[name][0, 0] for name in model.joints],
        atol=1e-11,
    )


def test_motors_of_a_controlled_robot_have_their_inertia() -> None:
    robot = puma560()
    still = Quintic(np.zeros(6), np.zeros(6), 1.0)
    model = controlled(robot, PDGravity(robot, still, 1.0, 1.0))
    q = np.array([0.1, -0.4, 0.7, 0.3, -0.2, 0.5])
    np.testing.assert_allclose(
        fm.matrices(model, start=robot.state(q)).M, robot.mass_matrix(q), atol=1e-12
    )


def test_a_rotor_on_a_carrier_that_turns_about_the_same_axis() -> None:
    """(J₁ + J₂) ω̇ + (J₂ + n I) q̈ = 0, (J₂ + n I) ω̇ + (J₂ + n² I) q̈ = τ: constant accelerations,
    momentum is conserved.
    """
    J1, J2, I, n, torque = 0.8, 0.3, 2e-3, 25.0, 1.7
    model = fm.Model("carrier", gravity=(0, 0, 0))
    carrier = model.add(fm.RigidBody("carrier", mass=1.0, inertia=(1.0, 1.0, J1)))
    arm = model.add(fm.RigidBody("arm", mass=0.4, inertia=(1.0, 1.0, J2)))
    model.add(fm.Revolute("base", model.ground, carrier, axis="z", v0=0.7))
    model.add(fm.Revolute("elbow", carrier, arm, axis="z", v0=-0.2))
    model.add(fm.RotorInertia("rotor", "elbow", inertia=I, ratio=n))
    model.add(fm.JointTorque("motor", "elbow", torque))
    M = np.array([[J1 + J2, J2 + n * I], [J2 + n * I, J2 + n * n * I]])
    wd, qdd = np.linalg.solve(M, (0.0, torque))
    run = fm.simulate(model, t_end=0.2, rtol=1e-10, atol=1e-12)
    assert run.verdict == "PASS"
    np.testing.assert_allclose(run.joint("base").velocity[:, 0], 0.7 + wd * run.t, atol=1e-12)
    np.testing.assert_allclose(run.joint("elbow").velocity[:, 0], -0.2 + qdd * run.t, atol=1e-12)
    L = (J1 + J2) * run.joint("base").velocity[:, 0] + (J2 + n * I) * run.joint("elbow").velocity[
        :, 0
    ]
    np.testing.assert_allclose(L, L[0], rtol=1e-12)
    speeds = np.stack([run.joint(name).velocity[:, 0] for name in ("base", "elbow")])
    np.testing.assert_allclose(
        run.energy.kinetic, 0.5 * np.einsum("it,ij,jt->t", speeds, M, speeds), rtol=1e-12
    )


def test_the_moment_of_a_gyroscope() -> None:
    """Carrier turned at Ω about z, rotor about x: the bearing of the carrier bears n I q̇ Ω about
    y.
    """
    I, n, turn, rate = 3e-3, 40.0, 1.5, 2.5
    found = {}
    for gyroscopic in (True, False):
        model = fm.Model("gyroscope", gravity=(0, 0, 0))
        carrier = model.add(fm.RigidBody("carrier", mass=1.0, inertia=UNIT))
        wheel = model.add(fm.RigidBody("wheel", mass=1.0, inertia=UNIT))
        model.add(fm.Revolute("bearing", model.ground, carrier, axis="z", v0=turn))
        model.add(fm.Revolute("axle", carrier, wheel, axis="x", v0=rate))
        model.add(fm.RotorInertia("rotor", "axle", inertia=I, ratio=n, gyroscopic=gyroscopic))
        model.add(fm.Drive("precession", "bearing", fm.Ramp(0.0, turn)))
        model.add(fm.Drive("spin", "axle", fm.Ramp(0.0, rate)))
        run = fm.simulate(model, t_end=0.1, rtol=1e-9, atol=1e-11)
        found[gyroscopic] = run.joint("bearing").torque
    # y of the carrier in the world
    across = np.stack([-np.sin(turn * run.t), np.cos(turn * run.t), 0.0 * run.t], axis=1)
    np.testing.assert_allclose(found[True] - found[False], n * I * rate * turn * across, atol=1e-9)


def floating() -> fm.Model:
    """A free carrier with a driven arm and a belt wheel across."""
    model = fm.Model("floating", gravity=(0, 0, 0))
    at = {"out": fm.Frame((0.3, 0.1, 0.0), ("y", 0.4))}
    carrier = model.add(
        fm.RigidBody("carrier", mass=2.0, inertia=(0.3, 0.2, 0.25), com=(0.1, 0.0, 0.05), frames=at)
    )
    arm = model.add(fm.RigidBody("arm", mass=0.7, inertia=(0.02, 0.05, 0.04), com=(0.3, 0.1, 0.0)))
    model.add(fm.Free("free", model.ground, carrier, v0=(0.2, 0.1, -0.3, 0.5, -0.8, 0.6)))
    model.add(fm.Revolute("hinge", carrier["out"], arm, axis="z", v0=1.0))
    model.add(fm.JointSpring("spring", "hinge", k=3.0))
    model.add(fm.RotorInertia("rotor", "hinge", inertia=3e-3, ratio=12.0, axis=(0.6, 0.0, 0.8)))
    return model


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_angular_momentum_of_a_free_carrier(coordinates: str) -> None:
    """Σ m r × v + J ω of the bodies and n I q̇ a of the rotor."""
    model = floating()
    run = fm.simulate(
        model, t_end=0.5, coordinates=coordinates, formalism="multiplier", rtol=1e-10, atol=1e-12
    )
    total = np.zeros((len(run.t), 3))
    for name, body in model.bodies.items():
        view = run.body(name)
        R, J = view.rotation, np.array(body.inertia)
        arm = np.einsum("tij,j->ti", R, np.array(body.com))
        velocity = view.velocity + np.cross(view.angular_velocity, arm)
        total += body.mass * np.cross(view.position + arm, velocity)
        total += np.einsum("tij,jk,tlk,tl->ti", R, J, R, view.angular_velocity)
    spin = 12.0 * 3e-3 * run.joint("hinge").velocity
    total += spin * (run.frame("carrier/out").rotation @ np.array((0.6, 0.0, 0.8)))
    np.testing.assert_allclose(total, np.tile(total[0], (len(total), 1)), atol=1e-9)
    np.testing.assert_allclose(run.energy.balance, 0.0, atol=1e-9)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_rattle_moves_rotors_as_other_methods_do(coordinates: str) -> None:
    """Second order: the error falls to a quarter with half the step."""
    model = floating()
    exact = (
        fm.simulate(model, t_end=0.2, output_step=0.2, rtol=1e-11, atol=1e-13)
        .joint("hinge")
        .velocity[-1]
    )
    options = {
        "integrator": "rattle",
        "formalism": "multiplier",
        "coordinates": coordinates,
        "output_step": 0.2,
    }
    errors = [
        abs(
            fm.simulate(model, t_end=0.2, step=step, **options).joint("hinge").velocity[-1] - exact
        )[0]
        for step in (4e-3, 2e-3)
    ]
    assert errors[0] < 1e-3
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_the_frequency_of_a_geared_pendulum() -> None:
    """ω² = k/(J + n² I)"""
    model = fm.Model("pendulum", gravity=(0, 0, 0))
    model.add(
        fm.Revolute(
            "hinge",
            model.ground,
            model.add(fm.RigidBody("bob", mass=1.0, inertia=(0.2, 0.3, 0.4))),
            axis="z",
        )
    )
    model.add(fm.JointSpring("spring", "hinge", k=7.0))
    model.add(fm.RotorInertia("rotor", "hinge", inertia=2e-3, ratio=15.0))
    found = fm.linearize(model).modes.eigenvalue
    np.testing.assert_allclose(np.abs(found.imag), np.sqrt(7.0 / (0.4 + 0.45)), rtol=1e-8)


def test_loads_of_the_carrier_balance_its_inertia() -> None:
    """Forces and moments of joints and rotors on a body are its rate of momentum; every frame
    counts.
    """
    run = fm.simulate(floating(), t_end=0.05, rtol=1e-10, atol=1e-12)
    wrenches = frame_wrenches(run, "carrier")
    body, view = run.compiled.model.bodies["carrier"], run.body("carrier")
    com, J = np.array(body.com), np.array(body.inertia)
    R = view.rotation
    w, wd, a = (
        np.einsum("tji,tj->ti", R, x)
        for x in (view.angular_velocity, view.angular_acceleration, view.acceleration)
    )
    a = a + np.cross(wd, com) + np.cross(w, np.cross(w, com))
    force, moment = np.zeros_like(a), np.zeros_like(a)
    for frame, wrench in wrenches.items():
        x = np.array(body.frames[frame].position if frame else (0.0, 0.0, 0.0))
        force += wrench[:, :3]
        moment += wrench[:, 3:] + np.cross(x - com, wrench[:, :3])
    np.testing.assert_allclose(force, body.mass * a, atol=1e-8)
    np.testing.assert_allclose(moment, wd @ J + np.cross(w, w @ J), atol=1e-8)


def test_terms_of_the_recursion_and_gibbs_function_have_rotors() -> None:
    model = chain()
    found = fm.matrices(model, formalism="recursive")
    recursion = found.recursion
    chained = found.open_chain
    np.testing.assert_allclose(chained.J.T @ chained.M @ chained.J, found.M, atol=1e-13)
    assert found.body("one").M[3, 3] == pytest.approx(0.05 + 1.2 * 0.1**2)  # of the body alone
    # a leaf: what M has there
    assert recursion["two"].N[0, 0] == pytest.approx(found.M[1, 1], rel=1e-12)
    appell = fm.gibbs(model)
    np.testing.assert_allclose(
        appell.derivative(appell.rates), appell.quasi_forces, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(appell.rates, np.linalg.solve(found.M, found.k), rtol=1e-9)
