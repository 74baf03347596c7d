"""Finite-element model of a whole part, assembled from those of its pieces.

The pieces share the nodes of the cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from preprocess.fe.constraints import Dependence, constraints_of
from preprocess.fe.fe_model import FEModel
from preprocess.fe.freedoms import NONE, Freedoms, Indices, dofs_of
from preprocess.fe.mass_points import MovedPoints, concatenated_points, nodes_as_points
from preprocess.mesh.divide import CUT


class AssembledPart(NamedTuple):
    """Model of a whole part, and the incidence P (size, size of the whole) of each piece.

    P selects the degrees of freedom of the piece from those of the whole.
    """

    fe: FEModel
    places: tuple[sp.csr_matrix, ...]


class _PlacedPiece(NamedTuple):
    """Piece with the index of its nodes in the whole (N,), and P (size, size of the whole)."""

    fe: FEModel
    nodes: Indices
    P: sp.csr_matrix


def assemble_pieces(pieces: Sequence[FEModel]) -> AssembledPart:
    """Model ``K = Σ PᵀK P``, ``M = Σ PᵀM P`` of pieces with common nodes at their cuts.

    It has no elements; its triangles are those of the pieces, also on both sides of the cuts.
    Raises InputError for connections of different pieces that move the same node.
    """
    rows_of = _rows(pieces)
    count = 1 + max(int(at.max()) for at in rows_of)
    nodes, ids, sets = np.zeros((count, 3)), np.zeros(count, np.int64), dict[str, Indices]()
    for fe, at in zip(pieces, rows_of):
        nodes[at], ids[at] = fe.nodes, fe.node_ids
        for name, rows in fe.node_sets.items():
            sets[name] = np.union1d(sets.get(name, np.zeros(0, np.int64)), at[rows])
    freedoms = Freedoms(
        count, np.unique(np.concatenate([at[fe.rotating] for fe, at in zip(pieces, rows_of)]))
    )
    places = [_place(fe, at, freedoms) for fe, at in zip(pieces, rows_of)]
    m, points = _mass(places, nodes)
    whole = FEModel(
        K=sp.csr_matrix(sum(P.T @ fe.K @ P for fe, _, P in places)),
        m=m,
        nodes=nodes,
        node_ids=ids,
        node_sets=sets,
        triangles=np.vstack([at[fe.triangles] for fe, at, _ in places]),
        source=pieces[0].source.partition(", piece ")[0],
        rotating=freedoms.rotating,
        mass_points=points,
        constraints=constraints_of(
            [each for place in places for each in _dependences(place)], freedoms.rigid_motion(nodes)
        ),
    )
    return AssembledPart(whole, tuple(P for _, _, P in places))


def _rows(pieces: Sequence[FEModel]) -> list[Indices]:
    """Row of each node of each piece in the whole model.

    Nodes at cuts are identified by their numbers; other nodes are distinct, since centres of
    spiders may have equal numbers.
    """
    known, found, count = dict[int, int](), list[Indices](), 0
    for fe in pieces:
        at = count + np.arange(len(fe.nodes))
        shared = np.unique(
            np.concatenate(
                [rows for name, rows in fe.node_sets.items() if name.startswith(CUT)] or [NONE]
            )
        )
        before = np.array(
            [known.get(number, -1) for number in fe.node_ids[shared].tolist()], np.int64
        )
        same = shared[before >= 0]
        own = np.ones(len(at), bool)
        own[same] = False
        at[own] = count + np.arange(own.sum())
        at[same] = before[before >= 0]
        known |= dict(zip(fe.node_ids[shared].tolist(), at[shared].tolist()))
        found.append(at)
        count += int(own.sum())
    return found


def _place(fe: FEModel, at: Indices, freedoms: Freedoms) -> _PlacedPiece:
    """Piece with the selection of its degrees of freedom in the whole model."""
    dofs = dofs_of(np.concatenate([at, freedoms.rotation_blocks(at[fe.rotating])]))
    P = sp.csr_matrix(
        (np.ones(len(dofs)), (np.arange(len(dofs)), dofs)), shape=(len(dofs), freedoms.size)
    )
    return _PlacedPiece(fe, at, P)


def _mass(
    places: Sequence[_PlacedPiece], nodes: np.ndarray
) -> tuple[sp.csr_matrix, MovedPoints | None]:
    """Mass m of the whole, and its mass points.

    The points are None if every piece has its mass at its nodes.
    """
    if all(fe.mass_points is None for fe, _, _ in places):
        of_nodes = [
            sp.csr_matrix((np.ones(len(at)), (np.arange(len(at)), at)), (len(at), len(nodes)))
            for _, at, _ in places
        ]
        return sp.csr_matrix(sum(N.T @ fe.m @ N for (fe, _, _), N in zip(places, of_nodes))), None
    points = [
        (fe.mass_points or nodes_as_points(fe.nodes, len(fe.K.indptr) - 1), P)
        for fe, _, P in places
    ]
    whole = concatenated_points(
        [MovedPoints(own.positions, (own.motion @ P).tocsr()) for own, P in points]
    )
    return sp.block_diag([fe.m for fe, _, _ in places], format="csr"), whole


def _dependences(place: _PlacedPiece) -> list[Dependence]:
    """Connections of a piece, as rows of the whole."""
    fe, _, P = place
    if fe.constraints.T is None:
        return []
    dependent = fe.constraints.dependent
    return [
        Dependence(
            fe.source,
            P.indices[dependent].astype(np.int64),
            (fe.constraints.T[dependent] @ P).tocsr(),
        )
    ]
