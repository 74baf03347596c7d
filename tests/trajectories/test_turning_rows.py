"""Reactions of cut joints whose free directions turn relative to the child.

A basis of the complement of these directions cannot be chosen continuously for all positions. In a
run it continues that of the last step; multipliers of two bases must never be combined.
"""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.model.motions import Ball, Slide

T_END = 0.4
CRANK = 20.0  # rad/s
OUTPUTS = 161


def spinning_rod() -> fm.Model:
    """Slider-crank whose rod spins about its axis; one end is a ball that slides along a line.

    The line turns relative to the rod, by four turns in the run.
    """
    m = fm.Model("spinning rod", gravity=(0.0, 0.0, -9.81))
    crank = m.add(
        fm.RigidBody("crank", mass=0.5, inertia=(2e-3, 3e-3, 4e-3), frames={"pin": (0.1, 0, 0)})
    )
    rod = m.add(
        fm.RigidBody(
            "rod",
            mass=0.8,
            inertia=(2e-3, 9e-3, 11e-3),
            com=(0.15, 0.01, 0.0),
            frames={"end": (0.3, 0, 0)},
        )
    )
    m.add(fm.Revolute("bearing", m.ground, crank, axis="z", v0=CRANK))
    m.add(fm.Spherical("pin", crank["pin"], rod, v0=(60.0, 0.0, -CRANK - 0.1 * CRANK / 0.3)))
    motions = (Slide("x"), Ball())
    m.add(fm.Chain("slider", m.ground, rod["end"], motions=motions))
    return m


def run(outputs: int = OUTPUTS, **options: object) -> fm.Solution:
    """Run in joint coordinates unless stated otherwise."""
    given: dict[str, object] = {"coordinates": "joint", "formalism": "recursive", **options}
    return fm.simulate(spinning_rod(), t_end=T_END, output_step=T_END / (outputs - 1), **given)


@pytest.fixture(scope="module")
def reference() -> fm.Solution:
    """Absolute coordinates, in which each joint has its rows in a body's axes."""
    return run(
        coordinates="absolute", formalism="multiplier", integrator="dormand-prince", rtol=1e-10
    )


@pytest.mark.parametrize(
    "method, limit",
    [
        ({"integrator": "esdirk", "rtol": 1e-8}, 1e-4),
        ({"integrator": "generalized-alpha", "step": 2e-4}, 2e-3),
        ({"integrator": "dormand-prince", "rtol": 1e-9}, 1e-6),
        ({"formalism": "multiplier", "integrator": "esdirk", "rtol": 1e-8}, 1e-4),
        ({"formalism": "embedding", "integrator": "dormand-prince", "rtol": 1e-9}, 1e-6),
        ({"integrator": "rattle", "step": 2e-4}, 2e-3),
    ],
)
def test_reactions(reference: fm.Solution, method: dict[str, object], limit: float) -> None:
    """Reactions at all outputs are those of absolute coordinates."""
    solution = run(**method)
    for key in ("force", "torque"):
        a, b = (np.asarray(getattr(each.joint("slider"), key)) for each in (solution, reference))
        assert np.abs(a - b).max() < limit * np.abs(reference.joint("slider").force).max()


def test_between_outputs() -> None:
    """Multipliers between outputs are those of the same run at these times."""
    dense, coarse = (run(n, integrator="esdirk", rtol=1e-8) for n in (1601, 401))
    between = coarse.at(dense.t)
    assert np.abs(between.lam - dense.lam).max() < 2e-3 * np.abs(dense.lam).max()
