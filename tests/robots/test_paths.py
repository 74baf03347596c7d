"""Reference motions, input shapers, controllers and flexible links."""

import functools
import warnings
from collections.abc import Callable
from pathlib import Path as File
from typing import Any, final

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.model.control.controllers import PathController
from flexmbs.model.control.paths import DeclaredPath
from flexmbs.robots import (
    ComputedTorque,
    Controller,
    FlexibleLink,
    Impedance,
    Line,
    Link,
    Motor,
    OperationalSpace,
    Path,
    PDFeedforward,
    PDGravity,
    Quintic,
    Shaped,
    Shaper,
    SplinePath,
    Trapezoid,
    controlled,
    puma560,
    zero_vibration,
    zero_vibration_derivative,
)  # fmt: skip

A, B = np.array([0.1, -0.4]), np.array([1.3, 0.2])
STILL = Quintic([0] * 6, [0] * 6, 1.0)
ARM = [
    Link(a=0.5, mass=3.0, com=(-0.25, 0, 0), inertia=(0.01, 0.07, 0.07)),
    Link(a=0.4, mass=2.0, com=(-0.2, 0, 0), inertia=(0.01, 0.03, 0.03)),
]


def arm(**more: object) -> fm.Robot:
    """Two links that swing in a vertical plane."""
    return fm.Robot.from_dh(ARM, base=fm.Frame((0, 0, 0), ("x", np.pi / 2)), **more)  # type: ignore[arg-type]


def same_rates(path: Path, times: np.ndarray, h: float = 1e-5) -> None:
    before, now, after = path.table(times - h), path.table(times), path.table(times + h)
    np.testing.assert_allclose(now.qd, (after.q - before.q) / (2.0 * h), atol=1e-7)
    np.testing.assert_allclose(now.qdd, (after.qd - before.qd) / (2.0 * h), atol=1e-6)


def test_quintic_meets_its_ends() -> None:
    path = Quintic(A, B, 2.0, start=1.0, v0=(0.3, 0.0), v1=(0.0, -1.0), a0=2.0, a1=(1.0, 3.0))
    same_rates(path, np.linspace(1.01, 2.99, 7))
    for found, wanted in (
        (path.at(1.0), (A, (0.3, 0.0), (2.0, 2.0))),
        (path.at(3.0), (B, (0.0, -1.0), (1.0, 3.0))),
    ):
        for value, expected in zip(found, wanted):
            np.testing.assert_allclose(value, expected, atol=1e-12)
    np.testing.assert_allclose(path.at(5.0).q, B)
    assert not path.at(5.0).qd.any()


def test_quintic_from_rest_is_the_smooth_step() -> None:
    path = Quintic(A, B, 2.0, start=1.0)
    laws = path.laws()
    assert [law.kind for law in laws] == ["smooth-step", "smooth-step"]
    for t in (0.5, 1.3, 2.0, 2.9, 4.0):
        np.testing.assert_allclose(
            np.transpose([law.state(t) for law in laws]), path.at(t), atol=1e-13
        )


@pytest.mark.parametrize("rate", [0.8, 5.0])
def test_trapezoid_keeps_its_limits_and_is_no_slower(rate: float) -> None:
    path = Trapezoid(A, B, rate=rate, acceleration=(2.0, 1.5), start=0.5)
    way = np.abs(B - A).max()
    time = way / rate + rate / 2.0 if way > rate**2 / 2.0 else 2.0 * np.sqrt(way / 2.0)
    assert path.end == pytest.approx(0.5 + time)
    motion = path.table(np.linspace(0.5, path.end, 1001)[1:-1])
    assert np.abs(motion.qd).max() <= rate * (1.0 + 1e-12)
    np.testing.assert_allclose(np.abs(motion.qdd).max(axis=0)[0], 2.0)
    rise = path.end - 0.5
    same_rates(path, 0.5 + rise * np.array([0.11, 0.35, 0.62, 0.93]))
    np.testing.assert_allclose(path.at(path.end).q, B, atol=1e-14)


