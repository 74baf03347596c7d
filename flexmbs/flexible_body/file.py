"""HDF5 file of a flexible body.

Only fixed-size little-endian numbers and UTF-8 strings in named data sets.

The reader accepts untrusted files (`flexmbs.files.hdf5`) and rejects unknown items, wrong
shapes and a wrong digest.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from flexmbs import __version__
from flexmbs.errors import InputError
from flexmbs.files.hdf5 import (
    attributes,
    check_items,
    check_storage,
    datasets,
    mapped,
    read_whole,
    set_text,
    write_atomically,
)
from flexmbs.flexible_body.components import (
    FlexibleFrame,
    GeometricStiffness,
    ModeTable,
    ResidualModes,
    Surface,
)
from flexmbs.flexible_body.plies import Plies, file_items
from flexmbs.flexible_body.stress import StressModes

GENERATOR = f"flexmbs {__version__}"
FORMAT = "flexmbs-flexible-body/1"
DIVIDED = "flexmbs-flexible-body/1 in pieces"
UNITS = "m kg s rad N"
MAX_MODES = 2000

if TYPE_CHECKING:
    from flexmbs.flexible_body.record import FlexibleBodyData

D = TypeVar("D", bound="FlexibleBodyData")
Arrays = dict[str, NDArray[np.generic]]

# Shape of every item; a letter denotes a size common to all items: f modes, n nodes, t triangles, e
# residual modes; for stresses r rows, l unit loads, m materials, i interfaces, p points of
# laminates, k plies, a laminates plus one; * any size.
_BODY = {
    "elastic/K_ff": "ff", "elastic/D_ff": "ff",
    "inertia/mass": "", "inertia/first_moment": "3", "inertia/second_moment": "33",
    "inertia/S_bar": "3f", "inertia/xS": "33f", "inertia/SS": "33ff",
    "modes/frequency": "f", "modes/kind": "f", "modes/effective_mass": "f6", "modes/damping": "f",
}  # fmt: skip
_FRAME = {"x": "3", "R": "33", "phi": "3f", "psi": "3f", "kind": ""}
_CUT = {"local": "*f", "cut": ""}  # items of frames at cuts
_PIECE = {"elastic/damping_rows": "*f"}
_SURFACE = {
    "surface/nodes": "n3",
    "surface/phi": "n3f",
    "surface/triangles": "t3",
    "surface/node_ids": "n",
}
_GEOMETRIC = {
    "geometric/acceleration": "3ff",
    "geometric/angular_acceleration": "3ff",
    "geometric/rotation": "6ff",
}
_RESIDUAL = {
    "residual/frequency": "e",
    "residual/damping": "e",
    "residual/loads": "e*",
    "residual/mass": "ef",
    "residual/stiffness": "ef",
}
_STRESS = {
    "stress/rows": "r",
    "stress/modes": "r6f",
    "stress/correction": "r6l",
    "stress/interfaces": "i",
    "stress/material": "r",
    "stress/compliance": "m66",
    "stress/yield_stress": "m",
}
_OPTIONAL_STRESS = {"stress/initial": "r6", "stress/missing": "ll"}
_PLIES = {
    "stress/plies/bottom": "p",
    "stress/plies/top": "p",
    "stress/plies/axes": "p33",
    "stress/plies/laminate": "p",
    "stress/plies/first": "a",
    "stress/plies/heights": "k2",
    "stress/plies/angle": "k",
    "stress/plies/moduli": "k33",
    "stress/plies/strengths": "k5",
}
_TYPES = {
    "kind": "S",
    "cut": "S",
    "triangles": "i",
    "node_ids": "i",
    "stress/rows": "i",
    "stress/material": "i",
    "stress/interfaces": "S",
    "stress/modes": "g",
    "stress/correction": "g",
    **dict.fromkeys(
        ("stress/plies/bottom", "stress/plies/top", "stress/plies/laminate", "stress/plies/first"),
        "i",
    ),
}
_GROUPS = ("elastic", "inertia", "modes", "frames", "surface", "provenance")


def write(data: FlexibleBodyData, path: str | os.PathLike[str]) -> None:
    """Write ``data`` to the file ``path``, atomically. Raises MachineError."""
    write_atomically(path, lambda file: fill(file, data))


def read(path: str | os.PathLike[str], make: type[D], *, surface: bool = True) -> D:
    """Read the body in the file ``path``, optionally without its surface.

    Raises InputError naming the file and the item.
    """
    return read_whole(
        path, lambda file: body(file, make, surface), "flexmbs preprocess or FlexibleBodyData.save"
    )


def reduced_digest(data: FlexibleBodyData) -> str:
    """SHA-256 of integrals, matrices, frames and modes.

    Covers names, types, shapes and little-endian bytes in sorted order.
    """
    return _digest(_reduced(data))


def _reduced(data: FlexibleBodyData) -> Arrays:
    """Arrays of the reduced matrices and modes by item of the file."""
    arrays: Arrays = {
        "elastic/K_ff": data.K_ff, "elastic/D_ff": data.D_ff, "inertia/mass": np.asarray(data.mass),
        "inertia/first_moment": data.first_moment, "inertia/second_moment": data.second_moment,
        "inertia/S_bar": data.S_bar, "inertia/xS": data.xS, "inertia/SS": data.SS,
        "modes/frequency": data.modes.frequency, "modes/kind": _texts(data.modes.kind),
        "modes/effective_mass": data.modes.effective_mass, "modes/damping": data.modes.damping,
    }  # fmt: skip
    if len(data.damping_rows):
        arrays["elastic/damping_rows"] = data.damping_rows
    for name, frame in data.frames.items():
        parts = {
            "x": frame.x,
            "R": frame.R,
            "phi": frame.phi,
            "psi": frame.psi,
            "kind": _texts(frame.kind),
        }
        parts |= {"local": frame.local} if len(frame.local) else {}
        parts |= {"cut": _texts(frame.cut)} if frame.cut else {}
        arrays |= {f"frames/{name}/{part}": value for part, value in parts.items()}
    if data.geometric is not None:
        arrays |= {item: getattr(data.geometric, item.partition("/")[2]) for item in _GEOMETRIC}
        arrays |= {f"frames/{name}/geometric": K0 for name, K0 in data.geometric.frames.items()}
    if data.residual is not None:
        arrays |= {item: getattr(data.residual, item.partition("/")[2]) for item in _RESIDUAL}
    return {
        item: np.asarray(value).astype(np.asarray(value).dtype.newbyteorder("<"))
        for item, value in arrays.items()
    }


def _surface(surface: Surface | None) -> Arrays:
    """Arrays of the surface by item of the file, little-endian; empty without a surface."""
    if surface is None:
        return {}
    items = {
        "surface/nodes": surface.nodes,
        "surface/phi": surface.phi,
        "surface/triangles": surface.triangles,
        "surface/node_ids": surface.node_ids,
    }
    return {item: value.astype(value.dtype.newbyteorder("<")) for item, value in items.items()}


def _stress(stress: StressModes | None) -> Arrays:
    """Arrays of the stress modes by item of the file; empty without stress."""
    if stress is None:
        return {}
    values = {
        name: getattr(stress, name)
        for name in ("rows", "modes", "correction", "material", "compliance", "yield_stress")
    }
    values |= {"interfaces": _texts(stress.interfaces)}
    values |= {
        name: value
        for name in ("initial", "missing")
        if (value := getattr(stress, name)) is not None
    }
    values |= (
        {}
        if stress.plies is None
        else {f"plies/{name}": value for name, value in file_items(stress.plies).items()}
    )
    return {f"stress/{name}": _little(value) for name, value in values.items()}


def _little(value: NDArray[np.generic]) -> NDArray[np.generic]:
    """Same numbers in little-endian order, copied only if necessary."""
    return value.astype(value.dtype.newbyteorder("<"), copy=False)


def _texts(texts: str | tuple[str, ...]) -> NDArray[np.bytes_]:
    """Array of bytes of one or more texts, for HDF5."""
    encoded = texts.encode() if isinstance(texts, str) else [text.encode() for text in texts]
    array = np.array(encoded, dtype=np.bytes_)
    return array if array.dtype.itemsize else array.astype("S1")


def _digest(arrays: Mapping[str, NDArray[np.generic]]) -> str:
    """SHA-256 digest of named arrays."""
    digest = hashlib.sha256()
    for item in sorted(arrays):
        array = np.ascontiguousarray(arrays[item])
        digest.update(f"{item} {array.dtype.str} {arrays[item].shape}\n".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def fill(file: h5py.Group, data: FlexibleBodyData) -> None:
    """Write a flexible body into an empty HDF5 group."""
    reduced, surface, stress = _reduced(data), _surface(data.surface), _stress(data.stress)
    header = {
        "format": FORMAT, "name": data.name, "units": UNITS, "generator": GENERATOR,
        "sha256": _digest(reduced), "sha256_surface": _digest(surface),
    } | ({"sha256_stress": _digest(stress)} if stress else {})  # fmt: skip
    for key, text in header.items():
        set_text(file, key, text)
    for group in _GROUPS:
        file.create_group(group, track_order=True)
    for name in data.frames:
        file["frames"].create_group(name, track_order=True)
    for item, array in (reduced | surface | stress).items():
        file.create_dataset(item, data=array)
    for key, value in data.provenance.items():
        if isinstance(value, str):
            set_text(file["provenance"], key, value)
        else:
            file["provenance"].attrs[key] = np.float64(value)


def body(file: h5py.Group, make: type[D], with_surface: bool = True) -> D:
    """Read the body in a group; every item is checked before it is read. Raises InputError."""
    header = attributes(file)
    if header.get("format") == DIVIDED:
        raise InputError(
            "is a divided body with several pieces: use it in models or `preprocess inspect`"
        )
    if header.get("format") != FORMAT:
        raise InputError(
            f"format: is {header.get('format', 'missing')!r}; this version reads {FORMAT!r}"
        )
    found = dict(datasets(file))
    frames = list(file["frames"]) if isinstance(file.get("frames"), h5py.Group) else []
    schema = _BODY | {
        f"frames/{name}/{part}": shape for name in frames for part, shape in _FRAME.items()
    }
    schema |= {item: shape for item, shape in _PIECE.items() if item in found}
    schema |= {
        item: shape
        for name in frames
        for part, shape in _CUT.items()
        if (item := f"frames/{name}/{part}") in found
    }
    if any(item in _GEOMETRIC for item in found):
        given = [item for name in frames if (item := f"frames/{name}/geometric") in found]
        schema |= _GEOMETRIC | dict.fromkeys(given, "6ff")
    if any(item in _RESIDUAL for item in found):
        schema |= _RESIDUAL
    has_surface = any(item.startswith("surface/") for item in found)
    recovery = _stress_schema(found)
    _check_schema(found, schema | (_SURFACE if has_surface else {}) | recovery)
    reduced = {item: found[item][()] for item in schema}
    surface = {item: found[item][()] for item in _SURFACE} if has_surface and with_surface else {}
    _check_digest("sha256", reduced, header)
    if surface or not has_surface:
        _check_digest("sha256_surface", surface, header)
    stress = {
        item: mapped(found[item]) if _TYPES.get(item) == "g" else found[item][()]
        for item in recovery
        if surface
    }
    if stress:
        _check_digest("sha256_stress", stress, header)
    provenance = attributes(file["provenance"]) if "provenance" in file else {}
    return make(**_values(header, reduced, frames, surface, provenance, stress))


def _stress_schema(found: Mapping[str, h5py.Dataset]) -> dict[str, str]:
    """Schema of the items of the stresses; empty if the file has none."""
    if not any(item.startswith("stress/") for item in found):
        return {}
    plies = _PLIES if any(item in found for item in _PLIES) else {}
    return (
        _STRESS | {item: shape for item, shape in _OPTIONAL_STRESS.items() if item in found} | plies
    )


def _values(
    header: Mapping[str, str | float],
    arrays: Arrays,
    frames: list[str],
    surface: Arrays,
    provenance: dict[str, str | float],
    stress: Arrays,
) -> dict[str, Any]:
    """Field values of a flexible body from the items of its file."""
    modes = {
        item.removeprefix("modes/"): arrays[item] for item in _BODY if item.startswith("modes/")
    }
    kinds = tuple(kind.decode() for kind in modes.pop("kind").tolist())
    items = {name: {part: f"frames/{name}/{part}" for part in _FRAME | _CUT} for name in frames}
    parts = {
        name: {part: arrays[item] for part, item in own.items() if item in arrays}
        for name, own in items.items()
    }
    numbers = {
        item.partition("/")[2]: arrays[item]
        for item in arrays
        if item.startswith(("elastic/", "inertia/"))
    }
    own = {item.partition("/")[2]: arrays[item] for item in _RESIDUAL if item in arrays}
    return dict(
        name=str(header.get("name", "")),
        **numbers,  # type: ignore[arg-type]
        frames={name: FlexibleFrame(**_decoded(own)) for name, own in parts.items()},
        modes=ModeTable(kind=kinds, **modes),  # type: ignore[arg-type]
        surface=Surface(**{item.partition("/")[2]: value for item, value in surface.items()})  # type: ignore[arg-type]
        if surface
        else None,
        provenance=provenance,
        geometric=_geometric(arrays, frames)
        if any(item in _GEOMETRIC for item in arrays)
        else None,
        stress=_stress_record(stress) if stress else None,
        residual=ResidualModes(**own) if own else None,  # type: ignore[arg-type]
    )


def _decoded(items: Arrays) -> dict[str, Any]:
    """Items of a frame, with bytes decoded to strings."""
    return {
        part: bytes(value).decode() if _TYPES.get(part) == "S" else value
        for part, value in items.items()
    }  # type: ignore[call-overload]


def _geometric(arrays: Arrays, frames: list[str]) -> GeometricStiffness:
    """Geometric stiffness from the arrays of a file, with that of each interface."""
    own = {item.partition("/")[2]: arrays[item] for item in _GEOMETRIC}
    given = {
        name: arrays[item] for name in frames if (item := f"frames/{name}/geometric") in arrays
    }
    return GeometricStiffness(**own, frames=given)  # type: ignore[arg-type]


def _stress_record(arrays: Arrays) -> StressModes:
    """Stress modes and plies from the arrays of a file."""
    values: dict[str, Any] = {
        item.partition("/")[2]: value for item, value in arrays.items() if item not in _PLIES
    }
    values["interfaces"] = tuple(name.decode() for name in values["interfaces"].tolist())
    plies = {item.rpartition("/")[2]: arrays[item] for item in _PLIES if item in arrays}
    return StressModes(**values, plies=Plies(**plies) if plies else None)  # type: ignore[arg-type]


def _check_schema(found: Mapping[str, h5py.Dataset], schema: Mapping[str, str]) -> None:
    """Raise InputError unless the items are those of ``schema``, with type and shape.

    Their storage must be plain.
    """
    check_items(dict(found), set(schema), FORMAT)
    sizes: dict[str, int] = {}
    for item, shape in schema.items():
        check_storage(
            item, found[item], _TYPES.get(item) or _TYPES.get(item.rpartition("/")[2], "f")
        )
        dims = found[item].shape
        if len(dims) != len(shape):
            raise InputError(f"{item}: has {len(dims)} dimensions; it must have {len(shape)}")
        for letter, size in zip(shape, dims):
            expected = int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
            if size != expected and letter != "*":
                raise InputError(f"{item}: has shape {dims}; a size must be {expected}, not {size}")
    if sizes["f"] > MAX_MODES:
        raise InputError(f"elastic/K_ff: has {sizes['f']} modes; at most {MAX_MODES} are read")


def _check_digest(key: str, arrays: Arrays, header: Mapping[str, str | float]) -> None:
    """Raise `InputError` if arrays do not match the digest in the header."""
    little = {item: _little(value) for item, value in arrays.items()}
    if _digest(little) != header.get(key):
        raise InputError(
            f"{key}: does not match the data; the file was changed after it was written"
        )
