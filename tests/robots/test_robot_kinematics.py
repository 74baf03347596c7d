"""Poses, Jacobians, manipulability and Denavit–Hartenberg conventions."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.motions import FixedRotation, FixedTranslation, Rotate, Slide
from flexmbs.robots import Link, puma560

STEP = 1e-6


def rot(axis: int, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    A = np.eye(4)
    A[i, i], A[i, j], A[j, i], A[j, j] = c, -s, s, c
    return A


def trans(axis: int, way: float) -> np.ndarray:
    A = np.eye(4)
    A[axis, 3] = way
    return A


ROWS = [
    Link(0.1, 0.3, 0.2, 0.5),
    Link(0.4, -0.7, 0.05, -0.2, joint="prismatic"),
    Link(0.2, 1.1, -0.1, 0.9),
]
Q = np.array([0.7, 0.3, -1.2])


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_transforms_are_the_products_of_the_table(convention: str) -> None:
    robot = fm.Robot.from_dh(
        ROWS, convention, base=fm.Frame((0.1, 0.2, 0.3), ("y", 0.4)), tool=(0.0, 0.0, 0.1)
    )
    found = robot.transforms(Q)
    total = trans(0, 0.1) @ trans(1, 0.2) @ trans(2, 0.3) @ rot(1, 0.4)
    for i, row in enumerate(ROWS):
        turn, slide = (
            (row.theta, row.d + Q[i]) if row.joint == "prismatic" else (row.theta + Q[i], row.d)
        )
        z, x = rot(2, turn) @ trans(2, slide), rot(0, row.alpha) @ trans(0, row.a)
        A = z @ x if convention == "standard" else x @ z
        np.testing.assert_allclose(found[f"link{i + 1}"], A, atol=1e-14)
        total = total @ A
    np.testing.assert_allclose(robot.pose(Q), total @ trans(2, 0.1), atol=1e-14)


@pytest.mark.parametrize("angles", ["ZYX", "ZYZ", "XYZ"])
def test_jacobians_are_derivatives_of_the_pose(angles: str) -> None:
    from scipy.spatial.transform import Rotation

    puma = puma560()
    q = np.array([0.3, -0.4, 0.6, 0.7, 0.8, -0.5])

    def numbers(q: np.ndarray) -> np.ndarray:
        X = puma.pose(q, "link5")
        return np.concatenate([X[:3, 3], Rotation.from_matrix(X[:3, :3]).as_euler(angles)])

    slopes = np.array(
        [(numbers(q + STEP * e) - numbers(q - STEP * e)) / (2.0 * STEP) for e in np.eye(6)]
    ).T
    np.testing.assert_allclose(puma.analytic_jacobian(q, "link5", angles=angles), slopes, atol=1e-8)
    R = puma.pose(q, "link5")[:3, :3]
    for k, e in enumerate(np.eye(6)):
        turned = (
            Rotation.from_matrix(puma.pose(q + STEP * e, "link5")[:3, :3] @ R.T).as_rotvec() / STEP
        )
        np.testing.assert_allclose(puma.jacobian(q, "link5")[3:, k], turned, atol=1e-5)


def test_manipulability_of_two_links() -> None:
    """l1 l2 |sin q2|, Yoshikawa (1985)."""
    arm = fm.Robot.from_dh([(0.5, 0.0, 0.0, 0.0), (0.3, 0.0, 0.0, 0.0)])
    q = np.random.default_rng(1).uniform(-3.0, 3.0, (20, 2))
    np.testing.assert_allclose(
        arm.manipulability(q, part="translation"), 0.15 * np.abs(np.sin(q[:, 1])), atol=1e-12
    )


def test_positions_only_leave_the_rotation_free() -> None:
    arm = fm.Robot.from_dh([(0.5, 0.0, 0.0, 0.0), (0.3, 0.0, 0.0, 0.0)])
    wanted = np.eye(4)
    wanted[:3, 3] = (0.4, 0.5, 0.0)
    found = arm.inverse_kinematics(wanted, turned=False)
    assert found.success
    np.testing.assert_allclose(arm.pose(found.q)[:3, 3], (0.4, 0.5, 0.0), atol=1e-10)
    assert not arm.inverse_kinematics(wanted, starts=2).success


def test_tree_with_a_screw_and_a_child_that_is_the_parent() -> None:
    """Terms of an odd tree against those of its model: branches, a chain joint, a joint declared
    from its child.
    """
    model = fm.Model("tree", gravity=(1.0, 2.0, -9.0))
    trunk = model.add(
        fm.RigidBody(
            "trunk",
            mass=2.0,
            inertia=(0.3, 0.2, 0.25),
            com=(0.1, 0.2, 0.0),
            frames={"top": (0.0, 0.3, 0.1)},
        )
    )
    left = model.add(
        fm.RigidBody(
            "left",
            mass=1.0,
            inertia=(0.1, 0.1, 0.15),
            com=(0.0, 0.2, 0.1),
            frames={"root": (0.1, 0.0, 0.0)},
        )
    )
    right = model.add(
        fm.RigidBody("right", mass=1.5, inertia=(0.1, 0.2, 0.15), com=(0.3, 0.0, 0.0))
    )
    model.add(fm.RigidBody("tip", mass=0.5, inertia=(0.01, 0.01, 0.01), com=(0.1, 0.0, 0.0)))
    model.add(fm.Screw("lift", model.ground, trunk, axis="z", pitch=0.1))
    model.add(fm.Universal("shoulder", left["root"], trunk["top"]))
    chain = (
        Slide("x"),
        FixedTranslation((0.2, 0.1, 0.0)),
        FixedRotation("y", 0.4),
        Rotate((1.0, 1.0, 0.0)),
    )
    model.add(fm.Chain("arm", trunk["top"], right, motions=chain))
    model.add(fm.Fixed("grip", right, "tip"))
    robot = fm.Robot(model)
    q, qd = np.random.default_rng(2).uniform(-1.0, 1.0, (2, 5))
    found = fm.matrices(model, start=robot.state(q, qd))
    order = [found.velocities.index(name) for name in robot.coordinates]
    np.testing.assert_allclose(robot.mass_matrix(q), found.M[np.ix_(order, order)], atol=1e-12)
    np.testing.assert_allclose(
        robot.coriolis_matrix(q, qd) @ qd + robot.gravity_forces(q), -found.k[order], atol=1e-11
    )


def test_transforms_of_a_joint_declared_from_its_child() -> None:
    """Each body in the frame of its supporting body, whichever
    of them is the parent of the joint.
    """
    model = fm.Model("tree")
    trunk = model.add(
        fm.RigidBody("trunk", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"top": (0.0, 0.0, 2.0)})
    )
    arm = model.add(fm.RigidBody("arm", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Revolute("turn", model.ground, trunk, axis="z"))
    model.add(fm.Prismatic("slide", arm, trunk["top"], axis="x"))
    found = fm.Robot(model).transforms((0.3, 0.5))
    np.testing.assert_allclose(found["trunk"], rot(2, 0.3), atol=1e-15)
    np.testing.assert_allclose(found["arm"], trans(2, 2.0) @ trans(0, -0.5), atol=1e-15)


def test_inverse_kinematics_without_coordinates_or_with_far_limits() -> None:
    model = fm.Model("stand")
    model.add(
        fm.Fixed(
            "screws",
            model.ground,
            model.add(fm.RigidBody("plate", mass=1.0, inertia=(1.0, 1.0, 1.0))),
        )
    )
    plate = fm.Robot(model)
    assert plate.inverse_kinematics(np.eye(4)).success
    assert not plate.inverse_kinematics(trans(0, 1.0), starts=2).success
    swing = fm.Robot.from_dh([(0.5, 0.0, 0.0, 0.0)])
    free = fm.Robot(swing.model, limits={"joint1": (-1e308, 1e308)})
    wanted = free.pose([2.9])
    np.testing.assert_allclose(free.pose(free.inverse_kinematics(wanted).q), wanted, atol=1e-10)


def test_base_and_tool_as_matrices() -> None:
    base, tool = rot(0, 0.3) @ trans(1, 0.4), trans(2, 0.1) @ rot(1, -0.7)
    found = fm.Robot.from_dh(ROWS, base=base, tool=tool).pose(Q)
    np.testing.assert_allclose(found, base @ fm.Robot.from_dh(ROWS).pose(Q) @ tool, atol=1e-14)


def test_what_is_no_robot() -> None:
    model = fm.Model("loop")
    body = model.add(
        fm.RigidBody("bar", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"end": (1.0, 0.0, 0.0)})
    )
    model.add(fm.Free("float", model.ground, body))
    with pytest.raises(fm.InputError, match="joint 'float': robot terms need single"):
        fm.Robot(model)
    model.add(fm.Revolute("hinge", model.ground, body["end"]))
    with pytest.raises(fm.InputError, match="closes a loop"):
        fm.Robot(model)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fm.Robot.from_dh([]), "table: must be a list of rows"),
        (lambda: fm.Robot.from_dh([(1.0, 2.0, 3.0)]), "table row 1: must be a Link, a table of its fields or the 4 numbers"),
        (lambda: fm.Robot.from_dh([(0, 0, 0, 0), {"alfa": 2.0}]), r"table row 2: alfa: unknown key; did you mean 'alpha'"),
        (lambda: fm.Robot.from_dh([(0, 0, 0, float("nan"))]), "table row 1: theta: must be finite"),
        (lambda: fm.Robot.from_dh(ROWS, "craig"), "convention: must be 'standard' or 'modified', not 'craig'"),
        (lambda: Link(joint="ball"), "^Link.joint: must be 'revolute' or 'prismatic', not 'ball'"),
        (lambda: Link(limits=(1.0, -1.0)), "limits: must be two numbers, lower and upper"),
        (lambda: Link(mass=1.0, inertia=(1.0, 1.0, 3.0)), "inertia: not physical"),
        (lambda: fm.Robot.from_dh(ROWS).pose([0.0, 1.0]), "q: must have 3 coordinates on its last axis, one per joint, not"),
        (lambda: fm.Robot.from_dh(ROWS).pose(Q, "link7"), "frame 'link7' is not on the robot; did you mean"),
        (lambda: fm.Robot.from_dh(ROWS).analytic_jacobian(Q, angles="ZZX"), "angles: must be three of X, Y, Z"),
        (lambda: puma560().analytic_jacobian(np.zeros(6), angles="ZYZ"), "angles: ZYZ are singular in this position"),
        (lambda: puma560().inverse_kinematics(np.diag((1, 1, 2, 1))), "pose: its upper left 3×3 part must be a rotation matrix"),
        (lambda: fm.Robot.from_dh(ROWS, links={"link9": "a.h5"}), "links: no link 'link9'; did you mean"),
        (lambda: fm.Robot.from_dh(ROWS, links={1: "a.h5"}), "links: no link 1; known: link1"),
        (lambda: fm.Robot.from_dh(ROWS, links=["link1"]), "links: must be a mapping"),
        (lambda: fm.Robot.from_dh(np.zeros((2, 3))), "table row 1: must be a Link"),
        (lambda: Link(name="a/b"), "name: a name must not contain '/'"),
        (lambda: fm.Robot("puma.toml"), "model: must be of the class Model, not 'puma.toml'"),  # type: ignore[arg-type]
        (lambda: limited((1.0,)), "limits.joint1: must be two numbers, lower and upper"),
        (lambda: limited((1.0, -1.0)), "limits.joint1: must be two numbers, lower and upper"),
        (lambda: limited(("a", "b")), "limits.joint1: must be numbers"),
        (lambda: limited((np.nan, 1.0)), "limits.joint1: must be two numbers"),
        (lambda: fm.Robot(puma560().model, limits={"elbow": (0, 1)}), "limits: joint 'elbow' is not in the model"),
        (lambda: fm.Robot(puma560().model, motors={"joint1": 3.0}), "motors.joint1: must be of the class Motor"),
        (lambda: fm.Robot(puma560().model, motors=[3.0]), "motors: must be of the class Mapping"),
        (lambda: fm.Robot(puma560().model, frames=[3.0]), "frames: must be of the class Mapping"),
        (lambda: fm.Robot.from_dh(ROWS, base=np.zeros((4, 4))), "pose: its last row must be 0 0 0 1"),
        (lambda: fm.Robot.from_dh(ROWS).pose(["1", "2", "3"]), "q: must be numbers"),
        (lambda: fm.Robot.from_dh(ROWS).pose(Q + 1j), "q: must be numbers"),
        (lambda: fm.Robot.from_dh(ROWS).coriolis_matrix(np.zeros((3, 3)), np.zeros((2, 3))), "q, qd and qdd or tau: numbers"),
        (lambda: fm.Robot.from_dh(ROWS).manipulability(Q, part=["all"]), "part: must be one of all, translation"),
        (lambda: inverse(np.eye(4) * 2.0 - np.diag((1.0, 1.0, 1.0, 0.0))), "pose: its last row must be 0 0 0 1"),
        (lambda: inverse(start=np.zeros((5, 3))), "start: must be one state or one per pose"),
        (lambda: inverse(starts=0), "starts: must be a whole number >= 1, not 0"),
        (lambda: inverse(starts=2.5), "starts: must be a whole number"),
        (lambda: inverse(iterations="many"), "iterations: must be a whole number"),
        (lambda: inverse(tolerance=0.0), "tolerance: must be > 0"),
        (lambda: inverse(tolerance="fine"), "tolerance: must be a number"),
        (lambda: inverse(turned="no"), "turned: must be true or false"),
        (lambda: inverse(seed=-1), "seed: must be a whole number"),
    ],
)  # fmt: skip
def test_bad_input(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(fm.InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def limited(pair: object) -> fm.Robot:
    return fm.Robot(fm.Robot.from_dh(ROWS).model, limits={"joint1": pair})  # type: ignore[dict-item]


def inverse(pose: object = np.eye(4), **more: object) -> object:
    return fm.Robot.from_dh(ROWS).inverse_kinematics(pose, **more)  # type: ignore[arg-type]


def test_a_table_may_be_an_array() -> None:
    table = np.array([(0.5, 0.3, 0.1, 0.2), (0.3, 0.0, 0.0, 0.0)])
    q = (0.4, -0.7)
    np.testing.assert_array_equal(
        fm.Robot.from_dh(table).pose(q), fm.Robot.from_dh([*map(tuple, table)]).pose(q)
    )


def test_forward_dynamics_without_mass_names_the_joint() -> None:
    rows = [Link(0.5, mass=1.0, inertia=(0.1, 0.1, 0.1)), Link(0.3)]
    with pytest.raises(
        fm.SolverError, match=r"D is singular, joint2\.0 moves no mass; give its links mass"
    ):
        fm.Robot.from_dh(rows).forward_dynamics((0.1, 0.2), (0.0, 0.0), (1.0, 1.0))
    rows[1] = Link(0.3, mass=1.0, com=(-0.3, 0.0, 0.0))  # a mass on the axis of the joint
    with pytest.raises(fm.SolverError, match=r"D is singular, joint2\.0 moves no mass"):
        fm.Robot.from_dh(rows).forward_dynamics(np.full((3, 2), 0.7), (0.0, 0.0), (1.0, 1.0))
