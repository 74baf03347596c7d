"""Robots from URDF files: the KUKA LBR iiwa of Drake's tests, Pinocchio on the same file, invalid
files.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.files.xml_tree import DEEPEST
from flexmbs.robots import Motor, model_from_urdf
from flexmbs.robots.urdf_read import read_urdf

FILE = Path(__file__).parent / "data" / "iiwa.urdf"
BENT = np.radians([60.0, 30.0, 60.0, 30.0, 60.0, 30.0, 60.0])


@pytest.fixture(scope="module")
def iiwa() -> fm.Robot:
    return fm.Robot.from_urdf(FILE)


def test_iiwa_as_in_the_benchmark(iiwa: fm.Robot) -> None:
    """Drake's MotionGenesis benchmark (BSD-3): position to all digits; torques from an independent
    recursive evaluation.
    """
    pose = iiwa.pose(BENT, "link7")
    np.testing.assert_allclose(
        pose[:3, 3], (0.2970356451892219, 0.1727696964662288, 1.154681973689345), atol=1e-15
    )
    first = (-0.5939002959880229, 0.8043869080239552, -0.015625000000000187)
    np.testing.assert_allclose(pose[0, :3], first, atol=1e-15)
    gravity = (
        0.0,
        -33.92939760238633,
        -4.858966393519989,
        -4.406252126063217,
        0.36232707403429004,
        -0.022780341623847396,
        0.0,
    )
    np.testing.assert_allclose(iiwa.gravity_forces(BENT), gravity, atol=1e-13)
    spin = 1000.0 * np.eye(7)[6]
    found = iiwa.inverse_dynamics(np.zeros(7), np.zeros(7), spin)
    np.testing.assert_allclose(found, (1.0, 0.02212155, 1.0, -0.0034335, 1.0, 0.0, 1.0), atol=1e-14)
    rates, growth = (0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7), (1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0)
    full = (
        1.9366448327737524,
        -35.30937955034325,
        -5.1743052779245025,
        -5.855465426698118,
        0.45498419128325657,
        0.013780755377075208,
        0.010336700794995012,
    )
    np.testing.assert_allclose(iiwa.inverse_dynamics(BENT, rates, growth), full, atol=1e-13)


def test_iiwa_terms_are_those_of_the_model(iiwa: fm.Robot) -> None:
    q, qd = np.random.default_rng(3).uniform(-1.5, 1.5, (2, 7))
    found = fm.matrices(iiwa.model, start=iiwa.state(q, qd))
    np.testing.assert_allclose(iiwa.mass_matrix(q), found.M, atol=1e-12)
    np.testing.assert_allclose(
        iiwa.coriolis_matrix(q, qd) @ qd + iiwa.gravity_forces(q), -found.k, atol=1e-12
    )


def test_iiwa_inverse_kinematics_returns(iiwa: fm.Robot) -> None:
    low, high = iiwa.limits.T
    wanted = iiwa.pose(np.random.default_rng(8).uniform(low, high, (50, 7)))
    found = iiwa.inverse_kinematics(wanted)
    assert found.success.all()
    assert ((found.q >= low) & (found.q <= high)).all()
    np.testing.assert_allclose(iiwa.pose(found.q), wanted, atol=1e-10)


def test_pinocchio_on_the_same_file(iiwa: fm.Robot) -> None:
    pinocchio = pytest.importorskip("pinocchio")
    model = pinocchio.buildModelFromUrdf(str(FILE))
    data = model.createData()
    for q, qd, qdd in np.random.default_rng(4).uniform(-1.5, 1.5, (20, 3, 7)):
        np.testing.assert_allclose(
            iiwa.inverse_dynamics(q, qd, qdd), pinocchio.rnea(model, data, q, qd, qdd), atol=1e-11
        )
        np.testing.assert_allclose(
            iiwa.coriolis_matrix(q, qd),
            pinocchio.computeCoriolisMatrix(model, data, q, qd),
            atol=1e-11,
        )


def test_links_without_inertia_are_frames(iiwa: fm.Robot) -> None:
    assert "tool0" not in iiwa.model.bodies
    assert str(iiwa.tool) == "link7/tool0"
    way = iiwa.pose(BENT, "tool0")[:3, 3] - iiwa.pose(BENT, "link7")[:3, 3]
    np.testing.assert_allclose(way, 0.045 * iiwa.pose(BENT)[:3, 2], atol=1e-15)


def test_other_joints_become_joints_of_the_model(tmp_path: Path) -> None:
    file = tmp_path / "cart.urdf"
    file.write_text(
        robot(
            *(link(name) for name in ("cart", "mast", "boom", "hook", "hat")),
            '<link name="world"/>',
            joint("drive", "planar", "world", "cart", '<axis xyz="0 0 1"/>'),
            joint(
                "lift",
                "prismatic",
                "cart",
                "mast",
                '<axis xyz="0 0 2"/><limit lower="0" upper="1.5"/>',
            ),
            joint(
                "slew",
                "continuous",
                "mast",
                "boom",
                '<axis xyz="0 0 1"/><dynamics damping="0.5" friction="2"/>',
            ),
            joint("rope", "floating", "boom", "hook"),
            joint("glue", "fixed", "mast", "hat"),
        )
    )
    with pytest.raises(
        fm.InputError,
        match="joint 'rope': robot terms need single rotations and translations",
    ):
        fm.Robot.from_urdf(file)
    free = model_from_urdf(file, base="floating")
    assert free.joints["rope"].kind == "free"
    assert "world base" in free.joints  # the root, which has no mass of its own
    text = file.read_text().replace('type="floating"', 'type="fixed"')
    file.write_text(text)
    crane = fm.Robot.from_urdf(file)
    assert {name: found.kind for name, found in crane.model.joints.items()} == {
        "drive": "planar",
        "lift": "prismatic",
        "slew": "revolute",
        "rope": "fixed",
        "glue": "fixed",
    }
    assert crane.coordinates == ("drive.0", "drive.1", "drive.2", "lift.0", "slew.0")
    np.testing.assert_allclose(crane.limits[3], (0.0, 1.5))
    np.testing.assert_allclose(crane.friction((0, 0, 0, 0, -2.0)), (0, 0, 0, 0, -3.0))
    np.testing.assert_allclose(
        crane.pose((0.3, 0.2, 0.1, 0.5, 0.0), "mast")[:3, 3], (0.3, 0.2, 0.5), atol=1e-15
    )


def robot(*elements: str, head: str = "") -> str:
    return f'<?xml version="1.0"?>{head}<robot name="r">\n' + "\n".join(elements) + "\n</robot>"


def link(name: str, more: str = "") -> str:
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    return f'<link name="{name}"><inertial><mass value="1"/>{inertia}</inertial>{more}</link>'


def joint(name: str, kind: str, parent: str, child: str, more: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child '
        f'link="{child}"/>{more}</joint>'
    )


def mesh(name: str) -> str:
    return f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'


def visual(shape: str, more: str = "") -> str:
    return f"<visual>{more}<geometry>{shape}</geometry></visual>"


AB, CD = (link("a"), link("b")), (link("c"), link("d"))
FIXED = joint("j", "fixed", "a", "b")
BOMB = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
WRONG = {
    "document type": (
        robot(*AB, FIXED, head=BOMB),
        r":1: declares a document type \(DTD\); entities are not read",
    ),
    "external entity": (
        robot(*AB, FIXED, head='<!DOCTYPE r SYSTEM "file:///etc/passwd">'),
        "declares a document type",
    ),
    "undefined entity": (
        robot(*AB, joint("&a;", "fixed", "a", "b")),
        ":4: is not XML: undefined entity",
    ),
    "not closed": ("<robot><link name='a'>", ":1: is not XML"),
    "empty": ("", "is not XML: no element found"),
    "deep": (
        "<robot>" + "<a>" * DEEPEST + "</a>" * DEEPEST + "</robot>",
        f"more than {DEEPEST} levels",
    ),
    "other root": ("<model/>", ":1: the root element must be <robot>, not <model>"),
    "no links": (robot(), "has no <link>"),
    "no mass at all": (robot('<link name="a"/>'), "model 'r': has no bodies; add a link with mass"),
    "macro": (
        robot('<xacro:include filename="a"/>').replace("<robot", '<robot xmlns:xacro="x"'),
        "expand the file with xacro",
    ),
    "missing link": (
        robot(AB[0], joint("j", "fixed", "a", "c")),
        ":3: joint 'j'.child: there is no link 'c'",
    ),
    "link twice": (robot(AB[0], AB[0]), "link 'a' is defined twice, first in line 2"),
    "two parents": (
        robot(*AB, FIXED, link("c"), joint("k", "fixed", "c", "b")),
        "link 'b' has two parents",
    ),
    "ring": (
        robot(*AB, FIXED, *CD, joint("k", "fixed", "c", "d"), joint("m", "fixed", "d", "c")),
        "c → d → c form",
    ),
    "two roots": (robot(*AB), "2 links have no parent: a, b; join them to one"),
    "joint type": (
        robot(*AB, joint("j", "ball", "a", "b")),
        "joint 'j': type 'ball' is unknown; must be one of revolute",
    ),
    "mimic": (
        robot(*AB, joint("j", "continuous", "a", "b", '<mimic joint="j"/>')),
        "'j'.mimic: follows itself, j → j",
    ),
    "mimic of none": (
        robot(*AB, joint("j", "continuous", "a", "b", '<mimic joint="k"/>')),
        "'j'.mimic: there is no joint 'k'",
    ),
    "mimic's factor": (
        robot(*AB, joint("j", "continuous", "a", "b", '<mimic joint="j" multiplier="x"/>')),
        "mimic.multiplier:",
    ),
    "long name": (robot(link(101 * "x")), "<link>.name: a name must have 1 to 100"),
    "box": (
        robot(link("a", visual('<box size="1 2"/>'))),
        "link 'a'.visual.box.size: must be 3 numbers, not '1 2'",
    ),
    "colour": (
        robot(link("a", visual("", '<material name="m"><color rgba="red"/></material>'))),
        "rgba: must be 4 numbers",
    ),
    "no parent": (
        robot(*AB, '<joint name="j" type="fixed"><child link="b"/></joint>'),
        "joint 'j': <parent> is missing",
    ),
    "no limits": (robot(*AB, joint("j", "revolute", "a", "b")), "joint 'j': <limit> is missing"),
    "limits": (
        robot(*AB, joint("j", "prismatic", "a", "b", '<limit lower="1" upper="0"/>')),
        "lower = 1 is above upper = 0",
    ),
    "axis": (
        robot(*AB, joint("j", "continuous", "a", "b", '<axis xyz="0 0 0"/>')),
        ".axis.xyz: the axis has zero length",
    ),
    "numbers": (
        robot(*AB, joint("j", "fixed", "a", "b", '<origin xyz="0 zero 0"/>')),
        "joint 'j'.origin.xyz: must be numbers",
    ),
    "not finite": (
        robot(*AB, joint("j", "fixed", "a", "b", '<origin xyz="0 nan 0"/>')),
        "must be finite",
    ),
    "no mass": (
        robot(AB[0].replace('<mass value="1"/>', "")),
        "link 'a'.inertial: <mass> is missing",
    ),
    "negative mass": (
        robot(AB[0].replace('mass value="1"', 'mass value="-1"'), AB[1], FIXED),
        "'a'.inertial.mass: must be >= 0",
    ),
    "Python's numbers": (
        robot(AB[0].replace('mass value="1"', 'mass value="1_0"'), AB[1], FIXED),
        "must be a number, not '1_0'",
    ),
    "effort": (
        robot(*AB, joint("j", "continuous", "a", "b", '<limit effort="x"/>')),
        "joint 'j'.limit.effort: must be a number",
    ),
    "velocity": (
        robot(*AB, joint("j", "continuous", "a", "b", '<limit velocity="-1"/>')),
        "velocity: must be >= 0, not -1",
    ),
    "mesh": (robot(link("a", mesh("package://../../x.stl"))), "mesh 'package://../../x.stl'"),
    "mesh of the net": (robot(link("a", mesh("http://x.org/x.stl"))), "is a URL; only files"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_are_rejected_in_one_line(case: str, tmp_path: Path) -> None:
    text, message = WRONG[case]
    file = tmp_path / "robot.urdf"
    file.write_text(text)
    with pytest.raises(fm.InputError, match=message) as error:
        fm.Robot.from_urdf(file)
    assert len(error.value.problems) == 1
    assert "\n" not in str(error.value)
    assert case == "no mass at all" or "robot.urdf" in str(error.value)


def test_all_problems_of_a_file_at_once(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(
        robot(
            link("a"),
            joint("j", "ball", "a", "c", '<axis xyz="1"/>'),
            joint("k", "fixed", "b", "a"),
        )
    )
    with pytest.raises(fm.InputError) as error:
        fm.Robot.from_urdf(file)
    assert len(error.value.problems) == 4


def test_a_link_and_a_joint_of_one_name(tmp_path: Path) -> None:
    """Links and joints have separate names: here a camera on the arm, and another joint named like
    it.
    """
    file = tmp_path / "robot.urdf"
    file.write_text(
        robot(
            link("a"),
            '<link name="cam"/>',
            link("b"),
            link("cam joint"),
            joint("glue", "fixed", "a", "cam", '<origin xyz="1 0 0"/>'),
            joint("cam", "continuous", "a", "b", '<origin xyz="2 0 0"/>'),
            joint(
                "a",
                "prismatic",
                "cam",
                "cam joint",
                '<origin xyz="0 3 0"/><limit lower="0" upper="1"/>',
            ),
        )
    )
    found = fm.Robot.from_urdf(file)
    places = [found.pose((0.0, 0.0), name)[:3, 3] for name in ("cam", "b", "cam joint")]
    np.testing.assert_allclose(places, [(1, 0, 0), (2, 0, 0), (1, 3, 0)], atol=1e-15)


def test_limits_of_motors(iiwa: fm.Robot, tmp_path: Path) -> None:
    np.testing.assert_array_equal(iiwa.effort_limits, [300.0] * 7)
    np.testing.assert_array_equal(iiwa.rate_limits, [10.0] * 7)
    file = tmp_path / "robot.urdf"
    file.write_text(robot(*AB, joint("j", "continuous", "a", "b", '<limit velocity="2.5"/>')))
    found = fm.Robot.from_urdf(file)
    assert (found.rate_limits, found.effort_limits) == ([2.5], [np.inf])
    geared = fm.Robot(found.model, motors={"j": Motor(gear=-50.0, rate=300.0, torque=0.2)})
    np.testing.assert_allclose((geared.rate_limits, geared.effort_limits), ([6.0], [10.0]))
    with pytest.raises(fm.InputError, match=r"Motor\.torque: must be >= 0, not -1"):
        Motor(torque=-1.0)


def test_friction_of_fixed_joints_is_none(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    more = '<dynamics damping="1" friction="1"/>'
    file.write_text(
        robot(
            *AB,
            link("c"),
            joint("j", "fixed", "a", "b", more),
            joint("k", "continuous", "b", "c", more),
        )
    )
    assert list(fm.Robot.from_urdf(file).motors) == ["k"]


def test_long_chains_are_read_in_time(tmp_path: Path) -> None:
    """Reading time is linear in the number of links: 5000 links, with a closed ring that is
    detected.
    """
    file, n = tmp_path / "robot.urdf", 5_000
    joints = [joint(f"j{i}", "fixed", f"l{i}", f"l{i + 1}") for i in range(n - 1)]
    links = [f'<link name="l{i}"/>' for i in range(n)]
    file.write_text(robot(*links, *joints))
    begun = time.process_time()
    assert read_urdf(file).outward()[-1] == f"l{n - 1}"
    file.write_text(robot(*links, *joints, joint("back", "fixed", f"l{n - 1}", "l0")))
    with pytest.raises(
        fm.InputError, match=r"links l0 → l4999 → .* → l0 form a closed ring"
    ) as error:
        read_urdf(file)
    assert len(str(error.value)) < 500
    assert time.process_time() - begun < 10.0  # cubic growth took minutes


def test_outside_is_a_plain_yes_or_no() -> None:
    with pytest.raises(fm.InputError, match="allow_outside: must be true or false, not 'no'"):
        fm.Robot.from_urdf(FILE, allow_outside="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("path", [3, None, "a\0b"])
def test_paths_that_are_none(path: Any) -> None:
    with pytest.raises(fm.InputError, match="path: must be a file path, not"):
        fm.Robot.from_urdf(path)


def test_a_missing_and_a_huge_file(tmp_path: Path) -> None:
    with pytest.raises(fm.InputError, match="cannot be read: No such file"):
        fm.Robot.from_urdf(tmp_path / "none.urdf")
    huge = tmp_path / "huge.urdf"
    with huge.open("wb") as file:
        file.truncate(30_000_000)
    with pytest.raises(fm.InputError, match="larger than 20 MB"):
        fm.Robot.from_urdf(huge)
