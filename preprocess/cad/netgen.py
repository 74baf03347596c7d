"""Netgen in a process of its own: faces and meshes of CAD files."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.console.memory import free_memory
from flexmbs.errors import InputError, MachineError
from flexmbs.files.inputs import check_regular
from flexmbs.files.output import temporary_folder
from preprocess.cad.worker import STAGE
from preprocess.inputs.reader_guard import LONGEST

MM = 1e-3  # m
# formats and what their files begin with
FORMATS = {
    ".step": "STEP", ".stp": "STEP", ".p21": "STEP", ".iges": "IGES", ".igs": "IGES",
    ".brep": "BREP",
}  # fmt: skip
BEGINS = {"STEP": b"ISO-10303-21", "BREP": b"CASCADE Topology"}
NETGEN_SUFFIXES = (".step", ".stp", ".iges", ".brep")  # in lower case alone
LARGEST_FILE = 1 << 30  # bytes: Open CASCADE needs about twenty times as much memory
LONGEST_RUN = 1800.0  # s: meshes of a million nodes take a few minutes
# s and s/byte, ten times the usual: 50 kB take one second, a plate of 1.6 MB with 400 holes 35
READING = (120.0, 300e-6)
LEAST_MEMORY = 4 << 30  # bytes of address space: libraries and threads take one
NEEDED = 'a CAD file needs the package netgen-mesher; install it: pip install "flexmbs[cad]"'
# last line of a process that could not write
OF_FILES = re.compile(rb"\n\w+Error: \[Errno (\d+)\] ([^\n]*)\s*\Z")
MESHING = "preprocess.cad.worker"
PROGRAM = """
import importlib, json, sys
sys.path[:] = json.loads(sys.argv[1])
importlib.import_module(sys.argv[2]).main(json.loads(sys.argv[3]))
"""
Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Request:
    """Request to the meshing process; lengths in mm.

    size: largest elements, 0 for a usual one. solid: number or name of the one to mesh, "all",
    None for the only one. sizes: largest elements on faces by number. surface: triangles only.
    curvature: elements per radius of curvature.
    """

    file: str
    size: float = 0.0
    solid: int | str | None = None
    sizes: Mapping[int, float] = field(default_factory=dict)
    grading: float = 0.3
    curvature: float = 2.0
    surface: bool = False


class SolidFacts(NamedTuple):
    """Name and volume (m³) of a solid."""

    name: str
    volume: float


class NetgenMesh(NamedTuple):
    """Mesh with lengths in m and the facts that Open CASCADE knows of its faces.

    nodes (N, 3); tetrahedra (ne, 10) and triangles (nt, 6) outwards, in VTK order; solid_of (ne,):
    positions in ``chosen``; face_of (nt,): numbers of the faces, from 1.
    """

    nodes: Array
    tetrahedra: Indices
    solid_of: Indices
    triangles: Indices
    face_of: Indices
    solids: tuple[SolidFacts, ...]
    chosen: tuple[int, ...]
    faces: list[dict[str, Any]]


class SeveralSolids(InputError):
    """Error of a file with several solids where one is needed."""


def run_netgen(request: Request) -> NetgenMesh:
    """Mesh of a request.

    Raises InputError for a file that cannot be read or meshed, MachineError without Netgen.
    """
    path = Path(request.file)
    job = dataclasses.asdict(request)
    return _in_metres(path, run_worker(path, MESHING, job, reading=request.surface))


def run_worker(path: Path, module: str, job: dict[str, Any], *, reading: bool) -> dict[str, Any]:
    """Arrays that a process makes of a CAD file; module: with its function ``main``.

    reading: True for a coarse mesh of the surface, whose time depends on the size of the file.

    Raises InputError for a file that cannot be read, MachineError without Netgen or without a
    temporary folder that can be written.
    """
    check_file(path)
    seconds = reading_time(path.stat().st_size) if reading else LONGEST_RUN
    if find_spec("netgen") is None:
        raise MachineError(f"{path}: {NEEDED}")
    with temporary_folder("cad") as folder:
        output = folder / "arrays.npz"
        job = job | {
            "file": str(_recognized(path, folder)),
            "output": str(output),
            "memory": max(int(free_memory()), LEAST_MEMORY),
            "parent": os.getpid(),
        }
        command = [
            sys.executable,
            "-I",
            "-c",
            PROGRAM,
            json.dumps(sys.path),
            module,
            json.dumps(job),
        ]
        try:
            ended = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=seconds,
                cwd=folder,  # Netgen writes files there
                check=False,
            )
        except subprocess.TimeoutExpired:
            remedy = "repair or simplify the geometry in the CAD program"
            raise InputError(
                f"{path}: Netgen does not end within {seconds:.0f} s; "
                f"{remedy if reading else f'give a larger size, or {remedy}'}"
            ) from None
        if ended.returncode or not output.is_file():
            if failed := OF_FILES.search(ended.stderr):
                raise OSError(int(failed[1]), failed[2].decode(errors="replace"), str(folder))
            raise InputError(f"{path}: {_reason(ended)}")
        with np.load(output) as found:
            return {name: found[name] for name in found.files}


def reading_time(size: int) -> float:
    """Longest time (s) in which a file of a size (bytes) is read, also by a busy machine."""
    return min(READING[0] + READING[1] * size, LONGEST_RUN)


def _recognized(path: Path, folder: Path) -> Path:
    """File with a suffix and a name that Netgen knows: the given one, or a copy in a folder."""
    given = path.absolute()
    named = str(given) == os.fsencode(given).decode(errors="replace")  # pybind11 wants UTF-8
    if path.suffix in NETGEN_SUFFIXES and named:
        return given
    copied = folder / f"model.{FORMATS[path.suffix.lower()].lower()}"
    shutil.copyfile(path, copied)
    return copied


def check_file(path: Path) -> None:
    """Require a CAD file of a known format. Raises InputError."""
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise InputError(
            f"{path}: '{path.suffix}' is no CAD format; use one of {', '.join(FORMATS)}"
        )
    check_regular(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(f"{path}: is larger than {LARGEST_FILE >> 30} GB; simplify the model")
    with path.open("rb") as file:
        begin = file.read(400)
    if BEGINS.get(kind, b"") not in begin:
        raise InputError(f"{path}: is no {kind} file; export it again")


def _solids_to_choose(facts: dict[str, Any]) -> str:
    """Error message for a file without a solid, or with several to choose from."""
    if not facts["solids"]:
        return "holds no solid; close the surfaces in the CAD program"
    each = (
        f"{k + 1} {solid['name'] or 'without a name'} ({solid['volume'] * MM**3 * 1e6:.4g} cm³)"
        for k, solid in enumerate(facts["solids"][:20])
    )
    return f"holds {len(facts['solids'])} solids; choose with solid=: {', '.join(each)}"


def _reason(ended: subprocess.CompletedProcess[bytes]) -> str:
    """Remedy for the way in which the process ended."""
    told = ended.stderr.decode(errors="replace").strip().splitlines() or [""]
    if "GeometryError: " in told[-1]:
        return told[-1].partition("GeometryError: ")[2][:LONGEST]
    if "load OCC geometry" in told[-1] or "is void" in told[-1]:  # IGES files without entities
        return "Open CASCADE cannot read it; export it again"
    if "MemoryError" in told[-1] or "bad_alloc" in told[-1]:
        return "meshing needs more memory than there is; give a larger size"
    if STAGE not in ended.stderr.decode(errors="replace"):
        how = f"it ended by signal {-ended.returncode}" if ended.returncode < 0 else told[-1]
        return (
            f"Open CASCADE cannot read it ({how[:LONGEST]}); the file is damaged, export it again"
        )
    how = (
        f"was ended by signal {-ended.returncode}"
        if ended.returncode < 0
        else f"failed ({told[-1][:LONGEST]})"
    )
    return f"Netgen {how}; repair the geometry in the CAD program, or give another size"


def _in_metres(path: Path, found: Mapping[str, Any]) -> NetgenMesh:
    """Netgen mesh in m from the arrays in mm of the process. Raises InputError."""
    facts = json.loads(str(found["facts"]))
    if "faces" not in facts:
        several = len(facts["solids"]) > 1
        raise (SeveralSolids if several else InputError)(f"{path}: {_solids_to_choose(facts)}")
    faces = [
        each | {"area": each["area"] * MM**2, "centre": MM * np.array(each["centre"])}
        for each in facts["faces"]
    ]
    return NetgenMesh(
        MM * found["nodes"],
        found["tetrahedra"].astype(np.int64),
        found["tetrahedra index"].astype(np.int64) - 1,
        found["triangles"].astype(np.int64),
        found["triangles index"].astype(np.int64),
        tuple(SolidFacts(each["name"] or "", each["volume"] * MM**3) for each in facts["solids"]),
        tuple(facts["chosen"]),
        faces,
    )
