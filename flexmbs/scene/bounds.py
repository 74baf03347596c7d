"""Extent of a motion, the upward direction, and the viewing direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.player.extent import outermost_points

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

FloatArray = NDArray[np.float64]
INSTANTS = 40
# sizes of the model: objects on the ground within this distance belong to the picture
SURROUNDINGS = 3.0


class Bounds(NamedTuple):
    """Bounding box low, high (3,) of the whole motion, with view and ground.

    extremes (n, 3): its outermost points in some directions. size: diagonal of the model at its
    start (m). up, view: unit vectors, the latter towards the viewer. ground: height of the grid
    along up.
    """

    low: FloatArray
    high: FloatArray
    extremes: FloatArray
    size: float
    up: FloatArray
    view: FloatArray
    ground: float

    def around(self, clouds: Sequence[FloatArray]) -> Bounds:
        """Bounds that also contain fixed clouds of points (n, 3)."""
        flat = np.concatenate([self.extremes, *clouds])
        low, high = np.minimum(self.low, flat.min(axis=0)), np.maximum(self.high, flat.max(axis=0))
        return self._replace(low=low, high=high, extremes=flat)


def places(solution: SolutionData, points: dict[str, FloatArray]) -> FloatArray:
    """World positions (nt, all n, 3) of points (n, 3) in body axes at some instants."""
    pick = np.unique(np.linspace(0, len(solution.t) - 1, INSTANTS).astype(int))
    views = {name: solution.body(name) for name in points}
    placed = [
        np.einsum("tij,nj->tni", views[name].rotation[pick], own)
        + views[name].position[pick][:, None]
        for name, own in points.items()
    ]
    return np.concatenate([np.zeros((len(pick), 0, 3)), *placed], axis=1)


def size_of(solution: SolutionData, points: dict[str, FloatArray]) -> float:
    """Diagonal (m) of the box of all points of the bodies and the origin at the start.

    Over all instants if it is zero.
    """
    everything = _with_origin(solution, points)
    flat = everything.reshape(-1, 3)
    return (
        float(np.linalg.norm(np.ptp(everything[0], axis=0)))
        or float(np.linalg.norm(np.ptp(flat, axis=0)))
        or 1.0
    )


def bounds(
    solution: SolutionData,
    points: dict[str, FloatArray],
    size: float,
    fixed: Sequence[FloatArray] = (),
) -> Bounds:
    """Bounds of all points of a scene.

    Points (n, 3) in body axes, clouds (n, 3) on the ground unless they are much larger than the
    model, and the origin, for a model of a size (m).
    """
    near = [cloud for cloud in fixed if np.abs(cloud).max() <= SURROUNDINGS * size]
    flat = np.concatenate([_with_origin(solution, points).reshape(-1, 3), *near])
    gravity = np.asarray(solution.model.gravity, float)
    pull = float(np.linalg.norm(gravity))
    up = -gravity / pull if pull > 0.0 else np.array([0.0, 0.0, 1.0])
    lowest = float((flat @ up).min())
    ground = 0.0 if lowest > -0.02 * size else lowest - 0.04 * size
    return Bounds(
        flat.min(axis=0),
        flat.max(axis=0),
        outermost_points(flat),
        size,
        up,
        _view(flat, up),
        ground,
    )


def _with_origin(solution: SolutionData, points: dict[str, FloatArray]) -> FloatArray:
    """Origin and points at some instants, (nt, 1 + n, 3)."""
    found = places(solution, points)
    return np.concatenate([np.zeros((len(found), 1, 3)), found], axis=1)


def _view(points: FloatArray, up: FloatArray) -> FloatArray:
    """Unit view direction from above onto the plane of largest spread of points."""
    spread, directions = np.linalg.eigh(np.cov(points.T) + 1e-30 * np.eye(3))
    across = directions[:, 0] - up * (directions[:, 0] @ up)
    if np.linalg.norm(across) < 0.3 or spread[1] < 1e-6 * spread[2]:
        across = np.cross(up, np.eye(3)[np.argmin(np.abs(up))])
    across = across / np.linalg.norm(across)
    across = -across if across[np.argmax(np.abs(across))] > 0.0 else across
    side = np.cross(up, across)
    view = across + 0.45 * side + 0.5 * up
    return np.asarray(view / np.linalg.norm(view))
