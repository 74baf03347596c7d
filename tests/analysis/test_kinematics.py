"""Kinematics of driven mechanisms and their drive forces, against closed forms and runs."""

import numpy as np
import pytest
from draws import drawn
from linkages import CRANK, ROD, G, pendulum, rod_angle, slider_crank, slider_position

import flexmbs as fm
from flexmbs.motions import FixedTranslation, Rotate

SPEED = 3.0


def driven(angle: float = 0.5, speed: float = SPEED) -> fm.Model:
    model = slider_crank(angle)
    model.add(fm.Drive("motor", "main", fm.Ramp(angle, speed)))
    return model


@pytest.fixture(scope="module")
def turning() -> fm.Solution:
    """Almost two turns of the crank, three outputs a radian and a half."""
    return fm.kinematics(driven(), np.linspace(0.0, 4.0, 25))


def test_slider_follows_the_closed_form(turning: fm.Solution) -> None:
    angle = 0.5 + SPEED * turning.t
    c, s = np.cos(angle), np.sin(angle)
    root = np.sqrt(ROD**2 - CRANK**2 * s**2)
    slope = -CRANK * s - CRANK**2 * s * c / root
    curve = -CRANK * c - CRANK**2 * (c**2 - s**2) / root - CRANK**4 * s**2 * c**2 / root**3
    guide = turning.joint("guide")
    np.testing.assert_allclose(
        guide.position[:, 0], [slider_position(a) for a in angle], atol=1e-11
    )
    np.testing.assert_allclose(guide.velocity[:, 0], slope * SPEED, atol=1e-10)
    np.testing.assert_allclose(guide.acceleration[:, 0], curve * SPEED**2, atol=1e-9)
    np.testing.assert_allclose(
        turning.joint("wrist pin").position[:, 0], [-rod_angle(a) for a in angle], atol=1e-10
    )
    np.testing.assert_allclose(turning.joint("main").position[:, 0], angle, atol=1e-11)
    assert turning.drift.max() < 1e-10


def test_torque_of_the_drive_gives_its_power(turning: fm.Solution) -> None:
    """τ Ω = Ṫ + V̇, by the energies of the solution."""
    fine = fm.kinematics(driven(), np.linspace(0.0, 0.01, 101))
    torque = fm.inverse_dynamics(fine).effort["motor"][:, 0]
    power = np.gradient(fine.energy.total, fine.t, edge_order=2)
    np.testing.assert_allclose(torque[5:-5] * SPEED, power[5:-5], rtol=1e-6)
    energy = fm.inverse_dynamics(fine).solution.energy
    assert np.abs(energy.balance).max() < 1e-6 * energy.scale
    energy = fm.inverse_dynamics(fine, actuators=["guide"]).solution.energy
    assert np.abs(energy.balance).max() < 1e-6 * energy.scale
    whole = fm.inverse_dynamics(turning)
    assert whole.unique
    assert np.abs(whole.remainder).max() < 1e-11
    np.testing.assert_allclose(whole.solution.drive("motor").torque, whole.effort["motor"][:, 0])


def test_forces_of_a_motion_are_those_of_a_run(turning: fm.Solution) -> None:
    """Of joints and drives; outputs far apart, whose works are coarse sums, do not make the
    verdict.
    """
    run = fm.simulate(driven(), t_end=4.0, step=1e-3).at(turning.t)
    size = np.abs(run.joint("main").force).max()
    for joint in turning.joints:
        np.testing.assert_allclose(
            turning.joint(joint).force, run.joint(joint).force, atol=1e-4 * size
        )
    np.testing.assert_allclose(
        turning.drive("motor").torque, run.drive("motor").torque, atol=1e-4 * size
    )
    assert np.abs(turning.energy.balance).max() > 0.01 * turning.energy.scale
    assert [check.title for check in turning.audit if check.status != "PASS"] == ["Redundancy"]


def test_motions_without_forces_say_so() -> None:
    model = driven()
    model.add(fm.JointLimit("stop", "guide", lower=-10.0))
    motion = fm.kinematics(model, [0.0, 0.1])
    found = {check.title: check for check in motion.audit if check.status != "PASS"}
    assert {*found} == {"Redundancy", "Forces"}
    assert "contact" in found["Forces"].found


