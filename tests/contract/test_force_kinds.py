"""Contract of every kind of force: its generalized forces derive from its potential or its virtual
power, its power enters the energy balance, and it acts alike in joint and absolute coordinates, as
built-in law or as user function."""

import dataclasses

import numpy as np
import pytest
from any_functions import Together
from samples import (
    GRAVITY,
    difference,
    flexible,
    rigid,
    some_frame,
    some_joint,
    state,
    state_of,
    two_bodies,
)
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.equations import kinematics
from flexmbs.dynamics.kinematics import displace
from flexmbs.initial.initial_state import consistent_state
from flexmbs.model.forces import Force, LoadedFriction
from flexmbs.model.laws import JointLaw

A, B = "first/b", "second/b"


def central(f, h=1e-3):
    """f'(0) of order 6."""
    return (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h)


def vector(W):
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


class Effect:
    """Generalized forces and power of the forces of a model:
    those with them minus those without.
    """

    def __init__(self, model, forces, coordinates="joint"):
        bare = state(model, coordinates)
        for force in forces:
            model.add(force)
        self.assembled = consistent_state(model)
        self.state = now = state_of(*self.assembled, coordinates)
        assert np.abs(now.q - bare.q).max() < 1e-14
        assert np.abs(now.s - bare.s).max() < 1e-13
        zero = terms(bare.system, bare.work, 0.0, now.q, now.s).k
        loss = bare.work.power.loss
        self.k = terms(now.system, now.work, 0.0, now.q, now.s).k - zero
        self.power = now.work.power.forces - (now.work.power.loss - loss)
        self.loss = now.work.power.loss - loss

    def difference_of_coordinates(self):
        """Of the motion in joint coordinates and in absolute ones."""
        return difference(*(state_of(*self.assembled, each) for each in ("joint", "absolute")))

    def along(self, direction, value):
        """Derivative along a velocity of value(pose function of the moved state)."""
        now = self.state

        def moved(h):
            q = now.q.copy()
            displace(now.system.tree, now.system.joints, now.q, h * direction, q)
            kinematics(now.system, now.work, 0.0, q, now.s, np.zeros(len(now.s)))
            return value(dataclasses.replace(now, q=q).pose)

        return central(moved)

    def twist(self, frame, direction):
        """Velocity of a frame's origin and angular velocity in
        world axes for given velocities s.
        """
        self.state.motion()
        R = self.state.pose(frame)[0]
        rate = self.along(direction, lambda pose: pose(frame)[0])
        return self.along(direction, lambda pose: pose(frame)[1]), vector(rate @ R.T)

    def check(self, expected):
        """``expected(direction)`` is the power for any velocities; the energy balance has the power
        for the actual ones.
        """
        found = np.array([expected(e) for e in np.eye(len(self.state.s))])
        assert np.abs(self.k).max() > 0.1
        assert np.abs(self.k - found).max() < 1e-9 * np.abs(self.k).max()
        assert abs(self.power - self.state.s @ self.k) < 1e-12 * np.abs(self.k * self.state.s).sum()


def wind(t, r, A, v, w):
    R = np.reshape(A, (3, 3))
    return [*(np.array([1.0, 2.0, -0.5]) - 0.7 * v + 0.3 * r), *(R @ [0.2, 0.1, 0.4] - 0.05 * w)]


PUSH = {
    "force": (3.0, fm.Sine(2.0, 1.5, phase=0.4), -1.0),
    "torque": (0.5, -0.8, fm.Ramp(0.3, 1.0)),
}


@pytest.mark.parametrize("axes", ["world", "follower"])
def test_frame_force(axes):
    effect = Effect(two_bodies("universal", 1), [fm.FrameForce("push", B, axes=axes, **PUSH)])
    f, n = (
        np.array([law if isinstance(law, float) else law.state(0.0)[0] for law in PUSH[key]])
        for key in ("force", "torque")
    )
    effect.state.motion()
    R = effect.state.pose(B)[0] if axes == "follower" else np.eye(3)

    def power(direction):
        v, w = effect.twist(B, direction)
        return R @ f @ v + R @ n @ w

    effect.check(power)


