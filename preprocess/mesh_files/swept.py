"""Solids of plane meshes, extruded over their thickness, and of axisymmetric meshes, revolved.

Plane elements in the plane z = 0 with the thickness t become solids between z = −t/2 and t/2.
Where thicknesses differ, the thicker parts have further layers, so that the solids match.
Axisymmetric elements, at x ≥ 0, are revolved in sectors of 2π/N about the axis, y in Abaqus and z
in Nastran; those with nodes on it become wedges, pyramids and tetrahedra. One of the nodes and
solids that each node and element becomes keeps its number. Node sets get all nodes over the
thickness or around the axis, element sets all solids.

Source: Abaqus Elements Guide, Two-dimensional solid elements, Axisymmetric solid elements;
CalculiX CrunchiX User's Manual, CPS4, CPE4, CAX4; MSC Nastran, Quick Reference Guide, CTRIAX6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh_files.raw_mesh import AXISYMMETRIC, PLANES, RawMesh
from preprocess.mesh_files.swept_elements import (
    PlaneCells,
    Sweep,
    rolled,
    swept_parts,
    swept_solids,
)

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# distance from the plane z = 0, or from the axis, relative to the size of the mesh, that counts as
# none; positions in files have about six digits
SAME_PLACE = 1e-6
FARTHEST = 1e100  # whose square is a number
MOST_NODES = 5_000_000  # as of sectors with cyclic symmetry
MOST_THICKNESSES = 8  # different ones of a mesh; more are a varying thickness
USUAL_NODES = 200_000  # of a solid of revolution by default; minutes of reduction
# fewest and most sectors by default; facets of linear elements need more for the same mass
SECTORS = {1: (48, 96), 2: (16, 48)}
# rotation of rows of points that brings the axis to y
TO_Y = {"y": np.eye(3), "z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])}
ACROSS = {"y": "z", "z": "y"}  # the coordinate that vanishes
FEWEST, MOST = 6, 2000  # sectors that may be asked for


def swept(path: Path, raw: RawMesh, sectors: int | None = None) -> RawMesh:
    """Raw mesh with solids instead of plane or axisymmetric elements; others are unchanged.

    sectors: of solids of revolution, by default from the size of the elements. Raises InputError
    for elements outside their plane, without thickness, and for connections of single nodes.
    """
    tables = {name: table for name, table in raw.connectivity.items() if name in PLANES}
    axisymmetric = {PLANES[name][0] == AXISYMMETRIC for name in tables} == {True}
    if sectors is not None and not axisymmetric:
        raise InputError(
            f"{path}: sectors: the file has no axisymmetric elements, which alone are revolved"
        )
    if sectors is not None and not FEWEST <= sectors <= MOST:
        raise InputError(f"{path}: sectors: {sectors}; give a number from {FEWEST} to {MOST}")
    if not tables:
        return raw
    turn = TO_Y[raw.axis]
    flat = replace(raw, points=raw.points @ turn)
    rows = np.unique(np.concatenate([table.ravel() for table in tables.values()]))
    _check_places(path, flat, rows, axisymmetric)
    _check_connections(path, flat, raw.node_ids[rows])
    found, notice = (
        _revolved(path, flat, tables, sectors) if axisymmetric else _extruded(path, flat, tables)
    )
    states = {
        name: str(each["kind"])
        for name, each in raw.declared.sections.items()
        if each["kind"] in {state for state, _ in PLANES.values()}
    }
    declared = replace(
        raw.declared,
        sections={name: each for name, each in raw.declared.sections.items() if name not in states},
        planes={} if axisymmetric else states,
    )
    return replace(
        found,
        points=found.points @ turn.T,
        declared=declared,
        notices=(*raw.notices, notice),
    )


def _check_places(path: Path, raw: RawMesh, rows: Indices, axisymmetric: bool) -> None:
    """Raise InputError for nodes outside the plane z = 0, or beyond the axis."""
    x = raw.points[rows]
    if not (np.abs(x) < FARTHEST).all():
        worst = rows[~(np.abs(x) < FARTHEST).all(axis=1)][0]
        raise InputError(f"{path}: node {raw.node_ids[worst]} is beyond all bounds; correct it")
    size = SAME_PLACE * float(np.ptp(x, axis=0).max())
    outside = rows[np.abs(x[:, 2]) > size]
    if len(outside):
        raise InputError(
            f"{path}: node {raw.node_ids[outside[0]]} of a plane or axisymmetric element is at a "
            f"distance of {abs(raw.points[outside[0], 2]):g} from the plane "
            f"{ACROSS[raw.axis]} = 0, in which such elements are; move them, or give shells for a "
            "curved sheet"
        )
    beyond = rows[x[:, 0] < -size]
    if axisymmetric and len(beyond):
        raise InputError(
            f"{path}: node {raw.node_ids[beyond[0]]} is at x = {raw.points[beyond[0], 0]:g}; "
            f"axisymmetric elements are at x ≥ 0, beside the axis {raw.axis}"
        )


def _check_connections(path: Path, raw: RawMesh, ids: Indices) -> None:
    """Raise InputError for what acts at a single node of the plane mesh, which becomes several."""
    used = {each["where"]: [each["node"]] for each in raw.declared.masses}
    for name, each in raw.declared.connections.items():
        ends = ("reference", "first", "second", *(("where",) if "weights" in each else ()))
        places = [each[key] for key in ends if key in each]
        numbers = [place for place in places if isinstance(place, int)]
        numbers += [number for number, _, _ in each.get("terms", ())]
        sets = [raw.node_ids[raw.node_sets[place]] for place in places if isinstance(place, str)]
        used[name] = [*numbers, *(n for members in sets for n in members.tolist())]
    own = set(ids.tolist())
    wrong = [(name, n) for name, numbers in used.items() for n in numbers if n in own]
    if wrong:
        name, number = wrong[0]
        raise InputError(
            f"{path}: {name}: acts at node {number} of a plane or axisymmetric element, of which "
            "the solid has several; give a reference node coupled to a set, or PointMass in Python"
        )


def _extruded(path: Path, raw: RawMesh, tables: dict[str, Indices]) -> tuple[RawMesh, str]:
    """Mesh extruded over the thickness of its sections, and a notice."""
    t = {name: _thickness(path, raw, raw.element_ids[name]) for name in tables}
    values = np.unique(np.concatenate(list(t.values())))
    m = len(values)
    if m > MOST_THICKNESSES:
        raise InputError(
            f"{path}: plane elements of {m} thicknesses are not supported; give at most "
            f"{MOST_THICKNESSES}, or solids"
        )
    levels = 0.5 * np.concatenate([-values[::-1], values])
    z = np.interp(np.arange(4 * m - 1) / 2, np.arange(2 * m), levels)

    def place(x: Array, half: Indices) -> Array:
        """Nodes at their height."""
        return np.column_stack([x[:, :2], z[half]])

    sweep = Sweep(len(z), np.zeros(len(raw.points), dtype=bool), place)
    _check_count(path, len(raw.points) * len(z))
    parts = []
    for name, table in tables.items():
        order = np.searchsorted(values, t[name])  # of the thickness among all
        for layer in range(2 * m - 1):
            some = np.abs(layer - (m - 1)) <= order
            cells = PlaneCells(table[some], raw.element_ids[name][some])
            # the middle layer, which all elements have, is the first copy
            copy = np.array([(layer - (m - 1)) % (2 * m - 1)])
            parts += swept_parts(path, sweep, cells, np.array([2 * layer]), copy)
    states = sorted({PLANES[name][0] for name in tables})
    count = sum(len(table) for table in tables.values())
    thickness = " and ".join(f"{value:g}" for value in values)
    return swept_solids(raw, raw.points, sweep, parts), (
        f"{count} elements in {' and '.join(states)} are extruded over the thickness {thickness}; "
        "the solid has their stiffness in the plane, and bends across it as a plate"
    )


def _thickness(path: Path, raw: RawMesh, ids: Indices) -> Array:
    """Thickness of plane elements by their numbers. Raises InputError."""
    t = np.zeros(len(ids))
    for name, each in raw.declared.sections.items():
        t[np.isin(ids, raw.element_sets[name])] = each["thickness"]
    missing = ids[~(t > 0)]
    if len(missing):
        raise InputError(
            f"{path}: {len(missing)} plane element(s) have no thickness: element {missing[0]}; "
            "give *SOLID SECTION with it for their set"
        )
    return t


def _revolved(
    path: Path, raw: RawMesh, tables: dict[str, Indices], sectors: int | None
) -> tuple[RawMesh, str]:
    """Mesh revolved about the axis, and a notice."""
    materials = raw.declared.materials
    turned = [
        name for name, each in materials.items() if each.get("kind", "isotropic") != "isotropic"
    ]
    if turned:
        raise InputError(
            f"{path}: material of '{turned[0]}': axisymmetric elements of anisotropic materials "
            "are not supported; give an isotropic one"
        )
    rows = np.unique(np.concatenate([table.ravel() for table in tables.values()]))
    radius = np.abs(raw.points[:, 0])
    fixed = np.zeros(len(radius), dtype=bool)
    fixed[rows] = radius[rows] <= SAME_PLACE * float(np.ptp(raw.points[rows], axis=0).max())
    cells = [PlaneCells(table, raw.element_ids[name]) for name, table in tables.items()]
    order = max(2 if each.table.shape[1] > each.corners else 1 for each in cells)
    N = sectors or _sectors(raw.points, cells, order)
    points, fixed, cells = _without_quads_at_axis(raw.points, fixed, cells)

    def place(x: Array, half: Indices) -> Array:
        """Nodes turned about the axis."""
        angle = np.pi / N * half
        return np.column_stack([x[:, 0] * np.cos(angle), x[:, 1], x[:, 0] * np.sin(angle)])

    sweep = Sweep(2 * N, fixed, place)
    _check_count(path, len(points) * order * N)
    k = np.arange(N)
    parts = [
        part for each in cells for part in swept_parts(path, sweep, each, 2 * k, k + N * each.child)
    ]
    facets = 100 * (1 - _facet_ratio(np.pi / N, order))
    count = sum(len(table) for table in tables.values())
    return swept_solids(raw, points, sweep, parts), (
        f"{count} axisymmetric elements are revolved about the {raw.axis} axis in {N} sectors, "
        f"whose facets omit {facets:.2g} % of the volume; sectors= sets their number"
    )


def _sectors(points: Array, cells: Sequence[PlaneCells], order: int) -> int:
    """Number of sectors whose arcs at the largest radius are two elements long, within bounds.

    Fewer than that if the solid would have more than the usual number of nodes.
    """
    lengths = [
        np.linalg.norm(
            points[each.table[:, : each.corners]]
            - points[np.roll(each.table[:, : each.corners], 1, axis=1)],
            axis=2,
        ).ravel()
        for each in cells
    ]
    radius = max(float(np.abs(points[each.table, 0]).max()) for each in cells)
    size = float(np.median(np.concatenate(lengths)))
    wanted = np.pi * radius / size if size > 0 else 0.0
    low, high = SECTORS[order]
    nodes = sum(len(np.unique(each.table)) for each in cells)
    high = max(low, min(high, USUAL_NODES // (order * nodes)))
    return 4 * int(np.ceil(np.clip(wanted, low, high) / 4))  # equal about x and z


def _facet_ratio(half: float, order: int) -> float:
    """Volume of facets, of an angle 2 · half each, over that of a solid of revolution."""
    area = np.sin(half) * np.cos(half)
    if order == 2:  # parabolas through three points of the circle
        area += 4 / 3 * np.sin(half) * (1 - np.cos(half))
    return float(area / half)


def _without_quads_at_axis(
    points: Array, fixed: NDArray[np.bool_], cells: Sequence[PlaneCells]
) -> tuple[Array, NDArray[np.bool_], list[PlaneCells]]:
    """Points, those on the axis, and elements, with quadrilaterals of one corner there divided.

    They become two triangles, of which pyramids are made.
    """
    found = []
    for each in cells:
        one = fixed[each.table[:, :4]].sum(axis=1) == 1
        if each.corners == 3 or not one.any():
            found.append(each)
            continue
        found.append(PlaneCells(each.table[~one], each.ids[~one]))
        table = rolled(each.table[one], fixed, 4)
        a, b, c, d, *middle = table.T
        if middle:
            x = points[table]
            centre = 0.5 * x[:, 4:].sum(axis=1) - 0.25 * x[:, :4].sum(axis=1)
            between = len(points) + np.arange(len(table))
            points = np.concatenate([points, centre])
            fixed = np.concatenate([fixed, np.zeros(len(table), dtype=bool)])
            ab, bc, cd, da = middle
            halves = [[a, b, c, ab, bc, between], [a, c, d, between, cd, da]]
        else:
            halves = [[a, b, c], [a, c, d]]
        found += [
            PlaneCells(np.column_stack(half), each.ids[one], child)
            for child, half in enumerate(halves)
        ]
    return points, fixed, found


def _check_count(path: Path, count: int) -> None:
    """Raise InputError for a solid of too many nodes."""
    if count > MOST_NODES:
        raise InputError(
            f"{path}: its solid has more than {MOST_NODES} nodes; mesh it coarser, or in fewer sectors"
        )
