"""Static responses from one factorization against dense solutions of the constrained matrices."""

import numpy as np
import pytest
import scipy.linalg

from flexmbs.flexible_body.components import FloatArray
from preprocess.fe.assembly import assemble
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import Averaged, Rigid, bind_interfaces
from preprocess.fe.material import Isotropic
from preprocess.mesh.rigid_motion import rigid_motion
from preprocess.mesh.structured import box_mesh
from preprocess.reduction.interface_statics import InterfaceStatics

STEEL = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
KINDS = [(Rigid, Rigid), (Averaged, Averaged), (Rigid, Averaged), (Averaged, Rigid)]


def bound(fe: FEModel, kinds: tuple) -> InterfaceStatics:
    return InterfaceStatics(
        fe, bind_interfaces({"a": kinds[0]("x0"), "b": kinds[1]("x1")}, fe.nodes, fe.node_sets)
    )


def admissible(statics: InterfaceStatics, held: tuple[int, ...] = ()) -> FloatArray:
    """Orthonormal displacements that leave rigid interfaces undistorted and the held interfaces
    where they are, (3N, n).
    """
    rows = []
    for k, interface in enumerate(statics.interfaces):
        picked = np.zeros((3 * len(interface.nodes), statics.size))
        picked[np.arange(len(picked)), (3 * interface.nodes[:, None] + np.arange(3)).ravel()] = 1.0
        T = interface.rigid_motion.reshape(-1, 6)
        motion = np.linalg.lstsq(T, picked, rcond=None)[0]
        if interface.kind == "rigid":
            rows.append(picked - T @ motion)
        if k in held:
            rows.append(motion)
    return scipy.linalg.null_space(np.vstack(rows)) if rows else np.eye(statics.size)


def loads_on(statics: InterfaceStatics) -> FloatArray:
    return np.random.default_rng(1).standard_normal((statics.size, 4))


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("k", [0, 1])
def test_response_with_one_interface_held(bar: FEModel, kinds: tuple, k: int) -> None:
    statics = bound(bar, kinds)
    loads = loads_on(statics)
    Z = admissible(statics, held=(k,))
    expected = Z @ np.linalg.solve(Z.T @ bar.K.toarray() @ Z, Z.T @ loads)
    found = statics.held_response(loads, k)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kinds", KINDS)
def test_free_response_is_the_pseudoinverse_in_the_mass_metric(bar: FEModel, kinds: tuple) -> None:
    """Oracle: Σ φ φᵀ f / ω² over all elastic modes of the free body, from dense matrices."""
    statics = bound(bar, kinds)
    loads = loads_on(statics)
    Z = admissible(statics)
    omega2, y = scipy.linalg.eigh(Z.T @ bar.K.toarray() @ Z, Z.T @ bar.M.toarray() @ Z)
    modes = Z @ y[:, 6:]
    expected = modes @ ((modes.T @ loads) / omega2[6:, None])
    found = statics.free_response(loads)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    momenta = rigid_motion(bar.nodes).reshape(-1, 6).T @ bar.mass_product(found)
    assert np.abs(momenta).max() < 1e-12 * bar.mass * np.abs(found).max()


def test_one_interface_alone(bar: FEModel) -> None:
    """With a single interface, held means all held, and the free body is that of the matrices
    themselves.
    """
    statics = InterfaceStatics(
        bar, bind_interfaces({"a": Averaged("x0")}, bar.nodes, bar.node_sets)
    )
    loads = loads_on(statics)
    np.testing.assert_array_equal(statics.held_response(loads, 0), statics.response(loads))
    omega2, modes = scipy.linalg.eigh(bar.K.toarray(), bar.M.toarray())
    expected = modes[:, 6:] @ ((modes[:, 6:].T @ loads) / omega2[6:, None])
    np.testing.assert_allclose(
        statics.free_response(loads), expected, atol=1e-9 * np.abs(expected).max()
    )


@pytest.mark.parametrize("kinds", KINDS)
def test_interface_loads_are_the_duals_of_the_interface_coordinates(
    bar: FEModel, kinds: tuple
) -> None:
    """Unit wrench: force, and moment about the frame's position, of the nodal loads; work one with
    the constraint mode.
    """
    statics = bound(bar, kinds)
    L = statics.interface_loads
    np.testing.assert_allclose(L.T @ statics.constraint_modes(), np.eye(12), atol=1e-9)
    for k, interface in enumerate(statics.interfaces):
        f = L[:, 6 * k : 6 * k + 6].reshape(-1, 3, 6)
        moment = np.cross((bar.nodes - interface.position)[:, :, None], f, axis=1).sum(axis=0)
        np.testing.assert_allclose(np.vstack([f.sum(axis=0), moment]), np.eye(6), atol=1e-10)


@pytest.mark.parametrize("kinds", KINDS)
def test_interface_stiffness_resists_six_motions_fewer(bar: FEModel, kinds: tuple) -> None:
    statics = bound(bar, kinds)
    R = statics.interface_loads.T @ statics.rigid_modes
    S = statics.interface_stiffness
    assert np.abs(S @ R).max() < 1e-9 * np.abs(S).max() * np.abs(R).max()
    assert np.linalg.matrix_rank(S / np.sqrt(np.outer(np.diag(S), np.diag(S))), tol=1e-8) == 6


@pytest.mark.parametrize("seed", range(6))
def test_responses_are_those_of_a_part_of_any_size(seed: int) -> None:
    """Displacements times size and modulus are those of the part of a metre."""
    random = np.random.default_rng(seed)
    size, E = (1.0, 10 ** random.uniform(-7, 4)), (2e11, 10 ** random.uniform(6, 12))
    kinds, found = KINDS[1 + seed % 3], []
    for s, e in zip(size, E):
        fe = assemble(
            box_mesh((0.4 * s, 0.1 * s, 0.05 * s), (4, 2, 1)), Isotropic(E=e, nu=0.3, rho=7850.0)
        )
        ends = {"a": kinds[0]("x0"), "b": kinds[1]("x1")}
        statics = InterfaceStatics(fe, bind_interfaces(ends, fe.nodes, fe.node_sets))
        load = np.random.default_rng(seed).standard_normal((statics.size, 1))
        found.append(np.vstack([statics.held_response(load, k) * s * e for k in range(2)]))
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-8 * np.abs(found[0]).max())
