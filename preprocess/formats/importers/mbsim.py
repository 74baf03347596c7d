"""Importer of flexible bodies of MBSim (.h5).

The file holds elementary shape integrals, modal matrices and nodal shapes.

Datasets at the root: "mass", "position integral" (3), "position position integral" (3, 3), "shape
function integral" (3, n), "position shape function integral" (9, n), "shape function shape function
integral" (6n, n; xx xy xz yy yz zz), "stiffness matrix", "damping matrix"; of the nodes "node
numbers", "nodal relative position" (3N), "nodal shape matrix of translation" and "… of rotation"
(3N, n), "openmbv indices" (faces, each closed by −1).

Source: MBSim, module mbsimFlexibleBody, class ExternalFlexibleFfrBody.
"""

from __future__ import annotations

import h5py
import numpy as np

from flexmbs.errors import InputError
from flexmbs.files.hdf5 import MAX_BYTES, read_whole
from flexmbs.flexible_body.components import FloatArray, IntArray, Surface
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.body.shape_integrals import ShapeIntegrals
from preprocess.formats.importers.base import Importer, ImportReport, ImportRequest
from preprocess.formats.importers.raw_body import BodyNodes, RawBody, checked_body

# number of modes; guards against allocating memory for damaged files: the products of shapes have 6
# n² numbers, 0.8 GB at this number
MAX_MODES = 4096
_NO_TRIANGLES = np.zeros((0, 3), dtype=np.int64)


class MBSimImporter(Importer):
    """Flexible-body file of MBSim."""

    kind = "mbsim"
    suffixes = (".h5", ".hdf5")

    def read(self, request: ImportRequest, report: ImportReport) -> FlexibleBodyData:
        """Flexible body from an HDF5 file of MBSim."""
        arrays = read_whole(request.path, _arrays, "MBSim's flexible body tool")
        return checked_body(_raw(arrays, request, report), request, report)


def _arrays(file: h5py.File) -> dict[str, FloatArray]:
    """Known datasets at the root, checked before they are read."""
    found = {}
    for name in (*_REQUIRED, *_OPTIONAL):
        link = file.get(name, getlink=True)
        if link is None:
            continue
        if not isinstance(link, h5py.HardLink):
            raise InputError(f"{name}: is a soft or external link; write the file without links")
        item = file[name]
        if not isinstance(item, h5py.Dataset) or item.dtype.kind not in "fiu":
            raise InputError(f"{name}: is not an array of numbers")
        if item.is_virtual or item.external:
            raise InputError(f"{name}: is stored in another file; write it into this one")
        if item.size * 8 > min(MAX_BYTES, 1000 * max(item.id.get_storage_size(), 1)):
            raise InputError(
                f"{name}: claims {item.size} numbers and has {item.id.get_storage_size()} bytes"
            )
        found[name] = np.asarray(item[()], dtype=np.float64)
    missing = [name for name in _REQUIRED if name not in found]
    if missing:
        raise InputError(f"has no dataset {missing[0]!r}; it is not a flexible body of MBSim")
    return found


_REQUIRED = (
    "mass",
    "position integral",
    "position position integral",
    "shape function integral",
    "position shape function integral",
    "shape function shape function integral",
    "stiffness matrix",
)
_OPTIONAL = (
    "damping matrix",
    "node numbers",
    "nodal relative position",
    "nodal shape matrix of translation",
    "nodal shape matrix of rotation",
    "openmbv indices",
)


