"""Compiled steps of the two-grid iteration.

They work in single precision, on the three rows and eight columns of each node.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel, part
from flexmbs._jit.simd_rows import EIGHT, Blocks, Eights, subtract_blocks
from preprocess.solve.sparse_products import CsrRows

Single = NDArray[np.float32]


class GridLevel(NamedTuple):
    """Block matrix K (n, n) by rows, single precision; inverse diagonal blocks (9 n,)."""

    indptr: NDArray[np.int32]
    columns: NDArray[np.int32]
    entries: Single
    inverse: Single


class GridTransfer(NamedTuple):
    """Sparse matrix whose entries stand for three rows each."""

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: Single


class ChebyshevStep(NamedTuple):
    """Step ``d := before d + after D⁻¹ r`` of Chebyshev's iteration."""

    before: float
    after: float


@kernel
def copy_blocks(K: CsrRows, nodes: Any, number: Any, low: int, high: int, level: GridLevel) -> None:
    """Copy the blocks of a CSR matrix in the rows of nodes[low:high].

    number: of each node among these, negative for others.
    """
    starts, columns = level.indptr, level.columns
    for i in range(low, high):
        for a in range(3):
            q = starts[i]
            for p in range(K.indptr[3 * nodes[i] + a], K.indptr[3 * nodes[i] + a + 1]):
                node = K.indices[p] // 3
                j = number[node]
                if j < 0:
                    continue
                if columns[q] > j:
                    q = starts[i]
                while columns[q] < j:
                    q += 1
                level.entries[9 * q + 3 * a + K.indices[p] - 3 * node] += K.values[p]


@kernel
def gather(nodes: Any, low: int, high: int, loads: Any, scale: Any, r: Any) -> None:
    """Compute r = loads / scale in the rows of nodes[low:high], eight columns.

    loads (3 N, 8 or less).
    """
    for i in range(low, high):
        for a in range(3):
            at = (3 * i + a) * EIGHT
            for c in range(loads.shape[1]):
                r[at + c] = loads[3 * nodes[i] + a, c] / scale[c]
            for c in range(loads.shape[1], EIGHT):
                r[at + c] = 0.0


@kernel
def scatter(nodes: Any, low: int, high: int, x: Any, scale: Any, found: Any) -> None:
    """Write found = scale x to the rows of nodes[low:high], eight columns."""
    for i in range(low, high):
        for a in range(3):
            at = (3 * i + a) * EIGHT
            for c in range(found.shape[1]):
                found[3 * nodes[i] + a, c] = scale[c] * x[at + c]


@kernel
def residual(K: GridLevel, low: int, high: int, d: Any, r: Any, out: Any) -> None:
    """Compute out := r − K d in the rows of nodes low … high − 1.

    d, r, out (24 n,).
    """
    blocks = Blocks(K.entries, K.columns)
    for i in range(low, high):
        at = 3 * EIGHT * i
        for c in range(at, at + 3 * EIGHT):
            out[c] = r[c]
        subtract_blocks(
            blocks, K.indptr[i], K.indptr[i + 1], Eights(d, 0, EIGHT), Eights(out, at, EIGHT)
        )


@part
def add_scaled(K: GridLevel, i: int, step: ChebyshevStep, d: Any, r: Any, x: Any, out: Any) -> None:
    """Compute out := before d + after D⁻¹ r and x := x + out in the rows of node i."""
    before, after, at = np.float32(step.before), np.float32(step.after), 3 * EIGHT * i
    for a in range(3):
        k = 9 * i + 3 * a
        p, q, s = K.inverse[k] * after, K.inverse[k + 1] * after, K.inverse[k + 2] * after
        for c in range(at, at + EIGHT):
            value = before * d[c + a * EIGHT] + p * r[c] + q * r[c + EIGHT] + s * r[c + 2 * EIGHT]
            out[c + a * EIGHT] = value
            x[c + a * EIGHT] += value


@kernel
def first_step(
    K: GridLevel, low: int, high: int, step: ChebyshevStep, r: Any, x: Any, out: Any
) -> None:
    """Compute x := out := after D⁻¹ r in the rows of nodes low … high − 1."""
    for i in range(low, high):
        for c in range(3 * EIGHT * i, 3 * EIGHT * (i + 1)):
            x[c] = out[c] = 0.0
        add_scaled(K, i, step, out, r, x, out)


@kernel
def chebyshev_step(
    K: GridLevel, low: int, high: int, step: ChebyshevStep, d: Any, r: Any, x: Any, out: Any
) -> None:
    """Compute r := r − K d, out := before d + after D⁻¹ r and x := x + out.

    Only the rows of nodes low … high − 1 are computed.
    """
    blocks = Blocks(K.entries, K.columns)
    for i in range(low, high):
        subtract_blocks(
            blocks,
            K.indptr[i],
            K.indptr[i + 1],
            Eights(d, 0, EIGHT),
            Eights(r, 3 * EIGHT * i, EIGHT),
        )
        add_scaled(K, i, step, d, r, x, out)


@kernel
def transfer(P: GridTransfer, low: int, high: int, x: Any, out: Any) -> None:
    """Compute out := P x in the rows of nodes low … high − 1; x, out in rows of 24."""
    wide = 3 * EIGHT
    for i in range(low, high):
        first = wide * i
        for c in range(first, first + wide):
            out[c] = 0.0
        for q in range(P.indptr[i], P.indptr[i + 1]):
            value, at = P.values[q], wide * P.indices[q] - first
            for c in range(first, first + wide):
                out[c] += value * x[c + at]


@kernel
def inner_products(low: int, high: int, block: int, a: Any, b: Any, sums: Any) -> None:
    """Sums of a b in double precision over nodes low … high − 1, by column of eight.

    Added to those of each block of nodes.
    """
    for i in range(3 * low, 3 * high):
        k = i // (3 * block)
        for c in range(EIGHT):
            sums[k, c] += np.float64(a[EIGHT * i + c]) * np.float64(b[EIGHT * i + c])


@kernel
def combine(low: int, high: int, factor: Any, a: Any, b: Any, out: Any) -> None:
    """Compute out := a + factor b by column of eight, for nodes low … high − 1."""
    for i in range(3 * low, 3 * high):
        for c in range(EIGHT):
            out[EIGHT * i + c] = a[EIGHT * i + c] + factor[c] * b[EIGHT * i + c]
