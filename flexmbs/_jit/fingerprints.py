"""Fingerprints of kernels: digests of a function's code and of everything that it uses.

Compiled code on the disk is valid for one fingerprint, so an edit recompiles the kernels that it
changes and no others. A fingerprint covers the bytecode with its constants, default values and
closures, the functions that are called, global constants and the fields of records, at any depth.
It leaves out docstrings, comments, line numbers and file names: kernels raise no exceptions, hence
compiled code needs none of these for a traceback.

Objects whose contents are not known here have no fingerprint, and neither do kernels that use them:
these are compiled in each process.
"""

import functools
import hashlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

PACKAGES = ("flexmbs", "preprocess")
# packages whose versions are part of the cache folder's name: their functions are known by name
VERSIONED = ("builtins", "math", "cmath", "numpy", "numba", "llvmlite")
# this package: its files are part of the folder's name too
COMPILER = "flexmbs._jit"
SCALARS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), range)


class _Unknown(Exception):
    """An object that has no fingerprint."""


def fingerprint(function: Callable[..., Any], memory: dict[Any, str] | None = None) -> str | None:
    """Digest of a function and all that it uses; None if something has no digest.

    memory: digests of functions computed before; by default those of this process.
    """
    try:
        return _of_function(_python_function(function), _memory if memory is None else memory, ())
    except (_Unknown, ValueError):  # ValueError: a variable of a closure without a value
        return None


_memory: dict[Any, str] = {}


def fields_text(record: type) -> str:
    """Text of a record class with its fields, which compiled code knows by position."""
    return f"{record.__module__}.{record.__qualname__}{getattr(record, '_fields', ())}"


def _python_function(found: Any) -> Any:
    """Python function of a kernel, part or law."""
    inner = getattr(found, "py_func", None) or getattr(found, "function", None)
    return found if inner is None else _python_function(inner)


def _of_function(function: Any, memory: dict[Any, str], callers: tuple[Any, ...]) -> str:
    """SHA-256 digest of a function and of all it refers to, memoized; cycles raise _Unknown."""
    if function in callers:
        if function is callers[-1]:
            return "recursive"
        raise _Unknown  # a cycle: its digest would depend on where the cycle is entered
    found = memory.get(function)
    if found is None:
        digest = hashlib.sha256()
        for each in _function_parts(function, memory, (*callers, function)):
            digest.update(f"{len(each)}:{each}".encode())
        found = memory[function] = digest.hexdigest()[:32]
    return found


def _function_parts(function: Any, memory: dict[Any, str], callers: tuple[Any, ...]) -> list[str]:
    """Texts that together determine what a function computes."""
    code = function.__code__
    if (function.__module__ or "").split(".")[0] not in PACKAGES:
        raise _Unknown
    value = functools.partial(_of_value, memory=memory, callers=callers)
    found = [function.__module__, function.__qualname__]
    found += [value(cell.cell_contents) for cell in function.__closure__ or ()]
    if f"{function.__module__}.".startswith(f"{COMPILER}."):
        return found
    found += _code_parts(code, function.__doc__)
    found += map(value, (function.__defaults__, *sorted((function.__kwdefaults__ or {}).items())))
    # attributes are among these names too: at worst a kernel is compiled once more than necessary
    names = _names(code)
    for name in sorted(names & function.__globals__.keys()):
        found += name, value(function.__globals__[name], names=names)
    return found


@functools.cache
def _code_parts(code: types.CodeType, docstring: str | None) -> tuple[str, ...]:
    """A function's bytecode and constants; its docstring is the first constant."""
    constants = code.co_consts
    if docstring is not None and constants and constants[0] == docstring:
        constants = (None, *constants[1:])
    texts = [
        "".join(_code_parts(each, None)) if isinstance(each, types.CodeType) else _constant(each)
        for each in constants
    ]
    signature = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    variables = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code.hex(), code.co_exceptiontable.hex(), f"{signature} {variables}", *texts


def _constant(found: Any) -> str:
    """Text that identifies the type and value of a constant; items of sets are sorted."""
    if isinstance(found, (tuple, frozenset)):
        items = map(_constant, found)
        return (
            f"{type(found).__name__}({','.join(items if type(found) is tuple else sorted(items))})"
        )
    return f"{type(found).__name__} {found!r}"


@functools.cache
def _names(code: types.CodeType) -> frozenset[str]:
    """Names of globals and attributes in a function and the functions within it."""
    inner = (_names(each) for each in code.co_consts if isinstance(each, types.CodeType))
    return frozenset(code.co_names).union(*inner)


def _of_value(
    found: Any,
    memory: dict[Any, str],
    callers: tuple[Any, ...],
    names: frozenset[str] = frozenset(),
) -> str:
    """Text that identifies an object that a function uses."""
    value = functools.partial(_of_value, memory=memory, callers=callers)
    if type(found) in SCALARS:
        return _constant(found)
    if isinstance(found, (tuple, list)):
        head = fields_text(type(found)) if hasattr(found, "_fields") else type(found).__name__
        return f"{head}({','.join(map(value, found))})"
    if isinstance(found, np.ndarray) and not found.dtype.hasobject:
        return f"array {found.dtype.descr} {found.shape} {found.strides} {found.tobytes().hex()}"
    if isinstance(found, types.ModuleType):
        return _of_module(found, value, names)
    if isinstance(found, types.FunctionType) and not _versioned(found):
        return _of_function(found, memory, callers)
    if isinstance(found, type) and hasattr(found, "_fields") and not _versioned(found):
        return fields_text(found) + value(
            tuple(sorted(getattr(found, "_field_defaults", {}).items()))
        )
    if _versioned(found):
        return f"{found.__module__}.{found.__qualname__}"
    return _of_wrapper(found, value)


def _of_module(found: types.ModuleType, value: Callable[[Any], str], names: frozenset[str]) -> str:
    """Text that identifies a module: name and version, or the attributes used."""
    root = found.__name__.split(".")[0]
    if root in VERSIONED:
        return found.__name__
    if root not in PACKAGES:
        raise _Unknown
    used = sorted(names & vars(found).keys())
    return "".join([found.__name__, *(f" {name} {value(vars(found)[name])}" for name in used)])


def _of_wrapper(found: Any, value: Callable[[Any], str]) -> str:
    """Text that identifies a kernel, part, law or intrinsic."""
    for name in ("py_func", "function", "_defn"):  # `Lazy`; `Entry`, `LawPart`; Numba's intrinsics
        if hasattr(found, name):
            options = sorted(getattr(found, "options", {}).items())
            return f"{type(found).__name__} {options} {value(getattr(found, name))}"
    raise _Unknown


def _versioned(found: Any) -> bool:
    """True for a class or function of a package whose version is known."""
    if not isinstance(found, (type, types.FunctionType, types.BuiltinFunctionType)):
        return False
    return (found.__module__ or "").split(".")[0] in VERSIONED
