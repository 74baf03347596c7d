"""Paths of the keys of a part file.

``material.E``, ``interfaces.hub.point.x``, ``point_masses.motor.mass``. Names may contain dots.
Elements of a list are ``x``, ``y``, ``z`` of three, or ``0``, ``1``, …
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from flexmbs.declaration import shown
from flexmbs.errors import InputError


def numbers_in(table: Mapping[str, Any]) -> dict[str, float]:
    """All finite numbers of a table by their paths."""
    return {".".join(path): value for path, value in _numbers(table, ())}


def _numbers(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    """(path, number) of all finite numbers within a value."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        yield path, float(value)
    for name, part in _parts(value).items():
        yield from _numbers(part, (*path, name))


def with_values(table: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Copy of a table with other values at the paths.

    Raises InputError for a path through a value without keys.
    """
    made = dict(table)
    for path, value in values.items():
        made = _with_value(made, path, value, path)
    return made


def _with_value(container: Any, rest: str, value: Any, path: str) -> Any:
    """Container with a value at the rest of a path.

    The first key is the longest of its names that begins the path, or a new one.
    """
    parts = _parts(container)
    found = max((name for name in parts if f"{rest}.".startswith(f"{name}.")), key=len, default="")
    after = rest[len(found) + 1 :]
    if not found and not isinstance(container, Mapping):
        raise InputError(f"{path}: '{rest}' is not in {shown(container)}")
    part = _with_value(parts[found], after, value, path) if found and after else value
    if isinstance(container, Mapping):
        return {**container, found or rest: part}
    at = list(parts).index(found)
    return [part if i == at else each for i, each in enumerate(container)]


def _parts(value: Any) -> Mapping[str, Any]:
    """Keys that a path can name within a value."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list):
        return dict(zip("xyz" if len(value) == 3 else map(str, range(len(value))), value))
    return {}
