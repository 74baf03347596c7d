"""Declared contacts: defaults, files, and one line per problem."""

import pytest
from declared import problems_of

import flexmbs as fm


def ball(**frames) -> tuple[fm.Model, fm.model.frames.BodyHandle]:
    model = fm.Model("ball")
    body = model.add(fm.RigidBody("ball", mass=1.0, inertia=(1, 1, 1), frames=frames))
    model.add(fm.Free("flight", model.ground, body))
    return model, body


BAD = [
    (
        lambda m, b: fm.SpherePlane("c", m.ground, b, radius=-0.1),
        "contacts.c.radius: must be >= 0, not -0.1",
    ),
    (
        lambda m, b: fm.SpherePlane("c", m.ground, b, normal=(0, 0, 0)),
        "contacts.c.normal: the axis has zero length; give a direction such as 'z' or [0, 0, 1]",
    ),
    (
        lambda m, b: fm.SpherePlane("c", m.ground, b, restitution=1.1),
        "contacts.c.restitution: must be within 0 … 1 (an impact adds no energy), not 1.1",
    ),
    (
        lambda m, b: fm.SpherePlane("c", m.ground, b, friction=-0.2),
        "contacts.c.friction: must be >= 0, not -0.2",
    ),
    (
        lambda m, b: fm.SpherePlane("c", m.ground, b, restitution_law="moreau"),
        "contacts.c.restitution_law: must be 'newton' or 'poisson', not 'moreau'",
    ),
    (
        lambda m, b: fm.SpherePlane(
            "c", m.ground, b, restitution_law="poisson", tangential_restitution=0.3
        ),
        "contacts.c.tangential_restitution: 0.3 requires Newton's law; set it to 0, or "
        "use restitution_law 'newton'",
    ),
    (
        lambda m, b: fm.SphereSphere("c", m.ground, b, radius_child=1.0),
        "contacts.c.radius_parent: is missing",
    ),
    (
        lambda m, b: fm.SpherePlane("c", b["a"], b),
        "contacts.c.child: is a frame of 'ball' like the parent; a contact needs frames "
        "of two different bodies",
    ),
    (
        lambda m, b: fm.CornerLine("c", m.ground, b, direction=(1, 1, 0)),
        "contacts.c.direction: must be perpendicular to the normal, but their cosine is 0.707107",
    ),
    (
        lambda m, b: fm.CornerLine("c", m.ground, b, length=0.0),
        "contacts.c.length: must be > 0, not 0",
    ),
    (
        lambda m, b: fm.JointLimit("c", "flight"),
        "contacts.c.lower: and upper are missing; give at least one of them",
    ),
    (
        lambda m, b: fm.JointLimit("c", "flight", lower=1, upper=0),
        "contacts.c.upper: must be above lower = 1, not 0",
    ),
]


@pytest.mark.parametrize(("make", "line"), BAD, ids=[line.split(":")[0] for _, line in BAD])
def test_bad_contact(make, line) -> None:
    model, body = ball(a=(0, 0, 1))
    assert problems_of(lambda: make(model, body)) == [line]


def test_references_of_contacts() -> None:
    model, body = ball()
    model.add(fm.SpherePlane("floor", model.ground, "ball/foot"))
    model.add(fm.JointLimit("stop", "flight", lower=0.0))
    model.add(fm.JointLimit("end", "hinge", lower=0.0))
    assert model.check().errors == [
        "contacts.floor.child: body 'ball' has no frame 'foot'; there are none",
        "contacts.stop.coordinate: coordinate 0 of joint 'flight' (free) has a velocity "
        "but no position; "
        "use a joint or a chain of single motions (revolute, prismatic, ...)",
        "contacts.end.joint: no joint 'hinge'; known: flight",
    ]
    with pytest.raises(fm.InputError, match=r"contacts\.floor: the name is already in use"):
        model.add(fm.SphereSphere("floor", model.ground, body, radius_parent=1, radius_child=1))


def test_analyses_without_contacts_refuse_them() -> None:
    model, body = ball()
    model.add(fm.SpherePlane("floor", model.ground, body))
    with pytest.raises(
        fm.InputError,
        match=r"contacts\.floor: integrator 'generalized-alpha' does not "
        r"support rigid contacts; use ",
    ):
        fm.simulate(model, t_end=1.0, step=0.1)
    with pytest.raises(
        fm.InputError,
        match=r"contacts\.floor: statics does not support rigid contacts; give it a force law",
    ):
        fm.statics(model)
