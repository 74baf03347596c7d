"""Linearised motion against closed forms, differentiated equations of one degree of freedom, and
runs.
"""

import numpy as np
import pytest
from linkages import G, pendulum, rod_angle, slider_crank, slider_position

import flexmbs as fm
from flexmbs.diagnosis.rank import displaced
from flexmbs.motions import FixedTranslation, Rotate
from flexmbs.results.state import State, settled_state
from flexmbs.system.names import velocity_names

TWO_PI = 2.0 * np.pi


def derivative(function, h: float = 1e-3):
    """f'(0) by differences of fourth order."""
    return (8.0 * (function(h) - function(-h)) - (function(2 * h) - function(-2 * h))) / (12.0 * h)


def test_pendulum_and_its_ports() -> None:
    model = pendulum(-np.pi / 2)
    model.add(fm.JointSpring("damper", "hinge", c=0.3))
    inputs = [("effort", "hinge"), ("force", "bob", "x"), ("torque", "bob", "z")]
    outputs = [("coordinate", "hinge"), ("rate", "hinge"), ("position", "bob", "x")]
    found = fm.linearize(model, inputs=inputs, outputs=outputs)
    np.testing.assert_allclose(
        (found.M[0, 0], found.D[0, 0], found.K[0, 0]), (1.1, 0.3, G), rtol=1e-9
    )
    np.testing.assert_allclose(found.B, [[0, 0, 0], [1 / 1.1] * 3], atol=1e-12)
    np.testing.assert_allclose(found.C, [[1, 0], [0, 1], [1, 0]], atol=1e-12)
    assert found.inputs == ("effort hinge", "force bob x", "torque bob z")
    assert found.outputs == ("coordinate hinge", "rate hinge", "position bob x")
    omega = np.sqrt(G / 1.1)
    assert found.modes.frequency[0] == pytest.approx(omega / TWO_PI, rel=1e-9)
    assert found.modes.damping[0] == pytest.approx(0.3 / 1.1 / (2.0 * omega), rel=1e-9)


def test_double_pendulum() -> None:
    """Equal masses and lengths: ω² = (2 ± √2) g/l."""
    model = fm.Model("double pendulum", gravity=(0.0, -G, 0.0))
    first, second = (model.add(fm.PointMass(name, mass=1.0)) for name in ("first", "second"))
    model.add(
        fm.Chain(
            "upper", model.ground, first, motions=(Rotate("z"), FixedTranslation((0.0, -1.0, 0.0)))
        )
    )
    model.add(
        fm.Chain("lower", first, second, motions=(Rotate("z"), FixedTranslation((0.0, -1.0, 0.0))))
    )
    found = fm.linearize(model, start=fm.statics(model)).modes.frequency * TWO_PI
    np.testing.assert_allclose(
        found**2, (2.0 + np.sqrt(2.0) * np.array([-1.0, 1.0])) * G, rtol=1e-9
    )


@pytest.mark.parametrize("axis", ["y", "z"])
def test_rigid_blade_on_a_turning_hub(axis: str) -> None:
    """Flapping Ω √(1 + a m r/I), lead-lag Ω √(a m r/I), with I about the hinge; at any angle of the
    hub.
    """
    offset, mass, r, inertia, speed = 0.3, 2.0, 0.5, 0.2, 7.0
    model = fm.Model("rotor", gravity=(0.0, 0.0, 0.0))
    hub = model.add(
        fm.RigidBody("hub", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"rim": (offset, 0.0, 0.0)})
    )
    blade = model.add(
        fm.RigidBody("blade", mass=mass, inertia=(0.0, inertia, inertia), com=(r, 0.0, 0.0))
    )
    model.add(fm.Revolute("shaft", model.ground, hub))
    model.add(fm.Revolute("blade hinge", hub["rim"], blade, axis=axis))
    model.add(fm.Drive("motor", "shaft", fm.Ramp(0.0, speed)))
    whole = inertia + mass * r**2
    expected = speed * np.sqrt((axis == "y") + offset * mass * r / whole)
    for t in (0.0, 0.37):
        steady = fm.statics(model, steady=True, t=t)
        found = fm.linearize(model, start=steady, inputs=[("drive", "motor")])
        assert found.coordinates == ("blade hinge.0",)
        assert found.modes.frequency[0] * TWO_PI == pytest.approx(expected, rel=1e-9)
    # the hub's acceleration on the blade
    lag = -1.0 - mass * r * offset / whole if axis == "z" else 0.0
    np.testing.assert_allclose(found.B[1], (0.0, 0.0, lag), atol=1e-9)
    assert found.inputs == ("drive motor", "drive motor rate", "drive motor acceleration")


