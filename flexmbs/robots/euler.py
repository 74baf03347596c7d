"""Euler angles of three rotations about moved axes."""

import warnings

import numpy as np
from scipy.spatial.transform import Rotation

from flexmbs.declaration import shown
from flexmbs.errors import InputError

# determinant of the unit axes: below, eight of sixteen digits of the rates are lost
SINGULAR = 1e-8


def euler_rates(R: np.ndarray, angles: str) -> np.ndarray:
    """Matrix B (..., 3, 3) of ω = B φ̇ in world axes for R = R_a(φ1) R_b(φ2) R_c(φ3).

    Raises `InputError` if B is singular.
    """
    if (
        not isinstance(angles, str)
        or len(angles) != 3
        or set(angles) - set("XYZ")
        or angles[0] == angles[1]
        or angles[1] == angles[2]
    ):
        raise InputError(
            "angles: must be three of X, Y, Z, without equal neighbours, such as 'ZYX' "
            f"or 'ZYZ', not {shown(angles)}"
        )
    flat = R.reshape(-1, 3, 3)
    turns = (
        np.eye(3)["XYZ".index(angles[0])],
        np.eye(3)["XYZ".index(angles[1])],
        np.eye(3)["XYZ".index(angles[2])],
    )
    first = Rotation.from_matrix(flat)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # gimbal lock is reported below
        phi = first.as_euler(angles)
    one = Rotation.from_rotvec(phi[:, :1] * turns[0]).as_matrix()
    two = Rotation.from_rotvec(phi[:, 1:2] * turns[1]).as_matrix()
    B = np.stack(
        [np.broadcast_to(turns[0], (len(flat), 3)), one @ turns[1], one @ two @ turns[2]], axis=-1
    )
    if (np.abs(np.linalg.det(B)) < SINGULAR).any():
        raise InputError(
            f"angles: {angles} are singular in this position; choose another sequence or "
            "the geometric Jacobian"
        )
    return np.asarray(B.reshape(R.shape))