def test_paths_keep_their_own_numbers() -> None:
    q0, q1 = A.copy(), B.copy()
    for path in (Quintic(q0, q1, 1.0), Trapezoid(q0, q1, rate=1.0, acceleration=1.0)):
        q0 += 1.0
        path.at(-1.0).q[:] = 7.0
        np.testing.assert_allclose(path.at(-1.0).q, A)
        q0 -= 1.0


def test_paths_without_way() -> None:
    """Neither a coordinate at rest nor a path of zero duration gives non-finite values; the others
    keep their timing.
    """
    path = Trapezoid((0.0, 2.0), (1.0, 2.0), rate=np.inf, acceleration=(4.0, 1e50))
    assert path.end == pytest.approx(1.0)
    np.testing.assert_allclose(path.at(0.25), [(0.125, 2.0), (1.0, 0.0), (4.0, 0.0)], atol=1e-12)
    still = Trapezoid(A, A, rate=1.0, acceleration=1e12, start=2.0)
    assert still.end == 2.0
    assert [float(law.state(3.0)[0]) for law in still.tables(0.1)] == pytest.approx(A.tolist())
    assert still.table(()).q.shape == (0, 2)


def test_line_of_half_a_turn() -> None:
    """Slerp by 180° about an axis that is not unique before round-off still turns about one axis,
    from end to end.
    """
    wrist = fm.Robot.from_dh([Link(0.3), Link(0.25), Link(0.08)])
    q0 = np.array([0.2, 1.8, -0.4])
    first = wrist.pose(q0)
    last = first @ np.diag((-1.0, -1.0, 1.0, 1.0))
    poses = wrist.pose(Line(wrist, q0, last, 1.0).table(np.linspace(0.0, 1.0, 11)).q)
    np.testing.assert_allclose(poses[-1], last, atol=1e-9)
    np.testing.assert_allclose(poses[:, :3, 3], np.broadcast_to(first[:3, 3], (11, 3)), atol=1e-5)


def test_line_is_straight_and_turns_evenly() -> None:
    puma = puma560()
    q0 = np.array([0.2, 0.7, -2.2, 0.3, 0.6, 0.1])
    last = puma.pose(q0 + np.array([0.3, -0.1, 0.2, 0.2, 0.1, 0.3]))
    path, first = Line(puma, q0, last, 1.0), puma.pose(q0)
    motion = path.table(np.linspace(0.0, 1.0, 21))
    poses = puma.pose(motion.q)
    way = last[:3, 3] - first[:3, 3]
    s = (poses[:, :3, 3] - first[:3, 3]) @ way / (way @ way)
    tau = np.linspace(0.0, 1.0, 21)
    np.testing.assert_allclose(s, tau**3 * (10.0 - 15.0 * tau + 6.0 * tau**2), atol=1e-6)
    np.testing.assert_allclose(poses[:, :3, 3], first[:3, 3] + s[:, None] * way, atol=1e-6)
    turned = [
        np.arccos(np.clip((np.trace(first[:3, :3].T @ X[:3, :3]) - 1.0) / 2.0, -1.0, 1.0))
        for X in poses
    ]
    np.testing.assert_allclose(turned, s * turned[-1], atol=1e-5)
    np.testing.assert_allclose(motion.qd[[0, -1]], 0.0, atol=1e-12)
    far = np.eye(4)
    far[:3, 3] = (2.0, 0.0, 0.0)
    with pytest.raises(fm.SolverError, match="line: the robot cannot follow it beyond"):
        Line(puma, q0, far, 1.0)


