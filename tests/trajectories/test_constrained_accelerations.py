"""Accelerations and reactions of constrained motions under generalized-α are of second order from
the first step on.

With exact initial values the index-3 method has errors of order h in them that fade over many steps
(order reduction); its own values, a = ṡ + Δ h s̈ and G s = exact + h² κ, are free of them.
"""

import numpy as np
import pytest

import flexmbs as fm

OMEGA, AMPLITUDE = 4 * np.pi, 0.5


def driven():
    """Two rods, the first one driven: q = 0.3 + A sin ωt."""
    model = fm.Model("driven", gravity=(0, 0, -9.81))
    end = model.ground
    for i in range(2):
        rod = model.add(
            fm.RigidBody(
                f"rod{i}", mass=1.0, inertia=(0.1,) * 3, com=(0.5, 0, 0), frames={"tip": (1, 0, 0)}
            )
        )
        model.add(fm.Revolute(f"hinge{i}", end, rod, axis="y", q0=0.3))
        end = rod["tip"]
    model.add(
        fm.Drive(
            "motor",
            "hinge0",
            fm.Sine(amplitude=AMPLITUDE, frequency=OMEGA / (2 * np.pi), offset=0.3),
        )
    )
    return model


def worst(step, coordinates):
    """Largest error of the driven acceleration, and of the driving torque, over the run."""
    run = fm.simulate(driven(), t_end=0.4, step=step, output_step=0.01, coordinates=coordinates)
    exact = fm.simulate(
        driven(),
        t_end=0.4,
        output_step=0.01,
        formalism="embedding",
        integrator="dormand-prince",
        rtol=1e-10,
        atol=1e-11,
    )
    acceleration = run.joint("hinge0").acceleration[:, 0] + AMPLITUDE * OMEGA**2 * np.sin(
        OMEGA * run.t
    )
    torque = run.drive("motor").torque - exact.drive("motor").torque
    return np.abs(acceleration).max(), np.abs(torque).max()


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_second_order_from_the_first_step(coordinates):
    coarse, fine = (np.array(worst(step, coordinates)) for step in (0.01, 0.0025))
    assert (np.log(coarse / fine) / np.log(4) > 1.7).all()
    assert fine[0] < 5e-4 * AMPLITUDE * OMEGA**2


def test_controlled_steps_change_without_jumps():
    """The second opinion agrees with the accelerations to a hundredth of the limit."""
    run = fm.simulate(driven(), t_end=0.4)
    check = next(check for check in run.audit if check.title == "Second opinion")
    assert check.status == "PASS"
    assert float(check.found.split("differ by ")[1].split()[0]) < 1e-3
