"""Products of matrices with rows of eight numbers, which fit one or two SIMD registers.

Libraries of dense linear algebra copy a matrix before they apply it, which takes most of the time
if the other factor has few columns; here a matrix L is read once. Rows of eight numbers are stored
in flat arrays, ``width`` numbers from one to the next; all arrays have the same precision.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from flexmbs._jit import COMPILED

Array = NDArray[np.floating[Any]]

EIGHT = 8  # numbers: one register of AVX-512 in double precision, two of AVX2


def whole_eights(columns: int) -> int:
    """Round a number of columns up to a multiple of eight, at least eight."""
    return -(-max(columns, 1) // EIGHT) * EIGHT


class Lines(NamedTuple):
    """Columns of a matrix in a flat array; column j begins at ``at + j height``."""

    entries: Array
    at: int
    height: int


class Eights(NamedTuple):
    """Rows of eight numbers in a flat array; row i begins at ``at + i width``."""

    entries: Array
    at: int
    width: int


class _Code:
    """Builder of instructions on vectors of eight numbers."""

    def __init__(self, context: Any, builder: Any, array: Any) -> None:
        """Code generator for vectors of eight numbers of the type of ``array``."""
        self.context, self.builder = context, builder
        number = context.get_value_type(array.dtype)
        self.vector, self.size = ir.VectorType(number, EIGHT), array.dtype.bitwidth // 8
        self._lanes = ir.Constant(ir.VectorType(ir.IntType(32), EIGHT), [0] * EIGHT)

    def data(self, array_type: Any, array: Any) -> Any:
        """Emit the address of the first number of an array."""
        return self.context.make_array(array_type)(self.context, self.builder, array).data

    def load(self, data: Any, place: Any) -> Any:
        """Emit the load of a vector of eight numbers."""
        return self.builder.load(self._eight(data, place), align=self.size)

    def store(self, value: Any, data: Any, place: Any) -> None:
        """Emit the store of a vector of eight numbers."""
        self.builder.store(value, self._eight(data, place), align=self.size)

    @contextlib.contextmanager
    def sums(self, data: Any, places: Sequence[Any]) -> Iterator[list[Any]]:
        """Context with vector variables loaded at some places and stored back at its end."""
        totals = [
            cgutils.alloca_once_value(self.builder, self.load(data, place)) for place in places
        ]
        yield totals
        for place, total in zip(places, totals):
            self.store(self.builder.load(total), data, place)

    def spread(self, data: Any, place: Any) -> Any:
        """Emit a vector of eight copies of the number at a place."""
        empty = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(
            empty, self.builder.load(self.builder.gep(data, [place])), ir.IntType(32)(0)
        )
        return self.builder.shuffle_vector(first, empty, self._lanes)

    def less(self, total: Any, a: Any, b: Any) -> Any:
        """Emit total − a b as fused multiply-add where available."""
        return self.builder.fsub(
            total, self.builder.fmul(a, b, flags=("contract",)), flags=("contract",)
        )

    def more(self, total: Any, a: Any, b: Any) -> Any:
        """Emit total + a b as fused multiply-add where available."""
        return self.builder.fadd(
            total, self.builder.fmul(a, b, flags=("contract",)), flags=("contract",)
        )

    def place(self, at: Any, step: Any, k: Any) -> Any:
        """Emit the index at + k step."""
        k = ir.IntType(64)(k) if isinstance(k, int) else k
        return self.builder.add(at, self.builder.mul(k, step))

    def _eight(self, data: Any, place: Any) -> Any:
        """Pointer to the vector of eight numbers at a place."""
        return self.builder.bitcast(self.builder.gep(data, [place]), ir.PointerType(self.vector))


def _operands(code: _Code, signature: Any, arguments: Any) -> list[Any]:
    """Emitted addresses and integers of the operands of a SIMD operation."""
    found = []
    for kind, value in zip(signature.args, arguments):
        if isinstance(kind, types.Integer):
            found.append(value)
            continue
        entries, at, step = cgutils.unpack_tuple(code.builder, value)
        found += [code.data(kind.types[0], entries), at, step]
    return found


def _subtract(columns: int) -> Callable[..., None]:
    """Make the function W_i := W_i − Σ_j L_ij X_j for ``columns`` columns of L."""

    def interpreted(L: Lines, count: int, X: Eights, W: Eights) -> None:
        """W ← W − L X in eight columns, in Python."""
        for i in range(count):
            for j in range(columns):
                factor = L.entries[L.at + j * L.height + i]
                x, w = X.at + j * X.width, W.at + i * W.width
                W.entries[w : w + EIGHT] -= factor * X.entries[x : x + EIGHT]

    if not COMPILED:
        return interpreted

    @intrinsic
    def compiled(_context, L, count, X, W):  # type: ignore[no-untyped-def]
        """Typing and code of W ← W − L X with the rows of X in registers."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            """Emit the loop over the rows of L, with the rows of X in registers."""
            code = _Code(context, builder, L.types[0])
            l_, l_at, height, n, x, x_at, x_width, w, w_at, w_width = _operands(
                code, signature, arguments
            )
            given = [code.load(x, code.place(x_at, x_width, j)) for j in range(columns)]
            starts = [code.place(l_at, height, j) for j in range(columns)]
            with cgutils.for_range(builder, n) as loop:
                row = code.place(w_at, w_width, loop.index)
                total = code.load(w, row)
                for start, each in zip(starts, given):
                    total = code.less(total, code.spread(l_, builder.add(start, loop.index)), each)
                code.store(total, w, row)
            return context.get_dummy_value()

        return types.void(L, count, X, W), generate

    return compiled  # type: ignore[no-any-return]


def _subtract_turned(columns: int) -> Callable[..., None]:
    """Make the function X_j := X_j − Σ_i L_ij W_i for ``columns`` columns of L."""

    def interpreted(L: Lines, count: int, W: Eights, X: Eights) -> None:
        """X ← X − Lᵀ W in eight columns, in Python."""
        for j in range(columns):
            for i in range(count):
                factor = L.entries[L.at + j * L.height + i]
                x, w = X.at + j * X.width, W.at + i * W.width
                X.entries[x : x + EIGHT] -= factor * W.entries[w : w + EIGHT]

    if not COMPILED:
        return interpreted

    @intrinsic
    def compiled(_context, L, count, W, X):  # type: ignore[no-untyped-def]
        """Typing and code of X ← X − Lᵀ W with the rows of X in registers."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            """Emit the loop over the rows of W, with the sums of X in registers."""
            code = _Code(context, builder, L.types[0])
            l_, l_at, height, n, w, w_at, w_width, x, x_at, x_width = _operands(
                code, signature, arguments
            )
            places = [code.place(x_at, x_width, j) for j in range(columns)]
            starts = [code.place(l_at, height, j) for j in range(columns)]
            with code.sums(x, places) as totals, cgutils.for_range(builder, n) as loop:
                row = code.load(w, code.place(w_at, w_width, loop.index))
                for start, total in zip(starts, totals):
                    factor = code.spread(l_, builder.add(start, loop.index))
                    builder.store(code.less(builder.load(total), factor, row), total)
            return context.get_dummy_value()

        return types.void(L, count, W, X), generate

    return compiled  # type: ignore[no-any-return]


class Entries(NamedTuple):
    """Entries of a sparse matrix, row by row, with their columns."""

    values: Array
    columns: Any


def _add(rows: int, eights: int) -> Callable[..., None]:
    """Make the function W_a := W_a + Σ_p A_ap X_(column p) for rows a of a sparse matrix.

    The rows have the same ``count`` columns; their entries begin at ``low`` and are contiguous.
    Rows X, W consist of several ``eights``.
    """

    def interpreted(A: Entries, low: int, count: int, X: Eights, W: Eights) -> None:
        """W ← W + A X for entries low … low + count of sparse rows, in Python."""
        for a in range(rows):
            for p in range(low, low + count):
                x, w = X.at + A.columns[p] * X.width, W.at + a * W.width
                W.entries[w : w + eights * EIGHT] += (
                    A.values[p + a * count] * X.entries[x : x + eights * EIGHT]
                )

    if not COMPILED:
        return interpreted

    @intrinsic
    def compiled(_context, A, low, count, X, W):  # type: ignore[no-untyped-def]
        """Typing and code of W ← W + A X for sparse rows A."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            """Emit the loop over the entries, with the rows of W in registers."""
            code = _Code(context, builder, A.types[0])
            entries, numbers = cgutils.unpack_tuple(builder, arguments[0])
            values, columns = code.data(A.types[0], entries), code.data(A.types[1], numbers)
            _, low, count = arguments[:3]
            x, x_at, x_width, w, w_at, w_width = _operands(
                code, signature.replace(args=(X, W)), arguments[3:]
            )
            starts = [code.place(low, count, a) for a in range(rows)]
            parts = [ir.IntType(64)(EIGHT * c) for c in range(eights)]
            places = [
                builder.add(code.place(w_at, w_width, a), c) for a in range(rows) for c in parts
            ]
            with code.sums(w, places) as totals, cgutils.for_range(builder, count) as loop:
                number = builder.load(builder.gep(columns, [builder.add(low, loop.index)]))
                row = code.place(x_at, x_width, builder.sext(number, ir.IntType(64)))
                given = [code.load(x, builder.add(row, c)) for c in parts]
                for a, start in enumerate(starts):
                    factor = code.spread(values, builder.add(start, loop.index))
                    for each, total in zip(given, totals[a * eights : (a + 1) * eights]):
                        builder.store(code.more(builder.load(total), factor, each), total)
            return context.get_dummy_value()

        return types.void(A, types.int64, types.int64, X, W), generate

    return compiled  # type: ignore[no-any-return]


class Blocks(NamedTuple):
    """Blocks (3, 3) of a sparse matrix.

    entries: (9 q,) row by row.  columns: (q,) columns of blocks.
    """

    entries: Array
    columns: Any


def _subtract_blocks() -> Callable[..., None]:
    """Make the function W := W − B X for 3 × 3 blocks B of a block row.

    The blocks q = low … high − 1 are in columns j of blocks.
    """

    def interpreted(B: Blocks, low: int, high: int, X: Eights, W: Eights) -> None:
        """W ← W − B X for the 3 × 3 blocks low … high of a block row, in Python."""
        for q in range(low, high):
            for a in range(3):
                for b in range(3):
                    factor = B.entries[9 * q + 3 * a + b]
                    x, w = X.at + (3 * B.columns[q] + b) * X.width, W.at + a * W.width
                    W.entries[w : w + EIGHT] -= factor * X.entries[x : x + EIGHT]

    if not COMPILED:
        return interpreted

    @intrinsic
    def compiled(_context, B, low, high, X, W):  # type: ignore[no-untyped-def]
        """Typing and code of W ← W − B X for 3 × 3 blocks of a block row."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            """Emit the loop over the blocks, with three rows of W in registers."""
            code = _Code(context, builder, B.types[0])
            entries, numbers = cgutils.unpack_tuple(builder, arguments[0])
            values, columns = code.data(B.types[0], entries), code.data(B.types[1], numbers)
            x, x_at, x_width, w, w_at, w_width = _operands(
                code, signature.replace(args=(X, W)), arguments[3:]
            )
            places = [code.place(w_at, w_width, a) for a in range(3)]
            nine, three = ir.IntType(64)(9), ir.IntType(64)(3)
            with (
                code.sums(w, places) as totals,
                cgutils.for_range(builder, arguments[2], start=arguments[1]) as loop,
            ):
                column = builder.sext(
                    builder.load(builder.gep(columns, [loop.index])), ir.IntType(64)
                )
                row = code.place(x_at, x_width, builder.mul(three, column))
                given = [code.load(x, code.place(row, x_width, b)) for b in range(3)]
                first = builder.mul(nine, loop.index)
                for a, total in enumerate(totals):
                    for b, each in enumerate(given):
                        factor = code.spread(values, builder.add(first, ir.IntType(64)(3 * a + b)))
                        builder.store(code.less(builder.load(total), factor, each), total)
            return context.get_dummy_value()

        return types.void(B, types.int64, types.int64, X, W), generate

    return compiled  # type: ignore[no-any-return]


add_row, add_wide_row, add_three_rows = _add(1, 1), _add(1, 3), _add(3, 1)
subtract_blocks = _subtract_blocks()
subtract_one, subtract_three, subtract_six = (_subtract(columns) for columns in (1, 3, 6))
subtract_turned_one, subtract_turned_three, subtract_turned_six = (
    _subtract_turned(columns) for columns in (1, 3, 6)
)
