"""Runs with cams: followers that lift off, fast steps through the pieces of a spline, a flexible
follower.
"""

import math

import numpy as np
import pytest

import flexmbs as fm
from preprocess import CraigBampton, Isotropic, Rigid, box_mesh, reduce

RADIUS, OFFSET = 0.05, 0.02


def eccentric(n: int = 120) -> list[tuple[float, float]]:
    """A circle of radius RADIUS about (OFFSET, 0)."""
    return [
        (OFFSET + RADIUS * math.cos(a), RADIUS * math.sin(a))
        for a in np.linspace(0.0, 2.0 * np.pi, n + 1)[:-1]
    ]


def cam(speed: float, lift: float, stiffness: float) -> fm.Model:
    """A cam that turns about z at the origin, a flat follower along x."""
    model = fm.Model("cam", gravity=(0, 0, 0))
    model.add(fm.RigidBody("disc", mass=1.0, inertia=(1e-3,) * 3))
    model.add(
        fm.RigidBody("follower", mass=0.5, inertia=(1e-4,) * 3, frames={"end": (1.0, 0.0, 0.0)})
    )
    model.add(fm.Revolute("shaft", "ground", "disc", axis="z", v0=speed))
    model.add(fm.Prismatic("guide", "ground", "follower", axis="x", q0=lift))
    model.add(fm.Drive("motor", "shaft", fm.Ramp(0.0, rate=speed)))
    model.add(fm.JointSpring("spring", "guide", k=stiffness))
    model.add(fm.CamFace("touch", "disc", "follower", points=eccentric(), normal="-x"))
    return model


@pytest.mark.parametrize("overlap", [1e-7, 0.0])
def test_a_follower_lifts_off_from_below_zero(overlap: float) -> None:
    """It starts with an overlap within the limit, which is not forgotten yet where it jumps: no
    impact without end.
    """
    run = fm.simulate(
        cam(120.0, RADIUS + OFFSET - overlap, 600.0),
        t_end=0.1,
        output_step=2e-3,
        integrator="event-driven",
    )
    exact = fm.simulate(
        cam(120.0, RADIUS + OFFSET, 600.0),
        t_end=0.1,
        step=1e-5,
        output_step=2e-3,
        integrator="moreau-jean",
    )
    assert len(run.run.impacts) == 2
    assert np.abs(run.joint("guide").position - exact.joint("guide").position).max() < 2e-4


def test_steps_through_the_pieces_of_a_spline() -> None:
    """Jerks jump between its pieces: after a rejected step the next one is no longer, so that few
    are rejected again.
    """
    run = fm.simulate(
        cam(6.0, RADIUS + OFFSET, 800.0), t_end=1.2, output_step=0.02, integrator="event-driven"
    )
    assert (
        np.abs(run.joint("guide").position[:, 0] - RADIUS - OFFSET * np.cos(6.0 * run.t)).max()
        < 1e-7
    )
    assert run.statistics["rejected"] < 0.75 * run.statistics["steps"]
    assert run.verdict == "PASS"


def test_a_flexible_follower() -> None:
    """A flexible arm on a cam: impacts that excite its modes, between which it lifts off; energy,
    against small steps.
    """
    mesh = box_mesh((1.0, 0.06, 0.04), (6, 1, 1), "hex20", origin=(0.0, -0.03, -0.02))
    plastic = Isotropic(E=2.1e9, nu=0.3, rho=7850.0)
    faces = {"base": Rigid("x0"), "tip": Rigid("x1")}
    data = reduce(
        mesh,
        plastic,
        interfaces=faces,
        method=CraigBampton(modes=2),
        reference="base",
        damping=0.02,
    )
    model = fm.Model("arm", gravity=(0, -9.81, 0), frames={"cam": (1.0, -0.1, 0.0)})
    model.add(fm.FlexibleBody("arm", data=data))
    model.add(fm.RigidBody("disc", mass=1.0, inertia=(1e-3,) * 3))
    model.add(fm.Revolute("hinge", "ground", "arm/base", axis="z", q0=0.03))
    model.add(fm.Revolute("shaft", "ground/cam", "disc", axis="z"))
    model.add(fm.Drive("motor", "shaft", fm.Ramp(0.0, 10.0)))
    model.add(
        fm.CamRoller("touch", "disc", "arm/tip", points=eccentric(60), radius=0.02, friction=0.3)
    )
    run = fm.simulate(model, t_end=0.3, output_step=5e-3, integrator="event-driven")
    assert len(run.run.impacts) > 2
    assert np.abs(run.energy.balance).max() < 1e-7
    small = fm.simulate(model, t_end=0.3, step=5e-5, output_step=5e-3, integrator="moreau-jean")
    assert np.abs(run.frame("arm/tip").position - small.frame("arm/tip").position).max() < 2e-3
