"""Checks of the edges of shell elements; each function returns messages for the defects found.

An edge is a pair of corners. Any number of shells may meet at one, as at stiffeners; two of them
that lie on the same side of it, in one plane, overlap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preprocess.mesh.checks import CORNERS, SHOWN

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Tables = Mapping[str, Indices]

FOLD = np.cos(np.radians(50.0))  # between the normals of two elements; beyond, there is a fold
SAME_SIDE = 1e-4  # 1 − cos 0.8°, between elements that overlap; less than in any fold that is meant
# 1 − cos 2.6°: between an edge and its parts, whose middle is off the chord where it is curved
ALONG = 1e-3
SHORTER = 0.98  # largest length of a part of an edge, relative to the edge


@dataclass(frozen=True, eq=False)
class ShellEdges:
    """Edges of all shells, element by element.

    ends (n, 2): corners, the lower one first; way (n,): 1 for elements that run from there, else
    −1; middle (n,): the node between them, −1 without; element (n,): number in the file; inward (n,
    3): unit vectors across the edge, towards the centre of the element; group (n,): number of the
    edge, equal for equal ends.
    """

    ends: Indices
    way: Indices
    middle: Indices
    element: Indices
    inward: Array
    group: Indices


def shell_edges(nodes: Array, connectivity: Tables, ids: Tables) -> ShellEdges:
    """The edges of the shells in tables by type."""
    found: list[tuple[NDArray[np.generic], ...]] = []
    for name, table in connectivity.items():
        if name not in CORNERS:
            continue
        count = CORNERS[name]
        a, b = table[:, :count], np.roll(table[:, :count], -1, axis=1)
        middle = table[:, count:] if table.shape[1] > count else np.full(a.shape, -1)
        along = nodes[b] - nodes[a]
        along /= np.maximum(np.linalg.norm(along, axis=2), 1e-300)[..., None]
        inward = nodes[table[:, :count]].mean(axis=1)[:, None] - nodes[a]
        inward -= np.einsum("eac,eac->ea", inward, along)[..., None] * along
        inward /= np.maximum(np.linalg.norm(inward, axis=2), 1e-300)[..., None]
        ends, way = np.sort(np.stack([a, b], axis=-1), axis=-1), np.where(a < b, 1, -1)
        element = np.repeat(ids[name], count)
        found.append(
            (ends.reshape(-1, 2), way.ravel(), middle.ravel(), element, inward.reshape(-1, 3))
        )
    if not found:
        ends, way, middle, element = _empty_arrays(2, 0, 0, 0)
        return ShellEdges(ends, way, middle, element, np.zeros((0, 3)), way)
    ends, way, middle, element, inward = (np.concatenate(each) for each in zip(*found))
    group = np.unique(ends, axis=0, return_inverse=True)[1].ravel()
    return ShellEdges(ends, way, middle, element, inward, group)


def _empty_arrays(*widths: int) -> list[Indices]:
    """Empty arrays with rows of the given sizes, one-dimensional for 0."""
    return [np.zeros((0, width) if width else 0, np.int64) for width in widths]


def pairs_within(group: Indices) -> Indices:
    """Pairs (m, 2) of rows with equal numbers, each once."""
    order, size = np.argsort(group, kind="stable"), np.bincount(group)
    last, pairs = np.repeat(np.cumsum(size), size), _empty_arrays(2)
    for step in range(1, int(size.max(initial=0))):
        a = np.flatnonzero(np.arange(len(order)) + step < last)
        pairs.append(np.column_stack([order[a], order[a + step]]))
    return np.concatenate(pairs)


def opposite_neighbours(edges: ShellEdges) -> Indices:
    """Pairs (m, 2) of element numbers, neighbours with opposite normals.

    Both run along their edge in the same direction. If several shells meet, as at stiffeners, those
    that continue each other.
    """
    a, b = pairs_within(edges.group).T
    alone = np.bincount(edges.group)[edges.group[a]] == 2
    smooth = np.einsum("kc,kc->k", edges.inward[a], edges.inward[b]) < -FOLD
    found = (edges.way[a] == edges.way[b]) & (alone | smooth)
    return np.column_stack([edges.element[a], edges.element[b]])[found]


def overlapping_elements(edges: ShellEdges, connectivity: Tables, ids: Tables) -> list[str]:
    """Shells that lie on each other, and beams of one type with the same nodes.

    Examples are duplicates, or a quadrilateral on two triangles.
    """
    a, b = pairs_within(edges.group).T
    same = np.einsum("kc,kc->k", edges.inward[a], edges.inward[b]) > 1 - SAME_SIDE
    parts = np.vstack([edges.element[np.stack([a, b])[:, same]].T, _on_corners(connectivity, ids)])
    found = np.unique(np.sort(parts, axis=1), axis=0)
    problems = []
    for kind, rows in (("shells", found), ("beams", _equal_beams(connectivity, ids))):
        if len(rows):
            shown = ", ".join(f"{one} and {two}" for one, two in rows[:SHOWN])
            problems.append(
                f"{len(rows)} pair(s) of {kind} lie on each other: elements {shown}; "
                "remove the duplicates"
            )
    return problems


def _on_corners(connectivity: Tables, ids: Tables) -> Indices:
    """Numbers (m, 2) of triangles and quadrilaterals with the same three corners."""
    keys, numbers, four = _empty_arrays(3, 0, 0)
    for name, table in connectivity.items():
        if name in CORNERS:
            corners, full = table[:, : CORNERS[name]], CORNERS[name] == 4
            threes = [np.delete(corners, k, axis=1) for k in range(4)] if full else [corners]
            keys = np.vstack([keys, *threes])
            numbers = np.concatenate([numbers, np.tile(ids[name], len(threes))])
            four = np.append(four, np.full(len(threes) * len(table), int(full)))
    group = np.unique(np.sort(keys, axis=1), axis=0, return_inverse=True)[1].ravel()
    met = np.isin(group, group[four == 0])
    pairs = np.flatnonzero(met)[pairs_within(np.unique(group[met], return_inverse=True)[1].ravel())]
    return numbers[pairs]


def _equal_beams(connectivity: Tables, ids: Tables) -> Indices:
    """Numbers (m, 2) of beams of one type with the same nodes."""
    found = _empty_arrays(2)
    for name in ("line2", "line3"):
        if name in connectivity:
            group = np.unique(np.sort(connectivity[name], axis=1), axis=0, return_inverse=True)[1]
            found.append(ids[name][pairs_within(group.ravel())])
    return np.concatenate(found)


def nonconforming_edges(nodes: Array, node_ids: Indices, edges: ShellEdges) -> list[str]:
    """Edge nodes without a counterpart in the neighbouring element.

    Mid-side nodes next to a linear element, and nodes inside another element's edge. Displacements
    are nonconforming there.
    """
    warnings = []
    quadratic = np.unique(edges.group[edges.middle >= 0])
    unused = np.flatnonzero((edges.middle < 0) & np.isin(edges.group, quadratic))
    if len(unused):
        warnings.append(
            f"{len(np.unique(edges.group[unused]))} mid-side node(s) of shells are not "
            "used by linear neighbours, first "
            f"element {edges.element[unused[0]]}; displacements are nonconforming there: "
            "use one element order"
        )
    whole, part = _divided(nodes, edges)
    if len(whole):
        warnings.append(
            f"{len(whole)} edge(s) of shells have nodes of other elements inside, first "
            "that of element "
            f"{edges.element[whole[0]]}, node {node_ids[part[0]]}; displacements are "
            "nonconforming there: refine both sides equally, or put triangles between"
        )
    return warnings


def _divided(nodes: Array, edges: ShellEdges) -> tuple[Indices, Indices]:
    """Edges along which shorter edges of other elements run from both ends.

    Rows of the edges, and the other end of the shorter edge from the first end; the sides of one
    thin triangle do not count.
    """
    _, row = np.unique(edges.group, return_index=True)
    ends = edges.ends[row]
    start, end = np.concatenate([ends, ends[:, ::-1]]).T  # half-edges, of both directions
    along = nodes[end] - nodes[start]
    length = np.linalg.norm(along, axis=1)
    pairs = pairs_within(np.unique(start, return_inverse=True)[1].ravel())
    pairs = np.vstack([pairs, pairs[:, ::-1]])
    a, b = pairs[length[pairs[:, 1]] < SHORTER * length[pairs[:, 0]]].T
    cosine = np.einsum("kc,kc->k", along[a], along[b]) / np.maximum(length[a] * length[b], 1e-300)
    a, b = a[cosine > 1 - ALONG], b[cosine > 1 - ALONG]
    n = len(row)
    apart = ~_in_one_element(edges, a % n, b % n)
    a, b = a[apart], b[apart]
    both = np.flatnonzero((a < n) & np.isin(a + n, a))
    whole, first = np.unique(a[both], return_index=True)
    return row[whole], end[b[both[first]]]


def _in_one_element(edges: ShellEdges, a: Indices, b: Indices) -> NDArray[np.bool_]:
    """True for pairs of edges that belong to one element."""
    pairs = pairs_within(np.unique(edges.element, return_inverse=True)[1].ravel())
    size = int(edges.group.max(initial=0)) + 1
    one, two = edges.group[pairs].T
    return np.isin(a * size + b, np.concatenate([one * size + two, two * size + one]))
