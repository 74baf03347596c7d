"""Warnings of tables: a curve that overshoots its points, a driven motion that jumps."""

import math

import numpy as np
import pytest

import flexmbs as fm

STEEP = {"times": (0, 1, 1.01, 2), "values": (0, 0, 1, 1)}


def turning(*items: object, run: fm.Run | None = None) -> list[str]:
    """Warnings of a model with a hinge and more items."""
    model = fm.Model("wheel", run=run)
    model.add(fm.RigidBody("wheel", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Revolute("axle", "ground", "wheel", axis="z"))
    for item in items:
        model.add(item)
    report = model.check()
    assert report.errors == []
    return [line for line in report.warnings if "assembly" not in line]


@pytest.mark.parametrize(
    ("item", "place"),
    [
        (lambda law: fm.JointTorque("push", "axle", law), "forces.push.law"),
        (
            lambda law: fm.JointTorque("push", "axle", fm.PD(1.0, reference=law)),
            "forces.push.law.reference",
        ),
        (lambda law: fm.FrameForce("push", "wheel", torque=(0, 0, law)), "forces.push.torque.2"),
    ],
)
def test_a_spline_that_overshoots_beyond_its_points_is_reported(item, place) -> None:
    """Worst interval and size against the densely evaluated spline."""
    law = fm.Table(**STEEP, interpolation="spline")
    lowest = min(law(t) for t in np.linspace(0, 1, 20001))
    assert turning(item(law)) == [
        f"{place}: its spline overshoots by {-lowest:.4g} below the values 0 and 0 "
        "between t = 0 and 1 s, "
        'the worst of 2 intervals; use more points, or interpolation = "monotone"'
    ]
    assert turning(item(fm.Table(**STEEP))) == []
    assert turning(item(fm.Table(**STEEP, interpolation="linear"))) == []


def test_a_spline_through_a_finely_cut_curve_is_not_reported() -> None:
    times = np.linspace(0.0, 2.0, 41)
    assert (
        turning(
            fm.JointTorque(
                "push", "axle", fm.Table(times, np.sin(2 * np.pi * times), interpolation="spline")
            )
        )
        == []
    )


def test_a_driven_table_reports_its_jumps() -> None:
    """Rate and acceleration on both sides of the points, from the law itself."""
    rising = {"times": (0, 0.4, 1, 2), "values": (0, 1, 2, 2)}
    drive = lambda **options: turning(fm.Drive("motor", "axle", fm.Table(**rising, **options)))  # noqa: E731
    law, h = fm.Table(**rising), 1e-9
    jump = law.state(1.0 + h)[2] - law.state(1.0 - h)[2]
    assert drive() == [
        f"drives.motor.motion: its acceleration jumps at the points, by {jump:.4g} at t = 1 s; "
        'interpolation = "spline" makes it continuous'
    ]
    (linear,) = drive(interpolation="linear")
    assert "its rate jumps at the points, by -1.667 at t = 1 s: an infinite acceleration" in linear
    assert not any("jumps at the points" in line for line in drive(interpolation="spline"))


def test_a_driven_table_reports_where_it_starts_or_stops_at_once() -> None:
    law = fm.Table((0.5, 1.0), (0.0, 1.0))
    begins, ends = turning(fm.Drive("motor", "axle", law))
    assert (
        begins == "drives.motor.motion: its rate jumps by 2 at t = 0.5 s, where it begins and is "
        "held constant; let the rate vanish there"
    )
    assert (
        ends == "drives.motor.motion: its rate jumps by -2 at t = 1 s, where it ends and is "
        "held constant; let the rate vanish there"
    )
    assert turning(fm.Drive("motor", "axle", law), run=fm.Run(t_end=1.0)) == [begins]


def test_the_splines_of_a_path_that_rests_at_its_ends_are_not_reported() -> None:
    from flexmbs.robots import Quintic

    (law,) = Quintic([0.0], [math.pi], 1.0).tables(0.01)
    assert turning(fm.Drive("motor", "axle", law)) == []
