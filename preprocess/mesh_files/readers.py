"""Table of the mesh readers by file suffix.

Their exceptions become one InputError. VTU is read by meshio. The other formats have their own
readers: meshio drops the numbers of nodes and elements, surfaces, sets of sets and supports, skips
unknown content, and fails on many real files.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from flexmbs.errors import InputError
from flexmbs.files.inputs import check_regular
from preprocess.inputs.reader_guard import error_summary
from preprocess.mesh_files.abaqus import read_abaqus
from preprocess.mesh_files.gmsh import read_gmsh
from preprocess.mesh_files.med import read_med
from preprocess.mesh_files.nastran import read_nastran
from preprocess.mesh_files.raw_mesh import RawMesh
from preprocess.mesh_files.vtu import read_vtu


class Reader(NamedTuple):
    """Reader of a mesh format.

    read: makes the raw mesh of a path, with beams and shells as elements if its second argument is
    true; begins: what a file begins with, for messages; suffixes: of its files; includes: True if
    files include others, then ``read`` takes ``allow_outside``.
    """

    read: Callable[..., RawMesh]
    begins: str
    suffixes: tuple[str, ...]
    includes: bool = False


READERS = {
    suffix: reader
    for reader in (
        Reader(read_gmsh, "$MeshFormat", (".msh",)),
        Reader(read_abaqus, "*NODE", (".inp",), includes=True),
        Reader(read_vtu, "<VTKFile>", (".vtu",)),
        Reader(read_med, "an HDF5 signature", (".med",)),
        Reader(read_nastran, "BEGIN BULK", (".bdf", ".nas", ".dat"), includes=True),
    )
    for suffix in reader.suffixes
}


def raw_mesh(path: Path, structural: bool = False, *, allow_outside: bool = False) -> RawMesh:
    """Content of a mesh file and its included files.

    Beams and shells are elements if ``structural``. Raises InputError with file, location and
    reason.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path}: format '{path.suffix}' is not supported; use one of {', '.join(READERS)}"
        )
    check_regular(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty; expected {reader.begins} at byte 0")
    try:
        if reader.includes:
            return reader.read(path, structural, allow_outside=allow_outside)
        return reader.read(path, structural)
    except InputError as error:
        raise InputError(
            *(each if str(path) in each else f"{path}: {each}" for each in error.problems)
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, ArithmeticError, MemoryError) as error:
        raise InputError(f"{path}: is damaged ({error_summary(error)}); export it again") from error
