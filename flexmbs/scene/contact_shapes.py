"""Contact shapes: spheres and wheels of contacts and rolling, in the axes of their frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flexmbs.model.frames import FrameRef
from flexmbs.model.model import ModelData
from flexmbs.scene.links import Shape

Places = list[tuple[FrameRef, Shape]]
TREAD = 0.06  # half width of a wheel relative to its radius


def touching_shapes(model: ModelData) -> Places:
    """(frame, shape) of the spheres and wheels of contacts and rolling."""
    items = [*model.contacts.values(), *model.joints.values(), *model.forces.values()]
    found: Places = []
    for place in (p for item in items if item.kind in SHAPES for p in SHAPES[item.kind](item)):
        if place not in found:  # a wheel with a creep force is also a disc on a plane
            found.append(place)
    return found


def _ball(radius: float) -> Shape:
    """Record of a ball about the origin of its frame."""
    return {"kind": "ball", "at": [0.0, 0.0, 0.0], "radius": radius}


def _sphere_on_child(item: Any) -> Places:
    """Ball on the child frame; none for radius 0."""
    return [(item.child, _ball(item.radius))] if item.radius > 0.0 else []


def _two_spheres(item: Any) -> Places:
    """Balls on both frames; none for radius 0."""
    ends = ((item.parent, item.radius_parent), (item.child, item.radius_child))
    return [(ref, _ball(radius)) for ref, radius in ends if radius > 0.0]


def _wheel(item: Any) -> Places:
    """Cylinder of a wheel on its frame."""
    half = max(TREAD * item.radius, item.rim) * np.asarray(item.axis, float)
    return [
        (
            item.frame_b if item.kind == "wheel-creep" else item.child,
            {
                "kind": "rod",
                "from": (-half).tolist(),
                "to": half.tolist(),
                "radius": item.radius,
                "plain": True,
            },
        )
    ]


SHAPES: dict[str, Callable[[Any], Places]] = {
    "sphere-plane": _sphere_on_child,
    "sphere-sphere": _two_spheres,
    "rolling-sphere": _sphere_on_child,
    "rolling-disc": _wheel,
    "disc-on-plane": _wheel,
    "wheel-creep": _wheel,
}
