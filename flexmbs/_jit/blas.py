"""Dense linear algebra for kernels: BLAS and LAPACK of SciPy, called by symbol.

Matrices are column-major blocks of flat arrays (`Block`); all operands of an operation have the
same precision, double or single. A kernel that calls these functions can be kept on disk, since the
symbols are bound when its code is loaded.
"""

import ctypes
from typing import Any, NamedTuple

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic
from numpy.typing import NDArray

from flexmbs._jit import COMPILED, part

Array = NDArray[np.floating[Any]]

ROUTINES = {
    "potrf": ("lapack", 5),
    "trsm": ("blas", 11),
    "syrk": ("blas", 10),
    "gemm": ("blas", 13),
}
SINGLE = 4  # bytes of a number in single precision
LOWER, PLAIN, TURNED, RIGHT = (ord(letter) for letter in "LNTR")


class Block(NamedTuple):
    """Column-major matrix A in a flat array; as an operand A for turn = PLAIN, Aᵀ for TURNED."""

    entries: Array
    at: int  # place of the first entry
    height: int  # leading dimension
    turn: int


def _addresses(name: str) -> tuple[int, int]:
    """Addresses of a Fortran routine for single and double precision."""
    module = f"scipy.linalg.cython_{ROUTINES[name][0]}"
    return get_cython_function_address(module, f"s{name}"), get_cython_function_address(
        module, f"d{name}"
    )


def _routine(name: str) -> Any:
    """Function that calls a Fortran routine with addresses, in the precision of an array."""
    single, double = _addresses(name)
    if not COMPILED:
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * ROUTINES[name][1])
        return lambda array, addresses: signature(single if array.itemsize == SINGLE else double)(
            *addresses
        )
    llvmlite.binding.add_symbol(f"flexmbs_s{name}", single)
    llvmlite.binding.add_symbol(f"flexmbs_d{name}", double)

    @intrinsic
    def call(_context, array, addresses):  # type: ignore[no-untyped-def]
        """Typing and code of a call of a BLAS routine in single or double precision."""
        symbol = f"flexmbs_{'s' if array.dtype == types.float32 else 'd'}{name}"

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            """Emit the call of the Fortran symbol with the addresses of its arguments."""
            signature = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * len(addresses))
            routine = cgutils.get_or_insert_function(builder.module, signature, symbol)
            builder.call(routine, cgutils.unpack_tuple(builder, arguments[1]))
            return context.get_dummy_value()

        return types.void(array, addresses), generate

    return call


_potrf, _trsm, _syrk, _gemm = (_routine(name) for name in ROUTINES)
_integer: Any
_number: Any
_entry: Any

if COMPILED:

    @intrinsic
    def _integer(_context, value):  # type: ignore[no-untyped-def]
        """Address of a C int with a value."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            """Emit a 32-bit copy of an integer on the stack; its address."""
            place = cgutils.alloca_once_value(builder, builder.trunc(arguments[0], ir.IntType(32)))
            return builder.bitcast(place, cgutils.voidptr_t)

        return types.voidptr(types.int64), generate

    @intrinsic
    def _number(_context, value, array):  # type: ignore[no-untyped-def]
        """Address of a value in the precision of an array."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            """Emit a copy of a number in the precision of the array on the stack; its address."""
            number = context.cast(builder, arguments[0], types.float64, signature.args[1].dtype)
            return builder.bitcast(cgutils.alloca_once_value(builder, number), cgutils.voidptr_t)

        return types.voidptr(types.float64, array), generate

    @intrinsic
    def _entry(_context, array, place):  # type: ignore[no-untyped-def]
        """Address of an entry of a flat array."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            """Emit the address of entry ``place`` of an array."""
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            return builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)

        return types.voidptr(array, types.int64), generate

else:

    def _integer(value: int) -> Any:
        """Reference to a C integer, as BLAS takes it (interpreted mode)."""
        return ctypes.byref(ctypes.c_int(int(value)))

    def _number(value: float, array: Array) -> Any:
        """Reference to a C float or double, as the array has it (interpreted mode)."""
        return ctypes.byref(
            ctypes.c_float(value) if array.itemsize == SINGLE else ctypes.c_double(value)
        )

    def _entry(array: Any, place: int) -> Any:
        """Address of entry ``place`` of an array (interpreted mode)."""
        return int(array.ctypes.data + array.itemsize * place)


@part
def cholesky_in_place(n: int, A: Block, failed: Any) -> None:
    """A = L Lᵀ of the lower triangle (n, n), in place.

    failed[0] becomes the number of the first pivot that is not positive, or 0.
    """
    a = A.entries
    _potrf(
        a, (_integer(LOWER), _integer(n), _entry(a, A.at), _integer(A.height), _entry(failed, 0))
    )


@part
def divide_right(m: int, n: int, L: Block, B: Block) -> None:
    """B := B op(L)⁻¹ for B (m, n) and lower triangular L (n, n), op(L) = L or Lᵀ."""
    a, b = L.entries, B.entries
    _trsm(
        b,
        (
            _integer(RIGHT),
            _integer(LOWER),
            _integer(L.turn),
            _integer(PLAIN),
            _integer(m),
            _integer(n),
            _number(1.0, b),
            _entry(a, L.at),
            _integer(L.height),
            _entry(b, B.at),
            _integer(B.height),
        ),
    )


@part
def add_square(n: int, k: int, factor: float, A: Block, keep: float, C: Block) -> None:
    """C := keep C + factor A Aᵀ, lower triangle, for A (n, k)."""
    a, c = A.entries, C.entries
    _syrk(
        c,
        (
            _integer(LOWER),
            _integer(PLAIN),
            _integer(n),
            _integer(k),
            _number(factor, c),
            _entry(a, A.at),
            _integer(A.height),
            _number(keep, c),
            _entry(c, C.at),
            _integer(C.height),
        ),
    )


@part
def add_product(
    sizes: tuple[int, int, int], factor: float, A: Block, B: Block, keep: float, C: Block
) -> None:
    """C := keep C + factor op(A) op(B) for op(A) (m, k), op(B) (k, n) and sizes (m, n, k).

    Nothing is done if one of the sizes is zero.
    """
    m, n, k = sizes
    a, b, c = A.entries, B.entries, C.entries
    if m > 0 and n > 0 and k > 0:
        _gemm(
            c,
            (
                _integer(A.turn),
                _integer(B.turn),
                _integer(m),
                _integer(n),
                _integer(k),
                _number(factor, c),
                _entry(a, A.at),
                _integer(A.height),
                _entry(b, B.at),
                _integer(B.height),
                _number(keep, c),
                _entry(c, C.at),
                _integer(C.height),
            ),
        )
