"""Branches of modes of matrices whose eigenvectors are known."""

import numpy as np

from flexmbs.signals.tracking import modal_assurance, track


def rotated(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]).astype(complex)


def test_assurance_is_that_of_directions_whatever_their_scale_and_phase() -> None:
    a = rotated(0.4) * np.array([2.0, -3.0, 1j])
    expected = np.array(
        [
            [np.cos(0.4) ** 2, np.sin(0.4) ** 2, 0.0],
            [np.sin(0.4) ** 2, np.cos(0.4) ** 2, 0.0],
            [0.0, 0.0, 1.0],
        ]
    )
    np.testing.assert_allclose(modal_assurance(np.eye(3).astype(complex), a), expected, atol=1e-15)


def test_branches_go_through_a_crossing_in_a_common_eigenvalue() -> None:
    """At the crossing the solver may give any two vectors of the plane."""
    values = [
        np.array([1.0, 2.0, 5.0]) * 1j,
        np.array([1.5, 1.5, 5.0]) * 1j,
        np.array([1.0, 2.0, 5.0]) * 1j,
    ]
    swapped = np.eye(3)[:, [1, 0, 2]].astype(complex)
    found = track(values, [np.eye(3).astype(complex), rotated(0.7), swapped])
    np.testing.assert_allclose(
        found.eigenvalue.imag, [[1.0, 2.0, 5.0], [1.5, 1.5, 5.0], [2.0, 1.0, 5.0]]
    )
    np.testing.assert_allclose(found.mac, 1.0)
    np.testing.assert_allclose(
        np.abs(found.shape), np.broadcast_to(np.eye(3), (3, 3, 3)), atol=1e-12
    )


def test_modes_that_appear_begin_a_branch_and_others_end() -> None:
    shapes = np.eye(3).astype(complex)
    found = track(
        [np.array([1j, 3j]), np.array([1j, 2j, 3j]), np.array([2j])],
        [shapes[:, [0, 2]], shapes, shapes[:, [1]]],
    )
    expected = [[1.0, 3.0, np.nan], [1.0, 3.0, 2.0], [np.nan, np.nan, 2.0]]
    np.testing.assert_array_equal(
        found.eigenvalue.imag * np.where(np.isnan(found.eigenvalue.real), np.nan, 1.0), expected
    )
