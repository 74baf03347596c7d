"""Motors, limited controllers, Maxwell elements and ropes against closed forms and independent
integrations.
"""

from typing import Any

import numpy as np
import pytest
from draws import drawn
from scipy.integrate import solve_ivp

import flexmbs as fm

INERTIA = 0.4
FORMS = [
    ("multiplier", "joint"),
    ("multiplier", "absolute"),
    ("recursive", "joint"),
    ("embedding", "joint"),
    ("partitioning", "joint"),
]


def rotor(law: Any) -> fm.Model:
    model = fm.Model("rotor", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("wheel", mass=1.0, inertia=(0.3, 0.3, INERTIA)))
    model.add(fm.Revolute("shaft", model.ground, body, axis="z"))
    model.add(fm.JointTorque("drive", "shaft", law))
    return model


@pytest.mark.parametrize(("formalism", "coordinates"), FORMS)
def test_step_response_of_a_motor(formalism: str, coordinates: str) -> None:
    """J ω̇ = n k i, L i̇ = U − R i − n k ω: two exponentials (Krishnan 2001, section 2.3)."""
    k, R, L, n, U = 0.2, 1.5, 0.05, 5.0, 12.0
    law = fm.DCMotor(constant=k, resistance=R, inductance=L, ratio=n, voltage=U)
    found = fm.simulate(
        rotor(law),
        t_end=1.0,
        output_step=0.05,
        formalism=formalism,
        coordinates=coordinates,
        rtol=1e-9,
        atol=1e-11,
    )
    A = np.array([[0.0, n * k / INERTIA], [-n * k / L, -R / L]])
    value, vector = np.linalg.eig(A)
    steady = np.linalg.solve(A, [0.0, -U / L])
    weight = np.linalg.solve(vector, -steady)
    exact = (vector @ (weight[:, None] * np.exp(np.outer(value, found.t)))).real + steady[:, None]
    assert (
        np.abs(found.joint("shaft").velocity[:, 0] - exact[0]).max() < 1e-7 * np.abs(exact[0]).max()
    )
    assert (
        np.abs(found.joint("shaft").effort[:, 0] - n * k * exact[1]).max()
        < 1e-6 * np.abs(exact[1]).max()
    )
    assert found.verdict == "PASS"


def test_a_motor_without_inductance() -> None:
    """ω = ω_0 (1 − exp(−t/T)), ω_0 = U/(n k), T = J R/(n k)²."""
    k, R, n, U = 0.2, 1.5, 5.0, 12.0
    law = fm.DCMotor(constant=k, resistance=R, ratio=n, voltage=U)
    found = fm.simulate(rotor(law), t_end=2.0, output_step=0.1, rtol=1e-9, atol=1e-11)
    exact = U / (n * k) * (1.0 - np.exp(-found.t * (n * k) ** 2 / (INERTIA * R)))
    assert np.abs(found.joint("shaft").velocity[:, 0] - exact).max() < 1e-7


@pytest.mark.parametrize("integrator", ["esdirk", "dormand-prince", "generalized-alpha"])
def test_limited_controller(integrator: str) -> None:
    """A step of the reference drives the torque to its limit; the integral waits."""
    kp, ki, kd, most = 40.0, 60.0, 6.0, 2.0
    law = fm.LimitedPID(kp, ki, kd, lower=-most, upper=most, reference=1.0)

    def rates(t: float, y: np.ndarray) -> list[float]:
        x, v, z = y
        wanted = kp * (1.0 - x) - kd * v + ki * z
        tau = min(max(wanted, -most), most)
        stands = abs(wanted) > most and wanted * (1.0 - x) > 0.0
        return [v, tau / INERTIA, 0.0 if stands else 1.0 - x]

    options: Any = (
        {"step": 2e-4} if integrator == "generalized-alpha" else {"rtol": 1e-8, "atol": 1e-10}
    )
    found = fm.simulate(rotor(law), t_end=3.0, output_step=0.1, integrator=integrator, **options)
    exact = solve_ivp(
        rates, (0, 3), [0.0, 0.0, 0.0], rtol=1e-10, atol=1e-12, max_step=1e-3, t_eval=found.t
    ).y
    bound = 2e-3 if integrator == "generalized-alpha" else 1e-5
    assert np.abs(found.joint("shaft").position[:, 0] - exact[0]).max() < bound
    assert np.abs(found.joint("shaft").effort).max() <= most * (1.0 + 1e-12)
    # without the limits of the integral the overshoot would be several times as large
    assert found.joint("shaft").position.max() < 1.35


