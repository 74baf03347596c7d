"""Bodies without mass, without inertia or with that of a thin rod: one verdict in all coordinates,
and the body at fault.
"""

import numpy as np
import pytest

import flexmbs as fm

NOTHING = (0.0, 0.0, 0.0)
EVERY = [
    {"step": 1e-3},
    {"step": 1e-3, "coordinates": "absolute", "formalism": "multiplier"},
    {"coordinates": "absolute", "formalism": "embedding", "integrator": "dormand-prince"},
]


def on_a_link(mass: float, inertia: tuple[float, float, float]) -> fm.Model:
    """A rod on a link of 0.3 m, both about y."""
    model = fm.Model("rod on a link")
    link = model.add(fm.RigidBody("link", mass=mass, inertia=inertia, frames={"end": (0, 0, -0.3)}))
    rod = model.add(fm.RigidBody("rod", mass=2.0, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.001)))
    model.add(fm.Revolute("top", model.ground, link, axis="y", q0=0.5))
    model.add(fm.Revolute("middle", link["end"], rod, axis="y", q0=0.2))
    return model


def thin_rod() -> fm.Model:
    """A rod without inertia about its own axis."""
    model = fm.Model("thin rod")
    rod = model.add(fm.RigidBody("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.0, 1 / 12, 1 / 12)))
    model.add(fm.Revolute("top", model.ground, rod, axis="y"))
    return model


MODELS = {
    "massless": on_a_link(0.0, NOTHING),
    "without inertia": on_a_link(0.5, NOTHING),
    "thin": thin_rod(),
}


@pytest.mark.parametrize("name", MODELS)
def test_light_bodies_move_alike_in_all_coordinates(name: str) -> None:
    model = MODELS[name]
    runs = [fm.simulate(model, t_end=0.1, **how) for how in EVERY]
    for run in runs:
        np.testing.assert_allclose(
            run.body("rod").position[-1], runs[0].body("rod").position[-1], atol=2e-6
        )
        np.testing.assert_allclose(
            run.joint("top").force[-1], runs[0].joint("top").force[-1], atol=2e-3
        )
        assert str(run.verdict) == "PASS"


def test_a_massless_link_is_a_double_pendulum() -> None:
    """(0.3 + …): the angles of the link and of the rod by Lagrange's equations of a rod that hangs
    on a string of 0.3 m.
    """
    run = fm.simulate(
        MODELS["massless"], t_end=0.5, integrator="dormand-prince", rtol=1e-9, atol=1e-10
    )
    m, l, c, J, g = 2.0, 0.3, 0.2, 0.02, 9.81
    a, b = (run.joint(name).position[:, 0] for name in ("top", "middle"))
    u, v = (run.joint(name).velocity[:, 0] for name in ("top", "middle"))
    b, v = a + b, u + v  # angles from the vertical
    kinetic = (
        0.5 * m * (l * l * u * u + c * c * v * v + 2 * l * c * u * v * np.cos(a - b))
        + 0.5 * J * v * v
    )
    total = kinetic - m * g * (l * np.cos(a) + c * np.cos(b))
    np.testing.assert_allclose(total, total[0], atol=1e-7)
    moment = J * run.joint("middle").acceleration[:, 0] + J * run.joint("top").acceleration[:, 0]
    # of the rod about its centre of mass: the link, without inertia, transmits a force along itself
    # alone
    force = np.linalg.norm(run.joint("top").force, axis=1)
    np.testing.assert_allclose(np.abs(moment), np.abs(c * force * np.sin(a - b)), atol=1e-6)


@pytest.mark.parametrize("axis", ["y", "z", (0.6, 0.3, -0.7), (1.0, 1.0, 0.3)])
@pytest.mark.parametrize("how", EVERY)
def test_the_body_without_inertia_is_named(how: dict, axis: str | tuple[float, ...]) -> None:
    """Two hinges about one axis: the piece between them turns without inertia, the bodies beside it
    have theirs. Its pivot vanishes up to round-off only.
    """
    model = fm.Model("idle piece")
    model.add(fm.RigidBody("heavy", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"end": (0.3, 0, 0)}))
    model.add(fm.RigidBody("idle", mass=0.0, inertia=NOTHING))
    model.add(fm.RigidBody("last", mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1)))
    for name, parent, child in (
        ("a", "ground", "heavy"),
        ("b", "heavy/end", "idle"),
        ("c", "idle", "last"),
    ):
        model.add(fm.Revolute(name, parent, child, axis=axis))
    with pytest.raises(fm.InputError, match=r"bodies\.idle: its motion has no inertia"):
        fm.simulate(model, t_end=0.1, **how)
    assert any(
        error.startswith("bodies.idle: its motion has no inertia") for error in model.check().errors
    )


def balanced(k: float, angle: float) -> fm.Model:
    """A bar of 2 kg and 0.5 m on a hinge, its end on a spring of length zero to a point 0.4 m above
    the hinge.
    """
    model = fm.Model("balanced bar", frames={"above": (0, 0, 0.4)})
    frames = {"end": (0.5, 0, 0)}
    bar = model.add(
        fm.RigidBody("bar", mass=2.0, com=(0.25, 0, 0), inertia=(0.01, 0.05, 0.05), frames=frames)
    )
    model.add(fm.Revolute("hinge", model.ground, bar, axis="-y", q0=angle))
    model.add(fm.PointSpring("spring", model.ground["above"], bar["end"], k=k, length=0.0))
    return model


@pytest.mark.parametrize("angle", [-1.0, 0.0, 0.8])
def test_a_spring_of_length_zero_balances_a_weight_in_every_position(angle: float) -> None:
    """m g c cos θ = k h l cos θ: k = m g c/(h l) = 24.525 N/m."""
    run = fm.simulate(balanced(2.0 * 9.81 * 0.25 / (0.4 * 0.5), angle), t_end=1.0, step=1e-2)
    np.testing.assert_allclose(run.joint("hinge").position, angle, atol=1e-12)
    assert np.abs(run.joint("hinge").acceleration).max() < 1e-12


def test_a_spring_of_length_zero_has_its_stiffness_where_its_ends_meet() -> None:
    """k in all directions at r = 0: ω² = k/m of a mass in its centre, k r of one that passes
    through it.
    """
    model = fm.Model("mass on a spring", gravity=(0, 0, 0))
    ball = model.add(fm.RigidBody("ball", mass=2.0, inertia=(1, 1, 1)))
    model.add(fm.Translation("guide", model.ground, ball, v0=(0.3, -0.2, 0.5)))
    model.add(fm.PointSpring("spring", model.ground, ball, k=50.0, length=0.0))
    assert np.allclose(fm.statics(model).frequencies, 5.0, rtol=1e-9)
    run = fm.simulate(model, t_end=2.0, step=5e-4)
    expected = np.outer(np.sin(5.0 * run.t), np.array([0.3, -0.2, 0.5]) / 5.0)
    np.testing.assert_allclose(run.body("ball").position, expected, atol=1e-6)
    assert str(run.verdict) == "PASS"
