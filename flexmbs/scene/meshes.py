"""Triangle meshes of machine elements: cylinders, rings, boxes, prisms, pipes, coils, sheets.

Corners of a triangle are in counterclockwise order, seen from outside.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.shapes.primitives import Box
from flexmbs.model.shapes.triangles import Triangles, revolved

FloatArray = NDArray[np.float64]
SIDES = 28  # of a circle
PIPE_SIDES = 12  # edges of more than 35° would be drawn as lines
FLAT = 1e-12  # relative area below which three neighbouring corners of an outline lie on a line


def merged(parts: Iterable[Triangles]) -> Triangles:
    """Several meshes as one."""
    points, triangles, at = [], [], 0
    for part in parts:
        points.append(part.points)
        triangles.append(part.triangles + at)
        at += len(part.points)
    return Triangles(np.concatenate(points), np.concatenate(triangles))


def axes_along(direction: FloatArray, side: FloatArray | None = None) -> FloatArray:
    """Axes (3, 3) by columns with z along a direction, x towards ``side`` as far as possible."""
    z = np.asarray(direction, float) / np.linalg.norm(direction)
    x = np.eye(3)[int(np.argmin(np.abs(z)))] if side is None else np.asarray(side, float)
    x = x - z * (x @ z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def placed(mesh: Triangles, axes: FloatArray, origin: FloatArray) -> Triangles:
    """Mesh in other axes (3, 3), by columns, with another origin."""
    return Triangles(np.asarray(origin, float) + mesh.points @ axes.T, mesh.triangles)


def cylinder(a: FloatArray, b: FloatArray, radius: float) -> Triangles:
    """Cylinder between two points."""
    return frustum(a, b, radius, radius)


def ring(a: FloatArray, b: FloatArray, inner: float, outer: float) -> Triangles:
    """Ring with a rectangular section between two points of its axis."""
    height = float(np.linalg.norm(b - a))
    outline = np.array([(inner, 0.0), (outer, 0.0), (outer, height), (inner, height)])
    return placed(revolved(outline, SIDES, closed=True), axes_along(b - a), a)


def frustum(a: FloatArray, b: FloatArray, radius_a: float, radius_b: float) -> Triangles:
    """Truncated cone between two points."""
    height = float(np.linalg.norm(b - a))
    outline = np.array([(0.0, 0.0), (radius_a, 0.0), (radius_b, height), (0.0, height)])
    return placed(revolved(outline, SIDES), axes_along(b - a), a)


def box(size: Iterable[float], axes: FloatArray, centre: FloatArray) -> Triangles:
    """Box with edges along axes (3, 3), by columns."""
    return placed(Box(tuple(map(float, size))).triangles(), axes, centre)


def prism(outline: FloatArray, low: float, high: float) -> Triangles:
    """Prism along z of a closed outline (n, 2) that does not cross itself."""
    x = np.asarray(outline, float)
    after = np.roll(x, -1, axis=0)
    if np.sum(x[:, 0] * after[:, 1] - x[:, 1] * after[:, 0]) < 0.0:
        x = x[::-1]
    n = len(x)
    cover = _ears(x)
    k = np.arange(n)
    ahead = (k + 1) % n
    walls = np.concatenate(
        [np.column_stack([k, ahead, n + ahead]), np.column_stack([k, n + ahead, n + k])]
    )
    points = np.concatenate([np.column_stack([x, np.full(n, z)]) for z in (low, high)])
    return Triangles(points, np.concatenate([cover[:, ::-1], cover + n, walls]))


def _ears(x: FloatArray) -> NDArray[np.int64]:
    """Triangles (n − 2, 3) of a counterclockwise outline by cutting off ears.

    Meisters, Amer. Math. Monthly 82 (1975) 648: every simple polygon has two ears.
    """
    left, found = list(range(len(x))), []
    least = FLAT * float(np.ptp(x, axis=0).max()) ** 2
    while len(left) > 3:
        for i in range(len(left)):
            a, b, c = left[i - 1], left[i], left[(i + 1) % len(left)]
            if _turn(x[a], x[b], x[c]) <= least:
                continue
            others = x[[k for k in left if k not in (a, b, c)]]
            inside = (
                (_turn(x[a], x[b], others) > 0.0)
                & (_turn(x[b], x[c], others) > 0.0)
                & (_turn(x[c], x[a], others) > 0.0)
            )
            if not inside.any():
                break
        else:  # only flat corners are left, or the outline touches itself
            i = 1
        found.append((left[i - 1], left[i], left[(i + 1) % len(left)]))
        del left[i]
    return np.array([*found, tuple(left)], np.int64)


def _turn(a: FloatArray, b: FloatArray, points: FloatArray) -> FloatArray:
    """Twice the signed areas of the triangles a, b, p."""
    e, d = b - a, points - a
    return np.asarray(e[0] * d[..., 1] - e[1] * d[..., 0])


def band(points: FloatArray, thickness: float, low: float, high: float) -> Triangles:
    """Wall along z on the left of an open plane curve (n, 2); the right is its face."""
    along = np.gradient(np.asarray(points, float), axis=0)
    normal = np.column_stack([-along[:, 1], along[:, 0]])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    return prism(np.concatenate([points, (points + thickness * normal)[::-1]]), low, high)


def pipe(points: FloatArray, radius: float, *, closed: bool = False) -> Triangles:
    """Pipe along a curve (n, 3) with flat ends."""
    x = np.asarray(points, float)
    tangent = np.roll(x, -1, axis=0) - np.roll(x, 1, axis=0) if closed else np.gradient(x, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1)[:, None]
    side = np.zeros_like(x)
    side[0] = axes_along(tangent[0])[:, 0]
    for k in range(1, len(x)):
        side[k] = side[k - 1] - tangent[k] * (side[k - 1] @ tangent[k])
        side[k] /= np.linalg.norm(side[k])
    angle = 2.0 * np.pi * np.arange(PIPE_SIDES)[:, None, None] / PIPE_SIDES
    around = np.cos(angle) * side + np.sin(angle) * np.cross(tangent, side)
    rings = (x + radius * around).transpose(1, 0, 2).reshape(-1, 3)
    rows = np.arange(len(x) * PIPE_SIDES).reshape(len(x), PIPE_SIDES)
    if closed:  # the sections of the seam differ by the twist of the curve: join nearest corners
        shift = int(np.argmin(np.linalg.norm(rings[rows[0]] - rings[rows[-1, 0]], axis=1)))
        rows = np.vstack([rows, np.roll(rows[:1], -shift, axis=1)])
    low, high = rows[:-1], rows[1:]
    low_next, high_next = np.roll(low, -1, axis=1), np.roll(high, -1, axis=1)
    walls = np.stack([low, low_next, high_next, low, high_next, high], axis=-1).reshape(-1, 3)
    if closed:
        return Triangles(rings, walls)
    first, last = [
        np.column_stack([np.full(PIPE_SIDES - 2, row[0]), row[1:-1], row[2:]])
        for row in (rows[0], rows[-1])
    ]
    return Triangles(rings, np.concatenate([walls, first[:, ::-1], last]))


def coil(a: FloatArray, b: FloatArray, radius: float, wire: float, turns: int) -> Triangles:
    """Helical spring between two points."""
    u = np.linspace(0.0, 1.0, 14 * turns + 1)
    angle = 2.0 * np.pi * turns * u
    line = np.column_stack(
        [radius * np.cos(angle), radius * np.sin(angle), u * np.linalg.norm(b - a)]
    )
    return placed(pipe(line, wire), axes_along(b - a), a)


def sheet(points: FloatArray) -> Triangles:
    """Surface through a grid of points (m, n, 3)."""
    m, n = points.shape[:2]
    k = np.arange(m * n).reshape(m, n)
    a, b, c, d = k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]
    return Triangles(points.reshape(-1, 3), np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3))
