"""Construction of objects from TOML tables.

The keys are the constructor's arguments, checked by its annotations.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import ConfigDict, TypeAdapter, ValidationError

from flexmbs.declaration import NestedError, Problem, close_names, raise_nested, shown
from flexmbs.errors import InputError
from flexmbs.files.inputs import check_regular, read_text
from flexmbs.toml.document import Locator
from preprocess.fe.material_library import MaterialData
from preprocess.inputs.reader_guard import error_summary

Made = TypeVar("Made")
WORDS = {
    "int_type": "an integer",
    "float_type": "a number",
    "string_type": "a string",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "missing": "a longer list",
    "too_long": "a shorter list",
}
# an alias with a name of its own from NumPy 2.5 on
_ARRAY = set(typing.get_args(ArrayLike)) or {ArrayLike}


class PartFiles:
    """Files of a part, inside its folder unless allowed otherwise; ``used`` lists them.

    ``materials``: those of its own file of materials; None if that is damaged.
    """

    def __init__(self, locator: Locator) -> None:
        self.locator = locator
        self.used: list[Path] = []
        self.materials: tuple[MaterialData, ...] | None = ()

    def path(self, file: str, key: str) -> Path:
        """Absolute path under a key. Raises NestedError for a file outside the folder."""
        path = self.locator.path(file, key)
        self.used.append(path)
        return path


def read_kind(kinds: Mapping[str, type[Made]], table: Any, default: str, files: PartFiles) -> Made:
    """Object of the kind that ``table["kind"]`` names. Raises NestedError, InputError."""
    given = as_table(table)
    kind = given.get("kind", default)
    if not isinstance(kind, str) or kind not in kinds:
        raise NestedError.at(
            ("kind",), f"unknown kind {shown(kind)}; {close_names(str(kind), kinds)}"
        )
    return read_record(
        kinds[kind], {key: value for key, value in given.items() if key != "kind"}, files
    )


def read_record(cls: type[Made], table: Mapping[str, Any], files: PartFiles) -> Made:
    """Make a dataclass from a table. Raises NestedError.

    Raises NestedError with every problem, InputError from the constructor.
    """
    return cls(**record_values(cls, table, files))


def record_values(cls: type, table: Mapping[str, Any], files: PartFiles) -> dict[str, Any]:
    """Arguments of a dataclass from a table. Raises NestedError with every problem."""
    hints, values = typing.get_type_hints(cls), dict[str, Any]()
    problems = key_problems(table, field_names(cls), required_names(cls))
    for name in field_names(cls):
        if name in table:
            try:
                values[name] = _value(hints[name], table[name], name, files)
            except NestedError as error:
                problems += error.problems
    raise_nested(problems)
    return values


def field_names(cls: type) -> list[str]:
    """Names of the constructor arguments of a dataclass."""
    return [field.name for field in dataclasses.fields(cls) if field.init]


def required_names(cls: type) -> list[str]:
    """Names of the constructor arguments without a default."""
    return [field.name for field in dataclasses.fields(cls) if field.init and _required(field)]


def key_problems(
    table: Mapping[str, Any], known: Sequence[str], required: Sequence[str]
) -> list[Problem]:
    """Problems of unknown and missing keys of a table."""
    problems = [
        Problem((key,), f"unknown key; {close_names(key, known)}")
        for key in table
        if key not in known
    ]
    return problems + [Problem((key,), "is missing") for key in required if key not in table]


def as_table(value: Any) -> Mapping[str, Any]:
    """Value that must be a table. Raises NestedError."""
    if not isinstance(value, Mapping):
        raise NestedError.at((), f"must be a table, not {shown(value)}")
    return value


def problem_at(problem: str, path: tuple[str, ...], table: Any) -> Problem:
    """Problem of a constructor with its key path.

    ``method.modes: is 0`` or ``material: nu = 0.5 …``.
    """
    name, separator, what = problem.partition(": ")
    keys = tuple(name.split("."))
    if not separator or keys[0] not in (path[0], path[0].removesuffix("s")):
        return Problem(path, problem)
    word = re.split(r"\W", what, maxsplit=1)[0]
    return Problem(
        (*path, *(keys[1:] or ((word,) if isinstance(table, Mapping) and word in table else ()))),
        what,
    )


def numbers(value: Any, key: str, files: PartFiles) -> Any:
    """Nested lists of numbers as tuples, or the name of a file of numbers (.npy, .csv, .txt).

    Raises NestedError.
    """
    if isinstance(value, str):
        return _array(files.path(value, key))
    return _number_or_numbers(value, key)


def _number_or_numbers(value: Any, key: str) -> Any:
    """Number, or nested tuples of numbers. Raises `NestedError`."""
    if isinstance(value, (list, tuple)):
        return tuple(_number_or_numbers(item, key) for item in value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NestedError.at((key,), f"must be a number, not {shown(value)}")
    return float(value)


def _array(path: Path) -> Any:
    """Array of an .npy, .csv or text file. Raises `NestedError`."""
    try:
        if path.suffix.lower() == ".npy":
            check_regular(path)
            return np.load(path, allow_pickle=False)
        return np.loadtxt(
            read_text(path).splitlines(),
            delimiter="," if path.suffix.lower() == ".csv" else None,
            ndmin=2,
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except InputError:
        raise
    except Exception as error:  # of damaged headers NumPy raises errors of many kinds
        raise InputError(f"{path}: is not an array of numbers ({error_summary(error)})") from None


def _required(field: dataclasses.Field[Any]) -> bool:
    """True if a field has no default."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _value(hint: Any, value: Any, key: str, files: PartFiles) -> Any:
    """Value converted to the annotated type of a field. Raises NestedError.

    Integers are accepted as real numbers; nothing else is converted.
    """
    if is_array(hint):
        return numbers(value, key, files)
    try:
        return type_adapter(hint).validate_python(_frozen(value), strict=True)
    except ValidationError as error:
        found = dict.fromkeys(
            _expected_text(item["type"], item["msg"]) for item in error.errors(include_url=False)
        )
        raise NestedError.at((key,), f"must be {' or '.join(found)}, not {shown(value)}") from None


def is_array(hint: Any) -> bool:
    """True if an annotation stands for an array of numbers, which may be in a file."""
    return {hint, *typing.get_args(hint)} >= _ARRAY


def _expected_text(kind: str, message: str) -> str:
    """Text of what a key must be, from the kind of a pydantic error."""
    return WORDS.get(kind, message.removeprefix("Input should be "))


@functools.cache
def type_adapter(hint: Any) -> TypeAdapter[Any]:
    """Validator of values of an annotated type."""
    return TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))


def _frozen(value: Any) -> Any:
    """Value with nested lists converted to tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
