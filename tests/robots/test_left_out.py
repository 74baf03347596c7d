"""Elements and attributes of URDF and SDF files: read, without a part in the motion, or named."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.robots import model_from_urdf
from flexmbs.robots.sdf.elements import KNOWN

# names of the schema of urdfdom, xsd/urdf.xsd
URDF = {
    "robot": "name version",
    "link": "name type",
    "inertial": "",
    "mass": "value",
    "inertia": "ixx ixy ixz iyy iyz izz",
    "origin": "xyz rpy",
    "joint": "name type",
    "parent": "link",
    "child": "link",
    "axis": "xyz",
    "calibration": "reference_position rising falling",
    "dynamics": "damping friction",
    "limit": "lower upper effort velocity",
    "safety_controller": "soft_lower_limit soft_upper_limit k_position k_velocity",
    "mimic": "joint multiplier offset",
    "visual": "",
    "collision": "name",
    "geometry": "",
    "box": "size",
    "cylinder": "radius length",
    "sphere": "radius",
    "mesh": "filename scale",
    "material": "name",
    "color": "rgba",
    "transmission": "name type",
}
# elements within others there, or of ros_control
WITHIN = {
    "robot": "joint link material transmission",
    "link": "inertial visual collision",
    "inertial": "origin mass inertia",
    "visual": "origin geometry material",
    "collision": "origin geometry verbose",
    "geometry": "box cylinder sphere mesh",
    "material": "color texture",
    "joint": "origin parent child axis calibration dynamics limit safety_controller mimic",
    "transmission": "leftActuator rightActuator flexJoint rollJoint gap_joint passive_joint "
    "use_simulated_gripper_joint mechanicalReduction actuator joint type",
    "actuator": "hardwareInterface mechanicalReduction",
}
# elements within others, SDFormat 1.11 and 1.12
SDF = {
    "world": "audio wind include gravity magnetic_field atmosphere gui physics scene light frame "
    "joint model actor plugin road spherical_coordinates state population",
    "frame": "pose",
    "include": "uri pose plugin name namespace static placement_frame",
    "inertia": "ixx ixy ixz iyy iyz izz",
    "mimic": "multiplier offset reference",
    "visual": "cast_shadows laser_retro transparency visibility_flags meta pose material geometry "
    "plugin",
    "geometry": "empty box capsule cone cylinder ellipsoid heightmap image mesh plane polyline "
    "sphere",
    "box": "size",
    "capsule": "radius length",
    "cylinder": "radius length",
    "ellipsoid": "radii",
    "sphere": "radius",
    "mesh": "convex_decomposition uri submesh scale",
    "material": "script shader render_order lighting ambient diffuse specular shininess emissive "
    "double_sided pbr",
    "model": "static self_collide allow_auto_disable include model enable_wind frame pose link "
    "joint plugin gripper",
    "link": "gravity enable_wind self_collide kinematic must_be_base_link velocity_decay pose "
    "inertial collision visual sensor "
    "projector audio_sink audio_source battery light particle_emitter",
    "joint": "parent child gearbox_ratio gearbox_reference_body thread_pitch screw_thread_pitch "
    "axis axis2 physics pose sensor",
    "axis": "xyz dynamics limit mimic",
    "dynamics": "damping friction spring_reference spring_stiffness",
    "limit": "lower upper effort velocity stiffness dissipation",
    "inertial": "mass density auto_inertia_params pose inertia fluid_added_mass",
}
GEAR = (
    '<transmission name="t" type="simple"><joint name="one"/><actuator name="m">'
    "<mechanicalReduction>5</mechanicalReduction></actuator></transmission>"
)
ROTOR, RATIO = "drake:rotor_inertia", "drake:gear_ratio"


def urdf(transmission: str = "", more: str = "", robot: str = "") -> str:
    """Two links on revolute joints about y, the second 0.5 m along x, with every element of the
    schema.
    """
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    link = f'<inertial><origin xyz=".25 0 0" rpy="0 0 0"/><mass value="2"/>{inertia}</inertial>'
    shape = '<geometry><sphere radius="1"/></geometry>'
    shapes = (
        '<box size="1 1 1"/>',
        '<cylinder radius="1" length="1"/>',
        '<mesh filename="a.stl"/>',
    )
    seen = "".join(f"<visual><geometry>{each}</geometry></visual>" for each in shapes)
    paint = '<material name="red"><color rgba="1 0 0 1"/></material>'
    joint = (
        '<origin xyz=".5 0 0" rpy="0 0 0"/><axis xyz="0 1 0"/><calibration '
        'rising="0"/><dynamics damping="0" friction="0"/>'
        '<limit lower="-1" upper="1" effort="5" velocity="3"/><safety_controller k_velocity="1"/>'
    )
    return f"""<robot name="r" {robot}><link name="a">{link}<visual>{shape}{paint}</visual>{seen}
      <collision>{shape}</collision>{more}</link>
      <link name="b">{link}</link><link name="base"/>
      <joint name="one" type="revolute"><parent link="base"/><child link="a"/>{joint}</joint>
      <joint name="two" type="revolute"><parent link="a"/><child link="b"/>{joint}</joint>
      <gazebo reference="a"/>{transmission or GEAR}</robot>"""


def write(file: Path, text: str) -> Path:
    """The file, with this text."""
    file.write_text(text)
    return file


def left_out(read: object, file: Path) -> str:
    """Text of the warnings of an import."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(file)  # type: ignore[operator]
    return "; ".join(str(each.message) for each in caught)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    other = '<sdf version="1.11"><model name="o" canonical_link="l"><link name="l"/></model></sdf>'
    (tmp_path / "other.sdf").write_text(other)
    (tmp_path / "a.stl").touch()
    return tmp_path / "model.xml"


