"""The simple pendulum A01 of the IFToMM library: 10 s from the horizontal, m = 1 kg, L = 1 m,
energy drift below 5e-5 J.

Positions are exact (elliptic functions).
"""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.motions import FixedTranslation, Rotate

EXACT = {
    1.0: (0.986291751131876, -0.165010853125541),
    5.0: (-0.942305435043757, -0.334754338414001),
    9.99: (-0.316436469913032, -0.948613704575777),
    10.0: (-0.275087462576117, -0.961419205099125),
}
TIGHT = fm.DormandPrince(rtol=1e-10, atol=1e-10)
IMPLICIT = fm.GeneralizedAlpha(rho_inf=0.8, step=5e-4, newton_tolerance=1e-10)


def point_on_a_rod() -> fm.Model:
    """A point mass at the end of a massless rod that turns about z."""
    model = fm.Model("pendulum", gravity=(0.0, -9.81, 0.0))
    bob = model.add(fm.PointMass("bob", mass=1.0))
    model.add(
        fm.Chain(
            "rod",
            model.ground,
            bob,
            motions=(Rotate("z"), FixedTranslation((1.0, 0.0, 0.0))),
            q0=(np.pi,),
        )
    )
    return model


def body_on_a_hinge(inertia: float = 0.0) -> fm.Model:
    """A rigid body whose centre of oscillation, d + I/(m d) from the hinge, is the bob."""
    model = fm.Model("pendulum", gravity=(0.0, -9.81, 0.0))
    d = 0.5 + (0.25 - inertia) ** 0.5
    bob = fm.RigidBody(
        "bob",
        mass=1.0,
        inertia=(inertia, inertia, inertia),
        com=(d - 1.0, 0.0, 0.0),
        frames={"hinge": (-1.0, 0.0, 0.0)},
    )
    hung = model.add(bob)
    model.add(fm.Revolute("hinge", model.ground, hung["hinge"], q0=np.pi))
    return model


def point_at_a_distance() -> fm.Model:
    """A point mass on a rod with ball ends."""
    model = fm.Model("pendulum", gravity=(0.0, -9.81, 0.0))
    bob = model.add(fm.PointMass("bob", mass=1.0))
    model.add(fm.Distance("rod", model.ground, bob, length=1.0, axis="-x"))
    return model


MODELS = {
    "point on a rod": point_on_a_rod(),
    "point-like body": body_on_a_hinge(),
    "body": body_on_a_hinge(0.16),
    "point at a distance": point_at_a_distance(),
}


@pytest.mark.parametrize(
    ("method", "position"),
    [(TIGHT, 1e-7), (IMPLICIT, 1e-4)],
    ids=lambda value: getattr(value, "name", ""),
)
@pytest.mark.parametrize(
    ("model", "coordinates"),
    [(model, "joint") for model in MODELS]
    + [(model, "absolute") for model in MODELS if model != "point-like body"],
)
def test_pendulum(
    model: str, coordinates: str, method: fm.DormandPrince | fm.GeneralizedAlpha, position: float
) -> None:
    """A body without inertia about its axes has no mass matrix of its own: the point-like one is
    supported in joint coordinates only."""
    solution = fm.simulate(
        MODELS[model], t_end=10.0, output_step=0.01, coordinates=coordinates, integrator=method
    )
    total = solution.energy.total
    assert np.abs(total - total[0]).max() < 5e-5
    bob = solution.frame("bob").position
    for t, (x, y) in EXACT.items():
        np.testing.assert_allclose(bob[round(t / 0.01)], (x, y, 0.0), rtol=0.0, atol=position)
