"""Supports of the joints on the ground.

A pivot on the ground has a column down to the grid, or a bracket on a side on which no body moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.frames import GROUND, FrameRef
from flexmbs.model.relations.distance import Distance
from flexmbs.player.solids import Solid
from flexmbs.scene import meshes
from flexmbs.scene.start import Element, Part, Start, grounded, plain

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint
    from flexmbs.scene.bounds import Bounds

FloatArray = NDArray[np.float64]
LOWEST = 0.04  # relative to the size of the model: lower joints need no column
TOP, BOTTOM = 0.02, 0.05  # half widths at top and bottom, relative to the size
BRACKET = 0.055  # height of a bracket, relative to the size
NEAR = 0.03  # relative to the size: a solid of the ground at this distance carries the joint
SUPPORTS = "Ground pivots"


def supports(
    start: Start, points: FloatArray, box: Bounds, solids: Sequence[Solid]
) -> Iterator[Element]:
    """Supports of joints on the ground and of ends of rods, springs and ropes there.

    ``points`` (m, 3): positions of the bodies over the motion; solids: shapes of the ground, which
    may carry a joint.
    """
    carried = [np.asarray(each.vertices, float) for each in solids if each.body == GROUND]
    for name, ref in _pivots(start).items():
        place = start.pose(ref).x
        if any(_within(place, cloud, NEAR * box.size) for cloud in carried):
            continue
        mesh = _support(place, points, box)
        local = meshes.Triangles((mesh.points - place) @ start.pose(ref).R, mesh.triangles)
        yield Element(name, "ground pivot", SUPPORTS, (Part(ref, local),))


def _pivots(start: Start) -> dict[str, FrameRef]:
    """Frames of the ground at which something pivots, by the name of the first such item."""
    model, found = start.model, {}
    for joint in model.joints.values():
        ends = [plain(ref) for ref in (joint.parent, joint.child) if grounded(ref)]
        if ends and _pivots_on(joint):
            found[joint.name] = ends[0]
    for force in model.forces.values():
        ends = [plain(ref) for ref in force.frames() if grounded(ref)]
        if ends and force.place == "line":
            found[force.name] = ends[0]
    for contact in model.contacts.values():
        if contact.kind == "rope":
            ends = [plain(r) for r in (contact.parent, contact.child) if grounded(r)]  # type: ignore[attr-defined]
            if ends:
                found[contact.name] = ends[0]
    places: dict[tuple[float, ...], str] = {}
    for name, ref in found.items():
        places.setdefault(tuple(np.round(start.pose(ref).x / start.size, 3).tolist()), name)
    return {name: found[name] for name in places.values()}


def _pivots_on(joint: Joint) -> bool:
    """True if a joint keeps a point of a body, or its axis, at its place."""
    slides = sum(1 for motion in joint.motions if motion.nv and not motion.turns)
    free = any(motion.nv == 6 for motion in joint.motions)
    return isinstance(joint, Distance) or (
        bool(joint.carries) and not free and slides == 0 and all(m.nv <= 3 for m in joint.motions)
    )


def _within(place: FloatArray, cloud: FloatArray, near: float) -> bool:
    """True if a place is in the box about a cloud of points, or near it."""
    low, high = cloud.min(axis=0) - near, cloud.max(axis=0) + near
    return bool(((low <= place) & (place <= high)).all())


def _support(place: FloatArray, points: FloatArray, box: Bounds) -> meshes.Triangles:
    """Column down to the grid, or a bracket towards the side with the most room."""
    up = box.up
    height = float(place @ up) - box.ground
    across = meshes.axes_along(up)
    sides = [-up, *(s * across[:, k] for k in (0, 1) for s in (-1.0, 1.0)), up]
    room = [_clear(place, points, side, box.size) for side in sides]
    if room[0] and height > LOWEST * box.size:
        foot = place - height * up
        return meshes.frustum(foot, place, BOTTOM * box.size, TOP * box.size)
    side = next((each for each, clear in zip(sides, room) if clear), -up)
    foot = place + BRACKET * box.size * side
    plate = foot + 0.012 * box.size * side
    return meshes.merged(
        [
            meshes.frustum(foot, place, 0.03 * box.size, 0.013 * box.size),
            meshes.cylinder(plate, foot, 0.042 * box.size),
        ]
    )


def _clear(place: FloatArray, points: FloatArray, side: FloatArray, size: float) -> bool:
    """True if no body moves in the 45° cone from a place towards a side."""
    beside = points - place
    depth = beside @ side
    away = np.linalg.norm(beside - np.outer(depth, side), axis=1)
    inside = (depth > TOP * size) & (away < np.maximum(depth, BOTTOM * size))
    return not inside.any()
