"""Bodies and frames: stored values and rejected ones."""

import dataclasses

import numpy as np
import pytest
from declared import problems_of, rod
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.flexible_body.components import GeometricStiffness


def rigid(**changes):
    return fm.RigidBody("tool", **{"mass": 1.0, "inertia": (1, 1, 1), **changes})


@pytest.mark.parametrize(
    "given",
    [(2, 3, 4), (2, 3, 4, 0, 0, 0), np.diag([2.0, 3, 4]), [[2, 0, 0], [0, 3, 0], [0, 0, 4]]],
    ids=("3", "6", "array", "rows"),
)
def test_inertia_forms_give_one_matrix(given) -> None:
    assert rigid(inertia=given) == rigid(inertia=(2, 3, 4))
    assert rigid(inertia=given).inertia == ((2.0, 0.0, 0.0), (0.0, 3.0, 0.0), (0.0, 0.0, 4.0))


def test_six_inertia_elements_in_the_order_xx_yy_zz_xy_xz_yz() -> None:
    matrix = ((2.0, 0.1, 0.2), (0.1, 3.0, 0.3), (0.2, 0.3, 4.0))
    assert rigid(inertia=(2, 3, 4, 0.1, 0.2, 0.3)).inertia == matrix


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"inertia": (1, 1, 2.1)},
            "bodies.tool.inertia: not physical: principal moments 1, 1, 2.1; the largest "
            "must not exceed",
        ),
        (
            {"inertia": (1, 1, 1, 2, 0, 0)},
            "bodies.tool.inertia: not physical: principal moments -1, 1, 3; none may be negative",
        ),
        ({"inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]}, "bodies.tool.inertia: is not symmetric"),
        ({"inertia": (1, 2)}, "bodies.tool.inertia: must be 3 moments, 6 elements"),
        ({"inertia": "round"}, "bodies.tool.inertia: must be a list, not 'round'"),
        ({"mass": -1.0}, "bodies.tool.mass: must be >= 0, not -1"),
        ({"mass": "3 kg"}, "bodies.tool.mass: must be a number, not '3 kg'"),
        ({"mass": True}, "bodies.tool.mass: must be a number, not True"),
        ({"mass": float("nan")}, "bodies.tool.mass: must be finite, not nan"),
        ({"com": (1, 2)}, "bodies.tool.com: must have 3 numbers, not 2"),
        ({"coms": (1, 2, 3)}, "bodies.tool.coms: unknown key; did you mean 'com'?"),
        ({"frames": {"tip": (0, 0)}}, "bodies.tool.frames.tip"),
        ({"frames": {"a/b": (0, 0, 0)}}, "bodies.tool.frames.'a/b': a name must not contain '/'"),
    ],
)
def test_bad_rigid_body(changes, message) -> None:
    (problem,) = problems_of(lambda: rigid(**changes))
    assert problem.startswith(message)


def test_principal_moments_of_a_rod_are_accepted() -> None:
    assert rigid(inertia=(0, 1, 1)).inertia[1][1] == 1.0


def test_all_problems_of_a_body_at_once() -> None:
    found = problems_of(lambda: fm.RigidBody("tool", mass=-1, com=(0, 0)))
    assert [problem.split(":")[0] for problem in found] == [
        "bodies.tool.mass",
        "bodies.tool.inertia",
        "bodies.tool.com",
    ]


@pytest.mark.parametrize("name", ["", " a", "a/b", "../x", "a\nb", "\x1b[31m", "x" * 101, 3, None])
def test_bad_names(name) -> None:
    (problem,) = problems_of(lambda: fm.PointMass(name, mass=1.0))
    assert "a name must" in problem
    assert problem.isprintable()


@pytest.mark.parametrize("name", ["<script>", "=cmd()", "oberer Arm", "κ 3", "a.b"])
def test_names_that_other_programs_would_trip_over_are_names(name) -> None:
    assert fm.PointMass(name, mass=1.0).name == name


def test_the_name_ground_is_taken() -> None:
    assert (
        "is the fixed body of every model"
        in problems_of(lambda: fm.PointMass("ground", mass=1.0))[0]
    )


def test_declarations_are_frozen_and_hashable() -> None:
    body = rigid(frames={"tip": (0, 0, 1)})
    with pytest.raises(AttributeError):
        body.mass = 2.0
    with pytest.raises(TypeError):
        body.frames["tip"] = fm.Frame()
    assert len({body, rigid(frames={"tip": (0, 0, 1)})}) == 1


@pytest.mark.parametrize("axis", ["x", "-y", (1.0, -2.0, 0.5)])
def test_rotation_by_axis_and_angle(axis) -> None:
    vector = {"x": (1, 0, 0), "-y": (0, -1, 0)}.get(axis, axis)
    oracle = Rotation.from_rotvec(0.7 * np.array(vector) / np.linalg.norm(vector)).as_matrix()
    np.testing.assert_allclose(fm.Frame((0, 0, 0), (axis, 0.7)).rotation, oracle, atol=1e-15)