def test_user_force():
    effect = Effect(two_bodies("universal", 2), [fm.UserForce("wind", B, wind)])
    v, w = effect.twist(B, effect.state.s)
    effect.state.motion()
    R, r = effect.state.pose(B)
    wrench = np.array(wind(0.0, r, R.ravel(), v, w))

    def power(direction):
        return wrench @ np.concatenate(effect.twist(B, direction))

    effect.check(power)


def stretch(pose):
    return np.linalg.norm(pose(B)[1] - pose("ground/post")[1])


def between(pose):
    return np.linalg.norm(pose(B)[1] - pose(A)[1])


@pytest.mark.parametrize("length, ends", [(stretch, ("ground/post", B)), (between, (A, B))])
def test_point_spring(length, ends):
    """−∂/∂q of ½ k (l − l₀)² and the damper's −c l̇ ∂l/∂q."""
    k, c, l0 = 90.0, 4.0, 0.6
    effect = Effect(
        two_bodies("spherical", 3), [fm.PointSpring("spring", *ends, k=k, c=c, length=l0)]
    )
    rate = effect.along(effect.state.s, length)
    effect.check(
        lambda e: (
            -effect.along(e, lambda pose: 0.5 * k * (length(pose) - l0) ** 2)
            - c * rate * effect.along(e, length)
        )
    )
    assert abs(effect.loss - c * rate**2) < 1e-9 * effect.loss


def test_a_spring_without_a_length_is_unloaded_at_first():
    effect = Effect(two_bodies("spherical", 3), [fm.PointSpring("spring", A, B, k=90.0)])
    assert np.abs(effect.k).max() < 1e-12


@pytest.mark.parametrize("given", [{"k": 90.0, "length": 0.3}, {"law": lambda t, e, rate: 5.0}])
def test_point_spring_between_coinciding_points_is_rejected(given):
    """Its tension would have the direction of round-off; one that is unloaded there acts as k times
    the displacement.
    """
    model = fm.Model("pin")
    bar = model.add(fm.RigidBody("bar", mass=1.0, inertia=(1, 1, 1), com=(0.5, 0, 0)))
    model.add(fm.Revolute("pin", model.ground, bar))
    model.add(fm.PointSpring("spring", model.ground, bar, k=90.0))
    fm.simulate(model, t_end=0.01)
    model.add(fm.PointSpring("loaded", model.ground, bar, **given))
    with pytest.raises(
        fm.InputError, match=r"^forces\.loaded: its two points coincide in the initial state"
    ):
        fm.simulate(model, t_end=0.1)


OIL = {
    "length": 0.5,
    "area_a": 0.02,
    "area_b": 0.012,
    "volume_a": 0.2,
    "volume_b": 0.15,
    "bulk_modulus": 3e4,
    "supply": 1e3,
    "valve": 2e-4,
    "pressure_a": 400.0,
    "pressure_b": 500.0,
    "friction": 0.5,
    "opening": 0.4,
    "smoothing": 1.0,
}


def test_hydraulic_cylinder():
    """The force of its pressures and of its friction along the line; rates of the pressures by the
    flows.
    """
    effect = Effect(two_bodies("planar", 4), [fm.HydraulicCylinder("cylinder", A, B, **OIL)])
    rate = effect.along(effect.state.s, between)
    tension = 0.012 * 500.0 - 0.02 * 400.0 + 0.5 * rate
    effect.check(lambda e: -tension * effect.along(e, between))
    assert abs(effect.loss - 0.5 * rate**2) < 1e-9 * effect.loss
    effect.state.motion()
    e, zd = between(effect.state.pose) - 0.5, effect.state.work.force_rate
    flows = 2e-4 * 0.4 * np.sqrt([600.0, 500.0])
    a = 3e4 / (0.2 + 0.02 * e) * (flows[0] - 0.02 * rate)
    b = 3e4 / (0.15 - 0.012 * e) * (-flows[1] + 0.012 * rate)
    np.testing.assert_allclose(1e3 * zd, [a, b], rtol=1e-5)


def test_point_spring_with_a_law():
    def tension(t, x, rate):
        return 50.0 * x + 20.0 * x**3 + 0.5 * rate * abs(rate)

    effect = Effect(
        two_bodies("planar", 4), [fm.PointSpring("rubber", A, B, length=0.5, law=tension)]
    )
    x = between(effect.state.pose) - 0.5
    rate = effect.along(effect.state.s, between)
    effect.check(lambda e: -tension(0.0, x, rate) * effect.along(e, between))


