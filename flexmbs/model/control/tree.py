"""Rigid tree of a robot as flat arrays, for vectorized evaluation at many positions."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.model.control.sweeps import flat_numbers, flat_tree
from flexmbs.model.frames import FrameRef

if TYPE_CHECKING:
    from flexmbs.model.control.tree_kernels import TreeKernels


class NodePose(NamedTuple):
    """Pose fixed on a node (−1 for the ground): x = R x' + o."""

    node: int
    R: np.ndarray  # (3, 3)
    x: np.ndarray  # (3,)

    def then(self, R: np.ndarray, x: np.ndarray) -> "NodePose":
        """This pose followed by a constant pose."""
        return NodePose(self.node, self.R @ R, self.x + self.R @ x)


class TreeCoordinate(NamedTuple):
    """Coordinate of a joint, by its index."""

    joint: str
    number: int


class TreeRotors(NamedTuple):
    """Rotors of the model: n² I (n,) by coordinate.

    For gyroscopic ones coordinate and carrier node (r,) and n I a (r, 3).
    """

    reflected: np.ndarray
    coordinate: np.ndarray
    node: np.ndarray
    spin: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class RobotTree:
    """Tree of n axes, each parent before its children; lengths in m, masses in kg.

    above[m, k] = 1 if axis k moves node m.

    """

    coordinates: tuple[TreeCoordinate, ...]
    parent: np.ndarray  # (n,) node that supports the axis, −1 for the ground
    above: np.ndarray  # (n, n)
    R: np.ndarray  # (n, 3, 3) pose of the axis' frame in its parent node
    x: np.ndarray  # (n, 3)
    RK: np.ndarray  # (n, 3, 3) R ñ and
    RKK: np.ndarray  # (n, 3, 3) R ñ² of the unit axes n of rotations
    turn: np.ndarray  # (n, 3) rotation vector per unit coordinate
    slide: np.ndarray  # (n, 3) displacement per unit coordinate
    mass: np.ndarray  # (n,)
    first: np.ndarray  # (n, 3) ∫x dm from the node, node axes
    inertia: np.ndarray  # (n, 3, 3) about the node, node axes
    gravity: np.ndarray  # (3,)
    friction: np.ndarray  # (n, 3) viscous, Coulomb at rates > 0 and, positive, at rates < 0
    rotors: TreeRotors
    frames: Mapping[FrameRef, NodePose]
    before: Mapping[str, str]  # body → its supporting body

    @functools.cached_property
    def kernels(self) -> "TreeKernels":
        """Compiled recursions over the tree."""
        # declarations import no compiler
        from flexmbs.model.control.tree_kernels import TreeKernels

        flat, _ = flat_tree(flat_numbers(self), 0, len(self.parent), len(self.rotors.node))
        return TreeKernels(flat)


def axis_arrays(parent: np.ndarray, R: np.ndarray, turn: np.ndarray) -> dict[str, np.ndarray]:
    """Arrays of a `RobotTree` that follow from its others."""
    above = np.eye(len(parent))
    for k in range(len(parent)):
        if parent[k] >= 0:
            above[k] += above[parent[k]]
    K = np.cross(turn[:, None, :], np.eye(3)).swapaxes(1, 2)
    return {
        "above": above,
        "RK": R @ K,
        "RKK": R @ K @ K,
    }
