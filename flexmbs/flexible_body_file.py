"""HDF5 file of a flexible body: fixed-size little-endian numbers and UTF-8 strings in named data sets, nothing else.

The reader takes a file from anyone: it looks at links, layouts, types and sizes before it reads a byte of data, and refuses
external or soft links, virtual or external storage, filters, objects reached twice, unknown items and sizes beyond the caps.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
from collections.abc import Iterator, Mapping

import h5py
import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError, MachineError
from flexmbs.flexible_body import GENERATOR, FlexibleBodyData, FlexibleFrame, ModeTable, Surface

FORMAT = "flexmbs-flexible-body/1"
UNITS = "m kg s rad N"
MAX_MODES, MAX_OBJECTS, MAX_BYTES, MAX_TEXT = 2000, 20_000, 16 * 2**30, 60_000
_SIGNATURE = b"\x89HDF\r\n\x1a\n"

Arrays = dict[str, NDArray[np.generic]]

# Shape of every item; a letter stands for a size that all items must agree on: f modes, n nodes, t triangles.
_BODY = {
    "elastic/K_ff": "ff", "elastic/D_ff": "ff",
    "inertia/mass": "", "inertia/first_moment": "3", "inertia/second_moment": "33",
    "inertia/S_bar": "3f", "inertia/xS": "33f", "inertia/SS": "33ff",
    "modes/frequency": "f", "modes/kind": "f", "modes/effective_mass": "f6", "modes/damping": "f",
}  # fmt: skip
_FRAME = {"x": "3", "R": "33", "phi": "3f", "psi": "3f", "kind": ""}
_SURFACE = {"surface/nodes": "n3", "surface/phi": "n3f", "surface/triangles": "t3", "surface/node_ids": "n"}
_TYPES = {"kind": "S", "triangles": "i", "node_ids": "i"}
_GROUPS = ("elastic", "inertia", "modes", "frames", "surface", "provenance")


def write(data: FlexibleBodyData, path: str | os.PathLike[str]) -> None:
    """File of ``data`` at ``path``, complete or not there at all. Raises MachineError."""
    target = pathlib.Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with h5py.File(draft, "w", track_order=True, locking=False) as file:
            _fill(file, data)
        with open(draft, "rb") as written:
            os.fsync(written.fileno())
        os.replace(draft, target)
    except (OSError, RuntimeError) as error:
        raise MachineError(f"{target}: cannot be written ({error}); mend the folder, its rights or the free space") from error
    finally:
        draft.unlink(missing_ok=True)


def read(path: str | os.PathLike[str], *, surface: bool = True) -> FlexibleBodyData:
    """Body in the file at ``path``; without its surface on request. Raises InputError naming the file and the item."""
    target = pathlib.Path(path)
    try:
        with open(target, "rb") as start:
            if start.read(len(_SIGNATURE)) != _SIGNATURE:
                raise InputError(f"{target}: is not an HDF5 file; make one with flexmbs preprocess or FlexibleBodyData.save")
        with h5py.File(target, "r", locking=False) as file:
            return _body(file, surface)
    except InputError as error:
        raise InputError(*(p if p.startswith(str(target)) else f"{target}: {p}" for p in error.problems)) from None
    except FileNotFoundError:
        raise InputError(f"{target}: there is no such file") from None
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, UnicodeError) as error:
        raise InputError(f"{target}: is damaged or not readable ({str(error).splitlines()[0]:.120}); write it anew") from None


def reduced_digest(data: FlexibleBodyData) -> str:
    """SHA-256 of integrals, matrices, frames and modes: names, types, shapes and little-endian bytes in sorted order."""
    return _digest(_reduced(data))


def _reduced(data: FlexibleBodyData) -> Arrays:
    arrays: Arrays = {
        "elastic/K_ff": data.K_ff, "elastic/D_ff": data.D_ff, "inertia/mass": np.asarray(data.mass),
        "inertia/first_moment": data.first_moment, "inertia/second_moment": data.second_moment,
        "inertia/S_bar": data.S_bar, "inertia/xS": data.xS, "inertia/SS": data.SS,
        "modes/frequency": data.modes.frequency, "modes/kind": _texts(data.modes.kind),
        "modes/effective_mass": data.modes.effective_mass, "modes/damping": data.modes.damping,
    }  # fmt: skip
    for name, frame in data.frames.items():
        parts = {"x": frame.x, "R": frame.R, "phi": frame.phi, "psi": frame.psi, "kind": _texts(frame.kind)}
        arrays |= {f"frames/{name}/{part}": value for part, value in parts.items()}
    return {item: np.asarray(value).astype(np.asarray(value).dtype.newbyteorder("<")) for item, value in arrays.items()}


def _surface(surface: Surface | None) -> Arrays:
    if surface is None:
        return {}
    items = {
        "surface/nodes": surface.nodes,
        "surface/phi": surface.phi,
        "surface/triangles": surface.triangles,
        "surface/node_ids": surface.node_ids,
    }
    return {item: value.astype(value.dtype.newbyteorder("<")) for item, value in items.items()}


def _texts(texts: str | tuple[str, ...]) -> NDArray[np.bytes_]:
    encoded = texts.encode() if isinstance(texts, str) else [text.encode() for text in texts]
    array = np.array(encoded, dtype=np.bytes_)
    return array if array.dtype.itemsize else array.astype("S1")


def _digest(arrays: Mapping[str, NDArray[np.generic]]) -> str:
    digest = hashlib.sha256()
    for item in sorted(arrays):
        array = np.ascontiguousarray(arrays[item])
        digest.update(f"{item} {array.dtype.str} {arrays[item].shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _fill(file: h5py.File, data: FlexibleBodyData) -> None:
    reduced, surface = _reduced(data), _surface(data.surface)
    header = {
        "format": FORMAT, "name": data.name, "units": UNITS, "generator": GENERATOR,
        "sha256": _digest(reduced), "sha256_surface": _digest(surface),
    }  # fmt: skip
    for key, text in header.items():
        _set_text(file, key, text)
    for group in _GROUPS:
        file.create_group(group, track_order=True)
    for name in data.frames:
        file["frames"].create_group(name, track_order=True)
    for item, array in (reduced | surface).items():
        file.create_dataset(item, data=array)
    for key, value in data.provenance.items():
        if isinstance(value, str):
            _set_text(file["provenance"], key, value)
        else:
            file["provenance"].attrs[key] = np.float64(value)


def _set_text(item: h5py.Group, key: str, text: str) -> None:
    encoded = text.encode()
    if len(encoded) > MAX_TEXT:
        raise InputError(f"provenance.{key}: has {len(encoded)} bytes; at most {MAX_TEXT} fit in the file")
    item.attrs.create(key, np.bytes_(encoded), dtype=f"S{max(1, len(encoded))}")


def _body(file: h5py.File, with_surface: bool) -> FlexibleBodyData:
    header = _attributes(file)
    if header.get("format") != FORMAT:
        raise InputError(f"format: is {header.get('format', 'missing')!r}; this version reads {FORMAT!r}")
    datasets = dict(_datasets(file))
    frames = list(file["frames"]) if isinstance(file.get("frames"), h5py.Group) else []
    schema = _BODY | {f"frames/{name}/{part}": shape for name in frames for part, shape in _FRAME.items()}
    has_surface = any(item.startswith("surface/") for item in datasets)
    _check_schema(datasets, schema | (_SURFACE if has_surface else {}))
    reduced = {item: datasets[item][()] for item in schema}
    surface = {item: datasets[item][()] for item in _SURFACE} if has_surface and with_surface else {}
    _check_digest("sha256", reduced, header)
    if surface or not has_surface:
        _check_digest("sha256_surface", surface, header)
    return _record(header, reduced, frames, surface, _attributes(file["provenance"]) if "provenance" in file else {})


def _record(
    header: Mapping[str, str | float], arrays: Arrays, frames: list[str], surface: Arrays, provenance: dict[str, str | float]
) -> FlexibleBodyData:
    modes = {item.removeprefix("modes/"): arrays[item] for item in _BODY if item.startswith("modes/")}
    kinds = tuple(kind.decode() for kind in modes.pop("kind").tolist())
    parts = {name: {part: arrays[f"frames/{name}/{part}"] for part in _FRAME} for name in frames}
    numbers = {item.partition("/")[2]: arrays[item] for item in _BODY if not item.startswith("modes/")}
    return FlexibleBodyData(
        name=str(header.get("name", "")),
        **numbers,  # type: ignore[arg-type]
        frames={name: FlexibleFrame(**(p | {"kind": bytes(p["kind"]).decode()})) for name, p in parts.items()},  # type: ignore[arg-type]
        modes=ModeTable(kind=kinds, **modes),  # type: ignore[arg-type]
        surface=Surface(**{item.partition("/")[2]: value for item, value in surface.items()}) if surface else None,  # type: ignore[arg-type]
        provenance=provenance,
    )


def _attributes(item: h5py.Group) -> dict[str, str | float]:
    """Attributes of a group: fixed-length strings and single numbers only."""
    found: dict[str, str | float] = {}
    for key in item.attrs:
        dtype, shape = item.attrs.get_id(key).dtype, item.attrs.get_id(key).shape
        if shape != () or dtype.kind not in "Sf" or dtype.itemsize > MAX_TEXT:
            raise InputError(
                f"{item.name} attribute {key!r}: has type {dtype} and shape {shape}; only strings and numbers are read"
            )
        value = item.attrs[key]
        found[key] = bytes(value).decode() if dtype.kind == "S" else float(value)
        if dtype.kind == "f" and not np.isfinite(value):
            raise InputError(f"{item.name} attribute {key!r}: is {value}; it must be finite")
    return found


def _datasets(file: h5py.File) -> Iterator[tuple[str, h5py.Dataset]]:
    """All data sets by path, reached by hard links only and each once."""
    pending: list[tuple[str, h5py.Group]] = [("", file)]
    seen = {h5py.h5o.get_info(file.id).addr}
    while pending:
        prefix, group = pending.pop()
        for name in group:
            path = f"{prefix}{name}"
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise InputError(f"{path}: is a soft or external link; only data held in the file itself is read")
            item = group[name]
            address = h5py.h5o.get_info(item.id).addr
            if address in seen:
                raise InputError(f"{path}: is linked twice or contains itself; a body file is a plain tree")
            seen.add(address)
            if len(seen) > MAX_OBJECTS:
                raise InputError(f"{path}: the file has more than {MAX_OBJECTS} items")
            if isinstance(item, h5py.Group):
                pending.append((path + "/", item))
            elif isinstance(item, h5py.Dataset):
                yield path, item
            else:
                raise InputError(f"{path}: is a named type; only data sets and groups are read")


def _check_schema(datasets: Mapping[str, h5py.Dataset], schema: Mapping[str, str]) -> None:
    """Every item of ``schema`` is there, no other, each of its type, shape and plain storage."""
    missing, unknown = sorted(schema.keys() - datasets.keys()), sorted(datasets.keys() - schema.keys())
    problems = [f"{item}: is missing" for item in missing] + [f"{item}: is unknown to {FORMAT}" for item in unknown]
    if problems:
        raise InputError(*problems[:20])
    sizes: dict[str, int] = {}
    for item, shape in schema.items():
        _check_storage(item, datasets[item])
        dims = datasets[item].shape
        if len(dims) != len(shape):
            raise InputError(f"{item}: has {len(dims)} dimensions; it must have {len(shape)}")
        for letter, size in zip(shape, dims):
            expected = int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
            if size != expected:
                raise InputError(f"{item}: has shape {dims}; a size of {expected} is needed where it has {size}")
    if sizes["f"] > MAX_MODES:
        raise InputError(f"elastic/K_ff: has {sizes['f']} modes; at most {MAX_MODES} are read")


def _check_storage(item: str, dataset: h5py.Dataset) -> None:
    """Plain contiguous numbers or fixed strings, all of them in the file, no more than the cap."""
    dtype, kind = dataset.dtype, _TYPES.get(item.rpartition("/")[2], "f")
    if dtype.kind != kind or (kind != "S" and dtype.itemsize != 8) or dtype.itemsize > 256 or dtype.subdtype or dtype.names:
        wanted = {"f": "64-bit floats", "i": "64-bit integers", "S": "fixed-length strings"}[kind]
        raise InputError(f"{item}: has type {dtype}; it must hold {wanted}")
    plist = dataset.id.get_create_plist()
    plain = plist.get_layout() in (h5py.h5d.CONTIGUOUS, h5py.h5d.COMPACT)
    if not plain or plist.get_nfilters() or plist.get_external_count() or dataset.is_virtual:
        raise InputError(f"{item}: is chunked, filtered, virtual or stored in another file; only plain storage is read")
    size = int(np.prod(dataset.shape, dtype=object)) * dtype.itemsize
    if size > MAX_BYTES:
        raise InputError(f"{item}: claims {size} bytes; at most {MAX_BYTES} are read")
    if size != dataset.id.get_storage_size():
        raise InputError(f"{item}: claims {size} bytes and holds {dataset.id.get_storage_size()}")


def _check_digest(key: str, arrays: Arrays, header: Mapping[str, str | float]) -> None:
    little = {item: value.astype(value.dtype.newbyteorder("<")) for item, value in arrays.items()}
    if _digest(little) != header.get(key):
        raise InputError(f"{key}: does not match the data; the file was changed after it was written")
