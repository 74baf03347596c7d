"""Supports of machines above the grid.

Columns from the grid to joints on the ground below which no body moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.frames import GROUND
from flexmbs.player.solids import Solid

if TYPE_CHECKING:
    from flexmbs.scene.bounds import Bounds

FloatArray = NDArray[np.float64]
LOWEST = 0.04  # relative to the size of the model: lower joints need no support
TOP, BOTTOM = 0.02, 0.05  # half widths at top and bottom, relative to the size
SIDES = 12


def supports(places: FloatArray, points: FloatArray, box: Bounds) -> list[Solid]:
    """Supports under positions (n, 3) of joints on the ground.

    ``points`` (m, 3): positions of the bodies over the motion. The 45° cone below a support must
    contain none of them.
    """
    up, found = box.up, []
    for place in places:
        height = float(place @ up) - box.ground
        beside = points - place
        depth = -beside @ up
        away = np.linalg.norm(beside + np.outer(depth, up), axis=1)
        below = (depth > TOP * box.size) & (away < np.maximum(depth, BOTTOM * box.size))
        if height > LOWEST * box.size and not below.any():
            found.append(_frustum(place - height * up, place, up, box.size))
    return found


def _frustum(foot: FloatArray, top: FloatArray, up: FloatArray, size: float) -> Solid:
    """Triangle mesh of a truncated cone with a closed top."""
    side = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    side = side / np.linalg.norm(side)
    angle = 2.0 * np.pi * np.arange(SIDES)[:, None] / SIDES
    around = np.cos(angle) * side + np.sin(angle) * np.cross(up, side)
    vertices = np.vstack([foot + BOTTOM * size * around, top + TOP * size * around, top[None]])
    k = np.arange(SIDES)
    n = (k + 1) % SIDES
    walls = np.vstack(
        [np.column_stack([k, n, SIDES + k]), np.column_stack([n, SIDES + n, SIDES + k])]
    )
    cover = np.column_stack([SIDES + k, SIDES + n, np.full(SIDES, 2 * SIDES)])
    return Solid(GROUND, vertices, np.vstack([walls, cover]), None)
