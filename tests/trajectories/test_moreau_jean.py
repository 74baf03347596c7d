"""Moreau and Jean's time stepping against closed forms and the published woodpecker: ball, block,
woodpecker, flexible arm.
"""

import json
import math
import pathlib
from collections.abc import Callable

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
    has a moment: forces in the middle of a step are the averages over it.
    """
    model = fm.Model("arm on a stop", gravity=(0, 0, 0))
    arm = model.add(fm.FlexibleBody("arm", data=rod(bending=25.0)))
    model.add(fm.Revolute("hinge", model.ground, arm["root"], axis="z", q0=0.05, v0=-2.0))
    model.add(fm.SpherePlane("stop", model.ground, arm["tip"], normal="y", restitution=restitution))
    step = 1e-4
    solution = fm.simulate(
        model, t_end=0.1, step=step, output_step=0.5 * step, integrator="moreau-jean"
    )
    energy, stop = solution.energy, solution.contact("stop")
    assert np.abs(energy.balance[::2]).max() < 1e-4 * energy.total[0]
    assert np.diff(energy.total[::2]).max() < 1e-4 * energy.total[0]
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
    np.testing.assert_allclose(np.diff(momentum[::2]), step * moment[1::2], atol=1e-6)
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


def halved(
    model: fm.Model,
    values: Callable[[fm.Solution], np.ndarray],
    expected: Callable[[fm.Solution], np.ndarray],
    coordinates: str,
) -> list[float]:
    """Largest errors of values of a run with steps of 2 ms and of 1 ms, relative to the largest."""
    errors = []
    for step in (2e-3, 1e-3):
        method = fm.MoreauJean(step=step)
        run = fm.simulate(
            model, t_end=0.5, output_step=0.05, integrator=method, coordinates=coordinates
        )
        errors.append(np.abs(values(run) - expected(run)).max() / np.abs(expected(run)).max())
    return errors


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_reactions_of_a_pendulum(coordinates: str) -> None:
    """m = 3 kg, l = 0.5 m, I = 1 kg m² about the hinge, from 1.5 rad: θ̈ = −m g l sin θ / I, energy
    gives θ̇². The hinge bears m (θ̇² l + g cos θ) along the rod and m (θ̈ l + g sin θ) across it.
    """
    mass, length, inertia = 3.0, 0.5, 1.0
    model = fm.Model("pendulum", gravity=(0, 0, -G))
    own = inertia - mass * length**2
    model.add(fm.RigidBody("rod", mass=mass, com=(0, 0, -length), inertia=(own, own, 0.001)))
    model.add(fm.Revolute("hinge", "ground", "rod", axis="y", q0=1.5))

    def expected(run: fm.Solution) -> np.ndarray:
        theta = run.joint("hinge").position[:, 0]
        across, along = np.sin(theta), np.cos(theta)
        square = 2.0 * mass * G * length / inertia * (along - math.cos(1.5))
        turn = -mass * G * length / inertia * across
        return np.stack(
            (mass * (square * length + G * along), mass * (turn * length + G * across)), axis=1
        )

    def found(run: fm.Solution) -> np.ndarray:
        theta, force = run.joint("hinge").position[:, 0], run.joint("hinge").force
        x, z = force[:, 0], force[:, 2]
        s, c = np.sin(theta), np.cos(theta)
        return np.stack((s * x + c * z, s * z - c * x), axis=1)

    coarse, fine = halved(model, found, expected, coordinates)
    assert fine < 1e-5
    assert fine < 0.3 * coarse  # second order


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_block_on_a_shaking_table(coordinates: str) -> None:
    """A table prescribed along x and z carries a block of 2 kg by friction: the contact force is
    m (ẍ, 0, g + z̈), the reaction of the table (5 kg) 7 kg times it over m.
    """
    model = fm.Model("shaking table", gravity=(0, 0, -G))
    table = model.add(fm.RigidBody("table", mass=5.0, inertia=(1.0, 1.0, 1.0)))
    sizes, turns = (0.01, 0.02), (3.0, 2.0)  # m, Hz
    guide = model.add(fm.Chain("guide", model.ground, table, motions=(Slide("x"), Slide("z"))))
    for k in range(2):
        law = fm.Sine(amplitude=sizes[k], frequency=turns[k])
        model.add(fm.Drive(f"shaker {k}", guide, law, coordinate=k))
    block = model.add(fm.PointMass("block", mass=2.0))
    speeds = [2.0 * math.pi * a * f for a, f in zip(sizes, turns)]
    model.add(fm.Translation("place", model.ground, block, v0=(speeds[0], 0.0, speeds[1])))
    model.add(fm.SpherePlane("floor", table, block, friction=0.8))

    def expected(run: fm.Solution) -> np.ndarray:
        out = np.zeros((len(run.t), 3))
        for k, axis in enumerate((0, 2)):
            rate = 2.0 * math.pi * turns[k]
            out[:, axis] = -sizes[k] * rate**2 * np.sin(rate * run.t)
        return out + (0.0, 0.0, G)

    def found(run: fm.Solution) -> np.ndarray:
        beneath = run.joint("guide").force / 7.0
        return np.concatenate((run.contact("floor").force / 2.0 - beneath, beneath), axis=1)

    def both(run: fm.Solution) -> np.ndarray:
        return np.concatenate((0.0 * expected(run), expected(run)), axis=1)

    coarse, fine = halved(model, found, both, coordinates)
    assert fine < 1e-4
    assert fine < 0.3 * coarse


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("theta", [0.5, 0.6])
def test_reactions_of_a_loop(coordinates: str, theta: float) -> None:
    """A crank and a coupler on a strut: reactions follow from the state and are as accurate, of
    order 2 with θ = ½; averages over the step differ from them by 4e-3 at 1 ms.
    """
    model = fm.Model("loop", gravity=(0, 0, -G))
    for name, mass, length in (("crank", 1.0, 0.3), ("coupler", 2.0, 0.8)):
        own = {"com": (0.5 * length, 0, 0), "inertia": (0.001, 0.1 * mass, 0.1 * mass)}
        model.add(fm.RigidBody(name, mass=mass, frames={"end": (length, 0, 0)}, **own))
    model.add(fm.Revolute("axle", "ground", "crank", axis="y", q0=-1.2, v0=3.0))
    model.add(fm.Revolute("pin", "crank/end", "coupler", axis="y", q0=1.0))
    model.add(fm.Distance("strut", "ground", "coupler/end", length=0.7))

    def forces(run: fm.Solution) -> np.ndarray:
        return np.concatenate([run.joint(name).force for name in ("axle", "pin")], axis=1)

    how = {"t_end": 0.5, "output_step": 0.05, "coordinates": coordinates}
    exact = forces(fm.simulate(model, rtol=1e-10, atol=1e-12, **how))
    errors = []
    for step in (2e-3, 1e-3):
        run = fm.simulate(model, integrator=fm.MoreauJean(step=step, theta=theta), **how)
        errors.append(np.abs(forces(run) - exact).max() / np.abs(exact).max())
    if theta == 0.5:
        assert errors[1] < 1e-5
        assert errors[1] < 0.3 * errors[0]
    else:
        assert errors[1] < 0.6 * errors[0]


def test_vibrations_that_steps_do_not_resolve_stay_out_of_reactions() -> None:
    """An arm with modes of ωh = 8 and more: they are damped within milliseconds, while the steps
    keep them. Accelerations by the equations at the state alone contain ω² times their amplitude.
    """
    model = fm.Model("arm", gravity=(0, -G, 0))
    arm = model.add(fm.FlexibleBody("arm", data=rod(bending=2.5e5), damping=0.02))
    model.add(fm.Revolute("hinge", model.ground, arm["root"], axis="z", q0=0.05, v0=-2.0))
    how = {"t_end": 0.3, "output_step": 1e-3}
    exact = fm.simulate(model, rtol=1e-8, atol=1e-10, **how)
    run = fm.simulate(model, integrator=fm.MoreauJean(step=1e-3), **how)
    wanted = exact.joint("hinge").force[150:]
    apart = np.abs(run.joint("hinge").force[150:] - wanted).max()
    assert apart < 3e-4 * np.abs(wanted).max()


def test_forces_do_not_depend_on_other_outputs() -> None:
    """Outputs within a step and at its end, each with the forces of its own time."""
    model = held_and_sliding(0)
    how = {"t_end": 0.05, "integrator": fm.MoreauJean(step=1e-3)}
    few, many = (fm.simulate(model, output_step=each, **how) for each in (1e-3, 2.5e-4))
    assert np.array_equal(few.q, many.q[::4])
    assert np.array_equal(few.contact("floor").force, many.contact("floor").force[::4])
    assert np.array_equal(few.sd, many.sd[::4])
    assert np.array_equal(few.lam, many.lam[::4])


def test_accelerations_after_samples() -> None:
    """At an instant of a controller the acceleration is that by its new output, kp (r − q)/J."""
    model = fm.Model("wheel", gravity=(0, 0, 0))
    model.add(fm.RigidBody("wheel", mass=1.0, inertia=(0.2, 0.2, 0.4)))
    model.add(fm.Revolute("axle", "ground", "wheel", axis="z", q0=0.5))
    law = fm.DigitalPID(6.0, 0.0, 0.0, sample_time=0.01, reference=2.0)
    model.add(fm.JointTorque("motor", "axle", law))
    run = fm.simulate(
        model, t_end=0.1, output_step=0.01, integrator=fm.MoreauJean(step=2e-3)
    ).joint("axle")
    np.testing.assert_allclose(
        run.acceleration[:, 0], 6.0 * (2.0 - run.position[:, 0]) / 0.4, rtol=1e-9
    )


@pytest.mark.parametrize("order", [("stop", "brake"), ("brake", "stop")])
@pytest.mark.parametrize("method", ["event-driven", fm.MoreauJean(step=1e-3)])
def test_dry_friction_does_not_act_along_a_contact_that_was_closed(order, method):
    """A slider hits a stop and is stopped by friction on its way back: x = x₀ − u²/(2 a)."""
    model = fm.Model("slider", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("block", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Prismatic("rail", model.ground, body, axis="x", v0=2.0))
    items = {
        "stop": fm.JointLimit("stop", "rail", upper=0.5, restitution=0.5),
        "brake": fm.DryFriction("brake", "rail", coulomb=2.0),
    }
    for name in order:
        model.add(items[name])
    run = fm.simulate(model, t_end=1.0, integrator=method, output_step=0.1)
    u = 0.5 * math.sqrt(2.0**2 - 2.0 * 2.0 * 0.5)
    assert run.joint("rail").position[-1, 0] == pytest.approx(0.5 - u**2 / 4.0, abs=1e-3)


@pytest.mark.parametrize("coordinates", ["joint", "absolute", "rheonomic"])
def test_work_of_a_drive_through_an_impact(coordinates):
    """The motor of a flywheel on a body that strikes a wall keeps its speed: J Δω Ω."""
    model = fm.Model("flywheel", gravity=(0, 0, 0), frames={"wall": (1.0, 0, 0)})
    frames = {"tip": (0.2, 0.3, 0)}
    body = model.add(fm.RigidBody("body", mass=2.0, inertia=(0.1, 0.1, 0.1), frames=frames))
    wheel = model.add(fm.RigidBody("wheel", mass=1.0, inertia=(0.03, 0.03, 0.05)))
    model.add(fm.Planar("plane", model.ground, body, axis="z", v0=(2.0, 0, 0)))
    model.add(fm.Revolute("shaft", body, wheel, axis="z", v0=50.0))
    model.add(fm.Drive("motor", "shaft", fm.Ramp(0.0, rate=50.0)))
    contact = fm.SpherePlane("c", "ground/wall", body["tip"], normal="-x", restitution=0.6)
    model.add(contact)
    run = fm.simulate(
        model, t_end=0.6, integrator=fm.MoreauJean(step=1e-4), coordinates=coordinates
    )
    change = 0.3 * 3.2 / (1.0 / 3.0 + 0.09 / 0.15) / 0.15  # rad/s of the body
    assert run.energy.work_of_drives[-1] == pytest.approx(0.05 * change * 50.0, rel=1e-3)
    assert run.verdict == "PASS"


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_contacts_does_not_matter(seed):
    """Sliders that bounce between stops and floors, with brakes, in two orders of declaration."""
    rng = np.random.default_rng(seed)
    n = 3
    masses, speeds, limits = rng.uniform(0.2, 2.0, (3, n))
    restitution, brakes = rng.uniform(0.2, 0.9, (2, n))

    def run(order):
        """Final positions with contacts declared in this order."""
        model = fm.Model("sliders")
        contacts = []
        for k in range(n):
            body = model.add(fm.RigidBody(f"b{k}", mass=masses[k], inertia=(1, 1, 1)))
            joint = f"j{k}"
            start = {"q0": 0.1 + 0.2 * limits[k], "v0": -speeds[k]}
            model.add(fm.Prismatic(joint, model.ground, body, axis="xyz"[k], **start))
            stop = {"lower": 0.0, "restitution": restitution[k]}
            contacts += [
                fm.JointLimit(f"stop {k}", joint, **stop),
                fm.DryFriction(f"brake {k}", joint, coulomb=brakes[k] * masses[k]),
            ]
        for k in order:
            model.add(contacts[k])
        solution = fm.simulate(model, t_end=1.5, integrator=fm.MoreauJean(step=2e-3))
        return np.array([solution.joint(f"j{k}").position[:, 0] for k in range(n)])

    first = run(range(2 * n))
    for _ in range(2):
        np.testing.assert_allclose(run(rng.permutation(2 * n)), first, rtol=0, atol=1e-8)


@pytest.mark.parametrize("turning", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("slip", [-3.0, 3.0])
def test_round_off_of_a_start_on_the_ground_is_no_impact(slip, turning):
    """The tip of a rod slides at 3 m/s; its normal velocity is zero up to round-off."""
    length, angle = 1.0, 0.25
    c, s = math.cos(angle), math.sin(angle)
    model = fm.Model("rod")
    inertia = (0.001, length**2 / 3, length**2 / 3)
    rod = model.add(fm.RigidBody("rod", mass=1.0, inertia=inertia, frames={"tip": (length, 0, 0)}))
    start = (length * s, 0.0, angle)
    speeds = (turning * length * c, slip + turning * length * s, turning)
    model.add(fm.Planar("plane", model.ground, rod, axis="y", q0=start, v0=speeds))
    model.add(fm.SpherePlane("contact", model.ground, rod["tip"], friction=2.0))
    run = fm.simulate(model, t_end=0.01, step=1e-4, integrator="moreau-jean")
    assert abs(run.contact("contact").rate[0]) < 1e-15
    assert not run.run.impacts
