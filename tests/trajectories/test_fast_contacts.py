"""Contacts that close and open again within a fixed step, by Moreau and Jean's method and with
force laws.
"""

import math
from typing import Any

import numpy as np
import pytest
from draws import drawn
from fast_pairs import MAKERS, TWO_BALLS, pair

import flexmbs as fm

pytestmark = pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", drawn(2, 30))
def test_no_step_passes_over_an_impact(kind: str, seed: int) -> None:
    """Velocities after the impact in closed form; errors of a step of 1/25 of the size remain where
    nothing is located.
    """
    drawn_pair = pair(kind, seed)
    run = fm.simulate(
        drawn_pair.model, t_end=drawn_pair.t_end, integrator=fm.MoreauJean(step=drawn_pair.step)
    )
    assert drawn_pair.error(run) < 0.05
    assert len(run.run.impacts) >= 1
    assert np.abs(run.energy.balance).max() < 1e-9 * run.energy.scale
    assert not run.statistics["unseen_contacts"]


FIXED = (fm.GeneralizedAlpha, fm.DormandPrince, fm.ESDIRK, fm.Rattle, fm.MoreauJean)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", drawn(2, 30))
def test_fixed_steps_are_divided_by_contacts_with_laws(kind: str, seed: int) -> None:
    """Velocities after impacts of all depths; their error by the turn of the normal is of the order
    of depth over size.
    """
    depth = 10.0 ** np.random.default_rng(seed).uniform(-3.0, -1.3)
    drawn_pair, method = (
        pair(kind, seed, depth),
        FIXED[(seed + list(MAKERS).index(kind)) % len(FIXED)],
    )
    run = fm.simulate(
        drawn_pair.model, t_end=drawn_pair.t_end, integrator=method(step=drawn_pair.step)
    )
    assert drawn_pair.error(run) < 2.0 * depth + 0.005
    assert np.abs(run.energy.balance).max() < 2e-3 * run.energy.scale
    assert not run.statistics["unseen_contacts"]
    assert run.statistics["steps"] < drawn_pair.t_end / drawn_pair.step + 200
    if kind in TWO_BALLS:
        momentum = sum(run.joint(name).velocity[-1] for name in drawn_pair.exact)
        np.testing.assert_allclose(momentum, [drawn_pair.speed, 0.0], atol=1e-8 * drawn_pair.speed)


@pytest.mark.parametrize("method", FIXED)
def test_a_thin_plate_is_not_passed(method: Any) -> None:
    """A point at 50 m/s, 0.5 m a step, and a plate of 20 mm, which ends where the point has passed
    it.
    """
    model = fm.Model("plate", gravity=(0, 0, 0))
    shot = model.add(fm.PointMass("shot", mass=0.01))
    model.add(fm.Prismatic("way", model.ground, shot, axis="x", q0=-1.3, v0=50.0))
    law = fm.HuntCrossley(2e7, exponent=1.0, restitution=0.5, speed=50.0)
    model.add(
        fm.UnilateralCoupling(
            "plate", ["way.0"], lambda t, x: ((x[0] - 0.01) ** 2) ** 0.5 - 0.01, law=law
        )
    )
    run = fm.simulate(model, t_end=0.06, integrator=method(step=0.01))
    assert run.joint("way").velocity[-1, 0] == pytest.approx(-25.0, rel=2e-3)


def test_a_law_too_stiff_for_any_part_of_a_step_is_reported() -> None:
    drawn_pair = pair("sphere-sphere", 3, 1e-8)
    run = fm.simulate(
        drawn_pair.model,
        t_end=drawn_pair.t_end,
        integrator=fm.GeneralizedAlpha(step=drawn_pair.step),
    )
    assert run.verdict == "FAIL"


