"""Swinging steel arms, starting from the mesh: one and two flexible arms against Exudyn 1.13.6.

Steel beam 1 m x 40 mm x 40 mm, 24 x 2 x 2 triquadratic hexahedra, Craig-Bampton reduction with
rigid end faces and ten fixed-interface modes, on a revolute joint about z, gravity along −y, from
the horizontal at rest, undamped, without geometric stiffening. The published tips are converged to
1e-6 (one arm) and 6e-6 (two arms).
"""

import numpy as np
import pytest

import flexmbs as fm
from preprocess import CraigBampton, Isotropic, Rigid, box_mesh, reduce

TIPS = {
    1: {
        0.1: (0.9972989, -0.0734504),
        0.25: (0.8976277, -0.4407551),
        0.5: (-0.0896899, -0.9959703),
        1.0: (-0.9999675, -0.0080581),
    },
    2: {
        0.1: (1.9978049, -0.0421591),
        0.25: (1.9268728, -0.2813221),
        0.5: (1.2968701, -1.4054707),
        1.0: (-1.6625577, -1.0413284),
    },
}
TOLERANCE = 2e-5
FIXED_INTERFACE = [
    211.918,
    211.918,
    576.373,
    576.373,
    1110.497,
    1110.497,
    1487.008,
    1797.614,
    1797.614,
    2595.519,
]


@pytest.fixture(scope="module")
def arm() -> fm.FlexibleBodyData:
    """The reduced arm; its body frame is that of its base face."""
    mesh = box_mesh((1.0, 0.04, 0.04), (24, 2, 2), "hex27", origin=(0.0, -0.02, -0.02))
    faces = {"base": Rigid("x0"), "tip": Rigid("x1")}
    steel = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    return reduce(
        mesh, steel, interfaces=faces, method=CraigBampton(modes=10), reference="base", name="arm"
    )


def arms(data: fm.FlexibleBodyData, number: int) -> fm.Model:
    """Arms in series, the first on the ground."""
    model = fm.Model("arms", gravity=(0.0, -9.81, 0.0))
    end: fm.FrameRef = model.ground
    for i in range(number):
        arm = model.add(fm.FlexibleBody(f"arm{i}", data=data, stiffening=False))
        model.add(fm.Revolute(f"joint{i}", end, arm["base"]))
        end = arm["tip"]
    return model


def tip_errors(solution: fm.Solution, number: int) -> list[float]:
    """Largest error of a coordinate of the tip at each published time (m)."""
    tip = solution.frame(f"arm{number - 1}/tip").position
    return [
        float(np.abs(tip[round(t / 0.05), :2] - published).max())
        for t, published in TIPS[number].items()
    ]


def test_frequencies(arm: fm.FlexibleBodyData) -> None:
    found = [float(f) for f in str(arm.provenance["normal-mode frequencies [Hz]"]).split(",")]
    np.testing.assert_allclose(found, FIXED_INTERFACE, rtol=1e-4)
    np.testing.assert_allclose(arm.modes.frequency[0], 33.497, rtol=1e-4)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("number", [1, 2])
def test_tips(arm: fm.FlexibleBodyData, number: int, coordinates: str) -> None:
    method = fm.GeneralizedAlpha(rho_inf=0.8, step=1e-4, newton_tolerance=1e-10)
    solution = fm.simulate(
        arms(arm, number), t_end=1.0, output_step=0.05, coordinates=coordinates, integrator=method
    )
    assert max(tip_errors(solution, number)) < TOLERANCE
