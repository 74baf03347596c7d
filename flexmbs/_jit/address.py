"""Kernels that meet through an address: each is compiled once, and a call between two of them costs
a few nanoseconds.

A record (nested tuples of arrays and numbers) lies in memory as Numba lays it out: words of 8
bytes, an array as its address, sizes and strides. `entry` makes a kernel whose first arguments are
addresses of such records; `call` calls one by address from compiled code, `Packed` holds a record
for it, `address_of` puts one on the stack. `packed` packs the arguments of a kernel that Python
calls: no array is unboxed, and arrays that must not be written to are taken as they are.

Interpreted, an address is the record itself or the number under which its `Packed` is known.
"""

import contextlib
import ctypes
import functools
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from flexmbs._jit import (
    CACHE,
    COMPILED,
    PACKAGES,
    intrinsic,
    machine_code,
    part,
    rebound,
    sources_unchanged,
)
from flexmbs._jit.locks import locked
from flexmbs._jit.words import layout, remember, words

_known: "weakref.WeakValueDictionary[int, Packed]" = weakref.WeakValueDictionary()
# of entries, interpreted: their address is their place here
_functions: list[Callable[..., Any]] = []
_numbers = itertools.count(1)


class Packed:
    """A record in memory, kept alive with it."""

    def __init__(self, record: Any) -> None:
        self.record = record
        if COMPILED:
            self.memory, self.layout = words(record), layout(record)
            self.address = int(self.memory.__array_interface__["data"][0])
        else:
            self.address = next(_numbers)
            _known[self.address] = self


def _record(address: Any) -> Any:
    """The record at an address, interpreted."""
    return (
        _known[int(address)].record
        if isinstance(address, (int, np.integer)) and address in _known
        else address
    )


@intrinsic
def address_of(record: Any) -> Any:
    """Address of a record that is lent, or of a copy of one on the caller's stack."""
    return record


@intrinsic
def memory_of(words: Any, record: Any) -> Any:
    """Address of the packed record whose words are in the array ``words``."""
    return record


@intrinsic
def call(address: int, one: Any, two: Any, three: Any, t: float, a: float, b: float) -> int:
    """``int64 f(record, record, record, double, double, double)`` at an address."""
    return int(
        _functions[address](
            _record(one), _record(two), _record(three), float(t), float(a), float(b)
        )
        or 0
    )


def _linked_code(
    name: str, how: str, layouts: tuple[Any, ...], keep: bool, compiled: Callable[[Any], Any]
) -> Any:
    """Machine code of a kernel for records of these layouts, from the disk or compiled; one process
    at a time compiles it, the others load it. ``how``: what else it depends on."""
    place = machine_code.place(CACHE, f"{name} {how}", layouts) if keep and CACHE else None
    found = machine_code.load(place)
    if found is None:
        with alone(name):
            found = machine_code.load(place)
            if found is None:
                from flexmbs._jit import c_functions

                found = compiled(c_functions)
                if sources_unchanged():
                    machine_code.save(place, found)
    return found


def alone(name: str, *, wait: bool = True) -> Any:
    """This process alone compiles the kernel of that name; see `locks`."""
    return locked(CACHE, name, wait=wait)


def _unclaimed(name: str) -> bool:
    """Whether no process compiles the kernel of that name."""
    with alone(name, wait=False) as free:
        return bool(free)


_ENTRY_C = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3, *[ctypes.c_double] * 3)


_asked: "list[tuple[Entry, tuple[Any, Any, Any]]] | None" = None


@contextlib.contextmanager
def layouts_only() -> "Iterator[list[tuple[Entry, tuple[Any, Any, Any]]]]":
    """Within it addresses are 0 and nothing is compiled: for records whose layout alone is of
    interest. Gives the kernels whose addresses were asked for, with the records."""
    global _asked
    before, _asked = _asked, []
    try:
        yield _asked
    finally:
        _asked = before


def all_linked() -> bool:
    """Whether addresses are those of kernels, not within `layouts_only`."""
    return _asked is None