def _raw(arrays: dict[str, FloatArray], request: ImportRequest, report: ImportReport) -> RawBody:
    """Unchecked body from the arrays of the file. Raises `InputError`."""
    K = arrays["stiffness matrix"]
    n = K.shape[0] if K.ndim == 2 else -1
    if not 0 <= n <= MAX_MODES:
        raise InputError(
            f"{request.path}: stiffness matrix has shape {K.shape}; at most {MAX_MODES} "
            "modes are supported"
        )
    products = _shaped(arrays, request, "shape function shape function integral", 6 * n, n).reshape(
        6, n, n
    )
    SS = np.zeros((3, 3, n, n))
    for block, (a, b) in zip(products, ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        SS[a, b], SS[b, a] = block, block.T
    nodes = _nodes(arrays, n, request, report)
    integrals = ShapeIntegrals(
        mass=float(_shaped(arrays, request, "mass").ravel()[0]),
        first_moment=_shaped(arrays, request, "position integral", 3),
        second_moment=_shaped(arrays, request, "position position integral", 3, 3),
        S_bar=_shaped(arrays, request, "shape function integral", 3, n),
        xS=_shaped(arrays, request, "position shape function integral", 9, n).reshape(3, 3, n),
        SS=SS,
    )
    return RawBody(
        name=request.path.stem or "body",
        integrals=integrals,
        K_ff=_shaped(arrays, request, "stiffness matrix", n, n),
        D_ff=_shaped(arrays, request, "damping matrix", n, n)
        if "damping matrix" in arrays
        else np.zeros((n, n)),
        frames=nodes.frames(nodes.wanted(request.frames, report)) if nodes is not None else {},
        surface=_surface(arrays, nodes, report),
    )


def _shaped(
    arrays: dict[str, FloatArray], request: ImportRequest, name: str, *shape: int
) -> FloatArray:
    """Array of a dataset. Raises InputError if its shape differs."""
    array = arrays[name]
    if array.size != int(np.prod(shape, dtype=np.int64)) or (
        len(shape) == 2 and array.shape != shape
    ):
        raise InputError(f"{request.path}: {name} has shape {array.shape}; it must be {shape}")
    return array.reshape(shape)


def _nodes(
    arrays: dict[str, FloatArray], n: int, request: ImportRequest, report: ImportReport
) -> BodyNodes | None:
    """Nodes with positions and shapes; None if the file has no nodal shapes."""
    if "nodal relative position" not in arrays or "nodal shape matrix of translation" not in arrays:
        report.check(not request.frames, "no nodal shapes: the body has no frames")
        return None
    count = arrays["nodal relative position"].size // 3
    ids = (
        arrays["node numbers"].ravel() if "node numbers" in arrays else np.arange(1.0, count + 1.0)
    )
    if ids.size != count or not np.array_equal(ids, np.rint(ids)):
        raise InputError(
            f"{request.path}: node numbers are {ids.size} for {count} nodes, or not integers"
        )
    phi = _shaped(arrays, request, "nodal shape matrix of translation", 3 * count, n).reshape(
        count, 3, n
    )
    rotations = "nodal shape matrix of rotation"
    psi = (
        _shaped(arrays, request, rotations, 3 * count, n).reshape(count, 3, n)
        if rotations in arrays
        else np.zeros_like(phi)
    )
    report.check(
        rotations in arrays,
        "nodes have rotation shapes"
        if rotations in arrays
        else "nodes have no rotation shapes: frames do not rotate",
    )
    return BodyNodes(
        ids.astype(np.int64),
        _shaped(arrays, request, "nodal relative position", 3 * count).reshape(count, 3),
        phi,
        psi,
    )


def _surface(
    arrays: dict[str, FloatArray], nodes: BodyNodes | None, report: ImportReport
) -> Surface | None:
    """Nodes and faces of "openmbv indices", polygons closed by −1, split into triangles."""
    if nodes is None:
        return None
    indices = arrays.get("openmbv indices", np.zeros(0)).ravel()
    if indices.size and not (np.abs(indices) < 2**53).all():
        raise InputError(f"{report.source}: openmbv indices are not node indices")
    triangles = _triangles(indices.astype(np.int64))
    if triangles.size and (triangles.min() < 0 or triangles.max() >= len(nodes.ids)):
        raise InputError(
            f"{report.source}: openmbv indices refer to node indices outside "
            f"0..{len(nodes.ids) - 1}"
        )
    return Surface(nodes.positions, nodes.phi, triangles, nodes.ids)


def _triangles(indices: IntArray) -> IntArray:
    """Triangles of polygons whose indices end with −1."""
    ends = np.flatnonzero(indices == -1)
    faces = [face[face != -1] for face in np.split(indices, ends)] if indices.size else []
    fans = [[face[0], face[k], face[k + 1]] for face in faces for k in range(1, len(face) - 1)]
    return np.array(fans, dtype=np.int64).reshape(-1, 3) if fans else _NO_TRIANGLES
