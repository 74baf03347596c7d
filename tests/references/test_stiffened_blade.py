"""A blade whose frame is attached at a rigid face: its mass matrix stays positive definite in
absolute coordinates.
"""

import numpy as np

import flexmbs as fm
import preprocess as pp

ALUMINIUM = pp.Isotropic(E=70e9, nu=0.33, rho=2700.0)


def test_attached_blade_in_joint_and_absolute_coordinates() -> None:
    """With all static shapes at the faces a motion of the face only has almost no mass."""
    mesh = pp.box_mesh((0.5, 0.02, 0.005), (8, 1, 1), "hex20")
    faces = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    data = pp.reduce(
        mesh,
        ALUMINIUM,
        interfaces=faces,
        method=pp.CraigBampton(modes=4),
        reference="root",
        damping=0.02,
    )
    model = fm.Model("blade", gravity=(0.0, 0.0, -9.81))
    blade = model.add(fm.FlexibleBody("blade", data=data))
    model.add(fm.Revolute("hub", model.ground, blade["root"], axis="z", v0=20.0))
    joint, absolute = (
        fm.simulate(model, t_end=0.02, step=2e-4, formalism="multiplier", coordinates=coordinates)
        for coordinates in ("joint", "absolute")
    )
    np.testing.assert_allclose(
        absolute.frame("blade/tip").position, joint.frame("blade/tip").position, atol=1e-7
    )
    assert joint.frame("blade/tip").position[-1, 2] < -1.5e-3
