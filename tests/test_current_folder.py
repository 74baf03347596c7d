"""Commands in a folder whose files have the names of all modules that Python could import from
there.
"""

import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

import flexmbs.command_line
import preprocess.command_line

sys.path.insert(0, str(Path(__file__).parent / "sweeps"))
from swinging import pendulum

DEPENDENCIES = (
    "numpy",
    "scipy",
    "h5py",
    "numba",
    "llvmlite",
    "meshio",
    "skfem",
    "matplotlib",
    "click",
    "pydantic",
    "yaml",
)
# as the installed script: without the current folder among the import paths, which `python -m` adds
SCRIPT = (
    "import sys; sys.path.pop(0); sys.argv[0] = 'flexmbs'; from flexmbs.__main__ import main; "
    "sys.exit(main())"
)
STUDY = """
format = "flexmbs-sweep/1"
model = "model.toml"
parameters."joints.hinge.q0" = [0.1, 0.2]
outputs.speed = "peak joint hinge.0 velocity"
run = {t_end = 0.02, step = 1e-2}
"""
STEEL = ["--material", "steel A36", "--interface", "end=4"]
COMMANDS = {
    "check": ["check", "model.toml"],
    "run": ["run", "model.toml", "--t-end", "0.02", "--report", "run.html"],
    "folder": ["run", "model.toml", "--t-end", "0.02", "-o", "folder/"],
    "report": ["report", "model.h5"],
    "view": ["view", "model.toml"],
    "export": ["export", "model.h5", "-o", "tables"],
    "compare": ["compare", "model.toml", "--t-end", "0.02"],
    "list": ["list"],
    "schema": ["schema", "model"],
    "sweep": ["sweep", "study.toml", "--workers", "2"],
    "reduce": ["preprocess", "reduce", "link.toml"],
    "inspect": ["preprocess", "inspect", "link.h5"],
    "compare bodies": ["preprocess", "compare", "link.h5", "link.toml"],
    "convert": ["preprocess", "convert", "link.h5", "link.sid"],
    "report of a body": ["preprocess", "report", "link.h5"],
    "materials": ["preprocess", "materials"],
    "mesh": ["preprocess", "mesh", "sheet.step", "--size", "8 mm"],
    "converge": ["preprocess", "converge", "sheet.step", "--size", "8 mm", "--modes", "1", *STEEL],
    "examples": ["examples"],
    "fmu": ["fmu", "model.toml", "--out", "angle=coordinate,hinge", "--t-end", "1"],
    "demo": ["demo"],
    "warmup": ["warmup"],
}
NEEDED = {"mesh": "netgen", "converge": "netgen", "fmu": "pythonfmu3"}  # optional packages
SERVERS = {"watch": ["watch", "folder"], "studio": ["studio", "model.toml"]}
MADE = {"model.h5": "run", "link.h5": "reduce", "folder": "folder"}  # by these commands
# the others have one import path each and no processes of their own, or take longer
QUICK = ("folder", "sweep", "reduce", "mesh")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs of all commands, and a trap for each module, which notes that it was imported."""
    place = tmp_path_factory.mktemp("traps")
    pendulum().save(place / "model.toml")
    (place / "study.toml").write_text(STUDY)
    for file in ("link.toml", "link.msh", "sheet.step"):
        shutil.copy(Path(__file__).parents[1] / "meshes" / file, place)
    for name in {*sys.stdlib_module_names, *DEPENDENCIES}:
        (place / f"{name}.py").write_text(
            f"open({str(place / 'imported')!r}, 'a').write({name!r} + ' ')\n"
        )
    return place


def started(arguments: list[str], folder: Path) -> "subprocess.Popen[str]":
    """A command in the folder, after those that make its inputs."""
    for name in arguments:
        if name in MADE and not (folder / name).exists():
            assert started(COMMANDS[MADE[name]], folder).wait() == 0
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check_traps(folder: Path) -> None:
    traps = folder / "imported"
    assert not traps.exists(), traps.read_text()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in COMMANDS],
)
def test_nothing_is_imported_from_the_current_folder(name: str, folder: Path) -> None:
    """Processes of sweeps ran ``signal.py`` beside a study, without --allow-code."""
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    process = started(COMMANDS[name], folder)
    error = process.communicate()[1]
    check_traps(folder)
    assert process.returncode == 0, error


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVERS)
def test_servers_import_nothing_from_the_current_folder(name: str, folder: Path) -> None:
    process = started(SERVERS[name], folder)
    assert process.stdout
    address = re.search(r"http://\S+", process.stdout.readline())
    assert address
    urllib.request.urlopen(address[0]).read()
    process.terminate()
    process.communicate()
    check_traps(folder)


def test_all_commands_are_tried() -> None:
    tried = [*COMMANDS.values(), *SERVERS.values()]
    for app, place in ((flexmbs.command_line.app, 0), (preprocess.command_line.app, 1)):
        group = typer.main.get_command(app)
        assert isinstance(group, TyperGroup)
        assert set(group.commands) <= {each[place] for each in tried if len(each) > place}
