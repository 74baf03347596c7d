"""Records passed by reference to compiled code, which reads fields from memory.

As a value, a record of hundreds of words is copied with each call and each access to a field, which
takes long to compile. A `Reference` is the address of a record: a field is read from memory where
it is used, and a record within a record is a reference too. Records do not change while a kernel
runs; the loads are marked as invariant, so that LLVM moves them out of loops.
"""

import hashlib
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, register_model

from flexmbs._jit.fingerprints import fields_text

WORD = ir.IntType(64)


class Reference(types.Type):  # type: ignore[misc]
    """Type of the address of a record; its name depends on the fields of the record."""

    def __init__(self, record: Any) -> None:
        """Numba type of a record passed by address; its name has a digest of the fields."""
        self.record = record
        text = f"{record.name} {fields_of_types([record])}"
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        super().__init__(name=f"{record.instance_class.__name__}_{digest}")


def fields_of_types(kinds: Any) -> str:
    """Names of the fields of records among Numba's types, which the types' own names lack."""
    found = ""
    for kind in kinds:
        found += fields_text(kind.instance_class) if hasattr(kind, "instance_class") else ""
        found += f"({fields_of_types(items(kind))})" if isinstance(kind, types.BaseTuple) else ""
    return found


def items(kind: Any) -> tuple[Any, ...]:
    """Numba types of the items of a tuple."""
    return tuple(kind.types)


@register_model(Reference)
class _Address(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, reference: Any, name: str) -> Any:  # type: ignore[override]
        """Numba type of a field of a referenced record; None if it has no such field."""
        record = reference.record
        if name not in record.fields:
            return None
        return reference_type(record.types[record.fields.index(name)])


@lower_getattr_generic(Reference)
def _read(context: Any, builder: Any, reference: Any, address: Any, name: str) -> Any:
    """Emit the load of a field of a record at an address."""
    record = reference.record
    k = record.fields.index(name)
    return read(
        context, builder, record.types[k], address, sum(words_in(each) for each in record.types[:k])
    )


def reference_type(kind: Any) -> Any:
    """Numba type of a field: a reference for a record, else the type of its value."""
    return Reference(kind) if isinstance(kind, types.NamedTuple) else kind


def words_in(kind: Any) -> int:
    """Number of words of a value of this type."""
    if isinstance(kind, types.BaseTuple):
        return sum(words_in(each) for each in items(kind))
    return 5 + 2 * kind.ndim if isinstance(kind, types.Array) else 1


def read(context: Any, builder: Any, kind: Any, address: Any, at: int = 0) -> Any:
    """Load the value of type ``kind`` at a word offset; plain tuples are loaded item by item.

    A record gives a reference to it.
    """
    place = builder.gep(address, [WORD(at)])
    if isinstance(kind, types.NamedTuple):
        return place
    if isinstance(kind, types.BaseTuple):
        parts = []
        for each in items(kind):
            parts.append(read(context, builder, each, address, at))
            at += words_in(each)
        inner = types.Tuple([reference_type(each) for each in items(kind)])
        return context.make_tuple(builder, inner, parts)
    return _words(builder, context.get_value_type(kind), place)


def _words(builder: Any, kind: Any, place: Any) -> Any:
    """Emit the load of a value of an LLVM type, word by word."""
    value, at = ir.Constant(kind, ir.Undefined), 0
    for path, word in _paths(kind):
        source = builder.gep(place, [WORD(at)])
        loaded = builder.load(
            source if word == WORD else builder.bitcast(source, word.as_pointer())
        )
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        value, at = (builder.insert_value(value, loaded, path) if path else loaded), at + 1
    return value


def _paths(kind: Any, path: tuple[int, ...] = ()) -> Any:
    """(path in the aggregate, type) of each word of an LLVM type."""
    if isinstance(kind, ir.Aggregate):
        for k, each in enumerate(kind.elements):
            yield from _paths(each, (*path, k))
    else:
        yield path, kind