K, C = np.array([80.0, 50, 70, 30, 20, 25]), np.array([3.0, 2, 1, 0.5, 0.7, 0.9])
TABLE = (-2.0, -0.5, 0.3, 4.0), (-90.0, -20.0, 5.0, 60.0)
BUSHINGS = {
    "linear": {},
    "curves": {"curve_y": TABLE, "curve_rz": TABLE, "curve_rx": ((-1e-3, 0.0), (-1.0, 0.0))},
    "branches": {
        "branch_k": (40.0, 0.0, 20.0, 10.0, 15.0, 5.0),
        "relaxation_time": (0.1, 0.0, 0.2, 0.1, 0.3, 0.2),
    },
}


def potential(options, d):
    """½ k δ², or the integral of a curve, which is straight beyond its points."""
    total = 0.0
    for a, key in enumerate(("curve_x", "curve_y", "curve_z", "curve_rx", "curve_ry", "curve_rz")):
        if key not in options:
            total += 0.5 * K[a] * d[a] ** 2
            continue
        cubic, ends = PchipInterpolator(*options[key]), options[key][0]
        inside = min(max(d[a], ends[0]), ends[-1])
        over = d[a] - inside
        total += (
            cubic.integrate(0.0, inside)
            + cubic(inside) * over
            + 0.5 * cubic.derivative()(inside) * over**2
        )
    return total


@pytest.mark.parametrize("name", BUSHINGS)
def test_bushing(name):
    """−∂/∂q of the potential of displacement and rotation vector of b in a, and dampers on its
    relative velocities.
    """
    options = BUSHINGS[name]
    effect = Effect(
        two_bodies("free", 5), [fm.Bushing("bushing", A, B, k=tuple(K), c=tuple(C), **options)]
    )

    def relative(pose):
        (R, x), (S, y) = pose(A), pose(B)
        return R.T @ (y - x), R.T @ S

    def deformation(pose):
        x, R = relative(pose)
        return np.concatenate([x, Rotation.from_matrix(R).as_rotvec()])

    effect.state.motion()
    R0 = relative(effect.state.pose)[1]

    def rate(direction):
        W = effect.along(direction, lambda pose: relative(pose)[1]) @ R0.T
        return np.concatenate([effect.along(direction, lambda pose: relative(pose)[0]), vector(W)])

    actual = rate(effect.state.s)
    effect.check(
        lambda e: (
            -effect.along(e, lambda pose: potential(options, deformation(pose)))
            - rate(e) @ (C * actual)
        )
    )
    assert abs(effect.loss - actual @ (C * actual)) < 1e-9 * effect.loss
    if name == "branches":
        change = effect.along(effect.state.s, deformation)
        now = effect.state
        now.motion()
        z = np.array([2.0, 0.0, 3.0, -1.0, 0.5, 0.7])
        bare = terms(now.system, now.work, 0.0, now.q, now.s).k
        loaded = terms(now.system, now.work, 0.0, now.q, now.s, z).k
        expected = [
            -effect.along(e, lambda pose: deformation(pose) @ z) for e in np.eye(len(now.s))
        ]
        np.testing.assert_allclose(loaded - bare, expected, atol=1e-9)
        times = np.where(
            np.array(options["relaxation_time"]) > 0.0, options["relaxation_time"], 1.0
        )
        terms(now.system, now.work, 0.0, now.q, now.s, z)
        np.testing.assert_allclose(
            now.work.force_rate, np.array(options["branch_k"]) * change - z / times, atol=1e-8
        )