@pytest.mark.parametrize(("make", "order"), [(zero_vibration, 1), (zero_vibration_derivative, 2)])
def test_shapers_leave_no_vibration(make: Callable[[float, float], Shaper], order: int) -> None:
    """Residual |Σ A exp((ζ ω + i ω_d) t)| of an oscillator after impulses; |cos(π f/2f₀)| or its
    square for others.
    """

    def residual(f: float, damping: float) -> float:
        w, shaper = 2.0 * np.pi * f, make(3.0, damping)
        pole = damping * w + 1j * w * np.sqrt(1.0 - damping**2)
        return float(abs(sum(a * np.exp(pole * (t - shaper.times[-1])) for a, t in zip(*shaper))))

    assert residual(3.0, 0.05) < 1e-14
    assert residual(3.6, 0.0) == pytest.approx(abs(np.cos(0.6 * np.pi)) ** order)
    assert sum(make(3.0, 0.05).amplitudes) == pytest.approx(1.0)


def test_shaped_paths_arrive_later() -> None:
    path = Shaped(Quintic(A, B, 1.0), zero_vibration(2.0), zero_vibration(5.0, 0.1))
    assert path.end == pytest.approx(1.0 + 0.25 + 0.1 / np.sqrt(0.99))
    np.testing.assert_allclose(path.at(path.end).q, B)
    same_rates(path, np.linspace(0.05, 1.3, 9))


def test_computed_torque_gives_a_linear_error() -> None:
    """ë + Kd ė + Kp e = 0: with Kd = 2 ω, Kp = ω² from rest e = e0 (1 + ω t) exp(−ω t), whatever
    the path.
    """
    robot, path, w, e0 = arm(), Quintic(A, B, 0.3), 20.0, np.array([0.05, -0.03])
    start = robot.started(A - e0)
    model = controlled(start, ComputedTorque(robot, path, kp=w**2, kd=2.0 * w))
    run = fm.simulate(model, t_end=0.3, step=1e-3)
    error = path.table(run.t).q - np.hstack(
        [run.joint(name).position for name in ("joint1", "joint2")]
    )
    expected = e0 * ((1.0 + w * run.t) * np.exp(-w * run.t))[:, None]
    np.testing.assert_allclose(error, expected, atol=2e-5)


def test_pd_with_gravity_comes_to_rest_at_its_goal() -> None:
    """No steady-state error under the weight, unlike PD only; the forces of the model are those of
    the controller.
    """
    robot = arm()
    still = Quintic(A, A, 1.0)
    model = controlled(robot.started(A), PDGravity(robot, still, kp=100.0, kd=10.0))
    run = fm.simulate(model, t_end=0.05, step=1e-3)
    np.testing.assert_allclose(run.joint("joint1").position[:, 0], A[0], atol=1e-9)
    np.testing.assert_allclose(
        run.joint("joint1").effort[-1, 0], robot.gravity_forces(A)[0], rtol=1e-9
    )


def every_path() -> dict[str, Path]:
    """One of each kind, from A to B."""
    return {
        "quintic": Quintic(A, B, 0.3, v1=(0.1, 0.2), a0=0.5, start=0.01),
        "trapezoid": Trapezoid(A, B, rate=(np.inf, 2.0), acceleration=30.0),
        "spline": SplinePath([0.0] * 6 + [0.3] * 6, [A] * 3 + [B] * 3),
        "shaped": Shaped(Quintic(A, B, 0.2), zero_vibration_derivative(20.0, 0.1)),
    }


def test_every_kind_of_controller_and_path_is_here() -> None:
    assert set(every_path()) == set(DeclaredPath.kinds)
    kinds = {getattr(each, "func", each).kind for each in CONTROLLERS}
    assert kinds == set(PathController.kinds)


CONTROLLERS = (
    ComputedTorque,
    PDGravity,
    PDFeedforward,
    functools.partial(Impedance, stiffness=100.0, damping=(5.0,) * 6),
    functools.partial(OperationalSpace, stiffness=100.0, damping=20.0, task="position"),
)


