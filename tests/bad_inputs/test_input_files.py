"""Row 65: inputs that are not regular files or exceed the memory: one line immediately."""

import contextlib
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mechanisms import call, pendulum

import flexmbs as fm
import preprocess as pp
from preprocess.formats import importers
from preprocess.formats.importers import FORMATS
from preprocess.mesh_files.readers import READERS

pytestmark = pytest.mark.skipif(
    not Path("/dev/zero").exists(), reason="the system has no devices in its folders"
)
OPEN_ENDED = {
    "/dev/zero": "is a device; only regular files are read",
    "pipe": "is a pipe; only regular files are read",
}
BODIES = sorted({suffix for importer in FORMATS.values() for suffix in importer.suffixes})
HEAD = 'format = "flexmbs-part/1"\nname = "p"\n'


def readers(path: Path) -> dict[str, Callable[[], object]]:
    """Everything that reads a file of this ending."""
    found: dict[str, Callable[[], object]] = {
        "inspect": lambda: command("preprocess", "inspect", path)
    }
    if path.suffix == ".toml":
        return {"model": lambda: fm.load(path), "part": lambda: pp.read_part(path)}
    if path.suffix == ".urdf":
        return {"robot": lambda: fm.Robot.from_urdf(path)}
    if path.suffix == ".h5":
        return found | {
            "body": lambda: fm.FlexibleBodyData.load(path),
            "solution": lambda: fm.Solution.load(path),
        }
    if path.suffix in READERS:
        found |= {"mesh": lambda: pp.read_mesh(path, unit="m")}
    if path.suffix in BODIES:
        found |= {"body": lambda: importers.read(path)}
    return found


def command(*arguments: object) -> None:
    """The command line, its one line of complaint as the error."""
    with contextlib.redirect_stderr(io.StringIO()) as told:
        assert call(*arguments) == 2
    raise fm.InputError(*told.getvalue().splitlines())


def refusals(path: Path) -> Iterator[str]:
    """Each reader reports the same in one line."""
    for read in readers(path).values():
        with pytest.raises(fm.InputError) as refused:
            read()
        (line,) = refused.value.problems
        yield line


@pytest.mark.parametrize("suffix", sorted({".toml", ".urdf", ".h5", *READERS, *BODIES}))
def test_65_what_never_ends_is_not_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    for target in OPEN_ENDED:
        if target == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(target)
        for line in refusals(path):
            assert str(path) in line
            assert line.endswith(OPEN_ENDED[target])
        path.unlink()


@pytest.mark.parametrize("suffix", [".toml", ".h5", ".xml", ".step"])
@pytest.mark.parametrize("name", ["check", "view", "report"])
def test_65_commands_do_not_wait_for_pipes(name: str, suffix: str, tmp_path: Path) -> None:
    """They opened the file to recognize its type, and waited for a writer."""
    path = tmp_path / f"x{suffix}"
    os.mkfifo(path)
    # ends the wait of a reader; without one it is not needed
    other = threading.Timer(5.0, lambda: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)))
    other.start()
    with pytest.raises(fm.InputError, match="is a pipe; only regular files are read"):
        command(name, path)
    assert other.is_alive()
    other.cancel()


@pytest.mark.parametrize("suffix", [".sid", ".msh", ".vtu", ".inp", ".bdf"])
def test_65_files_larger_than_the_memory_are_not_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    with open(path, "wb") as sparse:
        sparse.write(b"x")
        sparse.truncate(1 << 43)  # costs nothing on the disk
    for line in refusals(path):
        assert f"{path}: has 8796093 MB; at most " in line or "is not XML" in line


def test_65_little_memory_is_used(tmp_path: Path) -> None:
    """A device read up to 2 GB would fail differently."""
    (tmp_path / "x.sid").symlink_to("/dev/zero")
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))\n"
        "from flexmbs.__main__ import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "preprocess", "inspect", str(tmp_path / "x.sid")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr == f"error: {tmp_path}/x.sid: is a device; only regular files are read\n"
    assert done.returncode == 2


NO_PATHS = {"None": None, "number": 3, "bytes": b"run.h5", "empty": "", "zero": "a\0b", "list": []}


@pytest.mark.parametrize("given", NO_PATHS.values(), ids=NO_PATHS)
def test_what_is_no_path(given: object) -> None:
    """One line, whatever reads or writes."""
    model = pendulum()
    solution = fm.simulate(model, t_end=0.02, step=0.01)
    calls = {
        "load": fm.load,
        "solution": fm.Solution.load,
        "model": model.save,
        "save": solution.save,
        "report": solution.report,
        "csv": solution.to_csv,
        "mat": solution.to_mat,
        "gltf": solution.to_gltf,
        "vtkhdf": solution.to_vtkhdf,
        "urdf": fm.Robot.from_urdf,
        "compare": lambda path: solution.compare(solution, path),
    }
    for name, write in calls.items():
        with pytest.raises(fm.InputError, match="must be a file path, not ") as refused:
            write(given)
        assert len(str(refused.value).splitlines()) == 1, name


def test_what_is_no_solution_or_solid(tmp_path: Path) -> None:
    solution = fm.simulate(pendulum(), t_end=0.02, step=0.01)
    curve = fm.SNCurve(amplitude=1e8, cycles=1e6, slope=5.0)
    for message, attempt in {
        "other: must be a Solution, not NoneType": lambda: solution.compare(
            None, tmp_path / "a.html"
        ),
        "names: must be two strings": lambda: solution.compare(
            solution, tmp_path / "a.html", names=("a",)
        ),
        r"names: must be two strings, not \(1, 2\)": lambda: solution.compare(
            solution, tmp_path / "a.html", names=(1, 2)
        ),
        "solids: must be a list of solids, such as robot.solids\\(\\), not 3": lambda: (
            solution.report(tmp_path / "b.html", solids=[3])
        ),
        "solids: must be": lambda: solution.to_gltf(tmp_path / "b.glb", solids=3),
        "times: give one time or more": lambda: solution.at([]),
        "solution: must be a Solution, not NoneType": lambda: fm.fatigue(None, "bar", curve),
    }.items():
        with pytest.raises(fm.InputError, match=message):
            attempt()