class Entry:
    """``int64 f(record, record, record, t, a, b)``, compiled once for the types of its records,
    called by address.
    """

    def __init__(
        self, function: Callable[..., Any], name: str, *, lightly: bool = False, own: bool = True
    ) -> None:
        self.function, self.name, self.lightly, self.own = function, name, lightly, own
        self.compiled: dict[Any, Any] = {}
        if not COMPILED:
            _functions.append(function)
            self.place = len(_functions) - 1

    def address(self, one: Any, two: Any, three: Any) -> int:
        """Its address for records like these."""
        if _asked is not None:
            _asked.append((self, (one, two, three)))
            return 0
        return (
            int(self._for(layout(one), layout(two), layout(three)).address)
            if COMPILED
            else self.place
        )

    def _for(self, *layouts: Any) -> Any:
        found = self.compiled.get(layouts)
        if found is None:
            found = _linked_code(
                self.name,
                f"entry {self.lightly}",
                layouts,
                self.own,
                lambda c: c.compiled_entry(
                    self.name, self.function, layouts, self.lightly, self.own
                ),
            )
            # of threads that come at once all take the first code: the other, which nobody holds,
            # is freed
            found = self.compiled.setdefault(layouts, found)
        return found

    def compile_ahead(self, one: Any, two: Any, three: Any) -> None:
        """Onto the disk, where no other process is about it."""
        if _unclaimed(self.name):
            self.address(one, two, three)

    def __call__(
        self,
        one: Packed,
        two: Packed,
        three: Packed,
        t: float = 0.0,
        a: float = 0.0,
        b: float = 0.0,
    ) -> int:
        """The call from Python."""
        if not COMPILED:
            return int(self.function(one.record, two.record, three.record, t, a, b) or 0)
        return self.bound(one, two, three)(t, a, b)

    def bound(
        self, one: Packed, two: Packed, three: Packed
    ) -> Callable[[float, float, float], int]:
        """The call from Python with records that the caller keeps, in less than a microsecond."""
        if not COMPILED:
            return lambda t, a, b: self(one, two, three, t, a, b)
        found = self._for(one.layout, two.layout, three.layout)
        return functools.partial(_ENTRY_C(found.address), one.address, two.address, three.address)


def entry(function: Callable[..., Any]) -> Entry:
    """A kernel f(record, record, record, t, a, b) → int that is called by address."""
    return Entry(part(function), f"{function.__module__}.{function.__name__}".replace(".", "_"))


def seldom_entry(function: Callable[..., Any]) -> Entry:
    """An entry that is seldom called: optimised lightly."""
    return Entry(
        part(function), f"{function.__module__}.{function.__name__}".replace(".", "_"), lightly=True
    )


def bound_entry(
    function: Callable[..., Any], name: str, *, lightly: bool = False, **parts: Callable[..., Any]
) -> Entry:
    """An entry from a plain function whose global names are bound to ``parts``; ``name``
    distinguishes those of one function.

    ``lightly``: optimised lightly, for what is not called in every evaluation. With parts from
    outside the packages, which the cache's digest does not see, it is not kept on disk.
    """
    own = all(each.__module__.split(".")[0] in PACKAGES for each in (function, *parts.values()))
    full = f"{function.__module__}.{function.__name__}_{name}".replace(".", "_")
    return Entry(part(rebound(function, full, parts), own=own), full, lightly=lightly, own=own)


def invoke(
    address: int, one: int, two: int, three: int, t: float, a: float = 0.0, b: float = 0.0
) -> int:
    """`call` from Python."""
    return (
        int(_ENTRY_C(address)(one, two, three, t, a, b))
        if COMPILED
        else call(address, one, two, three, t, a, b)
    )  # type: ignore[call-arg]


class PackedKernel:
    """A kernel that Python calls a few times per run, its arguments packed; optimised lightly, in
    half the compile time.
    """

    def __init__(self, function: Callable[..., Any], returns: type | None) -> None:
        functools.update_wrapper(self, function)
        self.function, self.returns = part(function), returns
        self._name = f"{function.__module__}.{function.__name__}".replace(".", "_")
        self.compiled: dict[Any, Any] = {}

    def __call__(self, *given: Any) -> Any:
        for value in given:
            # a model or its scratch
            if isinstance(value, tuple) and any(isinstance(each, tuple) for each in value):
                remember(value)
        layouts = tuple(map(layout, given))
        found = self.compiled.get(layouts)
        if found is None:
            found = self.compiled.setdefault(layouts, self._compile(layouts))  # as of `Entry`
        memory = words(given)
        return found[1](memory.__array_interface__["data"][0])

    def compile_ahead(self, *given: Any) -> None:
        """Onto the disk, where no other process is about it; for arguments like these."""
        if _unclaimed(self._name):
            layouts = tuple(map(layout, given))
            self.compiled.setdefault(layouts, self._compile(layouts))

    def _compile(self, layouts: tuple[Any, ...]) -> tuple[Any, Any]:
        made = _linked_code(
            self._name, f"packed {self.returns}", layouts, True,
            lambda c: c.compiled_packed(self._name, self.function, layouts, self.returns),
        )  # fmt: skip
        kind = ctypes.c_double if self.returns is float else ctypes.c_int64
        return made, ctypes.CFUNCTYPE(kind, ctypes.c_int64)(made.address)


def packed(returns: type | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A kernel for Python, ``returns`` int, float or nothing."""
    return (
        (lambda function: PackedKernel(function, returns))
        if COMPILED
        else (lambda function: function)
    )


class NoRecord(NamedTuple):
    """Stands where an entry needs no record."""

    none: int = 0


NONE = Packed(NoRecord())
