"""Motions and forces with closed forms: controllers, drives,
static deflection, damped vibration.
"""

import numpy as np
import pytest
from rods import BENDING, LENGTH, rod
from scipy.linalg import eigh, expm

import flexmbs as fm

COORDINATES = ["joint", "absolute"]
TIGHT = fm.DormandPrince(rtol=1e-11, atol=1e-13)
ALPHA = fm.GeneralizedAlpha(step=1e-3, newton_tolerance=1e-12)
MOTIONS = {
    "sine": fm.Sine(0.7, 0.8, phase=0.3, offset=0.2),
    "step": fm.SmoothStep(1.2, start=0.1, duration=0.6, initial=-0.3),
    "function": lambda t: 0.5 * t**2 + 0.1,
}


@pytest.mark.parametrize(
    "method, tolerance", [(TIGHT, 1e-8), (ALPHA, 2e-5)], ids=["explicit", "alpha"]
)
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_controller_with_integral_part(coordinates, method, tolerance):
    """I ẍ = kp (r − x) + ki ∫(r − x) dt − kd ẋ − T: the matrix exponential, without steady-state
    error.
    """
    inertia, load, (kp, ki, kd), r = 0.5, 3.0, (40.0, 60.0, 6.0), 0.3
    model = fm.Model("rotor", gravity=(0, 0, 0))
    rotor = model.add(fm.RigidBody("rotor", mass=1.0, inertia=(0.3, 0.3, inertia)))
    model.add(fm.Revolute("axle", model.ground, rotor, axis="z", q0=-0.2, v0=0.5))
    model.add(fm.JointTorque("control", "axle", fm.PID(kp, ki, kd, reference=r)))
    model.add(fm.JointTorque("load", "axle", -load))
    solution = fm.simulate(
        model, t_end=4.0, output_step=0.1, coordinates=coordinates, integrator=method
    )
    rates = np.array([-kp, -kd, ki, kp * r - load]) / inertia
    A = np.array([[0, 1, 0, 0], rates, [-1, 0, 0, r], [0, 0, 0, 0]])
    exact = np.array([expm(A * t) @ [-0.2, 0.5, 0.0, 1.0] for t in solution.t])
    found = solution.joint("axle")
    assert np.abs(found.position[:, 0] - exact[:, 0]).max() < tolerance
    assert np.abs(found.velocity[:, 0] - exact[:, 1]).max() < 10 * tolerance
    assert np.abs(solution.trajectory.z[:, 0] - exact[:, 2]).max() < tolerance
    assert abs(found.position[-1, 0] - r) < 5e-3


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("motion", list(MOTIONS.values()), ids=list(MOTIONS))
def test_drive_torque_is_inverse_dynamics(coordinates, motion):
    """τ = (I + m l²) ẍ + m g l sin x of a driven pendulum; its power is the drive's."""
    mass, length, inertia = 2.0, 0.4, 0.05
    model = fm.Model("pendulum")
    arm = model.add(
        fm.RigidBody("arm", mass=mass, inertia=(inertia, inertia, inertia), com=(0, 0, -length))
    )
    model.add(fm.Revolute("hinge", model.ground, arm, axis="y"))
    model.add(fm.Drive("motor", "hinge", motion))
    solution = fm.simulate(model, t_end=1.0, step=2e-3, coordinates=coordinates)
    law = model.drives["motor"].motion
    x, xd, xdd = np.array([law.state(t) for t in solution.t]).T
    drive = solution.drive("motor")
    assert np.abs(drive.coordinate - x).max() < 1e-8
    # the rates of an index-3 method converge with order 2 and ring where the acceleration jumps
    assert np.abs(drive.rate - xd).max() < 2e-3
    how = {"coordinates": coordinates, "integrator": TIGHT, "stabilization": "projection"}
    explicit = fm.simulate(model, t_end=1.0, output_step=2e-2, **how)
    x, xd, xdd = np.array([law.state(t) for t in explicit.t]).T
    torque = (inertia + mass * length**2) * xdd + mass * 9.81 * length * np.sin(x)
    found = explicit.drive("motor")
    assert np.abs(found.coordinate - x).max() < 1e-9
    assert np.abs(found.torque - torque).max() < 1e-6 * np.abs(torque).max()
    assert np.abs(found.power - torque * xd).max() < 1e-6 * np.abs(torque * xd).max()


def cantilever(**options):
    model = fm.Model("cantilever", gravity=(0, 0, 0))
    body = model.add(fm.FlexibleBody("rod", data=rod(), **options))
    model.add(fm.Fixed("wall", model.ground, body["root"]))
    return model


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_static_deflection_of_a_cantilever(coordinates):
    """w = F L³ / 3EI and slope F L² / 2EI at the tip; the wall bears F and F L."""
    force = 0.3
    model = cantilever(damping=0.9)
    model.add(fm.FrameForce("load", "rod/tip", force=(0, 0, -force)))
    solution = fm.simulate(model, t_end=8.0, coordinates=coordinates)
    tip = solution.frame("rod/tip")
    deflection, slope = force * LENGTH**3 / (3 * BENDING), force * LENGTH**2 / (2 * BENDING)
    assert abs(tip.position[-1, 2] + deflection) < 1e-7 * deflection
    assert abs(np.arcsin(tip.rotation[-1, 2, 0]) + slope) < 1e-7 * slope
    wall = solution.joint("wall")
    assert np.abs(wall.force[-1] - [0, 0, force]).max() < 1e-6 * force
    assert np.abs(wall.torque[-1] - [0, -force * LENGTH, 0]).max() < 1e-6 * force


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_damped_vibration(coordinates):
    """Each mode of the clamped rod decays as e^(−ζωt) (cos ω_d t + ζω/ω_d sin ω_d t)."""
    data, ratio = rod(), (0.02, 0.02, 0.05, 0.05)
    omega2, modes = eigh(data.K_ff, data.m_ff)
    omega = np.sqrt(omega2)
    start = modes @ [0.01, 0.02, 0.005, -0.003]
    solution = fm.simulate(
        cantilever(damping=ratio, qf0=tuple(start)),
        t_end=1.5,
        output_step=0.01,
        coordinates=coordinates,
        integrator=TIGHT,
    )
    zeta, t = np.array(ratio), solution.t[:, None]
    damped = omega * np.sqrt(1 - zeta**2)
    decay = np.exp(-zeta * omega * t) * (
        np.cos(damped * t) + zeta * omega / damped * np.sin(damped * t)
    )
    exact = (decay * [0.01, 0.02, 0.005, -0.003]) @ modes.T
    assert np.abs(solution.body("rod").elastic - exact).max() < 1e-8 * np.abs(start).max()
    assert solution.energy.dissipated[-1] > 0.3 * solution.energy.strain[0]
    assert np.abs(solution.energy.balance).max() < 1e-8 * solution.energy.scale
