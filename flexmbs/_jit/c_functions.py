"""C functions of kernels that are called by address. Importing this module imports Numba.

A C function returns the result of its kernel. Kernels raise no exceptions; if one does, by a
mistake, the C function calls `object_cache.FAILED`, and the call from Python raises it.
"""

import functools
import hashlib
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.caching import NullCache
from numba.core.compiler import Compiler, Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from flexmbs._jit import CACHE, object_cache, rebound
from flexmbs._jit.by_reference import WORD, Reference, read, reference_type
from flexmbs._jit.compiler import LIGHT
from flexmbs._jit.record_layout import Layout, layout_text

KernelCache: Any
try:
    from flexmbs._jit.numba_cache import KernelCache
except (ImportError, AttributeError, TypeError):  # Numba's classes differ: no second way to keep it
    KernelCache = None


class CFunction:
    """C function of a template with bound names.

    name: of the C function.  names: bound names, ``target`` is the kernel.
    """

    def __init__(
        self, template: Any, name: str, signature: Any, lightly: bool, names: dict[str, Any]
    ) -> None:
        self.symbol = f"c_{name}"
        self._function = rebound(template, name, names)
        self._signature, self._pipeline = signature, LIGHT if lightly and LIGHT else Compiler

    @global_compiler_lock  # type: ignore[misc]
    def compile(self, layouts: tuple[Any, ...], key: str | None) -> "CFunction":
        """Compile the machine code or load it from the cache; sets ``address``, ``library``.

        layouts: of the records.  key: fingerprint of the kernel, None if it is not kept on disk.
        """
        object_cache.define_failed()
        context, cache = cpu_target.target_context, cast(Any, NullCache())
        if key is not None and CACHE is not None and KernelCache is not None:
            text = f"{key} {[layout_text(each) for each in layouts]} {self._pipeline.__name__}"
            name = hashlib.sha256(text.encode()).hexdigest()[:32]
            cache = KernelCache(self._function, f"{CACHE}/kernels", name, lambda: True)
        made = cache.load_overload(self._signature, context)
        self._loaded = made is not None
        if made is None:
            made = self._compiled(context)
        self._made, self._cache, self.library = made, cache, made.library
        self.address = int(self.library.get_pointer_to_function(self.symbol))
        return self

    def keep(self, place: Any) -> None:
        """Write the machine code to its object file, or else to Numba's cache."""
        if not self._loaded and not object_cache.save(place, self.symbol, self.library):
            self._cache.save_overload(self._signature, self._made)

    def _compiled(self, context: Any) -> Any:
        """Compile the function with Numba, without wrappers for Python or C."""
        flags: Any = Flags()
        options = {"error_model": "numpy", "nogil": True, "_nrt": False}
        cpu_target.options.parse_as_flags(flags, options)
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        made = compile_extra(
            cpu_target.typing_context,
            context,
            self._function,
            self._signature.args,
            self._signature.return_type,
            flags,
            {},
            pipeline_class=self._pipeline,
        )
        _add_c_function(context, made.library, made.fndesc, self.symbol)
        return made


def _add_c_function(context: Any, library: Any, kernel: Any, symbol: str) -> None:
    """Add a C function that calls a kernel to the library of the kernel."""
    module = library.create_ir_module(symbol)
    convention = context.call_conv
    called = ir.Function(
        module,
        convention.get_function_type(kernel.restype, kernel.argtypes),
        kernel.llvm_func_name,
    )
    result, *given = map(context.get_value_type, (kernel.restype, *kernel.argtypes))
    function = ir.Function(module, ir.FunctionType(result, given), symbol)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    status, out = convention.call_function(
        builder, called, kernel.restype, kernel.argtypes, function.args, attrs=("noinline",)
    )
    with builder.if_then(status.is_error, likely=False):
        failed = ir.Function(module, ir.FunctionType(ir.VoidType(), []), object_cache.FAILED)
        builder.call(failed, [])
    builder.ret(out)
    library.add_ir_module(module)


