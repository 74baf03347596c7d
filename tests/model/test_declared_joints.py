"""Joints are chains of motions; degrees of freedom, initial values, and a user-defined joint."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from declared import problems_of

import flexmbs as fm
from flexmbs.model.fields import Axis, Positive, Vector
from flexmbs.model.joints import Joint, normal_directions
from flexmbs.model.motions import Motion, Rotate, Slide
from flexmbs.motions import Ball, FixedRotation, FixedTranslation, ScrewMotion

ENDS = ("j", "ground", "b/end")

# degrees of freedom of the lower pairs and of the other joints: Wittenburg, Dynamics of Multibody
# Systems, table 4.1; Shabana, chapter 2
FREEDOMS = [
    (fm.Fixed(*ENDS), 0, 0),
    (fm.Revolute(*ENDS), 1, 1),
    (fm.Prismatic(*ENDS), 1, 1),
    (fm.Screw(*ENDS, pitch=0.01), 1, 1),
    (fm.Cylindrical(*ENDS), 2, 2),
    (fm.Universal(*ENDS), 2, 2),
    (fm.Planar(*ENDS), 3, 3),
    (fm.Translation(*ENDS), 3, 3),
    (fm.Spherical(*ENDS), 4, 3),
    (fm.Free(*ENDS), 7, 6),
    (fm.Pose(*ENDS), 7, 6),
    (
        fm.Chain(
            *ENDS,
            motions=(Rotate("x"), FixedTranslation((1, 0, 0)), FixedRotation("y", 1.0), Ball()),
        ),
        5,
        4,
    ),
]


@pytest.mark.parametrize(
    ("joint", "nq", "nv"), FREEDOMS, ids=lambda value: getattr(value, "kind", "")
)
def test_degrees_of_freedom(joint, nq, nv) -> None:
    assert (joint.nq, joint.nv) == (nq, nv)
    assert (len(joint.initial_position), len(joint.initial_velocity)) == (nq, nv)


def test_every_registered_joint_is_tested() -> None:
    assert {joint.kind for joint, _, _ in FREEDOMS} <= set(Joint.kinds)
    assert {
        kind for kind, made in Joint.kinds.items() if made.__module__ == "flexmbs.model.joints"
    } == {j.kind for j, _, _ in FREEDOMS}


def test_initial_values() -> None:
    assert fm.Revolute(*ENDS, q0=0.3, v0=-1).q0 == (0.3,)
    assert fm.Revolute(*ENDS, q0=np.float64(0.3)) == fm.Revolute(*ENDS, q0=[0.3])
    assert fm.Spherical(*ENDS).initial_position == (1.0, 0.0, 0.0, 0.0)
    assert fm.Spherical(*ENDS, q0=(0.6, 0, 0.8, 0)).q0 == (0.6, 0.0, 0.8, 0.0)
    assert fm.Free(*ENDS).initial_position == (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    assert fm.Cylindrical(*ENDS, v0=(1, 2)).v0 == (1.0, 2.0)


def test_given_and_default_values_are_distinguished() -> None:
    """A declared zero is kept by loop closure, a default zero is not."""
    plain, declared = fm.Revolute(*ENDS), fm.Revolute(*ENDS, q0=0, v0=0)
    assert (plain.q0, plain.v0) == (None, None)
    assert (declared.q0, declared.v0) == ((0.0,), (0.0,))
    assert plain != declared
    assert dataclasses.replace(plain, v0=2.0) == fm.Revolute(*ENDS, v0=2.0)
    model = fm.Model("two hinges")
    body = model.add(fm.RigidBody("body", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Revolute("hinge", model.ground, body, q0=0.0))
    assert "q0 = 0.0" in model.to_toml()
    assert "v0" not in model.to_toml()


@pytest.mark.parametrize(
    "normal",
    [(0, 0, 1.0), (0, 1.0, 0), (1.0, 0, 0), (0, 0, -1.0), (0.6, 0, 0.8), (2 / 3, -2 / 3, 1 / 3)],
)
def test_directions_of_a_plane_are_right_handed(normal) -> None:
    a, b = normal_directions(normal)
    np.testing.assert_allclose(np.cross(a, b), normal, atol=1e-15)
    np.testing.assert_allclose(
        [np.dot(a, b), np.dot(a, normal), np.linalg.norm(a)], [0, 0, 1], atol=1e-15
    )


def test_planar_coordinates_are_x_y_and_angle() -> None:
    assert fm.Planar(*ENDS).motions == (Slide("x"), Slide("y"), Rotate("z"))


def test_axes_are_unit_vectors() -> None:
    assert fm.Revolute(*ENDS, axis=(0, 3, 4)).axis == (0.0, 0.6, 0.8)
    assert fm.Revolute(*ENDS, axis="-x").axis == (-1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fm.Revolute(*ENDS, axis=(0, 0, 0)), "joints.j.axis: the axis has zero length"),
        (lambda: fm.Revolute(*ENDS, axis="w"), "joints.j.axis: must be one of x, y, z"),
        (lambda: fm.Revolute(*ENDS, q0=(1, 2)), "joints.j.q0: must have 1 number, not 2"),
        (lambda: fm.Cylindrical(*ENDS, q0=0.5), "joints.j.q0: must have 2 numbers, not one"),
        (lambda: fm.Fixed(*ENDS, v0=1.0), "joints.j.v0: it has no coordinates"),
        (
            lambda: fm.Spherical(*ENDS, q0=(1, 1, 0, 0)),
            "joints.j.q0: the quaternion has length 1.41421",
        ),
        (
            lambda: fm.Free(*ENDS, q0=(0, 0, 0, 0, 0, 0, 2)),
            "joints.j.q0: the quaternion has length 2",
        ),
        (lambda: fm.Universal(*ENDS, axes=("x", "-x")), "joints.j.axes: the two axes are parallel"),
        (
            lambda: fm.Universal(*ENDS, axes=("x", "y", "z")),
            "joints.j.axes: must be two axes, not 3",
        ),
        (lambda: fm.Chain(*ENDS, motions=()), "joints.j.motions: needs at least one motion"),
        (lambda: fm.Chain(*ENDS, motions=[Ball(), "x"]), "joints.j.motions.1: must be a motion"),
        (
            lambda: fm.Chain(*ENDS, motions=[{"kind": "rotat", "axis": "x"}]),
            "joints.j.motions.0.kind: unknown kind 'rotat'; did you mean",
        ),
        (
            lambda: fm.Chain(*ENDS, motions=[{"kind": "slide"}]),
            "joints.j.motions.0.axis: is missing",
        ),
        (lambda: fm.Screw(*ENDS), "joints.j.pitch: is missing"),
        (lambda: fm.Revolute("j", "ground/", "b"), "joints.j.parent: a name must"),
        (lambda: fm.Revolute("j", 3, "b"), "joints.j.parent: must be a frame such as 'body/frame'"),
        (lambda: fm.Revolute(*ENDS, "z"), "joints.j: argument 4, 'z', must be given by keyword"),
    ],
)
def test_bad_joint(make, message) -> None:
    assert problems_of(make)[0].startswith(message)


@pytest.fixture
def sarrus() -> Iterator[type[Joint]]:
    """A platform that rises straight: the linkage of Sarrus as one lower pair, registered while a
    test runs.
    """

    class Sarrus(Joint, kind="sarrus"):
        axis: Axis = "z"
        motions = property(lambda self: (Slide(self.axis),))

    yield Sarrus
    del Joint.kinds["sarrus"]


@pytest.fixture
def crank() -> Iterator[type[Motion]]:
    """A user-defined motion."""

    class Crank(Motion, kind="crank"):
        nq = nv = 1
        rest = (0.0,)
        radius: Positive = dataclasses.field(kw_only=False)

        @property
        def unit_twist(self) -> Vector:
            return (0.0, 0.0, self.radius, 0.0, 0.0, 1.0)

    yield Crank
    del Motion.kinds["crank"]


def test_a_new_lower_pair_costs_three_lines(sarrus, tmp_path) -> None:
    lift = sarrus("lift", "ground", "plate", axis="x", q0=0.2)
    assert (lift.nq, lift.nv, lift.motions) == (1, 1, (Slide("x"),))
    model = fm.Model("lift")
    model.add(fm.RigidBody("plate", mass=1.0, inertia=(1, 1, 1)))
    model.add(lift)
    model.save(tmp_path / "lift.toml")
    assert 'kind = "sarrus"' in (tmp_path / "lift.toml").read_text()
    assert fm.load(tmp_path / "lift.toml") == model
    assert not model.check().errors


def test_a_kind_is_registered_once() -> None:
    with pytest.raises(TypeError, match="registered twice: Revolute and Again"):

        class Again(Joint, kind="revolute"):
            motions = property(lambda self: (Rotate("z"),))


def test_a_user_defined_motion_in_a_chain(crank) -> None:
    chain = fm.Chain(*ENDS, motions=[crank(0.1), {"kind": "crank", "radius": 0.2}])
    assert [motion.radius for motion in chain.motions] == [0.1, 0.2]
    assert chain.nv == 2


@pytest.mark.parametrize(
    ("twist", "message"),
    [
        ((0, 0, 0, 0, 0, 0.2), "axis of length 0.2; make it a unit vector"),
        ((0, 3, 0, 0, 0, 0), "axis of length 3; make it a unit vector"),
        (
            (0.3, 0, 0, 0, 0, 1),
            "translates perpendicular to its axis; displace the axis by a preceding "
            "FixedTranslation",
        ),
        ((0,) * 6, "axis of length 0"),
    ],
)
def test_a_motion_about_no_single_unit_axis(twist, message) -> None:
    """exp(q ω), q v differentiates to (v, ω) only for v parallel to ω, and the recursions count on
    unit axes.
    """

    class Wrong(Motion):
        nq = nv = 1
        rest = (0.0,)
        unit_twist = twist

    with pytest.raises(fm.InputError, match=f"unit_twist: .*{message}"):
        Wrong()


def test_the_inverse_of_a_user_defined_motion(crank) -> None:
    motion = crank(0.1)
    assert motion.inverse().unit_twist == (0.0, 0.0, -0.1, 0.0, 0.0, -1.0)
    assert motion.inverse().inverse() == motion


@pytest.mark.parametrize(
    "motion",
    [
        Rotate("x"),
        Slide("y"),
        ScrewMotion("z", 0.1),
        FixedTranslation((1, 2, 3)),
        FixedRotation("x", 0.3),
        Ball(),
    ],
)
def test_the_inverse_of_the_inverse_is_the_motion(motion) -> None:
    assert motion.inverse().inverse() == motion
