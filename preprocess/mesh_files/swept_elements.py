"""Solids between two positions of plane elements: the nodes of each, and their positions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh_files.raw_mesh import SOLIDS, RawMesh

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Nodes of the solid that a triangle or quadrilateral with some first corners on the axis becomes:
# node of the plane element, and step: 0 at the first position, 1 between, 2 at the next one. The
# type as meshio names it, and nodes of the first, then those of second order.
Pattern = tuple[tuple[str, str], str, str]
PATTERNS: dict[tuple[int, int], Pattern] = {
    (3, 0): (
        ("wedge", "wedge15"),
        "00 10 20 02 12 22",
        "30 40 50 32 42 52 01 11 21",
    ),
    (4, 0): (
        ("hexahedron", "hexahedron20"),
        "00 10 20 30 02 12 22 32",
        "40 50 60 70 42 52 62 72 01 11 21 31",
    ),
    (3, 1): (("pyramid", "pyramid13"), "10 12 22 20 00", "11 42 21 40 30 32 52 50"),
    (3, 2): (("tetra", "tetra10"), "00 10 20 22", "30 40 50 52 42 21"),
    (4, 2): (("wedge", "wedge15"), "00 30 32 10 20 22", "70 31 72 50 21 52 40 60 62"),
}


class PlaneCells(NamedTuple):
    """Plane elements of one type: nodes (ne, nn), numbers (ne,).

    child: 1 for second parts of elements that were divided.
    """

    table: Indices
    ids: Indices
    child: int = 0

    @property
    def corners(self) -> int:
        """Number of corners."""
        return 3 if self.table.shape[1] in (3, 6) else 4


class SweptPart(NamedTuple):
    """Solids of one type: keys of their nodes (n, nn), plane element (n,) and its copy (n,)."""

    kind: str
    keys: Indices
    parents: Indices
    copies: Indices


@dataclass(frozen=True)
class Sweep:
    """Positions of swept nodes.

    count: of half steps; a key is row · count + half step. fixed (N,): True for nodes on the axis,
    which have one position. place: positions of rows (n, 3) at half steps (n,).
    """

    count: int
    fixed: NDArray[np.bool_]
    place: Callable[[Array, Indices], Array]

    def key(self, rows: Indices, half: Indices) -> Indices:
        """Keys of nodes at half steps."""
        return np.asarray(rows * self.count + np.where(self.fixed[rows], 0, half % self.count))


def rolled(table: Indices, fixed: NDArray[np.bool_], corners: int) -> Indices:
    """Plane elements whose first corners are those on the axis; others are unchanged."""
    on = fixed[table[:, :corners]]
    start = np.argmax(on & ~np.roll(on, 1, axis=1), axis=1)
    order = (start[:, None] + np.arange(corners)) % corners
    if table.shape[1] > corners:
        order = np.hstack([order, order + corners])
    return np.take_along_axis(table, order, axis=1)


def swept_parts(
    path: Path, sweep: Sweep, cells: PlaneCells, half: Indices, copies: Indices
) -> list[SweptPart]:
    """Solids of plane elements between each of the half steps (k,) and the next but one."""
    table, corners = cells.table, cells.corners
    on = sweep.fixed[table[:, :corners]]
    count, beside = on.sum(axis=1), (on & np.roll(on, 1, axis=1)).any(axis=1)
    wrong = ~(
        (count == 0)
        | ((count == 1) & (corners == 3))
        | ((count == 2) & beside & _straight(sweep.fixed, table, corners))
    )
    if wrong.any():
        raise InputError(
            f"{path}: axisymmetric element {cells.ids[wrong][0]} has {count[wrong][0]} corners on "
            "the axis that are not those of one straight edge; remesh there"
        )
    found = []
    for n in np.unique(count).tolist():
        kinds, first, second = PATTERNS[corners, n]
        own = rolled(table[count == n], sweep.fixed, corners)
        higher = table.shape[1] > corners
        pattern = np.array([[int(each[0]), int(each[1])] for each in first.split()])
        if higher:
            more = np.array([[int(each[0]), int(each[1])] for each in second.split()])
            pattern = np.concatenate([pattern, more])
        nodes, steps = pattern.T
        keys = sweep.key(own[:, nodes], half[:, None, None] + steps)
        ids = cells.ids[count == n]
        found.append(
            SweptPart(
                kinds[int(higher)],
                keys.reshape(-1, len(nodes)),
                np.tile(ids, len(half)),
                np.repeat(copies, len(ids)),
            )
        )
    return found


def _straight(fixed: NDArray[np.bool_], table: Indices, corners: int) -> NDArray[np.bool_]:
    """True for elements (ne,) whose edges between corners on the axis are on it."""
    middle = fixed[table[:, corners:]]
    on = fixed[table[:, :corners]]
    ends = on & np.roll(on, -1, axis=1)
    return np.asarray((middle | ~ends[:, : middle.shape[1]]).all(axis=1))


def swept_solids(raw: RawMesh, points: Array, sweep: Sweep, parts: Sequence[SweptPart]) -> RawMesh:
    """Mesh of swept nodes and solids; nodes without a plane element stay as they are.

    points: those of the mesh and behind them new ones.
    """
    keys = np.unique(np.concatenate([each.keys.ravel() for each in parts]))
    row = keys // sweep.count
    first = np.searchsorted(row, row)  # of the nodes of the same row
    loose = np.setdiff1d(np.arange(len(raw.points)), row)
    number = np.concatenate(
        [raw.node_ids, raw.node_ids.max() + 1 + np.arange(len(points) - len(raw.points))]
    )
    up, up_e = (
        10 ** len(str(int(each.max())))
        for each in (number, np.concatenate([each.parents for each in parts]))
    )
    old = np.concatenate([row, loose])
    blocks: dict[str, list[Indices]] = defaultdict(list)
    ids: dict[str, list[Indices]] = defaultdict(list)
    for each in parts:
        if len(each.keys):
            blocks[SOLIDS[each.kind]].append(np.searchsorted(keys, each.keys))
            ids[SOLIDS[each.kind]].append(each.parents + each.copies * up_e)
    parents = np.concatenate([each.parents for each in parts])
    numbers = np.concatenate([each.parents + each.copies * up_e for each in parts])
    return replace(
        raw,
        points=np.concatenate([sweep.place(points[row], keys % sweep.count), raw.points[loose]]),
        node_ids=np.concatenate([number[row] + (np.arange(len(row)) - first) * up, number[loose]]),
        connectivity={name: np.concatenate(tables) for name, tables in blocks.items()},
        element_ids={name: np.concatenate(each) for name, each in ids.items()},
        node_sets={
            name: np.flatnonzero(np.isin(old, members)) for name, members in raw.node_sets.items()
        },
        element_sets={
            name: np.sort(numbers[np.isin(parents, members)])
            for name, members in raw.element_sets.items()
        },
    )