def test_sleeping_top() -> None:
    """A top on its point at the spin n: A z̈ − i C n ż − m g l z = 0 for its axis, in the frame
    that rotates with n.
    """
    mass, height, transverse, axial, spin = 2.0, 0.3, 0.05, 0.02, 200.0
    model = fm.Model("top", gravity=(0.0, 0.0, -G))
    inertia = (transverse, transverse, axial)
    top = model.add(fm.RigidBody("top", mass=mass, inertia=inertia, com=(0.0, 0.0, height)))
    model.add(fm.Spherical("point", model.ground, top, v0=(0.0, 0.0, spin)))
    whole = transverse + mass * height**2
    rates = np.roots([-whole, axial * spin, -mass * G * height])
    assert np.isreal(rates).all()
    found = fm.linearize(model).modes
    expected = np.sort(np.abs(rates - spin))
    np.testing.assert_allclose(
        found.frequency[found.frequency > 1e-3] * TWO_PI, expected, rtol=1e-7
    )


def test_controller_with_an_integral() -> None:
    """I s³ + kd s² + kp s + ki = 0 without gravity."""
    model = pendulum(0.3, gravity=0.0)
    model.add(fm.JointTorque("controller", "hinge", fm.PID(40.0, 30.0, 5.0, reference=0.3)))
    found = np.sort_complex(np.linalg.eigvals(fm.linearize(model).A))
    np.testing.assert_allclose(found, np.sort_complex(np.roots([1.1, 5.0, 40.0, 30.0])), rtol=1e-8)


def slider_crank_state(angle: float, speed: float) -> State:
    """The slider-crank at a crank angle and speed, its other velocities by loop closure."""
    rest = fm.state(slider_crank(angle))
    s = fm.matrices(rest.compiled.model, start=rest, independent=["main"]).J_loop[:, 0] * speed
    return settled_state(rest.compiled, 0.0, rest.q, s, rest.beta)


@pytest.mark.parametrize("speed", [0.0, 4.0])
def test_slider_crank_against_its_reduced_equation(speed: float) -> None:
    """φ̈ = f(φ, φ̇) of the crank, differentiated, at rest and moving."""
    here = slider_crank_state(0.5, speed)
    found = fm.linearize(here.compiled.model, start=here, independent=["main"])
    stiffness = derivative(lambda d: slider_crank_state(0.5 + d, speed).sd[0])
    damping = derivative(lambda d: slider_crank_state(0.5, speed + d).sd[0])
    np.testing.assert_allclose((-found.K / found.M)[0, 0], stiffness, rtol=1e-7)
    np.testing.assert_allclose((-found.D / found.M)[0, 0], damping, rtol=1e-7, atol=1e-9)