@pytest.mark.parametrize("controller", CONTROLLERS)
@pytest.mark.parametrize("path", every_path())
def test_model_files_hold_controlled_robots(controller: Any, path: str, tmp_path: File) -> None:
    """Written and read again they are the same model, with the same forces to the last bit, as are
    `parameters` of the gains.
    """
    motors = {
        "joint1": Motor(inertia=2e-4, gear=-50.0, viscous=1e-3, coulomb=(0.02, -0.03)),
        "joint2": Motor(viscous=0.1),
    }
    robot = fm.Robot(arm().model, motors=motors)
    robot.model.add(fm.RotorInertia("fan", "joint2", inertia=1e-3, ratio=3.0, axis="z"))
    robot = fm.Robot(robot.model, motors=motors)
    model = controlled(
        robot.started(A), controller(robot, every_path()[path], kp=(100.0, 80.0), kd=7.0)
    )
    model.save(tmp_path / "arm.toml")
    again = fm.load(tmp_path / "arm.toml")
    assert again == model
    forces = [m.forces["control"].controller.forces(0.1, B, A) for m in (model, again)]
    np.testing.assert_array_equal(*forces)
    assert fm.state(again).sd.tolist() == fm.state(model).sd.tolist()
    assert fm.parameters(again)["forces.control.controller.kp.1"] == 80.0


def test_a_model_file_does_not_hold_a_controller_of_an_own_class() -> None:
    model = controlled(arm(), Faulty(arm()))
    with pytest.raises(
        fm.InputError,
        match=r"^a model file cannot hold a user-defined controller; save robot\.model",
    ) as error:
        model.to_toml()
    assert len(error.value.problems) == 1
    assert "control" in model.to_toml(complete=False)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'kind = "pd-gravity"',
            'kind = "pd"',
            r"controller.kind: unknown kind 'pd'; known: computed-torque",
        ),
        ("kp = 100.0", "kp = -1", "controller.kp: must be >= 0, not -1"),
        ("kp = 100.0", "kp = [1, 2, 3]", "controller.kp: must be one number or 2, not 3 numbers"),
        ("duration = 0.2", "duration = 0", "controller.path.duration: must be > 0"),
        (
            "parent = 0",
            "parent = 1",
            "controller.robot.links.1.parent: must be below its own number 1, not 1",
        ),
        (
            "parent = 0",
            'parent = "base"',
            "controller.robot.links.1.parent: must be a number, not 'base'",
        ),
        (
            'of = ["joint1.0", "joint2.0"]',
            'of = ["joint1.0"]',
            "controller: its robot has the coordinates joint1.0, joint2.0, and",
        ),
        (
            'of = ["joint1.0", "joint2.0"]',
            'of = ["joint1.0", "joint1"]',
            "controller: its robot has",
        ),
        ("joint2.0", "joint3.0", "of: no joint 'joint3'; did you mean"),
    ],
)
def test_files_of_controlled_robots_that_are_wrong(
    old: str, new: str, message: str, tmp_path: File
) -> None:
    text = controlled(
        arm().started(A), PDGravity(arm(), Quintic(A, B, 0.2), kp=100.0, kd=10.0)
    ).to_toml()
    assert old in text
    (tmp_path / "arm.toml").write_text(text.replace(old, new))
    with pytest.raises(fm.InputError, match=rf"forces\.control\.{message}"):
        fm.load(tmp_path / "arm.toml")


def test_feedforward_follows_up_to_the_error_of_the_integrator() -> None:
    """The inverse dynamics of the path keep the robot on it: the error decreases with the square of
    the step.
    """
    robot, path = arm(), Quintic(A, B, 0.1)
    model = controlled(robot.started(A), PDFeedforward(robot, path, kp=200.0, kd=20.0))

    def largest_error(step: float) -> float:
        run = fm.simulate(model, t_end=0.1, step=step)
        found = np.hstack([run.joint(name).position for name in ("joint1", "joint2")])
        return float(np.abs(path.table(run.t).q - found).max())

    coarse, fine = largest_error(1e-3), largest_error(5e-4)
    assert fine < 1e-4
    assert coarse / fine == pytest.approx(4.0, rel=0.1)


