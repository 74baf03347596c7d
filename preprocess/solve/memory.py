"""Estimated and free memory, and retention of freed memory."""

import ctypes
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from flexmbs.console.memory import free_memory as free_memory
from flexmbs.errors import InputError, MachineError

# number of entries of a factor beyond which single precision is tried: 1.6 GB, from where memory
# and time matter
LARGE = 2e8
MANY = 150_000  # number of nodes from which two grids take less time than a factor
# largest fraction of coarse nodes; with more the factor of the coarse grid is hardly smaller than
# that of all nodes
COARSE = 0.5


def memory_estimate(n_nodes: int, coarse: int) -> float:
    """Bytes for the matrices, the Cholesky factor and the modes of a solid.

    n_nodes nodes, with ``coarse`` corners among them.

    Fitted to nested dissection of quadratic tetrahedra: 0.47, 2.1 and 11 GB of factor at 0.1, 0.29
    and 1.0 million degrees of freedom, and an eighth of that as workspace; K, a copy of it with
    springs as supports, and 150 vectors. The two-grid method needs the factor of the coarse grid, K
    in single precision, and 150 further vectors in iterations.
    """
    grids = n_nodes >= MANY and coarse <= COARSE * n_nodes
    dof = 3.0 * (coarse if grids else n_nodes)
    entries = 1.13 * 0.059e9 * (dof / 1e5) ** 1.37
    vectors = 3 * 8 * 150 * (2 if grids else 1)
    return (8.0 if entries < LARGE else 4.0) * entries + (
        2 * 2.4e3 + (1e3 if grids else 0) + vectors
    ) * n_nodes


def check_memory(n_nodes: int, coarse: int, source: str) -> None:
    """Raise InputError when the estimate exceeds the free memory."""
    estimate, free = memory_estimate(n_nodes, coarse), free_memory()
    if estimate > free:
        raise InputError(
            f"{source}: {3 * n_nodes} degrees of freedom need about {estimate / 1e9:.1f} "
            f"GB, {free / 1e9:.1f} GB are free; "
            "coarsen the mesh, or pass allow_large=True (--allow-large)"
        )


def check_free_memory(needed: float, what: str) -> None:
    """Raise MachineError if ``what`` needs more bytes than are free."""
    free = free_memory()
    if needed > free:
        raise MachineError(
            f"{what} needs {needed / 1e9:.2f} GB, {free / 1e9:.2f} GB are free; coarsen the mesh"
        )


# parameters of glibc's mallopt: M_TRIM_THRESHOLD, M_MMAP_MAX, M_MMAP_THRESHOLD
TRIM, MAPPED, MAPPED_FROM = -1, -4, -3
KEPT = {TRIM: -1, MAPPED: 0}
# to which glibc comes by itself where large arrays are freed
USUAL = {TRIM: 2**26, MAPPED: 65536, MAPPED_FROM: 2**25}


_lock, _entered = threading.Lock(), 0


@contextmanager
def retain_freed_memory() -> Iterator[None]:
    """Context that keeps freed memory in the process for its next arrays.

    Until all functions decorated by it have ended. Otherwise glibc maps each large array anew, and
    the system clears its pages, a tenth of the time of a reduction. Other C libraries are
    unaffected.
    """
    _enter(1)
    try:
        yield
    finally:
        _enter(-1)


def _enter(change: int) -> None:
    """Count nested users; adjust the allocator at the first entry and last exit."""
    global _entered
    with _lock:
        before, _entered = _entered, _entered + change
        if not before:
            _adjust(KEPT)
        elif not _entered:
            _adjust(USUAL)


def _adjust(parameters: Mapping[int, int]) -> None:
    """Set parameters of the memory allocator of glibc."""
    adjust = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if adjust is not None:
        for parameter, value in parameters.items():
            adjust(parameter, value)