REFERENCE = fm.Sine(0.4, 0.8, phase=0.3, offset=0.1)
JOINT_LAWS = {
    "number": (4.0, lambda x, v: 4.0),
    "law of time": (fm.Sine(3.0, 1.0, phase=0.5), lambda x, v: 3.0 * np.sin(0.5)),
    "pd": (
        fm.PD(30.0, 4.0, reference=REFERENCE),
        lambda x, v: 30.0 * (REFERENCE(0.0) - x) + 4.0 * (REFERENCE.state(0.0)[1] - v),
    ),
    "pid": (fm.PID(30.0, 9.0, 4.0, reference=0.2), lambda x, v: 30.0 * (0.2 - x) - 4.0 * v),
    "spring-damper": (
        fm.SpringDamper(k=20.0, c=3.0, x0=0.1, preload=2.0),
        lambda x, v: 2.0 - 20.0 * (x - 0.1) - 3.0 * v,
    ),
    "dc-motor": (
        fm.DCMotor(constant=0.5, resistance=2.0, ratio=4.0, voltage=6.0),
        lambda x, v: 2.0 * (6.0 - 2.0 * v) / 2.0,
    ),
    "limited": (
        fm.LimitedPID(30.0, 9.0, 4.0, lower=-1.0, upper=2.0, reference=5.0),
        lambda x, v: 2.0,
    ),
    "within limits": (
        fm.LimitedPID(30.0, 9.0, 4.0, lower=-1e3, upper=1e3, reference=REFERENCE),
        lambda x, v: 30.0 * (REFERENCE(0.0) - x) + 4.0 * (REFERENCE.state(0.0)[1] - v),
    ),
    "affine": (
        fm.AffineActuator(REFERENCE, gain=3.0, bias=0.5, k=9.0, c=2.0),
        lambda x, v: 3.0 * REFERENCE(0.0) + 0.5 - 9.0 * x - 2.0 * v,
    ),
    "affine, at a limit": (fm.AffineActuator(5.0, gain=3.0, k=9.0, upper=2.0), lambda x, v: 2.0),
    "affine, its lag at zero": (
        fm.AffineActuator(5.0, gain=3.0, bias=0.5, c=2.0, lag=0.1),
        lambda x, v: 0.5 - 2.0 * v,
    ),
    "maxwell": (
        fm.Maxwell(k=50.0, relaxation_time=0.1, k0=20.0, c0=3.0, x0=0.1),
        lambda x, v: -20.0 * (x - 0.1) - 3.0 * v,
    ),
    "curve of position": (
        fm.Curve((-2.0, -0.5, 0.3, 4.0), (5.0, 1.0, -2.0, -3.0), of="position", command=2.0),
        lambda x, v: 2.0 * PchipInterpolator((-2.0, -0.5, 0.3, 4.0), (5.0, 1.0, -2.0, -3.0))(x),
    ),
    "curve beyond its ends": (
        fm.Curve((-1e-3, 0.0), (1.0, 0.5), command=REFERENCE),
        lambda x, v: REFERENCE(0.0) * (0.5 - 500.0 * v),
    ),
    "function": (
        lambda t, x, v: 5.0 - x**3 - 2.0 * np.tanh(v),
        lambda x, v: 5.0 - x**3 - 2.0 * np.tanh(v),
    ),
}


FRICTION = {
    "coulomb": 2.0,
    "static": 3.5,
    "stribeck_velocity": 0.7,
    "viscous": 0.4,
    "regularization": 0.3,
}
BRISTLES = {
    "coulomb": 2.0,
    "static": 3.5,
    "stribeck_velocity": 0.7,
    "stiffness": 30.0,
    "damping": 0.9,
    "viscous": 0.4,
}
JOINT_FORCES = {
    "joint-spring": (
        fm.JointSpring("f", "hinge", k=20.0, c=3.0, x0=0.1, coordinate=1),
        lambda x, v: -20.0 * (x - 0.1) - 3.0 * v,
    ),
    "uneven friction": (
        fm.JointFriction(
            "f", "hinge", coulomb=2.0, reverse=1.5, viscous=0.4, regularization=0.3, coordinate=1
        ),
        lambda x, v: -(2.0 if v > 0.0 else 1.5) * np.tanh(v / 0.3) - 0.4 * v,
    ),
    "joint-friction": (
        fm.JointFriction("f", "hinge", coordinate=1, **FRICTION),
        lambda x, v: -(2.0 + 1.5 * np.exp(-((v / 0.7) ** 2))) * np.tanh(v / 0.3) - 0.4 * v,
    ),
    "lugre-friction": (  # undeflected
        fm.LuGreFriction("f", "hinge", coordinate=1, **BRISTLES),
        lambda x, v: -0.9 * v - 0.4 * v,
    ),
}


def coordinate_of(effect, joint, number):
    """(index in s, x, v) of a coordinate of a primary joint."""
    place = effect.state.compiled.places[joint]
    k, p = place.coordinate("test", number)
    tree = effect.state.system.tree
    at, to = tree.q_at[place.body], tree.s_at[place.body]
    return to + k, effect.state.q[at + p], effect.state.s[to + k]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", [*JOINT_LAWS, *JOINT_FORCES])