def test_controllers_act_in_absolute_coordinates() -> None:
    """Every joint is cut: the wrenches of one joint evaluate its forces again."""
    robot, path = arm(), Quintic(A, B, 0.1)
    controller = PDGravity(robot, path, kp=100.0, kd=10.0)
    run = fm.simulate(
        controlled(robot.started(A), controller), t_end=2e-3, step=1e-3, coordinates="absolute"
    )
    joints = [run.joint(name.removesuffix(".0")) for name in robot.coordinates]
    found, q, qd = (
        np.hstack(parts)
        for parts in zip(*((joint.effort, joint.position, joint.velocity) for joint in joints))
    )
    np.testing.assert_allclose(
        found, [controller.forces(*state) for state in zip(run.t, q, qd)], rtol=1e-8
    )


def test_all_items_of_a_model_stay_with_its_robot() -> None:
    """Forces, drives and contacts of a model are those of its copies."""
    robot = arm()
    body = robot.model.bodies["link2"].handle()
    items = [
        fm.SpherePlane("floor", robot.model.ground, body),
        fm.JointSpring("spring", "joint1", k=1.0),
    ]
    for item in items:
        robot.model.add(item)
    copy = controlled(robot.started(A), PDGravity(robot, Quintic(A, A, 1.0), 1.0, 1.0))
    assert copy.contacts == {"floor": items[0]}
    assert copy.forces["spring"] == items[1]


def test_friction_of_motors_acts_in_the_model() -> None:
    motors = {
        "joint1": Motor(gear=-50.0, viscous=1e-3, coulomb=(0.02, -0.03)),
        "joint2": Motor(gear=10.0, coulomb=0.1),
    }
    robot = fm.Robot(arm().model, motors=motors)
    qd = np.array([-0.8, 1.5])
    model = controlled(robot, PDGravity(robot, Quintic(A, A, 1.0), kp=0.0, kd=0.0))
    found = fm.matrices(model, start=robot.state(A, qd)).k + robot.coriolis_matrix(A, qd) @ qd
    np.testing.assert_allclose(found, (50.0 * (50.0 * 1e-3 * 0.8 + 0.03), -1.0), rtol=1e-12)
    np.testing.assert_allclose(robot.friction(qd), -found, rtol=1e-12)


def test_friction_of_every_coordinate_of_a_joint() -> None:
    model = fm.Model("table", gravity=(0.0, 0.0, 0.0))
    model.add(
        fm.Planar(
            "drive",
            model.ground,
            model.add(fm.RigidBody("cart", mass=1.0, inertia=(1.0, 1.0, 1.0))),
        )
    )
    robot = fm.Robot(model, motors={"drive": Motor(viscous=2.0, coulomb=0.5)})
    still, qd = Quintic(np.zeros(3), np.zeros(3), 1.0), np.array([1.0, -2.0, 3.0])
    found = fm.matrices(
        controlled(robot, PDGravity(robot, still, 0.0, 0.0)), start=robot.state(np.zeros(3), qd)
    ).k
    np.testing.assert_allclose(found, -robot.friction(qd), rtol=1e-12)


@final
class Faulty(Controller):
    """Returns a given value, or fails."""

    def __init__(self, robot: fm.Robot) -> None:
        self.robot = robot
        self.result: object = None

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        if self.result is None:
            raise RuntimeError("no sensor signal")
        return self.result  # type: ignore[return-value]


def test_controllers_that_fail() -> None:
    """The message names the controller; afterwards the same model works with its original
    coordinates.
    """
    robot = arm()
    faulty = Faulty(robot)
    model = controlled(robot, faulty)
    with pytest.raises(Exception, match="no sensor signal"):
        fm.matrices(model, start=robot.state((1.0, 1.0)))
    for wrong, message in (
        (np.zeros(3), r"must be 2 joint forces, not shape \(3,\)"),
        ((np.nan, 0.0), "must be finite"),
    ):
        faulty.result = wrong
        with pytest.raises(fm.FlexmbsError, match=rf"Faulty.forces at t = 0 s: {message}"):
            fm.matrices(model, start=robot.state((2.0, 1.0)))
    faulty.result = (3.0, 4.0)
    found = fm.matrices(model, start=robot.state(A)).k
    np.testing.assert_allclose(found, np.array((3.0, 4.0)) - robot.gravity_forces(A), rtol=1e-12)