@functools.cache
def _type_of(found: Any) -> Any:
    """Numba type of values with a layout."""
    if isinstance(found, Layout):
        inner = tuple(map(_type_of, found.items))
        return (
            types.NamedTuple(inner, found.kind)
            if hasattr(found.kind, "_fields")
            else types.Tuple(inner)
        )
    if isinstance(found, tuple):
        return _array_type(*found)
    if isinstance(found, np.dtype):
        return numba.from_dtype(found)
    return types.float64 if found is float else types.int64


@functools.cache
def _array_type(char: str, ndim: int) -> Any:
    """Numba type of a C-contiguous array with this type character and dimension."""
    return types.Array(numba.from_dtype(np.dtype(char)), ndim, "C")


def _reader(kind: Any) -> Any:
    """Compiled function from an address to the record of a Numba type there.

    A plain tuple gives references to its records.
    """

    @intrinsic
    def record_at(_context, address):  # type: ignore[no-untyped-def]
        """Typing and code of an intrinsic that gives the record at an address."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            """Emit the load of the record at an address."""
            return read(context, builder, kind, builder.inttoptr(arguments[0], WORD.as_pointer()))

        named = isinstance(kind, types.NamedTuple)
        items = types.Tuple([reference_type(each) for each in kind.types])
        return (Reference(kind) if named else items)(types.int64), generate

    return record_at


def _argument_selector(kinds: tuple[Any, ...], numbers: int) -> Any:
    """Compiled function that selects the arguments that a kernel takes.

    Of three addresses and three numbers it gives the records of these types and the first numbers.
    """
    given = types.Tuple([*map(reference_type, kinds), *[types.float64] * numbers])

    @intrinsic
    def chosen(_context, one, two, three, t, a, b):  # type: ignore[no-untyped-def]
        """Intrinsic that loads the records at three addresses and appends the numbers used."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            """Emit the tuple of the loaded records and of the numbers that the kernel takes."""
            records = (
                read(context, builder, kind, builder.inttoptr(address, WORD.as_pointer()))
                for kind, address in zip(kinds, arguments)
            )
            return context.make_tuple(builder, given, [*records, *arguments[3 : 3 + numbers]])

        return given(*_ENTRY.args), generate

    return chosen


def _by_address(one, two, three, t, a, b):  # type: ignore[no-untyped-def]
    """Call ``target`` with the records at three addresses and the numbers t, a, b."""
    # names that `rebound` binds
    return target(*chosen(one, two, three, t, a, b))  # type: ignore[name-defined]  # noqa: F821


def _with_arguments(words):  # type: ignore[no-untyped-def]
    """Call ``target`` with the arguments packed at an address and return its result."""
    return target(*arguments(words))  # type: ignore[name-defined]  # noqa: F821


def _without_result(words):  # type: ignore[no-untyped-def]
    """Call ``target`` with the arguments packed at an address and return 0."""
    target(*arguments(words))  # type: ignore[name-defined]  # noqa: F821
    return 0


_ENTRY = types.int64(*[types.int64] * 3, *[types.float64] * 3)


def compiled_entry(entry: Any, layouts: tuple[Any, ...], key: str | None) -> CFunction:
    """The C function of an `Entry` for records of these layouts."""
    chosen = _argument_selector(tuple(map(_type_of, layouts)), entry.numbers)
    names = {"target": entry.function, "chosen": chosen}
    return CFunction(_by_address, entry.name, _ENTRY, entry.lightly, names).compile(layouts, key)


def compiled_packed(
    name: str, function: Any, layouts: tuple[Any, ...], returns: type | None, key: str | None
) -> CFunction:
    """The C function of a packed kernel for arguments of these layouts."""
    result = types.float64 if returns is float else types.int64
    template = _without_result if returns is None else _with_arguments
    names = {"target": function, "arguments": _reader(types.Tuple(tuple(map(_type_of, layouts))))}
    return CFunction(template, name, result(types.int64), True, names).compile(layouts, key)
