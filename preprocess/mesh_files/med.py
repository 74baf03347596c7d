"""Reader of MED files (Salome, Code_Aster).

One mesh, its elements, and groups of nodes and elements by name:

    /ENS_MAA/<mesh>/[<step>/]NOE/COO, FAM, NUM     x of all nodes, then y, then z; family and number of each
    /ENS_MAA/<mesh>/[<step>/]MAI/<type>/NOD, …     first nodes of all elements, then the second ones, …; from 1
    /FAS/<mesh>/NOEUD|ELEME/<family>/GRO/NOM       names of the groups that a family belongs to, 80 bytes each

Source: MED 4 user's guide, section "Structure of the HDF5 file"; Salome, MEDCoupling documentation,
"MED file format".
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.files.hdf5 import read_whole
from preprocess.elements import ELEMENTS
from preprocess.mesh_files.raw_mesh import Cells, RawMesh, raw_mesh_of

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# meshio's name and number of nodes; other types are rejected.
TYPES = {
    "PO1": ("vertex", 1),
    "SE2": ("line", 2),
    "SE3": ("line3", 3),
    "TR3": ("triangle", 3),
    "TR6": ("triangle6", 6),
    "QU4": ("quad", 4),
    "QU8": ("quad8", 8),
    "TE4": ("tetra", 4),
    "T10": ("tetra10", 10),
    "HE8": ("hexahedron", 8),
    "H20": ("hexahedron20", 20),
    "PE6": ("wedge", 6),
    "P15": ("wedge15", 15),
    "PY5": ("pyramid", 5),
    "P13": ("pyramid13", 13),
}


@dataclass(frozen=True, eq=False)
class MedCells:
    """Elements of one type: rows of node indices, numbers, family of each."""

    type: str
    rows: Indices
    ids: Indices
    families: Indices


@dataclass(frozen=True, eq=False)
class MedMesh:
    """Content of the file; groups: names of the groups by family, of nodes and of elements."""

    points: Array
    node_ids: Indices
    node_families: Indices
    cells: tuple[MedCells, ...]
    node_groups: dict[int, tuple[str, ...]]
    element_groups: dict[int, tuple[str, ...]]


def read_med(path: Path, structural: bool = False) -> RawMesh:
    """Raw mesh of a MED file; groups become sets.

    Its volumes have the opposite node order: element types that are inverted throughout are
    reoriented.
    """
    mesh = read_whole(path, _read, "Salome or Code_Aster")
    cells = []
    for block in mesh.cells:
        wrong = np.argwhere((block.rows < 0) | (block.rows >= len(mesh.points)))
        if len(wrong):
            row, column = wrong[0]
            node = block.rows[row, column] + 1
            raise InputError(
                f"{path}: element {block.ids[row]} ({block.type}) refers to node {node}, "
                "which does not exist"
            )
        for family in np.unique(block.families):
            rows = np.flatnonzero(block.families == family)
            names = mesh.element_groups.get(int(family), ())
            cells.append(Cells(block.type, block.rows[rows], block.ids[rows], names))
    sets: dict[str, Indices] = {}
    for family, names in mesh.node_groups.items():
        for name in names:
            sets[name] = np.union1d(
                sets.get(name, np.zeros(0, np.int64)), np.flatnonzero(mesh.node_families == family)
            )
    raw = raw_mesh_of(path, mesh.points, mesh.node_ids, cells, sets, structural)
    return replace(
        raw,
        connectivity={
            name: _reoriented(raw.points, name, table) for name, table in raw.connectivity.items()
        },
    )


def _reoriented(points: Array, name: str, table: Indices) -> Indices:
    """Connectivity of solids, reoriented where every element is inverted."""
    element = ELEMENTS.get(name)
    if element is None:
        return table
    inverted = element.jacobian_determinants(points[table], element.centre[None]).max() < 0
    return table[:, element.mirrored] if inverted else table


def _read(file: h5py.File) -> MedMesh:
    """Nodes, elements and groups of the only mesh in a file. Raises `InputError`."""
    meshes = _group(file, "ENS_MAA")
    names = list(meshes)
    if len(names) != 1:
        raise InputError(f"has {len(names)} meshes ({', '.join(names[:5])}); export a single mesh")
    mesh = _group(meshes, names[0])
    if "NOE" not in mesh:
        steps = list(mesh)
        mesh = _group(mesh, steps[0]) if steps else mesh
    nodes = _group(mesh, "NOE")
    coordinates = _numbers(nodes, "COO", "f")
    dimension = int(np.asarray(meshes[names[0]].attrs.get("ESP", 3)).ravel()[0])
    if dimension != 3 or coordinates.size % 3:
        raise InputError(
            f"nodes have {dimension} coordinates, {coordinates.size} numbers; a solid mesh has 3"
        )
    count = coordinates.size // 3
    families = (
        _group(_group(file, "FAS"), names[0]) if "FAS" in file and names[0] in file["FAS"] else None
    )
    return MedMesh(
        points=coordinates.reshape(3, count).T.astype(float),
        node_ids=_optional(nodes, "NUM", np.arange(1, count + 1)),
        node_families=_optional(nodes, "FAM", np.zeros(count, dtype=np.int64)),
        cells=tuple(_cells(_group(mesh, "MAI")) if "MAI" in mesh else ()),
        node_groups=_names(families, "NOEUD"),
        element_groups=_names(families, "ELEME"),
    )


def _cells(group: h5py.Group) -> Iterator[MedCells]:
    """Elements of each type, numbered consecutively if the file has no or ambiguous numbers."""
    found = []
    for name in group:
        part = _group(group, name)
        if name not in TYPES:
            raise InputError(
                f"elements of type {name} are not supported; remesh with TE4, T10, HE8, "
                "H20, PE6 or P15"
            )
        kind, size = TYPES[name]
        table = _numbers(part, "NOD", "i").astype(np.int64) - 1
        if table.size % size:
            raise InputError(f"{part.name}/NOD has {table.size} entries, not a multiple of {size}")
        count = table.size // size
        found.append(
            (
                kind,
                table.reshape(size, count).T,
                _optional(part, "NUM", None),
                _optional(part, "FAM", np.zeros(count, int)),
            )
        )
    numbers = [ids for _, _, ids, _ in found if ids is not None]
    given = (
        len(numbers) == len(found)
        and len(np.unique(np.concatenate(numbers))) == sum(map(len, numbers))
        if found
        else False
    )
    first = 1
    for kind, rows, ids, families in found:
        yield MedCells(kind, rows, ids if given else np.arange(first, first + len(rows)), families)
        first += len(rows)


def _names(families: h5py.Group | None, kind: str) -> dict[int, tuple[str, ...]]:
    """Names of the groups of each family of nodes or elements."""
    result: dict[int, tuple[str, ...]] = {}
    if families is None or kind not in families:
        return result
    for family in _group(families, kind):
        part = _group(_group(families, kind), family)
        if "GRO" not in part:
            continue
        text = _numbers(_group(part, "GRO"), "NOM", "iuS")
        lines = (
            text.reshape(len(text), -1).astype(np.uint8)
            if text.dtype.kind in "iu"
            else text.ravel()
        )
        names = tuple(
            bytes(line).split(b"\0")[0].decode("utf-8", errors="replace").strip() for line in lines
        )
        result[int(np.asarray(part.attrs["NUM"]).ravel()[0])] = names
    return result


def _optional(group: h5py.Group, name: str, default: Indices | None) -> Indices:
    """Integers of a dataset, or the default, with the size of the default."""
    if name not in group:
        return default  # type: ignore[return-value]
    values = _numbers(group, name, "i").astype(np.int64).ravel()
    if default is not None and len(values) != len(default):
        raise InputError(f"{group.name}/{name} has {len(values)} entries for {len(default)} items")
    return values


def _group(parent: h5py.Group, name: str) -> h5py.Group:
    """Group in the file itself, not a link. Raises InputError."""
    if name not in parent or not isinstance(parent.get(name, getlink=True), h5py.HardLink):
        raise InputError(f"{parent.name} has no own group {name}; expected a MED file")
    item = parent[name]
    if not isinstance(item, h5py.Group):
        raise InputError(f"{item.name} is not a group; expected a MED file")
    return item


def _numbers(group: h5py.Group, name: str, kinds: str) -> np.ndarray:
    """Numbers of a dataset stored in the file itself, checked against its storage size.

    Raises InputError.
    """
    if name not in group or not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise InputError(f"{group.name} has no own dataset {name}; expected a MED file")
    item = group[name]
    plist = item.id.get_create_plist() if isinstance(item, h5py.Dataset) else None
    if plist is None or item.dtype.base.kind not in kinds:
        raise InputError(f"{item.name} does not hold the numbers expected of a MED file")
    if plist.get_nfilters() or plist.get_external_count() or item.is_virtual:
        raise InputError(f"{item.name} is compressed, virtual or external; save it uncompressed")
    if item.size * item.dtype.itemsize > item.id.get_storage_size():
        raise InputError(
            f"{item.name} claims {item.size} numbers and holds {item.id.get_storage_size()} bytes"
        )
    return np.asarray(item[()])