def beam(length: float, mass: float) -> fm.FlexibleBodyData:
    """A slender beam along x from its root, with one bending shape x²/L² in y."""
    S, xS, SS = np.zeros((3, 1)), np.zeros((3, 3, 1)), np.zeros((3, 3, 1, 1))
    S[1], xS[0, 1], SS[1, 1] = mass / 3.0, mass * length / 4.0, mass / 5.0
    zero, one, slope = (
        np.zeros((3, 1)),
        np.array([[0.0], [1.0], [0.0]]),
        np.array([[0.0], [0.0], [2.0 / length]]),
    )
    return fm.FlexibleBodyData.from_integrals(
        "beam",
        mass=mass,
        first_moment=(mass * length / 2.0, 0, 0),
        second_moment=np.diag([mass * length**2 / 3.0, 1e-4, 1e-4]),
        S_bar=S,
        xS=xS,
        SS=SS,
        K_ff=np.array([[8e3]]),
        frames={
            "root": fm.FlexibleFrame.at_node((0, 0, 0), zero),
            "end": fm.FlexibleFrame.at_node((length, 0, 0), one, psi=slope),
        },
    )


def test_flexible_link_replaces_a_rigid_one() -> None:
    """Undeformed it has the terms of the rigid robot; the joints keep their axes on interfaces with
    other axes.
    """
    L, m, twist = 0.5, 1.2, 0.7
    moments = np.diag([2e-4, m * L**2 / 12.0 + 1e-4, m * L**2 / 12.0 + 1e-4])
    c, s = np.cos(twist), np.sin(twist)
    # beam axes to link axes, turned by −α about x
    turn = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]).T
    rows = [
        Link(a=L, alpha=twist, mass=m, com=(-L / 2, 0, 0), inertia=turn @ moments @ turn.T),
        Link(a=0.3, mass=1.0, inertia=(1e-2,) * 3),
    ]
    link = FlexibleLink(
        beam(L, m), {"joint1": "root", "joint2": "end"}, pose=fm.Frame((-L, 0, 0), turn)
    )
    rigid, soft = fm.Robot.from_dh(rows), fm.Robot.from_dh(rows, links={"link1": link})
    q, qd = np.array([0.4, -0.9]), np.array([1.0, 2.0])
    np.testing.assert_allclose(soft.pose(q), rigid.pose(q), atol=1e-14)
    np.testing.assert_allclose(soft.mass_matrix(q), rigid.mass_matrix(q), atol=1e-14)
    np.testing.assert_allclose(
        soft.inverse_dynamics(q, qd, q), rigid.inverse_dynamics(q, qd, q), atol=1e-13
    )
    last = FlexibleLink(beam(L, m), {"joint1": "root", "tool": "end"}, pose=link.pose)
    single = fm.Robot.from_dh(rows[:1], links={"link1": last})
    np.testing.assert_allclose(
        single.pose(q[:1]), fm.Robot.from_dh(rows[:1]).pose(q[:1]), atol=1e-14
    )
    assert fm.matrices(single.model).M.shape == (2, 2)
    found = fm.matrices(soft.model, start=soft.state(q, qd))
    rows_ = [found.velocities.index(name) for name in soft.coordinates]
    assert len(found.velocities) == 3
    np.testing.assert_allclose(found.M[np.ix_(rows_, rows_)], rigid.mass_matrix(q), atol=1e-12)
    load = fm.RigidBody("load", mass=2.0, inertia=(0.0, 0.0, 0.0))
    # on the interface of the tool
    carrying = fm.Robot.from_dh(rows[:1], links={"link1": last}, payload=load)
    np.testing.assert_allclose(
        carrying.mass_matrix(q[:1]),
        fm.Robot.from_dh(rows[:1], payload=load).mass_matrix(q[:1]),
        atol=1e-14,
    )
    with pytest.raises(
        fm.InputError,
        match=r"links.link1: 'joint2' is 0.1 m from interface 'end'; correct pose or frames",
    ):
        fm.Robot.from_dh(
            rows, links={"link1": FlexibleLink(beam(L - 0.1, m), link.frames, pose=link.pose)}
        )
    with pytest.raises(
        fm.InputError,
        match="'joint1' needs an interface, but 'joint1' does not exist; the body has: root",
    ):
        fm.Robot.from_dh(rows, links={"link1": FlexibleLink(beam(L, m))})


