"""Raw content of a mesh file, before units and checks.

Solid cells are joined by type, cells of lower dimension become node sets or, if requested, beams
and shells.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS
from preprocess.elements.structural import STRUCTURAL, names_of
from preprocess.inputs.units import Units
from preprocess.mesh.declarations import FileDeclarations

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SOLIDS = {element.meshio_name: element.name for element in ELEMENTS.values()}
STRUCTURES = {each.meshio_name: each.name for each in STRUCTURAL.values()}
# dimension of the cells that become node sets unless they are read as elements
LOWER = {
    "vertex": 0,
    "triangle7": 2,
    "quad9": 2,
    **{STRUCTURAL[name].meshio_name: 1 for name in names_of("beam")},
    **{STRUCTURAL[name].meshio_name: 2 for name in names_of("shell")},
}
# plane elements in the plane z = 0 and cross-sections of solids of revolution, by their type here:
# state and type as meshio names it; `swept` makes solids of them
SHAPES = {"triangle": 3, "triangle6": 6, "quad": 4, "quad8": 8}
STRESS, STRAIN, AXISYMMETRIC = "plane stress", "plane strain", "axisymmetric"
PLANES = {
    f"{state} {shape}": (state, shape)
    for state in (STRESS, STRAIN, AXISYMMETRIC)
    for shape in SHAPES
}
SHELLS = ", or read its beams and shells with structural=True"
SHOWN = 5  # number of elements that a message lists


@dataclass(frozen=True, eq=False)
class RawMesh:
    """Raw content of a mesh file: all points, elements by type, sets as point indices.

    notices: omitted content; declared: declarations of its beams, shells and connections; units:
    those that the file states; axis: of axisymmetric elements, which are in the plane of x and it.
    """

    points: Array
    node_ids: Indices
    connectivity: dict[str, Indices]
    element_ids: dict[str, Indices]
    node_sets: dict[str, Indices] = field(default_factory=dict)
    element_sets: dict[str, Indices] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    declared: FileDeclarations = field(default_factory=FileDeclarations)
    units: Units | None = None
    axis: Literal["y", "z"] = "y"


@dataclass(frozen=True, eq=False)
class Cells:
    """Successive cells of one type: rows of point indices, numbers, names of their sets."""

    type: str
    rows: Indices
    ids: Indices
    names: tuple[str, ...]


def node_rows(
    path: Path,
    node_ids: Indices,
    numbers: ArrayLike,
    elements: Sequence[int] | Indices,
    kind: str = "",
) -> Indices:
    """Rows of the nodes with the given numbers (ne, nn) of elements.

    Raises InputError naming elements and the missing nodes.
    """
    order = np.argsort(node_ids, kind="stable")
    wanted = np.array(numbers, dtype=np.int64)
    rows = order[np.minimum(np.searchsorted(node_ids, wanted, sorter=order), len(order) - 1)]
    missing = np.argwhere(node_ids[rows] != wanted)
    if len(missing):
        what = f" ({kind})" if kind else ""
        raise InputError(
            *(
                f"{path}: element {elements[row]}{what} refers to node {wanted[row, k]}, "
                "which does not exist; complete the nodes"
                for row, k in missing[:SHOWN]
            )
        )
    return rows


def raw_mesh_of(
    path: Path,
    points: Array,
    node_ids: Indices,
    cells: Iterable[Cells],
    node_sets: dict[str, Indices],
    structural: bool = False,
    *,
    points_alone: bool = False,
) -> RawMesh:
    """Raw mesh of cells: solid cells joined by type.

    Lower-dimensional cells become node sets, or ``structural`` elements; they are rejected if they
    are not on a solid. points_alone: accept masses and connections without any element.
    """
    cells = [block for block in cells if len(block.rows)]
    planes = {name: name for name in PLANES}
    kept = {**SOLIDS, **STRUCTURES, **planes} if structural else SOLIDS
    _check_types(path, cells, structural)
    solid = [block for block in cells if block.type in kept]
    if not solid and not points_alone:
        what = _counts(_numbers_of_types(cells)) or "nothing"
        raise InputError(
            f"{path}: has no solid elements (found {what}); mesh the volume with "
            f"{', '.join(ELEMENTS)}{SHELLS}"
        )
    _check_planes(path, solid)
    on_solid = np.zeros(len(points) + 1, dtype=bool)
    for block in solid:
        on_solid[np.clip(block.rows, -1, len(points))] = True
    _check_skin(path, cells, on_solid)
    ids = [block.ids for block in solid]
    _check_unique_numbers(path, np.concatenate([np.zeros(0, np.int64), *ids]))
    by_type: dict[str, list[Indices]] = defaultdict(list)
    numbers: dict[str, list[Indices]] = defaultdict(list)
    sets: dict[str, list[Indices]] = defaultdict(list)
    groups: dict[str, list[Indices]] = defaultdict(list)
    for block in cells:
        if block.type in kept:
            by_type[kept[block.type]].append(block.rows)
            numbers[kept[block.type]].append(block.ids)
        for name in block.names:
            if block.type in kept:
                groups[name].append(block.ids)
            if block.type not in SOLIDS and block.type not in PLANES:
                sets[name].append(block.rows.ravel())
    return RawMesh(
        points=_three_columns(path, points),
        node_ids=np.asarray(node_ids, dtype=np.int64),
        connectivity={name: np.concatenate(tables) for name, tables in by_type.items()},
        element_ids={name: np.concatenate(ids) for name, ids in numbers.items()},
        node_sets={
            **node_sets,
            **{name: np.unique(np.concatenate(rows)) for name, rows in sets.items()},
        },
        element_sets={name: np.concatenate(ids) for name, ids in groups.items()},
    )


def _numbers_of_types(cells: Iterable[Cells]) -> Counter[str]:
    """Number of cells of each type."""
    found: Counter[str] = Counter()
    for block in cells:
        found[block.type] += len(block.rows)
    return found


def _check_types(path: Path, cells: Iterable[Cells], structural: bool) -> None:
    """Raise InputError naming the cells that are not supported."""
    known = {*SOLIDS, *LOWER, *((*STRUCTURES, *PLANES) if structural else ())}
    if structural:
        known -= {
            name for name, dimension in LOWER.items() if dimension > 0 and name not in STRUCTURES
        }
    found = _numbers_of_types(cells)
    unknown = {name: count for name, count in found.items() if name not in known}
    if unknown:
        remedy = (
            f"use {', '.join(STRUCTURES)} cells"
            if structural and set(unknown) <= set(LOWER)
            else f"remesh with {', '.join(ELEMENTS)}"
        )
        raise InputError(f"{path}: {_counts(unknown)} are not supported; {remedy}")


def _check_planes(path: Path, cells: Iterable[Cells]) -> None:
    """Raise InputError for plane or axisymmetric elements together with any others."""
    found = _numbers_of_types(cells)
    planes = {name: count for name, count in found.items() if name in PLANES}
    swept = {PLANES[name][0] == AXISYMMETRIC for name in planes}
    if planes and (len(planes) < len(found) or len(swept) > 1):
        raise InputError(
            f"{path}: {_counts(found)} are in one file; plane elements are extruded and "
            "axisymmetric ones revolved, each without others: remove one kind"
        )


def _check_unique_numbers(path: Path, ids: Indices) -> None:
    """Raise InputError for duplicate element numbers."""
    values, counts = np.unique(ids, return_counts=True)
    if len(values) < len(ids):
        raise InputError(
            f"{path}: element number {values[counts > 1][0]} occurs twice; number the "
            "elements uniquely"
        )


def _check_skin(path: Path, cells: Iterable[Cells], on_solid: NDArray[np.bool_]) -> None:
    """Raise InputError for shells and beams that are not the skin of the solid."""
    loose: Counter[str] = Counter()
    for block in cells:
        if LOWER.get(block.type, 0) > 0:
            loose[block.type] += int(
                (~on_solid[np.clip(block.rows, -1, len(on_solid) - 1)].all(axis=1)).sum()
            )
    loose += Counter()
    if loose:
        raise InputError(
            f"{path}: {_counts(loose)} are not on a solid element; export without shells "
            f"and beams{SHELLS}"
        )


def _three_columns(path: Path, points: Array) -> Array:
    """Points with three coordinates. Raises `InputError`."""
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3:
        raise InputError(f"{path}: nodes have {points.shape[-1]} coordinates; a solid mesh has 3")
    return points


def _counts(found: Counter[str] | dict[str, int]) -> str:
    """ "12 wedge and 3 pyramid elements"."""
    names = [f"{n} {kind}" for kind, n in sorted(found.items())]
    return " and ".join(names) + (" elements" if names else "")
