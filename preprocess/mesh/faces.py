"""Faces of solid elements, shared and outer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preprocess.elements import ELEMENTS, FaceTable

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Faces:
    """Faces of all elements of a mesh.

    corners (n, 4): sorted corner nodes, −1 before those of a triangle; nodes (n, 9): all nodes,
    sorted, preceded by −1; element (n,): running number of the element over the blocks; table (n,):
    running number of the face table over the blocks; face (n,): index in that table; group (n,):
    equal for faces with the same corners; count (groups,): faces in each group.
    """

    corners: Indices
    nodes: Indices
    element: Indices
    table: Indices
    face: Indices
    group: Indices
    count: Indices


def all_faces(connectivity: Mapping[str, Indices]) -> Faces:
    """The faces of all elements, grouped by their corners."""
    keys, nodes, elements, tables, sides = [], [], [], [], []
    for number, (first, faces, table) in enumerate(_face_tables(connectivity)):
        full = table[:, faces.nodes]
        keys.append(_sorted_padded(full[..., : faces.corners], 4))
        nodes.append(_sorted_padded(full, 9))
        n_faces = len(faces.nodes)
        elements.append(np.repeat(np.arange(first, first + len(table)), n_faces))
        tables.append(np.full(len(table) * n_faces, number))
        sides.append(np.tile(np.arange(n_faces), len(table)))
    corners = np.concatenate(keys)
    group, count = _grouped(corners)
    return Faces(
        corners,
        np.concatenate(nodes),
        np.concatenate(elements),
        np.concatenate(tables),
        np.concatenate(sides),
        group,
        count,
    )


def _face_tables(connectivity: Mapping[str, Indices]) -> Iterator[tuple[int, FaceTable, Indices]]:
    """Number of the first element, faces of one shape, and the elements with them."""
    first = 0
    for name, table in connectivity.items():
        for faces in ELEMENTS[name].faces:
            yield first, faces, table
        first += len(table)


def _grouped(keys: Indices) -> tuple[Indices, Indices]:
    """Group number of each row (n, 4), equal for equal rows, and the group sizes.

    The rows hold integers from −1.
    """
    base = int(keys.max()) + 2
    a, b = (keys[:, 0] + 1) * base + keys[:, 1] + 1, (keys[:, 2] + 1) * base + keys[:, 3] + 1
    order = np.lexsort((b, a))
    first = np.concatenate([[True], (np.diff(a[order]) != 0) | (np.diff(b[order]) != 0)])
    group = np.empty(len(keys), dtype=np.int64)
    group[order] = np.cumsum(first) - 1
    return group, np.bincount(group)


def _sorted_padded(faces: Indices, width: int) -> Indices:
    """Node numbers of faces (ne, nf, k) as sorted rows (ne*nf, width), padded with -1."""
    rows = faces.reshape(-1, faces.shape[-1])
    padded = np.full((len(rows), width), -1, dtype=np.int64)
    padded[:, width - rows.shape[1] :] = np.sort(rows, axis=1)
    return padded


def outer_faces(connectivity: Mapping[str, Indices]) -> list[tuple[FaceTable, Indices]]:
    """Outer faces by shape, as rows of all their nodes: corners, then the middles of the sides."""
    faces = all_faces(connectivity)
    outer = faces.count[faces.group] == 1
    found = []
    for number, (first, shape, table) in enumerate(_face_tables(connectivity)):
        chosen = outer & (faces.table == number)
        found.append(
            (shape, table[faces.element[chosen][:, None] - first, shape.nodes[faces.face[chosen]]])
        )
    return found


def surface_triangles(connectivity: Mapping[str, Indices]) -> Indices:
    """Outer faces as linear triangles (T, 3), counter-clockwise seen from outside."""
    return np.concatenate(
        [rows[:, shape.triangles].reshape(-1, 3) for shape, rows in outer_faces(connectivity)]
    )
