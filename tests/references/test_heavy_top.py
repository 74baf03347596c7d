"""The heavy top of Brüls and Cardona (2010), "On the use of Lie group time integrators in multibody
dynamics".

The positions of the centre of mass are of an integration of Euler's equations to 12 digits; the
Euler parameters at 0.2 s agree with the five digits that Exudyn's Runge-Kutta steps give (-0.70828,
0.43878, 0.54573, 0.0894).
"""

import numpy as np
import pytest
from combinations import Combination, combinations
from scipy.spatial.transform import Rotation

import flexmbs as fm

CENTRE = {
    0.2: (0.605550561377, 0.598957681795, -0.523983027430),
    0.5: (-0.702468297057, -0.021165184702, -0.711400257652),
    1.0: (0.173343964098, 0.640088592070, -0.748490791134),
    2.0: (-0.150416822746, -0.724165591637, -0.673022269560),
}
PARAMETERS = (-0.708279152974, 0.438781088127, 0.545728396145, 0.089399752824)
EXPLICIT = fm.DormandPrince(rtol=1e-11, atol=1e-11)
IMPLICIT = fm.GeneralizedAlpha(rho_inf=0.9, step=5e-5, newton_tolerance=1e-11)


def heavy_top() -> fm.Model:
    """A body of 15 kg on a spherical joint, its centre 1 m away on the body's y axis, spinning
    about that axis.
    """
    model = fm.Model("heavy top", gravity=(0, 0, -9.81))
    top = model.add(
        fm.RigidBody(
            "top", mass=15.0, inertia=(0.234375, 0.46875, 0.234375), frames={"foot": (0, -1, 0)}
        )
    )
    model.add(fm.Spherical("foot", model.ground, top["foot"], v0=(0, 150, -4.61538)))
    return model


@pytest.mark.parametrize(("combination", "tolerance"), [
    *(pytest.param(*each.values, 1e-8, id=each.id) for each in combinations(EXPLICIT)),
    *(pytest.param(*each.values, 1e-3, id=each.id) for each in combinations(IMPLICIT)),
])  # fmt: skip
def test_heavy_top(combination: Combination, tolerance: float) -> None:
    solution = fm.simulate(heavy_top(), t_end=2.0, output_step=0.1, **combination.options())
    top = solution.body("top")
    for t, published in CENTRE.items():
        np.testing.assert_allclose(
            top.position[round(t / 0.1)], published, rtol=0.0, atol=tolerance
        )
    turn = (
        Rotation.from_matrix(top.rotation[2])
        * Rotation.from_quat(PARAMETERS, scalar_first=True).inv()
    )
    assert turn.magnitude() < 2.0 * tolerance