def test_efforts_of_a_run_are_its_multipliers() -> None:
    run = fm.simulate(driven(), t_end=0.05, step=1e-3)
    found = fm.inverse_dynamics(run)
    np.testing.assert_allclose(found.effort["motor"][:, 0], run.drive("motor").torque, atol=1e-10)


def test_any_joint_can_be_the_actuator(turning: fm.Solution) -> None:
    """The same motion by a force on the slider: equal power, F ẋ = τ Ω."""
    motor = fm.inverse_dynamics(turning).effort["motor"][:, 0]
    for actuator in ("guide", "wrist pin"):
        found = fm.inverse_dynamics(turning, actuators=[actuator])
        assert found.unique
        power = found.effort[actuator][:, 0] * turning.joint(actuator).velocity[:, 0]
        np.testing.assert_allclose(power, motor * SPEED, atol=1e-8)
    both = fm.inverse_dynamics(turning, actuators=["main", "guide"])
    assert not both.unique
    power = (
        both.effort["main"][:, 0] * SPEED
        + both.effort["guide"][:, 0] * turning.joint("guide").velocity[:, 0]
    )
    np.testing.assert_allclose(power, motor * SPEED, atol=1e-8)


def test_two_link_arm_in_closed_form() -> None:
    """Featherstone 2008, example 2.2 in kind: point masses at the ends of two links of lengths a, b
    in a vertical plane.
    """
    a, b, m, n = 0.7, 0.4, 1.5, 0.8
    q, v, w = np.array([0.3, 0.9]), np.array([1.1, -2.0]), np.array([0.4, 3.0])
    model = fm.Model("arm", gravity=(0.0, -G, 0.0))
    first, second = (
        model.add(fm.PointMass("first", mass=m)),
        model.add(fm.PointMass("second", mass=n)),
    )
    model.add(
        fm.Chain(
            "shoulder", model.ground, first, motions=(Rotate("z"), FixedTranslation((a, 0.0, 0.0)))
        )
    )
    model.add(
        fm.Chain("elbow", first, second, motions=(Rotate("z"), FixedTranslation((b, 0.0, 0.0))))
    )
    names = ("shoulder", "elbow")
    position, velocity, acceleration = (dict(zip(names, values)) for values in (q, v, w))
    found = fm.inverse_dynamics(
        fm.state(model, position=position, velocity=velocity, acceleration=acceleration)
    )
    c, s = np.cos(q[1]), np.sin(q[1])
    inertia = np.array(
        [
            [(m + n) * a * a + n * b * b + 2 * n * a * b * c, n * b * b + n * a * b * c],
            [0.0, n * b * b],
        ]
    )
    inertia[1, 0] = inertia[0, 1]
    coriolis = n * a * b * s * np.array([-v[1] * (2 * v[0] + v[1]), v[0] ** 2])
    weight = G * np.array(
        [(m + n) * a * np.cos(q[0]) + n * b * np.cos(q.sum()), n * b * np.cos(q.sum())]
    )
    expected = inertia @ w + coriolis + weight
    np.testing.assert_allclose([found.effort[name][0, 0] for name in names], expected, atol=1e-11)
    assert np.abs(found.remainder).max() < 1e-12


def test_free_motion_needs_no_effort() -> None:
    """The accelerations of the run itself: M ṡ − k = 0 to round-off."""
    run = fm.simulate(pendulum(0.2), t_end=0.2, integrator=fm.DormandPrince(step=1e-3))
    assert np.abs(fm.inverse_dynamics(run).effort["hinge"]).max() < 1e-10
    free = fm.inverse_dynamics(fm.state(slider_crank(), velocity={"main": 1.0}), actuators=["main"])
    assert np.abs(free.effort["main"]).max() < 1e-10
    assert np.abs(free.remainder).max() < 1e-10


def test_freedom_that_is_left_is_named() -> None:
    with pytest.raises(
        fm.InputError,
        match=r"kinematics: 1 degree of freedom is not driven, in main\.0, "
        r"crank pin\.0, guide\.0; drive it",
    ):
        fm.kinematics(slider_crank(), [0.0, 1.0])


