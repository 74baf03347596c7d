"""Undeformed pieces of a divided body as one part.

Their poses, and their surfaces without the cuts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray, IntArray, Surface
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.welds import welds

SAME = 1e-6  # relative to the size of the body: tolerance for the same node on two pieces


class PiecePose(NamedTuple):
    """Axes (3, 3) and origin (3,) [m] of the frame of a piece in the body frame, undeformed.

    The axes are columns.
    """

    R: FloatArray
    x: FloatArray

    def of(self, R: FloatArray, x: FloatArray) -> PiecePose:
        """Pose (R, x) in a piece converted to a pose in the whole body."""
        return PiecePose(self.R @ R, self.x + self.R @ x)


class JoinedSurface(NamedTuple):
    """Surface of a body, and the rows of the nodes of each piece in it.

    The surface of several pieces has no shapes.
    """

    surface: Surface
    rows: tuple[IntArray, ...]


def poses_of(pieces: Sequence[FlexibleBodyData]) -> tuple[PiecePose, ...]:
    """Poses of all pieces.

    The frame of the first is the body frame, and the frames at a cut coincide.
    """
    found = {0: PiecePose(np.eye(3), np.zeros(3))}
    cuts = list(welds([tuple(piece.frames) for piece in pieces]))
    while len(found) < len(pieces):
        for a, b, cut in cuts:
            for i, j in ((a, b), (b, a)):
                if i in found and j not in found:
                    here, there = pieces[i].frames[cut], pieces[j].frames[cut]
                    at = found[i].of(here.R, here.x)
                    turned = at.R @ there.R.T
                    found[j] = PiecePose(turned, at.x - turned @ there.x)
    return tuple(found[k] for k in range(len(pieces)))


def joined_surface(
    pieces: Sequence[FlexibleBodyData], poses: Sequence[PiecePose]
) -> JoinedSurface | None:
    """Surface of all pieces at their poses with each node of a cut once.

    A single piece is unchanged; None if a piece has none.
    """
    surfaces = [piece.surface for piece in pieces if piece.surface is not None]
    if len(surfaces) < len(pieces):
        return None
    if len(surfaces) == 1:
        return JoinedSurface(surfaces[0], (np.arange(len(surfaces[0].nodes)),))
    nodes = np.concatenate([own.nodes @ R.T + x for own, (R, x) in zip(surfaces, poses)])
    ids = np.concatenate([own.node_ids for own in surfaces])
    first, row = _distinct(nodes, ids)
    rows = tuple(np.split(row, np.cumsum([len(own.nodes) for own in surfaces])[:-1]))
    triangles = np.concatenate(
        _outer([own[surface.triangles] for own, surface in zip(rows, surfaces)])
    )
    return JoinedSurface(
        Surface(nodes[first], np.zeros((len(first), 3, 0)), triangles, ids[first]), rows
    )


def _distinct(nodes: FloatArray, ids: IntArray) -> tuple[IntArray, IntArray]:
    """(first of the nodes (n,) with equal number and position, row of each node among these)."""
    size = SAME * float(np.linalg.norm(np.ptp(nodes, axis=0)))
    known: dict[int, list[int]] = {}
    first: list[int] = []
    row = np.zeros(len(ids), np.int64)
    for k, number in enumerate(ids.tolist()):
        same = [
            r for r in known.get(number, ()) if np.abs(nodes[first[r]] - nodes[k]).max() <= size
        ]
        if not same:
            known.setdefault(number, []).append(len(first))
            same = [len(first)]
            first.append(k)
        row[k] = same[0]
    return np.array(first, np.int64), row


def _outer(sides: Sequence[IntArray]) -> list[IntArray]:
    """Outer triangles (T, 3) of each piece, without those shared with another piece.

    Triangles that cover one of another piece are left out, individually or as halves of a
    quadrilateral.
    """
    keep = [np.ones(len(side), bool) for side in sides]
    for i, j in combinations(range(len(sides)), 2):
        shared = np.intersect1d(sides[i], sides[j])
        one, two = (
            _faces(sides[k], np.flatnonzero(np.isin(sides[k], shared).all(axis=1) & keep[k]))
            for k in (i, j)
        )
        for k, own in ((i, one), (j, two)):
            keep[k][[row for face in one.keys() & two.keys() for row in own[face]]] = False
    return [side[own] for side, own in zip(sides, keep)]


def _faces(triangles: IntArray, chosen: IntArray) -> dict[frozenset[int], tuple[int, ...]]:
    """Rows of triangles by their corners: single triangles, and pairs with a common edge."""
    found: dict[frozenset[int], tuple[int, ...]] = {
        frozenset(triangles[row].tolist()): (row,) for row in chosen.tolist()
    }
    by_edge: dict[frozenset[int], list[int]] = {}
    for row in chosen.tolist():
        for edge in _edges(triangles[row].tolist()):
            by_edge.setdefault(edge, []).append(row)
    for rows in by_edge.values():
        for pair in combinations(rows, 2):
            found[frozenset(triangles[list(pair)].ravel().tolist())] = pair
    return found


def _edges(corners: list[int]) -> Iterator[frozenset[int]]:
    """Pairs of the corners of an element."""
    yield from (frozenset(edge) for edge in combinations(corners, 2))
