"""A part reduced by one process and by two under MPI: the same body, and what it costs.

    python reports/scale/measure.py [NAME …]     -> scale.json, table on stdout

Needs mpirun, PETSc and SLEPc for the interpreter that FLEXMBS_MPI_PYTHON names, by default this
one. CPU seconds are those of all processes together; processes that wait for a message use the CPU
too.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import meshio
import numpy as np

import preprocess as pp
from flexmbs.flexible_body.record import FlexibleBodyData

HERE = Path(__file__).parent
FILE = HERE / "scale.json"
PYTHON = os.environ.get("FLEXMBS_MPI_PYTHON", sys.executable)
PROCESSES = 2
CASES = {  # name: kind and elements along the shortest edge
    "solid 15k": ("solid", 10),
    "solid 107k": ("solid", 20),
    "solid 302k": ("solid", 28),
    "second-order solid 120k": ("second-order solid", 13),
    "shell 49k": ("shell", 40),
    "shell 101k": ("shell", 58),
    "shell 304k": ("shell", 101),
}
PART = """
format = "flexmbs-part/1"
mesh = "part.vtu"
unit = "m"
reference = "root"
damping = 0.01
allow_large = true
material = {{ E = 2.1e11, nu = 0.3, rho = 7850.0 }}
method = {{ kind = "craig-bampton", modes = 20 }}
stress = {{ precision = "double" }}
{more}
"""
SOLID = """
interfaces.root = { kind = "rigid", plane = { point = [0, 0, 0], normal = [1, 0, 0] } }
interfaces.tip = { kind = "averaged", plane = { point = [0.4, 0, 0], normal = [1, 0, 0] } }
"""
SHELL = """
structural = true
section = { kind = "shell", thickness = 0.002 }
connections.flange = { kind = "rigid-spider", plane = { point = [0, 0, 0], normal = [1, 0, 0] } }
connections.end = { kind = "averaging-spider", plane = { point = [0.4, 0, 0], normal = [1, 0, 0] } }
interfaces.root = { kind = "rigid", set = "flange" }
interfaces.tip = { kind = "averaged", set = "end" }
"""


def write_part(folder: Path, kind: str, n: int) -> Path:
    """Part file of a box of hexahedra 0.4 × 0.03 × 0.02 m, 4n × n × n, or of a curved strip of
    shells, 5n × n.
    """
    if kind != "shell":
        cell, name = ("hex8", "hexahedron") if kind == "solid" else ("hex20", "hexahedron20")
        mesh = pp.box_mesh((0.4, 0.03, 0.02), (4 * n, n, n), cell)
        meshio.write(
            folder / "part.vtu", meshio.Mesh(mesh.nodes, [(name, mesh.blocks[cell].connectivity)])
        )
    else:
        x, y = (
            each.ravel()
            for each in np.meshgrid(
                np.linspace(0, 0.4, 5 * n + 1), np.linspace(0, 0.11, n + 1), indexing="ij"
            )
        )
        first = (np.arange(5 * n)[:, None] * (n + 1) + np.arange(n)).ravel()
        quads = np.stack([first, first + n + 1, first + n + 2, first + 1], axis=1)
        nodes = np.column_stack([x, y, 0.02 * np.sin(5 * x) + 0.5 * y**2])
        meshio.write(folder / "part.vtu", meshio.Mesh(nodes, [("quad", quads)]))
    file = folder / "part.toml"
    file.write_text(PART.format(more=SHELL if kind == "shell" else SOLID))
    return file


def reduced(file: Path, engine: str) -> tuple[FlexibleBodyData, dict[str, Any]]:
    """Body of a part file by an engine, and CPU and wall time of the whole command."""
    start = ["mpirun", "--oversubscribe", "-n", str(PROCESSES)] if engine == "petsc" else []
    output = file.with_name(f"{engine}.h5")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [
        *start,
        PYTHON,
        "-m",
        "preprocess",
        "reduce",
        str(file),
        "-o",
        str(output),
        "--force",
        "--engine",
        engine,
    ]
    # else the peak memory of this process would count as the child's
    command = ["sh", "-c", '"$@"; exit $?', "sh", *command]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    body = FlexibleBodyData.load(output)
    cost: dict[str, Any] = {
        "cpu s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "wall s": round(time.perf_counter() - began, 1),
        "GB": body.provenance.get("memory of each process [GB]")
        or told.rpartition(" GB at most")[0].rpartition(" ")[2],
    }
    kept = (
        "factor: ordering",
        "factor: operations",
        "factor: entries",
        "nodes of each process",
        "messages",
    )
    return body, cost | {key: body.provenance[key] for key in kept if key in body.provenance}


def differences(found: FlexibleBodyData, wanted: FlexibleBodyData) -> dict[str, float]:
    """Largest differences relative to the largest entries, in
    the modal coordinates of one of them.
    """
    same = pp.aligned(found, wanted)
    pairs: dict[str, tuple[Any, Any]] = {
        name: (getattr(same, name), getattr(wanted, name))
        for name in ("mass", "S_bar", "SS", "K_ff")
    }
    pairs["frames"] = tuple(
        np.concatenate([np.vstack([f.phi, f.psi]) for f in each.frames.values()])
        for each in (same, wanted)
    )
    assert same.surface is not None
    assert wanted.surface is not None
    pairs["surface"] = same.surface.phi, wanted.surface.phi
    assert same.geometric is not None
    assert wanted.geometric is not None
    pairs["geometric stiffness"] = same.geometric.rotation, wanted.geometric.rotation
    assert same.stress is not None
    assert wanted.stress is not None
    pairs["stress"] = same.stress.modes[:], wanted.stress.modes[:]
    result = {
        name: float(np.abs(np.asarray(a) - np.asarray(b)).max() / np.abs(np.asarray(b)).max())
        for name, (a, b) in pairs.items()
    }
    result["frequencies"] = float(np.abs(found.modes.frequency / wanted.modes.frequency - 1).max())
    return result


def main() -> None:
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            file = write_part(Path(folder), *CASES[name])
            wanted, serial = reduced(file, "serial")
            found, petsc = reduced(file, "petsc")
            dofs = int(wanted.provenance["degrees of freedom"])
            known[name] = {
                "degrees of freedom": dofs,
                "serial": serial,
                "petsc": petsc,
                "differences": differences(found, wanted),
            }
        FILE.write_text(json.dumps(known, indent=1) + "\n")
        print(name, json.dumps(known[name]))


if __name__ == "__main__":
    main()
