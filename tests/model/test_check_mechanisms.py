"""Warnings of `Model.check` about valid declarations of another mechanism than the one intended."""

import numpy as np
import pytest
from declared import rod

import flexmbs as fm
from flexmbs.model.check import declaration_report

GEARS = {
    "gear": lambda a, b: fm.Gear("teeth", a, b, ratio=0.75),
    "belt": lambda a, b: fm.Belt("teeth", a, b, radii=(0.1, 0.2)),
    "differential": lambda a, b: fm.Differential("teeth", "arm", a, b),
}


def planetary(sun_from: str) -> fm.Model:
    """A sun on the ground or the arm and a planet on the arm, which turns about the axis of the
    sun.
    """
    model = fm.Model("planetary", gravity=(0, 0, 0))
    model.add(fm.RigidBody("arm", mass=0.5, inertia=(4e-4,) * 3, frames={"pin": (0.035, 0, 0)}))
    for name in ("sun", "planet"):
        model.add(fm.RigidBody(name, mass=0.1, inertia=(5e-5,) * 3))
    model.add(fm.Revolute("arm", "ground", "arm", axis="z"))
    model.add(fm.Revolute("sun", sun_from, "sun", axis="z"))
    model.add(fm.Revolute("planet", "arm/pin", "planet", axis="z"))
    return model


def warned(model: fm.Model, words: str) -> list[str]:
    report = model.check()
    assert not report.errors
    return [line for line in report.warnings if words in line]


@pytest.mark.parametrize("kind", ["gear", "belt"])
def test_gears_without_a_common_carrier(kind: str) -> None:
    """The planet turns on the arm: the angle of the sun relative to the ground does not fix it."""
    wrong, right = planetary("ground"), planetary("arm")
    for model in (wrong, right):
        model.add(GEARS[kind]("sun", "planet"))
    [line] = warned(wrong, "no body in common")
    assert "couplings.teeth: joints 'sun' (ground → sun) and 'planet' (arm → planet)" in line
    assert not warned(right, "no body in common")


@pytest.mark.parametrize(
    "kind, slides, right, wrong",
    [
        ("belt", False, ("z", "-z"), ("x", (1, 0, 1))),
        ("rack", True, ("x", "y"), ("z", (0, 1, 1))),
        ("screw", True, ("z", "-z"), ("x", (0, 1, 1))),
    ],
)
def test_axes_that_a_transmission_needs(kind, slides, right, wrong) -> None:
    """A belt and a screw need parallel axes, a rack slides across the axis of its pinion."""
    for axes, fits in ((right, True), (wrong, False)):
        for axis in axes:
            model = fm.Model(kind)
            for name in ("a", "b"):
                model.add(fm.RigidBody(name, mass=1.0, inertia=(1, 1, 1)))
            model.add(fm.Revolute("A", model.ground, "a", axis="z"))
            joint = fm.Prismatic if slides else fm.Revolute
            model.add(joint("B", model.ground, "b", axis=axis))
            model.add(
                {
                    "belt": lambda: fm.Belt("C", "A", "B", radii=(0.1, 0.1)),
                    "rack": lambda: fm.RackPinion("C", "A", "B", radius=0.1),
                    "screw": lambda: fm.ScrewCoupler("C", "A", "B", lead=0.1),
                }[kind]()
            )
            assert bool(warned(model, "it needs axes")) is not fits


def test_the_relation_of_a_gear_with_a_common_carrier_is_rolling() -> None:
    """The remedy gives Willis' ratio: carrier over sun 20/(20 + 50) with the ring of 50 teeth
    fixed.
    """
    model = planetary("arm")
    model.add(fm.Gear("teeth", "sun", "planet", ratio=15 / 20))
    model.add(fm.LinearCoupling("ring", {"arm": 50.0, "planet": 15.0}))
    model.joints["arm"] = fm.Revolute("arm", "ground", "arm", axis="z", v0=1.0)
    rates = fm.assemble(model).joints
    sun = rates["arm"].velocity[0] + rates["sun"].velocity[0]
    assert rates["arm"].velocity[0] / sun == pytest.approx(20 / 70)


@pytest.mark.parametrize("slides", [True, False])
def test_carriers_that_only_translate_keep_angles(slides: bool) -> None:
    """Parts that cannot rotate relative to each other count as one carrier for angles."""
    model = fm.Model("two slides", gravity=(0, 0, 0))
    for name in ("table", "one", "two"):
        model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1,) * 3))
    carrier = fm.Prismatic if slides else fm.Revolute
    model.add(carrier("guide", "ground", "table", axis="x"))
    model.add(fm.Revolute("first", "ground", "one", axis="z"))
    model.add(fm.Revolute("second", "table", "two", axis="z"))
    model.add(fm.Belt("belt", "first", "second", radii=(0.1, 0.2)))
    assert bool(warned(model, "no body in common")) is not slides