def test_stiffening_is_a_switch(tmp_path) -> None:
    """The geometric stiffness of the data or none of it; the switch is kept in the model's file."""
    zero = np.zeros((3, rod().nf, rod().nf))
    data = dataclasses.replace(
        rod(), geometric=GeometricStiffness(zero, zero, np.concatenate([zero, zero]))
    )
    assert fm.FlexibleBody("arm", data=data).load() is data
    assert fm.FlexibleBody("arm", data=data, stiffening=False).load().geometric is None
    data.save(tmp_path / "rod.h5")
    model = fm.Model("arm")
    model.add(fm.FlexibleBody("arm", str(tmp_path / "rod.h5"), stiffening=False))
    model.save(tmp_path / "m.toml")
    assert "stiffening = false" in (tmp_path / "m.toml").read_text()
    assert fm.load(tmp_path / "m.toml") == model
    assert fm.load(tmp_path / "m.toml").bodies["arm"] != fm.FlexibleBody(
        "arm", str(tmp_path / "rod.h5")
    )
    assert problems_of(lambda: fm.FlexibleBody("arm", data=data, stiffening="no")) == [
        "bodies.arm.stiffening: must be true or false, not 'no'"
    ]


def test_rotation_by_quaternion_scalar_first() -> None:
    quaternion = np.array([0.5, -0.1, 0.7, 0.2])
    quaternion /= np.linalg.norm(quaternion)
    oracle = Rotation.from_quat(np.roll(quaternion, -1)).as_matrix()
    np.testing.assert_allclose(fm.Frame(rotation=quaternion).rotation, oracle, atol=1e-15)
    assert fm.Frame(rotation=oracle).rotation == tuple(map(tuple, oracle.tolist()))


@pytest.mark.parametrize(
    ("rotation", "message"),
    [
        ((2, 0, 0, 0), "Frame.rotation: the quaternion has length 2"),
        (((0, 0, 0), 0.3), "Frame.rotation: the axis has zero length"),
        (("q", 0.3), "Frame.rotation: must be one of x, y, z"),
        (((1, 0, 0), (0, 1, 0), (0, 0, -1)), "Frame.rotation: the matrix is a reflection"),
        (((1, 0, 0), (0, 1, 0), (0, 1, 1)), "Frame.rotation: the rows must be orthonormal"),
        ((1, 0, 0, 0, 0), "Frame.rotation: must be a 3×3 matrix, a quaternion"),
    ],
)
def test_bad_rotation(rotation, message) -> None:
    assert problems_of(lambda: fm.Frame(rotation=rotation))[0].startswith(message)


def test_quaternion_slightly_off_is_normalised_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="it is normalised"):
        frame = fm.Frame(rotation=(1.0 + 5e-7, 0, 0, 0))
    assert frame == fm.Frame()


def test_degrees_for_radians_are_noticed() -> None:
    with pytest.warns(UserWarning, match="more than a full turn"):
        fm.Frame(rotation=("z", 90.0))


def test_flexible_body_from_file_and_from_memory(tmp_path) -> None:
    rod().save(tmp_path / "rod.h5")
    from_file = fm.FlexibleBody("arm", tmp_path / "rod.h5")
    data = rod()
    in_memory = fm.FlexibleBody("arm", data=data)
    assert in_memory.load() is data
    assert from_file.load().digest == data.digest
    assert in_memory.known_frames() == ("hub", "tip")
    assert from_file.known_frames() is None
    assert in_memory == fm.FlexibleBody("arm", data=data)
    assert in_memory != fm.FlexibleBody("arm", data=rod())
    assert hash(from_file) == hash(fm.FlexibleBody("arm", str(tmp_path / "." / "rod.h5")))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fm.FlexibleBody("arm"), "bodies.arm.file: give either file= or data="),
        (
            lambda: fm.FlexibleBody("arm", "a.h5", data=rod()),
            "bodies.arm.file: give either file= or data=",
        ),
        (
            lambda: fm.FlexibleBody("arm", "a.h5", damping=-0.1),
            "bodies.arm.damping: must be >= 0, not -0.1",
        ),
        (
            lambda: fm.FlexibleBody("arm", data={"mass": 1}),
            "bodies.arm.data: must be a FlexibleBodyData",
        ),
        (
            lambda: fm.FlexibleBody("arm", "not there.h5").load(),
            "bodies.arm.file: not there.h5: no such file",
        ),
    ],
)
def test_bad_flexible_body(make, message) -> None:
    assert problems_of(make)[0].startswith(message)
