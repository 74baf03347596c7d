"""Sixteen models of single joints against MSC Adams, 5 s each.

Compared are position, velocity and acceleration of the centre of mass, orientation, angular
velocity and acceleration, and the force of the joint, to 1e-4 of the largest value (at least 1)
that the quantity takes in the 5 s. Adams' own results are worse than that for the universal joint
(8e-4) and in the few quantities of `ACCURACY_OF_ADAMS`; there the motion is compared with an
independent integration of its plane equations of motion as well.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.model.frames import BodyHandle
from flexmbs.motions import Ball, FixedTranslation, Rotate

Vector = tuple[float, float, float]
PUBLISHED = json.loads((Path(__file__).parent / "data" / "adams_joints.json").read_text())["cases"]
TOLERANCE = 1e-4
ACCURACY_OF_ADAMS = {
    "Universal_Case01": 8e-4,
    "Universal_Case02": 8e-4,
    "Revolute_Case02 Aacc": 1.2e-4,
    "TranSpringCB_Case04 Avel": 1.2e-4,
    "TranSpringCB_Case04 Aacc": 1.8e-4,
}
GRAVITY = (0.0, 0.0, -9.80665)
LONG, TALL = (0.04, 0.1, 0.1), (0.1, 0.1, 0.04)
TILTED = ("x", -np.pi / 4.0)


def start(
    name: str, place: Vector, rotation: object = None, **body: object
) -> tuple[fm.Model, fm.FrameRef, BodyHandle]:
    """Model with the ground frame "place" and the body, 1 kg, with its centre of mass at its
    origin.
    """
    model = fm.Model(name, gravity=GRAVITY, frames={"place": fm.Frame(place, rotation=rotation)})
    return model, model.ground["place"], model.add(fm.RigidBody("bar", mass=1.0, **body))


def lower_pair(kind: Callable[..., fm.Revolute], place: Vector, rotation: object) -> fm.Model:
    """Bar along x, its joint frame 2 m before the centre of
    mass, axes of bar and joint parallel.
    """
    model, ground, bar = start(
        "pair", place, rotation, inertia=LONG, frames={"joint": (-2.0, 0.0, 0.0)}
    )
    model.add(kind("joint", ground, bar["joint"]))
    return model


def universal(rotation: object) -> fm.Model:
    model, ground, bar = start(
        "universal", (0.0, 0.0, 0.0), rotation, inertia=TALL, frames={"joint": (0.0, 0.0, 2.0)}
    )
    model.add(fm.Universal("joint", ground, bar["joint"]))
    return model


def sliding_along_z(name: str, parent: fm.FrameRef, child: fm.FrameRef) -> fm.Prismatic:
    return fm.Prismatic(name, parent, child, axis="z")


# Rods of 2 m along +y in the world at the start. Azimuth and elevation are singular along the first
# axis of the chain; the frames of both ends have the rod along their x axis and the singular axis
# where the rod never comes.
ALONG_Y_AZIMUTH_ABOUT_X = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))  # columns y, z, x
QUARTER_TURN = ("z", -np.pi / 2.0)


def on_a_rod(case: int) -> fm.Model:
    """Bar hung by one end on a rod with ball ends: across the rod (2) or in line with it (3)."""
    axes = np.array(ALONG_Y_AZIMUTH_ABOUT_X)
    if case == 2:
        place, turn, end = (1.0, 2.0, 3.0), np.eye(3), (2.0, 0.0, 0.0)
    else:
        place, turn, end = (
            (0.0, 0.0, 0.0),
            Rotation.from_euler("z", -90.0, degrees=True).as_matrix(),
            (2.0, 0.0, 0.0),
        )
    model, ground, bar = start(
        "rod", place, axes, inertia=LONG, frames={"end": fm.Frame(end, rotation=turn.T @ axes)}
    )
    model.add(fm.Distance("joint", ground, bar["end"], length=2.0))
    return model


def hinge_and_ball(place: Vector, axis: Vector) -> fm.Model:
    """Massless link of 2 m along x on a hinge, with a ball at its end."""
    frames = {"end": (0.0, -2.0, 0.0)}
    model, ground, bar = start("link", place, inertia=(0.1, 0.04, 0.1), frames=frames)
    model.add(
        fm.Chain(
            "joint",
            ground,
            bar["end"],
            motions=(Rotate(axis), FixedTranslation((2.0, 0.0, 0.0)), Ball()),
        )
    )
    return model


def turning_spring(law: object) -> fm.Model:
    model = lower_pair(fm.Revolute, (0.0, 0.0, 0.0), ("x", -np.pi / 2.0))
    model.add(fm.JointTorque("spring", "joint", law))
    return model


def on_a_spring(
    place: Vector, middle: Vector, rotation: object, end: Vector, **law: object
) -> fm.Model:
    """Free bar on a spring from ``place`` to its frame "end"; free length 2 m."""
    frames = {"place": place, "middle": fm.Frame(middle, rotation=rotation)}
    model = fm.Model("spring", gravity=GRAVITY, frames=frames)
    bar = model.add(fm.RigidBody("bar", mass=1.0, inertia=LONG, frames={"end": end}))
    model.add(fm.Free("free", model.ground["middle"], bar))
    model.add(fm.PointSpring("spring", model.ground["place"], bar["end"], length=2.0, **law))
    return model


def stiffening(t: float, elongation: float, rate: float) -> float:
    return 50.0 * elongation + 10.0 * abs(elongation) * elongation + 5.0 * rate


def stiffening_about(t: float, angle: float, rate: float) -> float:
    return -(50.0 + 10.0 * abs(angle)) * angle - 10.0 * rate


ORIGIN, ASIDE = (0.0, 0.0, 0.0), (1.0, 2.0, 3.0)
CASES: dict[str, Callable[[], fm.Model]] = {
    "Revolute_Case01": lambda: lower_pair(fm.Revolute, ORIGIN, ("x", -np.pi / 2.0)),
    "Revolute_Case02": lambda: lower_pair(fm.Revolute, ASIDE, TILTED),
    "Spherical_Case02": lambda: lower_pair(fm.Spherical, ASIDE, TILTED),
    "Cylindrical_Case03": lambda: lower_pair(fm.Cylindrical, ASIDE, TILTED),
    "Prismatic_Case02": lambda: lower_pair(sliding_along_z, ASIDE, TILTED),
    "Universal_Case01": lambda: universal(("x", np.pi / 2.0)),
    "Universal_Case02": lambda: universal(("y", np.pi / 2.0)),
    "Distance_Case02": lambda: on_a_rod(2),
    "Distance_Case03": lambda: on_a_rod(3),
    "RevSpherical_Case01": lambda: hinge_and_ball(ORIGIN, (0.0, 0.0, 1.0)),
    "RevSpherical_Case02": lambda: hinge_and_ball(ASIDE, (0.0, 1.0, 1.0)),
    "RotSpring_Case01": lambda: turning_spring(fm.SpringDamper(k=200.0, c=10.0)),
    "RotSpring_Case02": lambda: turning_spring(stiffening_about),
    "TranSpring_Case02": lambda: on_a_spring(ORIGIN, (0.0, 2.0, 0.0), None, ORIGIN, k=100.0, c=5.0),
    "TranSpringCB_Case03": lambda: on_a_spring(
        ASIDE, (-1.0, 4.0, 3.0), None, (2.0, 0.0, 0.0), law=stiffening
    ),
    "TranSpringCB_Case04": lambda: on_a_spring(
        ORIGIN, (0.0, 4.0, 0.0), QUARTER_TURN, (2.0, 0.0, 0.0), law=stiffening
    ),
}


def found(solution: fm.Solution) -> dict[str, np.ndarray]:
    """The quantities of the published tables, at their times."""
    bar = solution.body("bar")
    quaternion = Rotation.from_matrix(bar.rotation).as_quat()[:, [3, 0, 1, 2]]
    values = {
        "Pos": bar.position, "Vel": bar.velocity, "Acc": bar.acceleration, "Quat": quaternion,
        "Avel": bar.angular_velocity, "Aacc": bar.angular_acceleration,
    }  # fmt: skip
    if "joint" in solution.joints:
        values["Rforce"] = -solution.joint("joint").force
    return values


def run(case: str, coordinates: str) -> fm.Solution:
    return fm.simulate(
        CASES[case](),
        t_end=5.0,
        output_step=0.02,
        coordinates=coordinates,
        integrator="dormand-prince",
        rtol=1e-10,
        atol=1e-10,
        stabilization="none" if coordinates == "joint" else "projection",
    )


def at_seconds(values: np.ndarray) -> np.ndarray:
    """Rows at 1, 2, 3, 4, 5 s."""
    return np.asarray(values[50::50])


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("case", CASES)
def test_joint_against_adams(case: str, coordinates: str) -> None:
    values = found(run(case, coordinates))
    compared = [quantity for quantity in values if quantity in PUBLISHED[case]]
    assert len(compared) >= 6
    for quantity in compared:
        published, value = np.array(PUBLISHED[case][quantity])[:, 1:], at_seconds(values[quantity])
        if quantity == "Quat":
            value = value * np.sign(np.sum(value * published, axis=1))[:, None]
        scale = max(1.0, np.linalg.norm(values[quantity], axis=1).max())
        tolerance = ACCURACY_OF_ADAMS.get(
            case, ACCURACY_OF_ADAMS.get(f"{case} {quantity}", TOLERANCE)
        )
        assert np.abs(value - published).max() <= tolerance * scale, quantity


def plane_motion(
    acceleration: Callable[[np.ndarray, np.ndarray], np.ndarray], start: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Positions, velocities, accelerations at 1 … 5 s of ẍ = acceleration(x, ẋ) from rest."""
    n = len(start)

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], acceleration(y[:n], y[n:])])

    y = solve_ivp(
        rate,
        (0.0, 5.0),
        [*start, *np.zeros(n)],
        "DOP853",
        np.arange(1.0, 6.0),
        rtol=1e-12,
        atol=1e-12,
    ).y.T
    x, v = y[:, :n], y[:, n:]
    return x, v, np.array([acceleration(a, b) for a, b in zip(x, v)])


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(
    ("case", "axis", "gravity"),
    [
        ("Revolute_Case02", (0.0, 0.5**0.5, 0.5**0.5), 0.5**0.5 * 9.80665),
        ("Universal_Case01", (-1.0, 0.0, 0.0), 9.80665),
        ("Universal_Case02", (0.0, -1.0, 0.0), 9.80665),
    ],
)
def test_pendulum_of_the_bar(
    case: str, axis: tuple[float, float, float], gravity: float, coordinates: str
) -> None:
    """(I + m d²) θ̈ = m g d cos θ about a fixed axis."""
    bar = run(case, coordinates).body("bar")
    _, rate, acceleration = plane_motion(
        lambda x, v: gravity * 2.0 / (0.1 + 4.0) * np.cos(x), np.zeros(1)
    )
    np.testing.assert_allclose(at_seconds(bar.angular_velocity), rate * axis, atol=1e-7)
    np.testing.assert_allclose(at_seconds(bar.angular_acceleration), acceleration * axis, atol=1e-7)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_bar_on_a_stiffening_spring(coordinates: str) -> None:
    """Plane motion (y, z, angle about x) of the bar of TranSpringCB_Case04; its end is 2 m from its
    centre of mass.
    """

    def acceleration(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        arm = -2.0 * np.array([np.cos(x[2]), np.sin(x[2])])
        end, end_rate = x[:2] + arm, v[:2] + v[2] * np.array([-arm[1], arm[0]])
        length = np.hypot(*end)
        force = -stiffening(0.0, length - 2.0, end @ end_rate / length) * end / length
        return np.array(
            [force[0], force[1] - 9.80665, (arm[0] * force[1] - arm[1] * force[0]) / 0.1]
        )

    bar = run("TranSpringCB_Case04", coordinates).body("bar")
    x, v, a = plane_motion(acceleration, np.array([4.0, 0.0, 0.0]))
    np.testing.assert_allclose(at_seconds(bar.position)[:, 1:], x[:, :2], atol=1e-7)
    np.testing.assert_allclose(at_seconds(bar.angular_velocity)[:, 0], v[:, 2], atol=1e-6)
    np.testing.assert_allclose(at_seconds(bar.angular_acceleration)[:, 0], a[:, 2], atol=2e-5)
