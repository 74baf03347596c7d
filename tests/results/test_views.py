"""Views of a solution against closed forms and between coordinates."""

import numpy as np
import pytest
from runs import LENGTH, MASS, G, driven_rod, hanging, parallelogram

import flexmbs as fm

SPEED = 3.0


def close(a: np.ndarray, b: object, tolerance: float) -> None:
    np.testing.assert_allclose(
        a, np.broadcast_to(np.asarray(b), np.shape(a)), atol=tolerance, rtol=0
    )


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("reverse", [False, True])
def test_rod_at_constant_speed(coordinates: str, reverse: bool) -> None:
    """Wrench, drive torque and motion of a rod that turns at constant speed: centripetal force and
    weight.
    """
    model = driven_rod(SPEED, reverse=reverse)
    solution = fm.simulate(
        model, t_end=0.2, step=0.01, coordinates=coordinates, integrator="dormand-prince"
    )
    t, angle = solution.t, SPEED * solution.t
    radial = np.stack([np.cos(angle), 0 * t, np.sin(angle)], axis=1)
    across = np.stack([-np.sin(angle), 0 * t, np.cos(angle)], axis=1)
    tip = solution.frame("rod/tip")
    close(tip.position, LENGTH * radial, 1e-9)
    close(tip.velocity, SPEED * LENGTH * across, 1e-6)
    close(tip.acceleration, -(SPEED**2) * LENGTH * radial, 1e-7)
    close(tip.angular_velocity, (0.0, -SPEED, 0.0), 1e-6)
    close(tip.rotation[:, :, 0], radial, 1e-9)

    on_rod = -1.0 if reverse else 1.0
    joint = solution.joint("hinge")
    close(joint.position[:, 0], angle, 1e-9)
    close(joint.velocity[:, 0], SPEED, 1e-6)
    close(joint.acceleration, 0.0, 1e-7)
    weight = np.array([0.0, 0.0, MASS * G])
    close(on_rod * joint.force, weight - MASS * SPEED**2 * LENGTH / 2 * radial, 1e-6)
    needed = MASS * G * LENGTH / 2 * np.cos(angle)
    close(on_rod * joint.torque[:, 1], -needed, 1e-6)
    close(joint.effort[:, 0], needed, 1e-6)
    assert joint.unique

    motor = solution.drive("motor")
    close(motor.coordinate, angle, 1e-9)
    close(motor.torque, needed, 1e-6)
    close(motor.power, SPEED * needed, 4e-6)


def test_what_a_run_gave_cannot_be_changed() -> None:
    solution = fm.simulate(hanging(), t_end=0.1, output_step=0.05)
    for array in (solution.t, solution.q, solution.s, solution.sd, solution.trajectory.z):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_a_solution_is_shown_in_a_line() -> None:
    solution = fm.simulate(hanging(), t_end=0.1, output_step=0.05, integrator="dormand-prince")
    name = solution.model.name
    assert (
        repr(solution)
        == f"<Solution of '{name}': recursive, joint, dormand-prince; 3 outputs, t = 0 … 0.1 s>"
    )
    lines = str(solution).splitlines()
    assert (
        lines[0]
        == f"Solution of '{name}': recursive, joint, dormand-prince; 3 outputs, t = 0 … 0.1 s"
    )
    assert lines[1].startswith(f"verdict   {solution.verdict}: ")
    assert [line.split()[0] for line in lines[2:7]] == [
        "outcome",
        "size",
        "steps",
        "energy",
        "drift",
    ]
    assert len(lines) <= 13


