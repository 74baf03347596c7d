"""Mesh files to plain arrays. Everything a reader can throw, print or exit with ends here as one InputError.

meshio reads VTU; it trusts the counts in headers and may exit the interpreter, so the file is looked through first and the call
is guarded. The other formats have readers of their own: meshio drops the numbers of nodes and elements, loses surfaces, sets of
sets and supports, skips what it does not know, and fails on many real files.
"""

import contextlib
import io
import re
import warnings
import xml.parsers.expat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.page.inputs import check_regular, opened, read_bytes
from preprocess.elements import ELEMENTS
from preprocess.memory import free_memory
from preprocess.mesh_abaqus import read_abaqus
from preprocess.mesh_gmsh import read_gmsh
from preprocess.mesh_med import read_med
from preprocess.mesh_nastran import read_nastran

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

LARGEST_EXPANSION = {"vtkZLibDataCompressor": 1032, "vtkLZMADataCompressor": 7100}
CLAIMS = ("NumberOfPoints", "NumberOfCells")
SOLIDS = {element.meshio_name: element.name for element in ELEMENTS.values()}
MOST_REGIONS = 200  # distinct values of a number at cells that can be sets
LOWER = {"vertex": 0, "line": 1, "line3": 1, "triangle": 2, "triangle6": 2, "triangle7": 2, "quad": 2, "quad8": 2, "quad9": 2}


@dataclass(frozen=True, eq=False)
class RawMesh:
    """What a file says, before units and checks: all points, the solid elements by type, sets as places of points, and what of it
    is left out."""

    points: Array
    node_ids: Indices
    connectivity: dict[str, Indices]
    element_ids: dict[str, Indices]
    node_sets: dict[str, Indices] = field(default_factory=dict)
    element_sets: dict[str, Indices] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of one type in one stretch of the file: rows of places of points, numbers, names of the sets they belong to."""

    type: str
    rows: Indices
    ids: Indices
    names: tuple[str, ...]


def raw_mesh(path: Path) -> RawMesh:
    """Content of a mesh file. Raises InputError with the file, the place and the reason."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: format '{path.suffix}' is not read; there are {', '.join(READERS)}")
    check_regular(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty; expected {EXPECTED[path.suffix.lower()]} at byte 0")
    try:
        return reader(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, ArithmeticError, MemoryError) as error:
        raise InputError(f"{path}: is damaged ({_reason(error)}); export it anew") from error


def _guarded(path: Path, read: Callable[[str], Any], expected: str) -> Any:
    """meshio's mesh, or an InputError; nothing is printed."""
    from meshio._mesh import topological_dimension

    topological_dimension.setdefault("wedge15", 3)  # meshio 5.3 reads these cells but has no dimension for them
    noise = io.StringIO()
    try:
        with contextlib.redirect_stdout(noise), contextlib.redirect_stderr(noise), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(str(path))
    except MemoryError as error:
        raise InputError(f"{path}: it claims more data than fits in memory; the file is damaged or not {expected}") from error
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{path}: is not {expected}, or is damaged ({_reason(error, noise.getvalue())}); export it anew"
        ) from error


def _reason(error: BaseException, printed: str = "") -> str:
    """Kind of an error and the first line of what it says."""
    said = str(error).strip() or printed.strip()
    return f"{type(error).__name__}: {said.splitlines()[0][:200]}" if said else type(error).__name__


def _read_gmsh(path: Path) -> RawMesh:
    """Gmsh 2.2 and 4.1; physical groups become sets."""
    mesh = read_gmsh(path)
    order = np.argsort(mesh.node_ids, kind="stable")
    cells = []
    for block in mesh.cells:
        rows = order[np.searchsorted(mesh.node_ids, block.nodes, sorter=order)]
        names = tuple(sorted({mesh.names.get(group, f"physical {group[1]}") for group in block.groups}))
        cells.append(Cells(block.type, rows, block.ids, names))
    return _assembled(path, mesh.points, mesh.node_ids, cells, {})


