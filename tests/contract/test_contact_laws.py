"""Contacts with laws of force: their forces are those of the indentation, have the stated power,
and act alike in joint and absolute coordinates and in every formalism."""

import any_functions as given
import numpy as np
import pytest
from samples import rigid, some_axis, state, two_bodies
from test_contact_kinematics import Touching

import flexmbs as fm
from flexmbs.algebra.works import Works
from flexmbs.dynamics.dense import terms
from flexmbs.system.records import rows_of


def pressed(seed: int, *, damping: float = 0.3, friction: float = 1.0) -> fm.Model:
    """A tree with contacts of every kind that are closed."""
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
    made = fm.HuntCrossley(40.0, damping=damping, slip_velocity=0.5)
    model.add(
        fm.SpherePlane(
            "floor",
            "ground/post",
            "second/b",
            normal=some_axis(rng),
            radius=4.0,
            friction=0.4 * friction,
            law=made,
        )
    )
    model.add(
        fm.SpherePlane(
            "moving floor", "first/a", "third/a", normal=some_axis(rng), radius=4.0, law=made
        )
    )
    model.add(
        fm.SphereSphere(
            "balls",
            "second/b",
            "third/b",
            radius_parent=2.0,
            radius_child=3.0,
            friction=0.2 * friction,
            law=made,
        )
    )
    model.add(fm.JointLimit("stop", "hinge", lower=3.0, law=made))
    belt = {"slip": given.slip_on_belt, "friction": 0.3 * friction, "rheonomic": True}
    model.add(fm.UserContact("belt", "second/b", "third/b", given.far_below, law=made, **belt))
    model.add(fm.Pose("place", "first/b", "third/a"))
    model.add(
        fm.UnilateralCoupling(
            "wave", ["hinge", "place.2", "base"], given.falling_wave, law=made, rheonomic=True
        )
    )
    return model


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_forces_are_those_of_the_law(seed: int, coordinates: str) -> None:
    now = state(pressed(seed), coordinates)
    terms(now.system, now.work, 0.0, now.q, now.s)
    assert len(now.compiled.contacts) == 6
    for contact, mu in zip(rows_of(now.work.contact), (0.4, 0.0, 0.2, 0.0, 0.3, 0.0)):
        delta, rate, slip = -contact.gap, -contact.velocity[0], contact.velocity[1:]
        normal = max(40.0 * delta**1.5 * (1.0 + 0.3 * rate), 0.0)
        assert delta > 0.0
        assert contact.force[0] == pytest.approx(normal, rel=1e-12)
        friction = (
            -mu * normal * np.tanh(np.hypot(*slip) / 0.5) * slip / max(np.hypot(*slip), 1e-300)
        )
        np.testing.assert_allclose(contact.force[1:], friction, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_power_is_that_of_the_balance(seed: int) -> None:
    model = pressed(seed)
    contacts = dict(model.contacts)
    model.contacts.clear()
    bare = state(model)
    zero = terms(bare.system, bare.work, 0.0, bare.q, bare.s).k
    before = bare.work.power.values.copy()
    model.contacts.update(contacts)
    now = state(model)
    k = terms(now.system, now.work, 0.0, now.q, now.s).k - zero
    power = Works(now.work.power.values - before)
    assert np.abs(k).max() > 1.0
    assert power.drives != 0.0
    assert power.forces - power.loss + power.drives == pytest.approx(now.s @ k, rel=1e-11)
    assert power.loss > 0.0


def test_elastic_forces_have_a_potential() -> None:
    """−∂/∂q of Σ k δ^(n+1)/(n+1), the gaps from the kinematics of the frames."""
    model = pressed(3, damping=0.0, friction=0.0)
    touching = Touching(model, "joint")
    contacts = dict(model.contacts)
    model.contacts.clear()
    bare = state(model)
    zero = terms(bare.system, bare.work, 0.0, bare.q, bare.s).k
    model.contacts.update(contacts)
    k = (
        terms(touching.state.system, touching.state.work, 0.0, touching.state.q, touching.state.s).k
        - zero
    )

    def energy(e: np.ndarray, h: float) -> float:
        return float((40.0 * np.maximum(-touching.moved(e, h), 0.0) ** 2.5 / 2.5).sum())

    h = 1e-4
    found = [(energy(e, -h) - energy(e, h)) / (2 * h) for e in np.eye(len(k))]
    np.testing.assert_allclose(k, found, atol=1e-6 * np.abs(k).max())


@pytest.mark.parametrize(
    ("form", "coordinates"),
    [
        ("multiplier", "absolute"),
        ("recursive", "joint"),
        ("embedding", "absolute"),
        ("partitioning", "joint"),
    ],
)
def test_formalisms_agree(form: str, coordinates: str) -> None:
    model = pressed(4)
    one, other = (
        fm.simulate(
            model,
            t_end=1e-9,
            step=1e-9,
            formalism=name,
            coordinates=way,
            integrator="dormand-prince",
        ).joint("flight")
        for name, way in (("multiplier", "joint"), (form, coordinates))
    )
    np.testing.assert_allclose(one.acceleration[0], other.acceleration[0], rtol=1e-8)
