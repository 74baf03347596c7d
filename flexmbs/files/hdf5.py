"""HDF5 files as plain trees.

Contiguous arrays of numbers and fixed-length texts, written atomically.

The reader accepts untrusted files: it checks links, layouts, types and sizes before it reads any
data, and rejects external or soft links, virtual or external storage, filters, objects linked twice
and sizes above the limits.

In files with checksums each group and data set has the CRC-32 of its content as an attribute:
attributes, member names, type, shape and bytes. Files without any checksum predate them and are
read without verification.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TypeVar
from zlib import crc32

import h5py
import numpy as np

from flexmbs.errors import InputError
from flexmbs.files.hdf5_draft import HDF5Draft
from flexmbs.files.inputs import open_regular
from flexmbs.files.output import atomic_file
from flexmbs.files.paths import file_path

T = TypeVar("T")

MAX_OBJECTS, MAX_BYTES, MAX_TEXT = 20_000, 16 * 2**30, 60_000
LEAST_MAPPED = 128 * 2**20  # bytes: smaller data sets are read into memory, which is faster
CHECKSUM = "crc32"
BLOCK = 2**24  # bytes read at a time: verification must not load large data sets
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_WANTED = {
    "f": "64-bit floats",
    "g": "32-bit or 64-bit floats",
    "i": "64-bit integers",
    "S": "fixed-length strings",
    "u": "bytes",
}
_ITEMSIZE = {"f": 8, "i": 8, "u": 1}


def write_atomically(
    path: str | os.PathLike[str], fill: Callable[[h5py.File], None], *, checksums: bool = True
) -> None:
    """Write the file filled by ``fill`` atomically. Raises MachineError; an old file is then kept.


    checksums: False for formats of other programs, which may not accept further attributes.
    """
    with atomic_file(path) as draft, contextlib.closing(HDF5Draft(draft)) as target:
        with h5py.File(target, "w", track_order=True) as file:
            fill(file)
            if checksums:
                for item in [file, *(item for _, item in items(file))]:
                    item.attrs.create(CHECKSUM, np.bytes_(_checksum(item)), dtype="S8")
        if target.error is not None:
            raise target.error


def read_whole(
    path: str | os.PathLike[str],
    read: Callable[[h5py.File], T],
    origin: str,
    *,
    verified: bool = True,
) -> T:
    """Result of ``read`` on an open HDF5 file; problems become an InputError.

    ``origin``: how such a file is created.

    ``origin``: how such a file is created.

    verified: True to compare checksums before ``read`` is called.
    """
    target = file_path(path, "file")
    try:
        with open_regular(target) as start:
            if start.read(len(_SIGNATURE)) != _SIGNATURE:
                raise InputError(f"{target}: is not an HDF5 file; create one with {origin}")
        with h5py.File(target, "r", locking=False) as file:
            if verified:
                _verify(file)
            return read(file)
    except InputError as error:
        raise InputError(
            *(p if p.startswith(str(target)) else f"{target}: {p}" for p in error.problems)
        ) from None
    except FileNotFoundError:
        raise InputError(f"{target}: no such file") from None
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, UnicodeError) as error:
        raise InputError(
            f"{target}: is damaged or not readable ({str(error).splitlines()[0]:.120}); "
            "write it again"
        ) from None


def set_text(item: h5py.Group, key: str, text: str) -> None:
    """Set an attribute as a fixed-length string.

    Raises InputError if it exceeds the size of an attribute.
    """
    encoded = text.encode()
    if len(encoded) > MAX_TEXT:
        raise InputError(
            f"provenance.{key}: has {len(encoded)} bytes; at most {MAX_TEXT} fit in the file"
        )
    item.attrs.create(key, np.bytes_(encoded), dtype=f"S{max(1, len(encoded))}")


def attributes(item: h5py.Group) -> dict[str, str | float]:
    """Attributes of a group; only fixed-length strings and single numbers are allowed."""
    found: dict[str, str | float] = {}
    for key in (key for key in item.attrs if key != CHECKSUM):
        dtype, shape = item.attrs.get_id(key).dtype, item.attrs.get_id(key).shape
        if shape != () or dtype.kind not in "Sf" or dtype.itemsize > MAX_TEXT:
            raise InputError(
                f"{item.name} attribute {key!r}: has type {dtype} and shape {shape}; only "
                "strings and numbers are read"
            )
        value = item.attrs[key]
        found[key] = bytes(value).decode() if dtype.kind == "S" else float(value)
        if dtype.kind == "f" and not np.isfinite(value):
            raise InputError(f"{item.name} attribute {key!r}: is {value}; it must be finite")
    return found


def items(group: h5py.Group) -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
    """All groups and data sets below a group by path, each with one hard link."""
    pending: list[tuple[str, h5py.Group]] = [("", group)]
    seen = {h5py.h5o.get_info(group.id).addr}
    while pending:
        prefix, parent = pending.pop()
        for name in parent:
            path = f"{prefix}{name}"
            if not isinstance(parent.get(name, getlink=True), h5py.HardLink):
                raise InputError(
                    f"{path}: is a soft or external link; only data stored in the file "
                    "itself is read"
                )
            item = parent[name]
            address = h5py.h5o.get_info(item.id).addr
            if address in seen:
                raise InputError(
                    f"{path}: is linked twice or contains itself; only plain trees are read"
                )
            seen.add(address)
            if len(seen) > MAX_OBJECTS:
                raise InputError(f"{path}: the file has more than {MAX_OBJECTS} items")
            if isinstance(item, h5py.Group):
                pending.append((path + "/", item))
            elif not isinstance(item, h5py.Dataset):
                raise InputError(f"{path}: is a named type; only data sets and groups are read")
            yield path, item


def datasets(group: h5py.Group) -> Iterator[tuple[str, h5py.Dataset]]:
    """All data sets below a group by path, each with one hard link."""
    return ((path, item) for path, item in items(group) if isinstance(item, h5py.Dataset))


def mapped(dataset: h5py.Dataset) -> np.ndarray:
    """Numbers of a plain data set; a large one is memory-mapped and read on demand."""
    at = dataset.id.get_offset()
    if at is None or dataset.nbytes < LEAST_MAPPED:
        return np.asarray(dataset[()])
    return np.memmap(
        dataset.file.filename, dtype=dataset.dtype, mode="r", offset=at, shape=dataset.shape
    )


def check_storage(item: str, dataset: h5py.Dataset, kind: str) -> None:
    """Raise InputError unless a data set holds plain contiguous values of a kind.

    Kinds: "f" floats, "g" floats of either precision, "i" integers, "u" bytes, "S" fixed-length
    strings; all in the file and within the size limit.
    """
    dtype = dataset.dtype
    wrong_size = dtype.itemsize != _ITEMSIZE.get(kind, dtype.itemsize) or (
        kind == "g" and dtype.itemsize not in (4, 8)
    )
    if (
        dtype.kind != kind.replace("g", "f")
        or wrong_size
        or dtype.itemsize > 256
        or dtype.subdtype
        or dtype.names
    ):
        raise InputError(f"{item}: has type {dtype}; it must hold {_WANTED[kind]}")
    _check_plain(item, dataset)


def _check_plain(item: str, dataset: h5py.Dataset) -> None:
    """Check for contiguous numbers or strings, all in the file and within the size limit."""
    plist = dataset.id.get_create_plist()
    plain = plist.get_layout() in (h5py.h5d.CONTIGUOUS, h5py.h5d.COMPACT)
    if not plain or plist.get_nfilters() or plist.get_external_count() or dataset.is_virtual:
        raise InputError(
            f"{item}: is chunked, filtered, virtual or stored in another file; only plain "
            "storage is read"
        )
    size = int(np.prod(dataset.shape, dtype=object)) * dataset.dtype.itemsize
    if size > MAX_BYTES:
        raise InputError(f"{item}: claims {size} bytes; at most {MAX_BYTES} are read")
    if size != dataset.id.get_storage_size():
        raise InputError(f"{item}: claims {size} bytes but stores {dataset.id.get_storage_size()}")


def check_items(found: dict[str, h5py.Dataset], expected: set[str], what: str) -> None:
    """Raise InputError unless the data sets are exactly those expected."""
    missing, unknown = sorted(expected - found.keys()), sorted(found.keys() - expected)
    problems = [f"{item}: is missing" for item in missing] + [
        f"{item}: is unknown to {what}" for item in unknown
    ]
    if problems:
        raise InputError(*problems[:20])


def _verify(file: h5py.File) -> None:
    """Raise InputError naming the damaged items of a file."""
    found = [("the header", file), *items(file)]
    if not any(CHECKSUM in item.attrs for _, item in found):
        return
    damaged = [path for path, item in found if not _intact(path, item)]
    if damaged:
        more = f" and {len(damaged) - 5} more" if len(damaged) > 5 else ""
        intact = len(found) - len(damaged)
        raise InputError(
            f"{', '.join(damaged[:5])}{more}: damaged (checksums differ); the other "
            f"{intact} items are intact"
        )


def _intact(path: str, item: h5py.Group | h5py.Dataset) -> bool:
    """True if an item matches the checksum of its content."""
    if isinstance(item, h5py.Dataset):
        _check_plain(path, item)
    if CHECKSUM not in item.attrs:
        return False
    stored = item.attrs.get_id(CHECKSUM)
    return (
        stored.shape == ()
        and stored.dtype == np.dtype("S8")
        and bytes(item.attrs[CHECKSUM]).decode() == _checksum(item)
    )


def _checksum(item: h5py.Group | h5py.Dataset) -> str:
    """CRC-32 in hexadecimal digits of an item of an HDF5 file.

    Covers its attributes and its member names (group) or type, shape and bytes (data set).
    """
    total = 0
    for key in sorted(item.attrs.keys() - {CHECKSUM}):
        own = item.attrs.get_id(key)
        if own.shape != () or own.dtype.kind not in "Sf" or own.dtype.itemsize > MAX_TEXT:
            return ""  # of another type: never equal to a stored checksum
        total = crc32(
            f"{key} {own.dtype.str} ".encode() + np.asarray(item.attrs[key]).tobytes(), total
        )
    if isinstance(item, h5py.Group):
        total = crc32("/".join(sorted(item)).encode(), total)
    else:
        total = crc32(f"{item.dtype.str} {item.shape}".encode(), total)
        rows = max(1, BLOCK * len(item) // max(1, item.nbytes)) if item.ndim and item.size else 1
        blocks = (
            (item[at : at + rows] for at in range(0, len(item), rows)) if item.ndim else (item[()],)
        )
        for block in blocks if item.size else ():
            total = crc32(np.ascontiguousarray(block).data.cast("B"), total)
    return f"{total:08x}"
