"""C functions of kernels that are called by address: compiled by Numba and kept on disk. Importing
it imports numba.
"""

import functools
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import sigutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from flexmbs._jit import rebound
from flexmbs._jit.compiler import LIGHT, keeping
from flexmbs._jit.lent import WORD, Lent, lent_type, read
from flexmbs._jit.loading import without_compiler
from flexmbs._jit.words import Layout


@functools.cache
def _type_of(found: Any) -> Any:
    """Numba's type of what has this layout."""
    if isinstance(found, Layout):
        inner = tuple(map(_type_of, found.items))
        return (
            types.NamedTuple(inner, found.kind)
            if hasattr(found.kind, "_fields")
            else types.Tuple(inner)
        )
    if isinstance(found, tuple):
        return _array_type(*found)
    return types.float64 if found is float else types.int64


@functools.cache
def _array_type(char: str, ndim: int) -> Any:
    return types.Array(numba.from_dtype(np.dtype(char)), ndim, "C")


def _reader(kind: Any) -> Any:
    """A function of compiled code that lends the record of that type at an address; of a tuple, its
    records.
    """

    @intrinsic
    def record_at(_context, address):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return read(context, builder, kind, builder.inttoptr(arguments[0], WORD.as_pointer()))

        named = isinstance(kind, types.NamedTuple)
        return (Lent(kind) if named else types.Tuple([lent_type(each) for each in kind.types]))(
            types.int64
        ), generate

    return record_at


def _by_address(one, two, three, t, a, b):  # type: ignore[no-untyped-def]
    return target(first(one), second(two), third(three), t, a, b)  # type: ignore[name-defined]  # noqa: F821


def _with_arguments(words):  # type: ignore[no-untyped-def]
    return target(*arguments(words))  # type: ignore[name-defined]  # noqa: F821


def _without_result(words):  # type: ignore[no-untyped-def]
    target(*arguments(words))  # type: ignore[name-defined]  # noqa: F821
    return 0


def _compiled(
    template: Any, name: str, signature: Any, lightly: bool, names: dict[str, Any], keep: bool
) -> Any:
    """C function of a template with bound names."""
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}
    kind = {"pipeline_class": LIGHT} if lightly and LIGHT is not None else {}
    with keeping(keep) as cache:
        made = CFunc(
            rebound(template, name, names),
            sigutils.normalize_signature(signature),
            locals={},
            options=options,
            **kind,
        )
        if cache:
            made.enable_caching()
            without_compiler(made)
        made.compile()
    return made


_ENTRY = types.int64(*[types.int64] * 3, *[types.float64] * 3)


def compiled_entry(
    name: str, function: Any, layouts: tuple[Any, ...], lightly: bool, keep: bool
) -> Any:
    """The C function of an entry for records of these layouts."""
    names = {"target": function} | dict(
        zip(("first", "second", "third"), map(_reader, map(_type_of, layouts)))
    )
    return _compiled(_by_address, name, _ENTRY, lightly, names, keep)


def compiled_packed(
    name: str, function: Any, layouts: tuple[Any, ...], returns: type | None
) -> Any:
    """The C function of a packed kernel for arguments of these layouts."""
    result = types.float64 if returns is float else types.int64
    template = _without_result if returns is None else _with_arguments
    names = {"target": function, "arguments": _reader(types.Tuple(tuple(map(_type_of, layouts))))}
    return _compiled(template, name, result(types.int64), True, names, True)