def soft_arm(mass: float = 1.2, length: float = 0.5) -> tuple[fm.Robot, fm.Robot]:
    """Two links, rigid and with the first one flexible."""
    moments = (1e-4, 1.2 * 0.25 / 12.0 + 1e-4, 1.2 * 0.25 / 12.0 + 1e-4)
    rows = [
        Link(a=0.5, mass=1.2, com=(-0.25, 0, 0), inertia=moments),
        Link(a=0.3, mass=1.0, inertia=(1e-2,) * 3),
    ]
    link = FlexibleLink(
        beam(length, mass),
        {"joint1": "root", "joint2": "end"},
        pose=fm.Frame((-length, 0, 0)),
        offset=0.2,
    )
    return fm.Robot.from_dh(rows), fm.Robot.from_dh(rows, links={"link1": link})


def test_computed_torque_on_a_flexible_link() -> None:
    """The controller is based on the rigid robot; steps with Newton's method converge and agree
    with explicit ones.
    """
    rigid, soft = soft_arm()
    path = Quintic((0.4, -0.9), (1.4, 0.1), 0.4)
    model = controlled(soft, ComputedTorque(rigid, path, 2500.0, 100.0))
    start = soft.state((0.4, -0.9), (0.0, 0.0))
    exact = fm.simulate(model, t_end=0.12, start=start, integrator="dormand-prince", rtol=1e-9)
    for given in ({}, {"step": 1e-3}):
        found = fm.simulate(model, t_end=0.12, start=start, **given)
        # the beam has no modes outside its basis from which missing reactions could be estimated
        assert {each.title for each in found.audit if each.status != "PASS"} <= {"Truncated modes"}
        assert found.joint("joint1").position[-1, 0] == pytest.approx(
            exact.joint("joint1").position[-1, 0], abs=2e-5
        )


@pytest.mark.parametrize(
    ("mass", "length", "message"),
    [
        (0.3, 0.5, r"links.link1: has 0.3 kg, the rigid link 1.2 kg; correct its density or units"),
        (
            1.2,
            0.65,
            r"links.link1: has its centre of mass at \(-0.325, 0, 0\) m in the frame of "
            r"the link, the rigid one at \(-0.25,",
        ),
    ],
)
def test_flexible_links_of_another_mass_are_reported(
    mass: float, length: float, message: str
) -> None:
    with pytest.warns(fm.ModelWarning, match=message):
        soft_arm(mass, length)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        soft_arm()