def test_dead_centre_stops_the_slider() -> None:
    model = slider_crank(0.5)
    model.add(fm.Drive("push", "guide", fm.Ramp(slider_position(0.5), 0.1)))
    reach = (CRANK + ROD - slider_position(0.5)) / 0.1
    with pytest.raises(fm.SolverError, match="singular position at t = ") as error:
        fm.kinematics(model, np.linspace(0.0, 2.0 * reach, 50))
    assert "push" in str(error.value)
    partial = error.value.solution
    assert isinstance(partial, fm.Solution)
    assert 0.9 * reach < partial.t[-1] <= reach


@pytest.mark.parametrize("times", [[0.0, 0.0], [np.nan], [], [1.0, 0.5], "soon"])
def test_times_must_increase(times: list[float]) -> None:
    with pytest.raises(fm.InputError, match="times: must be finite numbers that increase"):
        fm.kinematics(driven(), times)


def test_loops_without_actuators_are_rejected() -> None:
    with pytest.raises(fm.InputError, match="actuators: the model has closed loops and no drives"):
        fm.inverse_dynamics(fm.state(slider_crank()))
    with pytest.raises(fm.InputError, match="joint 'mian' is not in the model"):
        fm.inverse_dynamics(fm.state(slider_crank()), actuators=["mian"])


def test_joint_declared_from_child_to_parent() -> None:
    """Efforts of a universal joint that hangs from its child: those of its drives."""
    model = fm.Model("turned", gravity=(1.0, 2.0, -G))
    body = model.add(fm.RigidBody("body", mass=2.0, inertia=(0.3, 0.2, 0.4), com=(0.2, -0.1, 0.3)))
    model.add(fm.Universal("cross", body, model.ground, q0=(0.3, -0.2)))
    for k, motion in enumerate((fm.Sine(0.4, 1.0, offset=0.3), fm.Sine(0.6, 0.7, offset=-0.2))):
        model.add(fm.Drive(f"motor{k}", "cross", motion, coordinate=k))
    path = fm.kinematics(model, np.linspace(0.0, 1.0, 11))
    by_drives, by_joint = fm.inverse_dynamics(path), fm.inverse_dynamics(path, actuators=["cross"])
    for k in range(2):
        np.testing.assert_allclose(
            by_joint.effort["cross"][:, k], by_drives.effort[f"motor{k}"][:, 0], atol=1e-11
        )
        np.testing.assert_allclose(
            by_drives.solution.joint("cross").effort[:, k],
            by_joint.effort["cross"][:, k],
            atol=1e-11,
        )


def bead(factors: tuple[float, float, float], *, led: bool) -> fm.Model:
    """A bead on a circle of 1 m by three user functions, the last only if it is led along x, each
    with its factor.
    """
    model = fm.Model("bead", gravity=(0.0, 0.0, -G))
    body = model.add(fm.PointMass("body", mass=2.0))
    start = (0.6, 0.0, -0.8) if led else (0.0, 0.0, -1.0)
    model.add(fm.Translation("way", model.ground, body, q0=start))
    a, b, c = factors
    model.add(
        fm.Holonomic(
            "sphere",
            model.ground,
            body,
            lambda t, x, A: a * (x[0] ** 2 + x[1] ** 2 + x[2] ** 2 - 1.0),
        )
    )
    model.add(fm.Holonomic("plane", model.ground, body, lambda t, x, A: b * x[1]))
    if led:
        model.add(
            fm.Holonomic(
                "lead",
                model.ground,
                body,
                lambda t, x, A: c * (x[0] - 0.6 - 0.3 * t),
                rheonomic=True,
            )
        )
    return model


@pytest.mark.parametrize("seed", drawn(2, 40))
def test_factors_of_user_rows_change_nothing(seed: int) -> None:
    """Rows within 1e-6 … 1e5 per m: one frequency √(g/r) of linearize and statics, and the motion
    along the circle.
    """
    factors = tuple(10.0 ** np.random.default_rng(seed).uniform(-5.5, 5.0, 3))
    if seed == 0:
        factors = (1e5, 1e-5, 20.0)
    free = bead(factors, led=False)
    found = fm.statics(free)
    np.testing.assert_allclose(found.frequencies, [np.sqrt(G)], rtol=1e-6)
    np.testing.assert_allclose(
        2.0 * np.pi * fm.linearize(free).modes.frequency, [np.sqrt(G)], rtol=1e-6
    )
    assert found.residual < 1e-6
    path = fm.kinematics(bead(factors, led=True), [0.0, 0.1, 0.2], audit=False)
    x, z = 0.66, -np.sqrt(1.0 - 0.66**2)
    np.testing.assert_allclose(path.q[-1], (x, 0.0, z), atol=1e-9)
    np.testing.assert_allclose(path.s[-1], (0.3, 0.0, -0.3 * x / z), atol=1e-8)
    np.testing.assert_allclose(
        path.trajectory.sd[-1], (0.0, 0.0, -(0.09 + (0.3 * x / z) ** 2) / z), atol=1e-7
    )


