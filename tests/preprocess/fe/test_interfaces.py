"""Interfaces: their nodes, and the coupling of frame and nodes."""

import numpy as np
import pytest

from flexmbs.errors import InputError
from preprocess.fe.interfaces import Averaged, Interface, Rigid, bind_interfaces
from preprocess.mesh.node_regions import Plane, Point
from preprocess.mesh.rigid_motion import rigid_motion

NODES = np.array([[x, y, z] for x in (0, 1, 2, 3) for y in (0, 0.5, 1) for z in (0, 1)], float)
SETS = {
    "root_face": np.flatnonzero(NODES[:, 0] == 0),
    "tip_face": np.flatnonzero(NODES[:, 0] == 3),
    "edge": np.array([0, 2, 4]),
}


def bound(interface: Interface):
    return interface.bind("hub", NODES, SETS)


def test_named_set_plane_and_ball_pick_the_same_nodes() -> None:
    by_set = bound(Rigid("tip_face"))
    by_plane = bound(Rigid(Plane((3, 0, 0), (-2, 0, 0))))
    by_ball = bound(Averaged(Point((3, 0.5, 0.5), radius=0.8)))
    for interface in (by_set, by_plane, by_ball):
        np.testing.assert_array_equal(interface.nodes, np.flatnonzero(NODES[:, 0] == 3))
        np.testing.assert_allclose(interface.position, [3, 0.5, 0.5], atol=1e-15)
        np.testing.assert_array_equal(interface.axes, np.eye(3))


def test_position_and_axes_are_the_users() -> None:
    c, s = np.cos(0.3), np.sin(0.3)
    axes = [[c, -s, 0], [s, c, 0], [0, 0, 1]]
    interface = bound(Rigid("tip_face", position=(3, 0, 0), axes=axes))
    np.testing.assert_array_equal(interface.position, [3, 0, 0])
    np.testing.assert_allclose(interface.axes, axes, atol=1e-15)
    np.testing.assert_allclose(
        interface.rigid_motion, rigid_motion(NODES[SETS["tip_face"]] - [3, 0, 0])
    )


def test_rigid_motion_is_translation_and_cross_product() -> None:
    rng = np.random.default_rng(2)
    arm, t, theta = rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=3)
    np.testing.assert_allclose(
        rigid_motion(arm) @ [*t, *theta], t + np.cross(theta, arm), atol=1e-15
    )


def test_average_is_the_weighted_least_squares_rigid_motion() -> None:
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.5, 2.0, 6)
    interface = bound(Averaged("tip_face", weights=weights, position=(3.1, 0.2, 0.4)))
    u = rng.normal(size=(6, 3))
    root = np.repeat(np.sqrt(weights), 3)
    T = np.array(
        [
            np.r_[np.eye(3)[a], np.cross(np.eye(3), x - [3.1, 0.2, 0.4])[:, a]]
            for x in NODES[interface.nodes]
            for a in range(3)
        ]
    )
    expected = np.linalg.lstsq(T * root[:, None], u.ravel() * root, rcond=None)[0]
    np.testing.assert_allclose(interface.average @ u.ravel(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("interface", "message"),
    [
        (Rigid("tip_fase"), "interfaces.hub: the mesh has no set 'tip_fase'; its sets: tip_face"),
        (Rigid(Point((3, 0, 0))), "interfaces.hub: has 1 node(s), which cannot carry moments"),
        (
            Averaged(Point((3, 0, 0.0), radius=0.6)),
            "interfaces.hub: has 2 node(s), which cannot carry moments",
        ),
        (Averaged("edge"), "interfaces.hub: its 3 nodes are collinear and cannot carry moments"),
        (
            Rigid(Point((9, 0, 0), radius=0.1)),
            "no node within 0.1 m of (9, 0, 0); the nearest is 6 m away",
        ),
        (
            Rigid(Plane((1.5, 0, 0), (1, 0, 0))),
            "no node on the plane through (1.5, 0, 0); the nearest is 0.5 m away",
        ),
        (Rigid(Plane((0, 0, 0), (0, 0, 0))), "plane normal: has zero length"),
        (Averaged("tip_face", weights=[1, 2]), "weights: 2 given for 6 nodes"),
        (Averaged("tip_face", weights=[1, 1, 1, 1, 1, -1]), "give one positive weight per node"),
        (
            Rigid("tip_face", axes=np.diag([1, 1, -1])),
            "axes: must be a right-handed orthonormal 3x3 matrix",
        ),
        (Rigid("tip_face", position=(1, 2)), "position: (1, 2) is not a point"),
    ],
)
def test_bad_interface_is_named(interface: Interface, message: str) -> None:
    with pytest.raises(InputError) as caught:
        bound(interface)
    assert message in str(caught.value)


def test_all_problems_at_once_and_overlaps() -> None:
    half = Point((3, 0, 0.5), radius=0.8)
    with pytest.raises(InputError) as caught:
        bind_interfaces(
            {"a": Rigid("tip_face"), "b": Averaged(half), "c": Rigid("nowhere")}, NODES, SETS
        )
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("interfaces.c: the mesh has no set 'nowhere'")
    assert lines[1].startswith("interfaces: a (rigid) and b (averaged) share 4 nodes")
    with pytest.raises(InputError, match="share 6 nodes"):
        bind_interfaces({"a": Averaged("tip_face"), "b": Averaged("tip_face")}, NODES, SETS)
    with pytest.raises(InputError, match="none given"):
        bind_interfaces({}, NODES, SETS)


def test_averaged_interfaces_may_share_some_nodes() -> None:
    pair = bind_interfaces(
        {"a": Averaged("tip_face"), "b": Averaged(Point((3, 0, 0.5), radius=0.8))}, NODES, SETS
    )
    assert [len(interface.nodes) for interface in pair] == [6, 4]
