"""Event-driven integration: impact times, rest, sticking and slipping, rocking, joint limits, and
rejected models.
"""

import dataclasses
import math
import warnings

import numpy as np
import pytest
from meetings import meeting

import flexmbs as fm
from flexmbs.motions import Rotate, Slide

G = 9.81


def ball(**contact: object) -> fm.Model:
    model = fm.Model("ball")
    body = model.add(fm.RigidBody("ball", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Translation("flight", model.ground, body, q0=(0, 0, 1.0)))
    model.add(fm.SpherePlane("floor", model.ground, body, **contact))
    return model


def test_bouncing_ball_and_its_rest():
    """Impacts at √(2h/g)(1 + 2 Σ eᵏ); they accumulate at √(2h/g)(1 + e)/(1 − e), and the ball rests
    with its weight.
    """
    e, first = 0.9, math.sqrt(2.0 / G)
    apex = fm.Event("apex", joint="flight", coordinate=2, velocity=True, direction=-1)
    solution = fm.simulate(
        ball(restitution=e), t_end=10.0, output_step=0.5, integrator="event-driven", events=[apex]
    )
    impacts = solution.contact("floor").impacts
    exact = [first * (1.0 + 2.0 * sum(e**k for k in range(1, n + 1))) for n in range(40)]
    np.testing.assert_allclose([impact.t for impact in impacts[:40]], exact, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(
        [impact.impulse[0] for impact in impacts[:5]],
        [(1 + e) * e**n * G * first for n in range(5)],
    )
    assert impacts[-1].t == pytest.approx(first * (1 + e) / (1 - e), abs=1e-5)
    assert [event.q[2] for event in solution.events[:5]] == pytest.approx(
        [e ** (2 * n) for n in range(1, 6)], rel=1e-9
    )
    assert solution.contact("floor").normal[-1] == pytest.approx(G, rel=1e-12)
    assert abs(solution.frame("ball").position[-1, 2]) < 1e-12
    assert solution.energy.dissipated[-1] == pytest.approx(G, rel=1e-9)
    assert np.abs(solution.energy.balance).max() < 1e-9


@pytest.mark.parametrize("restitution", [0.3, 0.8])
def test_units_of_length_do_not_decide_whether_a_ball_comes_to_rest(restitution):
    """The same fall in metres, millimetres and micrometres: as many impacts, at the same times."""
    times = []
    for unit in (1.0, 1e3, 1e6):
        model = fm.Model("ball", gravity=(0, 0, -8.0 * unit))
        body = model.add(fm.RigidBody("ball", mass=0.1, inertia=(4e-4 * unit**2,) * 3))
        model.add(fm.Free("flight", "ground", body, q0=(0, 0, unit, 1, 0, 0, 0)))
        model.add(
            fm.SpherePlane(
                "floor", "ground", body, radius=0.1 * unit, restitution=restitution, friction=0.3
            )
        )
        solution = fm.simulate(model, t_end=6.0, integrator="event-driven")
        times.append([impact.t for impact in solution.run.impacts])
        assert solution.frame("ball").position[-1, 2] == pytest.approx(0.1 * unit, rel=1e-9)
    shortest = min(map(len, times))
    assert max(map(len, times)) <= shortest + 30 * restitution  # 1e-7 of 4 m/s, or 1e-6 m/s
    for other in times[1:]:
        np.testing.assert_allclose(other[:shortest], times[0][:shortest], rtol=1e-7)


@pytest.mark.parametrize(
    ("mu", "slope", "speed"), [(0.3, 0.0, 1.0), (0.3, 0.2, 0.0), (0.1, 0.2, 0.0), (0.3, 0.2, -1.0)]
)
def test_block_on_a_slope(mu, slope, speed):
    """It slides with the acceleration g (sin ± μ cos), and remains at rest if tan < μ."""
    model = fm.Model("block")
    body = model.add(fm.RigidBody("block", mass=2.0, inertia=(1, 1, 1)))
    down = np.array([math.cos(slope), 0.0, -math.sin(slope)])
    model.add(fm.Translation("way", model.ground, body, v0=tuple(speed * down)))
    normal = (math.sin(slope), 0.0, math.cos(slope))
    model.add(fm.SpherePlane("floor", model.ground, body, normal=normal, friction=mu))
    solution = fm.simulate(model, t_end=1.0, output_step=0.1, integrator="event-driven")
    pull, brake = G * math.sin(slope), mu * G * math.cos(slope)
    way = (
        0.5 * max(pull - brake, 0.0)
        if speed == 0.0
        else math.copysign(speed**2 / (2 * (brake - math.copysign(pull, speed))), speed)
    )
    np.testing.assert_allclose(solution.frame("block").position[-1], way * down, atol=1e-9)
    floor = solution.contact("floor")
    np.testing.assert_allclose(floor.normal, 2.0 * G * math.cos(slope), rtol=1e-10)
    assert floor.friction[-1, 0] ** 2 + floor.friction[-1, 1] ** 2 == pytest.approx(
        (2.0 * min(pull, brake)) ** 2, abs=1e-8
    )
    assert np.abs(solution.energy.balance).max() < 1e-9


def test_rocking_block():
    """Housner: quarter period of the nonlinear block, velocity ratio 1 − 1.5 sin² α at the impact
    on the other corner.
    """
    half, height = 0.25, 1.0
    alpha = math.atan2(half, height)
    start, inertia = 0.5 * alpha, (half**2 + height**2) / 3.0
    model = fm.Model("rocking block")
    corners = {"left": (-half, 0, -height), "right": (half, 0, -height)}
    block = model.add(fm.RigidBody("block", mass=1.0, inertia=(inertia,) * 3, frames=corners))
    c, s = math.cos(start), math.sin(start)
    place = (-(c * half - s * height), s * half + c * height, start)
    motions = (Slide("x"), Slide("z"), Rotate("y"))
    model.add(fm.Chain("plane", model.ground, block, motions=motions, q0=place))
    for name in corners:
        model.add(fm.SpherePlane(name, model.ground, block[name], friction=5.0))
    solution = fm.simulate(model, t_end=0.6, output_step=0.02, integrator="event-driven")
    (impact,) = solution.run.impacts
    assert impact.contact == "left"
    assert impact.t == pytest.approx(0.493803215079, abs=1e-9)
    fallen = G * math.hypot(half, height) * (math.cos(0.5 * alpha) - math.cos(alpha))
    ratio = 1.0 - 1.5 * math.sin(alpha) ** 2
    assert solution.energy.dissipated[-1] == pytest.approx((1.0 - ratio**2) * fallen, rel=1e-8)
    assert min(solution.contact(name).gap.min() for name in corners) > -1e-9
    assert np.abs(solution.energy.balance).max() < 1e-8


@pytest.mark.parametrize("restitution", [0.3, 0.0])
def test_box_that_rocks_to_rest(restitution):
    """A box thrown on its corners comes to rest on all four: contacts that close without rebound,
    though they separate below ``settling``, stays closed under its force, where steps of no length
    followed each other without end."""
    model = fm.Model("box")
    corners = {
        f"c{i}": (0.1 * x, 0.1 * y, -0.05)
        for i, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    }
    body = model.add(fm.RigidBody("box", mass=1.0, inertia=(1e-2, 1e-2, 1e-2), frames=corners))
    model.add(
        fm.Free(
            "flight",
            model.ground,
            body,
            q0=(0, 0, 0.2, 1, 0, 0, 0),
            v0=(1.0, 0.3, 0, 0.5, 0.1, 2.0),
        )
    )
    for key in corners:
        model.add(
            fm.SpherePlane(key, model.ground, body[key], restitution=restitution, friction=0.3)
        )
    solution = fm.simulate(model, t_end=0.6, output_step=0.1, integrator="event-driven")
    box = solution.body("box")
    assert box.position[-1, 2] == pytest.approx(0.05, abs=1e-8)
    assert np.abs(np.concatenate([box.velocity[-1], box.angular_velocity[-1]])).max() < 1e-6
    assert sum(solution.contact(key).normal[-1] for key in corners) == pytest.approx(G, rel=1e-6)
    assert np.abs(solution.energy.balance).max() < 1e-8


def test_stop_of_a_pendulum_in_both_coordinates():
    """It leaves the stop at −e of its speed: the next swing rises to 1 − cos φ' = e² (1 − cos φ),
    alike in both coordinates."""
    model = fm.Model("pendulum")
    bar = model.add(fm.RigidBody("bar", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0, 0, -0.5)))
    model.add(fm.Revolute("hinge", model.ground, bar, axis="y", q0=1.0))
    model.add(fm.JointLimit("stop", "hinge", lower=0.0, restitution=0.5))
    top = fm.Event("top", joint="hinge", velocity=True, direction=-1)
    times = []
    for coordinates, stabilization in (("joint", "none"), ("absolute", "projection")):
        how = {
            "coordinates": coordinates,
            "stabilization": stabilization,
            "integrator": "event-driven",
        }
        solution = fm.simulate(model, t_end=1.4, output_step=0.1, events=[top], **how)
        times.append([impact.t for impact in solution.contact("stop.lower").impacts])
        rise = solution.joint("hinge").position[np.searchsorted(solution.t, 0.5) :, 0].max()
        assert 1.0 - math.cos(rise) <= 0.25 * (1.0 - math.cos(1.0))
        if coordinates == "joint":
            assert 1.0 - math.cos(solution.events[0].q[0]) == pytest.approx(
                0.25 * (1.0 - math.cos(1.0)), rel=1e-6
            )
        assert np.abs(solution.energy.balance).max() < 1e-7
    assert len(times[0]) == 2
    np.testing.assert_allclose(*times, atol=1e-8)


@pytest.mark.parametrize("length", [1.0, 1e3])
@pytest.mark.parametrize("fast", [0.0, 1e3])
def test_contacts_settle_by_their_own_speeds(length, fast):
    """A slow elastic impact goes on beside a fast one elsewhere, in metres and millimetres: one
    settling speed for all contacts, of the fastest one, made it stick."""
    model = fm.Model("two", gravity=(0, 0, 0), frames={"far": (0, 50.0 * length, 0)})
    model.add(fm.PointMass("ball", mass=1.0))
    model.add(fm.Prismatic("way", "ground/far", "ball", axis="x", v0=fast * length))
    model.add(fm.JointLimit("wall", "way", upper=10.0 * length, restitution=0.5))
    model.add(fm.RigidBody("flap", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Revolute("hinge", "ground", "flap", axis="z", v0=8e-5))
    model.add(fm.JointLimit("gap", "hinge", lower=-2e-5, upper=2e-5, restitution=1.0))
    found = fm.simulate(model, t_end=1.0, output_step=0.01, integrator="event-driven")
    way = (8e-5 * found.t + 2e-5) % 8e-5
    expected = np.where(way < 4e-5, way - 2e-5, 6e-5 - way)
    np.testing.assert_allclose(found.joint("hinge").position[:, 0], expected, atol=1e-15)


def test_what_is_rejected():
    with pytest.raises(
        fm.InputError, match=r"integrator\.settling: 0\.0 is not positive; give a speed"
    ):
        fm.EventDriven(settling=0.0)
    slot = fm.Model("slot", gravity=(0, 0, 0))
    body = slot.add(fm.RigidBody("bead", mass=1.0, inertia=(1, 1, 1)))
    slot.add(fm.Prismatic("way", slot.ground, body, axis="x", q0=5e-9, v0=1.0))
    slot.add(fm.JointLimit("walls", "way", lower=0.0, upper=1e-8, restitution=1.0))
    with pytest.raises(
        fm.SolverError,
        match=r"impacts of contact 'walls\..*', or reversals of its slip, follow each other without "
        r"end; raise .*settling",
    ):
        fm.simulate(slot, t_end=1.0, integrator="event-driven")


@pytest.mark.parametrize("integrator", ["event-driven", "moreau-jean"])
def test_slip_turns_by_any_angle(integrator):
    """A point thrown up and across a slope of tan α = μ: v (1 + cos φ) is constant, φ from the line
    of fall. Its slip turns by 148° in many steps, in none of them by much."""
    slope, thrown = 0.5, math.radians(150.0)
    model = fm.Model("slope", gravity=(G * math.sin(slope), 0.0, -G * math.cos(slope)))
    body = model.add(fm.RigidBody("puck", mass=2.0, inertia=(1, 1, 1)))
    model.add(
        fm.Translation(
            "way", model.ground, body, v0=(2.0 * math.cos(thrown), 2.0 * math.sin(thrown), 0.0)
        )
    )
    model.add(fm.SpherePlane("floor", model.ground, body, friction=math.tan(slope)))
    step, accuracy = ({"step": 2e-4}, 5e-3) if integrator == "moreau-jean" else ({}, 1e-7)
    solution = fm.simulate(model, t_end=1.5, output_step=0.05, integrator=integrator, **step)
    down, across, _ = solution.frame("puck").velocity.T
    np.testing.assert_allclose(
        np.hypot(down, across) + down, 2.0 * (1.0 + math.cos(thrown)), rtol=accuracy
    )
    assert math.degrees(math.atan2(across[-1], down[-1])) < 5.0
    assert np.abs(solution.energy.balance).max() < (1e-2 if step else 1e-8)


@pytest.mark.parametrize(("spin", "t_end"), [(-1e3, 0.5), (-3e4, 0.05)])
def test_a_ball_that_spins_fast_keeps_its_height(spin, t_end):
    """It slides permanently: normal force Mg, height R, x = v t − ½ μ g t²."""
    R, mu, v, g = 0.05, 0.2, 2.0, 9.81
    model = fm.Model("ball")
    model.add(fm.RigidBody("ball", mass=1.0, inertia=(0.4 * R * R,) * 3))
    model.add(
        fm.Free("motion", model.ground, "ball", q0=(0, 0, R, 1, 0, 0, 0), v0=(v, 0, 0, 0, spin, 0))
    )
    model.add(fm.SpherePlane("floor", model.ground, "ball", radius=R, friction=mu))
    solution = fm.simulate(model, t_end=t_end, output_step=t_end / 10, integrator="event-driven")
    x, _, z = solution.frame("ball").position[-1]
    assert z == pytest.approx(R, abs=1e-8)
    assert x == pytest.approx(v * t_end - 0.5 * mu * g * t_end**2, abs=1e-5)
    np.testing.assert_allclose(solution.contact("floor").normal, g, rtol=1e-5)
    assert solution.verdict == "PASS"


@pytest.mark.parametrize("seed", range(12))
def test_no_length_of_the_run_lets_bodies_pass_each_other(seed):
    """Two small balls far apart that meet, off centre: velocities after the impact along the line
    of centres, in closed form.
    """
    model, radius, speed, t_end, n = meeting(seed, (-3, -1), (-1, 2), 1.8)
    model.add(
        fm.SphereSphere(
            "hit", "first", "second", radius_parent=radius, radius_child=radius, restitution=1.0
        )
    )
    solution = fm.simulate(model, t_end=t_end, integrator="event-driven")
    expected = speed * n[0] * n
    assert len(solution.run.impacts) == 1
    np.testing.assert_allclose(solution.frame("second").velocity[-1], expected, atol=1e-6 * speed)
    assert solution.overlaps["hit"].max() < 1e-8


def test_corner_through_a_short_edge():
    """Corner that crosses the line of an edge of 0.1 m within a part of a step rebounds from it."""
    model = fm.Model("edge", gravity=(0, 0, 0))
    model.add(fm.RigidBody("corner", mass=1.0, inertia=(1, 1, 1)))
    slides = (Slide("x"), Slide("y"))
    model.add(
        fm.Chain(
            "motion", model.ground, "corner", motions=slides, q0=(-140.0, 140.01), v0=(70.0, -70.0)
        )
    )
    model.add(
        fm.CornerLine(
            "edge", model.ground, "corner", normal="y", direction="x", length=0.1, restitution=1.0
        )
    )
    solution = fm.simulate(model, t_end=5.0, integrator="event-driven")
    np.testing.assert_allclose(solution.frame("corner").velocity[-1], (70.0, 70.0, 0.0), atol=1e-9)


def test_works_of_impacts():
    """An impact at the start, and impacts on a driven table, are included in the energy balance."""
    model = fm.Model("at the start")
    model.add(fm.RigidBody("ball", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Translation("motion", model.ground, "ball", v0=(0, 0, -1)))
    model.add(fm.SpherePlane("floor", model.ground, "ball", restitution=0.5))
    assert fm.simulate(model, t_end=0.5, integrator="event-driven").verdict == "PASS"
    model = fm.Model("table")
    table, ball = (
        model.add(fm.RigidBody(name, mass=1.0, inertia=(1, 1, 1))) for name in ("table", "ball")
    )
    model.add(fm.Prismatic("slide", model.ground, table, axis="z"))
    model.add(fm.Drive("drive", "slide", fm.Sine(0.02, 5.0)))
    model.add(fm.Prismatic("guide", model.ground, ball, axis="z", q0=0.1))
    model.add(fm.SpherePlane("on it", table, ball, restitution=0.5))
    for formalism in ("recursive", "multiplier", "embedding", "partitioning"):
        solution = fm.simulate(model, t_end=0.7, integrator="event-driven", formalism=formalism)
        assert len(solution.run.impacts) > 3
        assert np.abs(solution.energy.balance).max() < 1e-7


def test_overlaps_are_judged():
    """A trajectory whose contact is deep in the floor fails."""
    model = fm.Model("deep")
    model.add(fm.RigidBody("ball", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Translation("motion", model.ground, "ball", q0=(0, 0, 1.0)))
    model.add(fm.SpherePlane("floor", model.ground, "ball"))
    solution = fm.simulate(model, t_end=0.2, integrator="event-driven")
    assert solution.verdict == "PASS"
    sunk = solution.trajectory.q - np.array([0.0, 0.0, 1.5])
    sunk = dataclasses.replace(solution, trajectory=solution.trajectory._replace(q=sunk))
    assert {check.title: check.status for check in sunk.audit}["Rigid contacts"] == "FAIL"


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6])
def test_gaps_of_closed_contacts_are_small_beside_the_model(size):
    """A small body begins to fall from a gap of 1e-6 of its size; it is not held there."""
    model = fm.Model("speck")
    model.add(fm.RigidBody("speck", mass=1.0, inertia=(size**2,) * 3))
    model.add(fm.Prismatic("fall", "ground", "speck", axis="z", q0=1e-6 * size))
    model.add(fm.SpherePlane("floor", "ground", "speck"))
    integrator = fm.EventDriven(atol=1e-14)
    t_end = math.sqrt(1e-6 * size / G)  # half of the gap
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.AuditWarning)
        solution = fm.simulate(model, t_end=t_end, output_step=t_end / 4, integrator=integrator)
    np.testing.assert_allclose(
        solution.joint("fall").position[:, 0],
        1e-6 * size - 0.5 * G * solution.t**2,
        atol=1e-11 * size,
    )


@pytest.mark.parametrize("size", [0.5, 1e-3])
def test_overlaps_are_judged_beside_the_model(size):
    """A hundred thousandth of the size of a small model is no overlap that passes, at the start or
    later.
    """
    model = fm.Model("small")
    model.add(fm.RigidBody("ball", mass=1.0, inertia=(size**2,) * 3))
    model.add(fm.Translation("motion", "ground", "ball", q0=(0, 0, size)))
    model.add(fm.SpherePlane("floor", "ground", "ball"))
    solution = fm.simulate(model, t_end=0.1 * math.sqrt(size), integrator="event-driven")
    assert {check.title: check.status for check in solution.audit}["Rigid contacts"] == "PASS"
    lowest = solution.trajectory.q[:, 2].min()
    sunk = solution.trajectory.q - np.array([0.0, 0.0, lowest + 2e-5 * size])
    sunk = dataclasses.replace(solution, trajectory=solution.trajectory._replace(q=sunk))
    assert {check.title: check.status for check in sunk.audit}["Rigid contacts"] == "FAIL"
    model.joints["motion"] = dataclasses.replace(model.joints["motion"], q0=(0, 0, -2e-5 * size))
    with pytest.raises(
        fm.InputError,
        match=r"contacts\.floor: overlaps by 2e-0\d|contacts\.floor: overlaps by 1e-05",
    ):
        fm.simulate(model, t_end=0.1, integrator="event-driven")
