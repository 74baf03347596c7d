"""PUMA 560 against Corke and Armstrong-Hélouvry (1994), the data of many robotics programs.

The numbers agree with those printed by the tests of robotics-toolbox-python (MIT) in all their
digits; more digits come from an independent evaluation of the Newton–Euler equations.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.robots import puma560

PRINTED = json.loads((Path(__file__).parent / "data" / "puma560.json").read_text())
READY = np.radians([0.0, 45.0, 180.0, 0.0, 45.0, 0.0])
ZERO, ONE = np.zeros(6), np.ones(6)


@pytest.fixture(scope="module")
def puma() -> fm.Robot:
    return puma560()


@pytest.fixture(scope="module")
def links() -> fm.Robot:
    """Without motors."""
    return puma560(motors=False)


def near(found: np.ndarray, key: str) -> None:
    np.testing.assert_allclose(found, PRINTED[key], atol=1e-12, rtol=1e-12)


def test_digits_in_print(puma: fm.Robot) -> None:
    np.testing.assert_allclose(
        puma.gravity_forces(READY), (0.0, 31.6399, 6.0351, 0.0, 0.0283, 0.0), atol=5e-5
    )
    found = puma.inverse_dynamics(READY, ZERO, ONE)
    np.testing.assert_allclose(
        found, (3.35311, 36.0025, 7.42596, 0.190043, 0.203441, 0.194133), atol=5e-5
    )
    found = puma.inverse_dynamics(READY, ONE, ONE)
    np.testing.assert_allclose(
        found, (32.4952, 60.8670, 17.7436, 1.45452, 1.29911, 0.713781), atol=5e-5
    )
    D = puma.mass_matrix(READY)
    np.testing.assert_allclose(
        np.diag(D), (3.6594, 4.4137, 0.9378, 0.1925, 0.1713, 0.1941), atol=5e-5
    )
    np.testing.assert_allclose((D[0, 1], D[0, 2], D[1, 2]), (-0.4044, 0.1006, 0.3509), atol=5e-5)
    found = puma.forward_dynamics(
        READY, (0.1, 0.2, 0.8, 0.2, 0.5, 1.0), (1.0, 3.2, 1.8, 0.1, 0.7, 4.6)
    )
    np.testing.assert_allclose(
        found, (-7.4102, -9.8432, -10.9694, -4.4314, -0.9881, 21.0228), atol=5e-5
    )


def test_twelve_digits(puma: fm.Robot, links: fm.Robot) -> None:
    near(puma.pose(READY), "fkine_qn")
    near(puma.pose(ZERO), "fkine_qz")
    near(puma.inverse_dynamics(READY, ONE, ONE), "rne_qn_1_1_with_friction")
    near(links.inverse_dynamics(READY, ONE, ONE), "rne_qn_1_1_nofriction_nomotor")
    near(puma.mass_matrix(READY), "inertia_qn_with_motor")
    near(links.mass_matrix(np.stack([READY, ZERO])), "inertia_no_motor")
    near(
        links.gravity_forces(
            np.radians([[0, 0, 0, 0, 0, 0], [0, 90, -90, 0, 0, 0], [0, 0, -90, 0, 0, 0]])
        ),
        "gravity_qz_qr_qs",
    )


def test_terms_are_those_of_the_model(links: fm.Robot) -> None:
    rng = np.random.default_rng(5)
    q, qd, qdd = rng.uniform(-2.0, 2.0, (3, 6))
    found = fm.matrices(links.model, start=links.state(q, qd))
    assert found.velocities == links.coordinates
    np.testing.assert_allclose(links.mass_matrix(q), found.M, atol=1e-10)
    forces = links.coriolis_matrix(q, qd) @ qd + links.gravity_forces(q)
    np.testing.assert_allclose(forces, -found.k, atol=1e-10)
    efforts = fm.inverse_dynamics(links.state(q, qd, qdd)).effort
    np.testing.assert_allclose(
        links.inverse_dynamics(q, qd, qdd),
        np.concatenate([*efforts.values()], axis=1)[0],
        atol=1e-10,
    )
    np.testing.assert_allclose(
        links.jacobian(q, "link6"), world_rows(found.J[-6:], links.pose(q, "link6")), atol=1e-10
    )


def world_rows(J: np.ndarray, pose: np.ndarray) -> np.ndarray:
    R = pose[:3, :3]
    return np.vstack([R @ J[:3], R @ J[3:]])


def test_forward_dynamics_undoes_inverse_dynamics(puma: fm.Robot) -> None:
    q, qd, qdd = np.random.default_rng(6).uniform(-2.0, 2.0, (3, 100, 6))
    found = puma.forward_dynamics(q, qd, puma.inverse_dynamics(q, qd, qdd))
    np.testing.assert_allclose(found, qdd, atol=1e-10)


def test_rate_of_the_mass_matrix_and_coriolis_matrix(puma: fm.Robot) -> None:
    """Ḋ − 2C is skew, and C is that of Christoffel's symbols: Ḋ = C + Cᵀ and every column is
    symmetric in the velocities.
    """
    rng, h = np.random.default_rng(7), 1e-5
    q, qd = rng.uniform(-2.0, 2.0, (2, 6))
    # [k, i, j]
    slopes = np.array(
        [(puma.mass_matrix(q + h * e) - puma.mass_matrix(q - h * e)) / (2.0 * h) for e in np.eye(6)]
    )
    christoffel = 0.5 * (slopes.transpose(1, 2, 0) + slopes.transpose(1, 0, 2) - slopes)
    np.testing.assert_allclose(puma.coriolis_matrix(q, qd), christoffel @ qd, atol=1e-8)
    N = np.tensordot(qd, slopes, 1) - 2.0 * puma.coriolis_matrix(q, qd)
    np.testing.assert_allclose(N + N.T, 0.0, atol=1e-8)


def test_inverse_kinematics_returns(puma: fm.Robot) -> None:
    low, high = puma.limits.T
    wanted = puma.pose(np.random.default_rng(8).uniform(low, high, (50, 6)))
    found = puma.inverse_kinematics(wanted)
    assert found.success.all()
    assert ((found.q >= low) & (found.q <= high)).all()
    np.testing.assert_allclose(puma.pose(found.q), wanted, atol=1e-10)


def test_a_pose_out_of_reach_is_no_success(puma: fm.Robot) -> None:
    wanted = np.eye(4)
    wanted[:3, 3] = (2.0, 0.0, 0.0)
    found = puma.inverse_kinematics(wanted, starts=3)
    assert not found.success
    assert found.error[0] > 0.5
    assert found.starts == 3
