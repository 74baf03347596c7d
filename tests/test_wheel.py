"""The program as users install it: a wheel, in a separate environment, without the source."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

ROOT = Path(__file__).resolve().parents[1]


def done(*command: object, folder: Path, **environment: str) -> str:
    """Output of a command, which must not fail."""
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | environment
    run = subprocess.run(
        [*map(str, command)], cwd=folder, env=plain, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.slow
def test_the_demo_runs_from_an_installed_wheel(tmp_path: Path) -> None:
    """Compiles everything again: several minutes."""
    done(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "-w",
        tmp_path,
        ROOT,
        folder=tmp_path,
    )
    (wheel,) = tmp_path.glob("flexmbs-*.whl")
    done(sys.executable, "-m", "venv", "--without-pip", "fresh", folder=tmp_path)
    python = tmp_path / "fresh" / "bin" / "python"
    done(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--no-deps",
        wheel,
        folder=tmp_path,
    )
    (packages,) = (tmp_path / "fresh" / "lib").glob("python*/site-packages")
    # what the wheel needs
    (packages / "others.pth").write_text(str(Path(numba.__file__).parents[1]))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert str(packages) in done(
        python, "-c", "import flexmbs; print(flexmbs.__file__)", folder=empty
    )
    told = done(
        tmp_path / "fresh" / "bin" / "flexmbs",
        "demo",
        folder=empty,
        NUMBA_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert told.splitlines()[-1].startswith("PASS in ")
    assert {"arm.h5", "arm.html", "arm.toml", "link.h5"} <= {
        entry.name for entry in (empty / "flexmbs-demo").iterdir()
    }
