"""Bodies of random parts, beams with offsets and released ends
among them, under every formalism.
"""

import numpy as np
import pytest
from random_parts import KINDS, frame_of, random_model

import flexmbs as fm
import preprocess as pp
from flexmbs.formalisms import FORMALISMS


@pytest.mark.parametrize("seed", range(len(KINDS)))
def test_all_formalisms_agree(seed: int) -> None:
    """A pendulum with a weight on a spring at its other end, held by a rod that closes a loop."""
    fe, interfaces = random_model(seed)
    first, last = next(iter(interfaces)), list(interfaces)[-1]
    data = pp.reduce(
        fe,
        interfaces=interfaces,
        method=pp.CraigBampton(modes=4),
        reference=frame_of(seed, interfaces),
        stress=None,
    )
    random = np.random.default_rng(seed)
    axis, reach = random.standard_normal(3), 0.3 * random.standard_normal(3)
    post = np.array([0.1, 0.2, -0.3])
    length = np.linalg.norm(data.frames[last].x - data.frames[first].x + reach - post)
    model = fm.Model("part", gravity=(0.0, 0.0, -9.81), frames={"post": tuple(post)})
    part = model.add(fm.FlexibleBody("part", data=data))
    model.add(fm.Revolute("hinge", model.ground, part[first], axis=tuple(axis), v0=1.0))
    weight = model.add(
        fm.RigidBody("weight", mass=0.5, inertia=(1e-3, 1e-3, 1e-3), frames={"end": tuple(reach)})
    )
    model.add(fm.Spherical("ball", part[last], weight))
    model.add(fm.PointSpring("spring", model.ground, weight["end"], k=50.0, c=1.0, length=0.1))
    model.add(fm.Distance("rod", model.ground["post"], weight["end"], length=length))
    found = fm.compare(model, t_end=2e-5, integrators=("dormand-prince",))
    assert {row.formalism for row in found.rows} == set(FORMALISMS)
    assert found.finished, found.verdict
    for row in found.rows:
        assert row.accelerations < 1e-8, row
        assert row.reactions < 1e-8, row
        assert row.positions < 1e-6, row
