"""Runs with vanishing steps are stopped."""

import math

import pytest

import flexmbs as fm
from flexmbs.studies.run.options import requested_options
from flexmbs.studies.run.run_setup import RunStart, prepared
from flexmbs.studies.sweeps.batch import NOTHING
from flexmbs.time_stepping.run import Pace
from flexmbs.time_stepping.run_state import RunState


def noisy(quiet):
    """A mass on a spring; after ``quiet`` seconds a force that is not resolved by any step."""
    model = fm.Model("noise", gravity=(0, 0, 0))
    mass = model.add(fm.RigidBody("mass", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Prismatic("guide", model.ground, mass, axis="x", q0=0.1))
    model.add(fm.JointSpring("spring", "guide", k=40.0))
    model.add(
        fm.JointTorque(
            "noise", "guide", lambda t, x, v: 0.0 if t < quiet else 50.0 * math.sin(1e15 * t * t)
        )
    )
    return model


def test_a_run_that_creeps_is_stopped():
    with pytest.raises(
        fm.SolverError, match=r"stopped at t = 0\.300.* s: the step shrank to .* at body 'mass'"
    ) as caught:
        fm.simulate(noisy(0.3), t_end=10.0, integrator="dormand-prince")
    assert caught.value.solution.t[-1] == pytest.approx(0.3, abs=0.05)


def test_a_resumed_run_creeps_as_the_whole_one():
    """Its pace so far is part of its state."""
    run, again = (
        prepared(
            model, requested_options(model, NOTHING | {"t_end": 10.0}), RunStart(), (), None
        ).run
        for model in (noisy(0.3), noisy(0.3))
    )
    for pace in (Pace(2000, 0.31, 1), None):
        run.pace = pace
        RunState(again).restore(RunState(run).saved())
        assert again.pace == pace


def test_short_steps_that_end_soon_are_none():
    assert fm.simulate(noisy(0.3), t_end=0.3002, integrator="dormand-prince").run.finished
