"""Contacts with the law of Hertz, Hunt and Crossley: impacts,
rest and rolling with closed forms.
"""

import math

import numpy as np
import pytest
from meetings import meeting

import flexmbs as fm

RADIUS, MASS, SPEED = 0.02, 0.26, 1.0
STEEL = fm.HuntCrossley.hertz(210e9, 0.3, 210e9, 0.3, RADIUS)
SOFT = 1e5  # N/m^1.5
# Hertz's impact by quadrature (Johnson, Contact Mechanics, 1985, eq. 11.23 f.): ∫₀¹ dx/√(1 − x^2.5)
# = 1.47160…
DEEPEST = (5.0 * MASS * SPEED**2 / (4.0 * STEEL)) ** 0.4
CONTACT_TIME = 2.0 * 0.4 * math.sqrt(math.pi) * math.gamma(0.4) / math.gamma(0.9) * DEEPEST / SPEED


def ball(
    law: fm.HuntCrossley | None,
    *,
    v: tuple[float, float, float],
    gravity: float = 0.0,
    depth: float = 0.0,
    **contact: float,
) -> fm.Model:
    """A ball that touches the ground, or penetrates it."""
    model = fm.Model("ball", gravity=(0, 0, -gravity))
    body = model.add(fm.RigidBody("ball", mass=MASS, inertia=(0.4 * MASS * RADIUS**2,) * 3))
    model.add(
        fm.Free(
            "flight", model.ground, body, q0=(0, 0, RADIUS - depth, 1, 0, 0, 0), v0=(*v, 0, 0, 0)
        )
    )
    model.add(fm.SpherePlane("floor", model.ground, body, radius=RADIUS, law=law, **contact))
    return model


METHODS = {
    "explicit": (fm.DormandPrince(rtol=1e-11, atol=1e-14), 1e-7),
    "alpha": (fm.GeneralizedAlpha(step=CONTACT_TIME / 200, rho_inf=1.0), 1e-4),
}


@pytest.mark.parametrize(("method", "tolerance"), METHODS.values(), ids=METHODS)
def test_elastic_impact_of_hertz(method, tolerance):
    model = ball(fm.HuntCrossley(STEEL), v=(0, 0, -SPEED))
    rebound = fm.Event("rebound", frame="ball", axis="z", value=RADIUS, direction=1)
    solution = fm.simulate(
        model,
        t_end=1.2 * CONTACT_TIME,
        output_step=CONTACT_TIME / 200,
        integrator=method,
        events=[rebound],
    )
    floor = solution.contact("floor")
    assert -floor.gap.min() == pytest.approx(DEEPEST, rel=max(tolerance, 2e-5))
    assert floor.normal.max() == pytest.approx(STEEL * DEEPEST**1.5, rel=max(3 * tolerance, 1e-4))
    assert solution.events[0].t == pytest.approx(CONTACT_TIME, rel=max(tolerance, 1e-6))
    assert solution.frame("ball").velocity[-1, 2] == pytest.approx(SPEED, rel=tolerance)
    assert np.abs(solution.energy.balance).max() < max(tolerance, 1e-6) * solution.energy.scale


@pytest.mark.parametrize("e", [0.3, 0.8])
def test_restitution_of_two_balls(e):
    """The law is exact at its speed: v' = −e v of the two, their momentum is kept, the loss is (1 −
    e²) m_red v²/2.
    """
    law = fm.HuntCrossley(STEEL, restitution=e, speed=SPEED)
    model = fm.Model("two balls", gravity=(0, 0, 0))
    masses = {"one": 0.2, "other": 0.7}
    for name, mass in masses.items():
        body = model.add(fm.RigidBody(name, mass=mass, inertia=(1e-4, 1e-4, 1e-4)))
        model.add(
            fm.Translation(
                f"way of {name}", model.ground, body, q0=(0 if name == "one" else 0.05, 0, 0)
            )
        )
    object.__setattr__(model.joints["way of one"], "v0", (SPEED, 0.0, 0.0))
    model.add(
        fm.SphereSphere("hit", "one", "other", radius_parent=0.02, radius_child=0.03, law=law)
    )
    solution = fm.simulate(
        model, t_end=6e-4, output_step=2e-5, integrator=fm.DormandPrince(rtol=1e-9, atol=1e-13)
    )
    a, b = (solution.frame(name).velocity[-1, 0] for name in masses)
    assert solution.contact("hit").gap[-1] > 0.0
    assert b - a == pytest.approx(e * SPEED, rel=1e-6)
    assert 0.2 * a + 0.7 * b == pytest.approx(0.2 * SPEED, rel=1e-10)
    reduced = 0.2 * 0.7 / 0.9
    assert solution.energy.dissipated[-1] == pytest.approx(
        (1 - e**2) * reduced * SPEED**2 / 2, rel=1e-6
    )