def _read_vtu(path: Path) -> RawMesh:
    """VTK unstructured grid; point data of zeros and ones become node sets, whole numbers at cells element sets.

    Nodes and elements are numbered from 0.
    """
    from meshio import vtu

    _refuse_document_types(path)
    _refuse_absurd_pieces(path)
    mesh = _guarded(path, vtu.read, "a VTK unstructured grid (.vtu)")
    cells, first = [], 0
    for block in mesh.cells:
        if not isinstance(block.data, np.ndarray) or block.data.ndim != 2:
            raise InputError(f"{path}: {len(block.data)} {block.type} elements cannot be used; remesh with {', '.join(ELEMENTS)}")
        cells.append(Cells(block.type, block.data.astype(np.int64), np.arange(first, first + len(block.data)), ()))
        first += len(block.data)
    flags = {name: np.asarray(values) for name, values in mesh.point_data.items()}
    sets = {n: np.flatnonzero(v) for n, v in flags.items() if v.dtype.kind in "iub" and v.ndim == 1 and np.isin(v, (0, 1)).all()}
    raw = _assembled(path, mesh.points, np.arange(len(mesh.points)), cells, sets)
    return replace(raw, element_sets=_cell_sets(mesh.cell_data, np.concatenate(list(raw.element_ids.values()))))


def _cell_sets(data: dict[str, list[Array]], solid: Indices) -> dict[str, Indices]:
    """Element sets of whole numbers at cells: "name" where there are but nought and one, else "name value" for each value."""
    sets: dict[str, Indices] = {}
    for name, parts in data.items():
        if not parts or any(np.asarray(part).dtype.kind not in "iub" or np.ndim(part) != 1 for part in parts):
            continue
        values = np.concatenate([np.asarray(part).astype(np.int64) for part in parts])
        found = np.unique(values)
        if np.isin(found, (0, 1)).all():
            sets[name] = np.intersect1d(np.flatnonzero(values == 1), solid)
        elif len(found) <= MOST_REGIONS:
            sets |= {f"{name} {value}": np.intersect1d(np.flatnonzero(values == value), solid) for value in found}
    return {name: members for name, members in sets.items() if len(members)}


def _refuse_document_types(path: Path) -> None:
    """InputError when the XML declares a document type, before anything of it is expanded."""

    def refuse(*_: object) -> None:
        raise InputError(f"{path}: declares a document type (DTD); entities are not read: remove <!DOCTYPE …>")

    started = []
    parser = xml.parsers.expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda name, attributes: started.append(name)
    with opened(path) as file:
        while not started and (chunk := file.read(4096)):
            try:
                parser.Parse(chunk)
            except xml.parsers.expat.ExpatError as error:
                raise InputError(f"{path}:{error.lineno}: is not XML ({error}); expected <VTKFile>") from error
    if started and started[0] != "VTKFile":
        raise InputError(f"{path}: starts with <{started[0]}>; expected <VTKFile>")


def _refuse_absurd_pieces(path: Path) -> None:
    """InputError when a piece claims more than the file can hold, or when compressed data could expand beyond the memory."""
    data = read_bytes(path)
    seen = _seen_elements(data)
    compressor = next((attributes.get("compressor", "") for name, attributes in seen if name == "VTKFile"), "")
    uses = Counter(attributes["offset"] for name, attributes in seen if name == "DataArray" and "offset" in attributes)
    expansion = LARGEST_EXPANSION.get(compressor, 0)
    if expansion * len(data) * max(uses.values(), default=1) > free_memory():
        raise InputError(f"{path}: {len(data) / 1e6:.0f} MB compressed could expand beyond the free memory; save it uncompressed")
    claims = re.findall(rb'\b(NumberOfPoints|NumberOfCells)\s*=\s*["\'](\d{1,30})["\']', data)  # also behind raw data
    told = [(key, attributes.get(key, "0").strip()) for name, attributes in seen if name == "Piece" for key in CLAIMS]
    for key, count in [*((name.decode(), text.decode()) for name, text in claims), *told]:
        if not count.isdecimal() or len(count) > 30 or int(count) > (100 * len(data) if expansion else len(data)):
            raise InputError(f"{path}: claims {key}={count[:30]} in a file of {len(data)} bytes; the file is damaged")


