"""Unit loads: resultants by rigid-body mechanics, equilibrium under the reference condition, closed
forms of a bar.
"""

import numpy as np
import pytest
from bars import solid_bar

from preprocess.body.unit_loads import BodyLoads
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import Averaged, Rigid, bind_interfaces
from preprocess.fe.material import Isotropic
from preprocess.mesh.rigid_motion import rigid_motion
from preprocess.reduction.interface_statics import InterfaceStatics

STEEL = Isotropic(E=2.1e11, nu=0.0, rho=7850.0)
SIZE = (0.6, 0.1, 0.07)
AXES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
REFERENCES = ["a", "b", "mean axes"]


@pytest.fixture(scope="module")
def bar() -> FEModel:
    return solid_bar((3, 1, 1), nu=0.0)


def statics_of(bar: FEModel) -> InterfaceStatics:
    return InterfaceStatics(
        bar, bind_interfaces({"a": Rigid("x0"), "b": Averaged("x1")}, bar.nodes, bar.node_sets)
    )


@pytest.mark.parametrize("reference", REFERENCES)
def test_resultants_are_those_of_a_rigid_body(bar: FEModel, reference: str) -> None:
    """Force and moment about the origin of the body frame: inertia of the rigid body, and unit
    wrenches on the interfaces.
    """
    origin = np.array([0.1, -0.2, 0.3])
    cases = BodyLoads(statics_of(bar), origin, AXES).under(reference)
    x = (bar.nodes - origin) @ AXES
    m = np.asarray(bar.m.sum(axis=1)).ravel()
    S = np.einsum("na,nm,mb->ab", x, bar.m.toarray(), x)
    c, J = m @ x, np.trace(S) * np.eye(3) - S
    in_body = np.einsum("ba,nbk->nak", AXES, cases.loads.reshape(len(x), 3, -1))
    wrench = np.einsum("naw,nak->wk", rigid_motion(x), in_body)
    e = np.eye(3)
    expected = [np.concatenate([-m.sum() * d, -np.cross(c, d)]) for d in e]
    expected += [np.concatenate([-np.cross(d, c), -J @ d]) for d in e]

    def centrifugal(w: np.ndarray) -> np.ndarray:
        return -np.concatenate([np.cross(w, np.cross(w, c)), np.cross(w, J @ w)])

    expected += [centrifugal(d) for d in e]
    expected += [
        centrifugal(e[a] + e[b]) - centrifugal(e[a]) - centrifugal(e[b])
        for a, b in ((0, 1), (1, 2), (2, 0))
    ]
    for interface in statics_of(bar).interfaces:
        p = (interface.position - origin) @ AXES
        expected += [np.concatenate([d, np.cross(p, d)]) for d in e] + [
            np.concatenate([0 * d, d]) for d in e
        ]
    assert len(cases.names) == len(expected) == 24
    np.testing.assert_allclose(wrench, np.array(expected).T, atol=1e-10 * m.sum())


@pytest.mark.parametrize("reference", REFERENCES)
def test_displacements_balance_their_loads(bar: FEModel, reference: str) -> None:
    """K u − f leaves forces at the held interface alone, or inertia forces of a rigid-body
    acceleration; that of loads that the reference condition carries is all of f."""
    statics = statics_of(bar)
    cases = BodyLoads(statics, np.zeros(3), np.eye(3)).under(reference)
    left = bar.K @ cases.displacements - cases.loads
    # all motions of the interfaces, and of the nodes between them
    motions = statics.constraint_modes()
    size = np.abs(cases.loads).max(axis=0)
    if reference == "mean axes":
        R = statics.rigid_modes
        assert (
            np.abs(bar.mass_product(R).T @ cases.displacements).max()
            < 1e-12 * np.abs(cases.displacements).max()
        )
        left -= cases.balance
        np.testing.assert_allclose(
            R.T @ (cases.balance + cases.loads), 0.0, atol=1e-9 * np.abs(R.T @ cases.loads).max()
        )
        assert not cases.displacements[:, :6].any()
        free = motions
    else:
        k = "ab".index(reference)
        free = np.delete(motions, np.arange(6 * k, 6 * k + 6), axis=1)
        held = statics.interface_loads[:, 6 * k : 6 * k + 6].T @ cases.displacements
        assert np.abs(held).max() < 1e-12 * np.abs(cases.displacements).max()
        assert not cases.displacements[:, 12 + 6 * k : 18 + 6 * k].any()
    works = np.ones(len(cases.names), dtype=bool)
    if reference != "mean axes":
        works[12 + 6 * k : 18 + 6 * k] = False
    assert np.abs((free.T @ left) / size)[:, works].max() < 1e-9
    # with all interfaces held: nothing is left between them
    inner = statics.response(np.asarray(left))
    assert np.abs(inner[:, works]).max() < 1e-12 * np.abs(cases.displacements).max()


def test_bar_in_tension(bar: FEModel) -> None:
    """u(L) = F L / EA under a unit tip force, ρ ω² L³ / 3E when it spins about an end, −ρ a L² / 2E
    under acceleration.
    """
    interfaces = bind_interfaces({"a": Rigid("x0"), "b": Rigid("x1")}, bar.nodes, bar.node_sets)
    cases = BodyLoads(
        InterfaceStatics(bar, interfaces), np.array([0.0, 0.05, 0.035]), np.eye(3)
    ).under("a")
    tip = bar.node_sets["x1"]
    u = cases.displacements.reshape(len(bar.nodes), 3, -1)[tip, 0].mean(axis=0)
    found = dict(zip(cases.names, u))
    L, E, rho = SIZE[0], STEEL.E, STEEL.rho
    assert found["b force x"] == pytest.approx(L / (E * SIZE[1] * SIZE[2]), rel=1e-10)
    # quadratic elements, cubic solution
    assert found["angular velocity zz"] == pytest.approx(rho * L**3 / (3 * E), rel=2e-3)
    assert found["acceleration x"] == pytest.approx(-rho * L**2 / (2 * E), rel=1e-10)
