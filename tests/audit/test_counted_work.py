"""The audit is limited by counted work: its text is the same under any clock."""

import itertools
import math
import time

import numpy as np
import pytest
from audited_models import found, four_bar, oscillator

import flexmbs as fm
import preprocess as pp
from flexmbs.audit import counted_work, second_run

pytestmark = pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
TICKS = itertools.count()
CLOCKS = {  # s at each look
    "still": lambda: 0.0,
    "fast": lambda: 1e-7 * next(TICKS),
    "slow": lambda: 30.0 * next(TICKS),
}


def double_pendulum():
    """It amplifies errors near its upright position."""
    model = fm.Model("double pendulum")
    end = model.ground
    for k, angle in enumerate((2.5, 0.3)):
        frames = {"end": (0, 0, -1)}
        rod = fm.RigidBody(
            f"rod{k}", mass=1, inertia=(0.01, 0.01, 0.01), com=(0, 0, -0.5), frames=frames
        )
        rod = model.add(rod)
        model.add(fm.Revolute(f"hinge{k}", end, rod, axis="y", q0=angle))
        end = rod["end"]
    return model


def link():
    """A flexible link struck at its tip: fixed steps do not resolve its highest modes."""
    mesh = pp.box_mesh((0.5, 0.03, 0.02), (10, 1, 1), "hex20", origin=(0, -0.015, -0.01))
    data = pp.reduce(
        mesh,
        pp.Isotropic(E=7.0e10, nu=0.33, rho=2700.0),
        interfaces={"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
        method=pp.CraigBampton(modes=4),
        reference="hub",
        stiffening=False,
        stress=None,
    )
    model = fm.Model("struck", gravity=(0, 0, 0))
    body = model.add(fm.FlexibleBody("link", data=data, damping=0.01))
    model.add(fm.Revolute("pin", model.ground, body["hub"], axis="z"))
    law = fm.Table([0.0, 2e-3, 4e-3, 1.0], [0.0, 50.0, 0.0, 0.0])
    model.add(fm.FrameForce("push", body["tip"], force=(0, law, 0)))
    return model


def switched():
    """A relay, a function of Python that steps do not resolve."""
    model = oscillator()
    model.add(fm.JointTorque("relay", "guide", lambda t, x, v: -4.0 if x > 0.0 else 4.0))
    return model


RUNS = {
    "whole": (double_pendulum, {"t_end": 3.0, "step": 1e-3}, {}),
    "first part": (double_pendulum, {"t_end": 20.0, "step": 5e-3}, {"MOST": 0.02}),
    "as a whole": (double_pendulum, {"t_end": 20.0}, {"MOST": 0.02}),
    "cut short": (four_bar, {"t_end": 1.0, "step": 1e-3}, {"LEAST": 0.0, "MOST_OF_RUN": 0.3}),
    "explicit": (four_bar, {"t_end": 1.0, "integrator": "dormand-prince"}, {}),
    "function of Python": (switched, {"t_end": 3.0, "step": 1e-2, "output_step": 0.06}, {}),
    "flexible": (link, {"t_end": 0.02, "step": 5e-5, "output_step": 1e-3}, {}),
    "little work": (link, {"t_end": 0.02, "step": 5e-5}, {"LEAST": 0.0, "MOST_OF_RUN": 0.2}),
}


def told(model, options):
    """The audit as text, and the outcome."""
    run = fm.simulate(model, **options)
    return "\n".join(f"{check.status}  {check}" for check in run.audit) + run.run.outcome


@pytest.mark.parametrize("name", RUNS)
def test_the_audit_is_the_same_under_any_clock(name, monkeypatch):
    make, options, limits = RUNS[name]
    for limit, value in limits.items():
        module = counted_work if hasattr(counted_work, limit) else second_run
        monkeypatch.setattr(module, limit, value)
    model, texts = make(), {}
    for clock, read in CLOCKS.items():
        with monkeypatch.context() as patch:
            for each in ("perf_counter", "monotonic"):
                patch.setattr(time, each, read)
            texts[clock] = told(model, options)
    assert len(set(texts.values())) == 1, texts
    partly = name in ("first part", "cut short", "little work")
    assert ("the rest was not checked" in texts["slow"]) is partly


def test_a_run_that_creeps_ends_at_the_same_step_under_any_clock(monkeypatch):
    model = oscillator()
    noise = fm.JointTorque(
        "noise", "guide", lambda t, x, v: 0.0 if t < 0.3 else 50.0 * math.sin(1e15 * t * t)
    )
    model.add(noise)
    ends = {}
    for clock, read in CLOCKS.items():
        with monkeypatch.context() as patch:
            patch.setattr(time, "perf_counter", read)
            with pytest.raises(fm.SolverError, match="the step shrank to") as caught:
                fm.simulate(model, t_end=10.0, integrator="dormand-prince")
        ends[clock] = (str(caught.value), caught.value.solution.statistics["evaluations"])
    assert len(set(ends.values())) == 1, ends


def test_the_limit_is_that_of_the_loop(monkeypatch):
    """Repeated run ends at the first step beyond it, whatever the number of outputs in a batch."""
    monkeypatch.setattr(counted_work, "LEAST", 0.0)
    reached = []
    for part in np.linspace(0.05, 0.45, 5):
        monkeypatch.setattr(counted_work, "MOST_OF_RUN", part)
        text = found(fm.simulate(four_bar(), t_end=1.0, step=1e-3), "Second run").found
        reached.append(float(text.split("up to t = ")[1].split(" s")[0]))
    assert np.diff(reached) == pytest.approx(np.diff(reached)[0], abs=4e-3)


def test_units_of_work():
    """By coordinates, or by calls of functions in Python; a full audit has no limit."""
    options = {"t_end": 0.1, "step": 1e-2}
    plain, called = (fm.simulate(make(), **options) for make in (oscillator, switched))
    assert counted_work.evaluations_in(plain, 1.0) == 500_000 // 5  # one velocity
    assert counted_work.evaluations_in(called, 1.0) == 50_000
    own = plain.statistics["evaluations"]
    assert counted_work.most_evaluations(plain, 2.0) == max(200_000, 4 * own)
    full = fm.simulate(oscillator(), audit="full", **options)
    assert counted_work.most_evaluations(full) == counted_work.UNLIMITED