@pytest.mark.parametrize("length", [1.0, 1e-6])
def test_four_bar_linkage_of_any_size(length: float) -> None:
    """Its angles, rates and accelerations are those of a linkage of metres, torques in proportion
    to m l².
    """

    def linkage(length: float, rod: float = -0.16, rocker: float = 1.5) -> fm.Model:
        model = fm.Model("linkage", gravity=(0.0, 0.0, 0.0))
        a, b, c = (
            model.add(
                fm.RigidBody(
                    name,
                    mass=1.0,
                    inertia=(length**2,) * 3,
                    frames={"pin": (length * size, 0.0, 0.0)},
                )
            )
            for name, size in (("crank", 1.0), ("rod", 3.0), ("rocker", 2.5))
        )
        crank = model.add(fm.Revolute("A", model.ground, a, axis="z", q0=0.8))
        model.add(fm.Revolute("B", a["pin"], b, axis="z", q0=rod))
        base = FixedTranslation((3.0 * length, 0.0, 0.0)), Rotate("z")
        model.add(fm.Chain("D", model.ground, c, motions=base, q0=(rocker,)))
        model.add(fm.Revolute("C", b["pin"], c["pin"], axis="z"))
        model.add(fm.Drive("motor", crank, fm.Ramp(0.8, rate=1.0)))
        return model

    closed = fm.state(linkage(1.0)).q[1:]
    path, usual = (fm.kinematics(linkage(size, *closed), [0.0, 0.5, 1.0]) for size in (length, 1.0))
    for one, other in (
        (path.q, usual.q),
        (path.s, usual.s),
        (path.trajectory.sd, usual.trajectory.sd),
    ):
        np.testing.assert_allclose(one, other, atol=1e-7)
    torques = [each.drive("motor").torque for each in (path, usual)]
    np.testing.assert_allclose(torques[0] / length**2, torques[1], rtol=1e-6, atol=1e-7)


def pushed(law: object | None) -> fm.Model:
    """A block of 2 kg that is pushed along a rail at 0.5 m/s against a law, or bristles of 8 N."""
    model = fm.Model("pushed block", gravity=(0, 0, 0))
    block = model.add(fm.RigidBody("block", mass=2.0, inertia=(1, 1, 1)))
    rail = model.add(fm.Prismatic("rail", model.ground, block, axis="x"))
    model.add(fm.Drive("push", rail, fm.Ramp(0.0, rate=0.5)))
    if law is None:
        model.add(fm.LuGreFriction("force", rail, coulomb=8.0, stiffness=1e5, damping=20.0))
    else:
        model.add(fm.JointTorque("force", rail, law))
    return model


@pytest.mark.parametrize(
    ("law", "effort"),
    [
        # Q = −ki ∫x dt
        (fm.PID(kp=0.0, ki=100.0), lambda t: 25.0 * t**2),
        (fm.LimitedPID(kp=0.0, ki=100.0, lower=-10.0, upper=10.0), lambda t: np.minimum(25 * t**2, 10)),
        # a spring of 100 N/m in series with a damper of 10 N s/m
        (fm.Maxwell(k=100.0, relaxation_time=0.1), lambda t: 5.0 * (1.0 - np.exp(-t / 0.1))),
        # bristles reach Fc within Fc/(σ₀ v); at first Q = −σ₁ v
        (None, lambda t: np.where(t > 0.0, 8.0, 10.0)),
        # L di/dt = U − R i − k v, Q = k i
        (
            fm.DCMotor(voltage=2.0, constant=0.5, resistance=1.0, inductance=0.2),
            lambda t: -0.5 * 1.75 * (1.0 - np.exp(-t / 0.2)),
        ),
    ],
)  # fmt: skip
def test_states_of_forces_follow_the_motion(law, effort) -> None:
    motion = fm.kinematics(pushed(law), np.linspace(0.0, 1.0, 6))
    assert motion.verdict == "PASS"
    assert "Force states" in [check.title for check in motion.audit]
    exact = effort(motion.t)
    np.testing.assert_allclose(motion.drive("push").torque, exact, atol=2e-5)
    np.testing.assert_allclose(fm.inverse_dynamics(motion).effort["push"][:, 0], exact, atol=2e-5)


