"""User functions identified by what they compute: a digest of their code and of all that it refers to."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import os
import sys
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
OWN = ("flexmbs", "preprocess")  # as are these packages, wherever they are
LONGEST = 1000  # characters of a text that may be the path of a file


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
    way, those of installed packages by name, of the user's own modules the names used of them; of a callable object also its
    attributes."""
    digest = hashlib.sha256()
    _add(digest.update, function, {}, set())
    return digest.hexdigest()


def contents_named(value: Any) -> dict[str, str]:
    """SHA-256 by path of the files with an ending that are there and that a value, also a function, names in a text or a path.

    Relative ones lie in the present folder, or beside a module that refers to its own ``__file__``.
    """
    texts: set[str] = set()
    _add(lambda _: None, value, {}, texts)
    modules = {getattr(module, "__file__", None) for module in list(sys.modules.values())}  # known by their code
    possible = [text for text in texts if len(text) < LONGEST and "\0" not in text and os.path.splitext(text)[1]]
    folders = {"", *(os.path.dirname(text) for text in texts & modules)}
    paths = {os.path.join(folder, text) for folder in folders for text in possible} - modules
    return {path: _content(path) for path in sorted(filter(os.path.isfile, paths))}


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _add(put: Callable[[bytes], None], value: Any, seen: dict[int, Any], texts: set[str], depth: int = 0) -> None:
    """Add a value to a digest, everything that it refers to once, to some depth, and texts among them to ``texts``."""
    if isinstance(value, PLAIN):
        if isinstance(value, str):
            texts.add(value)
        return put(f"{type(value).__name__} {value!r};".encode())
    if id(value) in seen:
        return put(b"seen;")
    seen[id(value)] = value  # kept, for its identity
    put(f"{type(value).__qualname__}(".encode())
    for part in _parts(value) if depth < DEPTH else ():
        if isinstance(part, bytes):
            put(part)
        else:
            _add(put, part, seen, texts, depth + 1)
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
            yield _used(value)
        case os.PathLike():
            yield os.fspath(value)
        case types.ModuleType() | type() | types.BuiltinFunctionType() | types.FunctionType():
            yield f"{getattr(value, '__module__', '')}.{value.__name__}".encode()
        case _:
            if isinstance(call := inspect.getattr_static(type(value), "__call__", None), types.FunctionType):
                yield call
            if dataclasses.is_dataclass(value):
                yield from (getattr(value, field.name) for field in dataclasses.fields(value))
            elif not type(value).__module__.startswith("flexmbs."):  # whose objects may hold what they have computed
                yield getattr(value, "__dict__", {})
                if _with_slots(value):
                    yield _reduced(value)


def _used(function: types.FunctionType) -> dict[str, Any]:
    """Values by the names with which a function and those within it refer to them: enclosed and global ones."""
    code, names = function.__code__, sorted(_names(function.__code__))
    found: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # nothing is there yet
            found[name] = cell.cell_contents
    known = function.__globals__
    return found | {name: _of_module(known[name], names, {}) for name in names if name in known}


def _names(code: types.CodeType) -> set[str]:
    """Names of globals and attributes in a code and in those within it, such as lambdas and comprehensions."""
    inner = (_names(each) for each in code.co_consts if isinstance(each, types.CodeType))
    return set(code.co_names).union(*inner)


def _of_module(value: Any, names: list[str], seen: dict[int, Any]) -> Any:
    """A module of the user as the attributes with these names, modules among them in the same way; other values as they are."""
    if not isinstance(value, types.ModuleType) or id(value) in seen or not _of_user(value):
        return value
    seen[id(value)] = value
    return {name: _of_module(vars(value)[name], names, seen) for name in names if name in vars(value)}


def _of_user(module: types.ModuleType) -> bool:
    path = (getattr(module, "__file__", None) or "").replace("\\", "/")
    return bool(path) and module.__name__.partition(".")[0] not in OWN and not any(part in path for part in INSTALLED)


def _with_slots(value: Any) -> bool:
    """Whether an object has values outside of a ``__dict__``, as fractions and dates."""
    return not hasattr(value, "__dict__") or any(vars(each).get("__slots__") for each in type(value).__mro__)


def _reduced(value: Any) -> Any:
    """What an object consists of, as for a copy; nothing if it has none."""
    try:
        found = value.__reduce_ex__(2)
    except Exception:  # of any kind, by the object's own method: of a lock, say
        return ()
    return found if isinstance(found, str) else [list(part) if k > 1 and part else part for k, part in enumerate(found[1:])]


def _installed(function: types.FunctionType) -> bool:
    return any(part in function.__code__.co_filename.replace("\\", "/") for part in INSTALLED)
