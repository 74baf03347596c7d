"""Faces of solid elements: which are shared, which are outer."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preprocess.elements import ELEMENTS

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Faces:
    """All faces of a mesh.

    key (n, 4): sorted corner nodes, -1 before those of a triangle; nodes (n, 9): all nodes, sorted, -1 before
    element (n,): running number of the element over the blocks; block, face (n,): its block and which of its faces
    group (n,): equal for faces with the same corners; count (groups,): faces in each group
    """

    nodes: Indices
    element: Indices
    block: Indices
    face: Indices
    group: Indices
    count: Indices


def all_faces(connectivity: Mapping[str, Indices]) -> Faces:
    """The faces of all elements, grouped by their corners."""
    keys, nodes, elements, blocks, sides = [], [], [], [], []
    first = 0
    for number, (name, table) in enumerate(connectivity.items()):
        element = ELEMENTS[name]
        full = table[:, element.faces]
        keys.append(_sorted_padded(full[..., : element.face_corners], 4))
        nodes.append(_sorted_padded(full, 9))
        n_faces = len(element.faces)
        elements.append(np.repeat(np.arange(first, first + len(table)), n_faces))
        blocks.append(np.full(len(table) * n_faces, number))
        sides.append(np.tile(np.arange(n_faces), len(table)))
        first += len(table)
    _, group, count = np.unique(np.concatenate(keys), axis=0, return_inverse=True, return_counts=True)
    return Faces(
        np.concatenate(nodes), np.concatenate(elements), np.concatenate(blocks), np.concatenate(sides), group.ravel(), count
    )


def _sorted_padded(faces: Indices, width: int) -> Indices:
    """Node numbers of faces (ne, nf, k) as sorted rows (ne*nf, width), padded with -1."""
    rows = faces.reshape(-1, faces.shape[-1])
    padded = np.full((len(rows), width), -1, dtype=np.int64)
    padded[:, width - rows.shape[1] :] = np.sort(rows, axis=1)
    return padded


def surface_triangles(connectivity: Mapping[str, Indices]) -> Indices:
    """Outer faces as linear triangles (T, 3), turning positively seen from outside."""
    faces = all_faces(connectivity)
    outer = faces.count[faces.group] == 1
    triangles, first = [], 0
    for number, (name, table) in enumerate(connectivity.items()):
        element = ELEMENTS[name]
        chosen = outer & (faces.block == number)
        corners = table[faces.element[chosen][:, None] - first, element.faces[faces.face[chosen]]]
        triangles.append(corners[:, element.triangles].reshape(-1, 3))
        first += len(table)
    return np.concatenate(triangles)
