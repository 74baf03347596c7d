"""Declared contact laws: rejected arguments and dissipation."""

import math

import pytest
from scipy.optimize import brentq

import flexmbs as fm


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stiffness": 0.0}, "HuntCrossley.stiffness: must be > 0, not 0"),
        (
            {"stiffness": 1.0, "exponent": 0.5},
            "HuntCrossley.exponent: must be within 1 … 10, not 0.5",
        ),
        (
            {"stiffness": 1.0, "restitution": 0.0, "speed": 1.0},
            "HuntCrossley.restitution: must be above 0 and at most 1, not 0; for 0 use "
            "a rigid contact",
        ),
        (
            {"stiffness": 1.0, "restitution": 0.5},
            "HuntCrossley.speed: is missing: the approach speed (m/s) at which restitution holds",
        ),
        (
            {"stiffness": 1.0, "restitution": 0.5, "speed": 1.0, "damping": 0.1},
            "HuntCrossley.damping: is already determined by restitution; give only one of them",
        ),
        (
            {"stiffness": 1.0, "slip_velocity": -1.0},
            "HuntCrossley.slip_velocity: must be > 0, not -1",
        ),
    ],
)
def test_laws_that_cannot_be(given: dict[str, float], message: str) -> None:
    with pytest.raises(fm.InputError) as refused:
        fm.HuntCrossley(**given)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"law": 3.0}, "contacts.floor.law: must be a law such as HuntCrossley, not 3.0"),
        (
            {"law": {"kind": "hunt-crosley", "stiffness": 1.0}},
            "contacts.floor.law.kind: unknown kind 'hunt-crosley'; did you mean 'hunt-crossley'?",
        ),
        ({"law": {"kind": "hunt-crossley"}}, "contacts.floor.law.stiffness: is missing"),
        (
            {"law": fm.HuntCrossley(1.0), "restitution": 0.5},
            "restitution: applies to rigid contacts; give it to the law instead",
        ),
        (
            {"law": fm.HuntCrossley(1.0), "tangential_restitution": 0.5},
            "tangential_restitution: applies to rigid contacts only; omit it with a force law",
        ),
    ],
)
def test_contacts_whose_law_cannot_be(given: dict[str, object], message: str) -> None:
    with pytest.raises(fm.InputError) as refused:
        fm.SpherePlane("floor", "ground", "ball", **given)
    assert str(refused.value).endswith(message)


def test_hertz_stiffness_rejects_unphysical_materials() -> None:
    assert fm.HuntCrossley.hertz(210e9, 0.3, 210e9, 0.3, 0.02) == pytest.approx(
        4 / 3 * (210e9 / 0.91 / 2) * math.sqrt(0.02)
    )
    with pytest.raises(fm.InputError, match=r"modulus or radius must be > 0, not -1"):
        fm.HuntCrossley.hertz(-1.0, 0.3, 210e9, 0.3, 0.02)
    with pytest.raises(
        fm.InputError, match=r"Poisson's ratio must be above -1 and at most 0\.5, not 0\.6"
    ):
        fm.HuntCrossley.hertz(210e9, 0.6, 210e9, 0.3, 0.02)


@pytest.mark.parametrize("e", [0.1, 0.3, 0.9, 0.999])
def test_losses_balance_approach_and_rebound(e: float) -> None:
    """∫ v dv/(1 + d v) over the approach from v and over the rebound to −e v are one: the area of k
    δⁿ.
    """
    d = fm.HuntCrossley(1e5, restitution=e, speed=2.0).dissipation

    def area(v: float) -> float:
        return v / d - math.log1p(d * v) / d**2

    assert brentq(lambda v: area(-v) - area(2.0), 1e-9, (1 - 1e-12) / d) == pytest.approx(
        2.0 * e, rel=1e-6
    )
    assert (
        fm.HuntCrossley(1e5, restitution=1.0).dissipation == fm.HuntCrossley(1e5).dissipation == 0.0
    )