def test_nothing_of_the_schema_is_misspelt(file: Path) -> None:
    file.write_text(urdf())
    assert left_out(model_from_urdf, file) == ""


@pytest.mark.parametrize("element", URDF)
def test_other_attributes_and_elements_of_urdf_are_named(element: str, file: Path) -> None:
    """With a wrong name in every place where the schema knows a right one; those of the schema are
    not.
    """
    text = urdf(
        transmission='<joint name="three" type="fixed"><parent link="b"/><child link="c"/><mimic '
        'joint="one"/></joint>' + GEAR
    )
    text = text.replace('<link name="base"/>', '<link name="base"/><link name="c"/>')
    assert f"<{element} " in text or f"<{element}>" in text
    file.write_text(
        text.replace(f"<{element}>", f"<{element} >").replace(
            f"<{element} ", f'<{element} misspelt="1" ', 1
        )
    )
    assert f"attribute 'misspelt' of <{element}>" in left_out(model_from_urdf, file)
    for name in URDF[element].split():
        from flexmbs.robots.urdf_elements import ATTRIBUTES

        assert name in ATTRIBUTES[element].split()


@pytest.mark.parametrize(
    ("element", "name"),
    [
        (element, name)
        for element, names in WITHIN.items()
        for name in [*names.split(), "misspelt", "drake:misspelt"]
    ],
)
def test_every_element_of_urdf_is_known_or_named(element: str, name: str, file: Path) -> None:
    from flexmbs.robots.urdf_elements import CHILDREN, ENDS

    if name in (ENDS if element == "actuator" else CHILDREN[element].split()):
        return
    text = urdf()
    end = text.index(f"</{element}>")
    file.write_text(f"{text[:end]}<{name}/>{text[end:]}")
    assert f"<{name}> in <{element}>" in left_out(model_from_urdf, file)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (urdf(more="<drake:collision_filter/>"), "<drake:collision_filter> in <link>"),
        (urdf(more='<damping value="1"/>'), "<damping> in <link>"),
        (urdf("<loop_joint/>"), "<loop_joint> in <robot>"),
        (
            urdf(
                '<transmission><joint name="one"/><actuator><drake:stiffness '
                'value="1"/></actuator></transmission>'
            ),
            "stiffness>",
        ),
        (urdf().replace('damping="0"', 'damping="0.5"'), "damping and friction of one, two"),
    ],
)
def test_elements_of_urdf_without_a_part_in_the_model_are_named(
    text: str, named: str, file: Path
) -> None:
    file.write_text(text)
    assert named in left_out(model_from_urdf, file)