def test_outputs_of_a_cut_joint() -> None:
    """The slider follows the crank by dx/dφ, whichever joint is cut."""
    angle = 0.8
    model = slider_crank(angle)
    names = [
        ("coordinate", "main"),
        ("coordinate", "guide"),
        ("coordinate", "crank pin"),
        ("coordinate", "wrist pin"),
    ]
    found = fm.linearize(
        model,
        independent=["main"],
        inputs=[("effort", "guide"), ("effort", "wrist pin")],
        outputs=names,
    )
    slope = derivative(lambda d: slider_position(angle + d))
    tilt = derivative(lambda d: rod_angle(angle + d))
    np.testing.assert_allclose(found.C[:, 0], (1.0, slope, tilt - 1.0, -tilt), atol=1e-9)
    np.testing.assert_allclose(found.B[1] * found.M[0, 0], (slope, -tilt), atol=1e-9)


def test_drive_of_a_support() -> None:
    """A pendulum on a driven carriage: θ̈ = −(g/l) θ − ẍ/l; its bob is at x + l θ."""
    model = fm.Model("carriage", gravity=(0.0, -G, 0.0))
    carriage, bob = (model.add(fm.PointMass(name, mass=1.0)) for name in ("carriage", "bob"))
    model.add(fm.Prismatic("rail", model.ground, carriage))
    model.add(
        fm.Chain("rod", carriage, bob, motions=(Rotate("z"), FixedTranslation((0.0, -2.0, 0.0))))
    )
    model.add(fm.Drive("motor", "rail", 0.0))
    found = fm.linearize(
        model, inputs=[("drive", "motor")], outputs=[("position", "bob", "x"), ("rate", "rod")]
    )
    np.testing.assert_allclose(found.A, [[0, 1], [-G / 2, 0]], atol=1e-9)
    np.testing.assert_allclose(found.B, [[0, 0, 0], [0, 0, -0.5]], atol=1e-9)
    np.testing.assert_allclose(found.C, [[2, 0], [0, 1]], atol=1e-9)
    np.testing.assert_allclose(found.feedthrough, [[1, 0, 0], [0, 0, 0]], atol=1e-9)


def test_motion_of_a_mode() -> None:
    found = fm.linearize(pendulum(-np.pi / 2)).modes
    motion = found.motion(0, amplitude=0.2)
    period = 1.0 / found.frequency[0]
    expected = 0.2 * np.cos(TWO_PI * motion.t / period)
    np.testing.assert_allclose(
        motion.joint("hinge").position[:, 0] + np.pi / 2, expected, atol=1e-9
    )
    assert motion.t[-1] == pytest.approx(period)
    np.testing.assert_allclose(motion.joint("hinge").velocity[0], 0.0, atol=1e-9)


def test_motion_of_a_mode_of_several_coordinates() -> None:
    """Equal masses on a chain of equal springs, the displacement of the second relative to the
    first: ratios (−1 ± √5)/2.
    """
    model = fm.Model("chain", gravity=(0.0, 0.0, 0.0))
    place = model.ground
    for name in ("first", "second"):
        body = model.add(fm.PointMass(name, mass=1.0))
        model.add(fm.Prismatic(f"to {name}", place, body))
        model.add(fm.JointSpring(f"spring of {name}", f"to {name}", k=100.0))
        place = body
    modes = fm.linearize(model, start=fm.statics(model)).modes
    for mode, ratio in enumerate(0.5 * (np.sqrt(5.0) * np.array([1.0, -1.0]) - 1.0)):
        motion = modes.motion(mode, amplitude=0.1)
        first, second = (motion.joint(f"to {name}").position[:, 0] for name in ("first", "second"))
        np.testing.assert_allclose(second, ratio * first, atol=1e-9)
        assert np.abs(first).max() > 1e-3
        assert motion.verdict == "PASS"


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_state_of_a_solution(coordinates: str) -> None:
    """About the moving pendulum the stiffness is m g l cos of its angle from the vertical."""
    run = fm.simulate(pendulum(-1.0), t_end=0.5, step=1e-3, coordinates=coordinates)
    found = fm.linearize(run.compiled.model, start=fm.state_of(run, 0.3))
    np.testing.assert_allclose(
        found.K[0, 0], -G * np.sin(run.joint("hinge").position[300, 0]), rtol=1e-8
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"inputs": [("push", "main")]}, "inputs: unknown input ('push', 'main')"),
        ({"inputs": [("effort", "mian")]}, "joint 'mian' is not in the model"),
        ({"inputs": [("force", "crank/c", "x")]}, "frame 'crank/c' is not in the model"),
        ({"inputs": [("force", "crank/b", "w")]}, "one of the world axes"),
        ({"inputs": [("drive", "motor")]}, "drive 'motor' is not in the model"),
        ({"outputs": [("rate", "main", 1)]}, "joint 'main': no coordinate 1, it has 1"),
        (
            {"independent": ["main", "guide"]},
            "independent: main.0, guide.0 do not determine the 1 degrees of freedom",
        ),
        ({"independent": ["mian"]}, "independent: no coordinate 'mian'"),
    ],
)
def test_bad_choices(options: dict, text: str) -> None:
    with pytest.raises(fm.InputError) as error:
        fm.linearize(slider_crank(), **options)
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_time_outside_a_solution() -> None:
    run = fm.simulate(pendulum(-1.0), t_end=0.1, step=1e-2)
    with pytest.raises(fm.InputError, match=r"t: 0\.5 s is not within the solution, 0 … 0\.1 s"):
        fm.state_of(run, 0.5)


