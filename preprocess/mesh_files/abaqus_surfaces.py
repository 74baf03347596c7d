"""Surfaces of an Abaqus file: nodes on faces of elements, listed or the outer faces of a set."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS
from preprocess.mesh.faces import all_faces
from preprocess.mesh_files.abaqus_assembly import AbaqusContent
from preprocess.mesh_files.raw_mesh import PLANES, SHAPES, STRUCTURES

# Corner nodes of the faces S1 … by number of corners, as Abaqus numbers them.
FACES = {
    4: ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)),
    6: ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0)),
    8: ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0)),
}


WHOLE = ("", "S1", "S2", "SPOS", "SNEG")  # sides of a shell; edges have other numbers


def same_name(sets: Mapping[str, object], name: str) -> str | None:
    """Set of that name, case-insensitive."""
    return (
        name if name in sets else next((key for key in sets if key.upper() == name.upper()), None)
    )


def outer_faces(reading: AbaqusContent) -> dict[int, list[list[int]]]:
    """Node numbers of the outer faces of each solid element, in the element's face order.

    Of plane elements, those of the outer edges.
    """
    names = {element.meshio_name: element.name for element in ELEMENTS.values()}
    tables: dict[str, list[list[int]]] = {}
    ids: dict[str, list[int]] = {}
    for number, (kind, nodes) in reading.elements.items():
        if kind in names:
            tables.setdefault(names[kind], []).append(nodes)
            ids.setdefault(names[kind], []).append(number)
    if not tables:
        return _outer_edges(reading)
    _, flat = np.unique(
        np.concatenate([np.ravel(table) for table in tables.values()]), return_inverse=True
    )
    ends = np.cumsum([np.size(table) for table in tables.values()])[:-1]
    faces = all_faces(
        {k: part.reshape(len(ids[k]), -1) for k, part in zip(tables, np.split(flat.ravel(), ends))}
    )
    shapes = [shape for name in tables for shape in ELEMENTS[name].faces]
    outer = np.flatnonzero(faces.count[faces.group] == 1)
    owners = np.concatenate(list(ids.values()))[faces.element[outer]]
    found: dict[int, list[list[int]]] = {}
    for owner, table, face in zip(
        owners.tolist(), faces.table[outer].tolist(), faces.face[outer].tolist()
    ):
        nodes = reading.elements[owner][1]
        found.setdefault(owner, []).append([nodes[n] for n in shapes[table].nodes[face].tolist()])
    return found


def _outer_edges(reading: AbaqusContent) -> dict[int, list[list[int]]]:
    """Node numbers of the outer edges of each plane element."""
    edges = {
        number: _edges(kind, nodes)
        for number, (kind, nodes) in reading.elements.items()
        if kind in PLANES
    }
    count = Counter(frozenset(edge[:2]) for own in edges.values() for edge in own)
    return {
        number: [edge for edge in own if count[frozenset(edge[:2])] == 1]
        for number, own in edges.items()
    }


def _edges(kind: str, nodes: list[int]) -> list[list[int]]:
    """Edges S1 … of a plane element: both ends, then the node between them."""
    corners = 3 if SHAPES[PLANES[kind][1]] in (3, 6) else 4
    return [
        [nodes[k], nodes[(k + 1) % corners], *nodes[corners + k : corners + k + 1]]
        for k in range(corners)
    ]


def surface_nodes(
    path: Path, reading: AbaqusContent, name: str, outer: Mapping[int, list[list[int]]]
) -> Iterator[int]:
    """Node numbers of a named surface. Raises InputError.

    outer: the outer faces of each solid element.
    """
    if name in reading.node_surfaces:
        for item, _ in reading.surfaces[name]:
            chosen = same_name(reading.node_sets, item)
            yield from (
                reading.node_sets[chosen] if chosen else [int(item)] if item.isdigit() else []
            )
        return
    for face in surface_faces(path, reading, name, outer):
        yield from face


def surface_faces(
    path: Path, reading: AbaqusContent, name: str, outer: Mapping[int, list[list[int]]]
) -> Iterator[list[int]]:
    """Node numbers of each face of a surface of elements, corners first."""
    for item, face in reading.surfaces[name]:
        chosen = same_name(reading.element_sets, item)
        numbers = reading.element_sets[chosen] if chosen else [int(item)] if item.isdigit() else []
        if not numbers:
            raise InputError(
                f"{path}: surface '{name}' refers to element set '{item}', which is not defined"
            )
        for number in numbers:
            if not face and number in outer:
                yield from outer[number]
            elif reading.elements.get(number, ("",))[0] in STRUCTURES and face in WHOLE:
                yield reading.elements[number][1]
            elif face or number not in reading.elements:
                yield _face_nodes(path, reading, name, (number, face))


def _face_nodes(path: Path, reading: AbaqusContent, name: str, side: tuple[int, str]) -> list[int]:
    """All nodes of one face: corners and edge midpoints."""
    number, face = side
    if number not in reading.elements:
        raise InputError(
            f"{path}: surface '{name}' refers to element {number}, which does not exist"
        )
    kind, nodes = reading.elements[number]
    if kind in PLANES and face in [f"S{k}" for k in range(1, len(_edges(kind, nodes)) + 1)]:
        return _edges(kind, nodes)[int(face[1]) - 1]
    element = next((e for e in ELEMENTS.values() if e.meshio_name == kind), None)
    if (
        element is None
        or not re.fullmatch(r"S[1-6]", face)
        or int(face[1]) > len(FACES[element.corners])
    ):
        raise InputError(
            f"{path}: surface '{name}': element {number} ({kind}) has no face '{face}'"
        )
    corners = set(FACES[element.corners][int(face[1]) - 1])
    rows = (
        row
        for table in element.faces
        for row in table.nodes.tolist()
        if set(row[: table.corners]) == corners
    )
    return [nodes[n] for n in next(rows)]
