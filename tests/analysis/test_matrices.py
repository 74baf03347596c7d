"""Matrices by name, and the orthogonality of constraints and velocity transformations."""

import numpy as np
import pytest
from linkages import CRANK, pendulum, slider_crank

import flexmbs as fm


def test_names_and_shapes() -> None:
    found = fm.matrices(slider_crank())
    assert set(found.velocities) <= {"main.0", "crank pin.0", "guide.0", "wrist pin.0"}
    assert len(set(found.constraints)) == 1
    assert found.J.shape == (18, 3)
    np.testing.assert_allclose(found.M, found.M.T)


@pytest.mark.parametrize("model", [slider_crank(), pendulum(0.4)], ids=lambda model: model.name)
def test_constraints_are_orthogonal_to_the_motion_they_allow(model: fm.Model) -> None:
    """G^l J^l = 0; all joints as constraints of free bodies: G (J J^l) = 0; Jᵀ M J of free bodies
    is M of the joints.
    """
    joint, absolute = fm.matrices(model), fm.matrices(model, coordinates="absolute")
    np.testing.assert_allclose(joint.G @ joint.J_loop, 0.0, atol=1e-14)
    np.testing.assert_allclose(absolute.G @ joint.J @ joint.J_loop, 0.0, atol=1e-14)
    np.testing.assert_allclose(absolute.G @ absolute.J_loop, 0.0, atol=1e-14)
    np.testing.assert_allclose(absolute.J, np.eye(len(absolute.J)), atol=1e-14)
    np.testing.assert_allclose(joint.J.T @ absolute.M @ joint.J, joint.M, atol=1e-14)


def test_explicit_loop_closure() -> None:
    """J^l = [1; −G_d⁻¹ G_i], s̄ = [0; −G_d⁻¹ γ̄], H̄ = 1 for revolute and prismatic joints."""
    model = slider_crank()
    model.add(fm.Drive("motor", "main", fm.Ramp(0.5, 3.0)))
    driven = fm.matrices(model)
    np.testing.assert_allclose(driven.G @ driven.s_bar + driven.gamma_bar, 0.0, atol=1e-13)
    assert driven.J_loop.shape == (3, 0)
    free = fm.matrices(slider_crank(), independent=["guide"])
    at = free.velocities.index("guide.0")
    rest = [k for k in range(3) if k != at]
    rows = [r for r in range(len(free.G)) if np.abs(free.G[r]).max() > 1e-12]
    expected = -np.linalg.lstsq(free.G[np.ix_(rows, rest)], free.G[rows, at], rcond=None)[0]
    np.testing.assert_allclose(free.J_loop[rest, 0], expected, atol=1e-12)
    np.testing.assert_allclose(free.H_bar, [[1.0]], atol=1e-14)
    np.testing.assert_allclose(free.h_bar, [0.0], atol=1e-14)


def test_rates_of_quaternions() -> None:
    """q̇ = H s with ṗ = ½ p ∘ (0, ω)."""
    half = 0.5 * 0.8
    model = fm.Model("ball", gravity=(0.0, 0.0, 0.0))
    body = model.add(fm.RigidBody("body", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    p = (np.cos(half), 0.0, 0.0, np.sin(half))
    model.add(fm.Spherical("ball", model.ground, body, q0=p))
    expected = 0.5 * np.array(
        [[-p[1], -p[2], -p[3]], [p[0], -p[3], p[2]], [p[3], p[0], -p[1]], [-p[2], p[1], p[0]]]
    )
    found = fm.matrices(model)
    np.testing.assert_allclose(found.H, expected, atol=1e-15)
    np.testing.assert_allclose(found.H_bar, expected, atol=1e-15)


def test_twist_of_the_crank() -> None:
    """At the end of the crank v = Ω r across it."""
    found = fm.matrices(slider_crank(0.5))
    rows = 6 * found.bodies.index("crank")
    np.testing.assert_allclose(
        found.J[rows : rows + 6, found.velocities.index("main.0")], (0, 0, 0, 0, 0, 1), atol=1e-15
    )
    rod = found.J[6 * found.bodies.index("rod") :][:3, found.velocities.index("main.0")]
    assert np.linalg.norm(rod) == pytest.approx(CRANK)


def test_at_a_moving_state() -> None:
    """M ṡ = k + Gᵀλ and G ṡ = γ hold for the accelerations of the state."""
    state = fm.state(slider_crank(), velocity={"main": 2.0})
    found = fm.matrices(state.compiled.model, start=state)
    np.testing.assert_allclose(found.M @ state.sd, found.k + found.G.T @ state.lam, atol=1e-11)
    np.testing.assert_allclose(found.G @ state.sd, found.gamma, atol=1e-11)
