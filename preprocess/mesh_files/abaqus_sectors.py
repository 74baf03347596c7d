"""Sectors of parts with cyclic symmetry, completed to the whole part.

Each of the N − 1 copies is the sector rotated by 2πk/N about the axis, with its sets; the dependent
side of a sector lies on the independent side of its neighbour: coincident nodes are merged, others
tied.

Source: CalculiX CrunchiX User's Manual, *CYCLIC SYMMETRY MODEL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from flexmbs.errors import InputError
from preprocess.mesh_files.abaqus_assembly import AbaqusContent
from preprocess.mesh_files.abaqus_surfaces import outer_faces, same_name, surface_nodes

# number of nodes of the whole part; guards against a wrong number of sectors
MOST_NODES = 5_000_000
FARTHEST = 1e100  # whose square is a number
# distance of coincident nodes relative to the size of the part; rotated positions in files have
# about six digits
SAME_PLACE = 1e-5


Sides = dict[str, tuple[list[int], list[int]]]


class Sector(NamedTuple):
    """Sector of a cyclically symmetric part.

    Number of sectors, axis as two points, element set ("" for all), both surfaces, location. The
    surfaces are the dependent and the independent one.
    """

    number: int
    axis: tuple[float, ...]
    elements: str
    dependent: str
    independent: str
    line: str


def complete_sector(reading: AbaqusContent, sector: Sector) -> Sides:
    """Add the copies of a sector to the content.

    Returns the sides, dependent and independent, whose nodes could not be merged.
    """
    numbers = _elements(reading, sector)
    nodes = sorted(
        {node for n in numbers for node in reading.elements[n][1] if node in reading.nodes}
    )
    if sector.number * len(nodes) > MOST_NODES:
        raise InputError(
            f"{sector.line}: *CYCLIC SYMMETRY MODEL, N={sector.number} makes more than "
            f"{MOST_NODES} nodes"
        )
    for node in nodes:
        if not all(abs(x) < FARTHEST for x in reading.nodes[node]):
            raise InputError(
                f"{sector.line}: node {node} of the sector is at {reading.nodes[node]}; correct it"
            )
    outer = (
        outer_faces(reading)
        if any(not face for parts in reading.surfaces.values() for _, face in parts)
        else {}
    )
    sides = [_side(reading, sector, name, outer) for name in (sector.dependent, sector.independent)]
    up, up_e = (int(10 ** len(str(max(each)))) for each in (reading.nodes, reading.elements))
    _copy(reading, sector, numbers, nodes, (up, up_e))
    dependent, independent = (
        [node + k * up for k in range(sector.number) for node in side] for side in sides
    )
    return _merged_nodes(reading, sector, dependent, independent)


def _elements(reading: AbaqusContent, sector: Sector) -> list[int]:
    """Elements of a sector. Raises `InputError`."""
    if not sector.elements:
        return list(reading.elements)
    chosen = same_name(reading.element_sets, sector.elements)
    if chosen is None:
        raise InputError(
            f"{sector.line}: *CYCLIC SYMMETRY MODEL: element set '{sector.elements}' does not exist"
        )
    return [n for n in dict.fromkeys(reading.element_sets[chosen]) if n in reading.elements]


def _side(
    reading: AbaqusContent, sector: Sector, name: str, outer: Mapping[int, list[list[int]]]
) -> list[int]:
    """Sorted nodes of a surface on one side of a sector. Raises `InputError`."""
    chosen = same_name(reading.surfaces, name)
    if chosen is None:
        raise InputError(f"{sector.line}: *TIE is of surface '{name}', which does not exist")
    return sorted(
        {
            node
            for node in surface_nodes(Path(sector.line), reading, chosen, outer)
            if node in reading.nodes
        }
    )


def _copy(
    reading: AbaqusContent,
    sector: Sector,
    numbers: list[int],
    nodes: list[int],
    up: tuple[int, int],
) -> None:
    """Add copies of elements, nodes and sets."""
    a, b = np.array(sector.axis[:3]), np.array(sector.axis[3:])
    length = float(np.linalg.norm(b - a))
    if not length > 0 or not np.isfinite(length):
        raise InputError(
            f"{sector.line}: *CYCLIC SYMMETRY MODEL: the two points of its axis coincide"
        )
    x, own = np.array([reading.nodes[node] for node in nodes]) - a, set(nodes)
    of_sector = set(numbers)
    before = {name: list(members) for name, members in reading.node_sets.items()}
    elements_before = {name: list(members) for name, members in reading.element_sets.items()}
    surfaces_before = {name: list(parts) for name, parts in reading.surfaces.items()}
    for k in range(1, sector.number):
        turned = Rotation.from_rotvec(2 * np.pi * k / sector.number * (b - a) / length).apply(x) + a
        reading.nodes |= {
            node + k * up[0]: tuple(place) for node, place in zip(nodes, turned.tolist())
        }
        for n in numbers:
            kind, members = reading.elements[n]
            reading.elements[n + k * up[1]] = kind, [node + k * up[0] for node in members]
        for name, members in before.items():
            reading.node_sets[name] += [node + k * up[0] for node in members if node in own]
        for name, members in elements_before.items():
            reading.element_sets[name] += [n + k * up[1] for n in members if n in of_sector]
        for name, parts in surfaces_before.items():
            inside, shift = (own, up[0]) if name in reading.node_surfaces else (of_sector, up[1])
            more = [
                (str(int(item) + k * shift), face)
                for item, face in parts
                if item.isdecimal() and int(item) in inside
            ]
            reading.surfaces[name] += more


def _merged_nodes(
    reading: AbaqusContent, sector: Sector, dependent: list[int], independent: list[int]
) -> Sides:
    """Merge dependent nodes with coincident independent ones, and coincident nodes on the axis.

    Returns the sides if others remain.
    """
    x = np.array([reading.nodes[node] for node in (*independent, *dependent)])
    numbers, merged = [*independent, *dependent], dict[int, int]()
    for number, places in zip(
        numbers, cKDTree(x).query_ball_point(x, SAME_PLACE * float(np.ptp(x, axis=0).max()))
    ):
        first = numbers[min(places)]
        if first != number:
            merged[number] = first
    _renumber(reading, merged)
    left = sorted({node for node in dependent if node not in merged} - set(independent))
    return (
        {f"sectors of {sector.dependent}": (left, sorted({merged.get(n, n) for n in independent}))}
        if left
        else {}
    )


def _renumber(reading: AbaqusContent, merged: Mapping[int, int]) -> None:
    """Replace nodes by others in elements and sets."""

    def kept(members: Iterable[int]) -> list[int]:
        """Nodes with merged ones replaced."""
        return [merged.get(node, node) for node in members]

    for number, (kind, members) in reading.elements.items():
        if any(node in merged for node in members):
            reading.elements[number] = kind, kept(members)
    for name, members in reading.node_sets.items():
        reading.node_sets[name] = kept(members)
    for name in reading.node_surfaces:
        numbers = [int(item) if item.isdecimal() else item for item, _ in reading.surfaces[name]]
        reading.surfaces[name] = [
            (str(merged.get(n, n) if isinstance(n, int) else n), "") for n in numbers
        ]
    for node in merged:
        reading.nodes.pop(node, None)
