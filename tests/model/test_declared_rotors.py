"""Rotors as declared data: files, messages, warnings."""

from pathlib import Path
from typing import Any

import pytest

import flexmbs as fm

UNIT: dict[str, Any] = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


def hinge(carrier: Any = None, joint: Any = fm.Revolute, **rotor: Any) -> fm.Model:
    model = fm.Model("m")
    base = model.add(
        carrier or fm.RigidBody("base", frames={"out": fm.Frame((0, 0, 0), ("x", 0.3))}, **UNIT)
    )
    arm = model.add(fm.RigidBody("arm", **UNIT))
    model.add(
        fm.Translation("slide", model.ground, base)
        if carrier
        else fm.Spherical("ball", model.ground, base)
    )
    model.add(joint("hinge", base if carrier else base["out"], arm))
    model.add(fm.RotorInertia("rotor", "hinge", **({"inertia": 0.1} | rotor)))
    return model


def test_a_model_with_rotors_is_its_file(tmp_path: Path) -> None:
    model = hinge(ratio=-50.0, axis=(0.0, 3.0, 4.0))
    model.add(
        fm.RotorInertia("armature", model.joints["hinge"].name, inertia=1e-4, gyroscopic=False)
    )
    model.save(tmp_path / "model.toml")
    assert fm.load(tmp_path / "model.toml") == model
    assert model.rotors["rotor"].axis == (0.0, 0.6, 0.8)
    assert repr(model).endswith("0 drives, 2 rotors>")
    assert "rotor, joint hinge" in str(model.check())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inertia": 0.0}, "rotors.r.inertia: must be > 0, not 0"),
        ({"ratio": 0.0}, "rotors.r.ratio: must not be 0: the rotor would not turn"),
        ({"ratio": 1e200}, "rotors.r.ratio: must be within ±1e+60, not 1e+200"),
        ({"ratio": "50"}, "rotors.r.ratio: must be a number, not '50'"),
        ({"axis": (0, 0, 0)}, "rotors.r.axis: the axis has zero length"),
        (
            {"axis": "z", "gyroscopic": False},
            "rotors.r.axis: has no meaning without gyroscopic = true",
        ),
        ({"gyroscopic": 1}, "rotors.r.gyroscopic: must be true or false, not 1"),
        ({"coordinate": -1}, "rotors.r.coordinate: must be a whole number >= 0, not -1"),
        ({"gear": 3.0}, "rotors.r.gear: unknown key"),
    ],
)
def test_wrong_values(options: dict[str, Any], message: str) -> None:
    with pytest.raises(fm.InputError) as error:
        fm.RotorInertia("r", "hinge", **({"inertia": 1.0} | options))
    assert [message in problem for problem in error.value.problems] == [True]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda: hinge(joint=fm.Universal),
            "rotors.rotor.joint: joint 'hinge' has 2 coordinates: the part that carries",
        ),
        (
            lambda: hinge(carrier=fm.PointMass("base", mass=1.0)),
            "rotors.rotor.joint: its carrier 'base' is a point mass",
        ),
        (
            lambda: hinge(coordinate=1),
            "rotors.rotor.coordinate: joint 'hinge' has no coordinate 1; it has: 0 … 0",
        ),
        (
            lambda: hinge(joint=fm.Spherical, gyroscopic=False),
            "coordinate 0 of joint 'hinge' (spherical) has a velocity but no",
        ),
        (
            lambda: hinge(joint=fm.Fixed),
            "rotors.rotor.coordinate: joint 'hinge' has no coordinate 0; it has: none",
        ),
    ],
)
def test_rotors_that_do_not_fit_their_joint(model: Any, message: str) -> None:
    errors = model().check().errors
    assert [message in error for error in errors] == [True]
    with pytest.raises(fm.InputError, match=r"rotors\.rotor"):
        fm.simulate(model(), t_end=0.1)


def test_a_rotor_of_no_joint() -> None:
    model = hinge()
    model.add(fm.RotorInertia("other", "hing", inertia=1.0))
    assert "rotors.other.joint: no joint 'hing'; did you mean 'hinge'?" in model.check().errors


def test_more_rotor_than_carrier_is_a_warning() -> None:
    (found,) = [each for each in hinge(inertia=1.2).check().warnings if "rotors" in each]
    assert found.startswith(
        "rotors.rotor.inertia: 1.2 kg m² exceeds the inertia 1 of its carrier 'base' about the axis"
    )
    assert not [
        each for each in hinge(inertia=1.2, gyroscopic=False).check().warnings if "rotors" in each
    ]
