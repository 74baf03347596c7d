"""Identification of user functions by what they compute.

A digest of their code and of everything to which it refers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import functools
import hashlib
import importlib.util
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
# levels of nested values that are inspected: objects of other programs may refer to everything
DEPTH = 100
# folders whose code is identified by versions, as is
INSTALLED = ("site-packages", "dist-packages")
STANDARD = os.path.dirname(os.__file__).replace("\\", "/") + "/"  # the standard library,
OWN = ("flexmbs", "preprocess")  # and these packages, wherever they are
# members of a class that are skipped
OF_PYTHON = (
    "__module__",
    "__doc__",
    "__slotnames__",
    "__firstlineno__",
    "__static_attributes__",
    "__pydantic_",
)
LONGEST = 1000  # characters: longer texts are not file paths


def functions_of(model: ModelData) -> Iterator[tuple[str, Callable[..., Any]]]:
    """User functions of a model by their places, such as ``forces.push.force``.

    For items of user-defined kinds, their classes.
    """
    for section in SECTIONS:
        for name, item in model.items(section).items():
            yield from _user_code_within(f"{section}.{name}", item)


def _user_code_within(place: str, value: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """(path, function or class) of user code within a value, recursively."""
    if isinstance(value, Declaration):
        if _is_class_of_user(type(value)):
            yield place, type(value)
        for field in value.ordered_fields():
            yield from _user_code_within(f"{place}.{field.name}", getattr(value, field.name))
    elif isinstance(value, (tuple, list)):
        for k, item in enumerate(value):
            yield from _user_code_within(f"{place}.{k}", item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _user_code_within(f"{place}.{key}", item)
    elif callable(value):
        yield place, value


def code_digest(function: Callable[..., Any]) -> str:
    """SHA-256 of a function's code and of everything that the code uses.

    Defaults, attributes, enclosed values and the global and imported names that it uses: functions
    recursively, those of installed packages by name, the user's own modules by the names used of
    them; for an object its attributes and its class, for a class of the user its members and bases.
    Modules that functions import are imported.
    """
    digest = hashlib.sha256()
    _add(digest.update, function, {}, set())
    return digest.hexdigest()


def contents_named(value: Any) -> dict[str, str]:
    """SHA-256 by path of the existing files named in the texts and paths of a value.

    The value may be a function; the files must have a suffix.

    Relative paths are looked up in the current folder, next to a module that refers to its own
    ``__file__``, and in folders that the value also names.

    """
    texts: set[str] = set()
    _add(lambda _: None, value, {}, texts)
    # identified by their code
    modules = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    names = [text for text in texts if len(text) < LONGEST and "\0" not in text]
    begins = {"", *(os.path.dirname(text) for text in texts & modules)}
    folders = begins | set(
        filter(os.path.isdir, (os.path.join(begin, name) for begin in begins for name in names))
    )
    possible = [name for name in names if os.path.splitext(name)[1]]
    paths = {os.path.join(folder, name) for folder in folders for name in possible}
    # as f"{folder}/table.csv"
    paths |= {folder + name for folder in folders for name in possible if name.startswith("/")}
    found: dict[str, str] = {}  # each file once, by its shortest path
    for path in sorted(filter(os.path.isfile, paths - modules), key=lambda path: (len(path), path)):
        found.setdefault(os.path.realpath(path), path)
    return {path: _content(path) for path in sorted(found.values())}


def _content(path: str) -> str:
    """SHA-256 digest of a file, or why it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _add(
    put: Callable[[bytes], None], value: Any, seen: dict[int, Any], texts: set[str], depth: int = 0
) -> None:
    """Add a value and everything to which it refers to a digest once, up to some depth.

    Its texts are added to ``texts``.
    """
    if isinstance(value, PLAIN):
        if isinstance(value, str):
            texts.add(value)
        return put(f"{type(value).__name__} {value!r};".encode())
    if id(value) in seen:
        return put(b"seen;")
    seen[id(value)] = value  # kept alive so that its id stays unique
    put(f"{type(value).__qualname__}(".encode())
    for part in _parts(value) if depth < DEPTH else ():
        if isinstance(part, bytes):
            put(part)
        else:
            _add(put, part, seen, texts, depth + 1)
    return put(b");")


