"""Moreau and Jean's time stepping against closed forms and the published woodpecker: ball, block,
woodpecker, flexible arm.
"""

import json
import math
import pathlib

import numpy as np
import pytest
from rods import rod

import flexmbs as fm
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.motions import Rotate, Slide

DATA = pathlib.Path(__file__).parents[1] / "references" / "data" / "woodpecker.json"
G = 9.81


def bouncing(step: float, t_end: float) -> fm.Solution:
    model = fm.Model("ball", gravity=(0, 0, -G))
    ball = model.add(fm.PointMass("ball", mass=2.0))
    model.add(fm.Prismatic("fall", model.ground, ball, axis="z", q0=1.0))
    model.add(fm.SpherePlane("floor", model.ground, ball, restitution=0.9))
    return fm.simulate(model, t_end=t_end, step=step, output_step=0.05, integrator="moreau-jean")


def test_bouncing_ball_passes_the_accumulation_of_its_impacts() -> None:
    """h = 1 m, e = 0.9: t_n = √(2h/g) (1 + 2 Σ eᵏ); rest after 8.5789 s."""
    first = math.sqrt(2.0 / G)
    expected = first * (1.0 + 2.0 * np.cumsum(0.9 ** np.arange(10)) - 2.0)
    expected[0] = first
    expected[1:] = first * (1.0 + 2.0 * np.cumsum(0.9 ** np.arange(1, 10)))
    np.testing.assert_allclose(
        expected[:4], [0.451523640986, 1.264266194760, 1.995734493157, 2.654055961714], rtol=1e-11
    )
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        solution = bouncing(step, 10.0)
        found = np.array([impact.t for impact in solution.run.impacts[:10]])
        errors.append(np.abs(found - expected).max() / step)
        assert np.abs(solution.energy.balance).max() < 1e-10
        after = solution.t > 8.7
        assert np.abs(solution.q[after]).max() < 0.5 * G * step**2  # the fall of a step
        assert np.abs(solution.s[after]).max() < 1e-12
        np.testing.assert_allclose(solution.contact("floor").normal[after], 2.0 * G, rtol=1e-9)
        assert solution.contact("floor").gap.min() > -step * math.sqrt(2.0 * G)
    assert max(errors) < 7.0  # steps: first order


def test_rocking_block() -> None:
    """Housner's block (1963): half-width 0.25, half-height 1; θ₀ = α/2 reaches the floor after
    0.4938 s and loses 8.8 % speed.
    """
    b, height, step = 0.25, 1.0, 2e-4
    inertia = (b * b + height * height) / 3.0
    model = fm.Model("block", gravity=(0, -G, 0))
    frames = {"left": (-b, -height, 0), "right": (b, -height, 0)}
    block = model.add(fm.RigidBody("block", mass=1.0, inertia=(inertia,) * 3, frames=frames))
    tilt = -0.5 * math.atan2(b, height)
    c, s = math.cos(tilt), math.sin(tilt)
    model.add(
        fm.Planar(
            "plane", model.ground, block, q0=(b - c * b - s * height, c * height - s * b, tilt)
        )
    )
    for corner in ("left", "right"):
        model.add(fm.CornerLine(corner, model.ground, block[corner], friction=1.0))
    solution = fm.simulate(model, t_end=0.6, step=step, integrator="moreau-jean")
    rate = solution.joint("plane").velocity[:, 2]
    (impact,) = solution.run.impacts
    assert impact.contact == "left"
    assert impact.t == pytest.approx(0.493803215079, abs=3 * step)
    before, after = rate[round(impact.t / step) - 3], rate[round(impact.t / step) + 3]
    assert before == pytest.approx(0.565044821051, rel=3e-3)
    assert after / before == pytest.approx(0.911764705882, rel=5e-3)
    assert impact.lost == pytest.approx(
        0.5 * 4.0 * inertia * 0.565044821051**2 * (1 - 0.911764705882**2), rel=1e-2
    )
    assert min(solution.contact(corner).gap.min() for corner in ("left", "right")) > -step * 0.3
    assert solution.contact("right").slip[solution.t < 0.49].max() < 1e-6


