"""Contract of contacts: γ_N is the rate of g, rows give the velocities, forces do the power of the
velocities in both coordinates, and gaps are those of elementary geometry."""

import math

import any_functions as given
import numpy as np
import pytest
from samples import rigid, some_axis, some_frame, state, two_bodies

import flexmbs as fm
from flexmbs.dynamics.blocks import transmission
from flexmbs.dynamics.contacts import contact_kinematics, contact_rows
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.equations import kinematics
from flexmbs.dynamics.kinematics import displace


def with_contacts(seed: int) -> fm.Model:
    """A tree and a loop of flexible and rigid bodies with a contact of every kind, far from
    touching.
    """
    rng = np.random.default_rng(seed)
    model = two_bodies("revolute", seed)
    third = model.add(rigid("third", rng))
    model.add(
        fm.Free(
            "flight",
            model.ground,
            third,
            q0=(1.0, 0.4, -0.3, 0.6, 0.0, 0.8, 0.0),
            v0=tuple(rng.normal(size=6)),
        )
    )
    model.add(
        fm.SpherePlane("floor", "ground/post", "second/b", normal=some_axis(rng), radius=0.13)
    )
    model.add(fm.SpherePlane("moving floor", "first/a", "third/a", normal=some_axis(rng)))
    model.add(fm.SphereSphere("balls", "second/b", "third/b", radius_parent=0.1, radius_child=0.2))
    model.add(
        fm.CornerLine("edge", "third/c", "first/b", normal=(0, 1, 0), direction=(0.6, 0, 0.8))
    )
    model.add(fm.Rope("rope", "first/c", "third/a", length=9.0))
    a = np.linspace(0.0, 2.0 * np.pi, 25)[:-1]
    profile = np.column_stack([0.1 * np.cos(a), 0.07 * np.sin(a)])
    model.add(fm.CamRoller("roller", "first/a", "third/b", points=profile, radius=0.02))
    model.add(
        fm.CurveContact(
            "curves", "first/a", "third/b", points_parent=profile, points_child=0.5 * profile
        )
    )
    model.add(fm.CamFace("face", "second/a", "third/c", points=profile, normal=some_axis(rng)))
    model.add(fm.JointLimit("stop", "hinge", lower=-3.0, upper=2.5))
    model.add(
        fm.UserContact(
            "lift",
            "first/a",
            "third/b",
            given.over_lift,
            slip=given.slip_on_belt,
            friction=0.1,
            rheonomic=True,
        )
    )
    model.add(fm.Pose("place", "first/b", "third/a"))
    model.add(
        fm.UnilateralCoupling(
            "wave", ["hinge", "place.2", "base"], given.rising_wave, rheonomic=True
        )
    )
    return model


