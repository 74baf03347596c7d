"""Runs with user-defined constraints, plain and compiled by Numba, against equivalent joints."""

import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import flexmbs as fm

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))
import constraint_functions as given

ENDS = ("constraint", "ground/hook", "body/eye")
TIGHT = fm.DormandPrince(rtol=1e-9, atol=1e-10)


def run(item, formalism: str) -> fm.Solution:
    """A body that swings on a rod, declared on its constraint."""
    model = fm.Model("rod", frames={"hook": (0.2, -0.1, 0.3)})
    frames = {"eye": (0.3, 0.1, -0.2)}
    model.add(
        fm.RigidBody(
            "body", mass=2.0, inertia=(0.3, 0.4, 0.5), com=(0.1, -0.2, 0.05), frames=frames
        )
    )
    start = {
        "q0": (-0.1 + given.LENGTH, -0.2, 0.5, 1, 0, 0, 0),
        "v0": (0.0, 0.7, 0.2, 1.2, -0.7, 0.9),
    }
    model.add(fm.Free("motion", "ground", "body", **start))
    model.add(item)
    model.cuts = ["constraint"] if item.carries else []
    return fm.simulate(model, t_end=0.5, output_step=0.1, formalism=formalism, integrator=TIGHT)


@pytest.mark.parametrize(
    ("formalism", "jacobian"), [("multiplier", None), ("recursive", given.rod_jacobian)]
)
def test_rod_of_a_compiled_function(formalism: str, jacobian) -> None:
    """g by Numba, its derivatives by compiled differences or given."""
    slopes = {} if jacobian is None else {"jacobian": numba.njit(jacobian)}
    found = run(fm.Holonomic(*ENDS, function=numba.njit(given.rod), **slopes), formalism)
    expected = run(fm.Distance(*ENDS, length=given.LENGTH), formalism)
    np.testing.assert_allclose(
        found.body("body").position, expected.body("body").position, atol=1e-8
    )
    np.testing.assert_allclose(
        found.joint("constraint").force, expected.joint("constraint").force, atol=1e-6
    )
    assert found.drift.max() < 1e-7


def test_blade_of_a_plain_function() -> None:
    found = run(fm.VelocityRows(*ENDS, function=given.blade, axes="parent"), "multiplier")
    expected = run(fm.KnifeEdge(*ENDS), "multiplier")
    np.testing.assert_allclose(
        found.body("body").position, expected.body("body").position, atol=1e-8
    )
    np.testing.assert_allclose(
        found.joint("constraint").force, expected.joint("constraint").force, atol=1e-7
    )
