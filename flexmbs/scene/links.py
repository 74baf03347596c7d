"""Shapes of bodies without a surface.

Rods between their frames, boxes of equal inertia, spheres of equal mass.

A shape is a table in body axes, lengths in m: {"kind": "rod", "from", "to", "radius"}, {"kind":
"ball", "at", "radius"} or {"kind": "box", "pose", "size"} with the pose (x, y, z, quaternion),
scalar first.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.algebra.so3 import euler_parameters, rotation_matrix
from flexmbs.model.bodies import Body, PointMass, RigidBody

FloatArray = NDArray[np.float64]
Shape = dict[str, Any]

SLENDER = 0.035  # radius of rods relative to the longest one of the body
STEEL = 7850.0  # kg/m³
SAME = 1e-3  # relative to the size: closer points coincide
SMALLEST, LARGEST = 0.012, 0.5  # relative to the size of the model: bounds of drawn boxes and balls


def extent_of(shape: Shape) -> FloatArray:
    """Points (n, 3) on the surface of a shape.

    Corners of a box, else points at one radius from the centre or the ends along the axes.
    """
    if shape["kind"] == "box":
        corners = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * np.asarray(
            shape["size"]
        )
        return np.asarray(
            shape["pose"][:3] + corners @ rotation_matrix(np.array(shape["pose"][3:])).T
        )
    ends = np.array([shape[key] for key in ("at", "from", "to") if key in shape], float)
    sides = shape["radius"] * np.vstack([np.eye(3), -np.eye(3)])
    return np.asarray((ends[:, None] + sides).reshape(-1, 3))


def body_shapes(
    body: Body, points: FloatArray, size: float, *, embodied: bool = False
) -> list[Shape]:
    """Shapes of a body with the frames in use at ``points`` (n, 3), in a model of a size (m).

    embodied: contact shapes or elements replace its box or ball.
    """
    if isinstance(body, PointMass) and not embodied:
        radius = float(
            np.clip((3.0 * body.mass / (4.0 * np.pi * STEEL)) ** (1 / 3), 0.02 * size, 0.06 * size)
        )
        return [
            {"kind": "ball", "at": [0.0, 0.0, 0.0], "radius": radius},
            *rods(_distinct(np.vstack([np.zeros((1, 3)), points]), size), size),
        ]
    if not isinstance(body, RigidBody) or embodied:
        return rods(_distinct(points, size), size)
    distinct = _distinct(points, size)
    centre = body.mass_properties.com
    made = rods(distinct, size)
    if len(distinct) >= 2:
        return made
    box = _box(body, size)
    if box is None:
        box = {"kind": "ball", "at": centre.tolist(), "radius": 0.025 * size}
    return [box, *rods(_distinct(np.vstack([centre[None], distinct]), size), size)]


def rods(points: FloatArray, size: float) -> list[Shape]:
    """Rods along the minimum spanning tree of the points."""
    if len(points) < 2:
        return []
    away = np.linalg.norm(points[:, None] - points[None], axis=2)
    joined, pairs = [0], []
    while len(joined) < len(points):
        rest = [k for k in range(len(points)) if k not in joined]
        i, j = min(((i, j) for i in joined for j in rest), key=lambda pair: away[pair])
        joined.append(j)
        pairs.append((i, j))
    radius = float(
        np.clip(SLENDER * max(away[pair] for pair in pairs), 0.3 * SMALLEST * size, 0.018 * size)
    )
    return [
        {"kind": "rod", "from": points[i].tolist(), "to": points[j].tolist(), "radius": radius}
        for i, j in pairs
    ]


def _distinct(points: FloatArray, size: float) -> FloatArray:
    """Points without repetitions, relative to a size."""
    found: list[FloatArray] = []
    for point in np.asarray(points, float).reshape(-1, 3):
        if all(np.linalg.norm(point - other) > SAME * size for other in found):
            found.append(point)
    return np.array(found).reshape(-1, 3)


def _box(body: RigidBody, size: float) -> Shape | None:
    """Box with the body's mass and inertia, a² = 6 (I_b + I_c − I_a)/m.

    Its edges are limited by the size of the model.
    """
    mass, com, inertia = body.mass_properties
    if mass <= 0.0 or not inertia.any():
        return None
    moments, axes = np.linalg.eigh(inertia)
    axes = axes * np.sign(np.linalg.det(axes))
    square = 6.0 / mass * (moments.sum() - 2.0 * moments)
    edges = np.clip(np.sqrt(np.maximum(square, 0.0)), SMALLEST * size, LARGEST * size)
    return {"kind": "box", "pose": [*com, *euler_parameters(axes)], "size": edges.tolist()}