def planet_on_an_arm(*, parent: str, axis: str, turned: bool = False) -> fm.Model:
    """A planet that rolls on a fixed sun, with the angle of the arm measured from either side."""
    model = fm.Model("planet", gravity=(0, 0, 0))
    end = fm.Frame((0.5, 0, 0), rotation=("x", np.pi) if turned else None)
    model.add(fm.RigidBody("arm", mass=1.0, inertia=(0.1,) * 3, frames={"end": end}))
    model.add(fm.RigidBody("planet", mass=1.0, inertia=(0.1,) * 3))
    ends = ("ground", "arm") if parent == "ground" else ("arm", "ground")
    model.add(fm.Revolute("arm", *ends, axis=axis, v0=1.0))
    model.add(fm.Revolute("planet", "arm/end", "planet", axis="z"))
    model.add(fm.Gear("teeth", "arm", "planet", ratio=2.0))
    return model


@pytest.mark.parametrize(
    ("parent", "axis", "turned", "right"),
    [
        ("ground", "z", False, False),
        ("arm", "z", False, True),
        ("ground", "-z", False, True),
        ("arm", "-z", False, False),
        ("ground", "z", True, True),
        ("arm", "z", True, False),
    ],
)
def test_angles_measured_in_opposite_directions(
    parent: str, axis: str, turned: bool, right: bool
) -> None:
    """A planet of twice the radius of the fixed sun turns by 1 + 1/2 times the angle of the arm, by
    1 − 1/2 with the wrong sign.
    """
    model = planet_on_an_arm(parent=parent, axis=axis, turned=turned)
    assert bool(warned(model, "turn in opposite directions relative to 'arm'")) is not right
    rates = fm.assemble(model).joints
    arm = rates["arm"].velocity[0] * (1 if (parent == "ground") == (axis == "z") else -1)
    planet = arm + rates["planet"].velocity[0] * (-1 if turned else 1)
    assert planet / arm == pytest.approx(1.5 if right else 0.5)


def test_rack_on_a_moving_table_needs_a_common_carrier() -> None:
    """Displacement of the rack relative to a sliding table is not that relative to the pinion."""
    model = fm.Model("rack", gravity=(0, 0, 0))
    for name in ("table", "pinion", "rack"):
        model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1,) * 3))
    model.add(fm.Prismatic("guide", "ground", "table", axis="x"))
    model.add(fm.Revolute("column", "ground", "pinion", axis="z"))
    model.add(fm.Prismatic("slide", "table", "rack", axis="x"))
    model.add(fm.RackPinion("teeth", "column", "slide", radius=0.05))
    assert warned(model, "no body in common")


EXTENDED = {
    "curve": lambda a, b: fm.PointOnCurve(
        "c", a, b, points=[(x, 0, 0) for x in np.linspace(-1, 1, 5)]
    ),
    "plane": lambda a, b: fm.SpherePlane("c", a, b, radius=0.1),
    "edge": lambda a, b: fm.CornerLine("c", a, b),
}


@pytest.mark.parametrize("kind", EXTENDED)
def test_extended_shapes_on_flexible_bodies(kind: str) -> None:
    for body in (
        fm.FlexibleBody("carrier", data=rod()),
        fm.RigidBody("carrier", mass=1.0, inertia=(0.1,) * 3),
    ):
        model = fm.Model("slider")
        model.add(body)
        model.add(fm.RigidBody("slider", mass=1.0, inertia=(0.1,) * 3))
        model.add(fm.Fixed("base", "ground", "carrier"))
        model.add(fm.Planar("way", "ground", "slider", axis="z", q0=(0.0, 0.3, 0.0)))
        model.add(EXTENDED[kind]("carrier", "slider"))
        lines = [
            line for line in declaration_report(model).warnings if "its shape is rigid" in line
        ]
        assert bool(lines) is (body.kind == "flexible")


def four_bar(lengths: tuple[float, float, float, float], closing: type) -> fm.Model:
    """Crank, coupler, rocker and ground link; the last joint is of the given kind."""
    model = fm.Model("four-bar", frames={"far": (lengths[3], 0, 0)})
    for name, length in zip(("crank", "coupler", "rocker"), lengths):
        frames = {"a": (0, 0, 0), "b": (length, 0, 0)}
        model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1,) * 3, frames=frames))
    model.add(fm.Revolute("main", "ground", "crank/a", q0=1.0))
    model.add(fm.Revolute("pin", "crank/b", "coupler/a", q0=-1.0))
    model.add(fm.Revolute("foot", "ground/far", "rocker/a", q0=1.0))
    model.add(closing("knee", "coupler/b", "rocker/b"))
    return model


