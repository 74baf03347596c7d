"""Accelerations of Featherstone's chains as printed in the tests of RBDL (DynamicsTests; the chains
are those of spatial_v1).

Bodies of 1 kg with unit moments of inertia about their centres of mass, gravity 9.81 along −y, at
rest.
"""

import numpy as np
import pytest
from combinations import Combination, combinations

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.initial.initial_state import consistent_state, in_coordinates
from flexmbs.model.frames import BodyHandle
from flexmbs.motions import Rotate
from flexmbs.studies.states.evaluate import evaluate
from flexmbs.system.trajectory import Trajectory

EXPLICIT = fm.DormandPrince()
EXPECTED = {
    "two bodies": (-5.886, 3.924),
    "three bodies": (-6.03692307692308, 3.77307692307692, 1.50923076923077),
    "branches in space": (
        -1.60319066147860,
        -0.534396887159533,
        4.10340466926070,
        0.267198443579767,
        5.30579766536965,
    ),
    "three axes": (3.301932144386186, 0.0, 0.0),
}


class Chain:
    """A model that grows by bodies on revolute joints."""

    def __init__(self) -> None:
        self.model = fm.Model("chain", gravity=(0, -9.81, 0))

    def body(self, com: tuple[float, ...], **frames: tuple[float, ...]) -> BodyHandle:
        name = f"body{len(self.model.bodies)}"
        return self.model.add(
            fm.RigidBody(name, mass=1.0, inertia=(1, 1, 1), com=com, frames=frames)
        )

    def hinge(self, axis: str, parent: fm.FrameRef, child: fm.FrameRef) -> None:
        self.model.add(fm.Revolute(f"joint{len(self.model.joints)}", parent, child, axis=axis))


def serial(n: int) -> fm.Model:
    chain = Chain()
    end: fm.FrameRef = chain.model.ground
    for _ in range(n):
        body = chain.body((1, 0, 0), end=(1, 0, 0))
        chain.hinge("z", end, body)
        end = body["end"]
    return chain.model


def branches() -> fm.Model:
    chain = Chain()
    trunk = chain.body((1, 0, 0), right=(1, 0, 0), left=(-0.5, 0, 0))
    chain.hinge("z", chain.model.ground, trunk)
    for side, reach in (("right", 1.0), ("left", -0.5)):
        arm = chain.body((0, 1, 0), end=(0, reach, 0))
        chain.hinge("y", trunk[side], arm)
        chain.hinge("x", arm["end"], chain.body((0, 0, 1)))
    return chain.model


def three_axes() -> fm.Model:
    chain = Chain()
    body = chain.body((0, 0.5, 0))
    axes = (Rotate("z"), Rotate("y"), Rotate("x"))
    chain.model.add(fm.Chain("joint0", chain.model.ground, body, motions=axes, q0=(1, 0, 0)))
    return chain.model


MODELS = {
    "two bodies": serial(2),
    "three bodies": serial(3),
    "branches in space": branches(),
    "three axes": three_axes(),
}


@pytest.mark.parametrize("combination", combinations(EXPLICIT))
@pytest.mark.parametrize("name", EXPECTED)
def test_accelerations(name: str, combination: Combination) -> None:
    compiled, start = in_coordinates(*consistent_state(MODELS[name]), combination.coordinates)
    formalism = FORMALISMS[combination.formalism]()
    sd, lam = evaluate(compiled, formalism, 0.0, start.q, start.s, beta=start.beta)
    rows = (np.zeros(1), *(each[None] for each in (start.q, start.s, sd, lam)), np.zeros((1, 0)))
    now = fm.Solution(
        compiled, Trajectory(*rows, np.zeros((1, 3)), np.zeros((1, 2)), np.zeros(1)), {}
    )
    found = np.concatenate([now.joint(joint).acceleration[0] for joint in now.joints])
    np.testing.assert_allclose(found, EXPECTED[name], rtol=0.0, atol=1e-12)
