"""A solution at other times: order of the interpolation, consistency of its rates, files, rejected
times.
"""

import numpy as np
import pytest
from runs import hanging

import flexmbs as fm
from flexmbs.results.impact_steps import outputs_without_impacts

TIGHT = fm.DormandPrince(rtol=1e-12, atol=1e-13)


def tumbling() -> fm.Model:
    """A free body that spins about all axes, and one on a ball joint."""
    model = fm.Model("tumble", gravity=(0, 0, -9.81))
    stone = model.add(
        fm.RigidBody("stone", mass=1.0, inertia=(0.1, 0.2, 0.3), frames={"tip": (0.3, 0.1, 0.2)})
    )
    model.add(fm.Free("air", model.ground, stone, v0=(1.0, 0.5, 3.0, 2.0, 1.5, -3.0)))
    top = model.add(
        fm.RigidBody(
            "top",
            mass=1.0,
            inertia=(0.1, 0.12, 0.05),
            com=(0, 0, 0.2),
            frames={"tip": (0.1, 0, 0.4)},
        )
    )
    model.add(fm.Spherical("ball", model.ground, top, v0=(0.5, 1.0, 4.0)))
    return model


def test_orders_between_outputs():
    """h⁶ in positions, h⁵ in velocities, h⁴ in accelerations, for rotations as for lengths."""
    errors = []
    for step in (0.1, 0.05):
        solution = fm.simulate(tumbling(), t_end=1.0, output_step=step, integrator=TIGHT)
        exact = fm.simulate(tumbling(), t_end=1.0, output_step=step / 5, integrator=TIGHT)
        found = solution.at(exact.t)
        row = []
        for key in ("position", "velocity", "acceleration"):
            pairs = [
                (getattr(found.frame(f), key), getattr(exact.frame(f), key))
                for f in ("stone/tip", "top/tip")
            ]
            row.append(max(np.abs(a - b).max() for a, b in pairs))
        errors.append(row)
    orders = np.log2(np.divide(errors[0], errors[1]))
    assert np.all(np.array(errors[1]) < [1e-6, 1e-4, 2e-2])
    assert np.all(np.abs(orders - [6, 5, 4]) < 0.6)


def test_outputs_are_met_and_files_serve_too(tmp_path):
    solution = fm.simulate(hanging(damping=0.1), t_end=1.0, output_step=0.02)
    same = solution.at(solution.t)
    np.testing.assert_allclose(same.q, solution.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(same.sd, solution.sd, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        same.joint("hinge").wrench, solution.joint("hinge").wrench, rtol=0, atol=1e-10
    )
    solution.save(tmp_path / "run.h5")
    times = [0.0, 0.111, 0.5031]
    fine = fm.simulate(hanging(damping=0.1), t_end=1.0, output_step=1e-3, integrator=TIGHT)
    read = fm.Solution.load(tmp_path / "run.h5").at(times)
    assert read.t.tolist() == times
    expected = fine.at(times)
    assert np.abs(read.joint("hinge").position - expected.joint("hinge").position).max() < 1e-5
    assert np.abs(read.joint("hinge").wrench - expected.joint("hinge").wrench).max() < 1e-2
    assert np.abs(read.energy.balance).max() < 1e-3 * read.energy.scale


def test_times_outside_are_rejected():
    solution = fm.simulate(hanging(), t_end=0.1)
    with pytest.raises(
        fm.InputError, match=r"times: 0\.2 s is outside the solution, which covers 0 … 0\.1 s"
    ):
        solution.at(0.2)


def bouncing(restitution: float) -> fm.Model:
    """A pendulum at a stop, on whose end another one hangs, and a ball that spins and bounces."""
    model = fm.Model("stop", gravity=(0, 0, -9.81))
    rod = model.add(
        fm.RigidBody(
            "rod",
            mass=1.0,
            inertia=(0.08, 0.08, 0.001),
            com=(0, 0, -0.5),
            frames={"end": (0, 0, -1)},
        )
    )
    bob = model.add(fm.RigidBody("bob", mass=0.5, inertia=(0.01, 0.01, 0.01), com=(0, 0, -0.2)))
    ball = model.add(fm.RigidBody("ball", mass=0.5, inertia=(0.01, 0.02, 0.03)))
    model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=0.8))
    model.add(fm.Spherical("second", rod["end"], bob))
    model.add(
        fm.Free(
            "flight", model.ground, ball, q0=(2.0, 0, 0.5, 1, 0, 0, 0), v0=(0, 0, 0, 3.0, 0.5, 1.0)
        )
    )
    model.add(fm.JointLimit("limit", "hinge", lower=-0.2, restitution=restitution))
    model.add(fm.SpherePlane("floor", model.ground, ball, restitution=restitution))
    return model


def test_orders_beside_impacts():
    """Impacts are those of the run; before and after them the motion is smooth, wherever between
    the outputs they lie.
    """
    model, errors = bouncing(0.5), []
    tight = fm.EventDriven(rtol=1e-11, atol=1e-12)
    exact = fm.simulate(model, t_end=0.75, output_step=1e-4, integrator=tight)
    impacts = np.array([impact.t for impact in exact.run.impacts])
    assert len(impacts) >= 3
    away = np.abs(exact.t[:, None] - impacts).min(axis=1) > 1e-9
    for step in (0.02, 0.01, 0.005):
        found = fm.simulate(model, t_end=0.75, output_step=step, integrator=tight).at(exact.t)
        parts = [(found.q, exact.q), (found.s, exact.s), (found.sd, exact.sd)]
        errors.append([np.abs(a - b)[away].max() for a, b in parts])
    assert np.all(np.array(errors[0]) < [1e-4, 4e-2, 12.0])
    assert np.all(np.array(errors[2]) < [1e-6, 4e-3, 3.0])


@pytest.mark.parametrize("integrator", [fm.MoreauJean(step=1e-3), fm.EventDriven()])
def test_outputs_with_impacts_are_met(integrator):
    """Accelerations of time stepping have impulses over the step at impacts, which are no forces of
    the motion.
    """
    solution = fm.simulate(bouncing(0.5), t_end=0.75, output_step=0.01, integrator=integrator)
    same, calm = (
        solution.at(solution.t),
        outputs_without_impacts(solution) | isinstance(integrator, fm.EventDriven),
    )
    np.testing.assert_allclose(same.q, solution.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(same.s, solution.s, rtol=0, atol=1e-9)
    np.testing.assert_allclose(same.sd[calm], solution.sd[calm], rtol=0, atol=1e-7)
    assert np.abs(same.sd).max() < 1.01 * np.abs(solution.sd[calm]).max() < 500.0
