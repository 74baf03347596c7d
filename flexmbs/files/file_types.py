"""File types, identified by the first bytes; an output replaces only a file of its own type.

An empty file matches any type, a damaged HDF5 file any type stored in HDF5: neither has readable
data.
"""

import os
import pathlib
import re

from flexmbs.errors import InputError
from flexmbs.files.paths import file_path, open_without_waiting

SOLUTION, BODY, MODEL, PAGE, PDF = (
    "flexmbs-solution",
    "flexmbs-flexible-body",
    "flexmbs-model",
    "page",
    "pdf",
)
HDF5, DAMAGED = "hdf5", "damaged"
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
HEADER_BYTES = 65536  # bytes read to identify a file
_NAMES = {
    SOLUTION: "a solution",
    BODY: "a flexible body",
    MODEL: "a model",
    "flexmbs-part": "a part file",
    "flexmbs-sweep": "a study file",
    PAGE: "an HTML page",
}
_BEGINNINGS = (
    (re.compile(rb"\s*(?:<!doctype html|<html)", re.IGNORECASE), "an HTML page", PAGE),
    (re.compile(rb"\s*<(?:\?xml[^>]*>\s*<)?VTKFile"), "a file for ParaView", "vtk"),
    (re.compile(rb"\s*</?[?!\w]"), "an XML file", "xml"),
    (re.compile(rb"\$MeshFormat"), "a mesh", "gmsh"),
    (re.compile(rb"\*\* MBDyn"), "a body for MBDyn", "mbdyn"),
    (re.compile(rb"\s*\d+ +\d+ :"), "a file of standard input data", "sid"),
    (re.compile(rb"\{"), "a JSON file", "json"),
    (re.compile(rb"PK\x03\x04"), "an archive", "zip"),
    (re.compile(rb"MATLAB 5"), "a file for MATLAB", "mat"),
    (re.compile(rb"%PDF-"), "a PDF document", PDF),
)
_OF_PAGES = (".html", ".htm", "")
_FORMAT = re.compile(
    rb"^[ \t]*[\"']?format[\"']?[ \t]*=[ \t]*[\"'](flexmbs-(?:model|part|sweep))/", re.MULTILINE
)


def check_kind(path: str | os.PathLike[str], wanted: str) -> None:
    """Raise InputError if an output would replace a file of another type than ``wanted``.

    Also for a page without a page's suffix.
    """
    found = kind_of(path)
    if found not in ("", wanted) and not (found == DAMAGED and wanted in (SOLUTION, BODY, HDF5)):
        raise InputError(_rejection(path, found, wanted))
    if wanted == PAGE and (ending := pathlib.Path(path).suffix).lower() not in _OF_PAGES:
        if report_kind(pathlib.Path(path)) == PDF:
            raise InputError(
                f"{path}: is written as an HTML page, only reports of one run also as PDF; "
                "use the suffix .html"
            )
        raise InputError(
            f"{path}: a report is a page or a PDF document; use the suffix .html "
            f"or .pdf, not {ending}"
        )


def check_ending(path: str | os.PathLike[str], *endings: str) -> None:
    """Raise InputError unless the name of an output has one of these suffixes.

    Other programs recognize the format by them.
    """
    if (ending := file_path(path).suffix.lower()) not in endings:
        raise InputError(f"{path}: must end with {' or '.join(endings)}, not '{ending}'")


def check_same_kind(path: str | os.PathLike[str], draft: str | os.PathLike[str]) -> None:
    """Raise InputError if an output would replace a file of another type than the draft."""
    if found := kind_of(path):
        check_kind(path, kind_of(draft) or found)


def report_kind(path: pathlib.Path) -> str:
    """Type of a report: a PDF document or a page, by the suffix.

    `check_kind` rejects other suffixes.
    """
    return PDF if path.suffix.lower() == ".pdf" else PAGE


def comparison_kind(path: str | os.PathLike[str]) -> str:
    """Type of a comparison of two runs, a page.

    Raises InputError for the name of a PDF document.
    """
    if report_kind(pathlib.Path(path)) == PDF:
        raise InputError(f"{path}: two runs are compared on an HTML page; use the suffix .html")
    return PAGE


def kind_of(path: str | os.PathLike[str]) -> str:
    """Type of a file by its format attribute or first bytes; "" for a missing or empty file.

    The ``format`` of a flexmbs file up to the "/", else a name derived from the first bytes.
    """
    try:
        with open(path, "rb", opener=open_without_waiting) as file:
            start = file.read(HEADER_BYTES) or b""  # None from a pipe without data
    except FileNotFoundError:
        return ""
    except OSError:
        return "unreadable"
    if start.startswith(_SIGNATURE):
        return _hdf5_kind(pathlib.Path(path))
    for beginning, _, kind in _BEGINNINGS:
        if beginning.match(start):
            return kind
    declared = _FORMAT.search(start)
    return declared[1].decode() if declared else "other" if start else ""


def _hdf5_kind(path: pathlib.Path) -> str:
    """Format stored in an HDF5 file; HDF5 for files of other programs, or DAMAGED."""
    import h5py

    try:
        with h5py.File(path, "r", locking=False) as file:
            stored = file.attrs.get_id("format") if "format" in file.attrs else None
            if stored is None or stored.shape != () or stored.dtype.kind != "S":
                return HDF5
            return bytes(file.attrs["format"]).decode("latin-1").partition("/")[0]
    except (OSError, RuntimeError, ValueError, KeyError, TypeError):
        return DAMAGED


def _rejection(path: str | os.PathLike[str], found: str, wanted: str) -> str:
    """Message that a file is not of the kind wanted."""
    named = (
        {kind: name for _, name, kind in _BEGINNINGS}
        | _NAMES
        | {HDF5: "an HDF5 file of another program", DAMAGED: "a damaged HDF5 file"}
    )
    target = named.get(wanted, "the output")
    other = (
        f"is {named[found]}, not {target}"
        if found in named and wanted in named
        else f"is not {target}"
    )
    return f"{path}: exists and {other}; choose another name with -o"
