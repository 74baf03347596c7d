"""Triangles of STL, OBJ, PLY and OFF files.

Sizes are bounded by the file size, not by the counts it states.

Polygons become fans from their first corner. Textures, normals and colours are skipped. Sources:
"The PLY Polygon File Format" (Turk, 1994), "Object Files (.obj)" (Wavefront, 1992), "STL 2.0"
(Hiller, 2009), and Geomview's manual (OFF).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.files.inputs import read_bytes

Points = NDArray[np.float64]
Triangles = NDArray[np.int64]
Surface = tuple[Points, Triangles]
MOST_BYTES = 200e6  # size of a file: text of this length is read in about a minute
PLY_TYPES = {
    "char": "i1",
    "int8": "i1",
    "uchar": "u1",
    "uint8": "u1",
    "short": "i2",
    "int16": "i2",
    "ushort": "u2",
    "uint16": "u2",
    "int": "i4",
    "int32": "i4",
    "uint": "u4",
    "uint32": "u4",
    "int64": "i8",
    "uint64": "u8",
    "float": "f4",
    "float32": "f4",
    "double": "f8",
    "float64": "f8",
}
PLY_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}
INDICES = ("vertex_indices", "vertex_index")
Property = tuple[str, str, str]  # name, type, type of the count before a list, or ""


def read_surface(path: Path) -> Surface:
    """Distinct points (n, 3) and triangles (T, 3) of point rows.

    Raises InputError, whose message does not quote the file, and OSError.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path.name}: unknown mesh format; use STL, OBJ, PLY, OFF or DAE")
    try:
        given, triangles = reader(read_bytes(path, MOST_BYTES))
    except (ValueError, LookupError, OverflowError, StopIteration):
        raise InputError(f"{path.name}: is damaged or truncated; export it again") from None
    if not len(triangles):
        raise InputError(f"{path.name}: has no triangles")
    if not 0 <= triangles.min() <= triangles.max() < len(given):
        raise InputError(f"{path.name}: faces refer to missing points")
    if not np.isfinite(given).all():
        raise InputError(f"{path.name}: has points with non-finite coordinates")
    points, same = np.unique(given, axis=0, return_inverse=True)
    return points, same.reshape(-1)[triangles]


def ply_bytes(points: Points, triangles: Triangles) -> bytes:
    """Binary PLY file of points (n, 3) in double precision and triangles (T, 3)."""
    lines = [
        "ply", "format binary_little_endian 1.0", f"element vertex {len(points)}",
        *(f"property double {axis}" for axis in "xyz"), f"element face {len(triangles)}",
        "property list uchar int vertex_indices", "end_header", "",
    ]  # fmt: skip
    rows = np.zeros(len(triangles), [("count", "u1"), ("corners", "<i4", 3)])
    rows["count"], rows["corners"] = 3, triangles
    return "\n".join(lines).encode() + points.astype("<f8").tobytes() + rows.tobytes()


def _read_stl(data: bytes) -> Surface:
    """Triangles of an STL file, binary or text."""
    count = int.from_bytes(data[80:84], "little")
    text = data.lstrip()[:5].lower() == b"solid"
    if len(data) >= 84 and (len(data) == 84 + 50 * count or not text):
        rows = np.frombuffer(
            data, [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("", "<u2")], count, 84
        )
        points = rows["corners"].reshape(-1, 3).astype(float)
    else:
        corners = re.findall(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)", data, re.I)
        if not text or b"endsolid" not in data.lower():
            raise ValueError
        points = np.array(corners, dtype=float).reshape(-1, 3)
    return points, np.arange(len(points), dtype=np.int64).reshape(-1, 3)


def _read_obj(data: bytes) -> Surface:
    """Triangles of an OBJ file.

    Lines ``v x y z`` and ``f i j k …``, with indices from 1 or, if negative, counted back from the
    last point so far.
    """
    points: list[Sequence[bytes]] = []
    faces: list[list[int]] = []
    for line in data.replace(b"\\\n", b" ").splitlines():
        key, *fields = line.split() or [b""]
        if key == b"v":
            points.append(_three(fields))
        elif key == b"f":
            corners = [int(each.partition(b"/")[0]) for each in fields]
            faces.append([k - 1 if k > 0 else len(points) + k if k < 0 else -1 for k in corners])
    return np.array(points, dtype=float).reshape(-1, 3), _fans(faces)


def _read_off(data: bytes) -> Surface:
    """Triangles of an OFF file.

    ``OFF``, the numbers of points, faces and edges, points, and faces preceded by their number of
    corners.
    """
    rows = (fields for line in data.splitlines() if (fields := line.partition(b"#")[0].split()))
    head = next(rows, [])
    if head[:1] != [b"OFF"]:
        raise ValueError
    count, faces, *_ = map(int, head[1:] or next(rows, []))
    points = [_three(next(rows, [])) for _ in range(count)]
    return np.array(points, dtype=float).reshape(-1, 3), _fans(
        _corners(next(rows, [])) for _ in range(faces)
    )


