"""Degrees of freedom of a finite-element model, in blocks of three.

The translations of all nodes come first, then the rotations of some: block n < N is the translation
of node n, block N + k the rotation of node ``rotating[k]``; degree of freedom 3·block + component.
A node of solids has one block, a node of shells, beams or a spider's centre has two.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from preprocess.mesh.rigid_motion import rigid_motion

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

NONE: Indices = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Freedoms:
    """Blocks of N nodes, of which ``rotating`` (R,), ascending, have a rotation.

    ``dependent`` (m,): degrees of freedom that follow others.
    """

    nodes: int
    rotating: Indices = field(default_factory=lambda: NONE)
    dependent: Indices = field(default_factory=lambda: NONE)

    @property
    def size(self) -> int:
        """Number of degrees of freedom, 3 (N + R)."""
        return 3 * (self.nodes + len(self.rotating))

    @property
    def node_of_block(self) -> Indices:
        """Node of each block, (N + R,)."""
        return np.concatenate([np.arange(self.nodes), self.rotating])

    def rotates(self, nodes: Indices) -> NDArray[np.bool_]:
        """Mask of the nodes that have rotational degrees of freedom."""
        return np.isin(nodes, self.rotating)

    def rotation_blocks(self, nodes: Indices) -> Indices:
        """Blocks of the rotations of the given nodes that have one."""
        return self.nodes + np.searchsorted(self.rotating, nodes)

    def six(self, nodes: Indices) -> Indices:
        """Degrees of freedom (…, 6), translation and rotation, of rotating nodes (…)."""
        blocks = np.stack([nodes, self.rotation_blocks(nodes)], axis=-1)
        return (3 * blocks[..., None] + np.arange(3)).reshape(*nodes.shape, 6)

    def rigid_motion(self, arm: Array) -> Array:
        """Displacements and rotations (size, 6) under unit rigid motions.

        ``arm`` (N, 3): of the nodes from the reference point.
        """
        turn = np.tile(np.eye(6)[3:], (len(self.rotating), 1))
        return np.vstack([rigid_motion(arm).reshape(-1, 6), turn])


def dofs_of(blocks: Indices) -> Indices:
    """Degrees of freedom (3n,) of blocks (n,) of three."""
    return (3 * blocks[:, None] + np.arange(3)).ravel()
