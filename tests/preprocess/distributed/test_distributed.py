"""Reduction by several processes under MPI against that by one, and how it fails.

Needs mpirun, PETSc and SLEPc; FLEXMBS_MPI_PYTHON names the interpreter that has them, by default
this one.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import meshio
import mixed
import numpy as np
import pytest

import preprocess as pp
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.solve.partition import element_parts

PYTHON = os.environ.get("FLEXMBS_MPI_PYTHON", sys.executable)
ROOT = Path(__file__).parents[3]
STARTED = "from preprocess.distributed.processes import processes; processes()"


@functools.cache
def missing() -> str:
    """Why there is no MPI run here; empty if there is one."""
    if shutil.which("mpirun") is None:
        return "mpirun is not installed"
    found = subprocess.run(
        [PYTHON, "-c", STARTED], env=environment(), capture_output=True, text=True, cwd=ROOT
    )
    return found.stderr.strip().splitlines()[-1] if found.returncode else ""


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**os.environ, **root, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


@pytest.fixture
def mpi() -> None:
    if missing():
        pytest.skip(f"engine petsc: {missing()}")


def together(*command: str, count: int = 2) -> subprocess.CompletedProcess[str]:
    """A Python command in several processes."""
    start = ["mpirun", "--oversubscribe", "-n", str(count), PYTHON, *command]
    return subprocess.run(
        start, env=environment(), capture_output=True, text=True, timeout=600, cwd=ROOT
    )


COMMON = """
    format = "flexmbs-part/1"
    mesh = "part.vtu"
    unit = "m"
    reference = "root"
    damping = 0.01
    stress = { precision = "double" }
    material = { E = 70e9, nu = 0.33, rho = 2700.0 }
    method = { kind = "craig-bampton", modes = 6 }
"""

SOLID = """
    [interfaces.root]
    kind = "rigid"
    plane = { point = [0, 0, 0], normal = [1, 0, 0] }
    [interfaces.tip]
    kind = "averaged"
    plane = { point = [0.3, 0, 0], normal = [1, 0, 0] }
"""

AVERAGED = SOLID.replace('"rigid"', '"averaged"')

SHELL = """
    structural = true
    section = { kind = "shell", thickness = 0.002 }
    [connections.flange]
    kind = "rigid-spider"
    plane = { point = [0, 0, 0], normal = [1, 0, 0] }
    [connections.end]
    kind = "averaging-spider"
    plane = { point = [0.3, 0, 0], normal = [1, 0, 0] }
    [interfaces.root]
    kind = "rigid"
    set = "flange"
    [interfaces.tip]
    kind = "averaged"
    set = "end"
