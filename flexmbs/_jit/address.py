"""Kernels called by address: each is compiled once, and a call costs a few nanoseconds.

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
    intrinsic,
    may_be_kept,
    object_cache,
    part,
    rebound,
)
from flexmbs._jit.fingerprints import fingerprint
from flexmbs._jit.locks import locked
from flexmbs._jit.record_layout import layout, remember, words

_known: "weakref.WeakValueDictionary[int, Packed]" = weakref.WeakValueDictionary()
# functions of entries, interpreted: the address of an entry is its place here
_functions: list[Callable[..., Any]] = []
_numbers = itertools.count(1)


class Packed:
    """Record in memory with its address."""

    def __init__(self, record: Any) -> None:
        self.record = record
        if COMPILED:
            self.memory, self.layout = words(record), layout(record)
            self.address = int(self.memory.__array_interface__["data"][0])
        else:
            self.address = next(_numbers)
            _known[self.address] = self


def _record(address: Any) -> Any:
    """Record at an address (interpreted mode)."""
    return (
        _known[int(address)].record
        if isinstance(address, (int, np.integer)) and address in _known
        else address
    )


@intrinsic
def address_of(record: Any) -> Any:
    """Address of a record passed by reference, or of a copy of a value on the caller's stack."""
    return record


@intrinsic
def memory_of(words: Any, record: Any) -> Any:
    """Address of the packed record whose words are in the array ``words``."""
    return record


@intrinsic
def call(address: int, one: Any, two: Any, three: Any, t: float, a: float, b: float) -> int:
    """Call a kernel ``int64 f(record, record, record, double, double, double)`` at an address."""
    return int(
        _functions[address](
            _record(one), _record(two), _record(three), float(t), float(a), float(b)
        )
    )


_before_compilation: Callable[[], None] | None = None


def before_compilation(call: Callable[[], None] | None) -> None:
    """Register a function called once before the next kernel is compiled."""
    global _before_compilation
    _before_compilation = call


def _linked_code(
    function: Callable[..., Any],
    name: str,
    how: str,
    layouts: tuple[Any, ...],
    compiled: Callable[[Any, str | None], Any],
) -> Any:
    """Machine code of a kernel for these record layouts, loaded or compiled.

    One process at a time compiles it, the others load it.

    how: options of the compilation.  compiled: function of `c_functions` and the fingerprint that
    compiles the kernel.
    """
    key = fingerprint(function)
    place = object_cache.place(CACHE, f"{name} {how} {key}", layouts) if key and CACHE else None
    found = object_cache.load(place)
    if found is None:
        if place is not None and _before_compilation is not None:
            call = _before_compilation
            before_compilation(None)
            call()
        with locked(CACHE, name):
            found = object_cache.load(place)
            if found is None:
                from flexmbs._jit import c_functions

                found = compiled(c_functions, key)
                if may_be_kept(function, key):
                    found.keep(place)
    return found


def _being_compiled(name: str) -> bool:
    """True if another process compiles the kernel of that name."""
    with locked(CACHE, name, wait=False) as free:
        return not free


def _called(kind: Any, address: int) -> Any:
    """Python function that calls a C function and raises if a kernel failed in it."""
    function = kind(address)
    function.errcheck = object_cache.checked
    return function


_ENTRY_C = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3, *[ctypes.c_double] * 3)


_asked: "list[tuple[Entry, tuple[Any, Any, Any]]] | None" = None


@contextlib.contextmanager
def layouts_only() -> "Iterator[list[tuple[Entry, tuple[Any, Any, Any]]]]":
    """Context in which kernels are not compiled and addresses are 0.

    For records whose layout is needed only. Gives the kernels whose addresses were asked for, with
    the records.
    """
    global _asked
    before, _asked = _asked, []
    try:
        yield _asked
    finally:
        _asked = before


def all_linked() -> bool:
    """True unless within `layouts_only`: addresses are those of compiled kernels."""
    return _asked is None


class Entry:
    """Kernel ``int64 f(record, record, record, t, a, b)``, called by address.

    It is compiled once for the types of its records. Its function may have fewer parameters, the
    first records and the first numbers, with a slash between them: ``f(record, /, t)``.
    """

    def __init__(self, function: Callable[..., Any], name: str, *, lightly: bool = False) -> None:
        """Entry of a kernel, compiled for each combination of record layouts on demand."""
        self.function, self.name, self.lightly = function, name, lightly
        code = getattr(function, "py_func", function).__code__
        self.records = code.co_posonlyargcount or 3
        self.numbers = code.co_argcount - self.records
        self.compiled: dict[Any, Any] = {}
        if not COMPILED:
            _functions.append(self._interpreted)
            self.place = len(_functions) - 1

    def _interpreted(self, one: Any, two: Any, three: Any, t: float, a: float, b: float) -> int:
        """Call the Python function with only those records and numbers that it takes."""
        return int(
            self.function(*(one, two, three)[: self.records], *(t, a, b)[: self.numbers]) or 0
        )

    def address(self, one: Any, two: Any, three: Any) -> int:
        """Address of the kernel for records like these."""
        if _asked is not None:
            _asked.append((self, (one, two, three)))
            return 0
        return int(self._for(*map(layout, (one, two, three))).address) if COMPILED else self.place

    def _for(self, *given: Any) -> Any:
        """Machine code for records of these layouts, compiled at the first request."""
        layouts = given[: self.records]
        found = self.compiled.get(layouts)
        if found is None:
            found = _linked_code(
                self.function,
                self.name,
                f"entry {self.lightly}",
                layouts,
                lambda c, key: c.compiled_entry(self, layouts, key),
            )
            # threads that compile at the same time all take the first code: other code, which
            # nothing refers to, is freed
            found = self.compiled.setdefault(layouts, found)
        return found

    def compile_ahead(self, one: Any, two: Any, three: Any) -> None:
        """Compile the kernel into the cache unless another process is already doing so."""
        if not _being_compiled(self.name):
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
        """Call the kernel from Python."""
        if not COMPILED:
            return self._interpreted(one.record, two.record, three.record, t, a, b)
        return self.bound(one, two, three)(t, a, b)

    def bound(
        self, one: Packed, two: Packed, three: Packed
    ) -> Callable[[float, float, float], int]:
        """Function (t, a, b) with bound records, which the caller must keep alive."""
        if not COMPILED:
            return lambda t, a, b: self(one, two, three, t, a, b)
        found = self._for(one.layout, two.layout, three.layout)
        return functools.partial(
            _called(_ENTRY_C, found.address), one.address, two.address, three.address
        )


