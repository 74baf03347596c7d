"""Dense linear algebra for kernels: the BLAS and LAPACK in SciPy's wheel, called by address.

Matrices are column-major blocks of flat arrays (`Block`). A kernel that calls these stays cacheable, since the addresses are
bound by name when its code is loaded.
"""

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic
from numpy.typing import NDArray

from flexmbs._jit import COMPILED, part

Array = NDArray[np.float64]

ROUTINES = {"dpotrf": ("lapack", 5), "dtrsm": ("blas", 11), "dsyrk": ("blas", 10), "dgemm": ("blas", 13)}
LOWER, PLAIN, TURNED, RIGHT = (ord(letter) for letter in "LNTR")
LEFT = LOWER


class Block(NamedTuple):
    """A column-major matrix A in a flat array; as an operand it stands for A (turn = PLAIN) or Aᵀ (TURNED)."""

    entries: Array
    at: int  # place of the first entry
    height: int  # leading dimension
    turn: int


def _routine(name: str) -> Callable[..., None]:
    """A Fortran routine whose arguments are all addresses."""
    module, arguments = ROUTINES[name]
    address = get_cython_function_address(f"scipy.linalg.cython_{module}", name)
    if not COMPILED:
        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)
    llvmlite.binding.add_symbol(f"flexmbs_{name}", address)
    signature = types.void(*[types.voidptr] * arguments)
    return types.ExternalFunction(f"flexmbs_{name}", signature)  # type: ignore[no-any-return]


_dpotrf, _dtrsm, _dsyrk, _dgemm = (_routine(name) for name in ROUTINES)
_integer: Any
_number: Any
_entry: Any

if COMPILED:

    @intrinsic
    def _integer(_context, value):  # type: ignore[no-untyped-def]
        """Address of a C int of that value."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            place = cgutils.alloca_once_value(builder, builder.trunc(arguments[0], ir.IntType(32)))
            return builder.bitcast(place, cgutils.voidptr_t)

        return types.voidptr(types.int64), generate

    @intrinsic
    def _number(_context, value):  # type: ignore[no-untyped-def]
        """Address of a double of that value."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.bitcast(cgutils.alloca_once_value(builder, arguments[0]), cgutils.voidptr_t)

        return types.voidptr(types.float64), generate

    @intrinsic
    def _entry(_context, array, place):  # type: ignore[no-untyped-def]
        """Address of an entry of a flat array."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            return builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)

        return types.voidptr(array, types.int64), generate

else:

    def _integer(value: int) -> Any:
        return ctypes.byref(ctypes.c_int(int(value)))

    def _number(value: float) -> Any:
        return ctypes.byref(ctypes.c_double(value))

    def _entry(array: Any, place: int) -> Any:
        return int(array.ctypes.data + array.itemsize * place)


@part
def cholesky_in_place(n: int, A: Block, failed: Any) -> None:
    """A = L Lᵀ of the lower triangle (n, n), L in its place; failed[0]: number of the first pivot that is not positive, or 0."""
    _dpotrf(_integer(LOWER), _integer(n), _entry(A.entries, A.at), _integer(A.height), _entry(failed, 0))


@part
def divide_right(m: int, n: int, L: Block, B: Block) -> None:
    """B := B op(L)⁻¹ for B (m, n) and lower triangular L (n, n), op(L) = L or Lᵀ."""
    _dtrsm(
        _integer(RIGHT), _integer(LOWER), _integer(L.turn), _integer(PLAIN), _integer(m), _integer(n), _number(1.0),
        _entry(L.entries, L.at), _integer(L.height), _entry(B.entries, B.at), _integer(B.height),
    )  # fmt: skip


@part
def divide_left(m: int, n: int, L: Block, B: Block) -> None:
    """B := op(L)⁻¹ B for B (m, n) and lower triangular L (m, m), op(L) = L or Lᵀ."""
    _dtrsm(
        _integer(LEFT), _integer(LOWER), _integer(L.turn), _integer(PLAIN), _integer(m), _integer(n), _number(1.0),
        _entry(L.entries, L.at), _integer(L.height), _entry(B.entries, B.at), _integer(B.height),
    )  # fmt: skip


@part
def add_square(n: int, k: int, factor: float, A: Block, keep: float, C: Block) -> None:
    """C := keep C + factor A Aᵀ, lower triangle, for A (n, k)."""
    _dsyrk(
        _integer(LOWER), _integer(PLAIN), _integer(n), _integer(k), _number(factor), _entry(A.entries, A.at),
        _integer(A.height), _number(keep), _entry(C.entries, C.at), _integer(C.height),
    )  # fmt: skip


@part
def add_product(sizes: tuple[int, int, int], factor: float, A: Block, B: Block, keep: float, C: Block) -> None:
    """C := keep C + factor op(A) op(B) for op(A) (m, k), op(B) (k, n) and sizes (m, n, k); no-op where one of them is zero."""
    m, n, k = sizes
    if m > 0 and n > 0 and k > 0:
        _dgemm(
            _integer(A.turn), _integer(B.turn), _integer(m), _integer(n), _integer(k), _number(factor),
            _entry(A.entries, A.at), _integer(A.height), _entry(B.entries, B.at), _integer(B.height), _number(keep),
            _entry(C.entries, C.at), _integer(C.height),
        )  # fmt: skip
