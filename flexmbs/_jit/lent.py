"""Records that compiled code reads where they lie, field by field.

As a value, a record of hundreds of words is copied with each call and each access to a field, which
takes long to compile. A `Lent` record is its address: a field is read from memory where it is used,
a record within it is lent too. Records do not change while a kernel runs, which the loads say, so
that they move out of loops.
"""

import hashlib
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, register_model

WORD = ir.IntType(64)


class Lent(types.Type):  # type: ignore[misc]
    """The type of a record in memory."""

    def __init__(self, record: Any) -> None:
        self.record = record
        digest = hashlib.sha256(record.name.encode()).hexdigest()[:12]
        super().__init__(name=f"{record.instance_class.__name__}_{digest}")


@register_model(Lent)
class _Address(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Lent

    def generic_resolve(self, lent: Any, name: str) -> Any:  # type: ignore[override]
        record = lent.record
        return lent_type(record.types[record.fields.index(name)]) if name in record.fields else None


@lower_getattr_generic(Lent)
def _read(context: Any, builder: Any, lent: Any, address: Any, name: str) -> Any:
    record = lent.record
    k = record.fields.index(name)
    return read(
        context, builder, record.types[k], address, sum(words_in(each) for each in record.types[:k])
    )


def lent_type(kind: Any) -> Any:
    """A named record is lent, anything else is a value."""
    return Lent(kind) if isinstance(kind, types.NamedTuple) else kind


def kinds_in(kind: Any) -> tuple[Any, ...]:
    """The types of the items of a tuple."""
    return tuple(kind.types)


def words_in(kind: Any) -> int:
    """The words of a value of this type."""
    if isinstance(kind, types.BaseTuple):
        return sum(words_in(each) for each in kinds_in(kind))
    return 5 + 2 * kind.ndim if isinstance(kind, types.Array) else 1


def read(context: Any, builder: Any, kind: Any, address: Any, at: int = 0) -> Any:
    """What lies ``at`` words behind an address, of type `lent_type` of its kind; tuples without
    names hold such.
    """
    place = builder.gep(address, [WORD(at)])
    if isinstance(kind, types.NamedTuple):
        return place
    if isinstance(kind, types.BaseTuple):
        parts, inner = [], kinds_in(kind)
        for each in inner:
            parts.append(read(context, builder, each, address, at))
            at += words_in(each)
        return context.make_tuple(builder, types.Tuple([lent_type(each) for each in inner]), parts)
    return _words(builder, context.get_value_type(kind), place)


def _words(builder: Any, kind: Any, place: Any) -> Any:
    """The value of an LLVM type of words at a place."""
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
    """(place in the aggregate, type) of each word."""
    if isinstance(kind, ir.Aggregate):
        for k, each in enumerate(kind.elements):
            yield from _paths(each, (*path, k))
    else:
        yield path, kind
