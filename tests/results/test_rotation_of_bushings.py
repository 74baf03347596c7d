"""A bushing's moment follows its rotation vector, which changes sign at half a turn: such runs do
not pass.
"""

import numpy as np
import pytest

import flexmbs as fm


def shaft(speed, output_step):
    model = fm.Model("shaft", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("b", mass=1, inertia=(1, 1, 1)))
    model.add(fm.Revolute("r", model.ground, body, axis="z", v0=speed))
    model.add(fm.Bushing("mount", model.ground, body, k=(0, 0, 0, 0, 0, 1.0)))
    return fm.simulate(model, t_end=3.0, output_step=output_step)


@pytest.mark.parametrize("output_step", [0.01, 0.5])
def test_beyond_half_a_turn(output_step):
    found = shaft(4.0, output_step)
    assert found.verdict == "FAIL"
    # the moment jumps there, which the second run may notice as well
    assert "Rotation of mount" in [check.title for check in found.audit if check.status == "FAIL"]


def test_within_half_a_turn():
    """I φ'' = −k φ"""
    found = shaft(2.5, 0.01)
    assert found.verdict == "PASS"
    assert found.joint("r").position[-1] == pytest.approx(2.5 * np.sin(3.0), abs=1e-3)
