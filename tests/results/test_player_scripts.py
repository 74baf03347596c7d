"""The scripts of the player by themselves, under node, and their types; skipped without node or
TypeScript.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flexmbs.player.markup import HERE

TESTS = Path(__file__).parents[1] / "player"
NODE = shutil.which("node")
MODULES = Path(os.environ.get("FLEXMBS_NODE_MODULES", TESTS / "node_modules"))  # of npm install


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_modules_of_the_player() -> None:
    done = subprocess.run(
        [str(NODE), "--test", "--test-reporter=tap", str(TESTS / "scripts.test.mjs")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "# fail 0" in done.stdout
    assert int(done.stdout.split("# pass ")[1].split()[0]) >= 10


@pytest.mark.skipif(not (MODULES / "typescript").exists(), reason="TypeScript is not installed")
def test_types_of_the_player() -> None:
    compiler = MODULES / "typescript" / "bin" / "tsc"
    done = subprocess.run(
        [str(NODE), str(compiler), "-p", str(HERE / "js")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-4000:]