def woodpecker(small: float) -> fm.Model:
    """The woodpecker of bodies and joints, with levers 1/small times as long and angles scaled
    accordingly: linear kinematics.
    """
    rO, rM, hM, lM, lG, hS, lS = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201
    k, beak, play = 1.0 / small, lM + lG - lS - rO, rM - rO
    sides = {"side": (rM * k - play, 0, 0), "bark": ((lM + lG - lS) * k - beak, 0, 0)}
    model = fm.Model("woodpecker", gravity=(0, -9.81, 0), frames=sides)
    places = {"spring": (lM * k, 0, 0), "low": (rM * k, -hM * k, 0), "high": (rM * k, hM * k, 0)}
    sleeve = model.add(
        fm.RigidBody("sleeve", mass=0.0003, inertia=(5e-9 * k * k,) * 3, frames=places)
    )
    places = {"spring": (-lG * k, 0, 0), "beak": (-lS * k, hS * k, 0)}
    bird = model.add(fm.RigidBody("bird", mass=0.0045, inertia=(7e-7 * k * k,) * 3, frames=places))
    down = fm.Chain(
        "pole",
        model.ground,
        sleeve,
        motions=(Slide("y"), Rotate("z")),
        q0=(0, -0.1036 * small),
        v0=(-0.3411, 0),
    )
    model.add(down)
    spring = fm.Revolute(
        "spring", sleeve["spring"], bird["spring"], q0=(0.1036 - 0.2788) * small, v0=-7.4583 * small
    )
    model.add(fm.JointSpring("leaf", model.add(spring), k=0.0056 * k * k))
    model.add(
        fm.SpherePlane(
            "beak", "ground/bark", bird["beak"], normal="x", restitution=0.5, friction=0.3
        )
    )
    for place in ("low", "high"):
        model.add(fm.SpherePlane(place, "ground/side", sleeve[place], normal="x", friction=0.3))
    return model


def test_woodpecker_of_bodies_and_joints() -> None:
    """Descent and angles of Siconos' reference over two cycles, the two impacts of the beak."""
    small = 1e-4
    reference = json.loads(DATA.read_text())
    samples = np.array(reference["samples"])
    samples = samples[samples[:, 0] <= 0.25 + 1e-9]
    solution = fm.simulate(
        woodpecker(small), t_end=0.25, step=2e-5, output_step=5e-3, integrator="moreau-jean"
    )
    y, sleeve = solution.joint("pole").position.T
    bird = sleeve + solution.joint("spring").position[:, 0]
    assert np.abs(y - samples[:, 1]).max() < 1e-2 * np.ptp(samples[:, 1])
    assert np.abs(sleeve / small - samples[:, 3]).max() < 1e-2 * np.ptp(samples[:, 3])
    assert np.abs(bird / small - samples[:, 5]).max() < 1e-2 * np.ptp(samples[:, 5])
    pecks = [impact.t for impact in solution.run.impacts if impact.contact == "beak"]
    np.testing.assert_allclose(pecks, reference["beak_impacts"]["ref"][0], atol=2e-4)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_flexible_arm_on_a_stop(restitution: float) -> None:
    """Energy balance, and the balance of the angular momentum about the hinge, where only the stop
    has a moment.
    """
    model = fm.Model("arm on a stop", gravity=(0, 0, 0))
    arm = model.add(fm.FlexibleBody("arm", data=rod(bending=25.0)))
    model.add(fm.Revolute("hinge", model.ground, arm["root"], axis="z", q0=0.05, v0=-2.0))
    model.add(fm.SpherePlane("stop", model.ground, arm["tip"], normal="y", restitution=restitution))
    step = 1e-4
    solution = fm.simulate(model, t_end=0.1, step=step, integrator="moreau-jean")
    energy, stop = solution.energy, solution.contact("stop")
    assert np.abs(energy.balance).max() < 1e-4 * energy.total[0]
    assert np.diff(energy.total).max() < 1e-4 * energy.total[0]
    assert stop.impacts[0].t == pytest.approx(0.025, abs=2 * step)
    assert stop.gap.min() >= -step * np.abs(stop.rate).max()
    assert sum(impact.lost for impact in stop.impacts) == pytest.approx(
        energy.dissipated[-1], rel=1e-3
    )
    work = make_work(solution.compiled.system)
    momentum = [
        (terms(solution.compiled.system, work, 0.0, q, s).M @ s)[0]
        for q, s in zip(solution.q, solution.s)
    ]
    tip = solution.frame("arm/tip").position
    moment = tip[:, 0] * stop.force[:, 1] - tip[:, 1] * stop.force[:, 0]
    np.testing.assert_allclose(
        np.array(momentum) - momentum[0], step * (np.cumsum(moment) - moment[0]), atol=2e-3
    )
    assert momentum[-1] - momentum[0] > 0.7


