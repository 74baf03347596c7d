"""Creep of wheels against the formulas, steady cornering, the limit of traction with its load
transfer, and sliding.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_loaded_friction import FORMS, G

import flexmbs as fm


def evaluated(
    creep: fm.WheelCreep, A: np.ndarray, x: Any, v: Any, w: Any, reaction: Any = ()
) -> np.ndarray:
    """(elastic force, conjugate moment, dissipative force, moment) at position x, rotation A and
    velocities in axes of a.
    """
    row, out = creep.row(), np.zeros(72)
    given = [0.0, *x, *Rotation.from_matrix(A).as_rotvec(), *v, *w, *reaction]
    row.law.value(row.parameters, [law.state(0.0)[0] for law in row.laws], np.array(given), out)
    return out[:12]


WHEEL = {"radius": 0.3, "along": 8e4, "across": 6e4, "friction": 0.9, "slow": 1e-6}


@pytest.mark.parametrize("slip", [1e-7, 0.01, 0.05, 0.2])
def test_forces_are_those_of_a_brush_model(slip: float) -> None:
    """Driven to a direction of slip of its own, on a plane with any normal."""
    rng = np.random.default_rng(1)
    turn = Rotation.random(random_state=1).as_matrix()
    normal, axle, forward = turn[:, 2], turn[:, 1], turn[:, 0]
    creep = fm.WheelCreep(
        "c", "ground", "b", load=4000.0, trail=0.04, normal=normal, axis="y", **WHEEL
    )
    speed, aside = 12.0, 0.6 * slip
    spin = speed / 0.3 * (1.0 - slip)
    v = speed * forward + speed * aside * axle
    out = evaluated(creep, turn, rng.normal(size=3), v, spin * axle)
    pull = np.array([8e4 * slip, 6e4 * aside])
    size = np.hypot(*pull)
    x = min(1.0, size / (3.0 * 0.9 * 4000.0))
    force = -0.9 * 4000.0 * (1.0 - (1.0 - x) ** 3) * pull / size
    np.testing.assert_allclose(
        [out[6:9] @ forward, out[6:9] @ axle, out[6:9] @ normal],
        [*force, 0.0],
        atol=1e-6,
        rtol=1e-6,
    )
    moment = 0.04 * (1.0 - x) ** 3 * pull[1] * normal + np.cross(-0.3 * normal, out[6:9])
    np.testing.assert_allclose(out[9:12], moment, atol=1e-6)
    np.testing.assert_array_equal(out[:6], 0.0)


@pytest.mark.parametrize("rim", [0.0, 0.05])
def test_a_tread_has_a_potential(rim: float) -> None:
    """The elastic force and moment are the gradient of ½ k depth², damping acts against the rate,
    and nothing pulls.
    """
    creep = fm.WheelCreep(
        "c", "ground", "b", stiffness=2e5, damping=500.0, axis=(0.1, 1, 0.2), rim=rim, **WHEEL
    )
    rng = np.random.default_rng(2)

    def energy(y: np.ndarray) -> float:
        axle = Rotation.from_rotvec(y[3:]).apply(np.array([0.1, 1.0, 0.2]) / np.sqrt(1.05))
        across = np.linalg.norm(np.array([0, 0, 1.0]) - axle[2] * axle)
        return float(0.5 * 2e5 * max((0.3 - rim) * across + rim - y[2], 0.0) ** 2)

    for _ in range(5):
        y = np.array([*rng.normal(size=2), 0.26, *rng.normal(size=3) * [0.05, 0.8, 0.6]])
        out = evaluated(
            creep, Rotation.from_rotvec(y[3:]).as_matrix(), y[:3], np.zeros(3), np.zeros(3)
        )
        slopes = [(energy(y + e) - energy(y - e)) / 2e-6 for e in 1e-6 * np.eye(6)]
        np.testing.assert_allclose(
            out[:6], -np.array(slopes), rtol=1e-5, atol=1e-3 * np.abs(out).max()
        )
    upright = fm.WheelCreep("c", "ground", "b", stiffness=2e5, damping=500.0, rim=rim, **WHEEL)
    rising, pressed = (
        evaluated(upright, np.eye(3), (0, 0, 0.2999), (0, 0, speed), np.zeros(3))
        for speed in (3.0, -0.01)
    )
    assert rising[2] == pytest.approx(20.0)
    np.testing.assert_allclose(rising[:3] + rising[6:9], 0.0, atol=1e-9)
    np.testing.assert_allclose(pressed[:3] + pressed[6:9], [0.0, 0.0, 25.0], atol=1e-9)


def car(steer: float, speed: float) -> fm.Model:
    """A planar vehicle whose wheels take forces across them alone."""
    model = fm.Model("car", gravity=(0, 0, -G))
    wheels = {"front": fm.Frame((1.2, 0, 0), ("z", steer)), "rear": (-1.6, 0, 0)}
    model.add(fm.RigidBody("car", mass=1200.0, inertia=(300.0, 1500.0, 1800.0), frames=wheels))
    model.add(fm.Planar("plane", model.ground, "car", v0=(speed, 0, 0)))
    sizes = {"radius": 0.3, "along": 0.0, "friction": 0.9, "load": 1e6}
    model.add(fm.WheelCreep("front", "ground", "car/front", across=9e4, **sizes))
    model.add(fm.WheelCreep("rear", "ground", "car/rear", across=1.1e5, **sizes))
    return model


def test_steady_cornering() -> None:
    """Yaw rate V δ/(L + K V²), K = m (b C_r − a C_f)/(L C_f C_r)."""
    steer, speed, a, b, L = 1e-4, 20.0, 1.2, 1.6, 2.8
    found = fm.simulate(car(steer, speed), t_end=3.0, output_step=0.5, rtol=1e-8, atol=1e-10)
    K = 1200.0 * (b * 1.1e5 - a * 9e4) / (L * 9e4 * 1.1e5)
    assert found.body("car").angular_velocity[-1, 2] == pytest.approx(
        speed * steer / (L + K * speed**2), rel=2e-4
    )


def dragster(mu: float, spin: float, torque: float) -> fm.Model:
    """A chassis on a front wheel without friction and a driven rear one."""
    model = fm.Model("dragster", gravity=(0, 0, -G), frames={"start": (0, 0, 0.3)})
    frames = {"front": (1.5, 0, 0), "rear": (-0.5, 0, 0)}
    model.add(
        fm.RigidBody(
            "chassis", mass=100.0, inertia=(5.0, 20.0, 20.0), com=(0, 0, 0.25), frames=frames
        )
    )
    model.add(fm.RigidBody("wheel", mass=10.0, inertia=(0.3, 0.5, 0.3)))
    model.add(fm.Planar("plane", model.ground["start"], "chassis", axis="y"))
    model.add(fm.Revolute("axle", "chassis/rear", "wheel", axis="y", v0=spin))
    model.add(fm.DiscOnPlane("front", "ground", "chassis/front", radius=0.3))
    model.add(fm.DiscOnPlane("rear", "ground", "wheel", radius=0.3))
    model.add(fm.JointTorque("drive", "axle", torque))
    model.add(
        fm.WheelCreep(
            "tyre",
            "ground",
            "wheel",
            radius=0.3,
            along=1e5,
            across=1e5,
            friction=mu,
            contact="rear",
        )
    )
    return model


@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), FORMS)
def test_limit_of_traction(formalism: str, coordinates: str, integrator: str) -> None:
    """μ N = m a with N L = m g l + m a h: a = μ g l/(L − μ h), while the wheel spins at a constant
    rate.
    """
    mu, m, L = 0.8, 110.0, 2.0
    h, ahead = (100.0 * 0.55 + 10.0 * 0.3) / m, (100.0 * 1.5 + 10.0 * 2.0) / m
    faster = mu * G * ahead / (L - mu * h)
    fixed = integrator == "generalized-alpha"
    options: Any = {"step": 1.25e-4} if fixed else {"rtol": 1e-7, "atol": 1e-9}
    chosen = {"formalism": formalism, "coordinates": coordinates, "integrator": integrator}
    found = fm.simulate(
        dragster(mu, 100.0, m * faster * 0.3), t_end=0.5, output_step=0.1, **chosen, **options
    )
    np.testing.assert_allclose(
        found.body("chassis").velocity[:, 0], faster * found.t, atol=1e-4 if fixed else 2e-5
    )
    np.testing.assert_allclose(
        found.joint("axle").velocity[:, 0], 100.0, atol=1e-2 if fixed else 1e-4
    )
    assert found.verdict == "PASS"


def test_a_locked_wheel_on_a_tread_slides() -> None:
    """It sinks in by m g/k, and slows down by μ g."""
    model = fm.Model("skid", gravity=(0, 0, -G))
    model.add(fm.RigidBody("wheel", mass=20.0, inertia=(0.5, 0.8, 0.5)))
    deep = 20.0 * G / 2e5
    model.add(fm.Prismatic("up", "ground", "slide", axis="z", q0=0.3 - deep))
    model.add(fm.RigidBody("slide", mass=1e-6, inertia=(1e-6,) * 3))
    model.add(fm.Prismatic("along", "slide", "wheel", axis="x", v0=6.0))
    model.add(
        fm.WheelCreep(
            "tyre",
            "ground",
            "wheel",
            stiffness=2e5,
            damping=300.0,
            **(WHEEL | {"friction": 0.5, "slow": 0.01}),
        )
    )
    found = fm.simulate(model, t_end=1.0, output_step=0.1, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        found.body("wheel").velocity[:, 0], 6.0 - 0.5 * G * found.t, atol=1e-4
    )
    np.testing.assert_allclose(found.body("wheel").position[:, 2], 0.3 - deep, atol=1e-6)
    assert found.verdict == "PASS"


def test_declarations_are_checked() -> None:
    sizes: Any = {"radius": 0.3, "along": 1e5, "across": 1e5, "friction": 0.8}
    with pytest.raises(
        fm.InputError,
        match=r"^forces\.t\.load: is missing; give one of load, contact and stiffness",
    ):
        fm.WheelCreep("t", "ground", "wheel", **sizes)
    with pytest.raises(
        fm.InputError, match=r"^forces\.t\.load: load and stiffness are given; give one of"
    ):
        fm.WheelCreep("t", "ground", "wheel", load=1.0, stiffness=1e5, **sizes)
    with pytest.raises(fm.InputError, match=r"^forces\.t\.load: must be >= 0, not -1"):
        fm.WheelCreep("t", "ground", "wheel", load=-1.0, **sizes)
    with pytest.raises(
        fm.InputError,
        match=r"^forces\.t\.damping: requires a stiffness; omit it, or give stiffness",
    ):
        fm.WheelCreep("t", "ground", "wheel", load=1.0, damping=3.0, **sizes)
    model = dragster(0.8, 1.0, 1.0)
    model.add(fm.WheelCreep("wrong", "ground", "wheel", contact="front", **sizes))
    model.add(fm.WheelCreep("none", "ground", "wheel", contact="raer", **sizes))
    sizes |= {"contact": "rear"}
    model.add(fm.WheelCreep("larger", "ground", "wheel", **sizes | {"radius": 0.4}))
    model.add(fm.WheelCreep("turned", "ground", "wheel", **sizes, normal="x"))
    model.add(fm.WheelCreep("hung", "chassis", "wheel", **sizes | {"contact": "axle"}))
    assert model.check().errors == [
        "forces.wrong.contact: the child of 'front' is 'chassis/front', not frame_b = "
        "'wheel'; read the contact of this wheel",
        "forces.none.contact: no joint 'raer'; did you mean 'rear'?",
        "forces.larger.contact: 'rear' has radius 0.3, this wheel 0.4; give both the same value",
        "forces.turned.contact: 'rear' has normal (0.0, 0.0, 1.0), this wheel "
        "(1.0, 0.0, 0.0); give both the same value",
        "forces.hung.contact: 'axle' is a joint (revolute); read the relation of the "
        "contact, such as disc-on-plane",
    ]


def wheel(angle: float, **load: Any) -> fm.Model:
    """A wheel turned about the x axis."""
    model = fm.Model("wheel", gravity=(0, 0, -G))
    model.add(fm.RigidBody("wheel", mass=10.0, inertia=(0.3, 0.5, 0.3)))
    q0 = (0, 0, 0.3, np.cos(angle / 2.0), np.sin(angle / 2.0), 0, 0)
    model.add(fm.Free("free", model.ground, "wheel", q0=q0))
    model.add(fm.FrameForce("other", "wheel", force=(1.0, 0, 0)))
    model.add(
        fm.WheelCreep(
            "tyre", "ground", "wheel", radius=0.3, along=1e5, across=1e5, friction=0.8, **load
        )
    )
    return model


@pytest.mark.parametrize("load", [{"stiffness": 1e5}, {"load": 100.0}])
def test_a_wheel_flat_on_its_plane_is_named(load: Any) -> None:
    text = (
        r"^forces\.tyre: the wheel lies flat on its plane, .*; tilt it, or correct axis or normal$"
    )
    with pytest.raises(fm.InputError, match=text):
        fm.simulate(wheel(np.pi / 2.0, **load), t_end=0.1)


def test_statics_names_a_wheel_that_it_turns_flat() -> None:
    model = wheel(0.0, stiffness=1e5)
    del model.forces["other"]
    with pytest.raises(fm.SolverError, match=r"^forces\.tyre: the wheel lies flat on its plane"):
        fm.statics(model)


def test_a_load_that_is_no_number_ends_the_run() -> None:
    """It is not taken for a wheel without load."""
    model = car(0.0, 10.0)
    model.forces["front"] = dataclasses.replace(model.forces["front"], load=lambda t: np.nan)
    with pytest.raises(
        fm.InputError, match=r"forces\.front\.load: its function returned a non-finite value"
    ):
        fm.simulate(model, t_end=0.1)


def test_small_motions_of_a_wheelset() -> None:
    """Decay rates of two cylindrical wheels under a given load: 2 C₂/(m V), 2 C₁ b²/(I V) and 2 C₁
    (R²/J + 1/m)/V.
    """
    speed, R, b, m, inertia, J = 20.0, 0.45, 0.75, 1500.0, 800.0, 100.0
    model = fm.Model("wheelset", gravity=(0, 0, 0))
    model.add(fm.RigidBody("frame", mass=1e-6, inertia=(1e-6,) * 3))
    model.add(
        fm.RigidBody(
            "set",
            mass=m,
            inertia=(inertia, J, inertia),
            frames={"left": (0, b, 0), "right": (0, -b, 0)},
        )
    )
    model.add(fm.Planar("plane", model.ground, "frame", v0=(speed, 0, 0)))
    model.add(fm.Revolute("axle", "frame", "set", axis="y", v0=speed / R))
    for side in ("left", "right"):
        model.add(
            fm.WheelCreep(
                side,
                "ground",
                f"set/{side}",
                radius=R,
                along=1e7,
                across=8e6,
                friction=0.3,
                load=5e4,
            )
        )
    found = fm.linearize(model)
    rates = [
        1.6e7 / (m * speed),
        2e7 * b**2 / (inertia * speed),
        2e7 * (R**2 / J + 1.0 / m) / speed,
    ]
    np.testing.assert_allclose(
        np.sort(-np.linalg.eigvals(found.A).real)[-3:], np.sort(rates), rtol=1e-4
    )
    assert found.steady
    assert "not steady" not in str(found)


def test_a_wheel_that_turns_with_its_axes_is_not_steady() -> None:
    """Matrices in axes that turn about the axle are those of
    an instant; what is printed says so.
    """
    model = fm.Model("wheel", gravity=(0, 0, -G))
    model.add(fm.RigidBody("wheel", mass=10.0, inertia=(0.3, 0.5, 0.3)))
    model.add(
        fm.Free(
            "free", model.ground, "wheel", q0=(0, 0, 0.3, 1, 0, 0, 0), v0=(3.0, 0, 0, 0, 10.0, 0)
        )
    )
    model.add(fm.DiscOnPlane("disc", model.ground, "wheel", radius=0.3))
    found = fm.linearize(model)
    assert not found.steady
    assert ", not steady: modes of this instant alone" in str(found)