def test_payload_is_carried_by_the_tool() -> None:
    load = fm.RigidBody("load", mass=4.0, inertia=(0.0, 0.0, 0.0), com=(0.1, 0.0, 0.0))
    q = np.array([0.3, 0.5])
    weight = arm(payload=load).gravity_forces(q) - arm().gravity_forces(q)
    x = 0.5 * np.cos(0.3), 0.5 * np.cos(0.8)  # tool 0.4, load 0.1 further
    np.testing.assert_allclose(weight, 4.0 * 9.81 * np.array([sum(x), x[1]]), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Quintic(A, (1.0,), 1.0), "q0 and q1: must have the same number of values"),
        (lambda: Quintic(A, B, 0.0), "duration: must be > 0"),
        (lambda: Trapezoid(A, B, rate=0.0, acceleration=1.0), "rate: must be > 0, not 0"),
        (lambda: zero_vibration(-1.0), "shaper: frequency must be > 0 Hz"),
        (lambda: ComputedTorque(puma560(), Quintic(A, B, 1.0), 1.0, 1.0), "path: has 2 coordinates and the robot 6"),
        (lambda: PDGravity(arm(), Quintic(A, B, 1.0), (1.0, -1.0), 1.0), "kp: must be >= 0, not -1"),
        (lambda: controlled(puma560(), PDGravity(arm(), Quintic(A, B, 1.0), 1.0, 1.0)), "controller: its coord"),
        (lambda: Quintic(("0",), (1.0,), 1.0), "q0: must be a number, not '0'"),
        (lambda: Quintic(A, B, 1e300), r"duration: must be within ±1e\+60"),
        (lambda: Quintic(A, B, 1.0, v0=(1.0, 2.0, 3.0)), r"v0: must be one number or 2, not 3 numbers"),
        (lambda: Quintic(A, B, 1.0, a1=np.nan), "a1: must be finite"),
        (lambda: Quintic(A, B, 1.0).at("now"), "t: must be a number"),  # type: ignore[arg-type]
        (lambda: Quintic(A, B, 1.0).table("now"), "times: must be numbers"),
        (lambda: Quintic(A, B, 1.0).tables(0.0), "step: must be > 0"),
        (lambda: Quintic(A, B, 1.0).tables(1e-9), "step: 1e-09 s divides the path of 1 s into more than 1000000 pieces"),
        (lambda: Trapezoid(A, B, rate=(1.0, 1.0, 1.0), acceleration=1.0), "rate: must be one number or 2"),
        (lambda: Trapezoid(A, B, rate="fast", acceleration=1.0), "rate: must be a number or a list of numbers, not 'fast'"),
        (lambda: Trapezoid(A, B, rate=1.0, acceleration=np.inf), "acceleration: must be finite"),
        (lambda: Line(puma560(), np.zeros(6), np.full((4, 4), np.nan), 1.0), "pose: must be finite"),
        (lambda: Line(puma560(), np.zeros(6), 2.0 * np.eye(4) - np.diag((0, 0, 0, 1)), 1.0), "pose: its upper left"),
        (lambda: Line(puma560(), np.zeros((2, 6)), np.eye(4), 1.0), "q0 and pose: must be one state and one matrix"),
        (lambda: Line(puma560(), np.zeros(6), np.eye(4), 1.0, points=3), "points: must be a whole number >= 7, not 3"),
        (lambda: Line(puma560().model, np.zeros(6), np.eye(4), 1.0), "robot: must be of the class Robot"),  # type: ignore[arg-type]
        (lambda: Shaped(STILL, 0.5), "shaper: must be of the class Shaper, not 0.5"),  # type: ignore[arg-type]
        (lambda: Shaped(STILL, Shaper((0.5, 0.5), (0.0,))), "shaper: must have as many times >= 0 as amplitudes"),
        (lambda: Shaped(STILL, Shaper((0.5, 0.4), (0.0, 1.0))), "shaper: must have .* whose sum is 1"),
        (lambda: Shaped(STILL, Shaper((0.5, 0.5), (0.0, -1.0))), "shaper: must have as many times >= 0"),
        (lambda: PDGravity(arm(), Quintic(A, B, 1.0), np.zeros((30, 30)), 1.0), "kp: must be a number or a list of numbers"),
        (lambda: PDGravity(arm(), Quintic(A, B, 1.0), "high", 1.0), "kp: must be a number or a list of numbers, not 'high'"),
        (lambda: PDGravity(arm(), A, 1.0, 1.0), "path: must be of the class Path"),  # type: ignore[arg-type]
        (lambda: controlled(arm(), Quintic(A, B, 1.0)), "controller: must be of the class Controller"),  # type: ignore[arg-type]
        (lambda: Motor(coulomb=(1.0, 2.0)), r"coulomb: must be one number >= 0, or two for motion in \+ and −"),
    ],
)  # fmt: skip
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(fm.InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)
