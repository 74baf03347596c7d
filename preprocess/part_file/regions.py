"""Interfaces, connections and attached masses on a region of the mesh.

A region is a named set, nodes about a point or on a plane, or a face of a CAD model.

[interfaces.hub]
kind = "rigid"                  # or "averaged"
set = "hub_face"                # or point = [x, y, z] with radius, or plane = { point = [x, y, z],
                                # normal = [x, y, z], tolerance = 1e-6 }, or the conditions of a
hole = "10 mm"                  # face of a CAD model, with lengths in m or as texts with units
near = [0, 0, 0]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flexmbs.declaration import NestedError, Problem, raise_nested, shown
from flexmbs.errors import InputError
from preprocess.cad.faces import Face
from preprocess.fe.connections import CONNECTIONS, Connection
from preprocess.fe.interfaces import INTERFACES, Interface
from preprocess.inputs.units import length
from preprocess.mesh.node_regions import Plane, Point, Region
from preprocess.part_file.from_tables import (
    Made,
    PartFiles,
    as_table,
    field_names,
    key_problems,
    read_kind,
    read_record,
    record_values,
)

REGION_KEYS = ("set", "point", "plane")
FACE_KEYS = field_names(Face)  # of a face of a CAD model; ``plane`` is then true
LENGTH_KEYS = ("cylinder", "hole", "sphere", "near")


def read_interface(table: Any, files: PartFiles) -> Interface:
    """Interface of a table. Raises NestedError with every problem, InputError."""
    return _read_kind(INTERFACES, table, "rigid", files)


def read_connection(table: Any, files: PartFiles) -> Connection:
    """Connection of a table. Raises NestedError with every problem, InputError."""
    return _read_kind(CONNECTIONS, table, "rigid-spider", files)


def _read_kind(kinds: Mapping[str, type[Made]], table: Any, default: str, files: PartFiles) -> Made:
    """Object of the table's kind, with a region if it has one."""
    given = as_table(table)
    kind = given.get("kind", default)
    if not isinstance(kind, str) or kind not in kinds or "where" not in field_names(kinds[kind]):
        return read_kind(kinds, table, default, files)
    return read_with_region(
        kinds[kind], {key: value for key, value in given.items() if key != "kind"}, files
    )


def read_with_region(cls: type[Made], table: Any, files: PartFiles) -> Made:
    """Read an object with a region as argument ``where`` from a table of a part file.

    Raises NestedError with every problem, InputError from the constructor.
    """
    given = as_table(table)
    own = [name for name in field_names(cls) if name != "where"]
    known = [*REGION_KEYS, "radius", *own, *(key for key in FACE_KEYS if key not in own)]
    problems = key_problems(given, list(dict.fromkeys(known)), [])
    values: dict[str, Any] = {}
    try:
        values = record_values(
            cls, {"where": "", **{key: given[key] for key in own if key in given}}, files
        )
    except NestedError as error:
        problems += error.problems
    try:
        values["where"] = _where({key: given[key] for key in given if key not in own}, files)
    except NestedError as error:
        problems += error.problems
    raise_nested(problems)
    return cls(**values)


def _where(table: Mapping[str, Any], files: PartFiles) -> str | Region:
    """Region of nodes given by one of the keys of a table."""
    of_face = [key for key in FACE_KEYS if key in table and not _plane_region(key, table)]
    given = [key for key in REGION_KEYS if key in table and key not in of_face]
    if of_face and not given and "radius" not in table:
        return read_face({key: table[key] for key in of_face}, files)
    if len(given) != 1 or of_face:
        raise NestedError.at(
            (),
            f"give one of {', '.join(REGION_KEYS)}, or conditions of a face"
            + (f", not {' and '.join([*given, *of_face])}" if given else ""),
        )
    if "radius" in table and given != ["point"]:
        raise NestedError.at(("radius",), "requires point; omit it")
    match given[0]:
        case "point":
            keys = {"position": "point", "radius": "radius"}
            return read_record(
                Point, {name: table[key] for name, key in keys.items() if key in table}, files
            )
        case "plane":
            return _inside("plane", table["plane"], files)
    if not isinstance(table["set"], str):
        raise NestedError.at(("set",), f"must be the name of a set, not {shown(table['set'])}")
    return table["set"]


def _plane_region(key: str, table: Mapping[str, Any]) -> bool:
    """True if the key is ``plane`` with the point and normal of a region of any mesh."""
    return key == "plane" and not isinstance(table[key], bool)


def read_face(table: Mapping[str, Any], files: PartFiles) -> Face:
    """Face of a CAD model by its conditions, lengths in m or as texts with a unit."""
    return read_record(
        Face,
        {key: in_metres(value, key) if key in LENGTH_KEYS else value for key, value in table.items()},
        files,
    )  # fmt: skip


def in_metres(value: Any, key: str) -> Any:
    """Value with texts such as "4 mm" as numbers, in lists too. Raises NestedError."""
    if isinstance(value, list):
        return [in_metres(each, key) for each in value]
    try:
        return length(value) if isinstance(value, str) else value
    except InputError as error:
        raise NestedError.at((key,), str(error)) from None


def _inside(key: str, table: Any, files: PartFiles) -> Region:
    """Plane that bounds a region, from a table. Raises `NestedError` with the key."""
    try:
        return read_record(Plane, as_table(table), files)
    except NestedError as error:
        raise NestedError(
            Problem((key, *inner.path), inner.message) for inner in error.problems
        ) from None
