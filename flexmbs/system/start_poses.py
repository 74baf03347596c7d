"""Poses of frames at the declared start, before assembly.

User functions are examined there.
"""

import functools

import numpy as np

from flexmbs.model.bodies import PointMass
from flexmbs.model.chain_twists import Pose, chain_pose
from flexmbs.model.frames import GROUND, FrameRef
from flexmbs.model.model import ModelData
from flexmbs.model.relations import Distance
from flexmbs.system.compile_bodies import FrameTable
from flexmbs.system.topology import topology


class StartPoses:
    """Relative poses of frames with all joints at their declared or rest positions.

    Bodies are undeformed. Parts held only by rods (`Distance`) are placed at the ends of the rods.
    """

    def __init__(self, model: ModelData, frames: FrameTable) -> None:
        self.model, self.frames = model, frames

    @functools.cached_property
    def bodies(self) -> dict[str, Pose]:
        """Rotation and position of every body in the world, along the spanning tree."""
        found: dict[str, Pose] = {GROUND: (np.eye(3), np.zeros(3))}
        root = {GROUND: GROUND}  # root of the part to which a body belongs
        for primary in topology(self.model, "joint").tree:
            joint = self.model.joints.get(primary.joint or "")
            rest = sum((motion.rest for motion in primary.motions), ())
            R, x = self.frames.place(primary.frame_c)
            at_parent = _then(found[primary.parent], self.frames.place(primary.frame_p))
            chain = chain_pose(primary.motions, rest if joint is None else joint.initial_position)
            found[primary.body] = _then(_then(at_parent, chain), (R.T, -R.T @ x))
            root[primary.body] = primary.body if primary.joint is None else root[primary.parent]
        self._move_to_rods(found, root)
        return found

    def _move_to_rods(self, found: dict[str, Pose], root: dict[str, str]) -> None:
        """Place each floating part at the first rod that connects it to a part already placed."""
        rods = [joint for joint in self.model.joints.values() if isinstance(joint, Distance)]
        waiting = [body for body, own in root.items() if body == own != GROUND] if rods else []
        while waiting:
            ends = (
                (rod, root[rod.parent.body] in waiting, root[rod.child.body] in waiting)
                for rod in rods
            )
            rod, by_parent = next(
                ((rod, first) for rod, first, second in ends if first != second), (None, False)
            )
            if rod is None:
                waiting.pop(0)  # not held by a rod: keeps its pose
                continue
            fixed, moving = (rod.child, rod.parent) if by_parent else (rod.parent, rod.child)
            along = (-1.0 if by_parent else 1.0) * rod.length * np.array(rod.axis)
            now, wanted = (
                self._pose(found, moving),
                _then(self._pose(found, fixed), (np.eye(3), along)),
            )
            part = root[moving.body]
            turn = (
                np.eye(3)
                if isinstance(self.model.bodies[part], PointMass)
                else wanted[0] @ now[0].T
            )
            shift = turn, wanted[1] - turn @ now[1]
            found.update(
                {body: _then(shift, found[body]) for body, own in root.items() if own == part}
            )
            waiting.remove(part)

    def _pose(self, bodies: dict[str, Pose], ref: FrameRef) -> Pose:
        """Pose of a frame from the poses of the bodies."""
        return _then(bodies[ref.body], self.frames.place(ref))

    def relative(self, parent: FrameRef, child: FrameRef) -> np.ndarray:
        """(t, x, A) of a frame in another one at t = 0, A row by row, (13,)."""
        (Ra, xa), (Rb, xb) = (self._pose(self.bodies, ref) for ref in (parent, child))
        return np.concatenate([[0.0], Ra.T @ (xb - xa), (Ra.T @ Rb).ravel()])


def _then(first: Pose, second: Pose) -> Pose:
    """Pose that results from two successive transformations."""
    (R, x), (S, y) = first, second
    return R @ S, x + R @ y
