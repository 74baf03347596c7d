"""Importers of other programs' data: one file per format and one line each in the table below.

Formats of finite-element matrices give an `FEModel`, to be reduced; formats of reduced bodies give
a `FlexibleBodyData`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flexmbs.errors import InputError, warn_caller
from flexmbs.files.inputs import check_regular, open_regular
from flexmbs.files.paths import file_path
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.fe.fe_model import FEModel
from preprocess.formats.importers.abaqus_matrix import AbaqusMatrixImporter
from preprocess.formats.importers.abaqus_substructure import AbaqusSubstructureImporter
from preprocess.formats.importers.ansys import AnsysFullImporter
from preprocess.formats.importers.base import (
    Finding,
    Imported,
    ImportedPart,
    Importer,
    ImportReport,
    ImportRequest,
)
from preprocess.formats.importers.calculix import CalculiXImporter
from preprocess.formats.importers.flexmbs import FlexmbsImporter
from preprocess.formats.importers.frd import read_frd
from preprocess.formats.importers.matrix_market import MatrixMarketImporter
from preprocess.formats.importers.mbdyn import MBDynImporter
from preprocess.formats.importers.mbsim import MBSimImporter
from preprocess.formats.importers.nastran import (
    NastranDmigImporter,
    NastranOp2Importer,
    NastranOp4Importer,
)
from preprocess.formats.importers.sid import SidImporter
from preprocess.inputs.argument_checks import checked_arguments, instance, integer
from preprocess.inputs.reader_guard import error_summary
from preprocess.inputs.units import UNIT_SYSTEMS, Units, mesh_units
from preprocess.inputs.warning import PreprocessWarning

_ALL: tuple[Importer, ...] = (
    CalculiXImporter(),
    AbaqusMatrixImporter(),
    AbaqusSubstructureImporter(),
    NastranOp4Importer(),
    NastranDmigImporter(),
    NastranOp2Importer(),
    AnsysFullImporter(),
    MatrixMarketImporter(),
    FlexmbsImporter(),
    MBSimImporter(),
    MBDynImporter(),
    SidImporter(),
)
FORMATS: dict[str, Importer] = {importer.kind: importer for importer in _ALL}

__all__ = [
    "FORMATS",
    "UNIT_SYSTEMS",
    "Finding",
    "ImportReport",
    "ImportRequest",
    "Imported",
    "ImportedPart",
    "Importer",
    "Units",
    "read",
    "read_body",
    "read_frd",
    "read_model",
]


@checked_arguments
def read(
    path: str | Path,
    *,
    format: str | None = None,
    unit: str = "m-kg-s",
    mass: str | Path | None = None,
    nodes: str | Path | None = None,
    frames: Mapping[str, int] | None = None,
) -> Imported:
    """ImportedPart and report of a file of another program.

    format: a name in `FORMATS`, by default from the file's suffix and first bytes. unit: of the
    file, as of `read_mesh`. mass, nodes: companion files of matrices, by default those of the same
    name. frames: node numbers of a reduced body that become frames, by name. Raises InputError for
    an unreadable file or an invalid part, MachineError if an optional package is missing.
    """
    source = file_path(path, "file")
    check_regular(source)
    if frames is not None:
        instance(frames, Mapping, "frames", "node numbers by name, such as {'tip': 17}")
        for name, node in frames.items():
            integer(node, f"frames.{name}")
    importer = _named(format) if format is not None else _recognised(source)
    report = ImportReport(str(source), importer.kind)
    mass, nodes = (
        None if each is None else file_path(each, what)
        for each, what in ((mass, "mass"), (nodes, "nodes"))
    )
    request = ImportRequest(source, mesh_units(unit, f"{source}: unit"), mass, nodes, frames)
    return Imported(_guarded(importer, request, report), report)


@checked_arguments
def read_model(
    path: str | Path,
    *,
    format: str | None = None,
    unit: str = "m-kg-s",
    mass: str | Path | None = None,
    nodes: str | Path | None = None,
) -> FEModel:
    """Finite-element matrices of another program, in SI units.

    Failed checks are reported as `PreprocessWarning`. format: name of the format, by default from
    the file's suffix and first bytes. unit: of the file, as of `read_mesh`. mass, nodes:
    companion files, by default those of the same name. Raises InputError for a file that cannot be
    read, and for one with a reduced body.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.io
    >>> import preprocess as pp
    >>> fe = pp.assemble(
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    ... )
    >>> scipy.io.mmwrite("bar_K.mtx", fe.K)
    >>> scipy.io.mmwrite("bar_M.mtx", fe.M)
    >>> np.savetxt(
    ...     "nodes.csv", np.column_stack([1 + np.arange(len(fe.nodes)), fe.nodes]), delimiter=","
    ... )
    >>> again = pp.read_model("bar_K.mtx", mass="bar_M.mtx", nodes="nodes.csv")
    >>> round(again.mass, 6)
    1.256
    """
    part, report = read(path, format=format, unit=unit, mass=mass, nodes=nodes)
    if not isinstance(part, FEModel):
        raise InputError(
            f"{path}: contains a reduced body ({report.format}); read it with read_body"
        )
    _warn(report)
    return part


@checked_arguments
def read_body(
    path: str | Path,
    *,
    format: str | None = None,
    unit: str = "m-kg-s",
    nodes: str | Path | None = None,
    frames: Mapping[str, int] | None = None,
) -> FlexibleBodyData:
    """Reduced body of another program, in SI units.

    Failed checks are reported as `PreprocessWarning`. format: name of the format, by default from
    the file's suffix and first bytes. unit: of the file, as of `read_mesh`. nodes:
    companion file with the nodes. frames: node numbers of frames, by name. Raises InputError for a
    file that cannot be read, and for one with finite-element matrices.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> bar = pp.reduce(
    ...     mesh,
    ...     steel,
    ...     interfaces={"root": pp.Rigid("x0")},
    ...     method=pp.CraigBampton(modes=2),
    ...     reference="root",
    ... )
    >>> lost = pp.write_body(bar, "bar.sid")
    >>> again = pp.read_body("bar.sid", format="sid")
    >>> again.nf, bool(abs(again.K_ff - bar.K_ff).max() < 1e-6 * abs(bar.K_ff).max())
    (2, True)
    """
    part, report = read(path, format=format, unit=unit, nodes=nodes, frames=frames)
    if not isinstance(part, FlexibleBodyData):
        raise InputError(
            f"{path}: contains finite-element matrices ({report.format}); read them with "
            "read_model and reduce them"
        )
    _warn(report)
    return part


def _warn(report: ImportReport) -> None:
    """Issue warnings for the failed checks of a report."""
    for failed in report.warnings:
        warn_caller(f"{report.source}: {failed}", PreprocessWarning)


def _named(name: str) -> Importer:
    """Importer with a name. Raises `InputError`."""
    if name not in FORMATS:
        raise InputError(f"format: {name!r} is unknown; choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def _recognised(path: Path) -> Importer:
    """Importer for the file's suffix.

    Among several, the one whose signature occurs near the start of the file.
    """
    suffix = path.suffix.lower()
    candidates = [importer for importer in FORMATS.values() if suffix in importer.suffixes]
    if not candidates:
        known = ", ".join(
            f"{importer.kind} ({', '.join(importer.suffixes)})" for importer in FORMATS.values()
        )
        raise InputError(
            f"{path}: the format of '{suffix}' is unknown; give format=, one of {known}"
        )
    if len(candidates) == 1:
        return candidates[0]
    try:
        with open_regular(path) as file:
            start = file.read(65536).upper()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    signed = [
        importer
        for importer in candidates
        if importer.signature and importer.signature.upper() in start
    ]
    return (
        signed or [importer for importer in candidates if not importer.signature] or candidates
    )[0]


def _guarded(importer: Importer, request: ImportRequest, report: ImportReport) -> ImportedPart:
    """Result of an importer; exceptions other than the project's own become defects of the file."""
    try:
        return importer.read(request, report)
    except MemoryError:
        raise InputError(
            f"{request.path}: claims more data than fits in memory; it is damaged"
        ) from None
    except (ValueError, LookupError, ArithmeticError, OSError) as error:
        raise InputError(
            f"{request.path}: is not a valid {importer.kind} file ({error_summary(error)}); "
            "export it again"
        ) from error