def test_joint_force(name, turned):
    """The generalized force acts on the coordinate itself; as wrench across the cut joint it gives
    the same motion.
    """
    if name in JOINT_LAWS:
        law, value = JOINT_LAWS[name]
        force = fm.JointTorque("f", "hinge", law, coordinate=1)
    else:
        force, value = JOINT_FORCES[name]
    model = two_bodies("chain", 6, turned=turned)
    effect = Effect(model, [force])
    at, x, v = coordinate_of(effect, "hinge", 1)
    expected = np.zeros(len(effect.k))
    expected[at] = value(x, v)
    assert abs(x - model.joints["hinge"].q0[1]) < 1e-15
    assert np.abs(effect.k - expected).max() < 1e-12 * abs(expected[at])
    assert abs(effect.power - v * expected[at]) < 1e-12 * abs(v * expected[at])
    assert effect.difference_of_coordinates() < 1e-10


def test_friction_dissipates_all_its_power():
    effect = Effect(two_bodies("chain", 6), [JOINT_FORCES["joint-friction"][0]])
    assert effect.loss == pytest.approx(-effect.state.s @ effect.k, rel=1e-12)
    assert effect.loss > 0.1


def test_integral_part_of_a_controller():
    model = two_bodies("revolute", 7)
    model.add(fm.JointTorque("f", "hinge", fm.PID(30.0, 9.0, 4.0, reference=0.2)))
    for coordinates in ("joint", "absolute"):
        now = state(model, coordinates)
        k = [terms(now.system, now.work, 0.0, now.q, now.s, np.array([z])).k for z in (0.0, 0.5)]
        assert abs(now.work.force_rate[0] - (0.2 - model.joints["hinge"].q0[0])) < 1e-13
        if coordinates == "joint":
            assert abs(np.abs(k[1] - k[0]).sum() - 4.5) < 1e-12


HELD = {
    "digital-pid": fm.DigitalPID(30.0, 9.0, 4.0, sample_time=0.1, delay=0.23, reference=REFERENCE),
    "digital-controller": fm.DigitalController(
        lambda m, t, x, v: (x, m), sample_time=0.1, memory=(0.0,), computing_time=0.12
    ),
}


@pytest.mark.parametrize("name", HELD)
def test_a_discrete_controller_holds_its_output(name):
    """Whatever else it stores, and at any motion: the output is the force, and the time to the next
    sample passes.
    """
    model = two_bodies("revolute", 7)
    model.add(fm.JointTorque("f", "hinge", HELD[name]))
    for coordinates in ("joint", "absolute"):
        now = state(model, coordinates)
        z = 0.1 + np.arange(float(now.system.layout[4]))
        k = [
            terms(now.system, now.work, 0.0, now.q, now.s, np.array([u, *z[1:]])).k
            for u in (0.0, 1.7)
        ]
        rate = now.work.force_rate
        assert rate[1] == -1.0
        assert not np.delete(rate, 1).any()
        found = terms(
            now.system, now.work, 0.0, now.q, 1.1 * now.s, np.array([1.7, *(2.0 * z[1:])])
        ).k
        still = terms(now.system, now.work, 0.0, now.q, 1.1 * now.s, np.array([0.0, *z[1:]])).k
        np.testing.assert_allclose(found - still, k[1] - k[0], atol=1e-12)
        if coordinates == "joint":
            assert abs(np.abs(k[1] - k[0]).sum() - 1.7) < 1e-12


def test_every_joint_law_is_here():
    named = {law.kind for law, _ in JOINT_LAWS.values() if isinstance(law, JointLaw)}
    assert named | {law.kind for law in HELD.values()} == set(JointLaw.kinds)