def test_a_discrete_controller_has_no_forces_in_kinematics() -> None:
    with pytest.warns(fm.AuditWarning, match="kinematics does not support discrete controllers"):
        motion = fm.kinematics(pushed(fm.DigitalPID(sample_time=0.1, kp=10.0)), [0.0, 1.0])
    assert motion.verdict == "WARN"


def test_states_of_a_motion_whose_outputs_rest() -> None:
    """∫∫ of a step from rest to rest: z = ∫(x_ref − x) dt = −½ by symmetry, and bristles at F_c."""
    model = pushed(fm.PID(kp=0.0, ki=100.0))
    model.drives["push"] = fm.Drive("push", "rail", fm.SmoothStep(1.0, duration=1.0))
    motion = fm.kinematics(model, [0.0, 1.0])
    np.testing.assert_allclose(motion.drive("push").torque, (0.0, 50.0), atol=1e-5)
    model = pushed(None)
    model.drives["push"] = fm.Drive("push", "rail", fm.SmoothStep(1.0, duration=1.0))
    motion = fm.kinematics(model, [0.0, 1.0])
    assert motion.drive("push").torque[-1] == pytest.approx(8.0, rel=1e-5)


@pytest.mark.parametrize("outputs", [2, 11])
def test_states_see_pulses_between_outputs(outputs) -> None:
    """Steps end at corners of laws: z = ∫ x_ref dt of a pulse that no output shows."""
    pulse = fm.Table([0, 3.3, 3.31, 3.34, 3.35, 10], [0, 0, 1, 1, 0, 0], interpolation="linear")
    model = pushed(fm.PID(kp=0.0, ki=100.0, reference=pulse))
    model.drives["push"] = fm.Drive("push", "rail", fm.Constant(0.0))
    motion = fm.kinematics(model, np.linspace(0.0, 10.0, outputs))
    assert abs(motion.drive("push").torque[-1]) == pytest.approx(100.0 * 0.04, rel=1e-6)


def test_states_that_switch_without_end_are_reported() -> None:
    """A controller that slides along its limit."""
    law = fm.LimitedPID(20.0, 300.0, 0.1, lower=-1.0, upper=2.0, reference=0.1)
    with pytest.warns(fm.AuditWarning, match="rates switch to and fro, as at the limits"):
        assert fm.kinematics(pushed(law), [0.0, 0.05]).verdict == "WARN"


def test_pressures_below_vacuum_are_reported() -> None:
    """A driven cylinder whose valve is too small."""
    model = fm.Model("press", gravity=(0, 0, 0), frames={"a": (-0.5, 0, 0)})
    model.add(fm.RigidBody("ram", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Prismatic("rail", "ground", "ram", axis="x"))
    model.add(fm.Drive("push", "rail", fm.Ramp(0.0, rate=0.05)))
    model.add(
        fm.HydraulicCylinder(
            "cylinder",
            "ground/a",
            "ram",
            length=0.5,
            area_a=1e-3,
            area_b=6e-4,
            volume_a=1e-4,
            volume_b=1e-4,
            bulk_modulus=1e9,
            supply=1e7,
            valve=1e-8,
            pressure_a=5e6,
            pressure_b=3e6,
        )
    )
    for found in (
        fm.kinematics(model, np.linspace(0.0, 0.1, 11)),
        fm.simulate(model, t_end=0.1, step=1e-3),
    ):
        (check,) = (each for each in found.audit if each.title == "Law of 'cylinder'")
        assert check.status == "WARN"
        assert "chamber A of hydraulic cylinder 'cylinder' fell to" in check.found
