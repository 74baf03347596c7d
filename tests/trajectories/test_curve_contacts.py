"""Runs with contacts of two curves: discs, and two points at once."""

import math

import numpy as np
import pytest

import flexmbs as fm


def circle(radius: float, n: int = 48) -> list[tuple[float, float]]:
    return [
        (radius * math.cos(a), radius * math.sin(a))
        for a in np.linspace(0.0, 2.0 * np.pi, n + 1)[:-1]
    ]


def peanut(n: int) -> list[tuple[float, float]]:
    a = np.linspace(0.0, 2.0 * np.pi, n + 1)[:-1]
    r = 0.06 + 0.03 * np.cos(2 * a)
    return list(zip((r * np.cos(a)).tolist(), (r * np.sin(a)).tolist()))


def meeting(shape, **options) -> fm.Model:
    """A disc that falls on another one, beside its top, in a plane."""
    model = fm.Model("discs", gravity=(0, -9.81, 0))
    model.add(fm.RigidBody("disc", mass=0.4, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Planar("plane", "ground", "disc", axis="z", q0=(0.03, 0.19, 0.0)))
    model.add(shape("hit", "ground", "disc", **options))
    return model


@pytest.mark.parametrize(
    "how",
    [
        {"restitution": 0.4, "friction": 0.2},
        {"law": fm.HuntCrossley(1e5, damping=0.2), "friction": 0.2},
    ],
)
def test_discs_are_those_of_spheres(how: dict) -> None:
    spheres = meeting(fm.SphereSphere, radius_parent=0.1, radius_child=0.07, **how)
    curves = meeting(fm.CurveContact, points_parent=circle(0.1), points_child=circle(0.07), **how)
    options = {
        "t_end": 0.11,
        "output_step": 0.01,
        "integrator": fm.EventDriven(rtol=1e-7, atol=1e-9),
    }
    one, other = (fm.simulate(model, **options) for model in (curves, spheres))
    assert other.contact("hit").gap.min() < 0.01
    assert np.abs(one.joint("plane").position - other.joint("plane").position).max() < 2e-5


def test_a_run_stops_where_two_points_touch() -> None:
    model = fm.Model("bridge", gravity=(0, -9.81, 0))
    model.add(fm.RigidBody("disc", mass=0.4, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Prismatic("way", "ground", "disc", axis="y", q0=0.27))
    model.add(
        fm.CurveContact(
            "bridge", "ground", "disc", points_parent=peanut(60), points_child=circle(0.2, 60)
        )
    )
    with pytest.raises(
        fm.SolverError, match="contact 'bridge': its curves touch at two points at the same time"
    ):
        fm.simulate(model, t_end=0.3, output_step=0.05, integrator=fm.MoreauJean(step=5e-3))


@pytest.mark.parametrize(
    ("law", "error", "integrator"),
    [
        (fm.HuntCrossley(stiffness=1e3), fm.InputError, "esdirk"),
        (None, fm.SolverError, fm.MoreauJean(step=1e-3)),
    ],
    ids=["law", "rigid"],
)
def test_an_overlap_beyond_the_center_of_curvature_is_refused(law, error, integrator) -> None:
    """A disc whose centre is near the other profile: no direction of the force is the normal."""
    model = fm.Model("deep", gravity=(0, -9.81, 0))
    model.add(fm.RigidBody("disc", mass=0.4, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Planar("way", "ground", "disc", axis="z", q0=(0.0, 0.2999, 0.1)))
    deep = fm.CurveContact(
        "deep",
        "ground",
        "disc",
        points_parent=circle(0.3, 16),
        points_child=np.array(circle(0.1, 16)) * (1.0, 0.8),
        law=law,
    )
    model.add(deep)
    with pytest.raises(error, match=r"contact 'deep': .* overlap by more than a radius"):
        fm.simulate(model, t_end=0.01, output_step=0.005, integrator=integrator)
