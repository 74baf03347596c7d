"""Poses, twists and wrenches against 4×4 and 6×6 matrices."""

import numpy as np
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from flexmbs.algebra.se3 import (
    bracket,
    exp_se3,
    twist_to_child,
    twist_to_parent,
    wrench_to_child,
    wrench_to_parent,
)


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def hat(V):
    return np.block([[skew(V[3:]), V[:3, None]], [np.zeros((1, 4))]])


def vee(X):
    return np.array([*X[:3, 3], X[2, 1], X[0, 2], X[1, 0]])


def pose(rng):
    return np.block(
        [
            [Rotation.random(rng=rng).as_matrix(), rng.normal(size=(3, 1))],
            [np.zeros((1, 3)), np.ones((1, 1))],
        ]
    )


def map6(function, X):
    R, x = tuple(X[:3, :3].ravel()), tuple(X[:3, 3])
    return np.array(
        [np.concatenate(function(R, x, tuple(e[:3]), tuple(e[3:]))) for e in np.eye(6)]
    ).T


def test_twists_are_carried_as_matrices():
    rng = np.random.default_rng(0)
    for _ in range(5):
        X, V = pose(rng), rng.normal(size=6)
        down, up = map6(twist_to_child, X), map6(twist_to_parent, X)
        assert np.abs(hat(down @ V) - np.linalg.inv(X) @ hat(V) @ X).max() < 1e-14
        assert np.abs(up @ down - np.eye(6)).max() < 1e-14
        assert np.abs(map6(wrench_to_parent, X) - down.T).max() < 1e-15
        assert np.abs(map6(wrench_to_child, X) - up.T).max() < 1e-15


def test_bracket_is_the_commutator():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(2, 6))
    found = np.concatenate(bracket(tuple(A[:3]), tuple(A[3:]), tuple(B[:3]), tuple(B[3:])))
    assert np.abs(found - vee(hat(A) @ hat(B) - hat(B) @ hat(A))).max() < 1e-15


def test_exponential_of_a_twist():
    rng = np.random.default_rng(2)
    for size in (0.0, 1e-9, 9.9e-3, 1.01e-2, 0.7, 3.0):
        v, w = rng.normal(size=3), rng.normal(size=3)
        w *= size / np.linalg.norm(w)
        R, x = exp_se3(tuple(v), tuple(w))
        X = expm(hat(np.concatenate([v, w])))
        assert np.abs(np.reshape(R, (3, 3)) - X[:3, :3]).max() < 5e-15
        assert np.abs(np.array(x) - X[:3, 3]).max() < 5e-15
