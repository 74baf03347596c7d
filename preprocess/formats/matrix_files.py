"""Finite-element matrices from Matrix Market, .npz and .npy files, never unpickled."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from flexmbs.console.memory import free_memory
from flexmbs.errors import InputError
from flexmbs.files.inputs import read_text
from flexmbs.files.paths import file_path
from preprocess.fe.fe_model import FEModel
from preprocess.inputs.argument_checks import checked_arguments
from preprocess.inputs.number_parsing import content, integers, numbers
from preprocess.inputs.reader_guard import error_summary

Array = NDArray[np.float64]

_COMMENTS = re.compile(rb"^[ \t]*%.*$", re.MULTILINE)
# size of a compressed file's content over that of the file; deflate reaches at most 1032, and
# finite-element matrices far less
LARGEST_EXPANSION = 1000


@checked_arguments
def read_matrices(
    *,
    K: str | Path,
    M: str | Path,
    nodes: str | Path,
    node_sets: Mapping[str, ArrayLike] | None = None,
) -> FEModel:
    """Finite-element model of matrix files in SI units.

    K, M: files of stiffness and mass, as Matrix Market (.mtx), SciPy .npz or dense .npy. nodes: a
    file .npy, .csv or .txt of rows x y z in m, or number x y z. node_sets: node indices by name.
    Raises InputError for unreadable files, and for matrices that `FEModel.from_matrices` rejects.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> import preprocess as pp
    >>> fe = pp.assemble(
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    ... )
    >>> sp.save_npz("K.npz", fe.K)
    >>> sp.save_npz("M.npz", fe.M)
    >>> np.save("nodes.npy", fe.nodes)
    >>> again = pp.read_matrices(K="K.npz", M="M.npz", nodes="nodes.npy")
    >>> round(again.mass, 6)
    1.256
    """
    paths = [file_path(path, what) for path, what in ((K, "K"), (M, "M"), (nodes, "nodes"))]
    table = _guarded(paths[2], _node_table)
    if table.ndim != 2 or table.shape[1] not in (3, 4) or not len(table):
        raise InputError(
            f"{nodes}: has shape {table.shape}; expected rows of x y z or number x y z"
        )
    limit = 3 * len(table)
    stiffness, mass = (matrix_of_file(path, limit) for path in paths[:2])
    ids = table[:, 0].astype(np.int64) if table.shape[1] == 4 else None
    return FEModel.from_matrices(
        stiffness,
        mass,
        table[:, -3:],
        node_ids=ids,
        node_sets=node_sets,
        source=str(K),
        mass_source=str(M),
    )


def matrix_of_file(path: Path, limit: int) -> sp.csr_matrix:
    """Matrix of a Matrix Market, .npz or .npy file with at most ``limit`` rows.

    Raises InputError.
    """
    matrix: sp.csr_matrix = _guarded(
        path, _MATRIX_READERS.get(path.suffix.lower(), _unknown), limit
    )
    return matrix


def _guarded(path: Path, read: Callable[..., Any], *arguments: Any) -> Any:
    """Result of a reader, whose exceptions become InputErrors."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        return read(path, *arguments)
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path}: claims more data than fits in memory; it is damaged") from error
    except Exception as error:
        raise InputError(
            f"{path}: cannot be read as {path.suffix or 'a matrix'} ({error_summary(error)})"
        ) from error


def _unknown(path: Path, limit: int) -> sp.csr_matrix:
    """Raise `InputError` for the suffix of a matrix file."""
    raise InputError(
        f"{path}: format '{path.suffix}' is not supported; use one of {', '.join(_MATRIX_READERS)}"
    )