def moving_model() -> fm.Model:
    """Bodies on a ball, on a universal joint declared in reverse, and free, all rotating, connected
    by springs.
    """
    rng = np.random.default_rng(3)
    model = fm.Model("moving", gravity=(0.3, -1.0, -9.0))
    bodies = []
    for i in range(3):
        place = {"a": tuple(rng.normal(size=3)), "b": tuple(rng.normal(size=3))}
        body = fm.RigidBody(
            f"b{i}",
            mass=1.0 + i,
            inertia=(0.3, 0.4, 0.5),
            com=tuple(0.3 * rng.normal(size=3)),
            frames=place,
        )
        bodies.append(model.add(body))
    turn = rng.normal(size=4)
    model.add(
        fm.Spherical(
            "ball",
            model.ground,
            bodies[0]["a"],
            q0=tuple(turn / np.linalg.norm(turn)),
            v0=(1.0, -2.0, 0.7),
        )
    )
    model.add(fm.Universal("cross", bodies[1]["a"], bodies[0]["b"], q0=(0.4, -0.3), v0=(1.5, 0.8)))
    turn = rng.normal(size=4)
    start = (0.5, 0.2, -0.1, *turn / np.linalg.norm(turn))
    model.add(
        fm.Free("float", model.ground, bodies[2], q0=start, v0=(0.3, -0.5, 0.8, 1.2, -0.4, 0.9))
    )
    model.add(
        fm.Bushing(
            "pad", bodies[1]["b"], bodies[2]["a"], k=(60.0, 80.0, 70.0, 9.0, 8.0, 7.0), c=(1.0,) * 6
        )
    )
    model.add(fm.PointSpring("rope", bodies[0]["b"], bodies[2]["b"], k=50.0, c=2.0, length=0.7))
    return model


