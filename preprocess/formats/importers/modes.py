"""Mode shapes of result files, as shapes of a basis: Nastran's OP2, CalculiX's .frd."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.files.inputs import check_regular
from flexmbs.files.paths import file_path
from flexmbs.flexible_body.components import FloatArray
from preprocess.formats.importers.base import ImportRequest
from preprocess.formats.importers.frd import read_frd
from preprocess.formats.importers.labelled import Indices
from preprocess.formats.importers.nastran import BULK
from preprocess.formats.importers.pynastran import read_op2
from preprocess.inputs.argument_checks import checked_arguments, instance
from preprocess.mesh.mesh import Mesh
from preprocess.mesh_files.nastran import NastranPoints, read_points

NORMAL_MODES = 2  # analysis code of OP2 tables; others are buckling, complex modes, …


class NodalModes(NamedTuple):
    """Modes at the nodes of a mesh.

    Frequencies (n,) in cycles per unit of time of the file; shapes (N, 3, n) in mesh axes, of any
    length.
    """

    frequency: FloatArray
    shapes: FloatArray


@checked_arguments
def read_modes(path: str | Path, mesh: Mesh, *, deck: str | Path | None = None) -> NodalModes:
    """Displacements of the real modes in a result file, in the node order of a mesh.

    path: .op2 of Nastran (extra ``nastran``) or .frd of CalculiX. mesh: of the same job, with its
    node numbers. deck: bulk data with the displacement systems (CD) of the grids of an OP2 file, by
    default of the same name. Rotations are omitted. Raises InputError for a file without such
    modes, and if a node of the mesh has none; MachineError if pyNastran is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> import preprocess as pp
    >>> cube = pp.box_mesh((1, 1, 1), (1, 1, 1), "hex8")
    >>> rows = "".join(
    ...     f" -1{n:10d}" + "".join(f"{v:12.5E}" for v in x) + "\\n"
    ...     for n, x in zip(cube.node_ids, cube.nodes)
    ... )  # of nodes, and of displacements u = x
    >>> head = f"    1C\\n    2C{8:30d}{1:38d}\\n{rows} -3\\n  100CL  101 7.50000E+01           8"
    >>> text = f"{head}{2:22d}    1MODAL      1\\n -4  DISP        4    1\\n{rows} -3\\n 9999\\n"
    >>> _ = Path("cube.frd").write_text(text)
    >>> modes = pp.read_modes("cube.frd", cube)
    >>> modes.frequency.tolist(), bool((modes.shapes[:, :, 0] == cube.nodes).all())
    ([75.0], True)
    """
    source = file_path(path, "path")
    instance(mesh, Mesh, "mesh", "a Mesh, as of read_mesh")
    check_regular(source)
    if source.suffix.lower() == ".frd":
        frd = read_frd(source)
        found = [(mode.frequency, frd.ids, mode.displacement) for mode in frd.modes]
    elif source.suffix.lower() == ".op2":
        given = None if deck is None else file_path(deck, "deck")
        points = read_points(ImportRequest(source).companion(given, *BULK))
        found = _op2_modes(source, points)
    else:
        raise InputError(f"{source}: modes are read from .op2 and .frd files")
    if not found:
        raise InputError(f"{source}: has no modes; request the displacements of normal modes")
    shapes = [_at_nodes(source, mesh, ids, values) for _, ids, values in found]
    return NodalModes(np.array([f for f, _, _ in found]), np.stack(shapes, axis=2))


def _op2_modes(path: Path, points: NastranPoints) -> list[tuple[float, Indices, FloatArray]]:
    """Frequency, grids and displacements (N, 3) in the basic system of each normal mode."""
    tables = [
        table
        for table in read_op2(path).eigenvectors.values()
        if table.analysis_code == NORMAL_MODES
    ]
    if len(tables) > 1:
        raise InputError(
            f"{path}: has normal modes of {len(tables)} subcases or superelements; write one"
        )
    modes: list[tuple[float, Indices, FloatArray]] = []
    for table in tables:
        ids = np.asarray(table.node_gridtype[:, 0], dtype=np.int64)
        turns = _turns(ids, points)
        for eigenvalue, values in zip(np.asarray(table.eigns, dtype=float), table.data):
            frequency = float(np.sqrt(max(eigenvalue, 0.0)) / (2.0 * np.pi))
            shape = np.asarray(values[:, :3], dtype=float)
            modes.append((frequency, ids, np.einsum("nab,nb->na", turns, shape)))
    return modes


def _turns(ids: Indices, points: NastranPoints) -> FloatArray:
    """Displacement axes (N, 3, 3) of grids, as columns in the basic system."""
    return np.array([points.axes.get(int(node), _BASIC) for node in ids])


_BASIC = np.eye(3)


def _at_nodes(path: Path, mesh: Mesh, ids: Indices, values: Any) -> FloatArray:
    """Values (N, 3) at the nodes of the mesh. Raises `InputError` for missing or invalid ones."""
    row = {int(node): k for k, node in enumerate(ids)}
    missing = [int(node) for node in mesh.node_ids if int(node) not in row]
    if missing:
        raise InputError(
            f"{path}: has no displacement of node {missing[0]} of the mesh ({len(missing)} "
            "missing); request all nodes, and give the mesh of the same job"
        )
    found = np.asarray(values, dtype=float)[[row[int(node)] for node in mesh.node_ids]]
    if not np.isfinite(found).all():
        raise InputError(f"{path}: has displacements that are not finite; run the job again")
    return found
