"""SDF files: poses, frames and axes against hand-made transformations, the same robot as URDF,
closed forms, wrong files.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.robots import model_from_urdf

pytestmark = pytest.mark.filterwarnings("ignore:.*left out:flexmbs.ModelWarning")
INERTIAL = """<inertial><pose>0.02 0.01 -0.3 0.1 0.2 0.3</pose><mass>2</mass>
  <inertia><ixx>0.1</ixx><iyy>0.12</iyy><izz>0.05</izz><ixy>0.01</ixy><ixz>-0.005</ixz><iyz>0.002</iyz></inertia></inertial>"""


def written(folder: Path, text: str, version: str = "1.11", name: str = "robot.sdf") -> Path:
    file = folder / name
    file.write_text(f'<?xml version="1.0"?><sdf version="{version}">{text}</sdf>')
    return file


def T(
    x: float, y: float, z: float, roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0
) -> np.ndarray:
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = (
        Rotation.from_euler("xyz", (roll, pitch, yaw)).as_matrix(),
        (x, y, z),
    )
    return found


CHAIN = f"""<model name="arm"><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>
  <frame name="mount"><pose>0 0 1 0.3 0 0</pose></frame>
  <frame name="tilt" attached_to="upper"><pose degrees="true">0 0 0 0 30 0</pose></frame>
  <link name="upper"><pose relative_to="mount">0.2 0 0 0 0.1 0</pose>{INERTIAL}</link>
  <link name="lower"><pose relative_to="elbow">0 0.1 0 0.2 0 0</pose>{INERTIAL}</link>
  <joint name="shoulder" type="revolute"><pose relative_to="mount"/><parent>world</parent><child>upper</child>
    <axis><xyz expressed_in="__model__">0 1 0</xyz><dynamics><damping>0.4</damping><spring_stiffness>3</spring_stiffness>
      <spring_reference>0.2</spring_reference></dynamics></axis></joint>
  <joint name="elbow" type="prismatic"><pose relative_to="upper">0 0 -0.6 0 0 0.7</pose><parent>upper</parent>
    <child>lower</child><axis><xyz expressed_in="tilt">1 0 0</xyz></axis></joint>
  <model name="hand"><pose relative_to="lower" rotation_format="quat_xyzw">0 0 -0.5 0 0 0.6 0.8</pose>
    <link name="palm">{INERTIAL}</link></model>
  <joint name="wrist" type="universal"><parent>lower</parent><child>hand::palm</child><axis><xyz>1 0 0</xyz></axis>
    <axis2><xyz>0 1 0</xyz></axis2></joint></model>"""


def by_hand() -> fm.Model:
    """The same from world poses at zero coordinates."""
    model = T(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    mount = model @ T(0, 0, 1, 0.3)
    upper = mount @ T(0.2, 0, 0, 0, 0.1)
    tilt = upper @ T(0, 0, 0, 0, np.pi / 6)
    elbow = upper @ T(0, 0, -0.6, 0, 0, 0.7)
    lower = elbow @ T(0, 0.1, 0, 0.2)
    turn = T(0, 0, -0.5)
    turn[:3, :3] = Rotation.from_quat((0, 0, 0.6, 0.8)).as_matrix()
    palm = lower @ turn
    R = Rotation.from_euler("xyz", (0.1, 0.2, 0.3)).as_matrix()
    J = R @ np.array([[0.1, 0.01, -0.005], [0.01, 0.12, 0.002], [-0.005, 0.002, 0.05]]) @ R.T

    def frame(body: np.ndarray, pose: np.ndarray) -> fm.Frame:
        inside = np.linalg.inv(body) @ pose
        return fm.Frame(inside[:3, 3], inside[:3, :3])

    made = fm.Model("by hand", gravity=(0, 0, -9.8), frames={"shoulder": frame(np.eye(4), mount)})
    known = {"mass": 2.0, "com": (0.02, 0.01, -0.3), "inertia": J}
    a = made.add(
        fm.RigidBody("upper", frames={"s": frame(upper, mount), "e": frame(upper, elbow)}, **known)
    )
    b = made.add(
        fm.RigidBody("lower", frames={"e": frame(lower, elbow), "w": frame(lower, palm)}, **known)
    )
    c = made.add(fm.RigidBody("palm", **known))
    axis = mount[:3, :3].T @ model[:3, :3] @ (0, 1, 0)
    shoulder = made.add(fm.Revolute("shoulder", made.ground["shoulder"], a["s"], axis=axis))
    made.add(fm.Prismatic("elbow", a["e"], b["e"], axis=elbow[:3, :3].T @ tilt[:3, :3] @ (1, 0, 0)))
    made.add(fm.Universal("wrist", b["w"], c))
    made.add(fm.JointSpring("spring", shoulder, k=3.0, c=0.4, x0=0.2))
    return made


def test_poses_frames_axes_and_nested_models(tmp_path: Path) -> None:
    found = fm.from_sdf(written(tmp_path, CHAIN))
    assert not found.notes
    rng = np.random.default_rng(5)
    wanted = by_hand()
    for _ in range(3):
        values = {
            name: tuple(rng.normal(size=n))
            for name, n in (("shoulder", 1), ("elbow", 1), ("wrist", 2))
        }
        rates = {name: tuple(rng.normal(size=len(each))) for name, each in values.items()}
        both = [fm.state(model, position=values, velocity=rates) for model in (found.model, wanted)]
        np.testing.assert_allclose(both[0].sd, both[1].sd, atol=1e-10)
    M = [
        fm.matrices(model, start=fm.state(model, position=values)).M
        for model in (found.model, wanted)
    ]
    np.testing.assert_allclose(M[0], M[1], atol=1e-12)
    assert str(found.frames["hand::palm"]) == "hand::palm"
    assert str(found.frames["tilt"]) == "upper/tilt"


def test_the_same_robot_as_urdf(tmp_path: Path) -> None:
    inertia = '<inertia ixx="0.1" iyy="0.12" izz="0.05" ixy="0.01" ixz="-0.005" iyz="0.002"/>'
    inertial = (
        '<inertial><origin xyz="0.02 0.01 -0.3" rpy="0.1 0.2 0.3"/><mass '
        f'value="2"/>{inertia}</inertial>'
    )
    ends = '<parent link="{3}"/><child link="{4}"/><axis xyz="{5}"/>{6}</joint>'
    joint = '<joint name="{0}" type="continuous"><origin xyz="{1}" rpy="{2}"/>' + ends
    places = (
        ("a", "0 0 1", "0.1 0.2 0.3", "base", "one", "0 1 0"),
        ("b", "0 0.1 -0.6", "0 0.4 0", "one", "two", "1 1 0"),
    )
    mimic = '<mimic joint="a" multiplier="-0.5" offset="0.1"/>'
    urdf = tmp_path / "robot.urdf"
    joints = "".join(joint.format(*each, mimic if each[0] == "b" else "") for each in places)
    links = (
        f'<link name="base"/><link name="one">{inertial}</link><link name="two">{inertial}</link>'
    )
    urdf.write_text(f'<robot name="r">{links}{joints}</robot>')
    leader = (
        "<mimic "
        'joint="a"><multiplier>-0.5</multiplier><offset>0.4</offset><reference>0.6</reference></mimic>'
    )
    body = f"""<model name="r"><link name="one"><pose relative_to="a"/>{INERTIAL}</link>
      <link name="two"><pose relative_to="b"/>{INERTIAL}</link>
      <joint name="a" type="continuous"><pose relative_to="__model__">0 0 1 0.1 0.2 0.3</pose><parent>world</parent>
        <child>one</child><axis><xyz>0 1 0</xyz></axis></joint>
      <joint name="b" type="continuous"><pose relative_to="one">0 0.1 -0.6 0 0.4 0</pose><parent>one</parent><child>two</child>
        <axis><xyz>1 1 0</xyz>{leader.replace("0.4</o", "-0.2</o")}</axis></joint></model>"""
    theirs, ours = (
        model_from_urdf(urdf, gravity=(0, 0, -9.8)),
        fm.from_sdf(written(tmp_path, body)).model,
    )
    states = [
        fm.state(model, position={"a": 0.7, "b": -0.25}, velocity={"a": 1.3, "b": -0.65})
        for model in (theirs, ours)
    ]
    np.testing.assert_allclose(states[0].q, states[1].q, atol=1e-12)
    np.testing.assert_allclose(states[0].sd, states[1].sd, atol=1e-10)


def test_worlds_static_models_and_free_links(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir()
    top = '<frame name="top"><pose>0 0 0.5 0 0 0</pose></frame>'
    box = (
        f'<model name="box" placement_frame="top">{top}<link name="body">{INERTIAL}</link></model>'
    )
    written(tmp_path / "box", box, name="model.sdf")
    text = f"""<world name="w"><gravity>0 0 -1.6</gravity>
      <model name="floor"><static>1</static><pose>0 0 -1 0 0 0</pose><link name="slab"><collision name="c"/></link></model>
      <include><uri>model://box</uri><name>first</name><pose>1 2 3 0 0 0.5</pose></include>
      <model name="feather"><link name="one"><gravity>0</gravity>{INERTIAL}</link></model></world>"""
    found = fm.from_sdf(written(tmp_path, text))
    assert found.notes == ("1 collision shapes; add the relevant contacts, such as fm.SpherePlane",)
    assert list(found.model.bodies) == ["feather::one", "first::body"]  # includes come last
    np.testing.assert_allclose(
        found.model.joints["first::body free"].q0[:3], (1.0, 2.0, 2.5), atol=1e-15
    )
    np.testing.assert_allclose(found.model.frames["floor::slab"].position, (0, 0, -1))
    sd = fm.state(found.model).sd
    np.testing.assert_allclose(sd, (*[0] * 8, -1.6, 0, 0, 0), atol=1e-14)


def test_four_bars_close_a_loop(tmp_path: Path) -> None:
    """A parallelogram of equal cranks is a pendulum of the cranks: φ̈ (2 J + m l²) = g (…) for a
    coupler that translates.
    """
    bar = "<inertial><mass>1</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial>"
    axis = '<axis><xyz expressed_in="__model__">0 1 0</xyz></axis>'
    pin = (
        '<joint name="{0}" type="revolute"><parent>{1}</parent><child>{2}</child>'
        + axis
        + "{3}</joint>"
    )
    pins = (
        ("a", "world", "left", ""), ("b", "world", "right", ""),
        ("c", "left", "coupler", '<pose relative_to="__model__">0.3 0 -0.4 0 0 0</pose>'),
        ("d", "right", "coupler", '<pose relative_to="__model__">1.3 0 -0.4 0 0 0</pose>'),
    )  # fmt: skip
    links = f"""<link name="left">{bar}</link><link name="right"><pose>1 0 0 0 0 0</pose>{bar}</link>
      <link name="coupler"><pose>0.8 0 -0.4 0 0 0</pose>{bar}</link>"""
    found = fm.from_sdf(
        written(
            tmp_path,
            f'<model name="m">{links}{"".join(pin.format(*each) for each in pins)}</model>',
        )
    )
    state = fm.state(found.model)
    a = dict(zip(fm.matrices(found.model, start=state).velocities, state.sd))["a.0"]
    # lever (0.3, −0.4) of length 0.5, moment of the weight about y: r_z·0 − r_x·(−g) … = x g
    assert a == pytest.approx(9.8 * 0.3 / (2 * 0.01 + 1.0 * 0.25), rel=1e-9)


WRONG = {
    "version '1.4': versions 1.5 and later": ("1.4", '<model name="m"/>'),
    "must have one <world> or <model>, not 0": ("1.9", ""),
    "type 'gearbox' is not supported": (
        "1.9",
        '<model name="m"><link name="a"/><joint name="j" type="gearbox"/></model>',
    ),
    "<pose>: must be 6 numbers, not '1 2'": (
        "1.9",
        '<model name="m"><link name="a"><pose>1 2</pose></link></model>',
    ),
    "the pose of 'a' depends on itself": (
        "1.9",
        '<model name="m"><link name="a"><pose relative_to="b"/></link><frame '
        'name="b"><pose relative_to="a"/></frame></model>',
    ),
    "there is no link or frame 'j'": (
        "1.9",
        '<model name="m"><link name="a"/><joint name="j" '
        'type="fixed"><parent>world</parent><child>j</child></joint></model>',
    ),
    "there is no 'c' in the outermost model": (
        "1.9",
        '<model name="m"><link name="a"><pose relative_to="c"/></link></model>',
    ),
    "inertia from collisions (auto)": (
        "1.11",
        '<model name="m"><link name="a"><inertial auto="true"/></link></model>',
    ),
    "no such file or folder": (
        "1.9",
        '<model name="m"><include><uri>model://x</uri></include></model>',
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_read_is_named(message: str, tmp_path: Path) -> None:
    version, text = WRONG[message]
    with pytest.raises(fm.InputError) as error:
        fm.from_sdf(written(tmp_path, text, version))
    assert message in str(error.value)


def test_the_root_must_be_sdf(tmp_path: Path) -> None:
    file = tmp_path / "robot.sdf"
    file.write_text("<robot/>")
    with pytest.raises(fm.InputError, match="the root element must be <sdf>"):
        fm.from_sdf(file)


def test_static_of_an_include_makes_the_model_stand(tmp_path: Path) -> None:
    written(
        tmp_path,
        f'<model name="rock"><link name="stone">{INERTIAL}</link></model>',
        name="rock.sdf",
    )
    for static, bodies in (("", 1), ("<static>true</static>", 0), ("<static>false</static>", 1)):
        text = f'<world name="w"><include><uri>rock.sdf</uri>{static}</include></world>'
        assert len(fm.from_sdf(written(tmp_path, text)).model.bodies) == bodies
    text = '<world name="w"><include merge="true"><uri>rock.sdf</uri></include></world>'
    with pytest.raises(fm.InputError, match="<include merge='true'> is not read"):
        fm.from_sdf(written(tmp_path, text))


@pytest.mark.parametrize(
    ("place", "text", "note"),
    [
        (
            "LINK",
            "<velocity_decay><linear>0.1</linear></velocity_decay>",
            "<velocity_decay> of <link>",
        ),
        ("LINK", "<kinematic>true</kinematic>", "<kinematic> of <link>"),
        ("AXIS", "<initial_position>0.5</initial_position>", "<initial_position> of <axis>"),
        ("AXIS", "<dynamics><dampnig>1</dampnig></dynamics>", "<dampnig> of <dynamics>"),
        ("MODEL", "<gripper name='g'/><enable_wind>true</enable_wind>", "<enable_wind> of <model>"),
        ("WORLD", "<state world_name='w'><model name='m'/></state>", "<state> of <world>"),
        ("WORLD", "<population name='p'><model name='x'/></population>", "<population> of <world>"),
        ("WORLD", "<wind><linear_velocity>1 0 0</linear_velocity></wind>", "<wind> of <world>"),
        ("LINK", "<kinematic>false</kinematic><sensor name='s' type='imu'/>", ""),
    ],
)
def test_elements_that_are_not_read_are_noted(
    tmp_path: Path, place: str, text: str, note: str
) -> None:
    file = f"""<world name="w"><gravity>0 0 -9.8</gravity>WORLD<model name="m">MODEL<link name="l">{INERTIAL}LINK</link>
      <joint name="j" type="revolute"><parent>world</parent><child>l</child><axis><xyz>0 0 1</xyz>AXIS</axis></joint></model>
      </world>"""
    for each in ("WORLD", "MODEL", "LINK", "AXIS"):
        file = file.replace(each, text if each == place else "")
    notes = fm.from_sdf(written(tmp_path, file)).notes
    assert (note in notes) if note else not notes
