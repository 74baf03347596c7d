"""Triangles of the rods, balls and boxes listed by `flexmbs.scene.links`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.algebra.so3 import rotation_matrix

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SIDES, RINGS = 16, 8
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
FACES = np.array([
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
    [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
])  # fmt: skip


def triangulate(shape: dict[str, Any]) -> tuple[FloatArray, IntArray]:
    """Vertices (n, 3) [m] and triangles (T, 3) of a rod, a ball or a box.

    Triangles are counterclockwise seen from outside.
    """
    if shape["kind"] == "box":
        pose = np.asarray(shape["pose"], float)
        return (CORNERS * shape["size"]) @ rotation_matrix(pose[3:]).T + pose[:3], FACES
    if shape["kind"] == "ball":
        polar = np.pi * np.arange(1, RINGS) / RINGS
        profile = np.column_stack([np.sin(polar), np.cos(polar)])
        points, triangles = _surface_of_revolution(profile, 1.0, -1.0)
        return shape["radius"] * points + np.asarray(shape["at"], float), triangles
    ends = np.asarray(shape["from"], float), np.asarray(shape["to"], float)
    length = float(np.linalg.norm(ends[1] - ends[0]))
    points, triangles = _surface_of_revolution(
        np.array([[shape["radius"], length], [shape["radius"], 0.0]]), length, 0.0
    )
    return points @ _axes((ends[1] - ends[0]) / length).T + ends[0], triangles


def _surface_of_revolution(
    profile: FloatArray, top: float, bottom: float
) -> tuple[FloatArray, IntArray]:
    """Closed surface of revolution about z of a profile (k, 2) of radii and heights.

    The profile runs from top to bottom.
    """
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    rings = [
        np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(SIDES, z)])
        for r, z in profile
    ]
    points = np.concatenate([*rings, [[0.0, 0.0, top], [0.0, 0.0, bottom]]])
    k, after = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    last = SIDES * (len(profile) - 1)
    ends = np.full(SIDES, len(points) - 2), np.full(SIDES, len(points) - 1)
    caps = [
        np.column_stack([k, after, ends[0]]),
        np.column_stack([last + after, last + k, ends[1]]),
    ]
    sides = []
    for ring in range(len(profile) - 1):
        a, b = SIDES * ring + k, SIDES * ring + after
        sides += [np.column_stack([a, a + SIDES, b]), np.column_stack([b, a + SIDES, b + SIDES])]
    return points, np.concatenate([*caps, *sides])


def _axes(z: FloatArray) -> FloatArray:
    """Rotation whose third column is z."""
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
