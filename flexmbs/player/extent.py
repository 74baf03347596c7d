"""Outermost points of a cloud, which a picture must contain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
DIRECTIONS = 60


def outermost_points(points: FloatArray, room: float = 0.0) -> FloatArray:
    """Outermost points in the directions of a spiral on the sphere, moved outwards by ``room``."""
    k = np.arange(DIRECTIONS) + 0.5
    z, turn = 1.0 - 2.0 * k / DIRECTIONS, np.pi * (1.0 + np.sqrt(5.0)) * k
    r = np.sqrt(1.0 - z * z)
    directions = np.stack([r * np.cos(turn), r * np.sin(turn), z])
    found = np.array([np.argmax(points @ direction) for direction in directions.T])
    if room == 0.0:
        return np.asarray(points[np.unique(found)])
    return np.asarray(points[found] + room * directions.T)