def transmission(joint: str, inertia: float, ratio: float) -> str:
    within = f'<{RATIO} value="{ratio}"/><{ROTOR} value="{inertia}"/>'
    return (
        f'<transmission><joint name="{joint}"/><actuator '
        f'name="m">{within}</actuator></transmission>'
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f'<joint name="one"/><{ROTOR} value="1"/>', "transmission"),
        (f'<joint name="one"><{ROTOR} value="1"/></joint><actuator name="m"/>', "joint"),
        (
            f'<joint name="one"/><joint name="two"/><actuator name="m"><{ROTOR} '
            'value="1"/></actuator>',
            "actuator",
        ),
    ],
)
def test_rotors_that_belong_to_no_single_joint_are_named(text: str, place: str, file: Path) -> None:
    """Beside an actuator, in a joint of a transmission, of two joints: no inertia is reflected, and
    the message says so.
    """
    file.write_text(urdf(f"<transmission>{text}</transmission>"))
    assert f"<{ROTOR}> in <{place}>" in left_out(model_from_urdf, file)


def test_reflected_inertia_of_urdf(file: Path) -> None:
    """M + diag(N² I): of the model, of the robot, and in a file without it by hand."""
    file.write_text(urdf())
    plain = fm.matrices(model_from_urdf(file)).M
    file.write_text(urdf(transmission("two", 3e-4, -120.0)))
    found = fm.matrices(model_from_urdf(file)).M
    np.testing.assert_allclose(found - plain, np.diag([0.0, 120.0**2 * 3e-4]), atol=1e-12)
    robot = fm.Robot.from_urdf(file)
    np.testing.assert_allclose(robot.mass_matrix(np.zeros(2)), found, atol=1e-12)
    np.testing.assert_allclose(fm.matrices(robot.model).M, found, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (transmission("tow", 1e-4, 9.0), "there is no joint 'tow'"),
        (transmission("two", -1e-4, 9.0), "rotor inertia must be >= 0"),
        (transmission("two", 1e-4, 0.0), "the gear ratio not 0"),
        (transmission("two", 1e-4, float("nan")), "must be finite"),
    ],
)
def test_wrong_rotors_of_urdf(given: str, named: str, file: Path) -> None:
    file.write_text(urdf(given))
    with pytest.raises(fm.InputError, match=named):
        model_from_urdf(file)


def test_quaternions_of_urdf(file: Path) -> None:
    """quat_xyzw turns as the same rotation by rpy, a quarter turn about z."""
    half = np.sqrt(0.5)
    found = []
    for rotation in ('rpy="0 0 1.5707963267948966"', f'quat_xyzw="0 0 {half} {half}"'):
        file.write_text(
            urdf().replace(
                '<origin xyz=".5 0 0" rpy="0 0 0"/>', f'<origin xyz=".5 0 0" {rotation}/>'
            )
        )
        found.append(fm.matrices(model_from_urdf(file)).M)
    np.testing.assert_allclose(*found, atol=1e-12)
    file.write_text(urdf().replace('rpy="0 0 0"/><axis', 'rpy="0 0 1" quat_xyzw="0 0 1 1"/><axis'))
    with pytest.raises(fm.InputError, match="quat_xyzw must not be zero or combined with rpy"):
        model_from_urdf(file)