def _parts(value: Any) -> Iterator[Any]:
    """Components of a value: bytes, or further values."""
    value = getattr(value, "py_func", value)  # for a compiled function
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
            yield from (value.co_consts, value.co_names, value.co_varnames, value.co_exceptiontable)
        case memoryview():
            yield value.tobytes()
        case functools.partial():
            yield from (value.func, value.args, value.keywords)
        case types.MethodType():
            yield from (value.__func__, value.__self__)
        case types.FunctionType() if not _installed(value):
            yield from (value.__code__, value.__defaults__, value.__kwdefaults__, vars(value))
            yield _values_used(value)
        case staticmethod() | classmethod():
            yield value.__func__
        case property():
            yield from (value.fget, value.fset, value.fdel)
        case type() if _is_class_of_user(value):
            yield value.__qualname__.encode()
            yield from value.__bases__
            yield {
                name: part for name, part in vars(value).items() if not name.startswith(OF_PYTHON)
            }
        case os.PathLike():
            yield os.fspath(value)
        case types.ModuleType() | type() | types.BuiltinFunctionType() | types.FunctionType():
            yield f"{getattr(value, '__module__', '')}.{value.__name__}".encode()
        case _:
            yield type(value)
            if dataclasses.is_dataclass(value):
                yield from (getattr(value, field.name) for field in dataclasses.fields(value))
            elif not type(value).__module__.startswith("flexmbs."):
                # objects of installed packages may cache computed values
                yield _reduced(value)


def _values_used(function: types.FunctionType) -> dict[str, Any]:
    """Values by the names with which a function and the functions within it refer to them.

    Enclosed, global and imported names.
    """
    code, known = function.__code__, function.__globals__
    codes = list(_codes(code))
    names = sorted({name for each in codes for name in each.co_names})
    found: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # an empty cell
            found[name] = cell.cell_contents
    found |= {name: known[name] for name in names if name in known}
    found |= {f"import {name}": module for each in codes for name, module in _imported(each, known)}
    return {name: _of_module(value, names, {}) for name, value in found.items()}


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those nested in it, such as lambdas."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)


def _imported(
    code: types.CodeType, known: dict[str, Any]
) -> Iterator[tuple[str, types.ModuleType]]:
    """User modules that a code object imports at run time, imported in the same way."""
    steps = [each for each in dis.get_instructions(code) if each.opname != "EXTENDED_ARG"]
    for level, names, step in zip(steps, steps[1:], steps[2:]):
        if step.opname == "IMPORT_NAME":
            # any error of the module: the function itself will report it
            with contextlib.suppress(Exception):
                if level.argval or _to_import(step.argval.partition(".")[0]):
                    yield (
                        step.argval,
                        __import__(step.argval, known, None, names.argval, level.argval),
                    )
    if not {"import_module", "__import__"}.isdisjoint(code.co_names):
        for name in code.co_consts:
            with contextlib.suppress(Exception):
                if isinstance(name, str) and _to_import(name.partition(".")[0]):
                    yield name, importlib.import_module(name)


def _of_module(value: Any, names: list[str], seen: dict[int, Any]) -> Any:
    """User module reduced to a dict of the attributes with these names.

    Modules among them in the same way; other values unchanged.
    """
    if not isinstance(value, types.ModuleType) or id(value) in seen or not _of_user(value):
        return value
    seen[id(value)] = value
    return {
        name: _of_module(vars(value)[name], names, seen) for name in names if name in vars(value)
    }


def _is_class_of_user(value: type) -> bool:
    """True if a class is defined in a module of the user."""
    return _of_user(sys.modules.get(value.__module__))


def _of_user(module: types.ModuleType | None) -> bool:
    """True if a module belongs to the user: a file, folder or interactive input.

    None means a module unknown to Python.
    """
    if module is None or module.__name__ in ("__main__", "__mp_main__"):
        return True
    paths = (getattr(module, "__file__", None), *getattr(module, "__path__", ()))
    return module.__name__.partition(".")[0] not in OWN and any(
        path and not _is_installed(path) for path in paths
    )


def _to_import(name: str) -> bool:
    """True if a module name belongs to the user. Raises ImportError, ValueError."""
    spec = importlib.util.find_spec(name)
    if spec is None or name in OWN:
        return False
    paths = (spec.origin if spec.has_location else None, *(spec.submodule_search_locations or ()))
    return any(path and not _is_installed(path) for path in paths)


def _reduced(value: Any) -> Any:
    """Components of an object by its copy protocol (__reduce_ex__).

    Its attributes if it is copied by name or cannot be copied.
    """
    try:
        found = value.__reduce_ex__(2)
    except Exception:  # any error of the object's own method, for example of a lock
        found = ""
    if isinstance(found, str):
        return getattr(value, "__dict__", found)
    return [list(part) if k > 1 and part else part for k, part in enumerate(found[1:])]


def _installed(function: types.FunctionType) -> bool:
    """True if a function comes from the standard library or an installed package."""
    return _is_installed(function.__code__.co_filename)


def _is_installed(path: str) -> bool:
    """True if a path belongs to the standard library or an installed package."""
    path = path.replace("\\", "/")
    return path.startswith(STANDARD) or any(f"/{folder}/" in path for folder in INSTALLED)
