"""Reader of Gmsh meshes 2.2 and 4.1, text and binary.

Nodes, elements and physical groups are read, other sections skipped.

Source: Gmsh reference manual, sections "MSH file format" and "Node ordering".
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_bytes
from preprocess.mesh_files.gmsh_binary import (
    Stream,
    binary_sections,
    stream_elements,
    stream_entities,
    stream_nodes,
    stream_partitioned_entities,
)
from preprocess.mesh_files.gmsh_text import (
    Lines,
    group_names,
    text_elements_2,
    text_elements_4,
    text_entities,
    text_nodes_2,
    text_nodes_4,
    text_partitioned_entities,
    text_sections,
)
from preprocess.mesh_files.gmsh_types import DIMENSION, TYPES, Element
from preprocess.mesh_files.raw_mesh import Cells, RawMesh, node_rows, raw_mesh_of

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_EDGES_20 = [8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15]
# Gmsh's index of each of our nodes
ORDER = {
    "tetra10": [*range(8), 9, 8],
    "hexahedron20": [*range(8), *_EDGES_20],
    "hexahedron27": [*range(8), *_EDGES_20, 22, 23, 21, 24, 20, 25, 26],
    "pyramid13": [*range(6), 8, 10, 6, 7, 9, 11, 12],
    "wedge15": [*range(6), 6, 9, 7, 12, 14, 13, 8, 10, 11],
}


def read_gmsh(path: Path, structural: bool = False) -> RawMesh:
    """Raw mesh of a file; physical groups become sets.

    Raises InputError for a wrong format, broken section, impossible count, missing node.
    """
    data = read_bytes(path)
    version, binary = _header(path, data)
    try:
        points, node_ids, elements, names = (_binary if binary else _text)(path, data, version)
    except InputError as error:
        raise InputError(
            *(p if p.startswith(str(path)) else f"{path}: {p}" for p in error.problems)
        ) from None
    _check_unique_numbers(path, node_ids)
    return raw_mesh_of(
        path, points, node_ids, tuple(_cells(path, node_ids, elements, names)), {}, structural
    )


Content = tuple[Array, Indices, list[Element], dict[tuple[int, int], str]]


def _text(path: Path, data: bytes, version: str) -> Content:
    """Nodes, elements and groups of a text file. Raises `InputError`."""
    sections = text_sections(path, data.decode("utf-8", errors="replace").splitlines())
    for name in ("Nodes", "Elements"):
        if name not in sections:
            raise InputError(f"{path}: has no section ${name}; the file is truncated or not a mesh")
    names = group_names(sections["PhysicalNames"]) if "PhysicalNames" in sections else {}
    if version == "2.2":
        node_ids, points = text_nodes_2(sections["Nodes"], len(data))
        return (
            points,
            node_ids,
            _in_all_groups(text_elements_2(sections["Elements"], len(data))),
            names,
        )
    entities = text_entities(sections["Entities"], len(data)) if "Entities" in sections else {}
    if "PartitionedEntities" in sections:
        entities |= text_partitioned_entities(sections["PartitionedEntities"], len(data))
    node_ids, points = text_nodes_4(sections["Nodes"], len(data))
    return points, node_ids, list(text_elements_4(sections["Elements"], len(data), entities)), names


def _binary(path: Path, data: bytes, version: str) -> Content:
    """Nodes, elements and groups of a binary file. Raises `InputError`."""
    sections = binary_sections(data)
    for name in ("Nodes", "Elements"):
        if name not in sections:
            raise InputError(
                f"{path}: has no complete section ${name}; the file is truncated or not a mesh"
            )
    text = sections.get("PhysicalNames", b"").decode("utf-8", errors="replace").splitlines()
    names = group_names(Lines(path, "PhysicalNames", 0, text)) if text else {}
    wide = version == "4.1"
    entities = (
        stream_entities(Stream(sections["Entities"], "Entities"))
        if wide and "Entities" in sections
        else {}
    )
    if wide and "PartitionedEntities" in sections:
        entities |= stream_partitioned_entities(
            Stream(sections["PartitionedEntities"], "PartitionedEntities")
        )
    node_ids, points = stream_nodes(Stream(sections["Nodes"], "Nodes"), wide)
    elements = stream_elements(Stream(sections["Elements"], "Elements"), wide, entities)
    return points, node_ids, list(elements) if wide else _in_all_groups(elements), names


def _header(path: Path, data: bytes) -> tuple[str, bool]:
    """Version ("2.2" or "4.1"), and True for a binary file."""
    lines = data[:4096].split(b"\n")
    start = next((n for n, line in enumerate(lines) if line.strip() == b"$MeshFormat"), None)
    if lines[0].strip() == b"$NOD":
        raise InputError(f"{path}: Gmsh format 1 is not supported; save as version 4.1 or 2.2")
    fields = lines[start + 1].split() if start is not None and start + 1 < len(lines) else []
    if len(fields) != 3:
        raise InputError(
            f"{path}:1: is not a Gmsh file: expected $MeshFormat with version, type and data size"
        )
    version = {b"2": "2.2", b"2.0": "2.2", b"2.1": "2.2", b"2.2": "2.2", b"4.1": "4.1"}.get(
        fields[0]
    )
    if version is None:
        # Gmsh 4.0 has written 4
        given = {b"4": "4.0"}.get(fields[0], fields[0].decode(errors="replace"))
        raise InputError(
            f"{path}: Gmsh format {given[:30]} is not supported; save as version 4.1 or 2.2"
        )
    if fields[1] == b"1" and fields[2] != b"8":
        raise InputError(
            f"{path}: binary data of {fields[2].decode(errors='replace')} bytes per "
            "number are not supported; save as text"
        )
    if fields[1] == b"1" and any(line.startswith(b"\0\0\0\1") for line in lines[:5]):
        raise InputError(f"{path}: big-endian binary data are not supported; save as text")
    return version, fields[1] == b"1"


def _in_all_groups(elements: Iterable[Element]) -> list[Element]:
    """Elements listed once per physical group, merged into one that is in all of them."""
    listed = list(elements)
    if len({groups for _, kind, groups, _ in listed if DIMENSION.get(kind, 3) == 3}) < 2:
        return listed
    first: dict[tuple[int, tuple[int, ...]], int] = {}
    joined: list[Element] = []
    for number, kind, groups, nodes in listed:
        index = first.setdefault((kind, tuple(nodes)), len(joined))
        if index == len(joined):
            joined.append((number, kind, groups, nodes))
        elif not set(groups) <= set(joined[index][2]):
            joined[index] = (joined[index][0], kind, joined[index][2] + groups, nodes)
        else:
            joined.append((number, kind, groups, nodes))  # a true duplicate, rejected by the checks
    return joined


def _cells(
    path: Path, node_ids: Indices, elements: list[Element], names: Mapping[tuple[int, int], str]
) -> Iterator[Cells]:
    """Cells of successive elements of one type and the same physical groups."""
    for (kind, groups), run in itertools.groupby(elements, key=lambda each: each[1:3]):
        if kind not in TYPES:
            raise InputError(f"{path}: element type {kind} is unknown")
        members = list(run)
        name = TYPES[kind][0]
        ids = np.array([each[0] for each in members])
        nodes = np.array([each[3] for each in members], dtype=np.int64)[
            :, ORDER.get(name, slice(None))
        ]
        sets = tuple(sorted({names.get(group, f"physical {group[1]}") for group in groups}))
        yield Cells(name, node_rows(path, node_ids, nodes, ids, name), ids, sets)


def _check_unique_numbers(path: Path, node_ids: Indices) -> None:
    """Raise `InputError` for a node number that occurs twice."""
    values, counts = np.unique(node_ids, return_counts=True)
    if (counts > 1).any():
        raise InputError(f"{path}: node number {values[counts > 1][0]} occurs twice")
