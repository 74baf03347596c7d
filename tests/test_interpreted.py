"""The tests of kernel parts, in a separate process with interpreted Python."""

import os
import pathlib
import subprocess
import sys

import pytest

from flexmbs._jit import COMPILED

HERE = pathlib.Path(__file__).parent
FOLDERS = ["contract", "algebra"]
COMPILED_TOO = ("test_formalisms.py", "test_redundant_contacts.py")  # they call no parts


@pytest.mark.skipif(
    not COMPILED, reason="the run is interpreted already and collects these tests itself"
)
@pytest.mark.timeout(1500)  # many tests in one: a minute and a half of processor time
@pytest.mark.parametrize("folder", FOLDERS)
def test_parts_interpreted(folder):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment |= {"NUMBA_DISABLE_JIT": "1", "OMP_NUM_THREADS": "1"}
    options = [
        "-o",
        "addopts=",
        "-q",
        "--tb=short",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-m",
        "not slow",
        *(f"--ignore={HERE / 'contract' / name}" for name in COMPILED_TOO),
    ]
    command = [sys.executable, "-m", "pytest", *options, str(HERE / folder)]
    done = subprocess.run(
        command, cwd=HERE.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
