"""File cache of the factor of a stiffness matrix.

It serves reductions of the same part with other interfaces, methods or modes.

The file holds the order of elimination and the panels of the factor; the tree is analysed again. A
factor read from a file is accepted if it solves the equations for random loads: ``|K x − b| ≤ 1e-6
|b|``, or, in single precision, with an error of at most a half in the energy norm, which refinement
removes.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit import COMPILED
from flexmbs.errors import InputError, MachineError
from flexmbs.files.hdf5 import (
    attributes,
    check_items,
    check_storage,
    datasets,
    read_whole,
    set_text,
    write_atomically,
)
from preprocess.solve.cholesky.factor import Entries
from preprocess.solve.factors import CholeskyFactor, Factor, FactorProblem
from preprocess.solve.memory import check_free_memory
from preprocess.solve.ordering import node_graph

Indices = NDArray[np.int64]

FORMAT = "flexmbs-factor/1"
ITEMS = {"order": "i", "panels": "g"}


class _CachedFactor(NamedTuple):
    """Digest of the matrix, elimination order of its free nodes, panels of the factor."""

    digest: str
    order: Indices
    panels: Entries


def load_factor(
    path: str | os.PathLike[str], K: sp.csr_matrix, nodes: Indices
) -> CholeskyFactor | None:
    """Cached factor of the rows and columns of some nodes (N,) of K.

    None if there is no file or it belongs to another matrix. Raises InputError for a file of
    another kind or a damaged one, MachineError if kernels are not compiled.
    """
    if not COMPILED:
        raise MachineError("keep: only the compiled solver stores factors; unset NUMBA_DISABLE_JIT")
    if not Path(path).exists():
        return None
    content = read_whole(
        path, lambda file: _read(file, matrix_digest(K, nodes)), "reduce(…, keep=…)"
    )
    if content is None:
        return None
    problem = FactorProblem(
        K, nodes, node_graph(K, nodes), _permutation(content.order, len(nodes), path), True
    )
    factor = CholeskyFactor(problem, content.panels)
    if not factor.serves():
        raise InputError(
            f"{path}: the factor does not solve the equations, the file is damaged; remove it"
        )
    return factor


def store_factor(
    path: str | os.PathLike[str], factor: Factor, K: sp.csr_matrix, nodes: Indices
) -> None:
    """Write a factor to a file, atomically.

    Raises InputError if a file of another kind exists there, MachineError.
    """
    assert isinstance(factor, CholeskyFactor)

    def fill(file: h5py.File) -> None:
        """Write the factor with the digest of its matrix into an open file."""
        set_text(file, "format", FORMAT)
        set_text(file, "digest", matrix_digest(K, nodes))
        file.create_dataset("order", data=factor.order)
        file.create_dataset("panels", data=factor.panels)

    write_atomically(path, fill)


def matrix_digest(K: sp.csr_matrix, nodes: Indices) -> str:
    """SHA-256 of the matrix and of the nodes."""
    digest = hashlib.sha256()
    for array in (K.indptr, K.indices, K.data, nodes):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _read(file: h5py.File, digest: str) -> _CachedFactor | None:
    """Stored factor; None if it is of another matrix. Raises `InputError`."""
    header = attributes(file)
    if header.get("format") != FORMAT:
        raise InputError(
            f"format: is {header.get('format', 'missing')!s:.40}, not {FORMAT}; name another "
            "file for the factor"
        )
    if header.get("digest") != digest:
        return None
    found = dict(datasets(file))
    check_items(found, set(ITEMS), FORMAT)
    for item, kind in ITEMS.items():
        check_storage(item, found[item], kind)
    check_free_memory(float(found["panels"].nbytes), "the cached factor")
    return _CachedFactor(digest, found["order"][()].ravel(), found["panels"][()].ravel())


def _permutation(order: Indices, count: int, path: str | os.PathLike[str]) -> Indices:
    """Elimination order. Raises `InputError` unless it is a permutation."""
    if len(order) != count or not np.array_equal(np.sort(order), np.arange(count)):
        raise InputError(
            f"{path}: order: is not a permutation of {count} nodes, the file is damaged; remove it"
        )
    return order
