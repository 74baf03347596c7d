"""Reader of VTK unstructured grids (.vtu), by meshio.

meshio trusts the counts in headers and may exit the interpreter, so the file is checked first and
the call is guarded.
"""

import contextlib
import re
import xml.parsers.expat
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.console.memory import free_memory
from flexmbs.errors import InputError
from flexmbs.files.inputs import open_regular, read_bytes
from preprocess.elements import ELEMENTS
from preprocess.inputs.reader_guard import guarded
from preprocess.mesh_files.raw_mesh import Cells, RawMesh, raw_mesh_of

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# largest size of data over that of their compressed form, by compressor
LARGEST_EXPANSION = {"vtkZLibDataCompressor": 1032, "vtkLZMADataCompressor": 7100}
CLAIMS = ("NumberOfPoints", "NumberOfCells")
# number of distinct values of cell data that become sets; data with more values are results, not
# regions
MOST_REGIONS = 200


def read_vtu(path: Path, structural: bool = False) -> RawMesh:
    """Raw mesh of a VTK unstructured grid.

    Point data of zeros and ones become node sets, integer cell data element sets. Nodes and
    elements are numbered from 0.
    """
    from meshio import vtu  # lazily: importing meshio is slow and only this format needs it
    from meshio._mesh import topological_dimension

    _check_document_type(path)
    _check_claims(path)
    for kind in ("wedge15", "pyramid13"):
        # meshio 5.3 reads these cells but has no dimension for them
        topological_dimension.setdefault(kind, 3)
    with guarded(
        f"{path}: is not a VTK unstructured grid (.vtu), or is damaged", "export it again"
    ):
        mesh = vtu.read(str(path))
    cells, first = [], 0
    for block in mesh.cells:
        if not isinstance(block.data, np.ndarray) or block.data.ndim != 2:
            raise InputError(
                f"{path}: {len(block.data)} {block.type} elements are not supported; "
                f"remesh with {', '.join(ELEMENTS)}"
            )
        cells.append(
            Cells(
                block.type,
                block.data.astype(np.int64),
                np.arange(first, first + len(block.data)),
                (),
            )
        )
        first += len(block.data)
    flags = {name: np.asarray(values) for name, values in mesh.point_data.items()}
    sets = {
        n: np.flatnonzero(v)
        for n, v in flags.items()
        if v.dtype.kind in "iub" and v.ndim == 1 and np.isin(v, (0, 1)).all()
    }
    raw = raw_mesh_of(path, mesh.points, np.arange(len(mesh.points)), cells, sets, structural)
    return replace(
        raw, element_sets=_cell_sets(mesh.cell_data, np.concatenate(list(raw.element_ids.values())))
    )


def _cell_sets(data: dict[str, list[Array]], solid: Indices) -> dict[str, Indices]:
    """Element sets of integer cell data.

    "name" for values 0 and 1, otherwise "name value" for each value.
    """
    sets: dict[str, Indices] = {}
    for name, parts in data.items():
        if not parts or any(
            np.asarray(part).dtype.kind not in "iub" or np.ndim(part) != 1 for part in parts
        ):
            continue
        values = np.concatenate([np.asarray(part).astype(np.int64) for part in parts])
        found = np.unique(values)
        if np.isin(found, (0, 1)).all():
            sets[name] = np.intersect1d(np.flatnonzero(values == 1), solid)
        elif len(found) <= MOST_REGIONS:
            sets |= {
                f"{name} {value}": np.intersect1d(np.flatnonzero(values == value), solid)
                for value in found
            }
    return {name: members for name, members in sets.items() if len(members)}


def _check_document_type(path: Path) -> None:
    """Raise InputError if the XML declares a document type, before any entity is expanded."""

    def reject(*_: object) -> None:
        """Raise `InputError` for a document type in an XML file."""
        raise InputError(
            f"{path}: declares a document type (DTD); entities are not read: remove <!DOCTYPE …>"
        )

    started = []
    parser = xml.parsers.expat.ParserCreate()
    parser.StartDoctypeDeclHandler = reject
    parser.StartElementHandler = lambda name, attributes: started.append(name)
    with open_regular(path) as file:
        while not started and (chunk := file.read(4096)):
            try:
                parser.Parse(chunk)
            except xml.parsers.expat.ExpatError as error:
                raise InputError(
                    f"{path}:{error.lineno}: is not XML ({error}); expected <VTKFile>"
                ) from error
    if started and started[0] != "VTKFile":
        raise InputError(f"{path}: starts with <{started[0]}>; expected <VTKFile>")


def _check_claims(path: Path) -> None:
    """Raise InputError for a piece that claims more data than the file can hold.

    The error is also raised if compressed data could exceed the memory.
    """
    data = read_bytes(path)
    seen = _seen_elements(data)
    compressor = next(
        (attributes.get("compressor", "") for name, attributes in seen if name == "VTKFile"), ""
    )
    uses = Counter(
        attributes["offset"]
        for name, attributes in seen
        if name == "DataArray" and "offset" in attributes
    )
    expansion = LARGEST_EXPANSION.get(compressor, 0)
    if expansion * len(data) * max(uses.values(), default=1) > free_memory():
        raise InputError(
            f"{path}: {len(data) / 1e6:.0f} MB compressed could expand beyond the free "
            "memory; save it uncompressed"
        )
    # also after raw data
    claims = re.findall(rb'\b(NumberOfPoints|NumberOfCells)\s*=\s*["\'](\d{1,30})["\']', data)
    claimed = [
        (key, attributes.get(key, "0").strip())
        for name, attributes in seen
        if name == "Piece"
        for key in CLAIMS
    ]
    for key, count in [*((name.decode(), text.decode()) for name, text in claims), *claimed]:
        if (
            not count.isdecimal()
            or len(count) > 30
            or int(count) > (100 * len(data) if expansion else len(data))
        ):
            raise InputError(
                f"{path}: claims {key}={count[:30]} in a file of {len(data)} bytes; the "
                "file is damaged"
            )


def _seen_elements(data: bytes) -> list[tuple[str, dict[str, str]]]:
    """Elements of an XML text and their attributes, up to appended raw data."""
    seen: list[tuple[str, dict[str, str]]] = []
    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: seen.append((name, attributes))
    with contextlib.suppress(xml.parsers.expat.ExpatError):
        parser.Parse(data, True)
    return seen
