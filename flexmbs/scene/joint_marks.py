"""Joint symbols: axes of the motions, fixed in the parent or child frame, and ranges of slides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.contacts.contact import CoordinateContact
from flexmbs.model.model import ModelData
from flexmbs.model.motions import Motion

FREE = 6  # degrees of freedom of a joint that holds nothing and has no symbol


def axes_of(motions: Sequence[Motion], position: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Axes of the motions of a joint for drawing, with point, axis, kind and range.

    ``point`` and ``axis`` are in the frame they are fixed in (``on`` "parent" or "child"), ``kind``
    is "turn", "slide" or "ball"; a slide has the range (smallest, largest) of the coordinates
    ``position`` (nt, nq). ``coordinate``: its degree of freedom.

    An axis between two rotations is fixed in neither frame; it is omitted.
    """
    found: list[dict[str, Any]] = []
    moving = [k for k, motion in enumerate(motions) if motion.nv]
    if sum(motion.nv for motion in motions) >= FREE:
        return found
    q = v = 0
    for k, motion in enumerate(motions):
        before = [m for m in motions[:k] if m.nv]
        after = [m for m in motions[k + 1 :] if m.nv]
        slid = not any(m.turns for m in before)
        if motion.nv == 3 and len(moving) <= 4:
            on = "parent" if not before else "child"
            found.append(
                {
                    "kind": "ball",
                    "on": on,
                    "coordinate": v,
                    "point": _place(motions, k, on)[1].tolist(),
                    "axis": [0.0, 0.0, 1.0],
                }
            )
        elif motion.nv == 1 and (slid or not after):
            on = "parent" if slid and (motion.slides or not before) else "child"
            R, x = _place(motions, k, on)
            twist = np.asarray(motion.unit_twist)
            axis = R @ (twist[3:] if motion.turns else twist[:3])
            mark = {
                "kind": "turn" if motion.turns else "slide",
                "on": on,
                "coordinate": v,
                "point": x.tolist(),
                "axis": axis.tolist(),
            }
            if motion.slides or any(twist[:3]):
                values = position[:, q] * (1.0 if motion.slides else float(twist[3:] @ twist[:3]))
                mark["range"] = [float(values.min()), float(values.max())]
            found.append(mark)
        q, v = q + motion.nq, v + motion.nv
    return found


def stops_of(model: ModelData, joint: str) -> list[list[float]]:
    """Limits (side, bound) of a joint with one coordinate.

    Side 1 for a lower, −1 for an upper limit.
    """
    limits = [
        each
        for each in model.contacts.values()
        if isinstance(each, CoordinateContact) and each.joint == joint
    ]
    return [
        [float(side), float(bound)] for each in limits for side, bound in each.bounds().values()
    ]


def _place(
    motions: Sequence[Motion], k: int, on: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Axes and origin of motion k of a chain, in the parent or child frame.

    In the parent frame through the constant motions before it, or in the child frame through the
    inverse of the motions after it.
    """
    R, x = np.eye(3), np.zeros(3)
    chain = (
        motions[:k]
        if on == "parent"
        else [motion.inverse() for motion in reversed(motions[k + 1 :])]
    )
    for motion in chain:
        if motion.nv == 0:
            x = x + R @ np.asarray(motion.translation)
            R = R @ np.asarray(motion.rotation)
    return R, x