def _three(fields: Sequence[bytes]) -> Sequence[bytes]:
    """The first three fields of a line. Raises ValueError if there are fewer."""
    if len(fields) < 3:
        raise ValueError
    return fields[:3]


def _corners(fields: Sequence[bytes]) -> list[int]:
    """Point indices of a face, preceded by their number."""
    size, *corners = map(int, fields[: 1 + int(fields[0])])
    if len(corners) != size:
        raise ValueError
    return corners


def _read_ply(data: bytes) -> Surface:
    """Triangles of a PLY file, as text or binary."""
    head, found, body = data.partition(b"end_header")
    lines = [line.split() for line in head.decode("ascii", "replace").splitlines()]
    if not found or lines[:1] != [["ply"]]:
        raise ValueError
    elements: list[tuple[str, int, list[Property]]] = []
    order = ""
    for key, *fields in filter(None, lines):
        if key == "format":
            order = PLY_ORDERS[fields[0]]
        elif key == "element":
            elements.append((fields[0], int(fields[1]), []))
        elif key == "property":
            is_list = fields[0] == "list"
            kinds = [PLY_TYPES[each] for each in fields[is_list:-1]]
            elements[-1][2].append((fields[-1], kinds[-1], kinds[0] if is_list else ""))
    body = body[body.index(b"\n") + 1 :]
    read = _ply_binary(body, order) if order else _ply_text(body)
    points, faces = np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    for name, count, properties in elements:
        if not properties or count > len(body):  # each row takes at least one byte
            raise ValueError
        rows = read(count, properties)
        if name == "vertex":
            points = np.array([[row[key] for key in "xyz"] for row in rows], dtype=float).reshape(
                -1, 3
            )
        elif name == "face":
            indices = next(name for name, _, counted in properties if counted and name in INDICES)
            faces = _fans(row[indices] for row in rows)
        else:
            list(rows)
    return points, faces


PlyRows = Callable[[int, list[Property]], Iterator[dict[str, Any]]]


def _ply_text(body: bytes) -> PlyRows:
    """Reader of rows in text form, one per line."""
    lines = (fields for line in body.splitlines() if (fields := line.split()))

    def rows(count: int, properties: list[Property]) -> Iterator[dict[str, Any]]:
        """Records of ``count`` text lines of a PLY file, with lists of stated length."""
        for _ in range(count):
            fields, row, at = next(lines, []), dict[str, Any](), 0
            for name, kind, counted in properties:
                number = int if kind[0] in "iu" else float
                size = 1 + int(fields[at]) if counted else 1
                values = [number(each) for each in fields[at : at + size]]
                if len(values) != size or size < 1:
                    raise ValueError
                row[name] = values[1:] if counted else values[0]
                at += size
            yield row

    return rows


def _ply_binary(body: bytes, order: str) -> PlyRows:
    """Reader of binary rows with a byte order."""
    at = 0

    def take(kind: Any, size: int) -> Any:
        """Next ``size`` numbers of a type from the binary data."""
        nonlocal at
        if size < 0:
            raise ValueError
        values = np.frombuffer(body, kind, size, at) if size else np.zeros(0)
        at += values.nbytes
        return values.tolist()

    def rows(count: int, properties: list[Property]) -> Iterator[dict[str, Any]]:
        """Records of ``count`` binary entries of a PLY file, with lists of stated length."""
        names = [name for name, *_ in properties]
        if not any(counted for *_, counted in properties):
            yield from (
                dict(zip(names, row))
                for row in take([(name, order + kind) for name, kind, _ in properties], count)
            )
            return
        for _ in range(count):
            sizes = (take(order + counted, 1)[0] if counted else None for *_, counted in properties)
            values = [
                take(order + kind, 1 if size is None else size)
                for (_, kind, _), size in zip(properties, sizes)
            ]
            yield {
                name: each if counted else each[0]
                for each, (name, _, counted) in zip(values, properties)
            }

    return rows


def _fans(faces: Iterable[list[int]]) -> Triangles:
    """Triangles (T, 3) of polygons by fans from their first corner."""
    by_size: dict[int, list[list[int]]] = defaultdict(list)
    for corners in faces:
        by_size[len(corners)].append(corners)
    found = [np.zeros((0, 3), np.int64)]
    for size, rows in by_size.items():
        table = np.array(rows, dtype=np.int64)
        found += [table[:, [0, k, k + 1]] for k in range(1, size - 1)]
    return np.concatenate(found)


READERS: dict[str, Callable[[bytes], Surface]] = {
    ".stl": _read_stl,
    ".obj": _read_obj,
    ".ply": _read_ply,
    ".off": _read_off,
}