def limited(seed: int) -> tuple[fm.Model, Any, float]:
    """A servo with random gains, limits and reference, its rates (x, v, z) with a limit that is
    soft over 1e-3 of itself, a random step."""
    rng = np.random.default_rng(seed)
    kp, ki, kd, most = (
        rng.uniform(1, 60),
        10 ** rng.uniform(1, 2.6),
        rng.uniform(1, 12),
        10 ** rng.uniform(-0.5, 0.5),
    )
    reference, J = fm.Sine(rng.uniform(0.2, 1.0), rng.uniform(0.2, 1.0)), 0.05
    model = fm.Model("servo", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("rotor", mass=1.0, inertia=(J, J, J)))
    shaft = model.add(fm.Revolute("shaft", model.ground, body, axis="z"))
    model.add(
        fm.JointTorque(
            "servo", shaft, fm.LimitedPID(kp, ki, kd, lower=-most, upper=most, reference=reference)
        )
    )

    def rates(t: float, y: np.ndarray) -> tuple[float, ...]:
        r, rd, _ = reference.state(t)
        tau, soft = kp * (r - y[0]) + kd * (rd - y[1]) + ki * y[2], 1e-3 * most
        beyond = tau - most if r > y[0] else -most - tau
        return (
            y[1],
            np.clip(tau, -most, most) / J,
            np.clip(1.0 - beyond / soft, 0.0, 1.0) * (r - y[0]),
        )

    return model, rates, 10 ** rng.uniform(-3.3, -2.4)


@pytest.mark.parametrize("seed", drawn((2, 3), 30))
def test_limited_controllers_at_their_limits_take_every_step(seed: int) -> None:
    """The integral chatters at the limit unless it follows from it: errors of first order in any
    fixed step.
    """
    model, rates, step = limited(seed)
    for integrator in ("generalized-alpha", "moreau-jean", "esdirk"):
        found = fm.simulate(model, t_end=1.0, output_step=0.05, integrator=integrator, step=step)
        exact = solve_ivp(
            rates, (0, 1), [0.0, 0.0, 0.0], method="LSODA", rtol=1e-8, atol=1e-10, t_eval=found.t
        ).y[0]
        error = np.abs(found.joint("shaft").position[:, 0] - exact).max() / np.ptp(exact)
        assert error < 2.0 * step or (error < 5.0 * step and found.verdict == "WARN")


def test_a_controller_that_slides_along_its_limit() -> None:
    """Steps at which Newton's method would go to and fro between both sides of the limit."""
    model = fm.Model("servo", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("rotor", mass=1.0, inertia=(0.05, 0.05, 0.05)))
    shaft = model.add(fm.Revolute("shaft", model.ground, body, axis="z"))
    swing = fm.Function(lambda t: 0.5 * np.sin(3.0 * t))
    model.add(
        fm.JointTorque(
            "servo", shaft, fm.LimitedPID(2.0, 300.0, 10.0, lower=-0.5, upper=0.5, reference=swing)
        )
    )
    steps = np.array([1e-3, 5e-4, 2e-4])
    ends = [
        fm.simulate(model, t_end=1.0, output_step=0.1, integrator="generalized-alpha", step=step)
        .joint("shaft")
        .position[-1, 0]
        for step in steps
    ]
    fine = (
        fm.simulate(model, t_end=1.0, output_step=0.1, rtol=1e-9, atol=1e-11)
        .joint("shaft")
        .position[-1, 0]
    )
    # of first order where the limit begins and ends
    assert (np.abs(np.array(ends) - fine) < 0.3 * steps).all()


@pytest.mark.parametrize(("formalism", "coordinates"), FORMS)
def test_maxwell_element(formalism: str, coordinates: str) -> None:
    """Steady oscillation under a torque: amplitude by the complex stiffness k0 + i Ω c0 + k iΩT/(1
    + iΩT).
    """
    k, T, k0, c0, W, M = 30.0, 0.08, 20.0, 0.5, 9.0, 2.0
    model = rotor(fm.Maxwell(k=k, relaxation_time=T, k0=k0, c0=c0))
    model.add(fm.JointTorque("shaker", "shaft", fm.Sine(M, W / (2 * np.pi))))
    found = fm.simulate(
        model,
        t_end=6.0,
        output_step=0.01,
        formalism=formalism,
        coordinates=coordinates,
        rtol=1e-8,
        atol=1e-10,
    )
    stiffness = k0 + 1j * W * c0 + k * 1j * W * T / (1 + 1j * W * T) - INERTIA * W**2
    exact = (M / stiffness * np.exp(1j * W * found.t)).imag
    late = found.t > 5.0
    assert np.abs(found.joint("shaft").position[late, 0] - exact[late]).max() < 1e-6
    assert found.verdict == "PASS"


