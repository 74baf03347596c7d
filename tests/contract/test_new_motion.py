"""A new elementary motion is one class with its unit twist: kernels, checks and coordinates read
its numbers.
"""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.model.chain_twists import chain_twists
from flexmbs.model.fields import Axis, Number, Vector
from flexmbs.model.motions import Motion
from flexmbs.motions import FixedTranslation, Rotate, ScrewMotion

LEAD = 0.05  # m per revolution
PAIRS = [
    (name, coordinates) for name, kind in FORMALISMS.items() for coordinates in kind.coordinates
]


@pytest.fixture(scope="module")
def lead() -> Iterator[type[Motion]]:
    """A screw that is declared by its lead, registered while the tests run."""

    class Lead(Motion, kind="lead"):
        """Rotation by q (rad) about a unit axis with ``lead`` (m) per revolution along it."""

        nq = nv = 1
        rest = (0.0,)

        axis: Axis = dataclasses.field(kw_only=False)
        lead: Number = dataclasses.field(kw_only=False)

        @property
        def unit_twist(self) -> Vector:
            return (
                *(self.lead / (2.0 * math.pi) * component for component in self.axis),
                *self.axis,
            )

    yield Lead
    del Motion.kinds["lead"]


def jack(screw: Motion, *, turned: bool = False) -> fm.Model:
    """A nut on a screw, and a pendulum beside its axis; ``turned``: the screw is declared from the
    nut to the ground.
    """
    model = fm.Model("jack", gravity=(0.0, 0.0, -9.81))
    inertia = (0.01, 0.02, 0.03)
    nut = model.add(
        fm.RigidBody(
            "nut", mass=1.0, com=(0.1, 0.0, 0.0), inertia=inertia, frames={"side": (0.2, 0.0, 0.0)}
        )
    )
    arm = model.add(fm.RigidBody("arm", mass=0.5, com=(0.0, 0.0, -0.3), inertia=inertia))
    ends = (nut, model.ground) if turned else (model.ground, nut)
    model.add(
        fm.Chain("thread", *ends, motions=(screw, FixedTranslation((0.0, 0.1, 0.0))), v0=(3.0,))
    )
    model.add(
        fm.Chain(
            "swing",
            nut["side"],
            arm,
            motions=(Rotate("y"), FixedTranslation((0.0, 0.0, -0.1))),
            q0=(0.4,),
        )
    )
    return model


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("formalism", "coordinates"), PAIRS)
def test_it_moves_as_its_twin(
    lead: type[Motion], formalism: str, coordinates: str, turned: bool
) -> None:
    options = {"t_end": 0.2, "output_step": 0.1, "formalism": formalism, "coordinates": coordinates}
    found = fm.simulate(jack(lead("z", LEAD), turned=turned), **options)  # type: ignore[call-arg]
    twin = fm.simulate(jack(ScrewMotion("z", LEAD / (2.0 * math.pi)), turned=turned), **options)
    assert found.q == pytest.approx(twin.q, rel=1e-12, abs=1e-13)
    assert found.verdict == twin.verdict
    assert found.joint("thread").position[-1, 0] > 0.1


def test_numpy_reads_the_same_numbers(lead: type[Motion]) -> None:
    C = chain_twists((lead("z", LEAD),), (0.3,))  # type: ignore[call-arg]
    assert np.abs(C[:, 0] - [0.0, 0.0, LEAD / (2.0 * math.pi), 0.0, 0.0, 1.0]).max() < 1e-16
