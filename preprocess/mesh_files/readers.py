"""Table of the mesh readers by file suffix.

Their exceptions become one InputError. VTU is read by meshio. The other formats have their own
readers: meshio drops the numbers of nodes and elements, surfaces, sets of sets and supports, skips
unknown content, and fails on many real files.
"""

from collections.abc import Callable
from pathlib import Path

from flexmbs.errors import InputError
from flexmbs.files.inputs import check_regular
from preprocess.inputs.reader_guard import error_summary
from preprocess.mesh_files.abaqus import read_abaqus
from preprocess.mesh_files.gmsh import read_gmsh
from preprocess.mesh_files.include import TEXT_SUFFIXES
from preprocess.mesh_files.med import read_med
from preprocess.mesh_files.nastran import read_nastran
from preprocess.mesh_files.raw_mesh import RawMesh
from preprocess.mesh_files.vtu import read_vtu

READERS: dict[str, Callable[..., RawMesh]] = {
    ".msh": read_gmsh,
    ".inp": read_abaqus,
    ".vtu": read_vtu,
    ".med": read_med,
    ".bdf": read_nastran,
    ".nas": read_nastran,
    ".dat": read_nastran,
}
EXPECTED = {
    ".msh": "$MeshFormat",
    ".inp": "*NODE",
    ".vtu": "<VTKFile>",
    ".med": "an HDF5 signature",
    ".bdf": "BEGIN BULK",
    ".nas": "BEGIN BULK",
    ".dat": "BEGIN BULK",
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
        raise InputError(
            f"{path}: the file is empty; expected {EXPECTED[path.suffix.lower()]} at byte 0"
        )
    try:
        if path.suffix.lower() in TEXT_SUFFIXES:
            return reader(path, structural, allow_outside=allow_outside)
        return reader(path, structural)
    except InputError as error:
        raise InputError(
            *(each if str(path) in each else f"{path}: {each}" for each in error.problems)
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, ArithmeticError, MemoryError) as error:
        raise InputError(f"{path}: is damaged ({error_summary(error)}); export it again") from error
