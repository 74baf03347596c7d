"""Runs of any length: a damped vibration with frequencies of 1e-9 … 1e12 rad/s against its closed
form.
"""

import numpy as np
import pytest

import flexmbs as fm

DAMPING = 0.01


@pytest.mark.parametrize("omega", [1e-9, 1.0, 1e9, 1e12])
@pytest.mark.parametrize(
    ("integrator", "steps", "tolerance"),
    [
        ("esdirk", None, 5e-6), ("dormand-prince", None, 5e-6), ("generalized-alpha", 1000, 1e-3), ("moreau-jean", 1000, 1e-3),
    ],
)  # fmt: skip
def test_three_periods(omega: float, integrator: str, steps: int | None, tolerance: float) -> None:
    model = fm.Model("oscillator", gravity=(0, 0, 0))
    mass = model.add(fm.PointMass("mass", mass=1.0))
    model.add(fm.Prismatic("guide", model.ground, mass, axis="x", q0=1.0))
    model.add(fm.JointSpring("spring", "guide", k=omega**2, c=2.0 * DAMPING * omega))
    end = 6.0 * np.pi / omega
    events = [fm.Event("crossing", joint="guide")]
    found = fm.simulate(
        model,
        t_end=end,
        integrator=integrator,
        step=end / steps if steps else None,
        events=events,
        output_step=end / 200,
    )
    root = np.sqrt(1.0 - DAMPING**2)
    angle = omega * found.t
    exact = np.exp(-DAMPING * angle) * (
        np.cos(root * angle) + DAMPING / root * np.sin(root * angle)
    )
    assert np.abs(found.joint("guide").position[:, 0] - exact).max() < tolerance
    crossings = (np.arange(6) * np.pi + np.pi - np.arctan(root / DAMPING)) / root
    assert [omega * event.t for event in found.events] == pytest.approx(
        crossings, abs=5.0 * tolerance
    )
    assert found.verdict == "PASS"


def test_machines_too_small_for_limits_in_metres_are_reported() -> None:
    for size, status in ((1e-9, "WARN"), (1e-2, "PASS")):
        model = fm.Model("drop", gravity=(0.0, 0.0, -9.81))
        ball = model.add(fm.PointMass("ball", mass=1.0))
        model.add(fm.Prismatic("guide", model.ground, ball, axis="z", q0=size))
        model.add(fm.SpherePlane("floor", model.ground, ball))
        run = fm.simulate(model, t_end=0.5 * (2.0 * size / 9.81) ** 0.5, integrator="event-driven")
        assert run.verdict == status
        assert any(check.title == "Scale" for check in run.audit) == (status == "WARN")