def _matrix_market(path: Path, limit: int) -> sp.csr_matrix:
    """Real matrix, general or symmetric, sparse or dense.

    SciPy's reader is unsafe for damaged files.
    """
    data = content(path, "a Matrix Market file")
    heading, _, rest = data.partition(b"\n")
    words = heading.decode("ascii", errors="replace").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise InputError(
            f"{path}:1: {' '.join(words)[:60]!r} is not a header; expected %%MatrixMarket "
            "matrix coordinate real symmetric"
        )
    layout, field, symmetry = words[2:]
    if (
        layout not in ("coordinate", "array")
        or field not in ("real", "double", "integer")
        or symmetry not in ("general", "symmetric")
    ):
        raise InputError(
            f"{path}:1: a {layout} {field} {symmetry} matrix is not supported; write it "
            "real, general or symmetric"
        )
    values = numbers(_COMMENTS.sub(b"", rest), str(path))
    head = 3 if layout == "coordinate" else 2
    rows, columns = (
        (int(size) for size in integers(values[:head], str(path), "size")[:2])
        if values.size >= head
        else (-1, -1)
    )
    if not (0 < rows <= limit and 0 < columns <= limit):
        raise InputError(
            f"{path}: claims ({rows}, {columns}); the nodes need at most ({limit}, {limit})"
        )
    body = values[head:]
    if layout == "array":
        return _dense_columns(path, body, rows, columns, symmetry == "symmetric")
    if body.size != 3 * values[2]:
        raise InputError(
            f"{path}: claims {values[2]:g} entries and has {body.size} numbers; it is "
            "truncated or damaged"
        )
    triples = body.reshape(-1, 3)
    i, j = (integers(triples[:, k], str(path), "index") - 1 for k in (0, 1))
    if len(i) and (min(i.min(), j.min()) < 0 or i.max() >= rows or j.max() >= columns):
        raise InputError(f"{path}: an entry is outside of ({rows}, {columns}); it is damaged")
    A = sp.csr_matrix((triples[:, 2], (i, j)), shape=(rows, columns))
    return A if symmetry == "general" else _mirrored(path, A)


def _dense_columns(
    path: Path, values: Array, rows: int, columns: int, symmetric: bool
) -> sp.csr_matrix:
    """Matrix of values column by column; a symmetric one from the diagonal down."""
    needed = rows * (rows + 1) // 2 if symmetric else rows * columns
    if values.size != needed or (symmetric and rows != columns):
        raise InputError(
            f"{path}: has {values.size} numbers; a matrix ({rows}, {columns}) needs {needed}"
        )
    if not symmetric:
        return sp.csr_matrix(values.reshape(columns, rows).T)
    upper = np.zeros((rows, rows))
    upper[np.triu_indices(rows)] = values
    return _mirrored(path, sp.csr_matrix(upper.T))


def _mirrored(path: Path, A: sp.csr_matrix) -> sp.csr_matrix:
    """Matrix A completed by the transpose of its triangle."""
    if A.shape[0] != A.shape[1]:
        raise InputError(f"{path}: is symmetric and has shape {A.shape}; it is damaged")
    return (A + A.T - sp.diags(A.diagonal())).tocsr()


def _sparse_archive(path: Path, limit: int) -> sp.csr_matrix:
    """Sparse matrix of an .npz file of limited size. Raises `InputError`."""
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > min(LARGEST_EXPANSION * path.stat().st_size, free_memory()):
        raise InputError(f"{path}: expands to {size} bytes; it is damaged or malicious")
    matrix = sp.load_npz(path)
    if max(matrix.shape) > limit:
        raise InputError(
            f"{path}: has shape {matrix.shape}; the nodes give at most {limit} degrees of freedom"
        )
    matrix = sp.csr_matrix(matrix) if matrix.format == "dia" else matrix
    if matrix.format in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)  # wrong indices would crash later
    return sp.csr_matrix(matrix)


def _dense(path: Path, limit: int) -> sp.csr_matrix:
    """Matrix of an .npy file as a sparse one."""
    return sp.csr_matrix(np.load(path, allow_pickle=False))


_MATRIX_READERS: dict[str, Callable[[Path, int], sp.csr_matrix]] = {
    ".mtx": _matrix_market,
    ".mm": _matrix_market,
    ".npz": _sparse_archive,
    ".npy": _dense,
}


def _node_table(path: Path) -> Array:
    """Array of a node file: .npy, .csv or text."""
    if path.suffix.lower() == ".npy":
        return np.asarray(np.load(path, allow_pickle=False), dtype=float)
    return np.loadtxt(
        read_text(path).splitlines(),
        delimiter="," if path.suffix.lower() == ".csv" else None,
        ndmin=2,
    )