def ball_on_a_rope(**options: Any) -> fm.Model:
    model = fm.Model("ball on a rope", gravity=(0, 0, -9.81))
    ball = model.add(
        fm.RigidBody("ball", mass=0.5, inertia=(1e-4,) * 3, frames={"hook": (0, 0, 0)})
    )
    model.add(
        fm.Free("flight", model.ground, ball, q0=(0, 0, 0.3, 1, 0, 0, 0), v0=(0.0, 0, 0, 0, 0, 0))
    )
    model.add(fm.Rope("rope", model.ground, ball["hook"], length=1.0, **options))
    return model


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_falling_ball_on_a_rope(restitution: float) -> None:
    """It falls 1.3 m, then rebounds with e v or hangs with tension m g."""
    solution = fm.simulate(
        ball_on_a_rope(restitution=restitution),
        t_end=0.7,
        output_step=0.05,
        integrator="event-driven",
    )
    fall = np.sqrt(2.0 * 1.3 / 9.81)
    speed = 9.81 * fall
    t = solution.t
    exact = np.where(
        t < fall,
        0.3 - 0.5 * 9.81 * t**2,
        -1.0 + restitution * speed * (t - fall) - 0.5 * 9.81 * (t - fall) ** 2,
    )
    if restitution == 0.0:
        exact = np.where(t < fall, exact, -1.0)
        assert solution.contact("rope").normal[-1] == pytest.approx(0.5 * 9.81, rel=1e-6)
    assert np.abs(solution.body("ball").position[:, 2] - exact).max() < 1e-6


def test_a_swinging_ball_on_a_taut_rope_is_a_pendulum() -> None:
    model = fm.Model("swing", gravity=(0, 0, -9.81))
    ball = model.add(
        fm.RigidBody("ball", mass=0.5, inertia=(1e-4,) * 3, frames={"hook": (0, 0, 0)})
    )
    angle = 0.5
    x = (np.sin(angle), 0.0, -np.cos(angle))
    model.add(fm.Free("flight", model.ground, ball, q0=(*x, 1, 0, 0, 0)))
    model.add(fm.Rope("rope", model.ground, ball["hook"], length=1.0))
    found = fm.simulate(model, t_end=2.0, output_step=0.1, integrator=fm.MoreauJean(step=5e-4))
    exact = solve_ivp(
        lambda t, y: [y[1], -9.81 * np.sin(y[0])],
        (0, 2),
        [angle, 0.0],
        rtol=1e-10,
        atol=1e-12,
        t_eval=found.t,
    ).y
    assert np.abs(found.body("ball").position[:, 0] - np.sin(exact[0])).max() < 2e-3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: fm.LimitedPID(1.0, 1.0, lower=2.0, upper=1.0),
            "upper: must be above lower = 2, not 1",
        ),
        (lambda: fm.AffineActuator(lower=2.0, upper=1.0), "upper: must be above lower = 2, not 1"),
        (lambda: fm.AffineActuator(upper=float("nan")), "upper: must be"),
        (lambda: fm.DCMotor(0.1, 1.0, ratio=0.0), "ratio: must not be 0"),
        (lambda: fm.DCMotor(constant=0.1, resistance=0.0), "resistance: must be > 0, not 0"),
        (lambda: fm.Maxwell(k=1.0, relaxation_time=-1.0), "relaxation_time: must be > 0, not -1"),
        (
            lambda: fm.Curve((0.0, 1.0), (1.0,)),
            "values: must be as many as points, at least 2; given are 2 and 1",
        ),
        (lambda: fm.Curve((1.0, 0.0), (1.0, 2.0)), "points: must increase; 0 follows 1"),
        (
            lambda: fm.Curve((0.0, 1.0), (1.0, 2.0), of=[]),
            "of: must be 'position' or 'velocity', not []",
        ),
        (
            lambda: fm.Curve((0.0, 1.0), (1.0, 2.0), of="speed"),
            "of: must be 'position' or 'velocity', not 'speed'",
        ),
        (lambda: fm.Rope("r", "ground", "b", length=0.0), "contacts.r.length: must be > 0, not 0"),
        (
            lambda: fm.Rope("r", "ground", "b", length=1.0, friction=0.2),
            "contacts.r.friction: does not apply to a rope",
        ),
    ],
)
def test_bad_values(make: Any, message: str) -> None:
    with pytest.raises(fm.InputError) as error:
        make()
    assert message in str(error.value)