def _seen_elements(data: bytes) -> list[tuple[str, dict[str, str]]]:
    """Elements of an XML text and their attributes, as far as it is XML: raw data may follow."""
    seen: list[tuple[str, dict[str, str]]] = []
    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: seen.append((name, attributes))
    with contextlib.suppress(xml.parsers.expat.ExpatError):
        parser.Parse(data, True)
    return seen


def _read_nastran(path: Path) -> RawMesh:
    """Nastran bulk data; property numbers become sets "property 7", SPC, SPC1, SET, SET1, RBE2 and RBE3 node sets."""
    bulk = read_nastran(path)
    place = {number: n for n, number in enumerate(bulk.positions)}
    by_kind: dict[tuple[str, int], list[tuple[int, list[int]]]] = defaultdict(list)
    for kind, number, region, nodes in (*bulk.solids, *bulk.skin):
        by_kind[kind, region].append((number, _places(path, number, nodes, place)))
    cells = [
        Cells(kind, np.array([row for _, row in found]), np.array([n for n, _ in found]), (f"property {region}",))
        for (kind, region), found in by_kind.items()
    ]
    elements = {number for _, number, _, _ in bulk.solids}
    node_sets = bulk.node_sets | {name: members for name, members in bulk.either_sets.items() if place.keys() >= set(members)}
    sets = {name: _unique([place[n] for n in members if n in place]) for name, members in node_sets.items()}
    raw = _assembled(path, np.array(list(bulk.positions.values())), _unsorted(bulk.positions), cells, sets)
    both = {**bulk.element_sets, **{name: members for name, members in bulk.either_sets.items() if elements >= set(members)}}
    groups = {name: _unique(members) for name, members in both.items()}
    return replace(raw, element_sets={**raw.element_sets, **groups}, notices=tuple(bulk.notices))


def _places(path: Path, number: int, nodes: list[int], place: dict[int, int]) -> list[int]:
    missing = [node for node in nodes if node not in place]
    if missing:
        raise InputError(f"{path}: element {number} refers to node {missing[0]}, which is not there; complete the nodes")
    return [place[node] for node in nodes]


def _unique(members: Iterable[int]) -> Indices:
    return np.unique(np.array(list(members), dtype=np.int64))


def _unsorted(members: Iterable[int]) -> Indices:
    return np.array(list(members), dtype=np.int64)


def _read_med(path: Path) -> RawMesh:
    """MED file; groups become sets. Its volumes are numbered the other way round: whole types that are inverted are turned."""
    mesh = read_med(path)
    cells = []
    for block in mesh.cells:
        wrong = np.argwhere((block.rows < 0) | (block.rows >= len(mesh.points)))
        if len(wrong):
            row, column = wrong[0]
            node = block.rows[row, column] + 1
            raise InputError(f"{path}: element {block.ids[row]} ({block.type}) refers to node {node}, which is not there")
        for family in np.unique(block.families):
            rows = np.flatnonzero(block.families == family)
            names = mesh.element_groups.get(int(family), ())
            cells.append(Cells(block.type, block.rows[rows], block.ids[rows], names))
    sets: dict[str, Indices] = {}
    for family, names in mesh.node_groups.items():
        for name in names:
            sets[name] = np.union1d(sets.get(name, np.zeros(0, np.int64)), np.flatnonzero(mesh.node_families == family))
    raw = _assembled(path, mesh.points, mesh.node_ids, cells, sets)
    return replace(raw, connectivity={name: _turned(raw.points, name, table) for name, table in raw.connectivity.items()})


def _turned(points: Array, name: str, table: Indices) -> Indices:
    """Connectivity, mirrored where every element is inverted."""
    element = ELEMENTS[name]
    inverted = element.jacobian_determinants(points[table], element.centre[None]).max() < 0
    return table[:, element.mirrored] if inverted else table


def _read_abaqus(path: Path) -> RawMesh:
    """Abaqus input file."""
    deck = read_abaqus(path)
    cells = [Cells(kind, rows, ids, ()) for kind, rows, ids in deck.elements]
    raw = _assembled(path, deck.points, deck.node_ids, cells, deck.node_sets)
    return replace(raw, element_sets={**raw.element_sets, **deck.element_sets}, notices=deck.notices)


