"""Finite-element matrices from files: Matrix Market, .npz and .npy, never unpickled."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import InputError
from preprocess.fe_model import FEModel

Array = NDArray[np.float64]

LARGEST_EXPANSION = 1000  # of a compressed file


def read_matrices(
    *, K: str | Path, M: str | Path, nodes: str | Path, node_sets: Mapping[str, ArrayLike] | None = None
) -> FEModel:
    """Model of matrix files in SI units: K and M as Matrix Market (.mtx), SciPy .npz or dense .npy; nodes as .npy, .csv, .txt.

    nodes: rows x y z in m, or number x y z.  node_sets: places of nodes by name.
    Raises InputError for anything that cannot be read, and for what `FEModel.from_matrices` refuses.
    """
    table = _guarded(Path(nodes), _node_table)
    if table.ndim != 2 or table.shape[1] not in (3, 4) or not len(table):
        raise InputError(f"{nodes}: has shape {table.shape}; expected rows of x y z or number x y z")
    limit = 3 * len(table)
    stiffness, mass = (matrix_of_file(Path(path), limit) for path in (K, M))
    ids = table[:, 0].astype(np.int64) if table.shape[1] == 4 else None
    return FEModel.from_matrices(stiffness, mass, table[:, -3:], node_ids=ids, node_sets=node_sets, source=str(K))


def matrix_of_file(path: Path, limit: int) -> sp.csr_matrix:
    """Matrix of a Matrix Market, .npz or .npy file with at most ``limit`` rows. Raises InputError."""
    matrix: sp.csr_matrix = _guarded(path, _MATRIX_READERS.get(path.suffix.lower(), _unknown), limit)
    return matrix


def _guarded(path: Path, read: Callable[..., Any], *arguments: Any) -> Any:
    """What the reader returns; anything it throws as an InputError."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        return read(path, *arguments)
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path}: claims more data than fits in memory; it is damaged") from error
    except Exception as error:
        said = (str(error).splitlines() or [""])[0][:200]
        raise InputError(f"{path}: cannot be read as {path.suffix or 'a matrix'} ({type(error).__name__}: {said})") from error


def _unknown(path: Path, limit: int) -> sp.csr_matrix:
    raise InputError(f"{path}: format '{path.suffix}' is not read; there are {', '.join(_MATRIX_READERS)}")


def _matrix_market(path: Path, limit: int) -> sp.csr_matrix:
    rows, columns, entries, *_ = scipy.io.mminfo(str(path))
    if max(rows, columns) > limit or entries > max(path.stat().st_size, limit**2):
        raise InputError(f"{path}: claims ({rows}, {columns}) with {entries} entries; the nodes need at most ({limit}, {limit})")
    return sp.csr_matrix(scipy.io.mmread(str(path)))


def _sparse_archive(path: Path, limit: int) -> sp.csr_matrix:
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > LARGEST_EXPANSION * path.stat().st_size:
        raise InputError(f"{path}: expands to {size} bytes; it is damaged or hostile")
    matrix = sp.load_npz(path)
    if max(matrix.shape) > limit:
        raise InputError(f"{path}: has shape {matrix.shape}; the nodes give at most {limit} degrees of freedom")
    matrix = sp.csr_matrix(matrix) if matrix.format == "dia" else matrix
    if matrix.format in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)  # wrong indices would be followed blindly later
    return sp.csr_matrix(matrix)


def _dense(path: Path, limit: int) -> sp.csr_matrix:
    return sp.csr_matrix(np.load(path, allow_pickle=False))


_MATRIX_READERS: dict[str, Callable[[Path, int], sp.csr_matrix]] = {
    ".mtx": _matrix_market,
    ".mm": _matrix_market,
    ".npz": _sparse_archive,
    ".npy": _dense,
}


def _node_table(path: Path) -> Array:
    if path.suffix.lower() == ".npy":
        return np.asarray(np.load(path, allow_pickle=False), dtype=float)
    return np.loadtxt(path, delimiter="," if path.suffix.lower() == ".csv" else None, ndmin=2)