@pytest.mark.parametrize("closing", [fm.Revolute, fm.Spherical, fm.Cylindrical])
@pytest.mark.parametrize(
    ("lengths", "passes"),
    [
        ((0.3, 0.8, 0.3, 0.8), True),
        ((0.4, 0.6, 0.6, 0.4), True),
        ((0.3, 0.8, 0.5, 0.8), False),
        ((0.3, 0.5, 0.6, 0.8), True),
    ],
)
def test_change_points_of_four_bars(
    lengths: tuple[float, ...], passes: bool, closing: type
) -> None:
    """Grashof: all links in line if s + l = p + q."""
    assert bool(warned(four_bar(lengths, closing), "change points")) is passes


@pytest.mark.parametrize("rocker", [0.3, 0.31])
def test_change_points_of_four_bars_closed_by_ball_and_universal_joints(rocker: float) -> None:
    """As with hinges, if two parallel hinges keep the motion in a plane."""
    model = fm.Model("four-bar", frames={"far": (0.8, 0, 0)})
    for name, length in (("crank", 0.3), ("coupler", 0.8), ("rocker", rocker)):
        frames = {"a": (0, 0, 0), "b": (length, 0, 0)}
        model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1,) * 3, frames=frames))
    model.add(fm.Revolute("main", "ground", "crank/a", q0=1.0))
    model.add(fm.Revolute("pin", "crank/b", "coupler/a", q0=-1.0))
    model.add(fm.Universal("foot", "ground/far", "rocker/a", axes=("z", "y"), q0=(1.0, 0)))
    model.add(fm.Spherical("knee", "coupler/b", "rocker/b"))
    assert bool(warned(model, "change points")) is (rocker == 0.3)


@pytest.mark.parametrize("turn", [0.0, 0.7])
@pytest.mark.parametrize(
    ("crank", "rod_length", "offset", "passes"),
    [
        (0.3, 0.3, 0.0, True),
        (0.3, 0.8, 0.0, False),
        (0.3, 0.8, 0.5, True),
        (0.3, 0.8, -0.5, True),
        (0.8, 0.3, 0.5, True),
        (0.3, 0.3, 0.1, False),
    ],
)
def test_change_points_of_slider_cranks(
    crank: float, rod_length: float, offset: float, passes: bool, turn: float
) -> None:
    """Crank and rod in line across the slide if |r − l| = |e|."""
    c, s = np.cos(turn), np.sin(turn)
    way = fm.Frame((-offset * s, offset * c, 0), rotation=("z", turn))
    model = fm.Model("crank", frames={"way": way})
    for name, length in (("crank", crank), ("rod", rod_length)):
        frames = {"a": (0, 0, 0), "b": (length, 0, 0)}
        model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1,) * 3, frames=frames))
    model.add(fm.RigidBody("slider", mass=1.0, inertia=(0.1,) * 3))
    angle = turn + 0.4
    model.add(fm.Revolute("main", "ground", "crank/a", q0=angle))
    pin = crank * np.array([np.cos(0.4), np.sin(0.4)])
    tilt = np.arcsin((offset - pin[1]) / rod_length)
    model.add(fm.Revolute("pin", "crank/b", "rod/a", q0=tilt - 0.4))
    model.add(fm.Prismatic("way", "ground/way", "slider", axis="x"))
    model.add(fm.Revolute("knee", "rod/b", "slider"))
    assert bool(warned(model, "change points")) is passes


def test_angles_in_degrees() -> None:
    model = planetary("arm")
    model.joints["sun"] = fm.Revolute("sun", "arm", "sun", axis="z", q0=90.0)
    assert warned(
        model, "joints.sun.q0: the angle 90 rad is more than a full turn; 90° are 1.5708 rad"
    )


@pytest.mark.parametrize(("radius", "locked"), [(0.05, True), (0.2, False)])
def test_couplings_that_lock_each_other_are_named(radius: float, locked: bool) -> None:
    """Two belts between the same shafts, with different ratios or with the same."""
    model = fm.Model("train", frames={"b": (0.3, 0, 0)})
    for name, place in (("a", "ground"), ("b", "ground/b"), ("free", "ground")):
        body = model.add(fm.RigidBody(f"wheel {name}", mass=1.0, inertia=(1, 1, 1)))
        model.add(fm.Revolute(name, place, body, axis="z"))
    model.add(fm.Belt("one", "a", "b", radii=(0.1, 0.2)))
    model.add(fm.Belt("other", "a", "b", radii=(0.1, radius)))
    lines = [line for line in model.check().warnings if "cannot move" in line]
    assert lines == (
        [
            "couplings 'one', 'other': their joints cannot move, since the constraints hold all of "
            "them; remove one, or correct the ratios"
        ]
        if locked
        else []
    )
