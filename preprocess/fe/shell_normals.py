"""Normals of shell surfaces at the nodes.

Elements at a node belong to one surface if they share an edge there and their normals differ by
less than the fold angle, directly or through a chain of such elements. Skins thus keep their
curvature at stiffeners, and shells of any section and type have common normals. If two elements run
along their edge in the same direction, one normal is reversed for the comparison, so that the node
order of an element does not matter. The normal of a surface is the mean of those of its elements,
weighted by their angles at the node, and does not depend on the subdivision of flat sides. If an
element deviates from it by more than half the fold angle, all elements of this surface keep their
own normals. At the cuts of a divided mesh the elements of both pieces count, so that these meet.

Source of the weights: Thürmer and Wüthrich, J. Graphics Tools 3 (1998) 43.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from preprocess.elements.structural import STRUCTURAL, names_of
from preprocess.fe.shell_schemes import SCHEMES
from preprocess.fe.structural_element import Array, Indices
from preprocess.mesh.checks import SMOOTH
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.shell_edges import FOLD, pairs_within

RINGS = {name: list(STRUCTURAL[name].ring) for name in names_of("shell")}


class ShellFacets(Protocol):
    """Shells of one type: positions x (ne, nn, 3) and normals (ne, nn, 3) at their nodes."""

    @property
    def kind(self) -> str: ...
    @property
    def connectivity(self) -> Indices: ...
    @property
    def x(self) -> Array: ...
    @property
    def normals(self) -> Array: ...


@dataclass(frozen=True, eq=False)
class Facets:
    """Shells of one type without section and material: nodes (ne, nn) and their positions."""

    kind: str
    connectivity: Indices
    x: Array

    @property
    def normals(self) -> Array:
        """Normals of the elements at their nodes (ne, nn, 3)."""
        return facet_normals(self.kind, self.x)


def facets_beyond(mesh: Mesh) -> list[Facets]:
    """Shells of other pieces at the cuts of a divided mesh."""
    if mesh.beyond is None:
        return []
    nodes = np.vstack([mesh.nodes, mesh.beyond.nodes])
    return [Facets(kind, table, nodes[table]) for kind, table in mesh.beyond.tables.items()]


def facet_normals(kind: str, x: Array) -> Array:
    """Unit normals (ne, nn, 3) of shells of one type at their nodes x (ne, nn, 3)."""
    scheme, found = SCHEMES[kind], []
    for r, s in scheme.nodes:
        dN = scheme.functions(r, s)[1][:, : x.shape[1]]
        tangent = np.einsum("ia,eac->eic", dN, x)
        normal = np.cross(tangent[:, 0], tangent[:, 1])
        found.append(normal / np.linalg.norm(normal, axis=1)[:, None])
    return np.stack(found, axis=1)


def smooth_normals(shells: Sequence[ShellFacets]) -> list[Array]:
    """Unit normals (ne, nn, 3) of the surface at the nodes of all elements, by type."""
    if not shells:
        return []
    own = np.concatenate([each.normals.reshape(-1, 3) for each in shells])
    weight = np.concatenate([_angles(each).ravel() for each in shells])
    surface, both = _surfaces(_edges(shells), own), np.vstack([own, -own])
    total = np.zeros((surface.max() + 1, 3))
    np.add.at(total, surface, np.tile(weight, 2)[:, None] * both)
    mean = (total / np.maximum(np.linalg.norm(total, axis=1), 1e-300)[:, None])[surface]
    least = np.ones(len(total))
    np.minimum.at(least, surface, np.einsum("kc,kc->k", mean, both))
    found = np.where((least[surface] > SMOOTH)[:, None], mean, both)[: len(own)]
    ends = np.cumsum([each.connectivity.size for each in shells])
    return [
        part.reshape(each.normals.shape) for part, each in zip(np.split(found, ends[:-1]), shells)
    ]


def _angles(facets: ShellFacets) -> Array:
    """Angles (ne, nn) of the elements at their nodes."""
    ring = RINGS[facets.kind]
    x = facets.x[:, ring]
    before, after = np.roll(x, 1, axis=1) - x, np.roll(x, -1, axis=1) - x
    found = np.empty(x.shape[:2])
    sine = np.linalg.norm(np.cross(before, after), axis=2)
    found[:, ring] = np.arctan2(sine, np.einsum("eac,eac->ea", before, after))
    return found


def _edges(shells: Sequence[ShellFacets]) -> Indices:
    """Rows (n, 5) of element edges at each corner: end nodes, node, corner, direction.

    Rows (n, 5) of both end nodes in order, the node, the number of the corner in all elements, and
    1 for an edge run from the lower to the higher node, else −1.
    """
    found, first = [np.zeros((0, 5), np.int64)], 0
    for each in shells:
        ring, table = np.array(RINGS[each.kind]), each.connectivity
        step = 2 if len(ring) > 4 else 1
        number = first + np.arange(table.size).reshape(table.shape)
        a, b = table[:, ring[::step]], table[:, np.roll(ring[::step], -1)]
        way = np.where(a < b, 1, -1)
        for k in range(step + 1):  # start, middle, end
            at = np.roll(ring, -k)[::step]
            rows = np.minimum(a, b), np.maximum(a, b), table[:, at], number[:, at], way
            found.append(np.stack(rows, axis=-1).reshape(-1, 5))
        first += table.size
    return np.concatenate(found)


def _surfaces(edges: Indices, own: Array) -> Indices:
    """Numbers (2 k,) of the surfaces to which corners with normals (k, 3) belong.

    The second half numbers the same surfaces with opposite normals.
    """
    group = np.unique(edges[:, :3], axis=0, return_inverse=True)[1].ravel()
    (a, b), count = pairs_within(group).T, len(own)
    way, (a, b) = -edges[a, 4] * edges[b, 4], (edges[a, 3], edges[b, 3])
    near = way * np.einsum("kc,kc->k", own[a], own[b]) > FOLD
    a, b, way = a[near], b[near], way[near]
    b, opposite = np.where(way > 0, (b, b + count), (b + count, b))
    rows, columns = np.concatenate([a, a + count]), np.concatenate([b, opposite])
    graph = sp.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(2 * count, 2 * count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
