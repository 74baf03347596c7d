"""User functions identified by what they compute: a digest of their code and of all that it refers to."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.declaration import Declaration
from flexmbs.model.toml_write import SECTIONS

if TYPE_CHECKING:
    from flexmbs.model.model import ModelData

PLAIN = (bool, int, float, complex, str, bytes, types.NoneType, types.EllipsisType)
DEPTH = 100  # of values within values that are looked at: objects of other programs may refer to everything
INSTALLED = ("site-packages", "dist-packages", "lib/python")  # code there is identified by versions


def functions_of(model: ModelData) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Places in a model, ``forces.push.force``, and their user functions."""
    for section in SECTIONS:
        for name, item in model.items(section).items():
            yield from _within(f"{section}.{name}", item)


def _within(place: str, value: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    if isinstance(value, Declaration):
        for field in value.ordered_fields():
            yield from _within(f"{place}.{field.name}", getattr(value, field.name))
    elif isinstance(value, (tuple, list)):
        for k, item in enumerate(value):
            yield from _within(f"{place}.{k}", item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _within(f"{place}.{key}", item)
    elif callable(value):
        yield place, value


def code_digest(function: Callable[..., Any]) -> str:
    """SHA-256 of a function's code, defaults, enclosed values and of the global names it uses, functions among them in the same
    way, those of installed packages by name; of a callable object also its attributes."""
    digest = hashlib.sha256()
    _add(digest.update, function, {})
    return digest.hexdigest()


def _add(put: Callable[[bytes], None], value: Any, seen: dict[int, Any], depth: int = 0) -> None:
    """Add a value to a digest, everything that it refers to once, to some depth."""
    if isinstance(value, PLAIN):
        return put(f"{type(value).__name__} {value!r};".encode())
    if id(value) in seen:
        return put(b"seen;")
    seen[id(value)] = value  # kept, for its identity
    put(f"{type(value).__qualname__}(".encode())
    for part in _parts(value) if depth < DEPTH else ():
        if isinstance(part, bytes):
            put(part)
        else:
            _add(put, part, seen, depth + 1)
    return put(b");")


def _parts(value: Any) -> Iterator[Any]:
    """What a value consists of: bytes, or further values."""
    value = getattr(value, "py_func", value)  # of a compiled function
    match value:
        case np.ndarray():
            yield f"{value.dtype.str} {value.shape}".encode()
            yield value.tobytes() if not value.dtype.hasobject else value.tolist()
        case np.generic():
            yield value.item()
        case tuple() | list():
            yield from value
        case set() | frozenset():
            yield sorted(map(repr, value))
        case Mapping():
            yield from (part for pair in value.items() for part in pair)
        case types.CodeType():
            yield value.co_code
            yield from (value.co_consts, value.co_names, value.co_varnames)
        case functools.partial():
            yield from (value.func, value.args, value.keywords)
        case types.MethodType():
            yield from (value.__func__, value.__self__)
        case types.FunctionType() if not _installed(value):
            yield from (value.__code__, value.__defaults__, value.__kwdefaults__)
            names = inspect.getclosurevars(value)
            yield from (dict(names.nonlocals), dict(sorted(names.globals.items())))
        case types.ModuleType() | type() | types.BuiltinFunctionType() | types.FunctionType():
            yield f"{getattr(value, '__module__', '')}.{value.__name__}".encode()
        case _:
            if isinstance(call := inspect.getattr_static(type(value), "__call__", None), types.FunctionType):
                yield call
            if dataclasses.is_dataclass(value):
                yield from (getattr(value, field.name) for field in dataclasses.fields(value))
            elif not type(value).__module__.startswith("flexmbs."):  # whose objects may hold what they have computed
                yield getattr(value, "__dict__", {})


def _installed(function: types.FunctionType) -> bool:
    return any(part in function.__code__.co_filename.replace("\\", "/") for part in INSTALLED)