def skew(w: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def test_moving_bodies_in_space_against_differentiated_accelerations() -> None:
    """δ̈ = ∂ṡ/∂δ δ + ∂ṡ/∂s (δ̇ + A δ) − A δ̇ − Ȧ δ."""
    here = fm.state(moving_model())
    ns, system = len(here.s), here.compiled.system

    def acceleration(direction: np.ndarray, rate: np.ndarray) -> np.ndarray:
        q = here.q.copy()
        displaced(system, here.q, direction, q)
        return settled_state(here.compiled, 0.0, q, here.s + rate, here.beta).sd

    unit, nothing = np.eye(ns), np.zeros(ns)
    stiffness = np.array([derivative(lambda h, e=e: acceleration(h * e, nothing)) for e in unit]).T
    damping = np.array([derivative(lambda h, e=e: acceleration(nothing, h * e)) for e in unit]).T
    assert velocity_names(here.compiled)[::5] == ("ball.0", "float.0", "float.5")
    A, Ad = turning(here.s), turning(here.sd)
    expected = np.block([[np.zeros((ns, ns)), unit], [stiffness + damping @ A - Ad, damping - A]])
    found = fm.linearize(here.compiled.model, start=here)
    np.testing.assert_allclose(found.A, expected, atol=1e-8 * np.abs(expected).max())


def turning(s: np.ndarray) -> np.ndarray:
    """δs = δ̇ + A δ: ω × on the ball, ad(V) on the free body."""
    A = np.zeros((11, 11))
    A[:3, :3] = skew(s[:3])
    A[5:8, 5:8] = A[8:11, 8:11] = skew(s[8:11])
    A[5:8, 8:11] = skew(s[5:8])
    return A


def spatial_linkage(cut: str) -> fm.Model:
    """Crank about z, rod on a ball, universal joint, rocker about x: one degree of freedom."""
    arm, d = (0.0, 0.0, 0.5), (0.8, 0.3, 0.5)
    model = fm.Model(
        "linkage",
        gravity=(0.5, -1.0, -G),
        frames={"crank": (0, 0, 0), "rocker": (1.0, 0.3, 0.0)},
        cuts=[cut],
    )
    inertia = (0.02, 0.03, 0.04)
    crank = model.add(
        fm.RigidBody(
            "crank",
            mass=1.0,
            inertia=inertia,
            com=(0.1, 0, 0),
            frames={"a": (0, 0, 0), "b": (0.2, 0, 0)},
        )
    )
    rod = model.add(
        fm.RigidBody(
            "rod", mass=0.7, inertia=inertia, com=(0.4, 0.1, 0.3), frames={"a": (0, 0, 0), "b": d}
        )
    )
    rocker = model.add(
        fm.RigidBody(
            "rocker", mass=1.2, inertia=inertia, com=(0, 0, 0.2), frames={"a": (0, 0, 0), "b": arm}
        )
    )
    model.add(fm.Revolute("crank", model.ground["crank"], crank["a"]))
    model.add(fm.Spherical("ball", crank["b"], rod["a"]))
    model.add(fm.Universal("cross", rod["b"], rocker["b"]))
    model.add(fm.Revolute("rocker", model.ground["rocker"], rocker["a"], axis="x"))
    return model


def turning_linkage(angle: float, speed: float, cut: str) -> State:
    """The linkage moving freely at a crank angle and speed."""
    free, driven = fm.state(spatial_linkage(cut)), spatial_linkage(cut)
    driven.add(fm.Drive("motor", "crank", fm.Ramp(angle, speed)))
    moved = fm.kinematics(driven, [0.0])
    return settled_state(free.compiled, 0.0, moved.q[0], moved.s[0], free.beta)


@pytest.mark.parametrize("cut", ["ball", "rocker", "cross"])
def test_spatial_linkage_against_its_reduced_equation(cut: str) -> None:
    """φ̈ = f(φ, φ̇) of the crank, differentiated; the ball is in the tree or closes the loop."""
    here = turning_linkage(0.4, 3.0, cut)
    found = fm.linearize(here.compiled.model, start=here, independent=["crank"])
    at = velocity_names(here.compiled).index("crank.0")
    stiffness = derivative(lambda d: turning_linkage(0.4 + d, 3.0, cut).sd[at])
    damping = derivative(lambda d: turning_linkage(0.4, 3.0 + d, cut).sd[at])
    np.testing.assert_allclose((-found.K / found.M)[0, 0], stiffness, rtol=1e-6)
    np.testing.assert_allclose((-found.D / found.M)[0, 0], damping, rtol=1e-6)


@pytest.mark.parametrize("regularization", [1.0, 1e-2, 1e-3, 1e-4])
def test_friction_at_rest_damps_by_its_regularization(regularization: float) -> None:
    """m ẍ + (F/v_r) ẋ + k x = 0 about rest, however small v_r is."""
    model = fm.Model("slider", gravity=(0.0, 0.0, 0.0))
    model.add(fm.RigidBody("body", mass=2.0, inertia=(0.02,) * 3))
    model.add(fm.Prismatic("slide", "ground", "body", axis="x"))
    model.add(fm.JointSpring("spring", "slide", k=50.0))
    model.add(fm.JointFriction("friction", "slide", coulomb=0.02, regularization=regularization))
    expected = [[0.0, 1.0], [-25.0, -0.01 / regularization]]
    np.testing.assert_allclose(fm.linearize(model).A, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("upper", [20.0, 2.5, 1.99])
def test_controller_close_to_its_limit(upper: float) -> None:
    """q⃛ J = −(m g l cos q + k_p) q̇ − k_d q̈ − k_i q within the limit, which is 0.0035 N m away in
    the closest case.
    """
    m, r, inertia, kp, ki, kd = 1.3, 0.4, 0.02, 30.0, 60.0, 1.0
    model = fm.Model("pendulum", gravity=(0.0, -9.81, 0.0))
    bob = model.add(
        fm.RigidBody("bob", mass=m, inertia=(inertia,) * 3, frames={"pivot": (0.0, r, 0.0)})
    )
    model.add(fm.Revolute("hinge", model.ground, bob["pivot"], axis="z", q0=0.4))
    model.add(
        fm.JointTorque(
            "control", "hinge", fm.LimitedPID(kp, ki, kd=kd, lower=-4.0, upper=upper, reference=0.4)
        )
    )
    found = np.linalg.eigvals(fm.linearize(model, start=fm.statics(model)).A)
    J = inertia + m * r**2
    expected = np.roots([J, kd, m * 9.81 * r * np.cos(0.4) + kp, ki])
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(expected), rtol=1e-6)


@pytest.mark.parametrize("lower", [-np.inf, -5.0])
@pytest.mark.parametrize("upper", [np.inf, 7.0])
@pytest.mark.parametrize("lag", [0.0, 0.05])
def test_actuators_with_limits_and_without(lower: float, upper: float, lag: float) -> None:
    """m ẍ = −k x − c ẋ + gain·w, lag ẇ = −w: the same slopes whichever side has no limit."""
    model = fm.Model("slider", gravity=(0.0, 0.0, 0.0))
    model.add(fm.RigidBody("body", mass=2.0, inertia=(0.02,) * 3))
    model.add(fm.Prismatic("slide", "ground", "body", axis="x", q0=0.1))
    law = fm.AffineActuator(0.0, gain=3.0, k=9.0, c=1.0, lag=lag, lower=lower, upper=upper)
    model.add(fm.JointTorque("servo", "slide", law))
    expected = np.array([[0.0, 1.0, 0.0], [-4.5, -0.5, 1.5], [0.0, 0.0, -20.0]])
    n = 3 if lag else 2
    np.testing.assert_allclose(fm.linearize(model).A, expected[:n, :n], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.4, 300.0])
def test_friction_far_beyond_its_regularization(rate: float) -> None:
    """The slope of tanh vanishes there: viscous friction remains, λ = −c/J."""
    model = fm.Model("wheel", gravity=(0, 0, 0))
    model.add(fm.RigidBody("wheel", mass=1.0, inertia=(1.0, 1.0, 2.0)))
    model.add(fm.Revolute("axle", "ground", "wheel", axis="z", v0=rate))
    model.add(fm.JointFriction("rub", "axle", coulomb=0.5, viscous=0.2, regularization=1e-3))
    slopes = fm.linearize(model, audit=False)
    slope = 0.2 + 0.5 / 1e-3 / np.cosh(min(rate / 1e-3, 300.0)) ** 2
    assert slopes.A[-1, -1] == pytest.approx(-slope / 2.0, rel=1e-6)
