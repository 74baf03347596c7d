"""Normals of the surface of shells at its nodes.

The elements at a node whose normals differ by less than the angle of a fold, directly or by way of
others between them, are one surface there: skins keep their curvature where a stiffener meets
them, and shells of any section and type have common normals. Its normal is the mean by the angles
of its elements at the node, which does not depend on how flat sides are divided. Where an element
is farther from it than half that angle, all elements of this surface have their own normals.

Source of the weights: Thürmer and Wüthrich, J. Graphics Tools 3 (1998) 43.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from preprocess.fe.structure import Array, Indices

FOLD = np.cos(np.radians(50.0))  # between the normals of two elements
SMOOTH = np.cos(np.radians(25.0))  # between the normal of an element and the mean at its node
RINGS = {
    "tri3": [0, 1, 2],
    "quad4": [0, 1, 2, 3],
    "tri6": [0, 3, 1, 4, 2, 5],
    "quad8": [0, 4, 1, 5, 2, 6, 3, 7],
}


class Facets(Protocol):
    """Elements of one type: positions x (ne, nn, 3) and normals (ne, nn, 3) at their nodes."""

    @property
    def kind(self) -> str: ...
    @property
    def connectivity(self) -> Indices: ...
    @property
    def x(self) -> Array: ...
    @property
    def normals(self) -> Array: ...


def smooth_normals(shells: Sequence[Facets]) -> list[Array]:
    """Unit normals (ne, nn, 3) of the surface at the nodes of all elements of each type."""
    if not shells:
        return []
    node = np.concatenate([each.connectivity.ravel() for each in shells])
    own = np.concatenate([each.normals.reshape(-1, 3) for each in shells])
    weight = np.concatenate([_angles(each).ravel() for each in shells])
    surface = _surfaces(node, own)
    total = np.zeros((surface.max() + 1, 3))
    np.add.at(total, surface, weight[:, None] * own)
    mean = (total / np.maximum(np.linalg.norm(total, axis=1), 1e-300)[:, None])[surface]
    least = np.ones(len(total))
    np.minimum.at(least, surface, np.einsum("kc,kc->k", mean, own))
    found = np.where((least[surface] > SMOOTH)[:, None], mean, own)
    ends = np.cumsum([each.connectivity.size for each in shells])
    return [part.reshape(each.normals.shape) for part, each in zip(np.split(found, ends[:-1]), shells)]


def _angles(facets: Facets) -> Array:
    """Angles (ne, nn) of the elements at their nodes."""
    ring = RINGS[facets.kind]
    x = facets.x[:, ring]
    before, after = np.roll(x, 1, axis=1) - x, np.roll(x, -1, axis=1) - x
    found = np.empty(x.shape[:2])
    sine = np.linalg.norm(np.cross(before, after), axis=2)
    found[:, ring] = np.arctan2(sine, np.einsum("eac,eac->ea", before, after))
    return found


def _surfaces(node: Indices, own: Array) -> Indices:
    """Number (k,) of the surface that each corner, at a node and with a normal (k, 3), is part
    of."""
    order = np.argsort(node, kind="stable")
    first = np.flatnonzero(np.concatenate([[True], np.diff(node[order]) > 0]))
    size = np.diff(np.append(first, len(node)))
    pairs = []
    for step in range(1, int(size.max())):
        a = np.flatnonzero(np.arange(len(node)) + step < np.repeat(first + size, size))
        pairs.append(np.column_stack([order[a], order[a + step]]))
    both = np.concatenate([np.zeros((0, 2), np.int64), *pairs])
    near = both[np.einsum("kc,kc->k", own[both[:, 0]], own[both[:, 1]]) > FOLD]
    graph = sp.coo_matrix((np.ones(len(near)), (near[:, 0], near[:, 1])), shape=(len(node), len(node)))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
