"""Unit rigid motions of points, rotations, and elimination of directions."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from preprocess.inputs.argument_checks import floats


def rigid_motion(arm: FloatArray) -> FloatArray:
    """Displacements (n, 3, 6) of points under the six unit rigid motions, ``u = t + θ × arm``.

    ``arm`` (n, 3): points from the reference point.
    """
    motion = np.zeros((len(arm), 3, 6))
    motion[:, :, :3] = np.eye(3)
    x, y, z = arm.T
    motion[:, 0, 4], motion[:, 0, 5] = z, -y
    motion[:, 1, 3], motion[:, 1, 5] = -z, x
    motion[:, 2, 3], motion[:, 2, 4] = y, -x
    return motion


def rotation_of(value: ArrayLike) -> FloatArray:
    """Right-handed orthonormal axes (3, 3) in columns, nearest to those given.

    Raises InputError if the given axes are not nearly orthonormal.
    """
    axes = floats(value, "axes")
    good = axes.shape == (3, 3) and np.all(np.isfinite(axes))
    if not good or np.abs(axes.T @ axes - np.eye(3)).max() > 1e-6 or np.linalg.det(axes) < 0:
        raise InputError("axes: must be a right-handed orthonormal 3x3 matrix, one axis per column")
    u, _, v = np.linalg.svd(axes)
    return np.asarray(u @ v)


def solved_directions(
    directions: Sequence[FloatArray] | FloatArray,
) -> list[tuple[int, FloatArray]]:
    """Directions combined so that each has a component that the others lack, and that component.

    Gaussian elimination with pivoting.
    """
    rows, found = [np.array(n) for n in directions], []
    for i in range(len(rows)):
        k = int(np.abs(rows[i]).argmax())
        rows[i] = rows[i] / rows[i][k]
        for j in range(len(rows)):
            if j != i:
                rows[j] = rows[j] - rows[i] * rows[j][k]
        found.append(k)
    return list(zip(found, rows))