def test_free_flight_keeps_momentum_and_the_work_of_weight() -> None:
    """A body that spins at 27 rad/s with h = 0.02 s: its energy is conserved; without weight its
    velocity is constant.
    """
    for gravity in (0.0, G):
        model = fm.Model("flight", gravity=(0, 0, -gravity))
        body = model.add(fm.RigidBody("body", mass=2.0, inertia=(0.02, 0.035, 0.05)))
        model.add(
            fm.Free(
                "flight", model.ground, body, q0=(0, 0, 100, 1, 0, 0, 0), v0=(3, 1, 4, 20, 15, -10)
            )
        )
        model.add(fm.SpherePlane("floor", model.ground, body))
        solution = fm.simulate(
            model, t_end=1.0, step=0.02, output_step=0.02, integrator="moreau-jean"
        )
        assert np.ptp(solution.energy.total) < 1e-8 * solution.energy.scale
        velocity = solution.frame("body").velocity
        expected = np.array([3.0, 1.0, 4.0]) - np.outer(solution.t, (0.0, 0.0, gravity))
        np.testing.assert_allclose(velocity, expected, atol=1e-6 if gravity == 0.0 else 0.3)


def tumbling(seed: int) -> fm.Model:
    rng = np.random.default_rng(seed)
    half, mass = rng.uniform(0.05, 0.2, 3), rng.uniform(0.5, 3.0)
    corners = {
        f"c{k}": tuple(half * (1 - 2 * np.array([k & 1, k >> 1 & 1, k >> 2]))) for k in range(8)
    }
    model = fm.Model("box", gravity=(0, 0, -G))
    box = model.add(
        fm.RigidBody(
            "box",
            mass=mass,
            inertia=tuple(mass / 3.0 * (half @ half - half * half)),
            frames=corners,
        )
    )
    pose = rng.normal(size=4)
    speeds = (*rng.normal(size=3), *(8.0 * rng.normal(size=3)))
    model.add(
        fm.Free(
            "flight", model.ground, box, q0=(0, 0, 0.4, *(pose / np.linalg.norm(pose))), v0=speeds
        )
    )
    law = {
        "friction": rng.uniform(),
        "restitution": rng.uniform(),
        "restitution_law": ("newton", "poisson")[seed % 2],
    }
    for name in corners:
        model.add(fm.SpherePlane(name, model.ground, box[name], **law))
    return model


def test_tumbling_boxes() -> None:
    """Eight corners on a floor, 1000 steps each: no failure, no gain of energy above round-off and
    the residual of Newton's method."""
    for seed in range(30):
        solution = fm.simulate(
            tumbling(seed), t_end=1.0, step=1e-3, output_step=1e-3, integrator="moreau-jean"
        )
        assert solution.run.finished, seed
        assert np.diff(solution.energy.total).max() < 3e-6 * solution.energy.scale, seed
        assert np.abs(solution.energy.balance).max() < 2e-5 * solution.energy.scale, seed


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("t", [0.25, 0.7])
def test_a_run_goes_on_from_its_state(t: float, coordinates: str) -> None:
    """A box that slides to rest on four corners: closed contacts are closed at the new start,
    without impacts.
    """
    model = fm.Model("box", gravity=(2.0, 0, -G))
    corners = {f"c{x}{y}": (0.2 * x, 0.15 * y, -0.1) for x in (-1, 1) for y in (-1, 1)}
    box = model.add(fm.RigidBody("box", mass=2.0, inertia=(0.02, 0.03, 0.04), frames=corners))
    model.add(
        fm.Free("flight", model.ground, box, q0=(0, 0, 0.1, 1, 0, 0, 0), v0=(1.0, 0, 0, 0, 0, 0.5))
    )
    for corner in corners:
        model.add(fm.SpherePlane(corner, model.ground, box[corner], friction=0.2))
    how = {
        "step": 1e-3,
        "output_step": 0.05,
        "integrator": "moreau-jean",
        "formalism": "multiplier",
        "coordinates": coordinates,
    }
    whole = fm.simulate(model, t_end=1.0, **how)
    rest = fm.simulate(model, t_end=1.0 - t, start=fm.state_of(whole, t), **how)
    k = round(t / 0.05)
    np.testing.assert_allclose(
        rest.body("box").position, whole.body("box").position[k:], atol=1e-14
    )
    # four corners are redundant: the contact forces, and what round-off leaves of them, are those
    # of an iteration
    np.testing.assert_allclose(
        rest.body("box").velocity, whole.body("box").velocity[k:], rtol=1e-7, atol=1e-9
    )
    assert not rest.run.impacts


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_energy_within_steps_with_impacts(step: float) -> None:
    """Outputs within the step of an impact, and a run that ends there, where velocities pass from
    those before to those after.
    """
    model = fm.Model("ball")
    ball = model.add(fm.PointMass("ball", mass=1.0))
    fall = model.add(fm.Prismatic("fall", model.ground, ball, axis="z", q0=0.1))
    model.add(fm.SpherePlane("floor", model.ground, ball, restitution=0.5))
    options = {"t_end": 0.5, "step": step, "integrator": "moreau-jean"}
    turn = fm.Event("turn", joint=fall, velocity=True, direction=1, terminal=True)
    ended, between = (
        fm.simulate(model, **options, events=[turn]),
        fm.simulate(model, **options, output_step=0.37 * step),
    )
    assert ended.s[-1] == pytest.approx(0.0, abs=1e-9)
    for solution in (ended, between):
        assert np.abs(solution.energy.balance).max() < 1e-12
        assert solution.energy.dissipated.max() > 0.1