def _assembled(path: Path, points: Array, node_ids: Indices, cells: Iterable[Cells], node_sets: dict[str, Indices]) -> RawMesh:
    """Solid cells joined by type; lower-dimensional cells turned into node sets, or refused when they lie on no solid."""
    cells = [block for block in cells if len(block.rows)]
    solid = [block for block in cells if block.type in SOLIDS]
    unknown = Counter({b.type: 0 for b in cells if b.type not in SOLIDS and b.type not in LOWER})
    for block in cells:
        if block.type in unknown:
            unknown[block.type] += len(block.rows)
    if unknown:
        raise InputError(f"{path}: {_counts(unknown)} cannot be used; remesh with {', '.join(ELEMENTS)}")
    if not solid:
        found = Counter({b.type: 0 for b in cells})
        found.update(b.type for b in cells for _ in b.rows)
        what = _counts(found) or "nothing"
        raise InputError(f"{path}: has no solid elements (found {what}); mesh the volume with {', '.join(ELEMENTS)}")
    on_solid = np.zeros(len(points) + 1, dtype=bool)
    for block in solid:
        on_solid[np.clip(block.rows, -1, len(points))] = True
    _refuse_structures(path, cells, on_solid)
    _refuse_doubles(path, np.concatenate([block.ids for block in solid]))
    by_type: dict[str, list[Indices]] = defaultdict(list)
    numbers: dict[str, list[Indices]] = defaultdict(list)
    sets: dict[str, list[Indices]] = defaultdict(list)
    groups: dict[str, list[Indices]] = defaultdict(list)
    for block in cells:
        if block.type in SOLIDS:
            by_type[SOLIDS[block.type]].append(block.rows)
            numbers[SOLIDS[block.type]].append(block.ids)
        for name in block.names:
            (groups if block.type in SOLIDS else sets)[name].append(block.ids if block.type in SOLIDS else block.rows.ravel())
    return RawMesh(
        points=_three_columns(path, points),
        node_ids=np.asarray(node_ids, dtype=np.int64),
        connectivity={name: np.concatenate(tables) for name, tables in by_type.items()},
        element_ids={name: np.concatenate(ids) for name, ids in numbers.items()},
        node_sets={**node_sets, **{name: np.unique(np.concatenate(places)) for name, places in sets.items()}},
        element_sets={name: np.concatenate(ids) for name, ids in groups.items()},
    )


def _refuse_doubles(path: Path, ids: Indices) -> None:
    """InputError for numbers that several solid elements have."""
    values, counts = np.unique(ids, return_counts=True)
    if len(values) < len(ids):
        raise InputError(f"{path}: element number {values[counts > 1][0]} occurs twice; number the elements apart")


def _refuse_structures(path: Path, cells: Iterable[Cells], on_solid: NDArray[np.bool_]) -> None:
    """InputError for shells and beams that are more than the skin of the solid."""
    loose: Counter[str] = Counter()
    for block in cells:
        if LOWER.get(block.type, 0) > 0:
            loose[block.type] += int((~on_solid[np.clip(block.rows, -1, len(on_solid) - 1)].all(axis=1)).sum())
    loose += Counter()
    if loose:
        raise InputError(f"{path}: {_counts(loose)} lie on no solid element; leave shells and beams out of the export")


def _three_columns(path: Path, points: Array) -> Array:
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3:
        raise InputError(f"{path}: nodes have {points.shape[-1]} coordinates; a solid mesh has 3")
    return points


def _counts(found: Counter[str] | dict[str, int]) -> str:
    """ "12 wedge and 3 pyramid elements"."""
    names = [f"{n} {kind}" for kind, n in sorted(found.items())]
    return " and ".join(names) + (" elements" if names else "")


READERS: dict[str, Callable[[Path], RawMesh]] = {
    ".msh": _read_gmsh,
    ".inp": _read_abaqus,
    ".vtu": _read_vtu,
    ".med": _read_med,
    ".bdf": _read_nastran,
    ".nas": _read_nastran,
    ".dat": _read_nastran,
}
EXPECTED = {
    ".msh": "$MeshFormat",
    ".inp": "*NODE",
    ".vtu": "<VTKFile>",
    ".med": "an HDF5 signature",
    ".bdf": "BEGIN BULK",
    ".nas": "BEGIN BULK",
    ".dat": "BEGIN BULK",
}
