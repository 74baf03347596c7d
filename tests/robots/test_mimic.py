"""Joints with <mimic>: couplings of the model, against the reduced equations with q = J x + o put
in, and Pinocchio.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm
from flexmbs.robots import model_from_urdf

ORDER = ("lift", "left", "right", "tip")  # tip follows right, which follows left
FACTOR = {"right": (-1.3, 0.2), "tip": (0.4, -0.1)}
J = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.3], [0.0, -0.52]])
O = np.array([0.0, 0.0, 0.2, 0.4 * 0.2 - 0.1])


def link(name: str, mass: float, com: str) -> str:
    inertia = '<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0" iyz="-0.002"/>'
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}"/><mass '
        f'value="{mass}"/>{inertia}</inertial></link>'
    )


def joint(
    name: str, ends: tuple[str, str], place: str, axis: str, mimic: str = "", kind: str = "revolute"
) -> str:
    limit = '<limit lower="-3" upper="3" effort="1" velocity="1"/>'
    parent, child = ends
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="{place}"/><parent '
        f'link="{parent}"/><child link="{child}"/>'
        f'<axis xyz="{axis}"/>{limit}{mimic}</joint>'
    )


def mimic(of: str, name: str) -> str:
    multiplier, offset = FACTOR[name]
    return f'<mimic joint="{of}" multiplier="{multiplier}" offset="{offset}"/>'


def gripper(folder: Path, *, coupled: bool = True, more: str = "") -> Path:
    """A palm on a slide, two fingers, a tip on the right one."""
    text = [
        '<link name="base"/>',
        link("palm", 2.0, "0 0 0.1"),
        link("one", 0.5, "0.1 0 0.2"),
        link("two", 0.6, "-0.1 0.05 0.2"),
        link("three", 0.2, "0 0 0.15"),
        joint("lift", ("base", "palm"), "0 0 1", "0.3 0 1", kind="prismatic"),
        joint("tip", ("two", "three"), "0 0 0.3", "0 1 0.2", mimic("right", "tip")),
        joint("left", ("palm", "one"), "0.1 0 0.2", "0 1 0"),
        joint("right", ("palm", "two"), "-0.1 0 0.2", "0 1 0.1", mimic("left", "right")),
        more,
    ]
    whole = "".join(text)
    file = folder / f"gripper {coupled}.urdf"
    file.write_text(
        f'<robot name="gripper">{whole if coupled else re.sub("<mimic[^>]*>", "", whole)}</robot>'
    )
    return file


def order(robot: fm.Robot) -> list[int]:
    return [robot.coordinates.index(f"{name}.0") for name in ORDER]


@pytest.mark.parametrize("formalism", ["recursive", "embedding"])
def test_the_motion_is_that_of_the_reduced_equations(tmp_path: Path, formalism: str) -> None:
    """JᵀM(q)J ẍ = Jᵀ(τ − h(q, J ẋ)) of the file without <mimic>, under gravity and a torque on the
    first finger.
    """
    tree = fm.Robot.from_urdf(gripper(tmp_path, coupled=False))
    at = order(tree)
    torque = np.array([20.0, -2.5])  # on the slide and the left finger

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        x, xd = y[:2], y[2:]
        q, qd = np.zeros(4), np.zeros(4)
        q[at], qd[at] = J @ x + O, J @ xd
        h = tree.inverse_dynamics(q, qd, 0.0 * q)[at]
        M = tree.mass_matrix(q)[np.ix_(at, at)]
        return np.concatenate([xd, np.linalg.solve(J.T @ M @ J, torque - J.T @ h)])

    times = np.linspace(0.0, 0.5, 11)
    wanted = solve_ivp(rates, (0.0, 0.5), np.zeros(4), t_eval=times, rtol=1e-11, atol=1e-12).y.T
    model = model_from_urdf(gripper(tmp_path))
    for name, value in zip(("lift", "left"), torque):
        model.add(fm.JointTorque(f"on {name}", name, float(value)))
    found = fm.simulate(
        model,
        t_end=0.5,
        output_step=0.05,
        formalism=formalism,
        integrator="dormand-prince",
        rtol=1e-10,
        atol=1e-11,
    )
    for k, name in enumerate(ORDER):
        views = found.joint(name)
        np.testing.assert_allclose(views.position[:, 0], wanted[:, :2] @ J[k] + O[k], atol=2e-8)
        np.testing.assert_allclose(views.velocity[:, 0], wanted[:, 2:] @ J[k], atol=2e-7)


def test_terms_of_the_robot_against_pinocchio(tmp_path: Path) -> None:
    """Nᵀ D N and q̈ of `forward_dynamics` with Pinocchio's mimic joints; terms of the tree are
    those without <mimic>.
    """
    pinocchio = pytest.importorskip("pinocchio")
    file = gripper(tmp_path)
    robot, tree = fm.Robot.from_urdf(file), fm.Robot.from_urdf(gripper(tmp_path, coupled=False))
    # whose mimic joints follow no mimic joints: tip follows left
    flat = tmp_path / "flat.urdf"
    direct = f'<mimic joint="left" multiplier="{J[3, 1]}" offset="{O[3]}"/>'
    flat.write_text(file.read_text().replace(mimic("right", "tip"), direct))
    theirs = pinocchio.buildModelFromUrdf(str(flat), mimic=True)
    data = theirs.createData()
    at, first = order(robot), [theirs.joints[theirs.getJointId(name)].idx_v for name in ORDER[:2]]
    assert robot.coordinates == tree.coordinates
    for x, xd, xdd in np.random.default_rng(3).uniform(-0.6, 0.6, (5, 3, 2)):
        q, qd, qdd = np.zeros((3, 4))
        q[at], qd[at], qdd[at] = J @ x + O, J @ xd, J @ xdd
        y, yd, ydd = np.zeros((3, 2))
        y[first], yd[first], ydd[first] = x, xd, xdd
        M = pinocchio.crba(theirs, data, y)
        M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(first, first)]
        np.testing.assert_allclose(J.T @ robot.mass_matrix(q)[np.ix_(at, at)] @ J, M, atol=1e-12)
        tau = robot.inverse_dynamics(q, qd, qdd)
        np.testing.assert_allclose(tau, tree.inverse_dynamics(q, qd, qdd), atol=1e-13)
        np.testing.assert_allclose(
            J.T @ tau[at], pinocchio.rnea(theirs, data, y, yd, ydd)[first], atol=1e-12
        )
        np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, atol=1e-10)
        # any load along the couplings changes nothing
        carried = np.zeros(4)
        carried[at] = np.linalg.svd(J.T)[2][2]
        np.testing.assert_allclose(
            robot.forward_dynamics(q, qd, tau + 3.0 * carried), qdd, atol=1e-10
        )
        np.testing.assert_allclose(
            fm.matrices(robot.model, start=robot.state(q, qd)).M, robot.mass_matrix(q), atol=1e-12
        )


def test_initial_positions_follow(tmp_path: Path) -> None:
    model = model_from_urdf(gripper(tmp_path))
    assert [model.joints[name].initial_position[0] for name in ORDER] == pytest.approx(list(O))
    assert list(model.couplings) == ["tip", "right"]
    model.save(tmp_path / "model.toml")
    assert fm.load(tmp_path / "model.toml") == model
    still = '<link name="four"/>' + joint(
        "rest", ("palm", "four"), "0 0 0", "1 0 0", '<mimic joint="left" multiplier="0"/>'
    )
    held = model_from_urdf(gripper(tmp_path, more=still)).couplings["rest"]
    assert dict(held.factors) == {"rest": 1.0}


def test_inverse_kinematics_obeys_the_couplings(tmp_path: Path) -> None:
    robot = fm.Robot.from_urdf(gripper(tmp_path), tool="palm")
    at = order(robot)
    q = np.zeros(4)
    q[at] = J @ (0.4, 0.0) + O
    found = robot.inverse_kinematics(robot.pose(q))
    assert found.success
    solved = found.q[at]
    assert solved[0] == pytest.approx(0.4)
    np.testing.assert_allclose(solved, J @ solved[:2] + O, atol=1e-14)
    with pytest.raises(
        fm.InputError,
        match=r"moved by coupled coordinates, right\.0, tip\.0; choose a frame closer to the base",
    ):
        robot.inverse_kinematics(robot.pose(q), "three")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ('<mimic joint="b"/>', "joint 'a'.mimic: follows itself, a → b → a; remove one <mimic>"),
        (
            '<mimic joint="f"/>',
            "joint 'a'.mimic: joint 'f' is fixed; only revolute, continuous, prismatic "
            "joints can be coupled",
        ),
    ],
)
def test_what_cannot_be_coupled(tmp_path: Path, more: str, problem: str) -> None:
    ends = (
        '<parent link="0"/><child link="1"/>',
        '<parent link="1"/><child link="2"/>',
        '<parent link="2"/><child link="3"/>',
    )
    kinds = (
        ("a", "continuous", more),
        ("b", "continuous", '<mimic joint="a"/>'),
        ("f", "fixed", ""),
    )
    text = "".join(
        f'<joint name="{n}" type="{k}">{e}{m}</joint>' for (n, k, m), e in zip(kinds, ends)
    )
    file = tmp_path / "r.urdf"
    file.write_text(
        f'<robot name="r">{"".join(link(str(i), 1.0, "0 0 0.1") for i in range(4))}{text}</robot>'
    )
    with pytest.raises(fm.InputError) as error:
        model_from_urdf(file)
    assert problem in str(error.value)


def test_couplings_that_depend_on_time_are_no_part_of_a_robot() -> None:
    model = fm.Model("arm")
    body = model.add(fm.RigidBody("b", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Revolute("hinge", model.ground, body, axis="z"))
    model.add(fm.LinearCoupling("c", {"hinge": 1.0}, offset=fm.Ramp(0.0, 1.0)))
    with pytest.raises(fm.InputError, match=r"couplings\.c\.offset: depends on time"):
        fm.Robot(model)


def test_gears_of_a_model_take_part_too() -> None:
    """A coupling without offset keeps the initial position; two wheels geared 2 : 1 with moments of
    inertia 1 and 3.
    """
    model = fm.Model("wheels", gravity=(0, 0, 0))
    for name, inertia, start in (("a", 1.0, 0.3), ("b", 3.0, 0.1)):
        wheel = model.add(fm.RigidBody(name, mass=1.0, inertia=(inertia,) * 3))
        model.add(fm.Revolute(f"of {name}", model.ground, wheel, axis="z", q0=start))
    model.add(fm.Gear("gear", "of a", "of b", ratio=2.0))
    robot = fm.Robot(model)
    tau = np.array([1.0, 0.5])
    # q_a = −2 q_b + 0.5: (4·1 + 3) q̈_b = −2 τ_a + τ_b
    np.testing.assert_allclose(
        robot.forward_dynamics((0.3, 0.1), (0, 0), tau),
        np.array([-2.0, 1.0]) * (-1.5 / 7.0),
        atol=1e-14,
    )
    np.testing.assert_allclose(fm.matrices(model).G @ (-2.0, 1.0), 0.0, atol=1e-15)
