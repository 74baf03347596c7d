"""Faulty runs do not pass, correct ones do, and findings become warnings, errors and exit codes."""

import dataclasses
import math
import warnings

import numpy as np
import pytest
from audited_models import ball, found, four_bar, oscillator, other_equations, pendulums
from bars import pendulum
from scipy.integrate import quad

import flexmbs as fm
from flexmbs.audit import cross_check, second_run
from flexmbs.audit.audit_samples import states_as_solution
from flexmbs.audit.cross_check import lost_turns
from flexmbs.audit.impacts import impact_duration
from flexmbs.system.check import FAIL, PASS, WARN
from flexmbs.system.records import some_rows

QUIET = pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
PAIRS = [
    ("recursive", "joint", "generalized-alpha"),
    ("multiplier", "absolute", "generalized-alpha"),
    ("multiplier", "joint", "dormand-prince"),
    ("embedding", "absolute", "dormand-prince"),
    ("recursive", "joint", "rattle"),
    ("recursive", "joint", "moreau-jean"),
    ("multiplier", "absolute", "moreau-jean"),
    ("recursive", "joint", "esdirk"),
]
FIXED = ("rattle", "moreau-jean")


def options(formalism, coordinates, integrator):
    step = (
        {"step": 1e-3}
        if integrator in FIXED or (coordinates, integrator) == ("absolute", "generalized-alpha")
        else {}
    )
    return {"formalism": formalism, "coordinates": coordinates, "integrator": integrator, **step}


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
@pytest.mark.parametrize(
    "make", [pendulums, lambda: pendulums(3, spring=50.0), four_bar, oscillator]
)
def test_good_runs_pass(make, pair):
    if make is four_bar and pair[0] == "recursive" and pair[2] in FIXED:
        pair = ("multiplier", *pair[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("error", fm.AuditWarning)
        warnings.filterwarnings("ignore", "WARN: Redundancy", fm.AuditWarning)  # of the four-bar
        solution = fm.simulate(make(), t_end=0.5, **options(*pair))
    assert {check.status for check in solution.audit if check.title != "Redundancy"} == {PASS}
    assert found(solution, "Second opinion").status == PASS
    assert found(solution, "Error of the steps").status == PASS


@pytest.mark.parametrize("length", [1.0, 1e-6])
@pytest.mark.parametrize(
    "method", [fm.DormandPrince, fm.ESDIRK, fm.EventDriven, fm.GeneralizedAlpha]
)
def test_finest_tolerances_have_a_second_run(method, length):
    """The second run of the finest rtol has a larger one; atol has no limit but zero."""
    atol = 1e-6 * method.finest * length
    integrator = method(rtol=max(method.finest, 1e-10), atol=atol)
    model = fm.Model("pendulum", gravity=(0, 0, -9.81 * length))
    inertia = (0.1 * length**2,) * 3
    model.add(fm.RigidBody("arm", mass=1.0, inertia=inertia, frames={"top": (0, 0, length)}))
    model.add(fm.Revolute("hinge", "ground", "arm/top", axis="y", q0=1.0))
    solution = fm.simulate(model, t_end=0.5, integrator=integrator, audit="full")
    assert {check.status for check in solution.audit} == {PASS}
    assert second_run.refined(method(rtol=method.finest)).method.rtol > method.finest


@pytest.mark.parametrize("angle", np.random.default_rng(5).uniform(0.6, 1.4, 4))
@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_a_loop_at_rest(angle, step):
    """All accelerations are residuals of the solver: no two agree."""
    for pair in (
        {"formalism": "multiplier", "step": step},
        {"coordinates": "absolute", "step": step},
        {"formalism": "embedding"},
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error", fm.AuditWarning)
            warnings.filterwarnings("ignore", "WARN: Redundancy", fm.AuditWarning)
            solution = fm.simulate(
                four_bar(gravity=(0, 0, 0), angle=angle, speed=0.0),
                t_end=0.05,
                output_step=0.01,
                **pair,
            )
        assert solution.verdict in (PASS, WARN)
        assert found(solution, "Second opinion").status == PASS


def test_outputs_at_the_period_show_no_rest():
    """At each of its outputs the driven mass is back at its start."""
    model = oscillator()
    model.add(fm.Drive("motor", "guide", fm.Sine(amplitude=0.1, frequency=1.0, offset=0.1)))
    solution = fm.simulate(model, t_end=2.0, output_step=1.0, step=5e-3)
    assert np.ptp(solution.q) < 1e-12
    assert "at rest" not in found(solution, "Second opinion").found


def without_springs(system):
    none = some_rows(system.forces.joint, slice(0))
    return system._replace(forces=system.forces._replace(joint=none))


def heavier(system):
    changed = {name: getattr(system.bodies, name).copy() for name in ("mass", "first", "second")}
    for value in changed.values():
        value[-1] *= 1.03
    return system._replace(bodies=system.bodies._replace(**changed))


def less_gravity(system):
    return system._replace(gravity=0.95 * system.gravity)


@QUIET
@pytest.mark.parametrize("change", [without_springs, heavier, less_gravity])
@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_equations_that_are_not_those_of_the_model(monkeypatch, change, pair):
    """Such runs conserve energy: only independent equations detect the error."""
    other_equations(monkeypatch, change)
    solution = fm.simulate(pendulums(3, spring=50.0), t_end=0.3, **options(*pair))
    assert found(solution, "Energy balance").status != FAIL or change is without_springs
    assert found(solution, "Second opinion").status in (WARN, FAIL)
    assert solution.verdict != PASS


@QUIET
@pytest.mark.parametrize(
    "integrator, given, status",
    [
        ("generalized-alpha", {"step": 1e-3}, WARN),
        ("rattle", {"step": 1e-3}, WARN),
        ("dormand-prince", {}, WARN),
        ("esdirk", {}, WARN),
        ("esdirk", {"rtol": 1e-3, "atol": 1e-5}, PASS),
    ],
)
def test_reactions_are_as_right_as_the_method_promises(monkeypatch, integrator, given, status):
    """Multipliers off by 1e-3: a finding, unless the method projects its steps by as much."""
    projected = cross_check._projected

    def wrong(solution, mine):
        here = projected(solution, mine)
        lam = (1.0 + 1e-3) * here.trajectory.lam
        return states_as_solution(here.compiled, here.trajectory._replace(lam=lam), mine)

    options = {"formalism": "multiplier", "coordinates": "absolute", "integrator": integrator}
    right = fm.simulate(pendulums(), t_end=0.2, **options | given)
    assert found(right, "Reactions") is None
    monkeypatch.setattr(cross_check, "_projected", wrong)
    check = found(fm.simulate(pendulums(), t_end=0.2, **options | given), "Reactions")
    assert (check.status if check else PASS) == status


@QUIET
@pytest.mark.parametrize("joint, coordinates", [("hinge1", "absolute"), ("knee", "joint")])
def test_angles_that_gain_turns(joint, coordinates):
    model = four_bar() if joint == "knee" else pendulums()
    solution = fm.simulate(model, t_end=0.3, coordinates=coordinates)
    assert found(solution, "Joint angles") is None
    place = solution.compiled.places[joint]
    at = int(solution.compiled.system.cuts.beta_at[place.cut])
    beta = solution.trajectory.beta.copy()
    beta[len(beta) // 2 :, at] += 2 * math.pi
    wrong = dataclasses.replace(solution, trajectory=solution.trajectory._replace(beta=beta))
    assert [check.status for check in lost_turns(wrong)] == [FAIL]
    assert f"joint {joint} turns" in lost_turns(wrong)[0].found


@QUIET
def test_fast_angles_between_few_outputs():
    """Angles of primary joints are states: their rates at outputs that alias the motion say nothing
    against them.
    """
    model = fm.Model("fan", gravity=(0.0, 0.0, 0.0))
    fan = model.add(fm.RigidBody("fan", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Revolute("hinge", model.ground, fan, axis="z"))
    model.add(fm.JointTorque("motor", "hinge", fm.Sine(4e4, 10.0)))
    solution = fm.simulate(model, t_end=1.0, output_step=0.1)
    assert np.abs(solution.joint("hinge").velocity).max() < 1e-2
    assert solution.joint("hinge").position[-1, 0] == pytest.approx(
        4e4 / (20.0 * math.pi), rel=1e-6
    )
    assert found(solution, "Joint angles") is None


def gears(ratio=7.0):
    """Two gears on ground, the first at 2000 rad/s."""
    model = fm.Model("gears", gravity=(0.0, 0.0, 0.0), frames={"B": (1.0, 0.0, 0.0)})
    a = model.add(fm.RigidBody("a", mass=1.0, inertia=(1.0, 1.0, 2.0)))
    b = model.add(fm.RigidBody("b", mass=1.0, inertia=(2.0, 2.0, 3.0)))
    model.add(fm.Revolute("ja", model.ground, a, axis="z", v0=2000.0))
    model.add(fm.Revolute("jb", model.ground["B"], b, axis="z", v0=-2000.0 / ratio))
    model.add(fm.Gear("gear", "ja", "jb", ratio=ratio))
    model.add(fm.JointTorque("torque", "ja", fm.Sine(500.0, 3.0)))
    return model


@QUIET
@pytest.mark.parametrize("integrator", ["rattle", "generalized-alpha"])
def test_half_turns_within_a_step(integrator):
    """The rate of the first gear is right with steps of 1.6 turns by RATTLE, its angle and the
    motion by the coupling are not.
    """
    options = {
        "t_end": 1.0,
        "output_step": 0.1,
        "coordinates": "absolute",
        "integrator": integrator,
    }
    fast = fm.simulate(gears(), **options, step=5e-3)
    assert found(fast, "Joint angles").status == FAIL
    assert "joint ja turns at 2" in found(fast, "Joint angles").found
    assert "0.005 s" in found(fast, "Joint angles").found
    slow = fm.simulate(gears(), **options, step=5e-4)
    assert found(slow, "Joint angles") is None
    inertia, w = 2.0 + 3.0 / 49.0, 6.0 * math.pi
    exact = 2000.0 + 500.0 / inertia * (1.0 / w - math.sin(w) / w**2)
    assert slow.joint("ja").position[-1, 0] == pytest.approx(exact, rel=1e-6)


@QUIET
@pytest.mark.parametrize("step, status", [(0.2, FAIL), (0.04, WARN), (2e-3, PASS)])
def test_large_steps(step, status):
    """The estimate is that of the true error within a factor of three."""
    solution = fm.simulate(oscillator(), t_end=2.0, step=step)
    exact = 0.1 * np.cos(2 * np.pi * solution.t)
    true = np.abs(solution.joint("guide").position[:, 0] - exact).max() / 0.2
    check = found(solution, "Error of the steps")
    assert check.status == status
    told = float(check.found.split()[1])
    assert true / 3 < told < 3 * true


@QUIET
@pytest.mark.parametrize("method", ["generalized-alpha", "rattle", "moreau-jean"])
def test_a_users_force_faster_than_the_steps(method):
    """Aliased to a period of a second, slow relative to the steps: the values at the points of the
    method are smooth, the work at other points is not."""
    model = pendulums(1)
    model.add(
        fm.UserForce(
            "push",
            "rod0/tip",
            lambda t, r, A, v, w: [50.0 * math.sin(2 * math.pi * 99.01 * t), 0, 0, 0, 0, 0],
        )
    )
    solution = fm.simulate(model, t_end=1.0, step=1e-2, integrator=method)
    assert found(solution, "Work within steps").status == FAIL
    assert found(solution, "Error of the steps").status == PASS
    resolved = fm.simulate(model, t_end=1.0)
    assert found(resolved, "Work within steps").status == resolved.verdict == PASS


@QUIET
@pytest.mark.parametrize("step, status", [(4e-3, WARN), (2e-3, WARN), (2e-4, PASS), (0.02, PASS)])
def test_error_of_steps_through_impacts(step, status):
    """A bouncing ball, of first order: the estimate is not below the true error, nor eight times
    above. Long steps end at the impacts that they locate."""
    model = fm.Model("ball", gravity=(0, 0, -9.81))
    body = model.add(fm.PointMass("ball", mass=2.0))
    model.add(fm.Prismatic("fall", model.ground, body, axis="z", q0=1.0))
    model.add(fm.SpherePlane("floor", model.ground, body, restitution=0.9))
    exact = fm.simulate(model, t_end=3.0, output_step=0.1, integrator="event-driven", rtol=1e-9)
    solution = fm.simulate(model, t_end=3.0, output_step=0.1, integrator="moreau-jean", step=step)
    true = float(np.abs(solution.joint("fall").position - exact.joint("fall").position).max())
    check = found(solution, "Error of the steps")
    assert check.status == status
    located = step == 0.02
    assert true < float(check.found.split()[1]) < (1.0 if located else 8.0 * true)
    assert true < 1e-7 or not located


@QUIET
@pytest.mark.parametrize(
    "law",
    [fm.Sine(amplitude=50.0, frequency=99.0), lambda t: 50.0 * math.sin(2 * math.pi * 101.0 * t)],
)
def test_forces_that_are_aliased(law):
    solution = fm.simulate(oscillator(law=law), t_end=1.0, step=1e-2)
    assert found(solution, "Laws of time").status == FAIL
    assert "forces.force.law" in found(solution, "Laws of time").found
    resolved = fm.simulate(oscillator(law=law), t_end=1.0, step=2e-4)
    assert found(resolved, "Laws of time").status == PASS


@pytest.mark.parametrize(
    "law",
    [
        fm.Ramp(0.0, 5.0, start=0.3),
        fm.SmoothStep(5.0, start=0.2, duration=0.4),
        lambda t: 5.0 * (t > 0.5),
    ],
)
def test_laws_that_change_seldom_are_no_reason(law):
    check = found(fm.simulate(oscillator(law=law), t_end=1.0, step=2e-3), "Laws of time")
    assert check is None or check.status == PASS


@QUIET
@pytest.mark.parametrize("interpolation, status", [("linear", WARN), ("monotone", PASS)])
@pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[1]], ids=" ".join)
def test_velocities_that_drives_let_jump(pair, interpolation, status):
    """An impact at each jump: all methods give the same motion, and the energy balance includes the
    work of the impact.
    """
    model = pendulums(3)
    model.add(
        fm.Drive(
            "motor",
            "hinge0",
            fm.Table((0.0, 0.1, 0.25, 0.4), (0.3, 0.5, 0.4, 0.6), interpolation=interpolation),
        )
    )
    solution = fm.simulate(model, t_end=0.4, **options(*pair) | {"step": 1e-3})
    check = found(solution, "Velocities of drives")
    assert (check.status if check else PASS) == status
    assert FAIL not in {each.status for each in solution.audit}
    assert (
        found(solution, "Second opinion").status == found(solution, "Energy balance").status == PASS
    )
    fine = fm.simulate(
        model,
        t_end=0.4,
        output_step=1e-3,
        formalism="embedding",
        integrator="dormand-prince",
        rtol=1e-9,
    )
    assert found(fine, "Energy balance").status == PASS
    np.testing.assert_allclose(
        solution.body("rod2").position, fine.body("rod2").position, atol=2e-5
    )


@QUIET
@pytest.mark.parametrize("stiffness", [1e9, 1e4])
def test_contacts_shorter_than_steps(stiffness):
    """Steps are divided by them."""
    solution = fm.simulate(ball(stiffness), t_end=0.5, step=1e-3)
    check = found(solution, "Contacts and steps")
    assert check.status == PASS
    steps = float(check.found.split(", ")[1].split()[0])
    assert steps > 25.0


@pytest.mark.parametrize("exponent", [1.0, 1.5, 3.0])
def test_duration_of_impacts(exponent):
    """T = 2 ∫₀^δm dδ/√(v² − 2 k δ^(n+1)/((n + 1) m))"""
    k, m, v = 2e5, 0.3, 1.7
    depth = (0.5 * (exponent + 1) * m * v**2 / k) ** (1 / (exponent + 1))
    exact = (
        2 * depth / v * quad(lambda y: 2 * y / np.sqrt(1 - (1 - y * y) ** (exponent + 1)), 0, 1)[0]
    )
    assert impact_duration(k, exponent, m, v) == pytest.approx(exact, rel=1e-9)


def test_warnings_and_strict():
    with pytest.warns(
        fm.AuditWarning, match="FAIL: Error of the steps: .*use a smaller step than 0.2 s"
    ):
        solution = fm.simulate(oscillator(), t_end=2.0, step=0.2)
    with pytest.raises(fm.AuditError, match="FAIL: Error of the steps") as error:
        fm.simulate(oscillator(), t_end=2.0, step=0.2, strict=True)
    assert np.array_equal(error.value.solution.q, solution.q)
    assert fm.simulate(oscillator(), t_end=0.1, strict=True).verdict == PASS


@QUIET
def test_a_file_keeps_the_audit(tmp_path):
    solution = fm.simulate(oscillator(), t_end=2.0, step=0.2)
    solution.save(tmp_path / "run.h5")
    assert fm.Solution.load(tmp_path / "run.h5").audit == solution.audit


def test_a_function_that_fails_afterwards_is_reported():
    """Exceptions of user functions during the audit do not fail a finished run."""
    calls = []

    def force(t, x, v):
        calls.append(t)
        if len(calls) > 1 and t < max(calls) - 0.05:
            raise RuntimeError("time runs backwards")
        return -x

    model = oscillator()
    model.add(fm.JointTorque("user", "guide", force))
    with pytest.warns(
        fm.AuditWarning, match="Second opinion: was not possible: .*time runs backwards"
    ):
        solution = fm.simulate(model, t_end=0.5)
    assert solution.run.finished


@QUIET
def test_impacts_whose_order_is_not_resolved():
    """Two balls that reach the floor a quarter of a millisecond after each other."""
    model = fm.Model("balls", gravity=(0, 0, -9.81))
    for k, height in enumerate((0.1, 0.1005)):
        each = model.add(fm.RigidBody(f"ball{k}", mass=1.0, inertia=(1e-3,) * 3))
        model.add(fm.Translation(f"free{k}", model.ground, each, q0=(k, 0, height)))
        model.add(fm.SpherePlane(f"floor{k}", model.ground, each, radius=0.01, restitution=0.5))
    runs = [
        fm.simulate(model, t_end=0.2, integrator="moreau-jean", step=step) for step in (1e-3, 1e-5)
    ]
    assert found(runs[0], "Order of impacts").status == WARN
    assert "floor0 and floor1" in found(runs[0], "Order of impacts").found
    assert found(runs[1], "Order of impacts") is None


def car(speed):
    """A small mass on a spring of 20 Hz on a heavy car that drives along."""
    model = fm.Model("car", gravity=(0, 0, -9.81))
    heavy = model.add(fm.RigidBody("car", mass=1000.0, inertia=(100, 100, 100)))
    light = model.add(fm.RigidBody("light", mass=0.1, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Prismatic("road", model.ground, heavy, axis="x", v0=speed))
    model.add(fm.Prismatic("guide", heavy, light, axis="z"))
    model.add(fm.JointSpring("spring", "guide", k=0.1 * (2 * math.pi * 20) ** 2))
    return model


@QUIET
@pytest.mark.parametrize("method", ["generalized-alpha", "rattle", "moreau-jean"])
def test_a_fast_part_hides_no_slow_one(method):
    for speed in (0.0, 2.0, 200.0):
        solution = fm.simulate(car(speed), t_end=2.0, step=4e-3, integrator=method)
        assert found(solution, "Error of the steps").status == FAIL
    assert fm.simulate(car(2.0), t_end=2.0).verdict == PASS


@QUIET
@pytest.mark.parametrize("step, status", [(1e-2, FAIL), (1e-5, PASS)])
def test_turns_of_the_midpoint_rule(step, status):
    """2 atan ½hω instead of hω: 93 rad instead of 100."""
    model = fm.Model("spin", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("body", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Free("free", model.ground, body, v0=(0, 0, 0, 0, 0, 100.0)))
    solution = fm.simulate(model, t_end=0.1, step=step, integrator="moreau-jean")
    assert found(solution, "Error of the steps").status == status
    assert fm.simulate(model, t_end=0.1, step=1e-2).verdict == PASS


@QUIET
def test_events_that_steps_pass_over():
    model = fm.Model("rotor", gravity=(0, 0, 0))
    body = model.add(
        fm.RigidBody("rotor", mass=1.0, inertia=(0.01,) * 3, frames={"edge": (0.1, 0, 0)})
    )
    model.add(fm.Revolute("axle", model.ground, body, axis="y", v0=1000.0))
    event = fm.Event("across", frame="rotor/edge", axis="x")
    assert found(fm.simulate(model, t_end=0.1, events=[event]), "Events and steps").status == WARN
    assert (
        found(fm.simulate(model, t_end=0.1, step=1e-4, events=[event]), "Events and steps") is None
    )


@QUIET
@pytest.mark.parametrize("restitution", [0.6, 0.9, 1.0])
def test_bounces_that_were_seen(restitution):
    model = fm.Model("ball", gravity=(0, 0, -9.81))
    ball = model.add(fm.PointMass("ball", mass=1.0))
    model.add(fm.Prismatic("fall", model.ground, ball, axis="z", q0=1.0))
    model.add(fm.SpherePlane("floor", model.ground, ball, restitution=restitution))
    solution = fm.simulate(model, t_end=1.0, step=1e-4, integrator="moreau-jean")
    assert len(solution.run.impacts) >= 1
    assert found(solution, "Missed contacts") is None


def test_overlaps_that_stay():
    """Each ball of a tower stops a fraction of a step late, and penetrates the one below."""
    model = fm.Model("tower", gravity=(0, 0, -9.81))
    below, balls = None, 8
    for k in range(balls):
        ball = model.add(fm.RigidBody(f"ball{k}", mass=1.0, inertia=(1e-3,) * 3))
        model.add(fm.Prismatic(f"guide{k}", model.ground, ball, axis="z", q0=0.5 + 1.05 * k))
        if below is None:
            model.add(fm.SpherePlane("floor", model.ground, ball, radius=0.5))
        else:
            model.add(fm.SphereSphere(f"on{k}", below, ball, radius_parent=0.5, radius_child=0.5))
        below = ball
    with pytest.warns(fm.AuditWarning, match="Rigid contacts: penetration at the end of the run"):
        fm.simulate(model, t_end=2.0, step=5e-3, integrator="moreau-jean")


def test_work_that_is_not_counted_is_not_judged():
    def height(t, x, A):
        return [x[2] - 0.1 * math.sin(3 * t)]

    model = fm.Model("lift")
    body = model.add(fm.RigidBody("body", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Translation("free", model.ground, body, v0=(0, 0, 0.3)))
    model.add(
        fm.Holonomic("height", model.ground, body, function=height, equations=1, rheonomic=True)
    )
    solution = fm.simulate(model, t_end=0.5)
    assert found(solution, "Energy balance").status == PASS
    assert (
        "not judged: the work of the time-dependent height"
        in found(solution, "Energy balance").found
    )
    model = fm.Model("plane")
    body = model.add(fm.RigidBody("body", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Translation("free", model.ground, body))
    model.add(
        fm.Holonomic(
            "plane", model.ground, body, function=lambda t, x, A: [1e-12 * x[2]], equations=1
        )
    )
    with pytest.raises(
        fm.InputError,
        match=r"joints\.plane\.function: g0 changes by 7\.1e-13 over the size of the model",
    ):
        fm.simulate(model, t_end=0.5)


def double_pendulum(angle):
    model = fm.Model("double pendulum", gravity=(0, 0, -9.81))
    previous = model.ground
    for k, start in enumerate((angle, 0.3)):
        body = fm.RigidBody(
            f"rod{k}",
            mass=1,
            inertia=(0.01, 0.01, 0.01),
            com=(0, 0, -0.5),
            frames={"end": (0, 0, -1)},
        )
        rod = model.add(body)
        model.add(fm.Revolute(f"j{k}", previous, rod, axis="y", q0=start))
        previous = rod["end"]
    return model


@QUIET
@pytest.mark.parametrize("method", [{}, {"integrator": "dormand-prince"}, {"step": 1e-3}], ids=str)
@pytest.mark.parametrize(
    ("angle", "t_end", "certain"), [(0.5, 20.0, True), (2.5, 3.0, True), (2.5, 20.0, False)]
)
def test_chaotic_motions(method, angle, t_end, certain):
    """A double pendulum amplifies errors near its upright position: after ten seconds the motion is
    unpredictable.
    """
    solution = fm.simulate(double_pendulum(angle), t_end=t_end, output_step=0.1, **method)
    check = found(solution, "Second run")
    assert (check.status == "PASS") is certain
    other = fm.simulate(double_pendulum(angle), t_end=t_end, output_step=0.1, rtol=1e-9, atol=1e-11)
    off = np.abs(solution.body("rod1").position - other.body("rod1").position).max()
    assert bool(off < 0.03) is certain


@QUIET
@pytest.mark.parametrize("part", [0.02, 0.06])
@pytest.mark.parametrize(("angle", "certain"), [(0.5, True), (2.5, False)])
def test_fast_growth_in_the_first_part_of_a_long_run(angle, certain, part, monkeypatch):
    """The run is then made again as a whole: the verdict is that of errors that occurred, wherever
    the first part ends.
    """
    monkeypatch.setattr(second_run, "MOST", part)
    check = found(fm.simulate(double_pendulum(angle), t_end=20.0, output_step=0.1), "Second run")
    assert (check.status == "PASS") is certain


@QUIET
def test_a_disc_in_a_round_bowl_is_not_unstable(monkeypatch):
    """Errors of its free rotation grow fast at first, from round-off, and remain far below the
    motion.
    """
    monkeypatch.setattr(second_run, "MOST", 0.024)
    angle = np.linspace(0.0, 2.0 * np.pi, 121)[:-1]
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    model = fm.Model("bowl", gravity=(0, -9.81, 0))
    disc = model.add(fm.RigidBody("disc", mass=2.0, inertia=(0.01, 0.01, 0.01)))
    model.add(
        fm.Planar(
            "table", model.ground, disc, axis="z", q0=(0.9 * np.sin(1.2), -0.9 * np.cos(1.2), 0.0)
        )
    )
    law = fm.HuntCrossley(stiffness=1e6, damping=1.0)
    ends = {"points_parent": circle, "points_child": 0.1 * circle, "reverse_parent": True}
    model.add(fm.CurveContact("touch", model.ground, disc, law=law, preloaded=True, **ends))
    assert found(fm.simulate(model, t_end=3.0, output_step=0.02), "Second run").status == "PASS"


@QUIET
@pytest.mark.parametrize("method", [{}, {"integrator": "dormand-prince"}, {"step": 1e-3}], ids=str)
def test_unstable_positions(method):
    """An inverted pendulum remains upright, or falls, due to round-off only; a hanging one remains
    at rest.
    """
    assert fm.simulate(pendulum(q0=np.pi), t_end=20.0, **method).verdict != "PASS"
    assert fm.simulate(pendulum(), t_end=20.0, **method).verdict == "PASS"


@QUIET
def test_switches_within_fixed_steps():
    """A relay switches repeatedly within steps, with an error of up to one step."""
    model = oscillator(law=None)
    model.add(fm.JointTorque("relay", "guide", lambda t, x, v: -4.0 if x > 0.0 else 4.0))
    fine = fm.simulate(model, t_end=3.0, step=1e-4, output_step=0.06).joint("guide").position
    for step in (1e-2, 2e-2, 3e-2):
        coarse = fm.simulate(model, t_end=3.0, step=step, output_step=0.06)
        off = np.abs(coarse.joint("guide").position - fine).max() / np.ptp(fine)
        assert off < 0.02 or coarse.verdict != "PASS"


@QUIET
@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_drift_is_judged_beside_the_size_of_small_models(size):
    """Of a parallel of four bars, moved by 1e-5 of its size, or by 1e-5 rad."""
    model = fm.Model("bars", gravity=(0, 0, 0), frames={"B": (size, 0, 0)})
    ends = {"tip": (0, size, 0)}
    for name, place in (("left", model.ground), ("right", model.ground["B"])):
        model.add(fm.RigidBody(name, mass=1.0, inertia=(size**2,) * 3, frames=ends))
        model.add(fm.Revolute(f"foot of {name}", place, name, axis="z", v0=0.1))
    model.add(
        fm.RigidBody("coupler", mass=1.0, inertia=(size**2,) * 3, frames={"end": (size, 0, 0)})
    )
    model.add(fm.Revolute("knee", "left/tip", "coupler", axis="z", v0=-0.1))
    model.add(fm.Revolute("closing", "coupler/end", "right/tip", axis="z"))
    solution = fm.simulate(model, t_end=0.1, output_step=0.02, step=1e-3)
    assert found(solution, "Position drift").status == PASS
    drifted = solution.trajectory.q.copy()
    drifted[:, 0] += 1e-5
    g = np.full_like(solution.trajectory.drift, 1e-5 * size)
    drifted = dataclasses.replace(
        solution, trajectory=solution.trajectory._replace(q=drifted, drift=g)
    )
    assert found(drifted, "Position drift").status == WARN


@QUIET
def test_drift_at_a_single_output_is_judged():
    """Of a small model, whose drift is looked at by row at some of its outputs only."""
    size = 1e-3
    model = fm.Model("bar", gravity=(0, 0, 0))
    model.add(fm.RigidBody("bar", mass=1.0, inertia=(size**2,) * 3, frames={"tip": (size, 0, 0)}))
    model.add(fm.Prismatic("foot", "ground", "bar", axis="z", v0=1e-3))
    model.add(fm.Drive("motor", "foot", fm.Ramp(0.0, 1e-3)))
    solution = fm.simulate(model, t_end=0.1, step=1e-3)
    q, drift = solution.trajectory.q.copy(), solution.trajectory.drift.copy()
    q[38, 0] += 1e-8
    drift[38, 0] = 1e-8
    solution = dataclasses.replace(
        solution, trajectory=solution.trajectory._replace(q=q, drift=drift)
    )
    assert found(solution, "Position drift").status == WARN


@QUIET
def test_a_jump_that_decays_within_steps_is_found_with_its_remedy():
    """The reference of a strongly damped servo of a closed loop jumps: accelerations after the
    first steps alternate.
    """
    model = fm.Model("crank", gravity=(0, 0, 0))
    arm = model.add(
        fm.RigidBody(
            "arm",
            mass=0.5,
            com=(0.15, 0, 0),
            inertia=(1e-4, 4e-3, 4e-3),
            frames={"end": (0.3, 0, 0)},
        )
    )
    rod = model.add(
        fm.RigidBody(
            "rod",
            mass=0.05,
            com=(0.35, 0, 0),
            inertia=(1e-6, 2e-3, 2e-3),
            frames={"end": (0.7, 0, 0)},
        )
    )
    slider = model.add(fm.PointMass("slider", mass=0.2))
    motor = model.add(fm.Revolute("motor", model.ground, arm, axis="y"))
    model.add(fm.Revolute("knee", arm["end"], rod, axis="y", q0=2.0))
    model.add(fm.Prismatic("rail", model.ground, slider, axis="x"))
    model.add(fm.Spherical("pin", rod["end"], slider))
    model.add(fm.JointTorque("servo", motor, fm.PD(kp=150.0, kd=20.0, reference=0.3)))
    check = found(fm.simulate(model, t_end=0.03, step=1e-3), "Accelerations")
    assert check.status == FAIL
    assert check.remedy.startswith("use error control, without a step")
    controlled = fm.simulate(model, t_end=0.03)
    assert found(controlled, "Accelerations") is None
    assert found(controlled, "Second opinion").status == PASS


@QUIET
def test_second_runs_that_stop(monkeypatch):
    """Where longer steps stop, shorter ones are tried; where these stop too, nothing is known."""
    compared = second_run._compared

    def stops_coarse(scales, other, picked):
        return compared(scales, other, picked) if other.cost > 1.0 else None

    monkeypatch.setattr(second_run, "_compared", stops_coarse)
    check = found(fm.simulate(oscillator(), t_end=0.2, step=1e-4), "Second run")
    assert (check.status, "steps of 5e-05 s" in check.found) == (PASS, True)
    monkeypatch.setattr(second_run, "_compared", lambda *_: None)
    check = found(fm.simulate(oscillator(), t_end=0.2, step=1e-4), "Second run")
    assert check.status == WARN
    assert "runs with steps of 0.0002 s and steps of 5e-05 s stop" in check.found


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_box_at_rest_on_rigid_contacts_has_no_errors(slope, friction):
    """Without friction on a slope it slides with g sin α: uniform acceleration."""
    g = 9.81 * np.array([math.sin(slope), 0.0, -math.cos(slope)])
    model = fm.Model("box", gravity=tuple(g))
    corners = {
        f"c{k}": (x, y, -0.05) for k, (x, y) in enumerate([(0.1, 0.1), (0.1, -0.1), (-0.1, 0)])
    }
    box = model.add(fm.RigidBody("box", mass=2.0, inertia=(0.01, 0.01, 0.01), frames=corners))
    model.add(fm.Free("place", model.ground, box, q0=(0, 0, 0.05, 1, 0, 0, 0)))
    for name in corners:
        model.add(fm.SpherePlane(name, model.ground, box[name], friction=friction))
    solution = fm.simulate(model, t_end=0.5, step=1e-3, integrator="moreau-jean")
    moved = 0.0 if friction else g[0] * 0.5**2 / 2
    assert solution.q[-1, 0] == pytest.approx(moved, rel=3e-3, abs=1e-9)
    assert solution.verdict == "PASS", [c.found for c in solution.audit if c.status != "PASS"]


def test_a_model_that_dry_friction_holds_at_rest():
    """A motor torque behind a gear, below the friction: nothing moves, no reactions."""
    model = fm.Model("held", gravity=(0, 0, 0))
    for name, moment in (("motor", 1e-4), ("load", 0.5)):
        body = model.add(fm.RigidBody(name, mass=1.0, inertia=(1.0, 1.0, moment)))
        model.add(fm.Revolute(f"{name} axis", model.ground, body, axis="z"))
    model.add(fm.Gear("gear", "motor axis", "load axis", ratio=100.0))
    model.add(fm.DryFriction("brake", "motor axis", coulomb=0.01))
    model.add(fm.JointTorque("torque", "load axis", 0.9))
    run = fm.simulate(model, t_end=1.0, step=1e-3, integrator="moreau-jean")
    assert np.abs(run.q).max() < 1e-15
    assert run.verdict == PASS