def every_force():
    return [
        fm.FrameForce("push", B, axes="follower", **PUSH),
        fm.UserForce("wind", A, wind),
        fm.PointSpring("spring", "ground/post", B, k=90.0, c=4.0, length=0.6),
        fm.PointSpring("rubber", A, B, length=0.5, law=lambda t, x, rate: 30.0 * x**3 + rate),
        fm.HydraulicCylinder("cylinder", A, B, **OIL),
        fm.Bushing("bushing", A, B, k=(80, 50, 70, 30, 20, 25), c=(3, 2, 1, 0.5, 0.7, 0.9)),
        fm.JointTorque("torque", "hinge", fm.PD(30.0, 4.0), coordinate=2),
        fm.JointSpring("twist", "base", k=5.0, c=0.3),
        fm.WheelCreep(
            "creep", A, B, radius=0.4, along=60.0, across=40.0, friction=0.5, load=30.0, trail=0.1
        ),
        fm.WheelCreep(
            "tread",
            A,
            B,
            radius=2.0,
            along=60.0,
            across=40.0,
            friction=0.5,
            stiffness=30.0,
            damping=2.0,
            normal="x",
        ),
        fm.JointFriction("rub", "base", **FRICTION),
        fm.LuGreFriction("bristles", "base", **BRISTLES),
        fm.RobotControl("control", ["hinge.1", "base"], Together()),
        fm.Transmission(
            "gear",
            {"hinge.1": 0.4, "base": -1.5},
            fm.Maxwell(20.0, relaxation_time=0.3, k0=9.0, c0=2.0),
        ),
        fm.UserJointForces(
            "cable",
            ["base", "hinge.0"],
            lambda t, x, v: (-9.0 * x[1] - 2.0 * v[0], 4.0 * x[0] * v[1]),
        ),
    ]


def test_every_registered_kind_is_here():
    """Friction of reactions is not a force at a state alone:
    `tests/trajectories/test_loaded_friction.py`.
    """
    of_reactions = {
        kind
        for kind, made in Force.kinds.items()
        if issubclass(made, LoadedFriction | fm.UserFriction)
    }
    assert {force.kind for force in every_force()} == set(Force.kinds) - of_reactions


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["cylindrical", "chain", "planar"])
def test_all_forces_in_both_coordinates(kind, seed):
    model = two_bodies(kind, seed)
    forces = every_force()
    coordinate = min(2, model.joints["hinge"].nv - 1)
    forces[6] = fm.JointTorque("torque", "hinge", fm.PD(30.0, 4.0), coordinate=coordinate)
    effect = Effect(model, forces)
    assert (
        abs(effect.power - effect.state.s @ effect.k)
        < 1e-11 * np.abs(effect.k * effect.state.s).sum()
    )
    assert effect.difference_of_coordinates() < 1e-10


def test_functions_of_the_user_act_as_the_built_in_laws():
    built_in = [
        fm.JointTorque("pd", "hinge", fm.PD(30.0, 4.0, reference=REFERENCE)),
        fm.JointTorque("swing", "base", fm.Sine(3.0, 1.0, phase=0.5)),
        fm.PointSpring("spring", A, B, k=90.0, c=4.0, length=0.6),
        fm.FrameForce("push", B, force=(1.0, 2.0, 3.0), torque=(0.3, 0.2, 0.1)),
    ]
    own = [
        fm.JointTorque(
            "pd",
            "hinge",
            lambda t, x, v: 30.0 * (REFERENCE(t) - x) + 4.0 * (REFERENCE.state(t)[1] - v),
        ),
        fm.JointTorque("swing", "base", lambda t: 3.0 * np.sin(2 * np.pi * t + 0.5)),
        fm.PointSpring("spring", A, B, length=0.6, law=lambda t, x, rate: 90.0 * x + 4.0 * rate),
        fm.UserForce("push", B, lambda t, r, A, v, w: (1.0, 2.0, 3.0, 0.3, 0.2, 0.1)),
    ]
    for one, other in zip(built_in, own):
        a, b = (Effect(two_bodies("revolute", 8), [force]) for force in (one, other))
        assert np.abs(a.k - b.k).max() < 1e-13 * np.abs(a.k).max()
        assert abs(a.power - b.power) < 1e-12 * abs(a.power)


