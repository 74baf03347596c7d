"""Table of the mesh readers by file suffix.

Their exceptions become one InputError. VTU is read by meshio. The other formats have their own
readers: meshio drops the numbers of nodes and elements, surfaces, sets of sets and supports, skips
unknown content, and fails on many real files.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.files.inputs import check_regular, read_text
from preprocess.inputs.reader_guard import error_summary
from preprocess.mesh_files.abaqus import read_abaqus
from preprocess.mesh_files.abaqus_blocks import follow_abaqus
from preprocess.mesh_files.ansys import is_ansys, read_ansys
from preprocess.mesh_files.febio import follow_febio, read_febio
from preprocess.mesh_files.gmsh import read_gmsh
from preprocess.mesh_files.include import Includes
from preprocess.mesh_files.ls_dyna import follow_ls_dyna, read_ls_dyna
from preprocess.mesh_files.med import read_med
from preprocess.mesh_files.nastran import read_nastran
from preprocess.mesh_files.nastran_case_control import follow_nastran
from preprocess.mesh_files.raw_mesh import RawMesh
from preprocess.mesh_files.unv import read_unv
from preprocess.mesh_files.vtu import read_vtu


class Reader(NamedTuple):
    """Reader of a mesh format.

    read: makes the raw mesh of a path, with beams and shells as elements if its second argument is
    true; begins: what a file begins with, for messages; suffixes: of its files; follow: opens the
    files that one includes, then ``read`` takes ``allow_outside``; declares: True if files have
    sections, materials and connections.
    """

    read: Callable[..., RawMesh]
    begins: str
    suffixes: tuple[str, ...]
    follow: Callable[[Path, Includes], None] | None = None
    declares: bool = False


READERS = {
    suffix: reader
    for reader in (
        Reader(read_gmsh, "$MeshFormat", (".msh",)),
        Reader(read_abaqus, "*NODE", (".inp",), follow_abaqus, declares=True),
        Reader(read_vtu, "<VTKFile>", (".vtu",)),
        Reader(read_med, "an HDF5 signature", (".med",)),
        Reader(
            read_nastran,
            "BEGIN BULK",
            (".bdf", ".nas", ".dat", ".fem"),
            follow_nastran,
            declares=True,
        ),
        Reader(read_ansys, "/PREP7 or NBLOCK", (".cdb",), declares=True),
        Reader(read_unv, "a line -1", (".unv",)),
        Reader(read_febio, "<febio_spec>", (".feb",), follow_febio, declares=True),
        Reader(read_ls_dyna, "*KEYWORD", (".k", ".key", ".dyn"), follow_ls_dyna, declares=True),
    )
    for suffix in reader.suffixes
}
DAMAGED = (ValueError, LookupError, TypeError, ArithmeticError, MemoryError)
# suffixes that Ansys has in common with Abaqus and Nastran
SHARED = (".dat", ".inp")
# files of results and models of other programs, with what to read instead
NOT_READ = {
    ".rst": "an Ansys result file; write the model with CDWRITE,DB (.cdb)",
    ".rth": "an Ansys result file; write the model with CDWRITE,DB (.cdb)",
    ".db": "an Ansys database; write the model with CDWRITE,DB (.cdb)",
    ".wbpj": "an Ansys Workbench project; write the model with CDWRITE,DB (.cdb)",
    ".mechdat": "an Ansys Mechanical model; write the model with CDWRITE,DB (.cdb)",
    ".odb": "an Abaqus output database; use the input file (.inp)",
    ".cae": "an Abaqus/CAE model; write its input file (.inp)",
    ".xdb": "a Nastran result database; use the bulk data (.bdf)",
    ".f06": "a Nastran listing; use the bulk data (.bdf)",
    ".f04": "a Nastran listing; use the bulk data (.bdf)",
    ".hm": "a HyperMesh model; export Nastran, OptiStruct or Abaqus",
    ".h3d": "an Altair result file; use the OptiStruct deck (.fem)",
    ".d3plot": "an LS-DYNA result file; use the keyword file (.k)",
    ".rmed": "a Code_Aster result file; use the mesh (.med)",
    ".frd": "a CalculiX result file; use the input file (.inp)",
    ".xplt": "a FEBio result file; use the input file (.feb)",
    ".fsproj": "a FEBio Studio project; export the input file (.feb)",
    ".mph": "a COMSOL model; export Nastran bulk data (.bdf)",
    ".sim": "an NX or Abaqus simulation file; export Nastran bulk data (.bdf)",
    ".prt": "a CAD part; export STEP",
    ".sldprt": "a SolidWorks part; export STEP",
    ".ipt": "an Inventor part; export STEP",
    ".catpart": "a CATIA part; export STEP",
    ".x_t": "a Parasolid file; export STEP",
    ".stl": "a surface without a volume mesh; mesh its CAD model (STEP)",
}


def refuse_unread(path: Path) -> None:
    """Raise InputError for a file of results or of a model that is not read, naming it."""
    if path.suffix.lower() in NOT_READ:
        raise InputError(f"{path}: is {NOT_READ[path.suffix.lower()]}")


def included_files(path: Path, allow_outside: bool = False) -> tuple[Path, ...]:
    """Files that the reader of a mesh file opens besides it, up to the first that is missing."""
    reader = READERS.get(path.suffix.lower())
    if reader is None or reader.follow is None or not path.is_file():
        return ()
    includes = Includes(path, allow_outside)
    with contextlib.suppress(*DAMAGED, InputError):  # reported when the mesh is read
        reader.follow(path, includes)
    return tuple(dict.fromkeys(includes.files))


@np.errstate(all="ignore")  # of extreme numbers in files, which the checks of the mesh find
def raw_mesh(path: Path, structural: bool = False, *, allow_outside: bool = False) -> RawMesh:
    """Content of a mesh file and its included files.

    Beams and shells are elements if ``structural``. Raises InputError with file, location and
    reason.
    """
    reader = READERS.get(path.suffix.lower())
    refuse_unread(path)
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
        if path.suffix.lower() in SHARED and is_ansys(read_text(path)):
            reader = READERS[".cdb"]
        if reader.follow is not None:
            return reader.read(path, structural, allow_outside=allow_outside)
        return reader.read(path, structural)
    except InputError as error:
        raise InputError(
            *(each if str(path) in each else f"{path}: {each}" for each in error.problems)
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ArithmeticError as error:
        raise InputError(f"{path}: has numbers beyond all bounds; correct its numbers") from error
    except DAMAGED as error:
        raise InputError(f"{path}: is damaged ({error_summary(error)}); export it again") from error
