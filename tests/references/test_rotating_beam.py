"""A slender beam on a turning hub by the whole program: mesh, reduction, steady rotation,
linearisation there.

Flapwise frequencies μ = ω √(mL⁴/EI) over γ = Ω √(mL⁴/EI) of a uniform Euler–Bernoulli beam on a hub
of radius R: Wright, Smith, Thresher and Wang, Journal of Applied Mechanics 49 (1982) 197; digits by
the Ritz method with 16 terms. Without geometric stiffening the first frequency is that at rest for
any speed.
"""

import numpy as np
import pytest

import flexmbs as fm
from preprocess import CraigBampton, Isotropic, Rigid, box_mesh, reduce

AT_REST = 3.5160153
BEAM = {(6.0, 1.0): (10.443866, 32.027244), (2.0, 0.0): (4.1373196, 22.614922)}  # (γ, R/L) → μ₁, μ₂
LENGTH, HEIGHT, WIDTH, E, RHO = 1.0, 0.016, 0.01, 2.1e11, 7850.0
TIME = np.sqrt(12.0 * RHO / E) * LENGTH**2 / WIDTH
TOLERANCE = 2e-3


@pytest.fixture(scope="module", params=["hub", "mean axes"])
def blade(request: pytest.FixtureRequest) -> fm.FlexibleBodyData:
    """24 elements along the beam: 4e-4 too stiff in the second mode; no lateral contraction, that
    rigid faces would hold.
    """
    mesh = box_mesh(
        (LENGTH, HEIGHT, WIDTH), (24, 1, 1), "hex20", origin=(0.0, -HEIGHT / 2, -WIDTH / 2)
    )
    ends = {"hub": Rigid("x0"), "tip": Rigid("x1")}
    material = Isotropic(E=E, nu=0.0, rho=RHO)
    return reduce(
        mesh,
        material,
        interfaces=ends,
        method=CraigBampton(modes=8),
        reference=request.param,
        stress=None,
    )


def rotor(blade: fm.FlexibleBodyData, gamma: float, radius: float, *, stiffening: bool) -> fm.Model:
    model = fm.Model("rotor", gravity=(0.0, 0.0, 0.0))
    hub = model.add(
        fm.RigidBody(
            "hub", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"rim": (radius * LENGTH, 0.0, 0.0)}
        )
    )
    beam = model.add(fm.FlexibleBody("beam", data=blade, stiffening=stiffening))
    model.add(fm.Revolute("shaft", model.ground, hub))
    model.add(fm.Fixed("clamp", hub["rim"], beam["hub"]))
    model.add(fm.Drive("motor", "shaft", fm.Ramp(0.0, gamma / TIME)))
    return model


def flapping(
    blade: fm.FlexibleBodyData, gamma: float, radius: float, *, stiffening: bool
) -> np.ndarray:
    """μ of the motions out of the plane of rotation, ascending."""
    model = rotor(blade, gamma, radius, stiffening=stiffening)
    modes = fm.linearize(model, start=fm.statics(model, steady=True)).modes
    tip = np.abs((blade.frames["tip"].phi - blade.frames["hub"].phi) @ modes.shape[-blade.nf :])
    return np.sort(modes.eigenvalue.imag[tip[2] > 10.0 * np.maximum(tip[0], tip[1])]) * TIME


@pytest.mark.parametrize("case", BEAM)
def test_flapping_of_a_rotating_beam(blade: fm.FlexibleBodyData, case: tuple[float, float]) -> None:
    np.testing.assert_allclose(
        flapping(blade, *case, stiffening=True)[:2], BEAM[case], rtol=TOLERANCE
    )


def test_campbell_diagram_of_the_beam(blade: fm.FlexibleBodyData) -> None:
    """The first and second flapping branch over the speed, followed from rest by their shapes; γ =
    2 as published.
    """
    if blade.provenance["reference"] != "hub":
        pytest.skip("one reference is enough: the frequencies of both are compared above")
    speeds = np.array([0.0, 1.0, 2.0]) / TIME
    found = fm.campbell(
        lambda speed: rotor(blade, speed * TIME, 0.0, stiffening=True), speeds, modes=6
    )
    mu = 2.0 * np.pi * found.frequency * TIME
    for rest, published in zip((AT_REST, 22.0344916), BEAM[2.0, 0.0]):
        branch = int(np.argmin(np.abs(mu[0] - rest)))
        np.testing.assert_allclose(mu[[0, 2], branch], (rest, published), rtol=TOLERANCE)
        assert (np.diff(mu[:, branch]) > 0.0).all()


def test_without_stiffening_the_beam_flaps_as_at_rest(blade: fm.FlexibleBodyData) -> None:
    if blade.provenance["reference"] == "hub":
        assert flapping(blade, 2.0, 0.0, stiffening=False)[0] == pytest.approx(
            AT_REST, rel=TOLERANCE
        )
