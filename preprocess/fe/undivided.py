"""The finite-element model of a whole part from the models of its pieces, which share the nodes of the cuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from preprocess.fe.constraints import Dependence, constraints_of
from preprocess.fe.freedoms import Freedoms, Indices, dofs_of
from preprocess.fe.mass_points import MovedPoints, joined, nodes_as_points
from preprocess.fe.model import FEModel


class Undivided(NamedTuple):
    """A whole part, and of each piece P (size, size of the whole): its degrees of freedom among those of the whole."""

    fe: FEModel
    places: tuple[sp.csr_matrix, ...]


class _Place(NamedTuple):
    """A piece with the index of its nodes in the whole (N,), and P (size, size of the whole): its degrees of freedom."""

    fe: FEModel
    nodes: Indices
    P: sp.csr_matrix


def undivided(pieces: Sequence[FEModel]) -> Undivided:
    """The model ``K = Σ PᵀK P``, ``M = Σ PᵀM P`` of pieces with nodes of the same numbers, without their elements; the triangles
    are those of the pieces, on both sides of the cuts too.

    Raises InputError for connections of different pieces that move the same node.
    """
    ids = np.unique(np.concatenate([fe.node_ids for fe in pieces]))
    nodes, sets = np.zeros((len(ids), 3)), dict[str, Indices]()
    for fe in pieces:
        at = np.searchsorted(ids, fe.node_ids)
        nodes[at] = fe.nodes
        for name, rows in fe.node_sets.items():
            sets[name] = np.union1d(sets.get(name, np.zeros(0, np.int64)), at[rows])
    freedoms = Freedoms(len(ids), np.unique(np.concatenate([np.searchsorted(ids, fe.node_ids[fe.rotating]) for fe in pieces])))
    places = [_place(fe, np.searchsorted(ids, fe.node_ids), freedoms) for fe in pieces]
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
        constraints=constraints_of([each for place in places for each in _dependences(place)], freedoms.rigid_motion(nodes)),
    )
    return Undivided(whole, tuple(P for _, _, P in places))


def _place(fe: FEModel, at: Indices, freedoms: Freedoms) -> _Place:
    dofs = dofs_of(np.concatenate([at, freedoms.rotation_blocks(at[fe.rotating])]))
    P = sp.csr_matrix((np.ones(len(dofs)), (np.arange(len(dofs)), dofs)), shape=(len(dofs), freedoms.size))
    return _Place(fe, at, P)


def _mass(places: Sequence[_Place], nodes: np.ndarray) -> tuple[sp.csr_matrix, MovedPoints | None]:
    """m of the whole, and its mass points; None where the nodes of all pieces are theirs."""
    if all(fe.mass_points is None for fe, _, _ in places):
        of_nodes = [sp.csr_matrix((np.ones(len(at)), (np.arange(len(at)), at)), (len(at), len(nodes))) for _, at, _ in places]
        return sp.csr_matrix(sum(N.T @ fe.m @ N for (fe, _, _), N in zip(places, of_nodes))), None
    points = [(fe.mass_points or nodes_as_points(fe.nodes, len(fe.K.indptr) - 1), P) for fe, _, P in places]
    whole = joined([MovedPoints(own.positions, (own.motion @ P).tocsr()) for own, P in points])
    return sp.block_diag([fe.m for fe, _, _ in places], format="csr"), whole


def _dependences(place: _Place) -> list[Dependence]:
    """The connections of a piece, as rows of the whole."""
    fe, _, P = place
    if fe.constraints.T is None:
        return []
    dependent = fe.constraints.dependent
    return [Dependence(fe.source, P.indices[dependent].astype(np.int64), (fe.constraints.T[dependent] @ P).tocsr())]
