"""A solution at other times: order of the interpolation, consistency of its rates, files, rejected times."""

import numpy as np
import pytest
from runs import hanging

import flexmbs as fm

TIGHT = fm.DormandPrince(rtol=1e-12, atol=1e-13)


def tumbling() -> fm.Model:
    """A free body that spins about all axes, and one on a ball joint."""
    model = fm.Model("tumble", gravity=(0, 0, -9.81))
    stone = model.add(fm.RigidBody("stone", mass=1.0, inertia=(0.1, 0.2, 0.3), frames={"tip": (0.3, 0.1, 0.2)}))
    model.add(fm.Free("air", model.ground, stone, v0=(1.0, 0.5, 3.0, 2.0, 1.5, -3.0)))
    top = model.add(fm.RigidBody("top", mass=1.0, inertia=(0.1, 0.12, 0.05), com=(0, 0, 0.2), frames={"tip": (0.1, 0, 0.4)}))
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
            pairs = [(getattr(found.frame(f), key), getattr(exact.frame(f), key)) for f in ("stone/tip", "top/tip")]
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
    np.testing.assert_allclose(same.joint("hinge").wrench, solution.joint("hinge").wrench, rtol=0, atol=1e-10)
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
    with pytest.raises(fm.InputError, match=r"times: 0\.2 s is outside of the solution, which has 0 … 0\.1 s"):
        solution.at(0.2)