def entry(function: Callable[..., Any]) -> Entry:
    """Decorate a kernel f(record, record, record, t, a, b) → int that is called by address.

    Parameters that are not used are left out, see `Entry`.
    """
    return Entry(part(function), f"{function.__module__}.{function.__name__}".replace(".", "_"))


def seldom_entry(function: Callable[..., Any]) -> Entry:
    """Decorate an entry that is seldom called: lightly optimised."""
    return Entry(
        part(function), f"{function.__module__}.{function.__name__}".replace(".", "_"), lightly=True
    )


def bound_entry(
    function: Callable[..., Any], name: str, *, lightly: bool = False, **parts: Callable[..., Any]
) -> Entry:
    """Entry from a plain function whose global names are bound to ``parts``.

    name: distinguishes entries made of one function.  lightly: lightly optimised, for an entry that
    is not called in every evaluation.
    """
    full = f"{function.__module__}.{function.__name__}_{name}".replace(".", "_")
    return Entry(part(rebound(function, full, parts)), full, lightly=lightly)


def invoke(
    address: int, one: int, two: int, three: int, t: float, a: float = 0.0, b: float = 0.0
) -> int:
    """Call a kernel at an address from Python, as `call` does in kernels."""
    return (
        int(_called(_ENTRY_C, address)(one, two, three, t, a, b))
        if COMPILED
        else call(address, one, two, three, t, a, b)
    )  # type: ignore[call-arg]


class PackedKernel:
    """Kernel that Python calls a few times per run with packed arguments.

    It is lightly optimised, in half the compile time.
    """

    def __init__(self, function: Callable[..., Any], returns: type | None) -> None:
        """Kernel called with the address of its packed arguments; ``returns`` is its type."""
        functools.update_wrapper(self, function)
        self.function, self.returns = part(function), returns
        self._name = f"{function.__module__}.{function.__name__}".replace(".", "_")
        self.compiled: dict[Any, Any] = {}

    def __call__(self, *given: Any) -> Any:
        for value in given:
            # records of records are a model and its scratch, which are passed again
            if isinstance(value, tuple) and any(isinstance(each, tuple) for each in value):
                remember(value)
        found, memory = self._for(given), words(given)
        return found[1](memory.__array_interface__["data"][0])

    def _for(self, given: tuple[Any, ...]) -> tuple[Any, Any]:
        """Code for arguments like these, compiled at the first request."""
        layouts = tuple(map(layout, given))
        found = self.compiled.get(layouts)
        if found is None:
            found = self.compiled.setdefault(layouts, self._compile(layouts))  # as of `Entry`
        return found  # type: ignore[no-any-return]

    def bound(self, *given: Any) -> Callable[[], Any]:
        """Function without arguments that calls the kernel with these, packed once."""
        found, memory = self._for(given), words(given)
        place = memory.__array_interface__["data"][0]

        def call(kept: Any = (given, memory)) -> Any:
            """Call the kernel; ``kept`` holds what it reads."""
            return found[1](place)

        return call

    def compile_ahead(self, *given: Any) -> None:
        """Compile the kernel into the cache unless another process is already doing so."""
        if not _being_compiled(self._name):
            layouts = tuple(map(layout, given))
            self.compiled.setdefault(layouts, self._compile(layouts))

    def _compile(self, layouts: tuple[Any, ...]) -> tuple[Any, Any]:
        """(linked code, ctypes function) of the kernel for arguments of these layouts."""
        made = _linked_code(
            self.function, self._name, f"packed {self.returns}", layouts,
            lambda c, key: c.compiled_packed(self._name, self.function, layouts, self.returns, key),
        )  # fmt: skip
        kind = ctypes.c_double if self.returns is float else ctypes.c_int64
        return made, _called(ctypes.CFUNCTYPE(kind, ctypes.c_int64), made.address)


def bound_arguments(kernel: Callable[..., Any], *given: Any) -> Callable[[], Any]:
    """Function without arguments that calls a `packed` kernel with these."""
    bound = getattr(kernel, "bound", functools.partial(functools.partial, kernel))
    return bound(*given)  # type: ignore[no-any-return]


def packed(returns: type | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a kernel that Python calls with packed arguments."""
    return (
        (lambda function: PackedKernel(function, returns))
        if COMPILED
        else (lambda function: function)
    )


class NoRecord(NamedTuple):
    """Record for an argument of an entry that needs none."""

    none: int = 0


NONE = Packed(NoRecord())
