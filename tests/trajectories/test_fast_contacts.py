"""Contacts that close and open again within a fixed step, by Moreau and Jean's method and with force laws."""

import math

import numpy as np
import pytest
from draws import drawn
from fast_pairs import MAKERS, pair

import flexmbs as fm

pytestmark = pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", drawn(2, 30))
def test_no_step_passes_over_an_impact(kind: str, seed: int) -> None:
    """Velocities after the impact in closed form; errors of a step of 1/25 of the size remain where nothing is located."""
    drawn_pair = pair(kind, seed)
    run = fm.simulate(drawn_pair.model, t_end=drawn_pair.t_end, integrator=fm.MoreauJean(step=drawn_pair.step))
    assert drawn_pair.error(run) < 0.05
    assert len(run.run.impacts) >= 1
    assert np.abs(run.energy.balance).max() < 1e-9 * run.energy.scale
    assert not run.statistics["unseen_contacts"]


@pytest.mark.parametrize(("radius", "speed", "step", "part"), [
    (0.01, 20.0, 1e-3, 0.4718124957327114), (0.0286, 8.0, 1e-2, 0.505), (0.01, 400.0, 1e-3, 0.31),
])  # fmt: skip
def test_balls_that_meet_head_on_exchange_their_velocities(radius: float, speed: float, step: float, part: float) -> None:
    model = fm.Model("balls", gravity=(0, 0, 0))
    for i, x in enumerate((0.0, speed * part)):
        ball = model.add(fm.RigidBody(f"ball{i}", mass=0.1, inertia=(1e-5,) * 3))
        model.add(fm.Prismatic(f"rail{i}", model.ground, ball, axis="x", q0=x, v0=speed if i == 0 else 0.0))
    model.add(fm.SphereSphere("hit", "ball0", "ball1", radius_parent=radius, radius_child=radius, restitution=1.0))
    run = fm.simulate(model, t_end=0.6, integrator=fm.MoreauJean(step=step))
    assert [run.joint(f"rail{i}").velocity[-1, 0] for i in (0, 1)] == pytest.approx([0.0, speed], abs=1e-9 * speed)
    (impact,) = run.run.impacts
    assert impact.t == pytest.approx(part - 2 * radius / speed, abs=1e-6 * step)
    assert run.verdict == "PASS"


def test_impacts_within_a_step_do_not_divide_other_steps() -> None:
    """A ball in a narrow slot strikes its walls twenty times in a step; outputs lie on the grid of the steps."""
    model = fm.Model("slot", gravity=(0, 0, 0))
    ball = model.add(fm.PointMass("ball", mass=2.0))
    model.add(fm.Prismatic("way", model.ground, ball, axis="x", v0=10.0))
    model.add(fm.JointLimit("walls", "way", lower=-2.5e-4, upper=2.5e-4, restitution=1.0))
    run = fm.simulate(model, t_end=0.01, integrator=fm.MoreauJean(step=1e-3), output_step=1e-3)
    assert len(run.run.impacts) == 200
    way = 10.0 * run.t / 5e-4 + 0.5
    folded = 2.5e-4 * (1.0 - 2.0 * np.abs((way % 2.0) - 1.0))
    np.testing.assert_allclose(run.joint("way").position[:, 0], folded, atol=1e-7)
    pushes = [sum(hit.impulse[0] for hit in run.run.impacts if k < hit.t * 1e3 < k + 1) for k in range(10)]
    assert pushes == pytest.approx([800.0] * 10)


def test_impacts_without_end_within_a_step_are_refused() -> None:
    model = fm.Model("slot", gravity=(0, 0, 0))
    ball = model.add(fm.PointMass("ball", mass=2.0))
    model.add(fm.Prismatic("way", model.ground, ball, axis="x", v0=10.0))
    model.add(fm.JointLimit("walls", "way", lower=-1e-8, upper=1e-8, restitution=1.0))
    with pytest.raises(fm.SolverError, match=r"impacts of contact 'walls\..* within a step; take smaller steps"):
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
