"""An interrupt ends a run at its last output, for any output interval."""

import os
import signal
import threading

import numpy as np
import pytest

import flexmbs as fm


@pytest.mark.parametrize("integrator", ["generalized-alpha", "dormand-prince"])
def test_interrupt_far_from_the_next_output_keeps_the_start(integrator: str) -> None:
    model = fm.Model("pendulum", gravity=(0.0, 0.0, -9.81))
    bar = model.add(fm.RigidBody("bar", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0.0, 0.0)))
    model.add(fm.Revolute("hinge", model.ground, bar, axis="y", v0=1.0))
    # loads the kernels: a run that has not started has no results
    fm.simulate(model, t_end=0.01, integrator=integrator)
    # processes started in the background by a shell ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    solution = fm.simulate(model, t_end=1e6, output_step=5e5, integrator=integrator)
    assert solution.run.outcome.startswith("interrupted at t = ")
    np.testing.assert_array_equal(solution.t, [0.0])
    assert solution.statistics["steps"] > 0
    np.testing.assert_allclose(solution.energy.balance, 0.0)


def test_progress_within_a_long_output_step(monkeypatch):
    """The completed fraction of the run, by time, also between outputs."""
    monkeypatch.setattr("flexmbs.time_stepping.run.BATCH_SECONDS", 0.0)
    model = fm.Model("pendulum")
    model.add(fm.RigidBody("rod", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0.0, 0.0)))
    model.add(fm.Revolute("pivot", model.ground, "rod", axis="y"))
    told, audited = [], []

    def progress(done, text):
        (audited if text.startswith("audit") else told).append(done)

    fm.simulate(model, t_end=0.5, step=1e-4, output_step=0.5, progress=progress)
    for each in (told, audited):
        assert each == sorted(each)
        assert each[-1] == 1.0
    assert audited[0] == 0.0
    assert len(audited) >= 10
    assert len([done for done in told if 0.0 < done < 1.0]) >= 4
