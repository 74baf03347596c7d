"""A loaded beam in equilibrium, in three body frames: attached to its root, mean axes, chord.

The frames differ by finite rotations: the bodies agree if their displacements are correct to second
order, and their difference decreases with the third power of the load. With linear shapes only it
is of second order, in positions and in rotations.

A deflected part has the inertia of its elements, with the affine second-order displacement given by
its geometric stiffness.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexmbs as fm
from preprocess import Averaged, CraigBampton, Isotropic, Rigid, assemble, box_mesh, reduce

LENGTH, HEIGHT, WIDTH = 1.0, 0.05, 0.03
REFERENCES = ("hub", "mean axes", "chord")
LOADS = {  # world axes
    "force across": ((0.0, 3000.0, 800.0), (0.0, 0.0, 0.0)),
    "force and torque": ((0.0, 2000.0, 0.0), (400.0, 0.0, 0.0)),
    "compression and bending moments": ((-8000.0, 0.0, 0.0), (0.0, 300.0, 200.0)),
}


@pytest.fixture(scope="module", params=[Rigid, Averaged], ids=["rigid", "averaged"])
def beams(request: pytest.FixtureRequest) -> list[fm.FlexibleBodyData]:
    """One solid beam, reduced in each frame; the loaded end face rigid, or averaged."""
    mesh = box_mesh(
        (LENGTH, HEIGHT, WIDTH), (10, 1, 1), "hex20", origin=(0.0, -HEIGHT / 2, -WIDTH / 2)
    )
    ends = {"hub": Rigid("x0"), "tip": request.param("x1")}
    steel, method = Isotropic(E=2.1e11, nu=0.3, rho=7850.0), CraigBampton(modes=4)
    options = {"interfaces": ends, "method": method, "stress": None, "estimate": False}
    return [reduce(mesh, steel, reference=reference, **options) for reference in REFERENCES]


def tip(data: fm.FlexibleBodyData, load: str, part: float, *, stiffening: bool) -> np.ndarray:
    """Position (m) and rotation vector of the loaded tip in equilibrium."""
    force, torque = (tuple(part * np.array(each)) for each in LOADS[load])
    model = fm.Model("clamped beam", gravity=(0.0, 0.0, 0.0))
    beam = model.add(fm.FlexibleBody("beam", data=data, stiffening=stiffening))
    model.add(fm.Fixed("clamp", model.ground, beam["hub"]))
    model.add(fm.FrameForce("load", beam["tip"], force=force, torque=torque, axes="world"))
    found = fm.statics(model).solution.frame("beam/tip")
    return np.concatenate([found.position[0], Rotation.from_matrix(found.rotation[0]).as_rotvec()])


@pytest.mark.parametrize("load", LOADS)
def test_body_frames_agree_to_second_order(beams: list[fm.FlexibleBodyData], load: str) -> None:
    on, half, off = (
        np.ptp([tip(data, load, part, stiffening=switch) for data in beams], axis=0)
        for part, switch in ((1.0, True), (0.5, True), (1.0, False))
    )
    assert half.max() < on.max() / 6.0  # 1/8 of third order, 1/4 of second
    assert on[:3].max() < 0.06 * off[:3].max()
    assert on[3:].max() < 0.08 * off[3:].max()


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("deflection", [0.05, 0.5])
def test_mass_matrix_of_a_bent_part_is_the_integral_over_its_elements(
    reference: str, deflection: float
) -> None:
    """M = Σ Jᵀ m J with the consistent mass matrix of the elements and J = [1 | −ũ | ∂u/∂q] at
    nodes, u = x + φq + ½γ(q,q).
    """
    mesh = box_mesh((LENGTH, HEIGHT, WIDTH), (4, 1, 1), "hex20")
    fe = assemble(mesh, Isotropic(E=2.1e11, nu=0.3, rho=7850.0))
    ends, method = {"hub": Rigid("x0"), "tip": Rigid("x1")}, CraigBampton(modes=3)
    data = reduce(
        fe, interfaces=ends, method=method, reference=reference, stress=None, estimate=False
    )
    assert data.surface is not None
    assert data.geometric is not None
    x, phi = data.surface.nodes, data.surface.phi
    q = np.random.default_rng(3).normal(size=data.nf) / np.sqrt(np.diag(data.K_ff))
    q *= deflection * LENGTH / np.linalg.norm(phi @ q, axis=1).max()
    w = np.column_stack([np.ones(len(x)), x])
    moments = np.concatenate([data.geometric.acceleration[None], data.geometric.second_moments])
    gamma = np.tensordot(w @ np.linalg.inv(w.T @ (fe.m @ w)), moments, axes=1)
    u, slope = x + phi @ q + 0.5 * (gamma @ q) @ q, phi + gamma @ q
    turns = np.cross(np.eye(3)[None], u[:, None]).transpose(0, 2, 1)  # columns e × u
    J = np.concatenate([np.broadcast_to(np.eye(3), (len(x), 3, 3)), turns, slope], axis=2)
    M = np.einsum("nai,naj->ij", J, (fe.m @ J.reshape(len(x), -1)).reshape(J.shape))
    model = fm.Model("free", gravity=(0.0, 0.0, 0.0))
    model.add(fm.FlexibleBody("part", data=data, qf0=tuple(q)))
    model.add(fm.Free("float", model.ground, "part"))
    found = fm.matrices(model).M
    size = np.sqrt(np.diag(M))
    assert np.abs((found - M) / np.outer(size, size)).max() < 1e-10
    assert np.linalg.eigvalsh(found / np.outer(size, size))[0] > 0.0
