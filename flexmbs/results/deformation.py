"""Displacements of the nodes of a flexible body over a run, in the body frame.

    u = R (x + φ q) + d − X        (for each piece)

x is the position of a node in its piece, X in the undeformed body; R, d: pose of the piece in the
body frame, which is the frame of its first piece. A body in one piece has R = 1, d = 0 and X = x,
thus u = φ q. A node of a cut moves with the mean of its pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray, IntArray, Surface


class RelativePose(NamedTuple):
    """Pose of a piece in the body frame: R (nt, 3, 3), d (nt, 3) [m]."""

    R: FloatArray
    d: FloatArray


class DeformedPiece(NamedTuple):
    """Piece of a deformed body.

    Its surface, the rows of its nodes in the surface of the body, elastic coordinates (nt, nf), and
    a function for its pose.
    """

    surface: Surface
    rows: IntArray
    elastic: FloatArray
    find_pose: Callable[[], RelativePose]


@dataclass(frozen=True, eq=False)
class Deformation:
    """Undeformed surface of a body and the displacements of its nodes.

    surface: of the whole body; it has shapes only for a body in one piece.

    """

    surface: Surface
    pieces: tuple[DeformedPiece, ...]

    @property
    def linear(self) -> bool:
        """True if displacements are φ q, for a body in one piece."""
        return len(self.pieces) == 1

    def displacement(self, rows: IntArray, outputs: IntArray | slice) -> FloatArray:
        """Displacements u (m, n, 3) [m] of the nodes in rows (n,) of the surface at m outputs."""
        if self.linear:
            return np.asarray(
                np.einsum("nak,tk->tna", self.surface.phi[rows], self.pieces[0].elastic[outputs])
            )
        total, shares = (
            np.zeros((len(self._poses[0].d[outputs]), len(rows), 3)),
            np.zeros(len(rows)),
        )
        for piece, (R, d), place in zip(self.pieces, self._poses, self._place_in):
            on = np.flatnonzero(place[rows] >= 0)
            own = place[rows[on]]
            x = piece.surface.nodes[own] + np.einsum(
                "nak,tk->tna", piece.surface.phi[own], piece.elastic[outputs]
            )
            total[:, on] += np.einsum("tab,tnb->tna", R[outputs], x) + d[outputs][:, None]
            shares[on] += 1.0
        return np.asarray(total / shares[:, None] - self.surface.nodes[rows])

    def factored(self, rows: IntArray, outputs: IntArray | slice) -> tuple[FloatArray, FloatArray]:
        """Shapes (3 n, L) and factors (L, m) whose product gives the displacements.

        φ and q, or the displacements of every output.
        """
        if self.linear:
            return self.surface.phi[rows].reshape(3 * len(rows), -1), self.pieces[0].elastic[
                outputs
            ].T
        u = self.displacement(rows, outputs)
        return u.reshape(len(u), -1).T, np.eye(len(u))

    @cached_property
    def _poses(self) -> list[RelativePose]:
        return [piece.find_pose() for piece in self.pieces]

    @cached_property
    def _place_in(self) -> list[IntArray]:
        """Row of every node of the body in each piece; −1 for nodes outside the piece."""
        found = []
        for piece in self.pieces:
            place = np.full(len(self.surface.nodes), -1, np.int64)
            place[piece.rows] = np.arange(len(piece.rows))
            found.append(place)
        return found
