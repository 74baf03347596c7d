"""Poses of frames at the declared start, before the assembly: where user functions are examined."""

import functools

import numpy as np

from flexmbs.model.chain_twists import Pose, chain_pose
from flexmbs.model.frames import GROUND, FrameRef
from flexmbs.model.model import ModelData
from flexmbs.system.compile_bodies import FrameTable
from flexmbs.system.topology import topology


class StartPoses:
    """Relative poses of frames with all joints at their declared or rest positions, bodies undeformed."""

    def __init__(self, model: ModelData, frames: FrameTable) -> None:
        self.model, self.frames = model, frames

    @functools.cached_property
    def bodies(self) -> dict[str, Pose]:
        """Rotation and position of every body in the world, along the spanning tree."""
        found: dict[str, Pose] = {GROUND: (np.eye(3), np.zeros(3))}
        for primary in topology(self.model, "joint").tree:
            joint = self.model.joints.get(primary.joint or "")
            rest = sum((motion.rest for motion in primary.motions), ())
            R, x = self.frames.place(primary.frame_c)
            at_parent = _then(found[primary.parent], self.frames.place(primary.frame_p))
            chain = chain_pose(primary.motions, rest if joint is None else joint.initial_position)
            found[primary.body] = _then(_then(at_parent, chain), (R.T, -R.T @ x))
        return found

    def relative(self, parent: FrameRef, child: FrameRef) -> np.ndarray:
        """(t, x, A) of a frame in another one at t = 0, A by rows, (13,)."""
        (Ra, xa), (Rb, xb) = (_then(self.bodies[ref.body], self.frames.place(ref)) for ref in (parent, child))
        return np.concatenate([[0.0], Ra.T @ (xb - xa), (Ra.T @ Rb).ravel()])


def _then(first: Pose, second: Pose) -> Pose:
    (R, x), (S, y) = first, second
    return R @ S, x + R @ y
