"""Bodies whose data have no equations of motion are rejected by
name, unless the user accepts them.
"""

import dataclasses

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.flexible_body.components import FlexibleFrame
from flexmbs.flexible_body.record import FlexibleBodyData


def beam(**changes):
    """A body of one mode with given integrals."""
    integrals = {
        "mass": 1.0,
        "first_moment": np.array([0.5, 0, 0]),
        "second_moment": np.diag([1 / 3, 1e-3, 1e-3]),
        "S_bar": np.array([[0.0], [0.4], [0.0]]),
        "xS": np.zeros((3, 3, 1)),
        "SS": np.zeros((3, 3, 1, 1)),
        "K_ff": np.array([[100.0]]),
    }
    integrals["xS"][0, 1, 0] = 0.3
    integrals["SS"][1, 1, 0, 0] = 0.3
    frames = {
        "root": FlexibleFrame(np.zeros(3), np.eye(3), np.zeros((3, 1)), np.zeros((3, 1)), "rigid")
    }
    data = FlexibleBodyData.from_integrals("beam", frames=frames, **integrals)
    return dataclasses.replace(data, **changes)


def hinged(data, **options):
    model = fm.Model("hinged")
    body = model.add(fm.FlexibleBody("beam", data=data, **options))
    model.add(fm.Revolute("hinge", model.ground, body["root"], axis="y"))
    return model


def wrong_gram():
    """∫φ dm too large for ∫φ² dm: no shape field has these integrals."""
    return beam(S_bar=np.array([[0.0], [0.9], [0.0]]))


def indefinite():
    return beam(K_ff=np.array([[-100.0]]))


@pytest.mark.parametrize(
    "data, statement",
    [
        (wrong_gram, "form a positive semidefinite Gram matrix"),
        (indefinite, "K_ff is positive definite"),
    ],
)
def test_rejected(data, statement):
    with pytest.raises(
        fm.InputError, match=rf"bodies\.beam\.data: its data fail the check .*{statement}"
    ):
        fm.simulate(hinged(data()), t_end=0.1)
    assert any(statement in line for line in hinged(data()).check().errors)


def test_a_sound_body_is_taken():
    assert beam().failed == ()
    assert fm.simulate(hinged(beam()), t_end=0.01).run.finished


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_taken_as_it_is_every_run_warns():
    data = beam(S_bar=np.array([[0.0], [0.56], [0.0]]), xS=beam().xS)
    assert data.failed
    solution = fm.simulate(hinged(data, allow_unverified=True), t_end=0.01)
    check = next(check for check in solution.audit if check.title == "Data of beam")
    assert check.status == "WARN"
    assert "Gram" in check.found
