"""Planar mechanisms: joints that let every body move in parallel planes only, where 3 conditions of each body fall away."""

import numpy as np

from flexmbs.analysis.initial import InitialState
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.frames import Frame, FrameRef
from flexmbs.model.motions import Rotate, Shift, Slide, Turn
from flexmbs.system.compile import Compiled
from flexmbs.system.records import ROT

PARALLEL = 1e-9


def planar_line(compiled: Compiled, start: InitialState) -> str:
    """The count f = 3n − b where the motion is planar, else nothing."""
    if plane_normal(compiled, start) is None:
        return ""
    joints = compiled.model.joints.values()
    if not all(joint.carries for joint in joints):
        return ""
    n, b = len(compiled.bodies), sum(3 - joint.nv for joint in joints)
    return f"planar motion: f = 3·{n} − {b} = {3 * n - b} (3n − b)"


def plane_normal(compiled: Compiled, start: InitialState) -> np.ndarray | None:
    """The unit normal to which all rotations of joints are parallel and all translations perpendicular; None where there is none,
    where a body floats, is flexible, or no joint turns."""
    turns, slides = _axes(compiled, start)
    if not turns or any(isinstance(body, FlexibleBody) for body in compiled.model.bodies.values()):
        return None
    if any(primary.joint is None for primary in compiled.topology.tree):
        return None
    normal = turns[0]
    across = [np.linalg.norm(np.cross(normal, axis)) for axis in turns] + [abs(normal @ axis) for axis in slides]
    return None if max(across) > PARALLEL or np.isnan(across).any() else normal


def _axes(compiled: Compiled, start: InitialState) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """World axes of all rotations and of all translations; a motion of another kind gives a rotation that is not a number.

    The rotations before a motion in its chain are left out: in a planar joint they keep the normal.
    """
    turns: list[np.ndarray] = []
    slides: list[np.ndarray] = []
    for joint in compiled.model.joints.values():
        A = _frame_axes(compiled, start, joint.parent)
        for motion in joint.motions:
            if isinstance(motion, Turn):
                A = A @ np.asarray(Frame(rotation=(motion.axis, motion.angle)).rotation)
            elif isinstance(motion, Rotate):
                turns.append(A @ motion.axis)
            elif isinstance(motion, Slide):
                slides.append(A @ motion.axis)
            elif not isinstance(motion, Shift):
                turns.append(np.full(3, np.nan))
    return turns, slides


def _frame_axes(compiled: Compiled, start: InitialState, ref: FrameRef) -> np.ndarray:
    """World axes of a frame of a rigid body or of the ground."""
    own = compiled.system.frames.place[compiled.frames[ref], 3:].reshape(3, 3)
    if ref.body not in compiled.bodies:
        return np.asarray(own)
    return np.asarray(start.motion[compiled.bodies.index(ref.body), ROT : ROT + 9].reshape(3, 3) @ own)