def sdf(inside: dict[str, str]) -> str:
    """A pendulum with further text within its elements."""
    text = {key: inside.get(key, "") for key in SDF}
    inertia = f"<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz>{text['inertia']}</inertia>"
    inertial = f"<inertial><mass>1</mass>{inertia}{text['inertial']}</inertial>"
    limit, dynamics = f"<limit>{text['limit']}</limit>", f"<dynamics>{text['dynamics']}</dynamics>"
    axis = f"<axis><xyz>0 1 0</xyz>{limit}{dynamics}{text['axis']}</axis>"
    mimic = f'<mimic joint="j">{text["mimic"]}</mimic>'
    shapes = (
        "".join(
            f"<{key}>{text[key]}</{key}>"
            for key in ("box", "capsule", "cylinder", "ellipsoid", "sphere")
        )
        + f"<mesh><uri>a.stl</uri>{text['mesh']}</mesh>"
    )
    visual = (
        f'<visual name="v"><geometry>{shapes}{text["geometry"]}</geometry>'
        f"<material>{text['material']}</material>{text['visual']}</visual>"
    )
    link = f'<link name="a">{inertial}{visual}{text["link"]}</link><link name="b">{inertial}</link>'
    joint = (
        '<joint name="j" '
        f'type="revolute"><parent>world</parent><child>a</child>{axis}{text["joint"]}</joint>'
        '<joint name="k" type="revolute"><parent>world</parent><child>b</child>'
        f"<axis><xyz>0 1 0</xyz>{mimic}</axis></joint>"
    )
    frame = f'<frame name="f">{text["frame"]}</frame>'
    include = f"<include><uri>other.sdf</uri>{text['include']}</include>"
    model = f'<model name="m">{link}{joint}{frame}{text["model"]}</model>'
    return f'<sdf version="1.11"><world name="w">{model}{include}{text["world"]}</world></sdf>'


@pytest.mark.parametrize(
    ("element", "name"), [(element, name) for element in SDF for name in SDF[element].split()]
)
def test_every_element_of_sdf_is_known_or_named(element: str, name: str, file: Path) -> None:
    if name in KNOWN[element].split():
        return
    file.write_text(sdf({element: f"<{name}>1</{name}>"}))
    assert f"<{name}> of <{element}>" in left_out(fm.from_sdf, file)


@pytest.mark.parametrize("element", SDF)
@pytest.mark.parametrize("name", ["misspelt", "drake:misspelt", "gz:misspelt"])
def test_other_elements_of_sdf_are_named(element: str, name: str, file: Path) -> None:
    file.write_text(sdf({element: f"<{name}>1</{name}>"}))
    assert f"<{name}> of <{element}>" in left_out(fm.from_sdf, file)
    assert " of <" not in left_out(fm.from_sdf, write(file, sdf({})))
    file.write_text(re.sub(f"<{element}(?=[ >])", f'<{element} misspelt="1"', sdf({}), count=1))
    assert f"attribute 'misspelt' of <{element}>" in left_out(fm.from_sdf, file)


@pytest.mark.parametrize("element", ["pose", "xyz", "mass", "ixx", "parent", "child", "lower"])
def test_attributes_of_sdf_values_are_named(element: str, file: Path) -> None:
    """A misspelt relative_to or expressed_in moves the axis; an empty frame="" does not."""
    text = sdf({"link": "<pose>0 0 0 0 0 0</pose>", "limit": "<lower>-1</lower>"})
    assert f"<{element}>" in text
    file.write_text(text.replace(f"<{element}>", f'<{element} relativ_to="a">', 1))
    assert f"attribute 'relativ_to' of <{element}>" in left_out(fm.from_sdf, file)
    file.write_text(text.replace(f"<{element}>", f'<{element} frame="">', 1))
    assert "attribute 'frame'" not in left_out(fm.from_sdf, file)


def test_reflected_inertia_of_sdf(file: Path) -> None:
    file.write_text(sdf({"joint": f"<{ROTOR}>3e-4</{ROTOR}><{RATIO}>120</{RATIO}>"}))
    assert fm.matrices(fm.from_sdf(file).model).M[0, 0] == pytest.approx(1.0 + 120.0**2 * 3e-4)
    file.write_text(sdf({"joint": f"<{ROTOR}>3e-4</{ROTOR}><{RATIO}>0</{RATIO}>"}))
    with pytest.raises(fm.InputError, match="needs a joint of one axis"):
        fm.from_sdf(file)