def test_energy_of_a_damped_pendulum() -> None:
    solution = fm.simulate(hanging(damping=0.3), t_end=1.0, step=0.005, integrator="dormand-prince")
    energy, joint = solution.energy, solution.joint("hinge")
    rate, angle = joint.velocity[:, 0], joint.position[:, 0]
    close(energy.kinetic, MASS * LENGTH**2 / 6 * rate**2, 1e-9)
    close(energy.potential, -MASS * G * LENGTH / 2 * np.sin(angle), 1e-9)
    close(energy.strain, 0.0, 0.0)
    lost = np.concatenate(
        [[0.0], np.cumsum(0.15 * (rate[1:] ** 2 + rate[:-1] ** 2) * np.diff(solution.t))]
    )
    close(energy.dissipated, lost, 2e-5)
    close(energy.balance, 0.0, 1e-8)
    assert energy.dissipated[-1] > 0.02


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_redundant_loop_marks_its_reactions(coordinates: str) -> None:
    """A plane loop of parallel hinges carries moments about x and z and forces along y that are not
    unique; the planar part of the reactions is that of the same loop."""
    solution = fm.simulate(parallelogram(), t_end=0.05, step=0.005, coordinates=coordinates)
    assert sum(rows for _, rows in solution.run.redundant) == 3
    joints = [solution.joint(name) for name in "ABCD"]
    assert not any(joint.unique for joint in joints)
    close(joints[0].position, joints[1].position, 1e-8)
    forces = joints[0].force + joints[1].force
    centres = [solution.body(name) for name in ("left", "right")]
    half = [body.acceleration + _turning(body, (LENGTH / 2, 0, 0)) for body in centres]
    coupler = solution.body("coupler")
    middle = coupler.acceleration + _turning(coupler, (0.5, 0, 0))
    lift = np.array([0.0, 0.0, G])
    close(
        forces, MASS * (half[0] + half[1] + 2 * lift) + middle + lift, 2e-6 * np.abs(forces).max()
    )
    for joint in joints:  # of least norm: nothing out of the plane
        close(joint.force[:, 1], 0.0, 1e-6)


def _turning(body: object, place: tuple[float, float, float]) -> np.ndarray:
    """ω̇ × x + ω × (ω × x) in world axes."""
    x = body.rotation @ np.array(place)  # type: ignore[attr-defined]
    w, wd = body.angular_velocity, body.angular_acceleration  # type: ignore[attr-defined]
    return np.cross(wd, x) + np.cross(w, np.cross(w, x))


def test_turns_of_a_cut_joint_between_outputs() -> None:
    """A wheel rotates by more than half a turn between outputs;
    its angle still includes the turns.
    """
    model = fm.Model("wheel", gravity=(0, 0, 0))
    wheel = model.add(fm.RigidBody("wheel", mass=1.0, inertia=(0.1, 0.1, 0.2)))
    model.add(fm.Revolute("axle", model.ground, wheel, axis="z", v0=50.0))
    solution = fm.simulate(model, t_end=0.5, step=0.01, output_step=0.1, coordinates="absolute")
    close(solution.joint("axle").position[:, 0], 50.0 * solution.t, 1e-6)


def test_reversed_ball_joint() -> None:
    """A ball joint declared from the body to the ground: the child is the ground, its wrench the
    opposite.
    """
    model = fm.Model("top", gravity=(0, 0, -G))
    body = model.add(
        rod_with_spin := fm.RigidBody("top", mass=1.0, inertia=(0.02, 0.02, 0.01), com=(0, 0, 0.1))
    )
    assert rod_with_spin.mass == 1.0
    spin = (0.3, -0.2, 5.0)
    model.add(fm.Spherical("tip", body, model.ground, v0=spin))
    solution = fm.simulate(model, t_end=0.02, step=0.002)
    joint, view = solution.joint("tip"), solution.body("top")
    # of the ground relative to the top, ground axes
    close(joint.velocity, -view.angular_velocity, 1e-9)
    close(joint.velocity[0], spin, 1e-9)
    close(joint.acceleration, -view.angular_acceleration, 1e-7)
    centre = view.acceleration + _turning(view, (0, 0, 0.1))
    close(joint.force, -(centre + np.array([0, 0, G])), 1e-6)
    close(joint.effort, 0.0, 1e-6)


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (
            lambda s: s.frame("rod/tipp"),
            "frame 'rod/tipp' is not in the solution; did you mean 'rod/tip'?",
        ),
        (lambda s: s.body("rodd"), "body 'rodd' is not in the solution; did you mean 'rod'?"),
        (lambda s: s.joint("hing"), "joint 'hing' is not in the solution; did you mean 'hinge'?"),
        (lambda s: s.drive("engine"), "drive 'engine' is not in the solution; known: motor"),
    ],
)
def test_unknown_names(ask: object, answer: str) -> None:
    with pytest.raises(fm.InputError) as error:
        ask(fm.simulate(driven_rod(SPEED), t_end=0.01, step=0.01))  # type: ignore[operator]
    assert str(error.value) == answer
