"""`checked_arguments`: decorator of public functions and classes; wrong arguments are InputErrors.

Every argument must have a name of the signature, and a value of its annotated type where the
function fails with another one.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import os
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from flexmbs.declaration import close_names
from flexmbs.errors import InputError, shown

EXACT = 2**53  # integers up to this magnitude are exact as double precision numbers
# exceptions by which functions fail with values of wrong types or sizes
OF_WRONG_VALUES = (TypeError, ValueError, AttributeError, LookupError, OverflowError)
WORDS = {
    float: "a number",
    int: "an integer",
    str: "text",
    bool: "True or False",
    types.NoneType: "None",
    np.ndarray: "an array of numbers",
    os.PathLike: "a path",
}
ARRAYS = {"ArrayLike": np.ndarray}  # the type of NumPy includes texts
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
Named = TypeVar("Named", bound=Callable[..., Any])


def checked_arguments(made: Named) -> Named:
    """Decorator that reports unknown, missing and wrong arguments as InputError.

    It applies to functions and classes. Arguments of a class, which it keeps, are checked when it
    is made; those of a function where it fails with them, which leaves its own messages first.
    """
    if isinstance(made, type):
        made.__init__ = _checked(made.__init__, None, keeps=True)  # type: ignore[misc]
        return made
    return _checked(made, made.__qualname__, keeps=False)  # type: ignore[return-value]


def _checked(function: Callable[..., Any], name: str | None, *, keeps: bool) -> Callable[..., Any]:
    """Function wrapped so that wrong arguments raise InputError.

    name: for messages, by default that of the class of its first argument. keeps: it keeps its
    arguments, whose types are checked always.
    """
    signature: inspect.Signature | None = None

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        """Call the function; wrong arguments raise `InputError` instead of other exceptions."""
        nonlocal signature
        try:
            result = function(*arguments, **named)
            if not keeps:
                return result
            problem = None
        except OF_WRONG_VALUES as error:
            signature = signature or inspect.signature(function)
            problem = _unbound(signature, arguments, named) if type(error) is TypeError else None
            if not problem and not (problem := _unfit(function, signature, arguments, named)):
                raise
        else:
            signature = signature or inspect.signature(function)
            problem = _unfit(function, signature, arguments, named)
            if problem is None:
                return result
        raise InputError(f"{name or type(arguments[0]).__name__}: {problem}")

    return call


def _unbound(
    signature: inspect.Signature, arguments: tuple[Any, ...], named: dict[str, Any]
) -> str | None:
    """Problem of binding the arguments to the signature; None if they fit."""
    own = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    first = len(signature.parameters) - len(own)
    positional = [each.name for each in own if each.kind is each.POSITIONAL_OR_KEYWORD]
    unknown = [name for name in named if name not in [each.name for each in own]]
    taken = positional[: len(arguments) - first]
    missing = [
        each.name
        for each in own
        if each.default is each.empty and each.name not in (*taken, *named)
    ]
    if unknown:
        return (
            f"has no argument '{unknown[0]}'; "
            f"{close_names(unknown[0], [each.name for each in own])}"
        )
    if len(arguments) - first > len(positional):
        return (
            f"takes {len(positional)} positional argument(s), {len(arguments) - first} given; "
            "pass the others by keyword"
        )
    return f"{missing[0]} is missing" if missing else None


def _unfit(
    function: Callable[..., Any],
    signature: inspect.Signature,
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> str | None:
    """Problem of the first argument whose value is not of its annotated type; None if all are."""
    kinds = _kinds(inspect.unwrap(function))
    for name, value in signature.bind(*arguments, **named).arguments.items():
        kind = kinds.get(name, Any)
        if signature.parameters[name].kind in VARIABLE or fits(value, kind):
            continue
        if _is_inexact(value) and fits(1, kind):
            return f"{name}: {shown(value)} is beyond {EXACT}, the largest integer that is exact"
        return f"{name}: must be {_words(kind)}, not {shown(value)}"
    return None


@functools.cache
def _kinds(function: Callable[..., Any]) -> dict[str, Any]:
    """Types of the arguments of a function; `Any` where they are not known when it runs.

    Annotations may be texts: those of a method which `dataclass` makes are of the modules in which
    the class and its bases declare their fields.
    """
    spaces = [vars(sys.modules[function.__module__])]
    owner = spaces[0].get(function.__qualname__.partition(".")[0])
    spaces += [vars(sys.modules[base.__module__]) for base in getattr(owner, "__mro__", ())]
    found = {}
    for name, kind in function.__annotations__.items():
        for space in spaces:
            try:
                found[name] = eval(kind, {**space, **ARRAYS}) if isinstance(kind, str) else kind
                break
            except (NameError, AttributeError, TypeError):  # imported for type checking only
                continue
    return found


def _is_inexact(value: object) -> bool:
    """True for an integer that double precision may not represent."""
    return isinstance(value, numbers.Integral) and abs(int(value)) > EXACT


def fits(value: Any, kind: Any) -> bool:
    """False if a value is certainly not of an annotated type.

    Any real number is a float or an int, which the function rounds or refuses, any iterable a
    sequence or a tuple; truth values are numbers only in arrays.
    """
    origin, inner = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, each) for each in inner)
    if kind is None or kind is types.NoneType:
        return value is None
    if origin is typing.Literal:
        return isinstance(value, (str, int)) and value in inner
    if origin is Any or not isinstance(origin, type) or getattr(origin, "_is_protocol", False):
        return True
    if origin in (float, int):
        return isinstance(value, numbers.Real) and not (
            isinstance(value, (bool, np.bool_)) or _is_inexact(value)
        )
    if origin is np.ndarray:
        return hasattr(value, "dtype") or _is_numeric(value)
    if origin is os.PathLike:
        return isinstance(value, os.PathLike)
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            fits(each, kind) for item in value.items() for each, kind in zip(item, inner)
        )
    if issubclass(origin, Iterable) and origin is not str:
        return _is_series(value, origin, inner)
    return isinstance(value, origin)


def _is_numeric(value: object) -> bool:
    """True for numbers in lists."""
    try:
        return np.asarray(value).dtype.kind in "biufc"
    except ValueError:  # of unequal lengths
        return False


def _is_series(value: Any, origin: type, inner: tuple[Any, ...]) -> bool:
    """True if a value is iterable, other than text, with items of the annotated types."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return False
    if not inner or not isinstance(value, (list, tuple, np.ndarray)):
        return True
    if origin is tuple and ... not in inner:
        return len(value) == len(inner) and all(map(fits, value, inner))
    # the items of an array are of one type
    return all(fits(each, inner[0]) for each in (value[:1] if hasattr(value, "dtype") else value))


def _words(kind: Any) -> str:
    """Words for an annotated type in a message."""
    origin, inner = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_words, inner)))
    if origin is typing.Literal:
        return " or ".join(map(repr, inner))
    if not isinstance(origin, type):
        return str(kind)
    if origin in WORDS:
        return WORDS[origin]
    if issubclass(origin, Mapping):
        return f"a table, name → {_words(inner[-1])}" if inner else "a table"
    if origin is tuple and inner and ... not in inner:
        return f"({', '.join(map(_words, inner))})"
    if issubclass(origin, Iterable):
        return f"a list, each {_words(inner[0])}" if inner else "a list"
    return "a function" if origin is Callable else f"of the class {origin.__name__}"
