"""Stands of machines that are carried above the grid: from it to the joints on the ground below
which no body moves.
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
LOWEST = 0.04  # of the size of the model: a joint nearer to the grid needs no stand
TOP, BOTTOM = 0.02, 0.05  # half of its width there, of the size
SIDES = 12


def stands(places: FloatArray, points: FloatArray, box: Bounds) -> list[Solid]:
    """Under places (n, 3) of joints on the ground; ``points`` (m, 3): where the bodies are in the
    whole motion. A stand needs a cone of 45° below its place without any."""
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
    """A cone without its tip, closed above."""
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