@pytest.mark.parametrize("turned", [False, True])
def test_forces_on_several_coordinates(turned):
    """Each acts on its coordinate and sees all of them, in the order of their names; powers add up,
    also across cut joints.
    """
    model = two_bodies("chain", 6, turned=turned)
    effect = Effect(model, [fm.UserJointForces("f", ["hinge.2", "base", "hinge.0"], pulled)])
    names = [("hinge", 2), ("base", 0), ("hinge", 0)]
    at, x, v = map(np.array, zip(*(coordinate_of(effect, *each) for each in names)))
    expected = np.zeros(len(effect.k))
    expected[at] = pulled(0.0, x, v)
    assert np.abs(effect.k - expected).max() < 1e-12 * np.abs(expected).max()
    assert abs(effect.power - v @ expected[at]) < 1e-12 * np.abs(v * expected[at]).sum()
    assert effect.difference_of_coordinates() < 1e-10


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", JOINT_LAWS)
def test_transmission(name, turned):
    """aᵢ τ on each coordinate, τ of x = Σ aᵢ qᵢ, also across cut joints; its power is τ ẋ."""
    law, value = JOINT_LAWS[name]
    model = two_bodies("chain", 6, turned=turned)
    factors = {"hinge.2": 0.07, "base": -0.13, "hinge.0": 0.2}
    effect = Effect(model, [fm.Transmission("f", factors, law)])
    a = np.array([*factors.values()])
    at, x, v = map(
        np.array,
        zip(*(coordinate_of(effect, *each) for each in (("hinge", 2), ("base", 0), ("hinge", 0)))),
    )
    expected = np.zeros(len(effect.k))
    expected[at] = a * value(a @ x, a @ v)
    assert np.abs(effect.k - expected).max() < 1e-12
    assert abs(effect.power - v @ expected[at]) < 1e-12
    assert effect.difference_of_coordinates() < 1e-10


def test_a_transmission_has_the_laws_of_the_coordinates_alone():
    with pytest.raises(
        fm.InputError, match=r"forces\.f\.law: digital-pid measures one coordinate at sample times"
    ):
        fm.Transmission("f", {"base": 1.0}, HELD["digital-pid"])
    with pytest.raises(fm.InputError, match=r"forces\.f\.factors: is empty"):
        fm.Transmission("f", {}, 1.0)


def pulled(t, x, v):
    return [-30.0 * x[1] + v[2], 20.0 * x[0] * x[2] - 3.0 * v[0], 10.0 * np.sin(x[0] - x[1]) + v[1]]


def test_gravity_has_its_potential():
    """−∂/∂q of −Σ g·∫r dm on a branched tree; no power in the work of forces."""
    rng = np.random.default_rng(9)
    model = fm.Model("tree", gravity=GRAVITY, frames={"post": some_frame(rng)})
    trunk, twig, leaf = (
        model.add(body)
        for body in (flexible("trunk", rng), rigid("twig", rng), flexible("leaf", rng))
    )
    model.add(some_joint("spherical", "root", model.ground["post"], trunk["a"], rng))
    model.add(some_joint("screw", "fork", trunk["b"], twig["a"], rng))
    model.add(some_joint("universal", "stalk", leaf["b"], trunk["b"], rng))
    heavy = state(model)
    model.gravity = (0.0, 0.0, 0.0)
    effect = Effect(model, [fm.PointSpring("none", "trunk/a", "leaf/a", k=0.0, length=1.0)])
    found = terms(heavy.system, heavy.work, 0.0, heavy.q, heavy.s).k
    found -= terms(effect.state.system, effect.state.work, 0.0, heavy.q, heavy.s).k

    def height(q):
        """−Σ g·∫r dm from the world poses of the body frames."""
        total = 0.0
        for i, name in enumerate(heavy.compiled.bodies):
            if name in heavy.compiled.data:
                d = heavy.compiled.data[name]
                mass, first = (
                    d.mass,
                    d.first_moment
                    + d.S_bar @ q[heavy.system.tree.qf_at[i] :][: heavy.system.tree.nf[i]],
                )
            else:
                mass, first = (
                    model.bodies[name].mass,
                    model.bodies[name].mass * np.array(model.bodies[name].com),
                )
            R, r = dataclasses.replace(heavy, q=q).pose(name)
            total -= np.dot(GRAVITY, mass * r + R @ first)
        return total

    def moved(e):
        def at(h):
            q = heavy.q.copy()
            displace(heavy.system.tree, heavy.system.joints, heavy.q, h * e, q)
            kinematics(heavy.system, heavy.work, 0.0, q, heavy.s, 0 * heavy.s)
            return height(q)

        return central(at)

    assert (
        np.abs(found + [moved(e) for e in np.eye(len(found))]).max() < 1e-10 * np.abs(found).max()
    )
    assert heavy.work.power.forces == 0.0
