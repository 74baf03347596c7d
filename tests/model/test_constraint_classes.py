"""The classes of constraints in the report of a check, and the corresponding degrees of freedom."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.model.chain_twists import chain_twists, translations
from flexmbs.motions import FixedRotation, FixedTranslation, Rotate, ScrewMotion, Slide

UNIT = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}


def report(model: fm.Model) -> dict[str, list[str]]:
    """Sections of the report, and the classes of the constraints."""
    found = model.check()
    assert not found.errors
    return {**found.sections, "classes": found.classes}


def test_table_of_classes() -> None:
    model = fm.Model("m", frames={"end": (1.0, 0.0, 0.0)})
    for name in ("crank", "coupler", "rocker"):
        model.add(fm.RigidBody(name, frames={"tip": (1.0, 0.0, 0.0)}, **UNIT))
    model.add(fm.Revolute("main", "ground", "crank", q0=np.pi / 2))
    model.add(fm.Revolute("pin", "crank/tip", "coupler", q0=-np.pi / 2))
    model.add(fm.Revolute("end", "ground/end", "rocker", q0=np.pi / 2))
    model.add(fm.Spherical("last", "coupler/tip", "rocker/tip"))
    model.add(fm.Drive("motor", "main", fm.Ramp(np.pi / 2, 1.0)))
    model.add(fm.JointLimit("stop", "end", lower=-3.0, upper=3.0))
    model.add(fm.SpherePlane("ball", "ground", "coupler/tip", radius=0.1))
    sections = report(model)
    assert sections["constraints"] == [
        "main   revolute      5 rows",
        "pin    revolute      5 rows",
        "end    revolute      5 rows",
        "last   spherical     3 rows",
        "motor  drive         1 row   time-dependent",
        "stop   joint-limit   2 rows  unilateral",
        "ball   sphere-plane  1 row   unilateral",
    ]
    assert sections["classes"] == [
        "main   revolute      5 rows  holonomic  scleronomic  bilateral   geometric  explicit",
        "pin    revolute      5 rows  holonomic  scleronomic  bilateral   geometric  explicit",
        "end    revolute      5 rows  holonomic  scleronomic  bilateral   geometric  explicit",
        "last   spherical     3 rows  holonomic  scleronomic  bilateral   geometric  implicit",
        "motor  drive         1 row   holonomic  rheonomic    bilateral   kinematic  implicit",
        "stop   joint-limit   2 rows  holonomic  scleronomic  unilateral  geometric  implicit",
        "ball   sphere-plane  1 row   holonomic  scleronomic  unilateral  geometric  implicit",
    ]
    assert sections["degrees of freedom"][:3] == [
        "planar motion: f = 3·3 − 8 = 1 (3n − b), 0 left by drives and couplings",
        "f = 6·3 − 18 = 0 rigid-body degrees of freedom (6n − b, redundant constraints "
        "not considered)",
        "1 prescribed by drives",
    ]


def test_a_drive_that_holds_is_scleronomic() -> None:
    model = fm.Model("m")
    model.add(fm.RigidBody("arm", **UNIT))
    model.add(fm.Revolute("hinge", "ground", "arm"))
    model.add(fm.Drive("brake", "hinge", 0.0))
    assert (
        report(model)["classes"][1]
        == "brake  drive     1 row   holonomic  scleronomic  bilateral  kinematic  implicit"
    )


def points(*, planar: bool) -> fm.Model:
    """Two points at a constant distance."""
    model = fm.Model("points", gravity=(0.0, 0.0, 0.0))
    motions = [Slide(axis) for axis in ("xy" if planar else "xyz")]
    for name, x in (("first", 0.0), ("second", 1.0)):
        model.add(fm.PointMass(name, mass=1.0))
        model.add(
            fm.Chain(
                f"place of {name}",
                "ground",
                name,
                motions=motions,
                q0=(x, *[0.0] * (len(motions) - 1)),
            )
        )
    model.add(fm.Distance("rod", "first", "second", length=1.0))
    return model


def test_points_in_a_plane_and_in_space() -> None:
    """2 n_p − b and 3 n_p − b with the one equation of the rod."""
    plane = report(points(planar=True))
    assert plane["degrees of freedom"][0] == "points in a plane: f = 2·2 − 1 = 3 (2n_p − b)"
    assert "point masses only: f = 3·2 − 3 = 3 (3n − b)" in plane["degrees of freedom"]
    space = report(points(planar=False))
    assert "point masses only: f = 3·2 − 1 = 5 (3n − b)" in space["degrees of freedom"]
    assert not any("plane" in line for line in space["system"])


def test_a_point_on_two_rods() -> None:
    """It moves by three translations; beside the mass rods would turn it."""
    model = fm.Model("point", frames={"a": (0, 0, 0), "b": (1, 0, 0)})
    model.add(fm.PointMass("point", mass=1.0))
    for end, angle in (("a", -np.pi / 3), ("b", -2 * np.pi / 3)):
        model.add(
            fm.Distance(
                f"rod {end}",
                f"ground/{end}",
                "point",
                length=1.0,
                axis=(np.cos(angle), np.sin(angle), 0),
            )
        )
    assert not model.check().errors
    lines = report(model)["degrees of freedom"]
    assert "point masses only: f = 3·1 − 2 = 1 (3n − b)" in lines
    assert (
        "f = 6·1 − 5 = 1 rigid-body degrees of freedom (6n − b, redundant constraints not "
        "considered)" in lines
    )


def test_nonholonomic_rows_lower_the_degrees_of_freedom_in_velocity_alone() -> None:
    model = fm.Model("sleigh", gravity=(0.0, 0.0, 0.0))
    model.add(fm.RigidBody("sleigh", **UNIT))
    model.add(fm.Planar("floor", "ground", "sleigh"))
    model.add(fm.KnifeEdge("blade", "ground", "sleigh"))
    sections = report(model)
    assert (
        sections["degrees of freedom"][0]
        == "planar motion: f = 3·1 − 0 = 3 (3n − b), 2 in velocity"
    )
    assert sections["degrees of freedom"][1].startswith("f = 6·1 − 3 = 3 ")
    assert (
        sections["degrees of freedom"][2]
        == "κ = 1 nonholonomic equation: 2 velocity degrees of freedom"
    )
    assert (
        "blade  knife-edge  1 row   nonholonomic  scleronomic  bilateral  geometric  implicit"
        in sections["classes"]
    )
    assert "3 degrees of freedom in position, 2 in velocity" in sections["system"]


@pytest.mark.parametrize("after", [None, 0, 1, 3])
def test_twists_of_a_chain(after) -> None:
    """Velocities of the child frame by differences of its pose, carried to the frame behind some of
    the motions.
    """
    motions = (
        Rotate("x"),
        Slide((1.0, 2.0, 0.5)),
        FixedRotation("z", 0.3),
        ScrewMotion("y", pitch=0.2),
        FixedTranslation((0.1, 0.2, 0.3)),
    )
    q, rate, h = np.array([0.4, -0.7, 1.1]), np.array([0.3, -1.2, 0.8]), 1e-5

    def pose(q: np.ndarray, count: int) -> np.ndarray:
        """Homogeneous transformation behind the first motions, by matrix exponentials."""
        from scipy.linalg import expm

        T, k = np.eye(4), 0
        for motion in motions[:count]:
            v, w = np.zeros(3), np.zeros(3)
            if isinstance(motion, (Rotate, ScrewMotion)):
                w = np.array(motion.axis)
                v = getattr(motion, "pitch", 0.0) * w
            elif isinstance(motion, Slide):
                v = np.array(motion.axis)
            elif isinstance(motion, FixedRotation):
                w = motion.angle * np.array(motion.axis)
            else:
                v = np.array(motion.displacement)
            size = q[k] if motion.nq else 1.0
            k += motion.nq
            X = np.zeros((4, 4))
            X[:3, :3], X[:3, 3] = np.cross(w, np.eye(3)).T, v
            T = T @ expm(size * X)
        return T

    end = len(motions)
    at, child = pose(q, end if after is None else after), pose(q, end)
    change = (pose(q + h * rate, end) - pose(q - h * rate, end)) / (2.0 * h) @ np.linalg.inv(child)
    V = np.linalg.inv(at) @ change @ at
    found = chain_twists(motions, q, after) @ rate
    np.testing.assert_allclose(found, [*V[:3, 3], V[2, 1], V[0, 2], V[1, 0]], atol=1e-8)
    assert translations(motions) == 3
