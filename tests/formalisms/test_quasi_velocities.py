"""Embedding with chosen quasi-velocities (Appell–Gibbs): the equations in closed form, and rejected arguments."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.formalisms.embedding import Embedding
from flexmbs.initial.initial_state import consistent_state
from flexmbs.studies.evaluate import evaluate
from flexmbs.system.names import velocity_names

M1, M2, LENGTH = 1.3, 0.7, 0.9
PUSH, TURN = 0.8, -0.5


def rod_on_a_wheel() -> fm.Model:
    """Masses M1, M2 on a massless rod; M1 on a wheel that rolls along the rod; forces along the rod on M1 and across it on M2."""
    model = fm.Model("rod on a wheel", gravity=(0, 0, 0), frames={"floor": fm.Frame()})
    total = M1 + M2
    inertia = M1 * M2 / total * LENGTH**2
    rod = fm.RigidBody(
        "rod", mass=total, inertia=(1e-3, inertia, inertia), com=(M2 / total * LENGTH, 0, 0), frames={"end": (LENGTH, 0, 0)}
    )
    body = model.add(rod)
    turn = (np.cos(0.4), 0, 0, np.sin(0.4))
    model.add(fm.Free("motion", model.ground, body, q0=(0.3, 0.2, 0, *turn), v0=(1.1, 0, 0, 0, 0, 0.6)))
    model.add(fm.Planar("floor", model.ground["floor"], body))
    model.add(fm.KnifeEdge("wheel", model.ground, body))
    model.add(fm.FrameForce("push", body, force=(PUSH, 0, 0), axes="follower"))
    model.add(fm.FrameForce("turn", body["end"], force=(0, TURN, 0), axes="follower"))
    model.cuts = ("floor",)
    return model


@pytest.mark.parametrize("sigma", [
    ["motion.0", "motion.5"],
    [{"motion.0": 1.0, "motion.5": 0.5}, {"motion.5": 2.0}],
    np.array([[1.0, 0, 0, 0, 0, 0.3], [0.2, 0, 0, 0, 0, 1.0]]),
])  # fmt: skip
def test_equations_of_appell(sigma) -> None:
    """(m1 + m2) σ̇1 − m2 l σ2² = F1, m2 l σ1 σ2 + m2 l² σ̇2 = F2 l with σ1 along the rod and σ2 = φ̇ (Appell 1911)."""
    compiled, start = consistent_state(rod_on_a_wheel())
    assert velocity_names(compiled)[0] == "motion.0"
    sd, _ = evaluate(compiled, Embedding(quasi_velocities=sigma), 0.0, start.q, start.s, np.zeros(0), start.beta)
    forward, turning = start.s[0], start.s[5]
    assert abs(forward - 1.1) < 1e-12
    assert abs(turning - 0.6) < 1e-12
    assert abs((M1 + M2) * sd[0] - M2 * LENGTH * turning**2 - PUSH) < 1e-12
    assert abs(M2 * LENGTH * forward * turning + M2 * LENGTH**2 * sd[5] - TURN * LENGTH) < 1e-12
    assert np.abs(sd[[1, 2, 3, 4]] - (0, 0, 0, 0)).max() < 1e-12


@pytest.mark.parametrize(
    ("sigma", "message"),
    [
        ("motion.0", "'motion.0' is no list; give names of velocities, mappings {name: factor}, or a matrix"),
        ([], "[] is no list"),
        (["motion.0", "motion.9"], "no velocity 'motion.9'; did you mean 'motion."),
        ([[1.0, 2.0]], "row 1 is [1.0, 2.0]; give 6 finite numbers"),
        ([{"motion.0": float("nan")}], "row 1 is [nan]; give 1 finite numbers"),
        (["motion.0", {"motion.0": 2.0}], "its 2 rows depend on each other; give independent combinations of motion.0"),
        (["motion.0"], "1 quasi-velocities for 2 degrees of freedom; give 2"),
        (["motion.0", "motion.1"], "motion.0, motion.1 do not determine the other velocities at the start; choose others"),
    ],
)
def test_rejected(sigma, message) -> None:
    with pytest.raises(fm.InputError) as error:
        fm.simulate(rod_on_a_wheel(), t_end=0.01, formalism=Embedding(quasi_velocities=sigma), integrator="dormand-prince")
    assert str(error.value).startswith(f"embedding.quasi_velocities: {message}")
