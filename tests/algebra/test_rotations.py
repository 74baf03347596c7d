"""Rotations against SciPy's and against Fréchet derivatives of the matrix exponential."""

import numpy as np
import pytest
from scipy.linalg import expm, expm_frechet
from scipy.spatial.transform import Rotation

from flexmbs.algebra.so3 import (
    exp_so3,
    log_so3,
    matrix_of,
    quaternion_exp,
    quaternion_of,
    quaternion_product,
    tangent,
    tangent_inverse_transposed,
    tangent_rate,
    tangent_transposed,
)

ANGLES = (0.0, 1e-12, 1e-7, 9.99e-3, 1.001e-2, 0.3, 1.5, 2.6, 2.7, np.pi - 1e-3, np.pi - 1e-8)


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def matrix(R):
    return np.reshape(R, (3, 3))


def axes(n=5):
    random = np.random.default_rng(0).normal(size=(n, 3))
    return [*np.eye(3), *(v / np.linalg.norm(v) for v in random)]


def operator(function, *first):
    """Matrix of a function that is linear in its last argument."""
    return np.array([function(*first, tuple(e)) for e in np.eye(3)]).T


def tangent_by_exponential(th):
    """T(θ) from the Fréchet derivative of the matrix exponential: Rᵀ dR = (T dθ)~."""
    columns = []
    for e in np.eye(3):
        R, dR = expm_frechet(skew(th), skew(e))
        W = R.T @ dR
        columns.append([W[2, 1], W[0, 2], W[1, 0]])
    return np.array(columns).T


@pytest.mark.parametrize("angle", ANGLES)
def test_exponential_and_logarithm(angle):
    for axis in axes():
        th = angle * axis
        R = matrix(exp_so3(tuple(th)))
        assert np.abs(R - Rotation.from_rotvec(th).as_matrix()).max() < 4e-15
        found = np.array(log_so3(tuple(R.ravel())))
        turns = found if found @ th >= 0 or angle < 3.0 else -found  # at π both axes are right
        assert np.abs(turns - th).max() < (2e-8 if angle > 3.1 else 3e-15)
        assert np.abs(matrix(exp_so3(tuple(found))) - R).max() < 1e-14


@pytest.mark.parametrize("angle", ANGLES)
def test_tangent_operators(angle):
    for axis in axes():
        th = tuple(angle * axis)
        T = operator(tangent, th)
        assert np.abs(T - tangent_by_exponential(np.array(th))).max() < 2e-12
        assert np.abs(operator(tangent_transposed, th) - T.T).max() < 1e-15
        # 1 − cos θ cancels at θ = 0.01
        assert np.abs(operator(tangent_inverse_transposed, th) @ T.T - np.eye(3)).max() < 1e-12


@pytest.mark.parametrize("angle", [1e-3, 9.99e-3, 1.001e-2, 0.4, 2.0, 3.0])
def test_tangent_rate_is_the_derivative_along_the_motion(angle):
    rng = np.random.default_rng(1)
    for axis in axes():
        th, thd = angle * axis, rng.normal(size=3)
        h = 1e-4

        def w(tau, th=th, thd=thd):
            return np.array(tangent(tuple(th + tau * thd), tuple(thd)))

        slope = (8 * (w(h) - w(-h)) - (w(2 * h) - w(-2 * h))) / (12 * h)
        assert np.abs(np.array(tangent_rate(tuple(th), tuple(thd))) - slope).max() < 2e-10


def test_euler_parameters():
    rng = np.random.default_rng(2)
    turns = [
        *Rotation.random(20, rng).as_matrix(),
        *(Rotation.from_rotvec(np.pi * v).as_matrix() for v in axes()),
    ]
    for R in turns:
        p = quaternion_of(tuple(np.ravel(R)))
        assert abs(np.linalg.norm(p) - 1.0) < 4e-16
        assert p[0] >= 0.0
        assert np.abs(matrix(matrix_of(*p)) - R).max() < 3e-15
        assert np.abs(matrix(matrix_of(*(1.3 * np.array(p)))) - R).max() < 3e-15
    a, b = (Rotation.random(rng=rng) for _ in range(2))
    product = quaternion_product(
        tuple(a.as_quat(scalar_first=True)), tuple(b.as_quat(scalar_first=True))
    )
    assert np.abs(matrix(matrix_of(*product)) - (a * b).as_matrix()).max() < 1e-15
    for angle in ANGLES:
        v = tuple(angle * axes()[-1])
        assert np.abs(matrix(matrix_of(*quaternion_exp(v))) - expm(skew(v))).max() < 4e-15
