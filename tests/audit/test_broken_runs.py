"""Manipulated runs: none of them is a PASS. Each is rejected, stops, or is detected by its audit.

Manipulated records represent terms omitted by a faster path and lost parameters; the model that the
audit compiles again contains them. Such runs conserve energy, and their steps are small: only
independent equations, or the applied loads, detect them.
"""

import dataclasses
import functools
import math

import numpy as np
import pytest
from audited_models import ball, four_bar, oscillator, other_equations, pendulums

import flexmbs as fm
from flexmbs.model.frames import FrameRef
from flexmbs.system.check import PASS
from flexmbs.system.records import some_rows
from flexmbs.time_stepping.run import Run

pytestmark = pytest.mark.filterwarnings(
    "ignore::flexmbs.AuditWarning", "ignore::flexmbs.AssemblyWarning"
)


def changed(*path, factor=0.0, at=(), add=0.0):
    """The record at a path of fields multiplied by a factor, or with an offset, as a whole or at an
    index.
    """

    def change(record, names):
        if names:
            return record._replace(**{names[0]: change(getattr(record, names[0]), names[1:])})
        array = record.copy()
        array[at or ...] = factor * array[at or ...] + add
        return array

    return lambda system: change(system, path)


def without(place):
    """No forces at one kind of location."""

    def change(system):
        none = some_rows(getattr(system.forces, place), slice(0))
        return system._replace(forces=system.forces._replace(**{place: none}))

    return change


def arm():
    """Two flexible links with a force of each kind: on a joint, on a frame, on a line between
    frames, between two frames.
    """
    model = fm.Model("arm", gravity=(0, 0, -9.81), frames={"post": (0.0, 0.0, 0.5)})
    end, elbow = model.ground, model.ground
    for i in range(2):
        link = model.add(fm.FlexibleBody(f"link{i}", data=beam(0.5, 1.2)))
        model.add(fm.Revolute(f"hinge{i}", end, link["root"], axis="y", q0=0.4))
        elbow, end = end, link["end"]
    model.add(fm.JointSpring("spring", "hinge1", k=20.0, c=0.2))
    model.add(fm.FrameForce("load", end, force=(0.0, 0.0, -3.0)))
    model.add(fm.PointSpring("rope", model.ground["post"], end, k=50.0, length=0.3))
    model.add(fm.Bushing("mount", model.ground["post"], elbow, k=(30.0,) * 6, c=(0.1,) * 6))
    return model


def beam(length, mass, stiffness=4e3):
    """A slender beam along x from its root, with one bending shape x²/L² in z."""
    S, xS, SS = np.zeros((3, 1)), np.zeros((3, 3, 1)), np.zeros((3, 3, 1, 1))
    S[2], xS[0, 2], SS[2, 2] = mass / 3.0, mass * length / 4.0, mass / 5.0
    zero, one, slope = (
        np.zeros((3, 1)),
        np.array([[0.0], [0.0], [1.0]]),
        np.array([[0.0], [-2.0 / length], [0.0]]),
    )
    frames = {
        "root": fm.FlexibleFrame.at_node((0, 0, 0), zero),
        "end": fm.FlexibleFrame.at_node((length, 0, 0), one, psi=slope),
    }
    return fm.FlexibleBodyData.from_integrals(
        "beam",
        mass=mass,
        first_moment=(mass * length / 2.0, 0, 0),
        S_bar=S,
        xS=xS,
        SS=SS,
        K_ff=np.array([[stiffness]]),
        second_moment=np.diag([mass * length**2 / 3.0, 1e-4, 1e-4]),
        frames=frames,
    )


def three_pendulums():
    return pendulums(3)


HEAVIER = {"factor": 1.1, "at": (0,)}
RECORDS = {
    "no forces on joints": (arm, without("joint")),
    "no forces on frames": (arm, without("frame")),
    "no forces along lines": (arm, without("line")),
    "no forces between two frames": (arm, without("pair")),
    "weaker spring": (arm, changed("forces", "joint", "value", factor=0.8)),
    "no gravity": (arm, changed("gravity")),
    "turned gravity": (arm, changed("gravity", factor=1.0, add=0.5)),
    "softer link": (arm, changed("bodies", "k_ff", factor=0.9, at=(1,))),
    "heavier mode": (
        arm,
        lambda system: changed("bodies", "m_rest", **HEAVIER)(
            changed("bodies", "m_ff", **HEAVIER)(system)
        ),
    ),
    "no coupling of a mode": (arm, changed("bodies", "linear", at=(1,))),
    "other second-order integrals": (arm, changed("bodies", "quadratic", factor=30.0)),
    "no shapes at frames": (arm, changed("frames", "shape", factor=0.9)),
    "frame elsewhere": (arm, changed("frames", "x", factor=1.05)),
    "heavier body": (three_pendulums, changed("bodies", "mass", factor=1.05, at=(2,))),
    "centre of mass elsewhere": (
        three_pendulums,
        changed("bodies", "first", factor=1.05, at=(1, 0)),
    ),
    "another inertia": (three_pendulums, changed("bodies", "second", factor=1.2, at=(1, 0))),
    "another axis": (
        three_pendulums,
        changed("joints", "unit_twist", factor=1.0, add=0.05, at=(slice(None), slice(3, 6))),
    ),
    "loop of other lengths": (four_bar, changed("frames", "x", factor=1.01)),
    "loop without gravity": (four_bar, changed("gravity")),
    "sideways gravity in a loop": (four_bar, changed("gravity", factor=1.0, add=2.0)),
    "oscillator without its spring": (oscillator, without("joint")),
    "another law of time": (
        lambda: oscillator(law=fm.Sine(amplitude=3.0, frequency=2.0)),
        changed("laws", "value", factor=1.1),
    ),
    "a law with another exponent": (lambda: ball(1e4), changed("contacts", "law", factor=1.3)),
}