"""


def solid(folder: Path, more: str) -> Path:
    """Bar of hexahedra, with another edge length in each direction: no two frequencies coincide."""
    mesh = pp.box_mesh((0.3, 0.03, 0.02), (10, 3, 2), "hex8")
    meshio.write(
        folder / "part.vtu",
        meshio.Mesh(mesh.nodes, [("hexahedron", mesh.blocks["hex8"].connectivity)]),
    )
    return part(folder, more)


def shell(folder: Path) -> Path:
    """A curved strip of quadrilaterals."""
    nx, ny = 12, 4
    x, y = (
        each.ravel()
        for each in np.meshgrid(
            np.linspace(0, 0.3, nx + 1), np.linspace(0, 0.08, ny + 1), indexing="ij"
        )
    )
    first = (np.arange(nx)[:, None] * (ny + 1) + np.arange(ny)).ravel()
    quads = np.stack([first, first + ny + 1, first + ny + 2, first + 1], axis=1)
    nodes = np.column_stack([x, y, 0.01 * np.sin(9 * x) + 2 * y**2])
    meshio.write(folder / "part.vtu", meshio.Mesh(nodes, [("quad", quads)]))
    return part(folder, SHELL)


def part(folder: Path, more: str) -> Path:
    file = folder / "part.toml"
    file.write_text(textwrap.dedent(COMMON) + textwrap.dedent(more))
    return file


KINDS = ("rigid and averaged", "averaged only", "shells with spiders")


@pytest.mark.parametrize(
    ("kind", "engine"), [*((kind, "petsc") for kind in KINDS), ("rigid and averaged", "slepc")]
)
def test_two_processes_give_the_body_of_one(
    kind: str, engine: str, mpi: None, tmp_path: Path
) -> None:
    file = (
        shell(tmp_path)
        if kind == "shells with spiders"
        else solid(tmp_path, AVERAGED if "only" in kind else SOLID)
    )
    run = together("-m", "preprocess", "reduce", str(file), "--engine", engine)
    assert run.returncode == 0, run.stderr
    found, wanted = FlexibleBodyData.load(file.with_suffix(".h5")), pp.read_part(file).reduce()
    assert found.provenance["engine"] == f"{engine}, 2 processes"
    assert found.provenance["degrees of freedom"] == wanted.provenance["degrees of freedom"]
    assert found.provenance["digest of inputs"] == wanted.provenance["digest of inputs"]
    same_body(found, wanted)


def test_a_part_of_all_kinds_is_that_of_one_process(mpi: None, tmp_path: Path) -> None:
    run = together(str(Path(mixed.__file__)), str(tmp_path / "mixed.h5"), count=3)
    assert run.returncode == 0, run.stderr
    mesh, material, more, interfaces = mixed.mixed()
    fe = pp.assemble(mesh, material, **more)
    options = {
        "method": mixed.METHOD,
        "stress": mixed.STRESS,
        "reference": "chord",
        "damping": 0.01,
    }
    same_body(
        FlexibleBodyData.load(tmp_path / "mixed.h5"),
        pp.reduce(fe, interfaces=interfaces, **options),
    )


def same_body(found: FlexibleBodyData, wanted: FlexibleBodyData) -> None:
    np.testing.assert_allclose(found.modes.frequency, wanted.modes.frequency, rtol=1e-8)
    same = pp.aligned(found, wanted)  # modes have no signs of their own
    for name in ("mass", "first_moment", "second_moment", "S_bar", "xS", "SS", "K_ff", "D_ff"):
        near(getattr(same, name), getattr(wanted, name))
    for name, frame in wanted.frames.items():
        for each in ("x", "R"):
            near(getattr(same.frames[name], each), getattr(frame, each))
    near(same.frames["tip"].phi, wanted.frames["tip"].phi)
    assert same.surface is not None
    assert wanted.surface is not None
    np.testing.assert_array_equal(same.surface.nodes, wanted.surface.nodes)
    np.testing.assert_array_equal(same.surface.node_ids, wanted.surface.node_ids)
    np.testing.assert_array_equal(same.surface.triangles, wanted.surface.triangles)
    near(same.surface.phi, wanted.surface.phi)
    assert same.geometric is not None
    assert wanted.geometric is not None
    for name in ("acceleration", "angular_acceleration", "rotation"):
        near(getattr(same.geometric, name), getattr(wanted.geometric, name), 1e-6)
    assert same.stress is not None
    assert wanted.stress is not None
    np.testing.assert_array_equal(same.stress.rows, wanted.stress.rows)
    near(same.stress.modes, wanted.stress.modes, 1e-6)
    near(same.stress.correction, wanted.stress.correction, 1e-5)


def near(found: object, wanted: object, tolerance: float = 1e-7) -> None:
    """Equal within a fraction of the largest entry; residuals of the two iterations for modes are
    1e-7 and 1e-11.
    """
    size = float(np.abs(np.asarray(wanted)).max())
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=0, atol=tolerance * size)


def test_what_is_not_supported_is_named_once(mpi: None, tmp_path: Path) -> None:
    file = solid(
        tmp_path,
        SOLID
        + "[point_masses.motor]\nplane = { point = [0.3, 0, 0], normal = [1, 0, 0] }\nmass = 1.0\n",
    )
    run = together("-m", "preprocess", "reduce", str(file), "--engine", "petsc")
    assert run.returncode == 2
    errors = [line for line in run.stderr.splitlines() if "error:" in line]
    assert errors == [
        "error: engine: petsc does not support point masses; omit it, or reduce in one process"
    ]


def test_an_error_of_one_process_ends_all(mpi: None) -> None:
    script = """
        import numpy as np
        from flexmbs.errors import InputError
        from preprocess.distributed.processes import processes
        group = processes()
        with group.ending_together():
            if group.rank == 1:
                raise InputError("element 7 is broken")
            group.total(np.ones(3))
            group.total(np.ones(3))
    """
    run = together("-c", textwrap.dedent(script))
    assert run.returncode == 2
    assert [line for line in run.stderr.splitlines() if "error:" in line] == [
        "error: process 1 of 2: element 7 is broken"
    ]


def test_without_petsc_one_line_tells_where_to_find_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "petsc4py").mkdir()
    (tmp_path / "petsc4py" / "__init__.py").write_text("raise ImportError('no such library')")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    command = [
        sys.executable,
        "-m",
        "preprocess",
        "reduce",
        "meshes/link.toml",
        "-o",
        str(tmp_path / "a.h5"),
        "--engine",
        "petsc",
    ]
    run = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 4
    assert re.fullmatch(
        r"error: engine: petsc is not available here: no such library; see the recipe '.*'.*\n",
        run.stderr,
    )


def test_an_unknown_engine_is_refused() -> None:
    command = [
        sys.executable,
        "-m",
        "preprocess",
        "reduce",
        "meshes/link.toml",
        "--engine",
        "mumps",
    ]
    run = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert (run.returncode, run.stderr) == (
        2,
        "error: --engine: 'mumps' is unknown; choose one of serial, petsc, slepc\n",
    )


def test_parts_are_balanced_and_cut_few_nodes() -> None:
    """A bar of 40 × 4 × 4 elements in four parts: three cuts across it, of 25 nodes each."""
    mesh = pp.box_mesh((1.0, 0.1, 0.1), (40, 4, 4), "hex8")
    table = mesh.blocks["hex8"].connectivity
    (part,) = element_parts([table], len(mesh.nodes), 4)
    assert np.bincount(part).tolist() == pytest.approx([160] * 4, rel=0.05)
    nodes = [np.unique(table[part == k]) for k in range(4)]
    assert sum(len(each) for each in nodes) - len(mesh.nodes) < 3 * 2 * 25
