"""Moving bodies as a VTKHDF file with its time series, for ParaView and PyVista.

Source: VTK File Formats, VTKHDF 2.0, unstructured grid with steps.

"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import h5py
import numpy as np

from flexmbs.exports.moving_surfaces import MovingSurface, chosen_outputs, moving_surfaces
from flexmbs.files.file_types import check_ending
from flexmbs.files.hdf5 import write_atomically
from flexmbs.player.solids import Solid

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

TRIANGLE = 5  # VTK cell type


def write_vtkhdf(
    solution: SolutionData,
    path: str | os.PathLike[str],
    *,
    instants: int | None = None,
    times: Iterable[float] = (),
    solids: Sequence[Solid] = (),
) -> None:
    """Write the surfaces of all bodies in world axes as a VTKHDF file.

    At ``instants`` equally spaced outputs (all: None), or at ``times`` (s).

    Point data: ``elastic displacement`` [m] in world axes, and ``von Mises stress`` [Pa] for bodies
    with stress modes (NaN elsewhere); cell data: ``body``, an index into the attribute ``bodies``
    of the group ``flexmbs``. ``solids``: shapes of bodies. Raises `InputError`, `MachineError`.

    """
    check_ending(path, ".vtkhdf", ".hdf", ".h5")
    surfaces = moving_surfaces(solution, solids)
    pick = chosen_outputs(solution.t, instants, times)

    def fill(file: h5py.File) -> None:
        """Write cells, time steps and body names into an open file."""
        group = file.create_group("VTKHDF")
        group.attrs["Version"] = np.array([2, 0])
        group.attrs.create("Type", np.bytes_("UnstructuredGrid"), dtype="S16")
        _write_cells(group, surfaces)
        _write_steps(group, surfaces, pick, solution.t[pick])
        names = [surface.name.encode() for surface in surfaces]
        file.create_group("flexmbs").attrs["bodies"] = np.array(names, dtype="S")

    write_atomically(path, fill, checksums=False)


def _write_cells(group: h5py.Group, surfaces: list[MovingSurface]) -> None:
    """Write the triangles, which are the same at all times."""
    starts = np.cumsum([0, *(len(each.points) for each in surfaces)])
    triangles = np.concatenate([each.triangles + start for each, start in zip(surfaces, starts)])
    sizes = {
        "NumberOfPoints": starts[-1],
        "NumberOfCells": len(triangles),
        "NumberOfConnectivityIds": triangles.size,
    }
    for name, size in sizes.items():
        group[name] = np.array([size], np.int64)
    group["Connectivity"] = triangles.ravel().astype(np.int64)
    group["Offsets"] = 3 * np.arange(len(triangles) + 1, dtype=np.int64)
    group["Types"] = np.full(len(triangles), TRIANGLE, np.uint8)
    group.create_group("CellData")["body"] = np.repeat(
        np.arange(len(surfaces)), [len(each.triangles) for each in surfaces]
    )


def _write_steps(
    group: h5py.Group, surfaces: list[MovingSurface], pick: np.ndarray, t: np.ndarray
) -> None:
    """Write the concatenated points and fields of all instants, and the offset of each instant."""
    n, count = len(pick), sum(len(each.points) for each in surfaces)
    points = group.create_dataset("Points", (n * count, 3), "f8")
    fields = group.create_group("PointData")
    displacement = fields.create_dataset("elastic displacement", (n * count, 3), "f4")
    stressed = any(each.stress is not None for each in surfaces)
    stress = fields.create_dataset("von Mises stress", (n * count,), "f4") if stressed else None
    for k, i in enumerate(pick):
        place = slice(k * count, (k + 1) * count)
        points[place] = np.concatenate([each.at(i) for each in surfaces])
        moved = [
            each.displacement(i) @ (np.eye(3) if each.motion is None else each.motion.rotation[i].T)
            for each in surfaces
        ]
        displacement[place] = np.concatenate(moved)
        if stress is not None:
            stress[place] = np.concatenate([each.von_mises(i) for each in surfaces])
    steps = group.create_group("Steps")
    steps.attrs["NSteps"] = n
    steps["Values"] = t
    still, moving = np.zeros(n, np.int64), count * np.arange(n, dtype=np.int64)
    steps["PartOffsets"], steps["NumberOfParts"], steps["PointOffsets"] = (
        still,
        np.ones(n, np.int64),
        moving,
    )
    steps["CellOffsets"], steps["ConnectivityIdOffsets"] = still[:, None], still[:, None]
    steps["CellDataOffsets/body"] = still
    for name in fields:
        steps[f"PointDataOffsets/{name}"] = moving