class Touching:
    """Gaps, velocities and rows of all contacts of a model at its initial state."""

    def __init__(self, model: fm.Model, coordinates: str) -> None:
        self.state = state(model, coordinates)
        self.names = self.state.compiled.contacts
        self.gap, self.rate = self.at(self.state.q, self.state.s)
        s = self.state.system
        work = self.state.work
        transmission(s, work, self.state.q)
        self.rows = np.zeros((len(self.names), 3, len(self.state.s)))
        for k in range(len(self.names)):
            contact_rows(s, self.state.work, k, self.state.q, self.rows[k])

    def at(self, q: np.ndarray, s: np.ndarray, t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        kinematics(self.state.system, self.state.work, t, q, s, np.zeros(len(s)))
        contact_kinematics(self.state.system, self.state.work, t, q, s)
        return self.state.work.contact.gap.copy(), self.state.work.contact.velocity.copy()

    def moved(self, direction: np.ndarray, h: float) -> np.ndarray:
        q = self.state.q.copy()
        displace(self.state.system.tree, self.state.system.joints, self.state.q, h * direction, q)
        return self.at(q, self.state.s)[0]


@pytest.fixture(params=["joint", "absolute"], scope="module")
def touching(request) -> Touching:
    return Touching(with_contacts(11), request.param)


def test_names_of_rows(touching: Touching) -> None:
    assert touching.names == (
        "floor",
        "moving floor",
        "balls",
        "edge",
        "rope",
        "roller",
        "curves",
        "face",
        "stop.lower",
        "stop.upper",
        "lift",
        "wave",
    )


def test_rate_of_the_gap(touching: Touching) -> None:
    h = 1e-4
    for e in np.eye(len(touching.state.s)):
        slope = (
            8 * (touching.moved(e, h) - touching.moved(e, -h))
            - touching.moved(e, 2 * h)
            + touching.moved(e, -2 * h)
        ) / (12 * h)
        np.testing.assert_allclose(touching.rows[:, 0] @ e, slope, atol=1e-9)
    assert np.abs(touching.rows[:, 0]).max(axis=1).min() > 0.1


def test_rows_give_the_velocities(touching: Touching) -> None:
    moving = touching.state.work.contact.moving
    np.testing.assert_allclose(touching.rows @ touching.state.s + moving, touching.rate, atol=1e-12)
    assert np.abs(moving[:-2]).max() == 0.0
    np.testing.assert_allclose(moving[-2], [-0.3, -0.3, 0.0], atol=1e-9)


def test_rate_of_gaps_that_move_in_time(touching: Touching) -> None:
    """dg/dt along the motion, with time."""
    h, now = 1e-4, touching.state

    def gap(tau: float) -> np.ndarray:
        q = now.q.copy()
        displace(now.system.tree, now.system.joints, now.q, tau * now.s, q)
        return touching.at(q, now.s, tau)[0]

    slope = (8 * (gap(h) - gap(-h)) - gap(2 * h) + gap(-2 * h)) / (12 * h)
    np.testing.assert_allclose(touching.rate[:, 0], slope, atol=1e-9)
    assert np.abs(touching.rate[:4]).min() > 1e-3


def test_forces_act_through_the_rows(touching: Touching) -> None:
    now = touching.state
    force = np.random.default_rng(0).normal(size=(len(touching.names), 3))
    force[-1, 1:] = 0.0  # no tangents
    without = terms(now.system, now.work, 0.0, now.q, now.s).k
    now.work.path.force[:] = force
    k = terms(now.system, now.work, 0.0, now.q, now.s).k - without
    now.work.path.force[:] = 0.0
    np.testing.assert_allclose(k, np.einsum("kc,kca->a", force, touching.rows), atol=1e-11)


def test_contacts_are_alike_in_both_coordinates() -> None:
    joint, absolute = (
        Touching(with_contacts(5), coordinates) for coordinates in ("joint", "absolute")
    )
    np.testing.assert_allclose(joint.gap, absolute.gap, atol=1e-11)
    np.testing.assert_allclose(joint.rate, absolute.rate, atol=1e-10)


def tangential_speed(rate: np.ndarray) -> float:
    return math.hypot(rate[1], rate[2])


def test_gaps_and_slip_by_elementary_geometry() -> None:
    """A ball at (0.3, 0.4, 2) that moves at (1, 2, −3) and spins at (0, 5, 0): slip at its lowest
    point is v_x − ω_y r.
    """
    model = fm.Model(
        "ball", frames={"ledge": (-0.2, 0, 1.5), "low": some_frame(np.random.default_rng(1))}
    )
    body = model.add(fm.RigidBody("ball", mass=1.0, inertia=(1, 1, 1)))
    model.add(
        fm.Free(
            "flight", model.ground, body, q0=(0.3, 0.4, 2.0, 1, 0, 0, 0), v0=(1, 2, -3, 0, 5, 0)
        )
    )
    model.add(fm.SpherePlane("floor", model.ground, body, radius=0.1))
    model.add(fm.SphereSphere("stone", model.ground, body, radius_parent=0.5, radius_child=0.1))
    model.add(fm.CornerLine("short", "ground/ledge", body, normal="z", length=0.4))
    model.add(fm.CornerLine("long", "ground/ledge", body, normal="z", length=0.6))
    found = Touching(model, "joint")
    distance = math.sqrt(0.09 + 0.16 + 4.0)
    np.testing.assert_allclose(
        found.gap, [1.9, distance - 0.6, math.hypot(0.5, 0.1), 0.5], atol=1e-14
    )
    assert list(found.state.work.contact.beside) == [0, 0, 1, 0]
    n = np.array([0.3, 0.4, 2.0]) / distance
    slip = np.array([1.0, 2.0, -3.0]) - 0.1 * np.cross([0, 5.0, 0], n)
    np.testing.assert_allclose(found.rate[0, 0], -3.0, atol=1e-14)
    np.testing.assert_allclose(
        tangential_speed(found.rate[0]), math.hypot(1 - 0.5, 2.0), atol=1e-14
    )
    np.testing.assert_allclose(found.rate[1, 0], n @ [1, 2, -3], atol=1e-14)
    np.testing.assert_allclose(
        tangential_speed(found.rate[1]), np.linalg.norm(slip - (n @ slip) * n), atol=1e-14
    )