def findings(solution):
    """Findings of the audit other than PASS."""
    return {(check.title, check.status) for check in solution.audit if check.status != PASS}


METHODS = {
    "recursive": {"formalism": "recursive", "integrator": "dormand-prince"},
    "multiplier": {"formalism": "multiplier", "step": 5e-4},
    "absolute": {"coordinates": "absolute", "step": 5e-4},
}


@functools.cache
def good_run(make, method):
    """A model, and what the audit of its run finds."""
    model = make()
    return model, findings(fm.simulate(model, t_end=0.2, **METHODS[method]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", RECORDS)
def test_other_records_than_those_of_the_model(monkeypatch, name, method):
    make, change = RECORDS[name]
    model, good = good_run(make, method)
    other_equations(monkeypatch, change)
    try:
        solution = fm.simulate(model, t_end=0.2, **METHODS[method])
    except (fm.SolverError, fm.InputError):  # loops that cannot close contradict each other
        return
    assert findings(solution) - good


def top():
    """A fast top on a ball joint."""
    model = fm.Model("top", gravity=(0, 0, -9.81))
    body = model.add(fm.RigidBody("top", mass=1.0, inertia=(0.02, 0.02, 0.01), com=(0, 0, 0.2)))
    model.add(
        fm.Spherical(
            "tip", model.ground, body, q0=(math.cos(0.2), math.sin(0.2), 0, 0), v0=(0, 0, 200.0)
        )
    )
    return model


def pushed(law):
    """A slider under a user-defined law f(x, v)."""
    model = fm.Model("pushed", gravity=(0, 0, 0))
    slider = model.add(fm.RigidBody("slider", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Prismatic("guide", model.ground, slider, axis="x", q0=0.1))
    model.add(fm.JointTorque("law", "guide", lambda t, x, v: law(x, v)))
    return model


def soft(stiffness):
    """A flexible link under its weight."""
    model = fm.Model("soft", gravity=(0, 0, -9.81))
    link = model.add(fm.FlexibleBody("link", data=beam(0.5, 1.2, stiffness)))
    model.add(fm.Fixed("wall", model.ground, link["root"]))
    return model


def two_balls():
    model = fm.Model("balls", gravity=(0, 0, -9.81))
    for k, height in enumerate((0.1, 0.1005)):
        each = model.add(fm.RigidBody(f"ball{k}", mass=1.0, inertia=(1e-3,) * 3))
        model.add(fm.Translation(f"free{k}", model.ground, each, q0=(k, 0, height)))
        model.add(fm.SpherePlane(f"floor{k}", model.ground, each, radius=0.01, restitution=0.5))
    return model


def heavy_load(force):
    model = arm()
    model.add(fm.FrameForce("weight", FrameRef("link1", "end"), force=(0.0, 0.0, -force)))
    return model


def bouncing():
    """A pendulum that touches an elastic stop for less than a step."""
    model = pendulums(1)
    model.add(
        fm.JointLimit("stop", "hinge0", upper=0.5, law=fm.HuntCrossley(stiffness=1e8, damping=0.0))
    )
    return model


def pulses(times, height):
    """A table of short pulses."""
    knots = [(t + dt, v) for t in times for dt, v in ((-1e-3, 0.0), (0.0, height), (1e-3, 0.0))]
    return fm.Table(
        [0.0, *(t for t, _ in knots), 10.0],
        [0.0, *(v for _, v in knots), 0.0],
        interpolation="linear",
    )


RATTLE = {"integrator": "rattle"}
RUNS = {
    "large step, pendulums": (lambda: pendulums(3), {"t_end": 2.0, "step": 0.05}),
    "large step, absolute": (
        lambda: pendulums(3),
        {"t_end": 2.0, "step": 0.05, "coordinates": "absolute"},
    ),
    "large step, rattle": (lambda: pendulums(3), {"t_end": 2.0, "step": 0.05, **RATTLE}),
    "large step, dissipation": (oscillator, {"t_end": 2.0, "step": 0.1, "rho_inf": 0.0}),
    "large step, loop": (four_bar, {"t_end": 2.0, "step": 0.05}),
    "large step, top": (top, {"t_end": 0.5, "step": 0.02}),
    "large step, top, absolute": (top, {"t_end": 0.5, "step": 0.02, "coordinates": "absolute"}),
    "loose tolerance": (lambda: pendulums(4), {"t_end": 3.0, "rtol": 0.3, "atol": 0.1}),
    "aliased sine": (
        lambda: oscillator(law=fm.Sine(50.0, frequency=99.0)),
        {"t_end": 1.0, "step": 1e-2},
    ),
    "aliased function": (
        lambda: oscillator(law=lambda t: 50 * math.sin(634.6 * t)),
        {"t_end": 1.0, "step": 1e-2},
    ),
    "aliased sine, rattle": (
        lambda: oscillator(law=fm.Sine(9.0, frequency=99.0)),
        {"t_end": 1.0, "step": 1e-2, **RATTLE},
    ),
    "pulses between steps": (
        lambda: oscillator(law=pulses((0.105, 0.305), 500.0)),
        {"t_end": 1.0, "step": 1e-2},
    ),
    "impacts in one step": (two_balls, {"t_end": 0.2, "step": 1e-3, "integrator": "moreau-jean"}),
    "fast spring, large step": (lambda: oscillator(40.0), {"t_end": 0.5, "step": 0.01}),
    "fast spring, explicit": (lambda: oscillator(400.0), {"t_end": 0.5, "step": 0.01, **RATTLE}),
    "runaway": (lambda: pushed(lambda x, v: 400.0 * x), {"t_end": 3.0, "step": 0.05}),
    "runaway feedback": (
        lambda: pushed(lambda x, v: 60.0 * v + 10.0 * x),
        {"t_end": 3.0, "step": 0.05},
    ),
    "narrow well": (
        lambda: pushed(lambda x, v: -4e3 * math.sin(2e4 * x) - x),
        {"t_end": 0.5, "step": 5e-3},
    ),
    "relay": (lambda: pushed(lambda x, v: -math.copysign(50.0, x)), {"t_end": 2.0, "step": 0.02}),
    "stiffness in the wrong unit": (lambda: soft(4e3 * 1e-3), {"t_end": 0.5}),
    "deflection beyond the linear range": (lambda: soft(20.0), {"t_end": 0.5}),
    "force in the wrong unit": (lambda: heavy_load(3000.0), {"t_end": 0.1}),
}


DIVIDED = {
    "stiff contact": (lambda: ball(1e9), {"t_end": 0.5, "step": 1e-3}),
    "very stiff contact": (lambda: ball(1e12), {"t_end": 0.5, "step": 1e-4}),
    "stiff contact, rattle": (lambda: ball(1e9), {"t_end": 0.5, "step": 1e-3, **RATTLE}),
    "stop met for less than a step": (bouncing, {"t_end": 0.6, "step": 0.01}),
}


@pytest.mark.parametrize("name", DIVIDED)
def test_contacts_divide_fixed_steps(name):
    """Contacts shorter than a step: right to 1 % of the motion, against controlled steps."""
    make, given = DIVIDED[name]
    solution = fm.simulate(make(), **given)
    output_step = given["t_end"] / (len(solution.t) - 1)
    exact = fm.simulate(
        make(), t_end=given["t_end"], output_step=output_step, rtol=1e-9, atol=1e-11
    )
    joint = next(iter(solution.model.joints))
    found, wanted = solution.joint(joint).position, exact.joint(joint).position
    assert np.abs(found - wanted).max() < 1e-2 * np.ptp(wanted, axis=0).max()


@pytest.mark.parametrize("name", RUNS)
def test_runs_that_cannot_be_right(name):
    make, given = RUNS[name]
    model = make()
    try:
        solution = fm.simulate(model, **given)
    except fm.SolverError:
        return
    assert solution.verdict != PASS


@pytest.mark.parametrize("place", ["q", "s", "sd", "lam"])
@pytest.mark.parametrize("make", [pendulums, four_bar])
def test_results_that_were_changed(monkeypatch, make, place):
    """A modified number in one output: the states checked by the audit are those of steps, but the
    energy balance detects it.
    """
    proper = Run.integrate

    def integrate(run, progress):
        ended = proper(run, progress)
        for values in (getattr(run.context.samples, place), getattr(run.out, place)):
            if values.size:
                values[len(values) // 2 :, -1] += 0.1 * max(1.0, np.abs(values).max())
        return ended

    monkeypatch.setattr(Run, "integrate", integrate)
    solution = fm.simulate(make(), t_end=0.3, coordinates="absolute" if place == "lam" else "joint")
    assert solution.verdict != PASS


def test_force_states_that_were_lost():
    """A controller whose integral restarts: a motion that differs from that of the model."""
    model = oscillator()
    model.add(fm.JointTorque("control", "guide", fm.PID(10.0, 200.0, 1.0, reference=0.2)))
    solution = fm.simulate(model, t_end=0.5)
    wrong = dataclasses.replace(
        solution, trajectory=solution.trajectory._replace(z=0.0 * solution.trajectory.z)
    )
    assert np.abs(wrong.energy.balance).max() >= np.abs(solution.energy.balance).max()
