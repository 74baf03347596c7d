"""Redundant rows stay redundant where stages of explicit methods leave |p| = 1."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.initial.initial_state import consistent_state, in_coordinates
from flexmbs.studies.states.evaluate import Evaluator

PAIRS = [
    (name, coordinates)
    for name, kind in FORMALISMS.items()
    if "accelerations" in kind.provides
    for coordinates in kind.coordinates
]


def pendulum() -> fm.Model:
    """Two bodies that a weld and a pin join, on a body that hangs on a ball: the five rows of the
    pin are redundant.
    """
    model = fm.Model("welded and pinned", gravity=(0.4, -0.7, -9.6))
    for name in ("upper", "lower", "plate"):
        frames = {"a": (0.1, 0.3, -0.2), "b": (-0.2, 0.1, 0.4), "c": (0.3, -0.2, -0.7)}
        model.add(fm.RigidBody(name, mass=1.5, inertia=(0.2, 0.3, 0.4), frames=frames))
    model.add(
        fm.Spherical("ball", model.ground, "upper/a", q0=(0.8, 0.2, -0.4, 0.4), v0=(1.0, -2.0, 3.0))
    )
    model.add(fm.Universal("cross", "upper/c", "lower/a", q0=(0.3, 0.4), v0=(2.0, -1.0)))
    model.add(fm.Fixed("weld", "lower/b", "plate/b"))
    model.add(fm.Revolute("pin", "lower/c", "plate/c"))
    return model


@pytest.mark.parametrize(("name", "coordinates"), PAIRS)
@pytest.mark.parametrize("share", [1e-7, 1e-5, 1e-3])
def test_accelerations_do_not_depend_on_the_size_of_euler_parameters(
    name: str, coordinates: str, share: float
) -> None:
    compiled, start = in_coordinates(*consistent_state(pendulum()), coordinates)
    evaluator = Evaluator(compiled, FORMALISMS[name](), start.beta)
    none = np.zeros(0)
    unit = evaluator.at(0.0, start.q, start.s, none).sd
    q = start.q.copy()
    balls = [k for k in range(len(q) - 3) if abs(np.linalg.norm(q[k : k + 4]) - 1.0) < 1e-12]
    q[balls[0] : balls[0] + 4] *= 1.0 + share
    longer = evaluator.at(0.0, q, start.s, none, prepared=False).sd
    assert np.abs(longer - unit).max() < 1e-10 * np.abs(unit).max()
