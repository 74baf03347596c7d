"""Commands in a folder whose files have the names of all modules that Python could import from
there.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
    "demo": ["demo"],
    "warmup": ["warmup"],
}
# the others have one import path each and no processes of their own
QUICK = ("folder", "sweep", "reduce")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs of all commands, and a trap for each module, which notes that it was imported."""
    place = tmp_path_factory.mktemp("traps")
    pendulum().save(place / "model.toml")
    (place / "study.toml").write_text(STUDY)
    for file in ("link.toml", "link.msh"):
        shutil.copy(Path(__file__).parents[1] / "meshes" / file, place)
    for name in {*sys.stdlib_module_names, *DEPENDENCIES}:
        (place / f"{name}.py").write_text(
            f"open({str(place / 'imported')!r}, 'a').write({name!r} + ' ')\n"
        )
    return place


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in COMMANDS],
)
def test_nothing_is_imported_from_the_current_folder(name: str, folder: Path) -> None:
    """Processes of sweeps ran ``signal.py`` beside a study, without --allow-code."""
    command = [sys.executable, "-c", SCRIPT, *COMMANDS[name]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    traps = folder / "imported"
    assert not traps.exists(), traps.read_text()
    assert done.returncode == 0, done.stderr
