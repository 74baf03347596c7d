"""Signals of forces and controllers against closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.report.explorer import chosen_signals
from flexmbs.results.channels import channels


def wheel(model: fm.Model, *, locked: bool = False) -> str:
    """A wheel on the ground; locked: its angle is held by a drive."""
    body = model.add(fm.RigidBody("wheel", mass=1.0, inertia=(0.1, 0.1, 0.2)))
    model.add(fm.Revolute("axle", model.ground, body, axis="z"))
    if locked:
        model.add(fm.Drive("brake", "axle", 0.0))
    return "axle"


def test_current_of_a_locked_motor_is_that_of_its_resistance_and_inductance() -> None:
    """i = U/R (1 − exp(−R t/L)), Q = n k i."""
    k, R, L, n, U = 0.05, 2.0, 0.04, 3.0, 12.0
    model = fm.Model("locked", gravity=(0, 0, 0))
    law = fm.DCMotor(k, resistance=R, inductance=L, ratio=n, voltage=U)
    model.add(fm.JointTorque("motor", wheel(model, locked=True), law))
    solution = fm.simulate(model, t_end=0.1, step=1e-3)
    current = solution.signal("force motor current")
    assert current.unit == "A"
    expected = U / R * (1.0 - np.exp(-R / L * solution.t))
    np.testing.assert_allclose(current.values, expected, atol=1e-3 * U / R)
    effort = solution.signal("force motor effort")
    assert effort.unit == "N m"
    np.testing.assert_allclose(effort.values, n * k * current.values, rtol=1e-12)
    np.testing.assert_array_equal(solution.signal("force motor voltage [V]").values, U)


def test_current_of_a_motor_without_inductance() -> None:
    """i = (U − k n v)/R, which is no state."""
    k, R, n, U = 0.05, 2.0, 3.0, 12.0
    model = fm.Model("free", gravity=(0, 0, 0))
    law = fm.DCMotor(k, resistance=R, ratio=n, voltage=U)
    model.add(fm.JointTorque("motor", wheel(model), law))
    solution = fm.simulate(model, t_end=1.0, step=1e-2)
    speed = solution.joint("axle").velocity[:, 0]
    np.testing.assert_allclose(
        solution.signal("force motor current").values, (U - k * n * speed) / R, rtol=1e-9
    )


def test_integral_and_reference_of_a_controller() -> None:
    """The state of a PID controller is ∫(r − x) dt; its effort is that of the joint."""
    model = fm.Model("servo", gravity=(0, 0, 0))
    law = fm.PID(5.0, ki=3.0, kd=1.0, reference=fm.Sine(0.4, frequency=0.5))
    model.add(fm.JointTorque("servo", wheel(model), law))
    solution = fm.simulate(model, t_end=2.0, step=1e-3)
    integral = solution.signal("force servo integral of the error")
    assert integral.unit == "rad s"
    reference = solution.signal("force servo reference")
    np.testing.assert_allclose(reference.values, 0.4 * np.sin(np.pi * solution.t), atol=1e-12)
    error = reference.values - solution.joint("axle").position[:, 0]
    summed = np.concatenate([[0.0], np.cumsum(0.5 * (error[1:] + error[:-1]) * 1e-3)])
    np.testing.assert_allclose(integral.values, summed, atol=1e-6)
    np.testing.assert_allclose(
        solution.signal("force servo effort").values,
        solution.joint("axle").effort[:, 0],
        atol=1e-6,
    )


def test_memory_and_output_of_a_discrete_controller() -> None:
    """I_k = I_{k−1} + T e_k with e_k = r − x(kT), u_k = k_i I_k."""
    T = 0.05
    model = fm.Model("digital", gravity=(0, 0, 0))
    law = fm.DigitalPID(0.0, ki=2.0, sample_time=T, reference=0.1)
    model.add(fm.JointTorque("servo", wheel(model), law))
    solution = fm.simulate(model, t_end=1.0, step=5e-3)
    output = solution.signal("force servo output")
    integral = solution.signal("force servo integral of the error")
    assert (output.unit, integral.unit) == ("N m", "rad s")
    np.testing.assert_allclose(output.values, 2.0 * integral.values, atol=1e-12)
    samples = slice(None, None, 10)
    error = 0.1 - solution.joint("axle").position[samples, 0]
    np.testing.assert_allclose(integral.values[5::10], T * np.cumsum(error)[:-1], atol=1e-9)


def test_pressures_of_a_cylinder_hold_its_tension() -> None:
    """F = A_B p_B − A_A p_A + c ė, and without flow dp_A/dt = −β A_A ė/V_A: p_A = p₀ +
    β ln(V_A0/V_A).
    """
    model = fm.Model("cylinder", gravity=(0, 0, 0), frames={"foot": (0, 0, 0)})
    block = model.add(fm.RigidBody("block", mass=20.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Prismatic("way", model.ground, block, axis="x", q0=1.0, v0=0.02))
    given = {"area_a": 2e-3, "area_b": 1e-3, "bulk_modulus": 1e8}
    model.add(
        fm.HydraulicCylinder(
            "lift", model.ground, block, length=1.0, volume_a=1e-3, volume_b=1e-3, supply=1e7,
            valve=1e-7, pressure_a=1e6, pressure_b=2e6, friction=100.0, **given,
        )
    )  # fmt: skip
    solution = fm.simulate(model, t_end=0.05, integrator="esdirk", rtol=1e-9, output_step=1e-3)
    a, b = (solution.signal(f"force lift pressure {side}") for side in "AB")
    assert a.unit == b.unit == "Pa"
    e = solution.joint("way").position[:, 0] - 1.0
    np.testing.assert_allclose(
        a.values, 1e6 + 1e8 * np.log(1e-3 / (1e-3 + 2e-3 * e)), atol=1e-5 * 1e8
    )
    tension = solution.signal("force lift tension")
    rate = solution.joint("way").velocity[:, 0]
    np.testing.assert_allclose(
        tension.values, 1e-3 * b.values - 2e-3 * a.values + 100.0 * rate, rtol=1e-9
    )
    np.testing.assert_allclose(solution.signal("force lift length").values, 1.0 + e, rtol=1e-12)
    np.testing.assert_allclose(
        solution.joint("way").acceleration[:, 0], -tension.values / 20.0, rtol=1e-4, atol=1e-3
    )


def test_loads_by_component_and_after_a_file(tmp_path: Path) -> None:
    """A force of a user function is known in the run; its file has no functions."""
    model = fm.Model("loaded", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("body", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Pose("free", model.ground, body))
    model.add(fm.FrameForce("push", body, force=(1.0, fm.Sine(2.0, frequency=1.0), 0.0)))
    model.add(fm.PointSpring("tie", model.ground, body, law=lambda t, e, ed: 3.0 * e))
    solution = fm.simulate(model, t_end=0.5, step=1e-2)
    names = [channel.name for channel in channels(solution, "forces")["forces"]]
    assert {"push force x", "push moment z", "tie length", "tie tension"} <= set(names)
    push = solution.signal("force push force y")
    assert push.unit == "N"
    np.testing.assert_allclose(push.values, 2.0 * np.sin(2 * np.pi * solution.t), atol=1e-9)
    solution.save(tmp_path / "run.h5")
    stored = [
        channel.name
        for channel in channels(fm.Solution.load(tmp_path / "run.h5"), "forces")["forces"]
    ]
    assert "tie length" in stored
    assert "tie tension" not in stored


def test_a_page_offers_all_signals_by_item_quantity_and_component() -> None:
    model = fm.Model("named", gravity=(0, 0, -9.81))
    law = fm.DCMotor(0.05, resistance=2.0, inductance=0.01, voltage=1.0)
    model.add(fm.JointTorque("motor", wheel(model), law))
    solution = fm.simulate(model, t_end=0.1, step=1e-3)
    made = chosen_signals(solution)
    items = {item.name: {each.name: each for each in item.quantities} for item in made.items}
    assert list(items["joint axle"]["force"].parts) == ["x", "y", "z"]
    assert list(items["joint axle"]["position"].parts) == ["0"]
    assert items["force motor"]["current"].unit == "A"
    for item in made.items:
        for each in item.quantities:
            for k, name in enumerate(each.names):
                signal = solution.signal(name)
                assert signal.unit in (each.unit, "1")
                np.testing.assert_array_equal(signal.values, each.values[:, k])
    assert made.notes == []


@pytest.mark.parametrize("n", [400])
def test_signals_of_large_models_are_fewer_and_the_page_tells(n: int) -> None:
    model = fm.Model("many", gravity=(0, 0, 0))
    for k in range(n // 4):
        body = model.add(fm.RigidBody(f"body {k}", mass=1.0, inertia=(1.0, 1.0, 1.0)))
        model.add(fm.Prismatic(f"way {k}", model.ground, body, axis="x", v0=1.0))
    solution = fm.simulate(model, t_end=1.0, step=1e-3, audit="none")
    made = chosen_signals(solution)
    total = sum(len(each.parts) for item in made.items for each in item.quantities)
    assert len(made.pick) * total <= 600_000 + total
    assert made.pick[0] == 0
    assert made.pick[-1] == len(solution.t) - 1
    assert "outputs; solution.signal has all of them." in made.notes[-1]
