"""Interfaces in part files: a kind, one place (a named set, about a point, on a plane), position and axes of the frame.

[interfaces.hub]
kind = "rigid"                                    # or "averaged"
set = "hub_face"                                  # or point = [x, y, z] with radius, or
                                                  # plane = { point = [x, y, z], normal = [x, y, z], tolerance = 1e-6 }
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from flexmbs.declaration import NestedError, Problem, close_names, shown
from preprocess.interfaces import INTERFACES, Interface, Plane, Point, Region
from preprocess.part_file.records import Files, as_table, field_names, key_problems, read_record

PLACES = ("set", "point", "plane")


def read_interface(table: Any, files: Files) -> Interface:
    """The interface of a table. Raises NestedError with every problem."""
    given = as_table(table)
    kind = given.get("kind", "rigid")
    if not isinstance(kind, str) or kind not in INTERFACES:
        raise NestedError([Problem(("kind",), f"no such kind {shown(kind)}; {close_names(str(kind), INTERFACES)}")])
    own = [name for name in field_names(INTERFACES[kind]) if name != "where"]
    problems = key_problems(given, ["kind", *PLACES, "radius", *own], [])
    where: str | Region = ""
    try:
        where = _where(given, files)
    except NestedError as error:
        problems += error.problems
    try:
        made = read_record(INTERFACES[kind], {"where": "", **{key: given[key] for key in own if key in given}}, files)
    except NestedError as error:
        problems += error.problems
    if problems:
        raise NestedError(problems)
    return dataclasses.replace(made, where=where)


def _where(table: Mapping[str, Any], files: Files) -> str | Region:
    """The place that one of the keys gives."""
    given = [key for key in PLACES if key in table]
    if len(given) != 1:
        raise NestedError([Problem((), f"give one of {', '.join(PLACES)}" + (f", not {' and '.join(given)}" if given else ""))])
    if "radius" in table and given != ["point"]:
        raise NestedError([Problem(("radius",), "goes with point; leave it out")])
    match given[0]:
        case "point":
            keys = {"position": "point", "radius": "radius"}
            return read_record(Point, {name: table[key] for name, key in keys.items() if key in table}, files)
        case "plane":
            return _inside("plane", table["plane"], files)
    if not isinstance(table["set"], str):
        raise NestedError([Problem(("set",), f"must be the name of a set, not {shown(table['set'])}")])
    return table["set"]


def _inside(key: str, table: Any, files: Files) -> Region:
    try:
        return read_record(Plane, as_table(table), files)
    except NestedError as error:
        raise NestedError(Problem((key, *inner.path), inner.message) for inner in error.problems) from None