@pytest.mark.parametrize(("radius", "speed", "step", "part"), [
    (0.01, 20.0, 1e-3, 0.4718124957327114), (0.0286, 8.0, 1e-2, 0.505), (0.01, 400.0, 1e-3, 0.31),
])  # fmt: skip
def test_balls_that_meet_head_on_exchange_their_velocities(
    radius: float, speed: float, step: float, part: float
) -> None:
    model = fm.Model("balls", gravity=(0, 0, 0))
    for i, x in enumerate((0.0, speed * part)):
        ball = model.add(fm.RigidBody(f"ball{i}", mass=0.1, inertia=(1e-5,) * 3))
        model.add(
            fm.Prismatic(
                f"rail{i}", model.ground, ball, axis="x", q0=x, v0=speed if i == 0 else 0.0
            )
        )
    model.add(
        fm.SphereSphere(
            "hit", "ball0", "ball1", radius_parent=radius, radius_child=radius, restitution=1.0
        )
    )
    run = fm.simulate(model, t_end=0.6, integrator=fm.MoreauJean(step=step))
    assert [run.joint(f"rail{i}").velocity[-1, 0] for i in (0, 1)] == pytest.approx(
        [0.0, speed], abs=1e-9 * speed
    )
    (impact,) = run.run.impacts
    assert impact.t == pytest.approx(part - 2 * radius / speed, abs=1e-6 * step)
    assert run.verdict == "PASS"


def test_impacts_within_a_step_do_not_divide_other_steps() -> None:
    """A ball in a narrow slot strikes its walls twenty times in a step; outputs lie on the grid of
    the steps.
    """
    model = fm.Model("slot", gravity=(0, 0, 0))
    ball = model.add(fm.PointMass("ball", mass=2.0))
    model.add(fm.Prismatic("way", model.ground, ball, axis="x", v0=10.0))
    model.add(fm.JointLimit("walls", "way", lower=-2.5e-4, upper=2.5e-4, restitution=1.0))
    run = fm.simulate(model, t_end=0.01, integrator=fm.MoreauJean(step=1e-3), output_step=1e-3)
    assert len(run.run.impacts) == 200
    way = 10.0 * run.t / 5e-4 + 0.5
    folded = 2.5e-4 * (1.0 - 2.0 * np.abs((way % 2.0) - 1.0))
    np.testing.assert_allclose(run.joint("way").position[:, 0], folded, atol=1e-7)
    pushes = [
        sum(hit.impulse[0] for hit in run.run.impacts if k < hit.t * 1e3 < k + 1) for k in range(10)
    ]
    assert pushes == pytest.approx([800.0] * 10)


def test_impacts_without_end_within_a_step_are_refused() -> None:
    model = fm.Model("slot", gravity=(0, 0, 0))
    ball = model.add(fm.PointMass("ball", mass=2.0))
    model.add(fm.Prismatic("way", model.ground, ball, axis="x", v0=10.0))
    model.add(fm.JointLimit("walls", "way", lower=-1e-8, upper=1e-8, restitution=1.0))
    with pytest.raises(
        fm.SolverError, match=r"impacts of contact 'walls\..* within a step; take smaller steps"
    ):
        fm.simulate(model, t_end=0.01, integrator=fm.MoreauJean(step=1e-3))


def test_a_stack_under_a_fast_ball_keeps_still_until_it_is_hit() -> None:
    """Contacts at rest take part in the short step of an impact."""
    model = fm.Model("stack")
    for k, height in enumerate((0.05, 0.15)):
        ball = model.add(fm.RigidBody(f"ball{k}", mass=1.0, inertia=(1e-3,) * 3))
        model.add(fm.Prismatic(f"guide{k}", model.ground, ball, axis="z", q0=height))
    model.add(fm.RigidBody("shot", mass=0.1, inertia=(1e-4,) * 3))
    model.add(fm.Prismatic("flight", model.ground, "shot", axis="z", q0=2.0, v0=-40.0))
    model.add(fm.SpherePlane("floor", model.ground, "ball0", radius=0.05))
    model.add(fm.SphereSphere("on", "ball0", "ball1", radius_parent=0.05, radius_child=0.05))
    model.add(fm.SphereSphere("hit", "ball1", "shot", radius_parent=0.05, radius_child=0.01))
    run = fm.simulate(model, t_end=0.1, integrator=fm.MoreauJean(step=1e-3))
    heights = [run.body(name).position[-1, 2] for name in ("ball0", "ball1", "shot")]
    assert heights == pytest.approx([0.05, 0.15, 0.21], abs=1e-5)
    speed = math.sqrt(40.0**2 + 2 * 9.81 * 1.79)
    assert sum(hit.lost for hit in run.run.impacts) == pytest.approx(0.05 * speed**2, rel=1e-5)
