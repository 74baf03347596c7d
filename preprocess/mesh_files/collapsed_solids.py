"""Hexahedra with coincident nodes: wedges, pyramids and tetrahedra of Ansys and LS-DYNA.

The corners that have one number decide about the shape; nodes between corners follow from the edge
that they are on. Nodes in VTK order: corners, then the midpoints of the edges of the bottom, of the
top, and of the vertical edges.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np

from preprocess.elements.hex8 import CORNERS
from preprocess.elements.hex20 import EDGES

Nodes = list[int]
# corners of edges with a node, in the order of meshio's names with their number of nodes
RINGS = {
    "tetra": ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)),
    "pyramid": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)),
    "wedge": ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)),
    "hexahedron": EDGES,
}
SIZES = {"tetra": 4, "pyramid": 5, "wedge": 6, "hexahedron": 8}


def solid(nodes: Nodes) -> tuple[str, Nodes] | None:
    """Type, as meshio names it, and nodes of a hexahedron with 8 or 20 nodes.

    Nodes between corners of which some are missing are 0. None if the coincident corners are those
    of no solid.
    """
    found = collapsed(nodes[:8])
    if found is None:
        return None
    kind, corners = found
    middle: dict[frozenset[int], int] = {}
    for (a, b), node in zip(EDGES, nodes[8:20]):
        key = frozenset((nodes[a], nodes[b]))
        if len(key) == 2:
            middle[key] = middle.get(key) or node
    between = [middle.get(frozenset((corners[a], corners[b])), 0) for a, b in RINGS[kind]]
    if not any(between):
        return kind, corners
    return f"{kind}{SIZES[kind] + len(between)}", [*corners, *between]


def collapsed(corners: Nodes) -> tuple[str, Nodes] | None:
    """Type and corners of the solid that the eight corners of a hexahedron make."""
    different = len(set(corners))
    if different == 8:
        return "hexahedron", list(corners)
    for kind, own in SHAPES.items():
        if different == SIZES[kind]:
            for same, order in own:
                if all(len({corners[k] for k in group}) == 1 for group in same):
                    return kind, [corners[k] for k in order]
    return None


@functools.cache
def _rotations() -> tuple[tuple[int, ...], ...]:
    """The 24 numberings of the corners of a cube that turn it."""
    centred = CORNERS - CORNERS.mean(axis=0)
    place = {tuple(np.sign(x).astype(int)): k for k, x in enumerate(centred)}
    found = []
    for axes in itertools.permutations(range(3)):
        for signs in itertools.product((1, -1), repeat=3):
            turn = np.zeros((3, 3))
            turn[range(3), axes] = signs
            if np.linalg.det(turn) > 0:
                found.append(tuple(place[tuple(np.sign(turn @ x).astype(int))] for x in centred))
    return tuple(found)


def _shapes() -> dict[str, list[tuple[list[list[int]], list[int]]]]:
    """Groups of coincident corners, and corners of the solid, by its type, in all orientations."""
    plain: dict[str, list[tuple[list[list[int]], list[int]]]] = {
        "wedge": [([[2, 3], [6, 7]], [0, 1, 2, 4, 5, 6])],
        "pyramid": [([[4, 5, 6, 7]], [0, 1, 2, 3, 4])],
        "tetra": [
            ([[2, 3], [4, 5, 6, 7]], [0, 1, 2, 4]),
            ([[3, 4, 5, 6, 7]], [0, 1, 2, 3]),
        ],
    }
    return {
        kind: [
            ([[turn[k] for k in group] for group in same], [turn[k] for k in order])
            for same, order in own
            for turn in _rotations()
        ]
        for kind, own in plain.items()
    }


SHAPES = _shapes()
