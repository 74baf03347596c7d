"""Row 65: inputs that are not regular files or exceed the memory: one line immediately."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mechanisms import call

import flexmbs as fm
import preprocess as pp
from preprocess.formats import importers
from preprocess.formats.importers import FORMATS
from preprocess.mesh_files.readers import READERS

pytestmark = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="the system has no devices in its folders")
OPEN_ENDED = {"/dev/zero": "is a device; only regular files are read", "pipe": "is a pipe; only regular files are read"}
BODIES = sorted({suffix for importer in FORMATS.values() for suffix in importer.suffixes})
HEAD = 'format = "flexmbs-part/1"\nname = "p"\n'


def readers(path: Path) -> dict[str, Callable[[], object]]:
    """Everything that reads a file of this ending."""
    found: dict[str, Callable[[], object]] = {"inspect": lambda: command("preprocess", "inspect", path)}
    if path.suffix == ".toml":
        return {"model": lambda: fm.load(path), "part": lambda: pp.read_part(path)}
    if path.suffix == ".urdf":
        return {"robot": lambda: fm.Robot.from_urdf(path)}
    if path.suffix == ".h5":
        return found | {"body": lambda: fm.FlexibleBodyData.load(path), "solution": lambda: fm.Solution.load(path)}
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
