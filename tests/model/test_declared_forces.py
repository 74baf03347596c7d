"""Problems of forces are reported."""

import pytest

import flexmbs as fm

CURVE = {"coulomb": 2.0, "static": 3.0, "stribeck_velocity": 0.1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"coulomb": -1.0}, "forces.rub.coulomb: must be >= 0, not -1"),
        ({}, "forces.rub.coulomb: is missing"),
        ({**CURVE, "static": 1.0}, "forces.rub.static: must be >= coulomb = 2, not 1"),
        (
            {"coulomb": 2.0, "static": 3.0},
            "forces.rub.stribeck_velocity: is missing; static and stribeck_velocity must "
            "be given together",
        ),
        (
            {"coulomb": 2.0, "stribeck_velocity": 3.0},
            "forces.rub.static: is missing; static and stribeck_velocity must be given together",
        ),
        ({**CURVE, "regularization": 0.0}, "forces.rub.regularization: must be > 0, not 0"),
        ({**CURVE, "viscous": float("inf")}, "forces.rub.viscous: must be finite, not inf"),
        ({**CURVE, "coordinate": -1}, "forces.rub.coordinate: must be a whole number >= 0, not -1"),
    ],
)
def test_friction_that_cannot_be(given: dict[str, float], message: str) -> None:
    with pytest.raises(fm.InputError) as refused:
        fm.JointFriction("rub", "rail", **given)
    assert str(refused.value) == message


def test_friction_without_a_coordinate_and_a_hidden_peak_are_reported() -> None:
    model = fm.Model("ball")
    model.add(
        fm.Spherical(
            "socket", model.ground, model.add(fm.RigidBody("ball", mass=1.0, inertia=(1, 1, 1)))
        )
    )
    model.add(fm.JointFriction("rub", "socket", **CURVE, regularization=0.2))
    check = model.check()
    assert any(
        str(line).startswith("forces.rub.coordinate: coordinate 0 of joint 'socket'")
        for line in check.errors
    )
    slide = fm.Model("slide")
    slide.add(
        fm.Prismatic("rail", slide.ground, slide.add(fm.PointMass("bead", mass=1.0)), axis="x")
    )
    slide.add(fm.JointFriction("rub", "rail", **CURVE, regularization=0.2))
    hidden = (
        "forces.rub.regularization: is 0.2 and stribeck_velocity 0.1: the static peak is "
        "hardly reached; use a smaller regularization"
    )
    assert hidden in map(str, slide.check().warnings)


@pytest.mark.parametrize("kind", [fm.PinFriction, fm.GuideFriction])
def test_coefficients_are_not_forces(kind: type) -> None:
    arms = {"radius": 0.02} if kind is fm.PinFriction else {}
    for given in ({"friction": 1e50}, {"friction": 0.1, "static": 2e3, "stribeck_velocity": 0.1}):
        with pytest.raises(fm.InputError, match=r"is a coefficient of at most 1000, not"):
            kind("rub", "joint", **given, **arms)
