"""Unit rigid motions of points."""

import numpy as np

from flexmbs.flexible_body.parts import FloatArray


def rigid_motion(arm: FloatArray) -> FloatArray:
    """Displacements of points at ``arm`` (n, 3) from the reference point under the six unit rigid motions, (n, 3, 6):
    ``u = t + θ × arm``."""
    motion = np.zeros((len(arm), 3, 6))
    motion[:, :, :3] = np.eye(3)
    x, y, z = arm.T
    motion[:, 0, 4], motion[:, 0, 5] = z, -y
    motion[:, 1, 3], motion[:, 1, 5] = -z, x
    motion[:, 2, 3], motion[:, 2, 4] = y, -x
    return motion
