"""Supports of the joints on the ground.

A pivot on the ground has a column down to the grid, or a bracket on a side on which no body moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.contacts import Rope
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
BRACKET, PLATE, FLANGE = 0.055, 0.012, 0.042  # height, thickness and radius of its plate, relative
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
    for ref, place in _pivots(start):
        if any(_within(place, cloud, NEAR * box.size) for cloud in carried):
            continue
        mesh = _support(place, points, box)
        pose = start.pose(ref)
        local = meshes.Triangles((mesh.points - pose.x) @ pose.R, mesh.triangles)
        yield Element(str(ref), "ground pivot", SUPPORTS, (Part(ref, local),))


def _pivots(start: Start) -> list[tuple[FrameRef, FloatArray]]:
    """Frames of the ground that hold something, and the places where they do."""
    model = start.model
    ends: list[tuple[str, FrameRef]] = [
        (joint.name, ref)
        for joint in model.joints.values()
        for ref in (joint.parent, joint.child)
        if _holds(joint)
    ]
    ends += [
        (f.name, ref) for f in model.forces.values() if f.place == "line" for ref in f.frames()
    ]
    ends += [
        (contact.name, ref)
        for contact in model.contacts.values()
        if isinstance(contact, Rope)
        for ref in (contact.parent, contact.child)
    ]
    found: dict[tuple[float, ...], tuple[FrameRef, FloatArray]] = {}
    for name, ref in ends:
        if grounded(ref):
            place = _place(start, name, plain(ref))
            key = tuple(np.round(place / start.size, 3).tolist())
            found.setdefault(key, (plain(ref), place))
    return list(found.values())


def _holds(joint: Joint) -> bool:
    """True if a joint keeps a point of a body in place, or on a straight line."""
    slides = sum(1 for motion in joint.motions if motion.nv and not motion.turns)
    single = all(motion.nv <= 3 for motion in joint.motions)
    return isinstance(joint, Distance) or (bool(joint.carries) and single and slides <= 1)


def _place(start: Start, name: str, ref: FrameRef) -> FloatArray:
    """Place where a support holds an item: the end of a rail, otherwise its frame."""
    pose = start.pose(ref)
    joint = start.model.joints.get(name)
    for coordinate in range(joint.nv if joint is not None else 0):
        axis = start.axis(name, coordinate)
        if axis is not None and axis.frame == ref and axis.reach != (0.0, 0.0):
            end = axis.point + (axis.reach[0] - 3.0 * start.unit) * axis.direction
            return np.asarray(pose.x + pose.R @ end)
    return pose.x


def _within(place: FloatArray, cloud: FloatArray, near: float) -> bool:
    """True if a place is in the box about a cloud of points, or near it."""
    low, high = cloud.min(axis=0) - near, cloud.max(axis=0) + near
    return bool(((low <= place) & (place <= high)).all())


def _support(place: FloatArray, points: FloatArray, box: Bounds) -> meshes.Triangles:
    """Column down to the grid, or a bracket towards the side with the most room."""
    up = box.up
    height = float(place @ up) - box.ground
    across = meshes.axes_along(up, box.view)
    # down, away from the viewer, to the sides, towards the viewer, up
    x, y, _ = across.T
    sides = [-up, -x, -y, y, x, up]
    room = [_clear(place, points, side, box.size) for side in sides]
    if room[0] and height > LOWEST * box.size:
        foot = place - height * up
        return meshes.frustum(foot, place, BOTTOM * box.size, TOP * box.size)
    if abs(height) <= LOWEST * box.size:  # on the ground: a plate
        return meshes.cylinder(place - PLATE * box.size * up, place, FLANGE * box.size)
    side = next((each for each, clear in zip(sides, room) if clear), -up)
    foot = place + BRACKET * box.size * side
    plate = foot + PLATE * box.size * side
    return meshes.merged(
        [
            meshes.frustum(foot, place, 0.03 * box.size, 0.013 * box.size),
            meshes.cylinder(plate, foot, FLANGE * box.size),
        ]
    )


def _clear(place: FloatArray, points: FloatArray, side: FloatArray, size: float) -> bool:
    """True if no body moves in the 45° cone from a place towards a side."""
    beside = points - place
    depth = beside @ side
    away = np.linalg.norm(beside - np.outer(depth, side), axis=1)
    inside = (depth > TOP * size) & (away < np.maximum(depth, BOTTOM * size))
    return not inside.any()