@pytest.mark.parametrize(
    "how",
    [{}, {"coordinates": "absolute"}, {"formalism": "recursive"}],
    ids=["joint", "absolute", "recursive"],
)
def test_sliding_ball_comes_to_roll(how):
    """For any friction, a ball that slides at v₀ rolls at 5/7 v₀; it rests on the floor at the
    depth (m g/k)^(2/3).
    """
    depth = (MASS * 9.81 / SOFT) ** (2 / 3)
    model = ball(
        fm.HuntCrossley(SOFT, damping=2.0), v=(SPEED, 0, 0), gravity=9.81, depth=depth, friction=0.3
    )
    solution = fm.simulate(
        model, t_end=0.2, output_step=0.01, integrator=fm.GeneralizedAlpha(step=1e-4), **how
    )
    motion = solution.frame("ball")
    assert motion.velocity[-1, 0] == pytest.approx(5 / 7 * SPEED, rel=2e-5)
    assert motion.angular_velocity[-1, 1] == pytest.approx(5 / 7 * SPEED / RADIUS, rel=1e-3)
    assert RADIUS - motion.position[-1, 2] == pytest.approx(depth, rel=1e-3)
    assert solution.contact("floor").normal[-1] == pytest.approx(MASS * 9.81, rel=1e-3)
    assert np.abs(solution.energy.balance).max() < 1e-4 * solution.energy.scale
    assert solution.statistics["iterations"] < 6 * solution.statistics["steps"]


def test_the_rigid_limit_is_moreaus():
    """An oblique impact with permanent sliding: v_n' = −e v_n, v_t' = v_t − μ (1 + e) |v_n|, by law
    and by constraint.
    """
    e, mu, v = 0.6, 0.1, (2.0, 0.0, -SPEED)
    hard = ball(fm.HuntCrossley(STEEL, restitution=e, speed=SPEED), v=v, friction=mu)
    rigid = ball(None, v=v, friction=mu, restitution=e)
    found = fm.simulate(
        hard, t_end=1e-3, output_step=1e-3, integrator=fm.DormandPrince(rtol=1e-9, atol=1e-13)
    ).frame("ball")
    limit = fm.simulate(rigid, t_end=1e-3, step=1e-4, integrator="moreau-jean").frame("ball")
    wanted = (2.0 - mu * (1 + e) * SPEED, 0.0, e * SPEED)
    np.testing.assert_allclose(found.velocity[-1], wanted, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(limit.velocity[-1], wanted, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        found.angular_velocity[-1], limit.angular_velocity[-1], rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_stop_of_a_joint(coordinates):
    """A carriage rebounds from the stop of its rail with e v,
    in the tree and as a cut joint alike.
    """
    model = fm.Model("rail", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("carriage", mass=MASS, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Prismatic("rail", model.ground, body, axis="x", q0=0.09, v0=SPEED))
    law = fm.HuntCrossley(SOFT, restitution=0.5, speed=SPEED)
    model.add(fm.JointLimit("stops", "rail", lower=-0.1, upper=0.1, law=law))
    solution = fm.simulate(
        model,
        t_end=0.06,
        output_step=1e-3,
        coordinates=coordinates,
        integrator=fm.GeneralizedAlpha(step=2e-5),
    )
    assert solution.joint("rail").velocity[-1, 0] == pytest.approx(-0.5 * SPEED, rel=1e-3)
    upper, lower = solution.contact("stops.upper"), solution.contact("stops.lower")
    assert upper.normal.max() > 10.0
    assert lower.normal.max() == 0.0
    assert solution.energy.dissipated[-1] == pytest.approx(0.75 * MASS * SPEED**2 / 2, rel=1e-3)
    assert np.abs(solution.energy.balance).max() < 1e-4 * solution.energy.scale


def struck(seed):
    """Two small balls that meet off centre, the velocity of the second after it, the time of the
    run, the speed.
    """
    model, radius, speed, t_end, n = meeting(seed, (-2, -1), (-1, 1), 1.5)
    law = fm.HuntCrossley(0.5 * speed**2 / (0.01 * radius) ** 2.5)  # a hundredth of the radius deep
    model.add(
        fm.SphereSphere(
            "hit", "first", "second", radius_parent=radius, radius_child=radius, law=law
        )
    )
    return model, speed * n[0] * n, t_end, speed


@pytest.mark.parametrize("integrator", ["generalized-alpha", "dormand-prince", "esdirk"])
@pytest.mark.parametrize("seed", range(6))
def test_no_controlled_step_passes_over_a_contact(seed, integrator):
    model, expected, t_end, speed = struck(seed)
    solution = fm.simulate(model, t_end=t_end, integrator=integrator)
    np.testing.assert_allclose(solution.frame("second").velocity[-1], expected, atol=0.05 * speed)


def test_fixed_steps_are_divided():
    model, expected, t_end, speed = struck(3)
    solution = fm.simulate(model, t_end=t_end, step=t_end / 30)
    np.testing.assert_allclose(solution.frame("second").velocity[-1], expected, atol=0.05 * speed)
    assert solution.statistics["rejected"] > 0