def held_and_sliding(seed: int) -> fm.Model:
    """A block on a table, sliding or at rest, that carries an arm on a hinge with dry friction."""
    draw = np.random.default_rng(seed)
    model = fm.Model("table", gravity=(draw.uniform(-6, 6), draw.uniform(-6, 6), -G))
    model.add(fm.RigidBody("table", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Fixed("foot", "ground", "table"))
    model.add(fm.PointMass("block", mass=draw.uniform(0.5, 3.0)))
    slide = draw.uniform(-1, 1, 2) * draw.integers(2)
    model.add(fm.Translation("place", "table", "block", v0=(*slide, 0.0)))
    model.add(fm.SpherePlane("floor", "table", "block", friction=draw.uniform(0.2, 0.8)))
    model.add(fm.RigidBody("arm", mass=1.0, inertia=(0.01, 0.1, 0.1), com=(0.5, 0, 0)))
    turn = draw.uniform(-2, 2) * draw.integers(2)
    model.add(fm.Revolute("hinge", "ground", "arm", axis="y", q0=draw.uniform(-3, 3), v0=turn))
    model.add(fm.DryFriction("friction", "hinge", coulomb=draw.uniform(1.0, 8.0)))
    return model


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_forces_of_the_first_output(seed: int, coordinates: str) -> None:
    """Contacts that are closed at the start carry their forces there: those of the first step, for
    joints, accelerations and contacts alike, beside forces and accelerations by events."""
    step, firsts = 1e-5, []
    for integrator in (fm.EventDriven(), fm.MoreauJean(step=step)):
        model = held_and_sliding(seed)
        given = {"coordinates": coordinates, "formalism": "multiplier", "integrator": integrator}
        solution = fm.simulate(model, t_end=20 * step, output_step=10 * step, **given)
        parts = [solution.contact("floor").force[0]]
        for name in ("foot", "place", "hinge"):
            joint = solution.joint(name)
            parts += [joint.force[0], joint.torque[0], joint.acceleration[0]]
        firsts.append(np.concatenate(parts))
    assert np.linalg.norm(firsts[0]) > G  # a table with its load
    np.testing.assert_allclose(*firsts, atol=200.0 * step)


def test_no_force_of_an_impact_at_the_first_output() -> None:
    """A ball that strikes in its first step has the acceleration of free fall before it."""
    model = fm.Model("ball", gravity=(0, 0, -G))
    model.add(fm.PointMass("ball", mass=2.0))
    model.add(fm.Prismatic("fall", "ground", "ball", axis="z", v0=-1.0))
    model.add(fm.SpherePlane("floor", "ground", "ball", restitution=0.9))
    solution = fm.simulate(model, t_end=0.01, step=1e-3, integrator="moreau-jean")
    assert solution.contact("floor").normal[0] == 0.0
    assert solution.joint("fall").acceleration[0, 0] == pytest.approx(-G)


@pytest.mark.parametrize(
    "method", ["moreau-jean", "generalized-alpha", "rattle", "esdirk", "dormand-prince"]
)
def test_accelerations_of_the_first_output_contain_the_first_samples(method: str) -> None:
    """A controller that samples at the start turns a wheel by kp (r − q₀)/J from then on."""
    model = fm.Model("wheel", gravity=(0, 0, 0))
    model.add(fm.RigidBody("wheel", mass=1.0, inertia=(0.2, 0.2, 0.4)))
    model.add(fm.Revolute("axle", "ground", "wheel", axis="z", q0=0.5))
    law = fm.DigitalPID(6.0, 0.0, 0.0, sample_time=0.01, reference=2.0)
    model.add(fm.JointTorque("motor", "axle", law))
    solution = fm.simulate(model, t_end=0.02, step=1e-3, integrator=method)
    assert solution.joint("axle").acceleration[0, 0] == pytest.approx(6.0 * 1.5 / 0.4, rel=1e-9)
